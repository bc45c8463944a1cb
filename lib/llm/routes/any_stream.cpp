#include <sluice/llm/any_stream.hpp>

#include <utility>

namespace sluice::llm {
namespace {

class of_client final : public any_stream::source {
 public:
  explicit of_client(stream from) noexcept : from_(std::move(from)) {}
  asio::awaitable<expected<std::optional<stream_event>, failure>> next() override { return from_.next(); }
  const reply& result() const noexcept override { return from_.result(); }

 private:
  stream from_;
};

}  // namespace

any_stream::any_stream() noexcept = default;
any_stream::any_stream(llm::stream from) : source_(std::make_unique<of_client>(std::move(from))) {}
any_stream::any_stream(std::unique_ptr<source> from) noexcept : source_(std::move(from)) {}
any_stream::any_stream(any_stream&&) noexcept = default;
any_stream& any_stream::operator=(any_stream&&) noexcept = default;
any_stream::~any_stream() = default;

asio::awaitable<expected<std::optional<stream_event>, failure>> any_stream::next() {
  return source_ ? source_->next() : of_client(stream()).next();
}

const reply& any_stream::result() const noexcept {
  static const reply nothing;
  return source_ ? source_->result() : nothing;
}

}  // namespace sluice::llm
