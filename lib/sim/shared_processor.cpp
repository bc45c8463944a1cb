#include <sluice/sim/shared_processor.hpp>

#include "core/dary_heap.hpp"
#include "core/slab.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::sim {
namespace {

enum class phase : std::uint8_t { unused, waiting, latency, prompt, output, holding };

constexpr std::uint32_t nobody = 0xffff'ffff;

struct task {
  processor_job job;
  std::uint64_t tag = 0;
  // On the clock of work: where the phase began, and where the next event lies.
  double begin = 0;
  double target = 0;
  std::int64_t told = 0;
  std::int64_t next_told = 0;
  std::uint32_t place = 0;
  // In the queue of those that wait; `next` links unused cells as well.
  std::uint32_t previous = nobody;
  std::uint32_t next = nobody;
  std::uint32_t generation = 0;
  std::uint32_t turn = 0;
  phase where = phase::unused;
};

using task_slab = core::slab<task, &task::next>;

template <typename Key>
struct due {
  Key when;
  std::uint32_t turn;
  std::uint32_t index;
};

// What is due at the same point is served in order of its start; turns may wrap around.
template <typename Key>
struct due_order {
  task_slab* tasks;
  static bool before(const due<Key>& a, const due<Key>& b) noexcept {
    return a.when != b.when ? a.when < b.when : static_cast<std::int32_t>(a.turn - b.turn) < 0;
  }
  void moved(const due<Key>& item, std::size_t place) const noexcept {
    (*tasks)[item.index].place = static_cast<std::uint32_t>(place);
  }
};

template <typename Key>
using due_heap = core::dary_heap<due<Key>, due_order<Key>>;

double in_seconds(duration length) { return std::chrono::duration<double>(length).count(); }

double at_full_speed(std::int64_t tokens, double rate) { return tokens == 0 ? 0 : static_cast<double>(tokens) / rate; }

// Sums of fractions of a token may fall short of the whole token by rounding.
std::int64_t whole_tokens(double work, double rate, std::int64_t most) {
  if (std::isinf(rate)) return most;
  return std::clamp(static_cast<std::int64_t>(work * rate + 1e-6), std::int64_t{0}, most);
}

// Where a phase would have begun, had what is done of it been done at `new_rate`.
double moved_begin(double begin, double work, double old_rate, double new_rate) {
  if (std::isinf(old_rate)) return begin;
  return std::isinf(new_rate) ? work : work - (work - begin) * old_rate / new_rate;
}

}  // namespace

// Work is measured in seconds at full speed, and one clock of such seconds, `work_`, runs for all: it advances by
// `share(n)` a second of model time. So the order of what comes next does not change when n does.
class shared_processor::state {
 public:
  state(const provider_model& model, instant start) : model_(model), now_(start) {}
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  [[nodiscard]] instant next() const noexcept {
    if (first_waiting_ != nobody && running_ < model_.slots) return now_;
    instant earliest = by_time_.empty() ? never : by_time_.front().when;
    if (!by_work_.empty()) {
      const double left = std::max(0.0, by_work_.front().when - work_) / share_;
      // A hair less, so that what is due at a whole nanosecond is not put off to the next one by rounding.
      const double nanoseconds = std::ceil(left * 1e9 - 1e-3);
      if (nanoseconds < 9e18) {
        earliest = std::min(earliest, after(now_, duration(static_cast<duration::rep>(nanoseconds))));
      }
    }
    return std::max(earliest, now_);
  }

  void advance(instant now, std::vector<processor_event>& out) {
    for (;;) {
      start_waiting(out);
      const auto when = next();
      if (when > now || when == never) break;
      pass_until(when);
      // Exactly one event: what it changes may change what comes next.
      if (!by_time_.empty() && by_time_.front().when <= now_) {
        const std::uint32_t index = by_time_.front().index;
        by_time_.pop();
        enter_prompt(index, work_);
      } else {
        step_work(out);
      }
    }
    pass_until(now);
  }

