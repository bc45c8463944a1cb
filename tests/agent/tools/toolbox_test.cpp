#include <sluice/agent/toolbox.hpp>

#include "agent/tools/tool_fixture.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;
using namespace std::chrono_literals;

namespace {

const std::string weather_schema =
    R"({"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},
  "required":["city"],"additionalProperties":false})";

asio::awaitable<answer> forecast(const llm::tool_arguments& arguments) {
  const auto city = arguments.get<std::string>("city");
  if (!city) co_return unexpected<error>(city.error());
  co_return "Sunny in " + *city;
}

class weather_fixture : public tool_fixture {
 public:
  weather_fixture() { tools.add(llm::tool("weather", "The weather of a city.", weather_schema), forecast); }
};

std::string why_not(toolbox& box, llm::tool offered, tool_limits limits = {}) {
  try {
    box.add(std::move(offered), forecast, limits);
  } catch (const error_exception& thrown) {
    CHECK(thrown.why().is(errc::invalid_configuration));
    return thrown.why().message();
  }
  return "taken";
}

asio::awaitable<answer> fail() { co_return unexpected<error>(error(errc::provider_failed, "no such city")); }
asio::awaitable<answer> throw_it() {
  throw std::runtime_error("the disk is full");
  co_return "";
}
asio::awaitable<answer> throw_a_number() {
  throw 7;
  co_return "";
}
answer throw_before() { throw std::runtime_error("not even begun"); }

}  // namespace

TEST_CASE(
    "a handler that asks for its run has one; one that needs its arguments alone has none, and is paid all the same") {
  tool_fixture h;
  std::size_t with_run = 0;
  std::size_t without = 0;
  h.tools.add(llm::tool("with", "Has a run.", "{}"),
              [&](tool_context& context, const llm::tool_arguments&) -> asio::awaitable<answer> {
                with_run = h.gate.statistics().runs;
                return [](std::string path) -> asio::awaitable<answer> { co_return path; }(context.run.path());
              });
  h.tools.add(llm::tool("without", "Has none.", "{}"), [&](const llm::tool_arguments&) -> asio::awaitable<answer> {
    without = h.gate.statistics().runs;
    return []() -> asio::awaitable<answer> { co_return "done"; }();
  });
  run_scope run = h.open();
  const auto done = h.at_once(run, {call_of("with", "{}"), call_of("without", "{}")});
  REQUIRE(done.size() == 2);
  CHECK(done[0].text == run.path() + "/tool:with");
  CHECK(done[1].text == "done");
  CHECK(with_run == 2);
  CHECK(without == 1);
  CHECK(run.balance().spent.tool_calls == 2);
}

TEST_CASE("a call is carried out, and its result has what the model needs") {
  weather_fixture h;
  run_scope run = h.open();
  const auto done = h.at_once(run, {call_of("weather", R"({"city":"Paris"})", "call_7")});
  REQUIRE(done.size() == 1);
  CHECK(done[0].outcome == tool_outcome::answered);
  CHECK(done[0].text == "Sunny in Paris");
  CHECK(done[0].call.id == "call_7");
  CHECK(done[0].began == h.time.now());
  CHECK(done[0].ran == duration::zero());
  CHECK(run.balance().spent.tool_calls == 1);
}

TEST_CASE("no calls, no results") {
  weather_fixture h;
  run_scope run = h.open();
  started<results> none;
  h.call(none, run, {});
  CHECK(none.ended);
  CHECK(none.value->empty());
}

TEST_CASE("a toolbox offers its tools in the order in which they were added") {
  weather_fixture h;
  h.add_quick("clock");
  REQUIRE(h.tools.tools().size() == 2);
  CHECK(h.tools.tools()[0].name == "weather");
  CHECK(h.tools.tools()[0].parameters == weather_schema);
  CHECK(h.tools.tools()[1].name == "clock");
  CHECK(h.tools.has("clock"));
  CHECK_FALSE(h.tools.has("Clock"));
}

