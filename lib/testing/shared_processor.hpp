/// \file
/// The mock provider's speed as a pure machine: slots, a queue, and processor sharing among what runs. It reads no
/// clock and starts no timer; its instants are the model's own time.
#pragma once

#include <sluice/core/time.hpp>
#include <sluice/testing/provider_model.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sluice::testing {

/// One request as the model sees it: so many tokens in, so many out.
struct processor_job {
  std::int64_t input = 0;
  std::int64_t output = 0;
  /// False: keeps its slot when the output has been produced, until it is cancelled.
  bool ends = true;
};

/// Something that came about at an instant.
struct processor_event {
  /// What.
  enum class kind {
    /// It left the queue and has a slot.
    started,
    /// The prompt has been processed.
    prompt_done,
    /// Output has become visible; `tokens` is how much in all.
    produced,
    /// The end; its slot is free.
    finished,
  };
  kind what = kind::started;
  std::uint64_t id = 0;
  std::int64_t tokens = 0;
  instant at;
};

/// Work is measured in seconds at full speed, and one clock of such seconds, `work_`, runs for all: it advances by
/// `share(n)` a second of model time. So the order of what comes next does not change when n does.
/// O(log n) an event.
class shared_processor {
 public:
  /// What became of an arrival.
  enum class admission {
    /// It has a slot.
    running,
    /// It waits for one.
    waiting,
    /// Slots and queue are full.
    refused,
  };

  /// How far a job came.
  struct progress {
    std::int64_t input = 0;
    std::int64_t output = 0;
  };

  explicit shared_processor(provider_model model, instant start = {}) : model_(model), now_(start) {}

  /// Brings the time to `now` and appends what came about until then, in order.
  void advance(instant now, std::vector<processor_event>& out);

  /// When `advance` has something to tell next; `never` when nothing moves.
  [[nodiscard]] instant next() const noexcept;

  /// All of these act at the instant last advanced to. An `id` is used once.
  admission arrive(std::uint64_t id, processor_job job);
  /// Empty when there is no such job (any more). Who then gets the slot is told by the next `advance`.
  std::optional<progress> cancel(std::uint64_t id);
  void set_model(provider_model model);

  [[nodiscard]] bool full() const noexcept { return running_ >= model_.slots && waiting() >= model_.queue; }
  [[nodiscard]] std::int64_t running() const noexcept { return running_; }
  [[nodiscard]] std::int64_t waiting() const noexcept { return static_cast<std::int64_t>(queue_.size()); }
  [[nodiscard]] const provider_model& model() const noexcept { return model_; }

 private:
  enum class phase { waiting, latency, prompt, output, holding };

  struct task {
    processor_job job;
    phase where = phase::waiting;
    std::uint64_t arrival = 0;
    instant ready;
    // On the clock of work: where the phase began, and where the next event of this task lies.
    double begin = 0;
    double target = 0;
    std::int64_t told = 0;
    std::int64_t next_told = 0;
  };

  [[nodiscard]] double share() const noexcept { return model_.share(running_); }
  [[nodiscard]] progress done(const task& it) const noexcept;
  void pass_until(instant when) noexcept;
  void start(std::uint64_t id, task& it);
  void start_waiting(std::vector<processor_event>& out);
  void enter_prompt(std::uint64_t id, task& it, double begin);
  void aim_at_output(std::uint64_t id, task& it);
  void step_latency(std::uint64_t id);
  void step_work(std::uint64_t id, std::vector<processor_event>& out);
  void finish(std::uint64_t id, std::vector<processor_event>& out);

  provider_model model_;
  instant now_;
  double work_ = 0;
  std::int64_t running_ = 0;
  std::uint64_t arrivals_ = 0;
  std::unordered_map<std::uint64_t, task> tasks_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> queue_;
  std::set<std::pair<instant, std::uint64_t>> by_time_;
  std::set<std::pair<double, std::uint64_t>> by_work_;
};

}  // namespace sluice::testing
