#include "llm/routes/shared_exchange.hpp"

#include <asio/bind_cancellation_slot.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/error.hpp>
#include <asio/post.hpp>

#include <algorithm>
#include <system_error>
#include <utility>

namespace sluice::llm::detail {

bool seat::leave(ending) noexcept { return of_->leave(*this); }

/// Ends the exchange on every path out of its coroutine; also when its context drops it before it has run.
class shared_exchange::ending_guard {
 public:
  explicit ending_guard(std::shared_ptr<shared_exchange> whose) noexcept : of(std::move(whose)) {}
  ending_guard(ending_guard&&) noexcept = default;
  ending_guard& operator=(ending_guard&&) = delete;
  ~ending_guard() {
    if (!of) return;
    landing lost;
    lost.failed.emplace(errc::cancelled,
                        "the shared exchange was dropped: the context of the gate's executor was destroyed");
    end(std::move(lost));
  }

  void end(landing how_it_ended) noexcept { std::exchange(of, nullptr)->end(std::move(how_it_ended)); }
  /// Within a `catch`.
  void end_by_exception() noexcept {
    landing thrown;
    try {
      throw;
    } catch (const std::system_error& why) {
      if (why.code() == asio::error::operation_aborted) {
        thrown.failed.emplace(errc::cancelled, "the shared exchange was cancelled: nobody waited for it any more");
      } else {
        thrown.thrown = std::current_exception();
      }
    } catch (...) {
      thrown.thrown = std::current_exception();
    }
    end(std::move(thrown));
  }

