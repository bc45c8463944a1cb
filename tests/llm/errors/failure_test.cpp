#include <sluice/llm/failure.hpp>

#include <doctest/doctest.h>

#include <string>

using sluice::decision;
using sluice::errc;
using sluice::reason;
using sluice::rejection;
using sluice::llm::call_phase;
using sluice::llm::failure;
using sluice::llm::remedy;

namespace {

remedy of(errc code) { return failure(code, "m").what_helps(); }

remedy of(reason why) {
  decision what;
  what.reason = why;
  failure refused(errc::refused, "m", call_phase::queued);
  refused.refusal = rejection(what, "interactive");
  return refused.what_helps();
}

}  // namespace

TEST_CASE("what helps against each failure") {
  for (const errc code :
       {errc::connect_failed, errc::connect_timeout, errc::first_byte_timeout, errc::idle_timeout, errc::total_timeout,
        errc::connection_lost, errc::rate_limited, errc::overloaded, errc::provider_failed}) {
    CHECK(of(code) == remedy::try_again);
  }
  for (const errc code : {errc::invalid_argument, errc::provider_refused, errc::content_filtered,
                          errc::context_too_long, errc::too_large}) {
    CHECK(of(code) == remedy::change_request);
  }
  for (const errc code : {errc::unauthorized, errc::quota_exhausted, errc::host_not_found, errc::tls_failed,
                          errc::protocol_error, errc::invalid_configuration}) {
    CHECK(of(code) == remedy::change_settings);
  }
  CHECK(of(errc::deadline_exceeded) == remedy::more_time);
  CHECK(of(errc::preempted) == remedy::wait_for_capacity);
  CHECK(of(errc::cancelled) == remedy::none);
  CHECK(failure(sluice::error(std::make_error_code(std::errc::io_error), "m")).what_helps() == remedy::none);
}

TEST_CASE("what helps against a refusal depends on its reason") {
  for (const reason why :
       {reason::queue_full, reason::shed, reason::rate_limited, reason::no_room, reason::retry_budget, reason::none}) {
    CHECK(of(why) == remedy::wait_for_capacity);
  }
  CHECK(of(reason::impossible) == remedy::change_request);
  CHECK(of(reason::invalid_cost) == remedy::change_request);
  CHECK(of(reason::infeasible) == remedy::more_time);
  CHECK(of(reason::closed) == remedy::none);
  CHECK(of(reason::unknown_class) == remedy::change_settings);
  CHECK(of(reason::unknown_run) == remedy::change_settings);
  CHECK(of(reason::budget_exhausted) == remedy::change_settings);
  CHECK(of(errc::refused) == remedy::wait_for_capacity);
}

TEST_CASE("names") {
  CHECK(to_string(call_phase::preparing) == "preparing");
  CHECK(to_string(call_phase::queued) == "queued");
  CHECK(to_string(call_phase::sent) == "sent");
  CHECK(to_string(call_phase::answering) == "answering");
  CHECK(to_string(remedy::try_again) == "try again");
  CHECK(to_string(remedy::wait_for_capacity) == "wait for capacity");
  CHECK(to_string(remedy::more_time) == "more time");
  CHECK(to_string(remedy::change_request) == "change the request");
  CHECK(to_string(remedy::change_settings) == "change the settings");
  CHECK(to_string(remedy::none) == "none");
}
