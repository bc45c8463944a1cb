#include <sluice/llm/runtime.hpp>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>

#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sluice {

namespace {

std::size_t checked(std::size_t threads) {
  if (threads == 0) throw error_exception(error(errc::invalid_configuration, "threads is 0; must be at least 1"));
  return threads;
}

}  // namespace

// The order of members is the order of lives: the loop is there first and goes last, so that what is parked in it finds
// its gate closed, not its loop gone.
class runtime::house {
 public:
  explicit house(runtime_options options)
      : context(static_cast<int>(checked(options.threads))),
        work(asio::make_work_guard(context)),
        gate(context.get_executor(), options.rules),
        transport(http::make_curl_transport(context.get_executor(), gate.time(), options.http)) {
    if (options.provider) client.emplace(*transport, gate, *std::move(options.provider));
    threads.reserve(options.threads);
    try {
      while (threads.size() < options.threads) threads.emplace_back([this] { context.run(); });
    } catch (...) {
      stop();
      throw;
    }
  }
  house(const house&) = delete;
  house& operator=(const house&) = delete;
  ~house() { stop(); }

  asio::io_context context;
  asio::executor_work_guard<asio::io_context::executor_type> work;
  bulkhead gate;
  std::unique_ptr<http::transport> transport;
  std::optional<llm::client> client;
  std::vector<std::thread> threads;

 private:
  void stop() noexcept {
    context.stop();
    for (std::thread& one : threads) one.join();
    threads.clear();
  }
};

expected<runtime_options, error> runtime_options::from_env(policy rules_of_gate, const llm::environment& from) {
  auto provider = llm::client_options::from_env(from);
  if (!provider) return unexpected<error>(std::move(provider).error());
  return runtime_options(std::move(rules_of_gate), *std::move(provider));
}

runtime::runtime(runtime_options options) : house_(std::make_unique<house>(std::move(options))) {}
runtime::~runtime() = default;

void runtime::check_outside() const {
  if (house_->context.get_executor().running_in_this_thread()) {
    throw error_exception(
        error(errc::invalid_argument,
              "runtime::run was called from within its own loop, and would wait for ever; co_await there"));
  }
}

bulkhead& runtime::gate() noexcept { return house_->gate; }

llm::client& runtime::client() {
  if (!house_->client) {
    throw error_exception(
        error(errc::invalid_configuration, "provider is not set: the runtime was made without a server"));
  }
  return *house_->client;
}

http::transport& runtime::transport() noexcept { return *house_->transport; }
time_source& runtime::time() noexcept { return house_->gate.time(); }
asio::any_io_executor runtime::get_executor() const noexcept { return house_->context.get_executor(); }

}  // namespace sluice
