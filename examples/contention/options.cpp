#include "options.hpp"

#include "arms.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace contention {
namespace {

// A number within bounds. (CLI::Range lets "nan" through.)
CLI::Validator within(double least, double greatest) {
  const auto check = [=](std::string& text) -> std::string {
    double value = 0;
    if (!CLI::detail::lexical_cast(text, value)) return "'" + text + "' is not a number";
    if (std::isfinite(value) && value >= least && value <= greatest) return {};
    return text + " is not from " + CLI::detail::to_string(least) + " to " + CLI::detail::to_string(greatest);
  };
  return {check, "NUMBER"};
}

// For whole numbers that are not negative. (CLI11 takes "-1" for the greatest one.)
std::string digits_only(std::string& text) {
  const bool good = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return good ? std::string() : "'" + text + "' is not a whole number";
}

constexpr std::array dialects{sluice::llm::dialect::openai_chat, sluice::llm::dialect::openai_responses,
                              sluice::llm::dialect::anthropic_messages};

std::vector<std::string> dialect_names() {
  std::vector<std::string> names;
  for (const auto each : dialects) names.emplace_back(to_string(each));
  return names;
}

sluice::llm::dialect dialect_of(const std::string& name) {
  return *std::find_if(dialects.begin(), dialects.end(), [&](auto each) { return to_string(each) == name; });
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// What CLI11 cannot see: options that only make sense together. Empty when all is well.
std::string conflict(const CLI::App& app, const options& read) {
  const bool own = read.provider_url.empty();
  if (!own && app.count("--model") == 0) return "--provider needs --model NAME";
  if (own && app.count("--model") != 0) return "--model is for --provider URL; the provider of our own has none";
  if (!own && read.kill_after) return "--kill-after can only kill the provider of our own; leave out --provider";
  if (read.kill_after && *read.kill_after >= read.seconds) {
    return "--kill-after must be less than --seconds, else nothing is killed";
  }
  if (app.count("--speed") != 0 && read.interactive_trace.empty() && read.batch_trace.empty()) {
    return "--speed is for traces; give --interactive-trace or --batch-trace";
  }
  const auto& names = arm_names();
  for (const auto& arm : read.arms) {
    if (std::find(names.begin(), names.end(), arm) == names.end()) {
      return "--arms: there is no arm '" + arm + "'; there are " + CLI::detail::join(names, ", ");
    }
  }
  return {};
}

}  // namespace

sluice::expected<options, usage_stop> read_options(int argc, const char* const* argv) {
  options read;
  read.arms = arm_names();

  CLI::App app(
      "Chats and batch agents share one provider: unprotected, behind a plain limit, and behind sluice.\n"
      "The key for --provider is taken from the environment variable SLUICE_API_KEY.",
      "contention");
  app.add_option("--seconds", read.seconds, "How long each arm takes on new work")
      ->check(within(0.1, 3600))
      ->capture_default_str();
  app.add_option("--seed", read.seed, "Arrivals and sizes; the same in every arm")
      ->check(CLI::Validator(digits_only, "NUMBER"))
      ->capture_default_str();
  app.add_option("--chats", read.chats_per_second, "Chats that arrive each second")
      ->check(within(0.01, 1000))
      ->capture_default_str();
  app.add_option("--agents", read.agents, "Batch agents at work at once")
      ->check(within(0, 10000))
      ->capture_default_str();
  app.add_option("--limit", read.limit, "Slots of the plain limit")->check(within(1, 1000000))->capture_default_str();
  app.add_option("--policy", read.policy_file, "Policy of the sluice arm, as JSON");
  app.add_option("--provider", read.provider_url,
                 "A server that speaks the dialect, such as https://api.openai.com/v1");
  std::string dialect(to_string(read.dialect));
  app.add_option("--dialect", dialect, "What the provider speaks")
      ->check(CLI::IsMember(dialect_names()))
      ->capture_default_str();
  app.add_option("--model", read.model, "The model to ask, with --provider");
  app.add_option("--interactive-trace", read.interactive_trace,
                 "Chats from a CSV file: TIMESTAMP,ContextTokens,GeneratedTokens");
  app.add_option("--batch-trace", read.batch_trace, "Agent runs from such a file");
  app.add_option("--speed", read.speed, "How many times faster than recorded traces are played")
      ->check(within(0.001, 1000))
      ->capture_default_str();
  app.add_option("--arms", read.arms, "Which arms to run, in this order")->delimiter(',')->capture_default_str();
  app.add_option("--kill-after", read.kill_after, "Fault drill: kill the provider so many seconds into each arm")
      ->check(within(0, 3600));
  app.add_flag("--quiet", read.quiet, "No live line");

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return sluice::unexpected<usage_stop>(usage_stop{0, app.help()});
  } catch (const CLI::ParseError& wrong) {
    return sluice::unexpected<usage_stop>(usage_stop{2, one_line(wrong.what())});
  }
  read.dialect = dialect_of(dialect);
  if (auto wrong = conflict(app, read); !wrong.empty()) {
    return sluice::unexpected<usage_stop>(usage_stop{2, std::move(wrong)});
  }
  return read;
}

}  // namespace contention