  std::shared_ptr<shared_exchange> of;
};

shared_exchange::shared_exchange(std::shared_ptr<exchange_book> book, std::string key, const any_client& over,
                                 const call_options& leaders)
    : how(leaders),
      book_(std::move(book)),
      key_(std::move(key)),
      over_(over),
      strand_(asio::make_strand(over.gate().get_executor())) {}

void shared_exchange::start(request what, bool streamed) {
  // Nobody else ends it before it has begun: the leader is aboard.
  const auto strand = *strand_;
  ending_guard guard(shared_from_this());
  auto running = streamed ? run_stream(std::move(guard), std::move(what)) : run_chat(std::move(guard), std::move(what));
  asio::co_spawn(strand, std::move(running), asio::bind_cancellation_slot(signal_.slot(), asio::detached));
}

asio::awaitable<void> shared_exchange::run_chat(ending_guard guard, request what) {
  try {
    auto answered = co_await guard.of->over_.chat(std::move(what), guard.of->how);
    landing end;
    if (answered) {
      end.answer = *std::move(answered);
    } else {
      end.failed = std::move(answered).error();
    }
    guard.end(std::move(end));
  } catch (...) {
    guard.end_by_exception();
  }
}

asio::awaitable<void> shared_exchange::run_stream(ending_guard guard, request what) {
  try {
    auto answering = co_await guard.of->over_.stream(std::move(what), guard.of->how);
    landing end;
    if (!answering) {
      end.failed = std::move(answering).error();
      co_return guard.end(std::move(end));
    }
    guard.of->opened();
    for (;;) {
      auto event = co_await answering->next();
      if (event && *event) {
        guard.of->add(**std::move(event));
        continue;
      }
      if (event) {
        end.answer = answering->result();
      } else {
        end.failed = std::move(event).error();
      }
      // Its permit ends before anybody is told.
      *answering = any_stream();
      co_return guard.end(std::move(end));
    }
  } catch (...) {
    guard.end_by_exception();
  }
}

shared_exchange::sight shared_exchange::look(seat& who, std::size_t given, bool for_head) {
  sight seen;
  const std::lock_guard lock(book_->mutex_);
  seen.opened = open_;
  if (!for_head && given < events_.size()) {
    seen.event = events_[given];
  } else if (ended_) {
    seen.ended = ended_;
  } else if (!(for_head && open_)) {
    who.prepare();
    if (who.place_ == seat::nowhere) {
      who.place_ = waiting_.size();
      waiting_.push_back(std::static_pointer_cast<seat>(who.shared_from_this()));
    }
  }
  return seen;
}

bool shared_exchange::leave(seat& who) noexcept {
  std::shared_ptr<seat> gone;
  std::optional<asio::strand<asio::any_io_executor>> strand;
  {
    const std::lock_guard lock(book_->mutex_);
    if (!std::exchange(who.aboard_, false)) return true;
    --aboard_;
    if (ended_) return true;
    if (aboard_ > 0) {
      if (who.place_ != seat::nowhere) {
        waiting_.back()->place_ = who.place_;
        std::swap(waiting_[who.place_], waiting_.back());
        gone = std::move(waiting_.back());
        waiting_.pop_back();
        who.place_ = seat::nowhere;
      }
      return true;
    }
    book_->forget(*this);
    strand = strand_;
  }
  // Always through the strand: the exchange may be in the middle of starting what is to be cancelled.
  asio::post(*strand, [self = shared_from_this()] { self->signal_.emit(asio::cancellation_type::terminal); });
  return false;
}

std::vector<std::shared_ptr<seat>> shared_exchange::take_waiting() noexcept {
  for (const auto& each : waiting_) each->place_ = seat::nowhere;
  return std::exchange(waiting_, {});
}

void shared_exchange::opened() noexcept {
  std::vector<std::shared_ptr<seat>> woken;
  {
    const std::lock_guard lock(book_->mutex_);
    open_ = true;
    // Whoever is left waits for the end of what it has cancelled.
    if (aboard_ > 0) woken = take_waiting();
  }
  for (const auto& each : woken) each->wake();
}

void shared_exchange::add(stream_event event) {
  auto kept = std::make_shared<const stream_event>(std::move(event));
  std::vector<std::shared_ptr<seat>> woken;
  {
    const std::lock_guard lock(book_->mutex_);
    events_.push_back(std::move(kept));
    if (aboard_ > 0) woken = take_waiting();
  }
  for (const auto& each : woken) each->wake();
}

void shared_exchange::end(landing how_it_ended) noexcept {
  auto kept = std::make_shared<const landing>(std::move(how_it_ended));
  std::vector<std::shared_ptr<seat>> woken;
  std::optional<asio::strand<asio::any_io_executor>> strand;
  {
    const std::lock_guard lock(book_->mutex_);
    ended_ = std::move(kept);
    strand.swap(strand_);
    book_->forget(*this);
    woken = take_waiting();
  }
  for (const auto& each : woken) each->wake();
}

boarding exchange_book::board(const std::string& key, const call_options& how) {
  std::shared_ptr<shared_exchange> made;
  const std::lock_guard lock(mutex_);
  auto& open = open_[key];
  const auto found =
      std::find_if(open.begin(), open.end(), [&](const shared_exchange* each) { return serves(each->how, how); });
  const bool leads = found == open.end();
  if (!leads) {
    ++counts_.followers;
    made = (*found)->shared_from_this();
  } else {
    ++counts_.leaders;
    made = std::make_shared<shared_exchange>(shared_from_this(), key, over_, how);
    open.push_back(made.get());
    ++counts_.in_flight;
  }
  auto place = std::make_shared<seat>(over_.gate().time(), made);
  ++made->aboard_;
  return {std::move(made), std::move(place), leads};
}

bool exchange_book::serves(const call_options& leaders, const call_options& callers) const {
  if (leaders.finalising != callers.finalising || leaders.requeue_when_preempted != callers.requeue_when_preempted ||
      leaders.max_attempts != callers.max_attempts || leaders.reservation != callers.reservation)
    return false;
  if (leaders.workload == callers.workload) return true;
  const policy rules = over_.gate().current_policy();
  const std::size_t theirs = leaders.workload.index();
  const std::size_t own = callers.workload.index();
  return theirs < rules.classes.size() && own < rules.classes.size() &&
         rules.classes[theirs].priority >= rules.classes[own].priority;
}

void exchange_book::forget(const shared_exchange& which) noexcept {
  const auto found = open_.find(which.key_);
  if (found == open_.end()) return;
  counts_.in_flight -= std::erase(found->second, &which);
  if (found->second.empty()) open_.erase(found);
}

void exchange_book::went_alone() {
  const std::lock_guard lock(mutex_);
  ++counts_.alone;
}

void exchange_book::saved(const token_usage& taken) {
  const std::lock_guard lock(mutex_);
  counts_.tokens_saved += taken.input_tokens + taken.output_tokens;
}

single_flight_statistics exchange_book::statistics() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace sluice::llm::detail
