#include "llm/call_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <limits>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::llm::test;
using sluice::errc;
using sluice::llm::call_phase;
using sluice::llm::client_options;
using sluice::llm::request;
using sluice::testing::scripted_exchange;

TEST_CASE("a chat is estimated, admitted, sent and settled by the provider's usage") {
  call_fixture f;
  f.transport.add(plain(plain_answer).with_pause());
  f.transport.add(plain(plain_answer));
  const auto chat = f.start(f.caller.chat(question()));
  REQUIRE(f.transport.requests().size() == 1);
  CHECK(f.in_flight() == 1);
  f.transport.release(0);
  f.run();
  REQUIRE((chat->value && chat->value->has_value()));
  CHECK((*chat->value)->text == "Hi");
  CHECK((*chat->value)->usage == sluice::llm::token_usage{900, 40, 0, 0, false});
  CHECK(f.idle());
  CHECK(f.consumed() == 940);
  CHECK(f.gate.statistics().all.reserved_tokens_total == question_tokens);

  const auto sent = f.transport.requests().at(0);
  CHECK(sent.method() == "POST");
  CHECK(sent.url() == "http://server/v1/chat/completions");
  CHECK(sent.body().starts_with(R"({"model":"m","messages":[{"role":"user","content":"qqq)"));
}

TEST_CASE("what it holds before the answer is the whole reservation, and the output after its first byte") {
  call_fixture f;
  f.transport.add(scripted_exchange(200)
                      .with_pause_before_head()
                      .with_chunk(plain_answer.substr(0, 10))
                      .with_pause()
                      .with_chunk(plain_answer.substr(10)));
  const auto chat = f.start(f.caller.chat(question()));
  CHECK(f.held_tokens() == question_tokens);
  f.transport.release(0);
  f.run();
  CHECK(f.held_tokens() == 500 + 128);
  f.transport.release(0);
  f.run();
  REQUIRE((chat->value && chat->value->has_value()));
  CHECK(f.idle());
}

TEST_CASE("the key is in its header, and nowhere else") {
  for (const bool azure : {false, true}) {
    client_options options("https://server/v1?api-version=1", "sk-secret");
    if (azure) options.key_as = sluice::llm::key_header::api_key;
    options.headers.emplace_back("x-team", "blue");
    call_fixture f(sluice::policy({.slots = 4, .tokens = 100'000}), options);
    f.transport.add(plain(R"({"error":{"message":"bad key sk-secret"}})", 401));
    const auto chat = f.start(f.caller.chat(question()));
    REQUIRE((chat->value && !chat->value->has_value()));
    CHECK(chat->value->error().is(errc::unauthorized));
    CHECK(chat->value->error().message().find("sk-secret") == std::string::npos);

    const auto sent = f.transport.requests().at(0);
    CHECK(sent.url() == "https://server/v1/chat/completions?api-version=1");
    CHECK(sent.body().find("sk-secret") == std::string::npos);
    int carriers = 0;
    bool team = false;
    for (const auto& line : sent.headers()) {
      team = team || (line.name() == "x-team" && line.value() == "blue");
      if (line.value().find("sk-secret") == std::string::npos) continue;
      ++carriers;
      CHECK(line.name() == (azure ? "api-key" : "authorization"));
      CHECK(line.value() == (azure ? "sk-secret" : "Bearer sk-secret"));
    }
    CHECK(carriers == 1);
    CHECK(team);
  }
}

TEST_CASE("a refusal of the provider costs nothing, and tells all it knows") {
  call_fixture f;
  f.transport.add(plain(R"({"error":{"message":"slow","type":"requests","code":"rate_limit_exceeded"}})", 429)
                      .with_header("retry-after", "1.5")
                      .with_header("x-request-id", "r9"));
  const auto chat = f.start(f.caller.chat(question()));
  REQUIRE((chat->value && !chat->value->has_value()));
  const auto& failed = chat->value->error();
  CHECK(failed.is(errc::rate_limited));
  CHECK(failed.status == 429);
  CHECK(failed.retry_after == sluice::duration(1500ms));
  CHECK(failed.request_id == "r9");
  CHECK(failed.provider_code == "rate_limit_exceeded");
  CHECK_FALSE(failed.partial.has_value());
  CHECK(f.idle());
  CHECK(f.consumed() == 0);
}

TEST_CASE("a 200 that is no answer") {
  const auto fails = [](scripted_exchange script) {
    call_fixture f;
    f.transport.add(std::move(script));
    const auto chat = f.start(f.caller.chat(question()));
    REQUIRE((chat->value && !chat->value->has_value()));
    CHECK(f.idle());
    return chat->value->error();
  };
  CHECK(fails(plain(R"({"error":{"message":"x","code":"overloaded"}})")).is(errc::overloaded));
  CHECK(fails(plain("{\"choices\":[")).is(errc::protocol_error));
  CHECK(fails(plain("")).message().find("empty") != std::string::npos);
  CHECK(fails(scripted_exchange(200).with_header("content-type", "text/html").with_chunk("<html>Sign in</html>"))
            .message()
            .find("<html>Sign in</html>") != std::string::npos);
  const auto cut = fails(scripted_exchange(200).with_chunk("{").with_failure(errc::connection_lost, "gone"));
  CHECK(cut.is(errc::connection_lost));
  CHECK(cut.phase == call_phase::answering);
  const auto never = fails(scripted_exchange::failure(errc::connect_timeout, "no connection within 5 s"));
  CHECK(never.is(errc::connect_timeout));
  CHECK(never.phase == call_phase::sent);
}

TEST_CASE("a plain answer that does not say why the model stopped is not whole; what came is kept and charged") {
  for (const char* finish : {"", R"(,"finish_reason":null)", R"(,"finish_reason":"")"}) {
    CAPTURE(finish);
    call_fixture f;
    f.transport.add(plain(R"({"id":"c1","choices":[{"index":0,"message":{"content":"half"})" + std::string(finish) +
                          R"(}],"usage":{"prompt_tokens":900,"completion_tokens":3}})"));
    const auto chat = f.start(f.caller.chat(question()));
    REQUIRE((chat->value && !chat->value->has_value()));
    const auto& failed = chat->value->error();
    CHECK(failed.is(errc::protocol_error));
    CHECK(failed.message().starts_with("the provider's answer holds no finish_reason; it begins {\"id\":\"c1\""));
    CHECK(failed.status == 200);
    REQUIRE(failed.partial.has_value());
    CHECK(failed.partial->text == "half");
    CHECK(failed.partial->usage == sluice::llm::token_usage{.input_tokens = 900, .output_tokens = 3});
    CHECK(failed.usage == failed.partial->usage);
    CHECK(f.consumed() == 903);
    CHECK(f.idle());
  }
}

TEST_CASE("a plain answer that breaks off keeps what had come") {
  call_fixture f;
  f.transport.add(plain(R"({"id":"c1","choices":[{"index":0,"message":{"content":"12345678"},"finish_rea)"));
  const auto chat = f.start(f.caller.chat(question()));
  REQUIRE((chat->value && !chat->value->has_value()));
  CHECK(chat->value->error().is(errc::protocol_error));
  CHECK(chat->value->error().usage.estimated);
}

TEST_CASE("usage that the provider does not send is estimated, and marked") {
  call_fixture f;
  f.transport.add(plain(R"({"choices":[{"message":{"content":"abcdefgh"},"finish_reason":"stop"}]})"));
  const auto chat = f.start(f.caller.chat(question()));
  REQUIRE((chat->value && chat->value->has_value()));
  CHECK((*chat->value)->usage == sluice::llm::token_usage{1'004, 2, 0, 0, true});
  CHECK(f.consumed() == 1'006);
}

TEST_CASE("a figure that is missing or negative is estimated, and no part is larger than its whole") {
  using sluice::llm::token_usage;
  const auto usage_of = [](const std::string& usage) {
    call_fixture f;
    f.transport.add(
        plain(R"({"choices":[{"message":{"content":"abcdefgh"},"finish_reason":"stop"}],"usage":)" + usage + "}"));
    const auto chat = f.start(f.caller.chat(question()));
    REQUIRE((chat->value && chat->value->has_value()));
    CHECK(f.consumed() == (*chat->value)->usage.input_tokens + (*chat->value)->usage.output_tokens);
    return (*chat->value)->usage;
  };
  CHECK(usage_of(R"({"prompt_tokens":900})") == token_usage{900, 2, 0, 0, true});
  CHECK(usage_of(R"({"prompt_tokens":900,"completion_tokens":-1})") == token_usage{900, 2, 0, 0, true});
  CHECK(usage_of(R"({"completion_tokens":40})") == token_usage{1'004, 40, 0, 0, true});
  CHECK(usage_of(R"({"prompt_tokens":-900,"completion_tokens":40})") == token_usage{1'004, 40, 0, 0, true});
  CHECK(usage_of(R"({"prompt_tokens":-1,"completion_tokens":-1})") == token_usage{1'004, 2, 0, 0, true});
  CHECK(usage_of(R"({"prompt_tokens":0,"completion_tokens":0})") == token_usage{0, 0, 0, 0, false});
  CHECK(usage_of(R"({"prompt_tokens":900,"completion_tokens":40,"prompt_tokens_details":{"cached_tokens":901},)"
                 R"("completion_tokens_details":{"reasoning_tokens":41}})") == token_usage{900, 40, 900, 40, false});
}

TEST_CASE("a request that does not hold is neither admitted nor sent") {
  call_fixture f;
  const auto chat = f.start(f.caller.chat(request("m")));
  REQUIRE((chat->value && !chat->value->has_value()));
  CHECK(chat->value->error().is(errc::invalid_argument));
  CHECK(chat->value->error().phase == call_phase::preparing);
  CHECK(f.gate.statistics().all.admitted_total == 0);
  CHECK(f.transport.requests().empty());
}

TEST_CASE("a limit on output that is not positive is the request's fault, not the estimator's") {
  for (const std::int64_t limit : {-1, 0}) {
    CAPTURE(limit);
    int asked = 0;
    client_options options("http://server/v1");
    options.estimator = [&asked, estimate = options.estimator](const request& what) {
      ++asked;
      return estimate(what);
    };
    call_fixture f(sluice::policy({.slots = 4, .tokens = 100'000}), options);
    const auto chat = f.start(f.caller.chat(request("m").user("q").limit_output(limit)));
    REQUIRE((chat->value && !chat->value->has_value()));
    CHECK(chat->value->error().is(errc::invalid_argument));
    CHECK(chat->value->error().phase == call_phase::preparing);
    CHECK(chat->value->error().message() ==
          "the request does not hold: max_output_tokens = " + std::to_string(limit) + "; must be positive");
    CHECK(asked == 0);
    CHECK(f.gate.statistics().all.admitted_total == 0);
  }
}

TEST_CASE("an estimator of one's own is asked once, and what it gives is checked") {
  int asked = 0;
  sluice::cost answer{.tokens = 70, .output_tokens = 50};
  client_options options("http://server/v1");
  options.estimator = [&](const request& what) {
    ++asked;
    CHECK(what.model == "m");
    return answer;
  };
  call_fixture f(sluice::policy({.slots = 4, .tokens = 100}), options);
  f.transport.add(plain(plain_answer).with_pause());
  f.transport.add(plain(plain_answer).with_pause());
  const auto first = f.start(f.caller.chat(question()));
  CHECK(asked == 1);
  CHECK(f.gate.statistics().all.reserved_tokens_total == 70);
  const auto second =
      f.start(f.caller.chat(question(), {.reservation = sluice::cost{.tokens = 20, .output_tokens = 10}}));
  CHECK(asked == 1);
  CHECK(f.in_flight() == 2);
  f.transport.release_all();
  f.run();
  CHECK((first->ended && second->ended));

  for (const sluice::cost bad :
       {sluice::cost{.tokens = -1}, sluice::cost{.tokens = 5, .output_tokens = 6},
        sluice::cost{.tokens = 5, .output_tokens = -1}, sluice::cost{.tokens = 5, .slots = 0}}) {
    answer = bad;
    const auto refused = f.start(f.caller.chat(question()));
    REQUIRE((refused->value && !refused->value->has_value()));
    CHECK(refused->value->error().is(errc::invalid_argument));
  }
  answer = {.tokens = std::numeric_limits<std::int64_t>::max(), .output_tokens = 1};
  const auto huge = f.start(f.caller.chat(question()));
  REQUIRE((huge->value && !huge->value->has_value()));
  CHECK(huge->value->error().is(errc::refused));
  REQUIRE(huge->value->error().refusal.has_value());
  CHECK(huge->value->error().refusal->reason() == sluice::reason::impossible);
  CHECK(f.idle());
  CHECK(f.transport.requests().size() == 2);
}

TEST_CASE("a deadline that passes in the queue: nothing is sent, and the error says so") {
  call_fixture f(sluice::policy({.slots = 1, .tokens = 100'000}));
  auto taken = f.gate.try_admit({.tokens = 1});
  REQUIRE(taken.has_value());
  const auto chat = f.start(f.caller.chat(question(), {.deadline = f.gate.in(5s)}));
  CHECK(f.waiting() == 1);
  f.advance(5s);
  REQUIRE((chat->value && !chat->value->has_value()));
  const auto& failed = chat->value->error();
  CHECK(failed.is(errc::deadline_exceeded));
  CHECK(failed.phase == call_phase::queued);
  REQUIRE(failed.refusal.has_value());
  CHECK(failed.refusal->reason() == sluice::reason::deadline_in_queue);
  CHECK(f.transport.requests().empty());
  taken->release();

  const auto late = f.start(f.caller.chat(question(), {.deadline = f.gate.now() - 1s}));
  REQUIRE((late->value && !late->value->has_value()));
  CHECK(late->value->error().is(errc::deadline_exceeded));
  CHECK(f.idle());
}

TEST_CASE("the deadline and the limits go on to the exchange") {
  client_options options("http://server/v1");
  options.limits.idle = 7s;
  options.max_body = 12'345;
  call_fixture f(sluice::policy({.slots = 1, .tokens = 100'000}), options);
  f.transport.add(plain(plain_answer));
  const auto deadline = f.gate.in(30s);
  static_cast<void>(f.start(f.caller.chat(question(), {.deadline = deadline})));
  const auto sent = f.transport.requests().at(0);
  CHECK(sent.limits.deadline == deadline);
  CHECK(sent.limits.idle == sluice::duration(7s));
  CHECK(sent.max_body == 12'345);
}

TEST_CASE("cancelled at each await in turn: nothing stays behind") {
  const auto cancelled = [](const auto& chat) {
    REQUIRE(chat->ended);
    if (chat->value) return !chat->value->has_value() && chat->value->error().is(errc::cancelled);
    return chat->thrown != nullptr;
  };
  for (const auto as : {sluice::interactive, sluice::batch}) {
    CAPTURE(as.index());
    const sluice::llm::call_options how{.workload = as};
    {
      call_fixture f;  // in the queue
      std::vector<sluice::permit> taken;
      while (auto one = f.gate.try_admit({.tokens = 1}, as)) taken.push_back(std::move(*one));
      const auto chat = f.start(f.caller.chat(question(), how));
      CHECK(f.waiting() == 1);
      f.cancel(chat);
      CHECK(cancelled(chat));
      CHECK(f.waiting() == 0);
      CHECK(f.transport.requests().empty());
    }
    const auto stopped = [&](scripted_exchange script) {
      call_fixture f;
      f.transport.add(std::move(script));
      const auto chat = f.start(f.caller.chat(question(), how));
      CHECK(f.in_flight() == 1);
      f.cancel(chat);
      CHECK(cancelled(chat));
      CHECK(f.idle());
      CHECK(f.transport.cancelled() == 1);
      return f.consumed();
    };
    CHECK(stopped(scripted_exchange::silent()) == 0);
    CHECK(stopped(scripted_exchange(200).with_chunk("{").with_silence()) == 1'004);
    CHECK(stopped(scripted_exchange(500).with_chunk("{").with_silence()) == 0);
  }
}

TEST_CASE("a preempted chat waits again with its age, and is sent again") {
  call_fixture f(lending());
  f.transport.add(plain(plain_answer).with_pause());
  f.transport.add(plain(plain_answer).with_pause());
  f.transport.add(plain(plain_answer));
  f.transport.add(plain(plain_answer).with_pause());
  const auto first = f.start(f.caller.chat(question(), {.workload = sluice::batch}));
  const auto second = f.start(f.caller.chat(question(), {.workload = sluice::batch}));
  CHECK(f.in_flight() == 2);
  std::vector<sluice::permit> owners;
  while (auto one = f.gate.try_admit({.tokens = 1})) owners.push_back(std::move(*one));
  CHECK(owners.size() == 2);
  const auto third = f.start(f.caller.chat(question(), {.workload = sluice::interactive}));
  CHECK(f.waiting() == 1);
  f.advance(2s);
  // The borrower has gone back to the queue, and the owner has its slot.
  CHECK(f.gate.statistics()[sluice::batch].preempted_total == 1);
  REQUIRE((third->value && third->value->has_value()));
  CHECK(f.transport.cancelled() == 1);
  // Which has left its slot again by now, and the borrower is back.
  CHECK(f.transport.requests().size() == 4);
  owners.clear();
  f.transport.release_all();
  f.run();
  CHECK((first->value && first->value->has_value()));
  CHECK((second->value && second->value->has_value()));
  CHECK(f.transport.requests().size() == 4);
  CHECK(f.idle());
}

TEST_CASE("a chat that does not want to wait again is told that it was preempted") {
  call_fixture f(lending());
  f.transport.add(scripted_exchange::silent());
  f.transport.add(scripted_exchange::silent());
  const sluice::llm::call_options how{.workload = sluice::batch, .requeue_when_preempted = false};
  const auto first = f.start(f.caller.chat(question(), how));
  const auto second = f.start(f.caller.chat(question(), how));
  std::vector<sluice::permit> owners;
  while (auto one = f.gate.try_admit({.tokens = 1})) owners.push_back(std::move(*one));
  f.transport.add(plain(plain_answer));
  const auto third = f.start(f.caller.chat(question()));
  f.advance(2s);
  const bool first_lost = first->ended;
  const auto& lost = first_lost ? first : second;
  REQUIRE((lost->value && !lost->value->has_value()));
  const auto& told = lost->value->error();
  CHECK(told.is(errc::preempted));
  CHECK((third->value && third->value->has_value()));
  CHECK(told.age.preemptions == 1);
  CHECK(told.message() ==
        "preempted: the capacity was lent, and its owner needs it back; ask again with failure::age as "
        "call_options::age to keep "
        "the place");

  // With its age it goes before work of its class that came in the meantime.
  while (auto one = f.gate.try_admit({.tokens = 1})) owners.push_back(std::move(*one));
  f.transport.add(scripted_exchange::silent());
  request late = question();
  late.model = "late";
  const auto newcomer = f.start(f.caller.chat(late, how));
  request back = question();
  back.model = "back";
  const auto again = f.start(f.caller.chat(back, {.workload = sluice::batch, .age = told.age}));
  REQUIRE(f.waiting() == 2);
  const auto sent_before = f.transport.requests().size();
  f.cancel(first_lost ? second : first);
  REQUIRE(f.transport.requests().size() == sent_before + 1);
  CHECK(f.transport.requests().back().body().find("\"back\"") != std::string::npos);
  f.cancel(newcomer);
  f.cancel(again);
  owners.clear();
  CHECK(f.idle());
}