TEST_CASE("bad calls are told to the model, and no handler runs") {
  weather_fixture h;
  h.add_quick("clock");
  run_scope run = h.open();
  llm::tool_call broken = call_of("weather", "{\"city\":");
  broken.valid = false;
  broken.problem = "the arguments broke off";
  llm::tool_call unnamed = call_of("", "{}");
  unnamed.valid = false;
  const auto done =
      h.at_once(run, {call_of("wether", R"({"city":"Paris"})"), broken, call_of("weather", "not JSON"),
                      call_of("weather", R"({"city":3})"), call_of("weather", ""), call_of("weather", "[]"), unnamed,
                      call_of("weather", R"({"city":")" + std::string(2U << 20U, 'x') + "\"}"),
                      call_of("weather", R"({"city":"Paris"})")});
  CHECK(texts(done) ==
        std::vector<std::string>{
            R"(no tool named "wether"; there are: weather, clock)", "the arguments broke off",
            "the arguments are not valid JSON", R"(argument "city" must be a string, but is the number 3)",
            R"(argument "city" is missing; a string is expected)", "the arguments are not a JSON object",
            R"(no tool named ""; there are: weather, clock)",
            "the arguments are 2,097,163 bytes long; this tool takes at most 1,048,576", "Sunny in Paris"});
  CHECK(count(done, tool_outcome::invalid) == 8);
  CHECK(done[8].outcome == tool_outcome::answered);
  for (std::size_t i = 0; i < 8; ++i) CHECK(done[i].began == never);
  CHECK(run.balance().spent.tool_calls == 1);
}

TEST_CASE("arguments that were left out are none") {
  tool_fixture h;
  bool there = true;
  h.tools.add(llm::tool("now", "The time."), [&there](const llm::tool_arguments& arguments) {
    there = arguments.check().has_value() && !arguments.has("zone");
    return tool_fixture::echo("12:00");
  });
  run_scope run = h.open();
  CHECK(texts(h.at_once(run, {call_of("now", "")})) == std::vector<std::string>{"12:00"});
  CHECK(there);
}

TEST_CASE("calls with the same id, or none, each get their result") {
  weather_fixture h;
  run_scope run = h.open();
  const auto done =
      h.at_once(run, {call_of("weather", R"({"city":"A"})", "same"), call_of("weather", R"({"city":"B"})", "same"),
                      call_of("weather", R"({"city":"C"})", "")});
  CHECK(texts(done) == std::vector<std::string>{"Sunny in A", "Sunny in B", "Sunny in C"});
  CHECK(done[1].call.id == "same");
  CHECK(done[2].call.id.empty());
}

TEST_CASE("one of five throws: the other four results stay") {
  weather_fixture h;
  h.tools.add(llm::tool("fails", ""), [](const llm::tool_arguments&) { return fail(); });
  h.tools.add(llm::tool("throws", ""), [](const llm::tool_arguments&) { return throw_it(); });
  h.tools.add(llm::tool("throws_a_number", ""), [](const llm::tool_arguments&) { return throw_a_number(); });
  h.tools.add(llm::tool("never_begins", ""), [](const llm::tool_arguments&) -> asio::awaitable<answer> {
    return tool_fixture::echo(throw_before().value());
  });
  run_scope run = h.open();
  const std::string paris = R"({"city":"Paris"})";
  const auto done =
      h.at_once(run, {call_of("weather", paris), call_of("throws"), call_of("weather", paris), call_of("fails"),
                      call_of("throws_a_number"), call_of("never_begins"), call_of("weather", paris)});
  CHECK(texts(done) == std::vector<std::string>{"Sunny in Paris", "the disk is full", "Sunny in Paris", "no such city",
                                                "the tool threw something that is no exception", "not even begun",
                                                "Sunny in Paris"});
  CHECK(count(done, tool_outcome::failed) == 4);
  CHECK(count(done, tool_outcome::answered) == 3);
  CHECK(done[1].is_error());
}

