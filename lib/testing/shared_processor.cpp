#include "testing/shared_processor.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::testing {
namespace {

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

instant shared_processor::next() const noexcept {
  if (running_ < model_.slots && !queue_.empty()) return now_;
  instant earliest = by_time_.empty() ? never : by_time_.begin()->first;
  if (!by_work_.empty()) {
    const double left = std::max(0.0, by_work_.begin()->first - work_) / share();
    // A hair less, so that what is due at a whole nanosecond is not put off to the next one by rounding.
    const double nanoseconds = std::ceil(left * 1e9 - 1e-3);
    if (nanoseconds < 9e18) {
      earliest = std::min(earliest, after(now_, duration(static_cast<duration::rep>(nanoseconds))));
    }
  }
  return std::max(earliest, now_);
}

void shared_processor::pass_until(instant when) noexcept {
  if (when <= now_) return;
  work_ += in_seconds(when - now_) * share();
  now_ = when;
}

void shared_processor::advance(instant now, std::vector<processor_event>& out) {
  for (;;) {
    start_waiting(out);
    const auto when = next();
    if (when > now || when == never) break;
    pass_until(when);
    // Exactly one event: what it changes may change what comes next.
    if (!by_time_.empty() && by_time_.begin()->first <= now_) {
      step_latency(by_time_.begin()->second);
    } else {
      step_work(by_work_.begin()->second, out);
    }
  }
  pass_until(now);
}

shared_processor::admission shared_processor::arrive(std::uint64_t id, processor_job job) {
  if (full()) return admission::refused;
  auto& it = tasks_[id];
  it.job = job;
  it.arrival = ++arrivals_;
  if (running_ < model_.slots && queue_.empty()) {
    start(id, it);
    return admission::running;
  }
  queue_.emplace(it.arrival, id);
  return admission::waiting;
}

std::optional<shared_processor::progress> shared_processor::cancel(std::uint64_t id) {
  const auto found = tasks_.find(id);
  if (found == tasks_.end()) return std::nullopt;
  auto& it = found->second;
  const auto come = done(it);
  if (it.where == phase::waiting) {
    queue_.erase({it.arrival, id});
  } else {
    by_time_.erase({it.ready, id});
    by_work_.erase({it.target, id});
    --running_;
  }
  tasks_.erase(found);
  return come;
}

void shared_processor::set_model(provider_model model) {
  const auto old = std::exchange(model_, model);
  for (auto& [id, it] : tasks_) {
    if (it.where != phase::prompt && it.where != phase::output) continue;
    by_work_.erase({it.target, id});
    if (it.where == phase::prompt) {
      enter_prompt(id, it, moved_begin(it.begin, work_, old.prompt_rate, model.prompt_rate));
    } else {
      it.begin = moved_begin(it.begin, work_, old.output_rate, model.output_rate);
      aim_at_output(id, it);
    }
  }
}

shared_processor::progress shared_processor::done(const task& it) const noexcept {
  switch (it.where) {
    case phase::waiting:
    case phase::latency: return {};
    case phase::prompt: return {whole_tokens(work_ - it.begin, model_.prompt_rate, it.job.input), 0};
    case phase::output:
      return {it.job.input, std::max(it.told, std::isinf(model_.output_rate)
                                                  ? it.told
                                                  : whole_tokens(work_ - it.begin, model_.output_rate, it.job.output))};
    case phase::holding: break;
  }
  return {it.job.input, it.job.output};
}

void shared_processor::start_waiting(std::vector<processor_event>& out) {
  while (running_ < model_.slots && !queue_.empty()) {
    const auto id = queue_.begin()->second;
    queue_.erase(queue_.begin());
    start(id, tasks_.at(id));
    out.push_back({processor_event::kind::started, id, 0, now_});
  }
}

void shared_processor::start(std::uint64_t id, task& it) {
  ++running_;
  it.where = phase::latency;
  it.ready = after(now_, model_.latency);
  by_time_.emplace(it.ready, id);
}

void shared_processor::step_latency(std::uint64_t id) {
  by_time_.erase(by_time_.begin());
  enter_prompt(id, tasks_.at(id), work_);
}

void shared_processor::enter_prompt(std::uint64_t id, task& it, double begin) {
  it.where = phase::prompt;
  it.begin = begin;
  it.target = begin + at_full_speed(it.job.input, model_.prompt_rate);
  by_work_.emplace(it.target, id);
}

void shared_processor::aim_at_output(std::uint64_t id, task& it) {
  const auto left = it.job.output - it.told;
  const double token = 1 / (model_.output_rate * share());
  const double gap = in_seconds(model_.chunk_gap) * model_.time_scale;
  std::int64_t together = model_.chunk_tokens;
  if (together <= 0) {
    const double fit = std::ceil(gap / token);
    // The first token goes alone: it is what people wait for.
    together = it.told == 0 ? 1 : fit < static_cast<double>(left) ? static_cast<std::int64_t>(fit) : left;
  }
  it.next_told = it.told + std::clamp(together, std::int64_t{1}, left);
  it.target = it.begin + at_full_speed(it.next_told, model_.output_rate);
  by_work_.emplace(it.target, id);
}

void shared_processor::step_work(std::uint64_t id, std::vector<processor_event>& out) {
  auto& it = tasks_.at(id);
  by_work_.erase(by_work_.begin());
  if (it.where == phase::prompt) {
    out.push_back({processor_event::kind::prompt_done, id, it.job.input, now_});
    it.where = phase::output;
    it.begin = it.target;
  } else {
    it.told = it.next_told;
    out.push_back({processor_event::kind::produced, id, it.told, now_});
  }
  if (it.told < it.job.output) {
    aim_at_output(id, it);
  } else if (it.job.ends) {
    finish(id, out);
  } else {
    it.where = phase::holding;
  }
}

void shared_processor::finish(std::uint64_t id, std::vector<processor_event>& out) {
  out.push_back({processor_event::kind::finished, id, tasks_.at(id).job.output, now_});
  tasks_.erase(id);
  --running_;
}

}  // namespace sluice::testing