  entry arrive(std::uint64_t tag, const processor_job& job) {
    if (full()) return {};
    const std::uint32_t index = tasks_.take();
    task& it = tasks_[index];
    it.job = job;
    it.tag = tag;
    it.told = it.next_told = 0;
    ++it.generation;
    entry taken{processor_admission::running, {index, it.generation}};
    if (running_ < model_.slots && first_waiting_ == nobody) {
      start(index);
    } else {
      taken.outcome = processor_admission::waiting;
      join_queue(index);
    }
    return taken;
  }

  std::optional<progress> cancel(processor_ticket which) {
    if (!known(which)) return std::nullopt;
    task& it = tasks_[which.index];
    const progress come = done(it);
    if (it.where == phase::waiting) {
      leave_queue(which.index);
    } else {
      if (it.where == phase::latency) by_time_.erase(it.place);
      if (it.where == phase::prompt || it.where == phase::output) by_work_.erase(it.place);
      set_running(running_ - 1);
    }
    forget(which.index);
    return come;
  }

  [[nodiscard]] std::optional<progress> progress_of(processor_ticket which) const noexcept {
    if (!known(which)) return std::nullopt;
    return done(tasks_[which.index]);
  }

  void set_model(const provider_model& model) {
    const auto old = std::exchange(model_, model);
    set_running(running_);
    std::vector<std::uint32_t> working;
    while (!by_work_.empty()) {
      working.push_back(by_work_.front().index);
      by_work_.pop();
    }
    for (const std::uint32_t index : working) {
      task& it = tasks_[index];
      if (it.where == phase::prompt) {
        enter_prompt(index, moved_begin(it.begin, work_, old.prompt_rate, model.prompt_rate));
      } else {
        it.begin = moved_begin(it.begin, work_, old.output_rate, model.output_rate);
        aim_at_output(index);
      }
    }
  }

  [[nodiscard]] bool full() const noexcept { return running_ >= model_.slots && waiting_ >= model_.queue; }
  [[nodiscard]] std::int64_t running() const noexcept { return running_; }
  [[nodiscard]] std::int64_t waiting() const noexcept { return waiting_; }
  [[nodiscard]] const provider_model& model() const noexcept { return model_; }

 private:
  [[nodiscard]] bool known(processor_ticket which) const noexcept {
    return which.index < tasks_.size() && tasks_[which.index].where != phase::unused &&
           tasks_[which.index].generation == which.generation;
  }

  [[nodiscard]] progress done(const task& it) const noexcept {
    switch (it.where) {
      case phase::unused:
      case phase::waiting:
      case phase::latency: return {};
      case phase::prompt: return {whole_tokens(work_ - it.begin, model_.prompt_rate, it.job.input), 0};
      case phase::output: {
        if (std::isinf(model_.output_rate)) return {it.job.input, it.told};
        return {it.job.input, std::max(it.told, whole_tokens(work_ - it.begin, model_.output_rate, it.job.output))};
      }
      case phase::holding: break;
    }
    return {it.job.input, it.job.output};
  }

  void pass_until(instant when) noexcept {
    if (when <= now_) return;
    work_ += in_seconds(when - now_) * share_;
    now_ = when;
  }

  void set_running(std::int64_t count) noexcept {
    running_ = count;
    share_ = model_.share(count);
    // Nothing refers to the clock of work now; started anew, it stays exact however long the run.
    if (count == 0) work_ = 0;
  }

  void join_queue(std::uint32_t index) noexcept {
    task& it = tasks_[index];
    it.where = phase::waiting;
    it.previous = last_waiting_;
    it.next = nobody;
    (last_waiting_ == nobody ? first_waiting_ : tasks_[last_waiting_].next) = index;
    last_waiting_ = index;
    ++waiting_;
  }

  void leave_queue(std::uint32_t index) noexcept {
    const task& it = tasks_[index];
    (it.previous == nobody ? first_waiting_ : tasks_[it.previous].next) = it.next;
    (it.next == nobody ? last_waiting_ : tasks_[it.next].previous) = it.previous;
    --waiting_;
  }

  void start_waiting(std::vector<processor_event>& out) {
    while (first_waiting_ != nobody && running_ < model_.slots) {
      const std::uint32_t index = first_waiting_;
      leave_queue(index);
      start(index);
      out.push_back({processor_event::kind::started, tasks_[index].tag, 0, now_});
    }
  }