TEST_CASE("a handler has its own run, below the model's, with its class and deadline") {
  tool_fixture h;
  tool_limits limits;
  limits.timeout = 10s;
  limits.workload = batch;
  run_scope* seen = nullptr;
  h.tools.add(
      llm::tool("look", ""),
      [&](tool_context& context, const llm::tool_arguments&) {
        seen = &context.run;
        CHECK(context.run.path() == "root/tool:look");
        CHECK(context.run.workload() == batch);
        CHECK(context.run.deadline() == h.time.now() + 10s);
        CHECK(context.run.time_left() == 10s);
        CHECK(context.call.id == "call");
        CHECK(context.run.charge({.money = 5}));
        return h.room.wait();
      },
      limits);
  run_scope run = h.open(run_settings("root").until(h.time.now() + 1h));
  started<results> calls;
  h.call(calls, run, {call_of("look")});
  REQUIRE(seen != nullptr);
  CHECK(seen->balance().spent.money == 5);
  CHECK_FALSE(seen->cancelled());
  h.advance(3s);
  h.finish(calls);
  CHECK(calls.value->at(0).text == "done");
  CHECK(calls.value->at(0).ran == 3s);
  CHECK(run.balance().spent.money == 5);
}

TEST_CASE("the deadline of a handler is never later than the run's") {
  tool_fixture h;
  instant until{};
  h.tools.add(llm::tool("look", ""), [&](tool_context& context, const llm::tool_arguments&) {
    until = context.run.deadline();
    return tool_fixture::echo("seen");
  });
  run_scope run = h.open(run_settings("root").until(h.time.now() + 7s).keep_for_last_answer({}, 2s));
  h.at_once(run, {call_of("look")});
  CHECK(until == h.time.now() + 5s);
}

TEST_CASE("what a handler has started in its run ends with the call") {
  tool_fixture h;
  std::optional<run_scope> inner;
  h.tools.add(llm::tool("opens", ""), [&](tool_context& context, const llm::tool_arguments&) {
    inner.emplace(context.run.child(run_settings("inner")).value());
    return tool_fixture::echo("opened");
  });
  run_scope run = h.open();
  CHECK(texts(h.at_once(run, {call_of("opens")})) == std::vector<std::string>{"opened"});
  REQUIRE(inner);
  CHECK(inner->cancelled());
  CHECK_FALSE(inner->charge({.money = 1}));
}

TEST_CASE("a result that is too long is cut at a whole character, and says so") {
  tool_fixture h;
  tool_limits limits;
  limits.max_result = 7;
  h.tools.add(
      llm::tool("long", ""),
      [](const llm::tool_arguments&) { return tool_fixture::echo("aaaaaa\xe2\x82\xac\xe2\x82\xac"); }, limits);
  run_scope run = h.open();
  CHECK(texts(h.at_once(run, {call_of("long")})) == std::vector<std::string>{"aaaaaa\n[cut: the first 6 of 12 bytes]"});
}

