// Whole HTTP exchanges over kept connections: what sluice costs on top of curl.
#include "clocks.hpp"
#include "fixed_server.hpp"
#include "reference_http.hpp"
#include "subject.hpp"
#include "table.hpp"

#include <sluice/http/curl_transport.hpp>
#include <sluice/llm/client.hpp>
#include <sluice/runtime/bulkhead.hpp>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bars {
namespace {

constexpr std::size_t exchanges = 10'000;

/// Room for all: what is measured is the way through, not waiting.
sluice::policy room_for(std::size_t at_once) {
  sluice::policy rules = four_classes();
  const auto slots_needed = static_cast<std::int64_t>(at_once);
  rules.total = {slots_needed, slots_needed * 2'000};
  return rules;
}

const fixed_server& server() {
  static const fixed_server one;
  move_away_from_server();
  return one;
}

asio::awaitable<void> exchange_often(sluice::bulkhead& gate, sluice::http::transport& over, const std::string& url,
                                     std::size_t& left) {
  while (left > 0) {
    --left;
    auto held = co_await gate.admit(one_call);
    if (!held) std::abort();
    sluice::http::request what("POST", url);
    what.add_header("Content-Type", "application/json").set_body(question());
    auto head = co_await over.send(std::move(what));
    if (!head || (*head)->status() != 200) std::abort();
    const auto body = co_await sluice::http::read_all(**head);
    if (!body || body->size() != answer().size()) std::abort();
    held->settle({.input_tokens = 50, .output_tokens = 100});
  }
}

asio::awaitable<void> chat_often(sluice::llm::client& client, std::size_t& left) {
  while (left > 0) {
    --left;
    sluice::llm::request what("fixed");
    what.user(std::string(200, 'q'));
    what.max_output_tokens = 400;
    const auto said = co_await client.chat(std::move(what));
    if (!said) std::abort();
  }
}

/// Runs `left` exchanges by coroutines that `spawn` starts, after a few to open the connections.
template <typename Spawn>
double processor_time(asio::io_context& io, std::size_t at_once, std::size_t& left, const Spawn& spawn) {
  double start = 0;
  for (const std::size_t amount : {at_once * 4, exchanges}) {
    start = thread_cpu();
    left = amount;
    for (std::size_t n = 0; n < at_once; ++n) spawn();
    io.restart();
    io.run();
  }
  return (thread_cpu() - start) / exchanges / 1'000;
}

template <std::size_t AtOnce>
double admitted_exchanges() {
  const std::string& url = server().url();
  std::size_t left = 0;
  asio::io_context io(1);
  sluice::bulkhead gate(io.get_executor(), room_for(AtOnce));
  const auto over = sluice::http::make_curl_transport(io.get_executor(), gate.time());
  return processor_time(io, AtOnce, left,
                        [&] { asio::co_spawn(io, exchange_often(gate, *over, url, left), asio::detached); });
}

template <std::size_t AtOnce>
double chats() {
  const std::string& url = server().url();
  std::size_t left = 0;
  asio::io_context io(1);
  sluice::bulkhead gate(io.get_executor(), room_for(AtOnce));
  const auto over = sluice::http::make_curl_transport(io.get_executor(), gate.time());
  std::size_t told = 0;
  sluice::llm::client_options options(url.substr(0, url.find("/chat")));
  options.observer = [&told](const sluice::llm::attempt_record& seen) { told += seen.status == 200 ? 1 : 0; };
  sluice::llm::client client(*over, gate, std::move(options));
  const double taken =
      processor_time(io, AtOnce, left, [&] { asio::co_spawn(io, chat_often(client, left), asio::detached); });
  if (told != AtOnce * 4 + exchanges) std::abort();
  return taken;
}

template <std::size_t AtOnce>
double bare_exchanges() {
  reference::epoll_client client(server().url(), question(), AtOnce);
  client.run(AtOnce * 4, answer().size());
  const double start = thread_cpu();
  client.run(exchanges, answer().size());
  return (thread_cpu() - start) / exchanges / 1'000;
}

}  // namespace

double chat_at_32() { return chats<32>(); }

std::vector<bar> exchange_bars() {
  return {
      {"HTTP exchange, 32 at once", "us", admitted_exchanges<32>, bare_exchanges<32>, 1.15, 7},
      {"HTTP exchange, 256 at once", "us", admitted_exchanges<256>, bare_exchanges<256>, 1.15, 7},
      {"chat(), 32 at once", "us", chats<32>, bare_exchanges<32>, 1.5, 7},
      {"chat(), 256 at once", "us", chats<256>, bare_exchanges<256>, 1.5, 7},
  };
}

}  // namespace bars
