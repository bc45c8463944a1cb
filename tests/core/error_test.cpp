#include <sluice/core/error.hpp>

#include <doctest/doctest.h>

#include <ostream>
#include <set>
#include <string>
#include <system_error>

using sluice::errc;

TEST_CASE("every code has one plain sentence of its own") {
  std::set<std::string> sentences;
  constexpr int last = static_cast<int>(errc::unauthorized);
  for (int code = 0; code <= last; ++code) {
    const std::string sentence = sluice::error_category().message(code);
    CHECK_FALSE(sentence.empty());
    CHECK(sentence.find('\n') == std::string::npos);
    sentences.insert(sentence);
  }
  CHECK(sentences.size() == last + 1);
  CHECK(sentences.count(sluice::error_category().message(last + 1)) == 0);
  CHECK(std::string(sluice::error_category().name()) == "sluice");
}

TEST_CASE("codes are std::error_codes, and zero is success") {
  const std::error_code code = errc::stale_revision;
  CHECK(code == errc::stale_revision);
  CHECK(code != errc::refused);
  CHECK(code);
  CHECK_FALSE(std::error_code(errc::ok));
  CHECK(&code.category() == &sluice::error_category());
}

TEST_CASE("an error is a value") {
  const sluice::error one(errc::cancelled, "what happened");
  sluice::error two = one;
  CHECK(two == one);
  CHECK(two.is(errc::cancelled));
  CHECK_FALSE(two.is(errc::refused));
  CHECK(two.message() == "what happened");
  two = sluice::error(std::make_error_code(std::errc::timed_out), "system");
  CHECK_FALSE(two == one);
  CHECK(two.code() == std::errc::timed_out);
  CHECK_FALSE(sluice::error().code());
}

TEST_CASE("an exception carries the same error") {
  const sluice::error why(errc::invalid_configuration, "capacity.slots: must not be negative, is -1");
  try {
    throw sluice::error_exception(why);
  } catch (const std::system_error& caught) {
    CHECK(caught.code() == errc::invalid_configuration);
    CHECK(std::string(caught.what()).find("capacity.slots") != std::string::npos);
    const auto* const ours = dynamic_cast<const sluice::error_exception*>(&caught);
    REQUIRE(ours != nullptr);
    CHECK(ours->why() == why);
  }
}