  void start(std::uint32_t index) {
    set_running(running_ + 1);
    task& it = tasks_[index];
    it.where = phase::latency;
    it.turn = turns_++;
    by_time_.push({after(now_, model_.latency), it.turn, index});
  }

  void enter_prompt(std::uint32_t index, double begin) {
    task& it = tasks_[index];
    it.where = phase::prompt;
    it.begin = begin;
    it.target = begin + at_full_speed(it.job.input, model_.prompt_rate);
    by_work_.push({it.target, it.turn, index});
  }

  [[nodiscard]] std::int64_t told_together(const task& it) const noexcept {
    // The first token goes alone: it is what people wait for.
    if (it.job.report_every > 0) return it.told == 0 ? 1 : it.job.report_every;
    if (model_.chunk_tokens > 0) return model_.chunk_tokens;
    if (it.told == 0) return 1;
    const double token = 1 / (model_.output_rate * share_);
    const double fit = std::ceil(in_seconds(model_.chunk_gap) * model_.time_scale / token);
    return fit < static_cast<double>(it.job.output) ? static_cast<std::int64_t>(fit) : it.job.output;
  }

  void aim_at_output(std::uint32_t index) {
    task& it = tasks_[index];
    it.next_told = it.told + std::clamp(told_together(it), std::int64_t{1}, it.job.output - it.told);
    it.target = it.begin + at_full_speed(it.next_told, model_.output_rate);
    by_work_.push({it.target, it.turn, index});
  }

  void step_work(std::vector<processor_event>& out) {
    const std::uint32_t index = by_work_.front().index;
    by_work_.pop();
    task& it = tasks_[index];
    if (it.where == phase::prompt) {
      out.push_back({processor_event::kind::prompt_done, it.tag, it.job.input, now_});
      it.where = phase::output;
      it.begin = it.target;
    } else {
      it.told = it.next_told;
      out.push_back({processor_event::kind::produced, it.tag, it.told, now_});
    }
    if (it.told < it.job.output) {
      aim_at_output(index);
    } else if (it.job.ends) {
      out.push_back({processor_event::kind::finished, it.tag, it.job.output, now_});
      set_running(running_ - 1);
      forget(index);
    } else {
      it.where = phase::holding;
    }
  }

  void forget(std::uint32_t index) noexcept {
    tasks_[index].where = phase::unused;
    tasks_.give(index);
  }

  provider_model model_;
  instant now_;
  double work_ = 0;
  double share_ = 1;
  std::int64_t running_ = 0;
  std::int64_t waiting_ = 0;
  std::uint32_t turns_ = 0;
  std::uint32_t first_waiting_ = nobody;
  std::uint32_t last_waiting_ = nobody;
  task_slab tasks_;
  due_heap<instant> by_time_{due_order<instant>{&tasks_}};
  due_heap<double> by_work_{due_order<double>{&tasks_}};
};

shared_processor::shared_processor(const provider_model& model, instant start)
    : state_(std::make_unique<state>(model, start)) {}
shared_processor::shared_processor(shared_processor&&) noexcept = default;
shared_processor& shared_processor::operator=(shared_processor&&) noexcept = default;
shared_processor::~shared_processor() = default;

void shared_processor::advance(instant now, std::vector<processor_event>& out) { state_->advance(now, out); }
instant shared_processor::next() const noexcept { return state_->next(); }
shared_processor::entry shared_processor::arrive(std::uint64_t tag, const processor_job& job) {
  return state_->arrive(tag, job);
}
std::optional<shared_processor::progress> shared_processor::cancel(processor_ticket which) {
  return state_->cancel(which);
}
std::optional<shared_processor::progress> shared_processor::progress_of(processor_ticket which) const noexcept {
  return state_->progress_of(which);
}
void shared_processor::set_model(const provider_model& model) { state_->set_model(model); }
bool shared_processor::full() const noexcept { return state_->full(); }
std::int64_t shared_processor::running() const noexcept { return state_->running(); }
std::int64_t shared_processor::waiting() const noexcept { return state_->waiting(); }
const provider_model& shared_processor::model() const noexcept { return state_->model(); }

}  // namespace sluice::sim
