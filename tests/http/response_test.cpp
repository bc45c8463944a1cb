#include <sluice/http/transport.hpp>

#include <doctest/doctest.h>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <deque>

using namespace sluice;
using http::header;

namespace {

class scripted_response final : public http::response {
 public:
  [[nodiscard]] int status() const noexcept override { return 200; }
  [[nodiscard]] const std::vector<header>& headers() const noexcept override { return lines; }
  [[nodiscard]] asio::awaitable<expected<std::string, error>> read() override {
    if (parts.empty()) co_return std::string();
    auto part = std::move(parts.front());
    parts.pop_front();
    co_return part;
  }

  std::vector<header> lines;
  std::deque<expected<std::string, error>> parts;
};

expected<std::string, error> read_whole(scripted_response& from) {
  asio::io_context loop;
  expected<std::string, error> result = unexpected(error(errc::cancelled, "never completed"));
  asio::co_spawn(loop, http::read_all(from),
                 [&](std::exception_ptr, expected<std::string, error> got) { result = std::move(got); });
  loop.run();
  return result;
}

}  // namespace

TEST_CASE("the first header of a name is found without regard to case") {
  scripted_response r;
  r.lines.emplace_back("Retry-After", "3");
  r.lines.emplace_back("retry-after", "4");
  CHECK(r.header_value("RETRY-AFTER") == "3");
  CHECK(r.header_value("retry-afte").empty());
  CHECK(r.header_value("").empty());
}

TEST_CASE("read_all joins the parts in order") {
  scripted_response r;
  for (const char* part : {"a", "bc", "def"}) r.parts.emplace_back(std::string(part));
  CHECK(read_whole(r).value() == "abcdef");
}

TEST_CASE("read_all of an empty body is empty") {
  scripted_response r;
  CHECK(read_whole(r).value().empty());
}

TEST_CASE("read_all hands on the error that ended the body") {
  scripted_response r;
  r.parts.emplace_back(std::string("a"));
  r.parts.emplace_back(unexpected(error(errc::connection_lost, "gone")));
  const auto result = read_whole(r);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error() == error(errc::connection_lost, "gone"));
}
