/// \file
/// `sim::shared_processor`: a provider's speed as a pure machine: slots, a queue, and processor sharing among what
/// runs. It reads no clock and starts no timer; its instants are the model's own time.
#pragma once

#include <sluice/core/time.hpp>
#include <sluice/sim/provider_model.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace sluice::sim {

/// One request as the model sees it: so many tokens in, so many out.
struct processor_job {
  std::int64_t input = 0;
  std::int64_t output = 0;
  /// False: keeps its slot when the output has been produced, until it is cancelled.
  bool ends = true;
  /// When positive: output is told of at the first token, and then whenever so many more have been produced, instead of
  /// as the model says.
  std::int64_t report_every = 0;
};

/// Names a job from its arrival to its end; never reused. One without a value names nobody.
struct processor_ticket {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  friend constexpr bool operator==(processor_ticket, processor_ticket) noexcept = default;
};

/// Something that came about at an instant.
struct processor_event {
  /// What.
  enum class kind : std::uint8_t {
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
  /// What `arrive` was told.
  std::uint64_t tag = 0;
  std::int64_t tokens = 0;
  instant at{};
};

/// What became of an arrival.
enum class processor_admission : std::uint8_t {
  /// It has a slot.
  running,
  /// It waits for one.
  waiting,
  /// Slots and queue are full.
  refused,
};

/// The provider of a `provider_model`. Jobs that run share its speed evenly; those that wait are served in order of
/// arrival. Tokens are exact: a job is told of when it is due to the nanosecond, whatever the load did in between.
///
/// Complexity: O(log n) an event, an arrival or a cancellation, n being the jobs that run; `set_model` O(n log n).
/// Memory is that of the most jobs known at once.
/// Thread safety: none; one thread at a time.
class shared_processor {
 public:
  /// How far a job has come, in whole tokens.
  struct progress {
    std::int64_t input = 0;
    std::int64_t output = 0;
  };

  /// How an arrival was taken; the ticket names nobody when it was refused.
  struct entry {
    processor_admission outcome = processor_admission::refused;
    processor_ticket ticket{};
  };

  explicit shared_processor(const provider_model& model, instant start = {});
  shared_processor(shared_processor&&) noexcept;
  shared_processor& operator=(shared_processor&&) noexcept;
  ~shared_processor();

  /// Brings the time to `now` and appends what came about until then, in order. An earlier instant changes nothing.
  void advance(instant now, std::vector<processor_event>& out);

  /// When `advance` has something to tell next; `never` when nothing moves.
  [[nodiscard]] instant next() const noexcept;

  /// A request comes, at the instant last advanced to, as all of the below. `tag` stands in its events.
  entry arrive(std::uint64_t tag, const processor_job& job);

  /// Takes a job out, whether it runs or waits, and says how far it came. Empty when there is no such job (any more).
  /// Who then gets the slot is told by the next `advance`.
  std::optional<progress> cancel(processor_ticket which);

  /// How far a job has come by now. Empty when there is no such job (any more).
  [[nodiscard]] std::optional<progress> progress_of(processor_ticket which) const noexcept;

  /// Another speed, from now on and for what is left of the work in hand. Fewer slots stop new starts alone.
  void set_model(const provider_model& model);

  /// Whether the next arrival would be refused.
  [[nodiscard]] bool full() const noexcept;
  [[nodiscard]] std::int64_t running() const noexcept;
  [[nodiscard]] std::int64_t waiting() const noexcept;
  [[nodiscard]] const provider_model& model() const noexcept;

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace sluice::sim
