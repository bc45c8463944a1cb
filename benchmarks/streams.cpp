// Thousands of streams at once: what they take of a processor, and of memory.
#include "clocks.hpp"
#include "drip_server.hpp"
#include "fixed_server.hpp"
#include "table.hpp"

#include <sluice/http/curl_transport.hpp>
#include <sluice/llm/client.hpp>
#include <sluice/runtime/bulkhead.hpp>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace bars {
namespace {

constexpr std::size_t streams = 2'000;
constexpr std::chrono::seconds watched(5);

struct outcome {
  double cores = 0;
  double kib_a_stream = 0;
};

double resident_kib() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  long all = 0;
  long resident = 0;
  if (file == nullptr || std::fscanf(file, "%ld %ld", &all, &resident) != 2) std::abort();
  std::fclose(file);
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1'024;
}

asio::awaitable<void> read_on(sluice::llm::client& client, std::size_t& begun, std::size_t& events) {
  sluice::llm::request what("drip");
  what.user("And so on?").limit_output(1'000'000);
  auto answer = co_await client.stream(std::move(what));
  if (!answer) std::abort();
  ++begun;
  for (;;) {
    const auto event = co_await answer->next();
    if (!event || !*event) std::abort();
    ++events;
  }
}

outcome watch(const drip_server& server) {
  move_away_from_server();
  asio::io_context io(1);
  sluice::policy rules({static_cast<std::int64_t>(streams), sluice::unlimited});
  sluice::bulkhead gate(io.get_executor(), rules);
  const auto over = sluice::http::make_curl_transport(io.get_executor(), gate.time());
  sluice::llm::client_options options(server.url());
  options.limits.connect = std::chrono::seconds(60);
  sluice::llm::client client(*over, gate, options);

  const double before = resident_kib();
  std::size_t begun = 0;
  std::size_t events = 0;
  for (std::size_t n = 0; n < streams; ++n) asio::co_spawn(io, read_on(client, begun, events), asio::detached);
  while (begun < streams) io.run_one();

  asio::steady_timer end(io, watched);
  bool over_now = false;
  end.async_wait([&over_now](std::error_code) { over_now = true; });
  events = 0;
  const double wall_start = wall();
  const double cpu_start = thread_cpu();
  while (!over_now) io.run_one();
  const double took = wall() - wall_start;
  const double cpu = thread_cpu() - cpu_start;
  // One that cannot keep up would look cheap.
  const double wanted = static_cast<double>(streams * drip_server::events_a_second) * took / 1e9;
  if (static_cast<double>(events) < 0.95 * wanted) {
    std::fprintf(stderr, "only %zu of %.0f events came\n", events, wanted);
    std::abort();
  }
  return {cpu / took, (resident_kib() - before) / streams};
}

/// In a process of its own, whose memory nothing else has used before.
outcome measured() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const drip_server server;
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  const pid_t child = ::fork();
  if (child == 0) {
    const outcome found = watch(server);
    if (::write(ends[1], &found, sizeof found) != sizeof found) std::_Exit(1);
    std::_Exit(0);
  }
  ::close(ends[1]);
  outcome found;
  if (::read(ends[0], &found, sizeof found) != sizeof found) std::abort();
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return found;
}

double cores() { return measured().cores; }
double one_core() { return 1; }
double memory() { return measured().kib_a_stream; }
double most_memory() { return 64; }

}  // namespace

std::vector<bar> stream_bars() {
  return {
      {"2,000 streams, 20 events/s each", "cores", cores, one_core, 1, 1},
      {"2,000 streams, memory of each", "KiB", memory, most_memory, 1, 1},
  };
}

}  // namespace bars