TEST_CASE("what cannot be a tool is refused, by its name and the field") {
  weather_fixture h;
  CHECK(why_not(h.tools, llm::tool("", "")) == "tool \"\": its name is empty");
  CHECK(why_not(h.tools, llm::tool("weather", "")) == "tool \"weather\": there is one of that name already");
  CHECK(why_not(h.tools, llm::tool("x", "", "[]")) ==
        "tool \"x\": the schema of its arguments (parameters) is not a JSON object");
  CHECK(
      why_not(h.tools, llm::tool("x", "", R"({"properties":{"a":{"minimum":"1"}}})")) ==
      "tool \"x\": the schema of its arguments (parameters) has \"minimum\" at \"#/properties/a\", which is no number");
  tool_limits limits;
  limits.concurrency = 0;
  CHECK(why_not(h.tools, llm::tool("x", ""), limits) == "tool \"x\": concurrency = 0; it is at least 1");
  limits = {};
  limits.timeout = -1ns;
  CHECK(why_not(h.tools, llm::tool("x", ""), limits) == "tool \"x\": timeout = -1; it is not negative");
  limits = {};
  limits.calls_per_run = -1;
  CHECK(why_not(h.tools, llm::tool("x", ""), limits) == "tool \"x\": calls_per_run = -1; it is not negative");
  limits = {};
  limits.money = -5;
  CHECK(why_not(h.tools, llm::tool("x", ""), limits) == "tool \"x\": money = -5; it is not negative");
  limits = {};
  limits.max_arguments = 1;
  CHECK(why_not(h.tools, llm::tool("x", ""), limits) == "tool \"x\": max_arguments = 1; it is at least 2");
  limits = {};
  limits.max_result = 0;
  CHECK(why_not(h.tools, llm::tool("x", ""), limits) == "tool \"x\": max_result = 0; it is at least 1");
  CHECK_THROWS_AS(h.tools.add(llm::tool("x", ""), tool_handler()), error_exception);
  CHECK_THROWS_AS(
      h.tools.add_blocking(llm::tool("x", ""), asio::any_io_executor(), [](const auto&) { return answer(""); }),
      error_exception);
  CHECK(h.tools.tools().size() == 1);
}

TEST_CASE("a name that providers refuse is refused at once") {
  weather_fixture h;
  const auto said = [&h](const std::string& name) { return why_not(h.tools, llm::tool(name, "")); };
  const auto has = [](const std::string& name, const std::string& character) {
    return "tool \"" + name + "\": its name has \"" + character +
           "\" in it; letters (a to z), digits, _ and - are all it may have";
  };
  CHECK(said("my tool!") == has("my tool!", " "));
  CHECK(said("ns.look") == has("ns.look", "."));
  CHECK(said("a:b/c") == has("a:b/c", ":"));
  CHECK(said("\xC3\xA4"
             "b") == has("\xC3\xA4"
                         "b",
                         "\xC3\xA4"));
  CHECK(said("gr\xC3\xBC\xC3\x9F") == has("gr\xC3\xBC\xC3\x9F", "\xC3\xBC"));
  CHECK(said("a\tb") ==
        "tool \"a b\": its name has byte 9 in it; letters (a to z), digits, _ and - are all it may have");
  CHECK(said(std::string("\0", 1))
            .ends_with("its name has byte 0 in it; letters (a to z), digits, _ and - are all it may have"));
  CHECK(said(std::string(65, 'x')) ==
        "tool \"" + std::string(65, 'x') + "\": its name has 65 characters; it is at most 64 long");
  CHECK(h.tools.tools().size() == 1);
  h.tools.add(llm::tool("Az09_-" + std::string(58, 'x'), ""), [](const llm::tool_arguments&) { return fail(); });
  h.tools.add(llm::tool("-", ""), [](const llm::tool_arguments&) { return fail(); });
  CHECK(h.tools.tools().size() == 3);
}

