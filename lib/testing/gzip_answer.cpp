#include "testing/gzip_answer.hpp"

#include <string>
#include <utility>

namespace sluice::testing {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t longest_block = 0xffff;
constexpr auto head = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"sv;

void append_number(std::string& to, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>((number >> (8 * i)) & 0xffU);
}

void append_block(std::string& to, std::string_view bytes, bool last) {
  to += last ? '\x01' : '\x00';
  append_number(to, bytes.size(), 2);
  append_number(to, ~bytes.size(), 2);
  to += bytes;
}

std::vector<http::header> encoded(std::vector<http::header> headers) {
  headers.emplace_back("content-encoding", "gzip");
  return headers;
}

class gzip_answer final : public loopback_answer {
 public:
  explicit gzip_answer(std::unique_ptr<loopback_answer> plain) : inner_(std::move(plain)) {}

  void start(int status, const std::vector<http::header>& headers) override {
    inner_->start(status, encoded(headers));
    inner_->chunk(head);
  }

  void chunk(std::string_view bytes) override { pending_ += bytes; }

  void flush() override {
    inner_->chunk(blocks());
    inner_->flush();
  }

  void end(delivered then) override {
    inner_->chunk(blocks());
    inner_->chunk(trailer());
    inner_->end(std::move(then));
  }

  void whole(int status, const std::vector<http::header>& headers, std::string_view body, delivered then) override {
    pending_ = body;
    auto all = std::string(head) + blocks();
    all += trailer();
    inner_->whole(status, encoded(headers), all, std::move(then));
  }

  void torn(int status, const std::vector<http::header>& headers, std::string_view body, std::size_t length) override {
    pending_ = body;
    const auto all = std::string(head) + blocks();
    inner_->torn(status, encoded(headers), all, all.size() + (length - body.size()));
  }

  void hang_up() override {
    inner_->chunk(blocks());
    inner_->hang_up();
  }

 private:
  std::string blocks() {
    const auto bytes = std::exchange(pending_, {});
    checksum_ = gzip_checksum(bytes, checksum_);
    size_ += bytes.size();
    std::string all;
    for (std::string_view left = bytes; !left.empty();) {
      const auto next = left.substr(0, longest_block);
      append_block(all, next, false);
      left.remove_prefix(next.size());
    }
    return all;
  }

  std::string trailer() const {
    std::string all;
    append_block(all, {}, true);
    append_number(all, checksum_, 4);
    append_number(all, size_, 4);
    return all;
  }

  std::unique_ptr<loopback_answer> inner_;
  std::string pending_;
  std::uint32_t checksum_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace

std::unique_ptr<loopback_answer> make_gzip_answer(std::unique_ptr<loopback_answer> plain) {
  return std::make_unique<gzip_answer>(std::move(plain));
}

std::uint32_t gzip_checksum(std::string_view bytes, std::uint32_t before) noexcept {
  std::uint32_t sum = ~before;
  for (const char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1U) ^ ((sum & 1U) != 0 ? 0xedb88320U : 0U);
  }
  return ~sum;
}

}  // namespace sluice::testing
