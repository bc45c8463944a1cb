#include "testing/cut_answer.hpp"

#include <sluice/testing/mock_provider.hpp>

#include "testing/mock_fixture.hpp"

#include <asio/io_context.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::testing;

namespace {

// Writes down what it is told.
class noting_answer final : public loopback_answer {
 public:
  explicit noting_answer(std::vector<std::string>& log) : log_(log) {}
  ~noting_answer() override { log_.emplace_back("gone"); }
  void start(int status, const std::vector<sluice::http::header>&) override {
    log_.push_back("start " + std::to_string(status));
  }
  void chunk(std::string_view bytes) override { log_.emplace_back(bytes); }
  void flush() override { log_.emplace_back("flush"); }
  void end(delivered then) override {
    log_.emplace_back("end");
    if (then) then(true);
  }
  void whole(int, const std::vector<sluice::http::header>&, std::string_view, delivered) override {
    log_.emplace_back("whole");
  }
  void torn(int, const std::vector<sluice::http::header>&, std::string_view, std::size_t) override {
    log_.emplace_back("torn");
  }
  void hang_up() override { log_.emplace_back("hang_up"); }

 private:
  std::vector<std::string>& log_;
};

using notes = std::vector<std::string>;

}  // namespace

TEST_CASE("pieces at once: each a chunk and a write of its own") {
  asio::io_context context;
  notes seen;
  bool told = false;
  {
    const auto answer = make_cut_answer(context, std::make_unique<noting_answer>(seen), 2, {});
    answer->start(200, {});
    answer->chunk("abc");
    answer->flush();
    CHECK(seen == notes{"start 200", "ab", "flush", "c", "flush"});
    answer->chunk("de");
    answer->end([&](bool) { told = true; });
  }
  CHECK(seen == notes{"start 200", "ab", "flush", "c", "flush", "de", "flush", "end", "gone"});
  CHECK(told);
}

TEST_CASE("a plain answer is cut as well; a torn one and a hang-up do not wait") {
  asio::io_context context;
  notes seen;
  auto answer = make_cut_answer(context, std::make_unique<noting_answer>(seen), 4, {});
  answer->whole(500, {}, "abcdef", {});
  CHECK(seen == notes{"start 500", "abcd", "flush", "ef", "flush", "end"});
  seen.clear();
  answer = make_cut_answer(context, std::make_unique<noting_answer>(seen), 1, 1h);
  seen.clear();
  answer->start(200, {});
  answer->chunk("ab");
  answer->flush();
  CHECK(seen == notes{"start 200", "a", "flush"});
  answer->hang_up();
  CHECK(seen == notes{"start 200", "a", "flush", "b", "flush", "hang_up"});
  answer->torn(200, {}, "x", 2);
  CHECK(seen.back() == "torn");
}

TEST_CASE("pieces in time come one after the other, and the end after the last") {
  asio::io_context context;
  notes seen;
  const auto answer = make_cut_answer(context, std::make_unique<noting_answer>(seen), 1, 1ms);
  const auto begin = std::chrono::steady_clock::now();
  answer->start(200, {});
  answer->chunk("ab");
  answer->flush();
  answer->chunk("c");
  bool told = false;
  answer->end([&](bool whole) { told = whole; });
  CHECK(seen == notes{"start 200", "a", "flush"});
  context.run();
  CHECK(std::chrono::steady_clock::now() - begin >= 3ms);
  CHECK(seen == notes{"start 200", "a", "flush", "b", "flush", "c", "flush", "end"});
  CHECK(told);
}

TEST_CASE("what is dropped in the midst of its time goes no further") {
  asio::io_context context;
  notes seen;
  auto answer = make_cut_answer(context, std::make_unique<noting_answer>(seen), 1, 1ms);
  answer->start(200, {});
  answer->chunk("abc");
  answer->flush();
  answer.reset();
  context.run();
  CHECK(seen == notes{"start 200", "a", "flush", "gone"});
}

TEST_CASE("over HTTP, whole and complete") {
  mock_provider provider;
  loopback_client client(provider.port());
  provider.fail_next(mock_fault::split_writes(3).with(mock_fault::crlf()));
  auto reply = post(client, streamed());
  CHECK(reply.whole);
  CHECK(events(reply.body, "\r\n").back() == "[DONE]");
  provider.fail_next(mock_fault::split_writes(1));
  reply = post(client, chat());
  CHECK(reply.whole);
  CHECK(reply.header("transfer-encoding") == "chunked");
  CHECK(json::parse(reply.body)["object"] == "chat.completion");
  provider.fail_next(mock_fault::slow_drip(100us, 64));
  reply = post_messages(client, messages("x", true));
  CHECK(reply.whole);
  CHECK(named_events(reply.body).back()["type"] == "message_stop");
  CHECK(provider.stats().served == 3);
}

TEST_CASE("a client that leaves a dripping answer, and a provider that stops in it") {
  mock_provider provider;
  provider.fail_next(mock_fault::slow_drip(1h), 2);
  loopback_client first(provider.port());
  send(first, streamed());
  REQUIRE(first.wait_for("\r\n\r\n1\r\nd"));
  CHECK(provider.stats().running == 0);
  CHECK(provider.stats().open == 1);
  first.close();
  REQUIRE(provider.wait_until([](const mock_stats& stats) { return stats.cancelled == 1; }));
  CHECK(provider.stats().open == 0);
  loopback_client second(provider.port());
  send(second, streamed());
  REQUIRE(second.wait_for("\r\n\r\n1\r\nd"));
  provider.stop();
  CHECK_FALSE(second.read().whole);
}