TEST_CASE("hooks may refuse a call, change its result, and see what happens in order") {
  weather_fixture h;
  run_scope run = h.open();
  std::vector<std::string> seen;
  tool_hooks hooks;
  hooks.before = [&](run_scope& in, const llm::tool_call& call) -> asio::awaitable<expected<void, error>> {
    CHECK(in.id() == run.id());
    seen.push_back("before " + call.id);
    if (call.id == "b") co_return unexpected<error>(error(errc::refused, "not on Sundays"));
    if (call.id == "c") throw std::runtime_error("the rule is broken");
    co_return expected<void, error>();
  };
  hooks.after = [&](run_scope&, tool_result& result) -> asio::awaitable<void> {
    seen.push_back("after " + result.call.id);
    result.text += "!";
    if (result.call.id == "d") {
      result.outcome = tool_outcome::failed;
      throw std::runtime_error("dropped");
    }
    co_return;
  };
  hooks.started = [&](const llm::tool_call& call) {
    seen.push_back("started " + call.id);
    throw std::runtime_error("dropped");
  };
  hooks.finished = [&](const tool_result& result) {
    seen.push_back("finished " + result.call.id);
    throw std::runtime_error("dropped");
  };
  const std::string paris = R"({"city":"Paris"})";
  const auto done =
      h.at_once(run,
                {call_of("weather", paris, "a"), call_of("weather", paris, "b"), call_of("weather", paris, "c"),
                 call_of("weather", paris, "d"), call_of("gone", paris, "e")},
                hooks);
  REQUIRE(done.size() == 5);
  CHECK(texts(done) == std::vector<std::string>{"Sunny in Paris!", "not on Sundays", "the rule is broken",
                                                "Sunny in Paris!", R"(no tool named "gone"; there are: weather)"});
  CHECK(done[0].outcome == tool_outcome::answered);
  CHECK(done[1].outcome == tool_outcome::refused);
  CHECK(done[2].outcome == tool_outcome::refused);
  CHECK(done[3].outcome == tool_outcome::failed);
  CHECK(seen == std::vector<std::string>{"finished e", "before a", "before b", "finished b", "before c", "finished c",
                                         "before d", "started a", "after a", "finished a", "started d", "after d",
                                         "finished d"});
  CHECK(run.balance().spent.tool_calls == 2);
}

TEST_CASE("approval is asked while the call holds nothing; without anybody to ask it is refused") {
  tool_fixture h;
  tool_limits limits;
  limits.needs_approval = true;
  h.add_quick("pay", limits);
  h.add_quick("look");
  run_scope run = h.open(run_settings("root").limit({}));
  CHECK(texts(h.at_once(run, {call_of("pay")})) ==
        std::vector<std::string>{"tool \"pay\" needs an approval, and there is nobody to give it"});

  run_settings narrow("narrow");
  narrow.width = 1;
  run_scope inside = run.child(narrow).value();
  tool_hooks hooks;
  bool yes = true;
  hooks.approve = [&](run_scope&, const llm::tool_call&) -> asio::awaitable<bool> {
    const bool said = yes;
    co_await h.room.wait();
    co_return said;
  };
  started<results> calls;
  h.call(calls, inside, {call_of("pay"), call_of("look"), call_of("pay")}, hooks);
  CHECK(h.room.inside() == 2);
  CHECK(run.balance().spent.tool_calls == 1);
  yes = false;
  h.room.let_all_go();
  h.run();
  CHECK(texts(*calls.value) == std::vector<std::string>{"pay", "look", "pay"});

  started<results> more;
  h.call(more, inside, {call_of("pay")}, hooks);
  h.finish(more);
  CHECK(texts(*more.value) == std::vector<std::string>{"the call of tool \"pay\" was not approved"});
  CHECK(more.value->at(0).outcome == tool_outcome::refused);
  CHECK(run.balance().spent.tool_calls == 3);
}

TEST_CASE("an argument that is given twice is neither taken nor paid for") {
  tool_fixture h;
  int ran = 0;
  h.tools.add(llm::tool("count", "", R"({"type":"object","properties":{"n":{"type":"integer","maximum":5}}})"),
              [&](const llm::tool_arguments&) -> asio::awaitable<answer> {
                ++ran;
                co_return "done";
              });
  run_scope run = h.open();
  const results all = h.at_once(run, {call_of("count", R"({"n":99,"n":3})")});
  REQUIRE(all.size() == 1);
  CHECK(all[0].outcome == tool_outcome::invalid);
  CHECK(all[0].text == "argument \"n\" is given twice");
  CHECK(ran == 0);
  CHECK(run.balance().spent.tool_calls == 0);
}
