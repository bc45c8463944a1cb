#include "http/resume.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/associated_executor.hpp>
#include <asio/dispatch.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/require.hpp>

#include <typeinfo>
#include <utility>

namespace sluice::http {
namespace {

// Coroutines hold the executor of their loop with work counted or without.
using plain_loop = asio::io_context::executor_type;
using counted_loop = decltype(asio::require(std::declval<plain_loop>(), asio::execution::outstanding_work.tracked));

bool runs_here(const asio::any_io_executor& own) noexcept {
  // `target` of Asio 1.22 does not look at the type: it takes a strand for whatever it is asked for.
  const std::type_info& type = own.target_type();
  if (type == typeid(counted_loop)) return own.target<counted_loop>()->running_in_this_thread();
  if (type == typeid(plain_loop)) return own.target<plain_loop>()->running_in_this_thread();
  return false;
}

}  // namespace

// Where the coroutine runs on the loop that we are in, going through the executor would only cost an allocation.
void resume(resumption self, bool in_place) {
  const asio::any_io_executor own = asio::get_associated_executor(self);
  if (!in_place) {
    asio::post(own, std::move(self));
    return;
  }
  if (runs_here(own)) {
    std::move(self)();
  } else {
    asio::dispatch(own, std::move(self));
  }
}

}  // namespace sluice::http
