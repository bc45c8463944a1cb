/// \file
/// `loop_fixture`: a scripted model, a toolbox, and loops over them, under a clock that stands still.
#pragma once

#include "agent/agent_fixture.hpp"
#include "agent/loop/scripted_model.hpp"

#include <sluice/agent/run_tools.hpp>
#include <sluice/agent/toolbox.hpp>
#include <sluice/llm/client.hpp>
#include <sluice/llm/conversation.hpp>
#include <sluice/testing/scripted_transport.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::agent::test {

inline llm::client_options once_only(llm::dialect spoken) {
  llm::client_options options(spoken, "http://server/v1", "sk-secret");
  options.retry.max_attempts = 1;
  // What is reserved stays what is written here.
  options.learn_from_usage = false;
  return options;
}

inline llm::tool lookup_tool(std::string name = "lookup") {
  return {std::move(name), "Looks a key up.", R"({"type":"object","properties":{"key":{"type":"string"}}})"};
}

class loop_fixture : public agent_fixture {
 public:
  using result = started<run_result>;

  explicit loop_fixture(llm::dialect spoken_here = llm::dialect::openai_chat,
                        const policy& rules = policy({.slots = 4, .tokens = 1'000'000}))
      : agent_fixture(rules), spoken(spoken_here), model(transport, gate, once_only(spoken_here)), tools(gate) {
    talk.user("What is under k1?");
  }

  llm::dialect spoken;
  testing::scripted_transport transport;
  llm::client model;
  llm::conversation talk{"Be brief."};
  toolbox tools;
  /// Keys that `lookup` was asked for, in order.
  std::vector<std::string> looked_up;
  loop_options how{"m"};

  /// Adds `lookup`, which answers "value of KEY".
  void add_lookup(std::string name = "lookup") {
    tools.add(lookup_tool(std::move(name)), [this](const llm::tool_arguments& args) {
      return look_up(args.get<std::string>("key").value_or("nothing"));
    });
  }

  void answers(const said& what) { transport.add(plain(what, spoken)); }

  /// Starts a loop over `talk`, and runs it as far as it goes.
  std::unique_ptr<result> begin(run_scope& in) {
    auto into = std::make_unique<result>();
    start(*into, run_tools(in, model, talk, tools, how));
    return into;
  }
  /// The same to its end, which must come without any time passing.
  run_result finish(run_scope& in) {
    const auto ended = begin(in);
    REQUIRE(ended->ended);
    REQUIRE(ended->value.has_value());
    return *std::move(ended->value);
  }

  [[nodiscard]] nlohmann::json sent(std::size_t number) const {
    return nlohmann::json::parse(transport.requests().at(number).body());
  }
  [[nodiscard]] std::size_t asked() const { return transport.requests().size(); }
  /// Nothing is held, nothing waits, no exchange is open.
  [[nodiscard]] bool idle() const {
    const auto all = gate.statistics().all;
    return all.in_flight == 0 && all.held.tokens == 0 && all.waiting == 0 && transport.open() == 0;
  }

 private:
  asio::awaitable<expected<std::string, error>> look_up(std::string key) {
    looked_up.push_back(key);
    co_return "value of " + key;
  }
};

inline said looks_up(const std::string& key, const std::string& id = {}) {
  return said().calls("lookup", R"({"key":")" + key + R"("})", id);
}

/// A model that calls tools as long as it may, each time for another key.
inline void never_ends(loop_fixture& f, bool same_key = false) {
  f.transport.on_request([&f, same_key, n = 0](const http::request& what) mutable {
    const auto body = nlohmann::json::parse(what.body());
    const bool may_call = !body.contains("tool_choice");
    const std::string key = same_key ? "k" : "k" + std::to_string(n++);
    return plain(may_call ? looks_up(key) : said("As far as I know, 7."), f.spoken);
  });
}

/// The question of `loop_fixture`, by the client's estimate and without an answer.
inline std::int64_t input_of(loop_fixture& f) {
  llm::request asked = f.talk.request_for("m");
  asked.tools = f.tools.tools();
  asked.limit_output(1);
  return f.model.estimate(asked)->tokens - 1;
}

inline bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Each call has exactly one result, right behind the message that made it and in its order: what every server wants.
inline bool fits(const std::vector<llm::message>& messages) {
  for (std::size_t at = 0; at < messages.size(); ++at) {
    if (messages[at].who == llm::role::tool) return false;
    for (const llm::tool_call& call : messages[at].tool_calls) {
      if (++at >= messages.size() || messages[at].who != llm::role::tool || messages[at].tool_call_id != call.id)
        return false;
    }
  }
  return true;
}
/// As it stands, without the results that a request makes up for calls that have none.
inline bool fits(const llm::conversation& talk) { return talk.open_calls().empty() && fits(talk.messages()); }

}  // namespace sluice::agent::test
