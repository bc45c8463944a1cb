#include "agent/tools/fan_out.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice::agent::detail {

/// The batches of one tree that wait.
struct fan_out::line {
  /// Those that can go on now. `freed`: a lender whose borrower has ended; null when a unit of the root's own became
  /// free.
  void serve(const unit* freed);

  mutable std::mutex mutex;
  std::list<batch*> waiting;
  fan_out* root = nullptr;
  /// Whether a run below the root has a bound of its own: then a unit that becomes free there may let on a batch whose
  /// lender is idle.
  bool narrowed = false;
  /// How many of those that wait have a lender.
  std::int64_t with_lender = 0;
};

void fan_out::line::serve(const unit* freed) {
  for (auto at = waiting.begin(); at != waiting.end();) {
    const bool by_loan = narrowed ? with_lender > 0 : freed != nullptr && !freed->lent_ && freed->awaited_ > 0;
    if (!by_loan && root->used_ >= root->width_) return;
    batch& next = **at++;
    if (!next.fill(next.aside_)) continue;
    next.leave_line();
    next.room();
  }
}

std::shared_ptr<fan_out> fan_out::of_root(std::int64_t width) { return std::make_shared<fan_out>(nullptr, width); }

std::shared_ptr<fan_out> fan_out::below(std::shared_ptr<fan_out> above, std::int64_t width) {
  return std::make_shared<fan_out>(std::move(above), width);
}

fan_out::fan_out(std::shared_ptr<fan_out> above, std::int64_t width)
    : above_(std::move(above)), line_(above_ ? above_->line_ : std::make_shared<line>()), width_(width) {
  const std::lock_guard lock(line_->mutex);
  if (above_ == nullptr) {
    line_->root = this;
  } else {
    line_->narrowed = true;
  }
}

std::int64_t fan_out::running() const noexcept {
  const std::lock_guard lock(line_->mutex);
  return used_;
}

std::int64_t fan_out::waiting() const noexcept {
  const std::lock_guard lock(line_->mutex);
  return static_cast<std::int64_t>(line_->waiting.size());
}

bool fan_out::has_room(const fan_out* until) const noexcept {
  for (const fan_out* each = this; each != until; each = each->above_.get()) {
    if (each->used_ >= each->width_) return false;
  }
  return true;
}

void fan_out::add(std::int64_t much, const fan_out* until) noexcept {
  for (fan_out* each = this; each != until; each = each->above_.get()) each->used_ += much;
}

void fan_out::unit::give_back() noexcept {
  if (of_ == nullptr) return;
  const auto line = of_->line_;
  const std::lock_guard lock(line->mutex);
  if (lent_) {
    // Whoever borrowed it runs on, and counts in its place.
    ended_ = true;
    return;
  }
  end();
}

void fan_out::unit::end() noexcept {
  const auto of = std::move(of_);
  const auto lender = std::move(lender_);
  of_ = nullptr;
  ended_ = false;
  of->add(-1, lender ? lender->of_.get() : nullptr);
  if (lender != nullptr) {
    lender->lent_ = false;
    if (lender->ended_) return lender->end();
  }
  of->line_->serve(lender.get());
}

fan_out::batch::batch(std::shared_ptr<fan_out> of, std::shared_ptr<unit> lender) noexcept
    : of_(std::move(of)), lender_(std::move(lender)) {}

fan_out::batch::~batch() { rest(); }

bool fan_out::batch::take(unit& into) {
  const std::lock_guard lock(of_->line_->mutex);
  if (aside_.of_ != nullptr) {
    into.of_ = std::move(aside_.of_);
    into.lender_ = std::move(aside_.lender_);
    aside_.of_ = nullptr;
    return true;
  }
  if (waits_) return false;
  if (fill(into)) return true;
  line& all = *of_->line_;
  all.waiting.push_back(this);
  place_ = std::prev(all.waiting.end());
  waits_ = true;
  if (lender_) {
    ++lender_->awaited_;
    ++all.with_lender;
  }
  return false;
}

bool fan_out::batch::fill(unit& into) {
  // The lender's first: what is free may serve others.
  if (lender_ != nullptr && lender_->of_ != nullptr && !lender_->ended_ && !lender_->lent_ &&
      of_->has_room(lender_->of_.get())) {
    lender_->lent_ = true;
    into.lender_ = lender_;
    of_->add(1, lender_->of_.get());
  } else if (of_->has_room(nullptr)) {
    of_->add(1, nullptr);
  } else {
    return false;
  }
  into.of_ = of_;
  return true;
}

void fan_out::batch::leave_line() noexcept {
  if (!std::exchange(waits_, false)) return;
  line& all = *of_->line_;
  all.waiting.erase(place_);
  if (lender_) {
    --lender_->awaited_;
    --all.with_lender;
  }
}

void fan_out::batch::rest() noexcept {
  {
    const std::lock_guard lock(of_->line_->mutex);
    leave_line();
  }
  aside_.give_back();
}

}  // namespace sluice::agent::detail
