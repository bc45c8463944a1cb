// A model on this machine: llama.cpp, Ollama or vLLM, over a port or a Unix socket.
//
//   local_server http://127.0.0.1:11434/v1 qwen2.5:3b            Ollama
//   local_server http://127.0.0.1:8080/v1 default                llama-server
//   local_server http://localhost/v1 default /run/llama.sock     whatever listens on a Unix socket
//
// Without arguments it asks a mock on a Unix socket.

#include <sluice/sluice.hpp>
#include <sluice/testing/mock_provider.hpp>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>

#include <unistd.h>

using namespace std::chrono_literals;

//! [local_server]
sluice::runtime_options local_server(const std::string& url, const std::string& socket) {
  // As many slots as the server has (llama-server --parallel, OLLAMA_NUM_PARALLEL), and the tokens that its contexts
  // hold.
  sluice::policy rules({.slots = 4, .tokens = 4 * 8'192});

  sluice::llm::client_options server(url);                            // no key
  server.output_limit = sluice::llm::output_limit_field::max_tokens;  // the name they know
  server.limits.first_byte = 10min;                                   // the model may have to be loaded first
  sluice::runtime_options options(rules, server);
  options.http.unix_socket = socket;  // the URL's host is then only a name
  return options;
}
//! [local_server]

asio::awaitable<int> ask(sluice::llm::client& client, std::string model) {
  auto answer = co_await client.ask(model, "In one sentence: what does a sluice do?");
  if (!answer) std::cerr << answer.error().message() << '\n';
  if (answer) std::cout << *answer << '\n';
  co_return answer ? 0 : 1;
}

int main(int argc, char** argv) {
  std::string url = argc > 1 ? argv[1] : "http://localhost/v1";
  std::string model = argc > 2 ? argv[2] : "default";
  std::string socket = argc > 3 ? argv[3] : "";

  std::optional<sluice::testing::mock_provider> mock;
  if (argc == 1) {
    socket = (std::filesystem::temp_directory_path() / ("sluice-example-" + std::to_string(::getpid()))).string();
    sluice::testing::mock_provider_options options;
    options.unix_socket = socket;
    mock.emplace(options);
    mock->reply_with(sluice::testing::mock_reply::text("It lets through what the channel below can carry."));
  }
  sluice::runtime runtime(local_server(url, socket));
  return runtime.run(ask(runtime.client(), model));
}
