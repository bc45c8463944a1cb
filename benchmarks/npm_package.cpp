// What a chat takes of the processor, beside the same chat by the provider's own package for JavaScript.
#include "fixed_server.hpp"
#include "table.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace bars {
namespace {

/// Where the package is installed; `run.sh` says so.
const char* place() { return std::getenv("SLUICE_NPM"); }

double package() {
  const fixed_server server;
  const std::string url = server.url().substr(0, server.url().find("/chat"));
  const std::string command =
      std::string("cd '") + place() + "' && exec node '" SLUICE_BENCHMARKS "/openai_package.mjs' " + url;
  std::FILE* const output = ::popen(command.c_str(), "r");
  double microseconds = 0;
  if (output == nullptr || std::fscanf(output, "%lf", &microseconds) != 1 || ::pclose(output) != 0) std::abort();
  return microseconds;
}

}  // namespace

std::vector<bar> npm_bars() {
  if (place() == nullptr) {
    std::fprintf(stderr, "SLUICE_NPM is not set: the openai package is left out\n");
    return {};
  }
  return {{"chat(), beside the openai npm package", "us", chat_at_32, package, 1.0 / 8, 3}};
}

}  // namespace bars
