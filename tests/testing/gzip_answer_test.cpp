#include "testing/gzip_answer.hpp"

#include <sluice/testing/mock_provider.hpp>

#include "testing/mock_fixture.hpp"

#include <cstdint>
#include <string>
#include <string_view>

using namespace sluice::testing;

namespace {

std::uint32_t number_at(std::string_view bytes, std::size_t at, int size) {
  std::uint32_t number = 0;
  for (int i = size; i-- > 0;)
    number = (number << 8U) | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  return number;
}

// Reads gzip of stored blocks, and checks all of it. `whole` tells whether its end is there.
struct unzipped {
  explicit unzipped(std::string_view bytes) {
    REQUIRE(bytes.size() >= 10);
    CHECK(bytes.substr(0, 4) == std::string_view("\x1f\x8b\x08\x00", 4));
    std::size_t at = 10;
    while (at < bytes.size() && !whole) {
      const auto flags = static_cast<unsigned char>(bytes[at]);
      REQUIRE(flags <= 1);
      const auto length = number_at(bytes, at + 1, 2);
      REQUIRE(number_at(bytes, at + 3, 2) == (~length & 0xffffU));
      text += bytes.substr(at + 5, length);
      at += 5 + length;
      ++blocks;
      whole = flags == 1;
    }
    if (!whole) return;
    REQUIRE(bytes.size() == at + 8);
    CHECK(number_at(bytes, at, 4) == gzip_checksum(text));
    CHECK(number_at(bytes, at + 4, 4) == text.size());
  }

  std::string text;
  std::size_t blocks = 0;
  bool whole = false;
};

constexpr const char* takes_gzip = "accept-encoding: deflate, gzip\r\n";

}  // namespace

TEST_CASE("the checksum is the usual one, also in parts") {
  CHECK(gzip_checksum("") == 0);
  CHECK(gzip_checksum("123456789") == 0xcbf43926U);
  CHECK(gzip_checksum("6789", gzip_checksum("12345")) == 0xcbf43926U);
}

TEST_CASE("plain answers, short and longer than a block") {
  mock_provider provider;
  loopback_client client(provider.port());
  provider.fail_next(mock_fault::gzip(), 2);
  auto reply = post(client, chat(), takes_gzip);
  CHECK(reply.header("content-encoding") == "gzip");
  const unzipped small(reply.body);
  CHECK(small.whole);
  CHECK(json::parse(small.text)["object"] == "chat.completion");
  provider.reply_with(mock_reply::text(std::string(200'000, 'x')));
  reply = post(client, chat(), takes_gzip);
  const unzipped large(reply.body);
  CHECK(large.whole);
  CHECK(large.blocks == 5);
  CHECK(json::parse(large.text)["choices"][0]["message"]["content"] == std::string(200'000, 'x'));
}

TEST_CASE("a stream can be read as far as it has come") {
  mock_provider provider;
  loopback_client client(provider.port());
  provider.fail_next(mock_fault::gzip());
  const unzipped whole(post(client, streamed(), takes_gzip).body);
  CHECK(whole.whole);
  CHECK(events(whole.text).back() == "[DONE]");
  provider.fail_next(mock_fault::hang_up_after(2).with(mock_fault::gzip()), 2);
  auto reply = post(client, streamed(), takes_gzip);
  CHECK_FALSE(reply.whole);
  const unzipped torn(reply.body);
  CHECK_FALSE(torn.whole);
  CHECK(torn.text.find(R"({"content":" runs"})") != std::string::npos);
  loopback_client again(provider.port());
  reply = post(again, chat(), takes_gzip);
  CHECK_FALSE(reply.whole);
  CHECK(unzipped(reply.body).text.starts_with("{\"id\""));
}

TEST_CASE("who does not accept it gets it plain") {
  mock_provider provider;
  loopback_client client(provider.port());
  provider.fail_next(mock_fault::gzip(), 2);
  for (const auto* headers : {"", "accept-encoding: br\r\n"}) {
    const auto reply = post(client, chat(), headers);
    CHECK(reply.header("content-encoding").empty());
    CHECK(json::parse(reply.body)["object"] == "chat.completion");
  }
}
