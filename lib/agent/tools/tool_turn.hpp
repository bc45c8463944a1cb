/// \file
/// `tool_turn`: the tool calls of one turn of a model, carried out side by side.
#pragma once

#include "agent/tools/fan_out.hpp"
#include "agent/tools/tool_places.hpp"
#include "agent/tools/tool_registry.hpp"

#include <sluice/agent/detail/task_set.hpp>
#include <sluice/agent/run_scope.hpp>
#include <sluice/agent/tool_hooks.hpp>
#include <sluice/agent/tool_result.hpp>
#include <sluice/agent/toolbox.hpp>
#include <sluice/core/time.hpp>
#include <sluice/llm/tool_call.hpp>

#include <asio/awaitable.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::agent::detail {

class run_state;

/// A scope of the turn's own for the caller's run, for hooks: one that goes on when the caller's is gone finds the run
/// closed. It does not close it.
class lent_scope {
 public:
  explicit lent_scope(const std::shared_ptr<run_state>& run);
  lent_scope(const lent_scope&) = delete;
  lent_scope& operator=(const lent_scope&) = delete;
  ~lent_scope();

  [[nodiscard]] run_scope& get() noexcept { return scope_; }

 private:
  run_scope scope_;
};

/// Owned by shared pointers: its caller's, and its tasks', of which those that are abandoned may outlive the caller.
///
/// Calls that may be carried out are taken up in order by *lanes*, tasks that each carry out one call after the other.
/// A lane that takes one up wakes the caller, which starts another lane when there is more to do: so as long as
/// handlers answer at once one lane does it all. A call that is cancelled takes its lane with it. The caller alone
/// decides when time is up.
class tool_turn final : public fan_out::batch, public std::enable_shared_from_this<tool_turn> {
 public:
  tool_turn(std::shared_ptr<tool_registry> tools, run_scope& run, std::vector<llm::tool_call> calls,
            const tool_hooks& hooks);
  ~tool_turn() override;

  /// As `toolbox::all`.
  [[nodiscard]] static asio::awaitable<std::vector<tool_result>> carry_out(std::shared_ptr<tool_turn> self);

 private:
  /// How far a call has come.
  enum class phase : std::uint8_t {
    /// Hooks are being asked.
    asking,
    /// It waits for a lane.
    ready,
    /// It is in a lane: it waits for a place at its tool, runs, or hooks look at its result.
    taken,
    /// It has its result.
    done,
  };
  /// Why a call was told to stop.
  enum class stop : std::uint8_t { no, tool_time, run_time, cancelled };

  class call {
   public:
    explicit call(llm::tool_call made) : result(std::move(made)) {}

    // Guarded by the mutex.
    phase at = phase::ready;
    stop stopped = stop::no;
    /// The task that it is in.
    std::size_t task = 0;
    /// When its time is up; once it was told to stop, when it is abandoned.
    instant until = never;
    std::shared_ptr<run_state> run;
    std::shared_ptr<fan_out::unit> unit;
    /// At its tool. It is the task's.
    std::weak_ptr<tool_place> place;
    /// Its result when it was abandoned; its task may still be at work on the other one.
    std::unique_ptr<tool_result> instead;

    // Its task's; the caller's before that and when it is done.
    registered_tool* tool = nullptr;
    tool_result result;
    std::optional<run_scope> scope;
  };

  // The caller's.

  void check();
  /// Starts one more task when there is a call for it.
  void start_lane();
  [[nodiscard]] bool all_done() const;
  [[nodiscard]] instant next_limit() const;
  void watch_time(instant now);
  void stop_all(stop why, instant now);
  void stop_one(std::size_t which, stop why, instant now);
  void abandon(std::size_t which);
  [[nodiscard]] std::vector<tool_result> results();
  /// The caller goes, with or without its results: nobody is asked or told any more.
  void end() noexcept;

  // Tasks.

  static asio::awaitable<void> ask(std::shared_ptr<tool_turn> self, std::size_t which);
  static asio::awaitable<void> lane(std::shared_ptr<tool_turn> self, std::size_t number);
  static asio::awaitable<void> perform(tool_turn& self, call& what);
  [[nodiscard]] std::optional<std::size_t> take_up(std::size_t task);
  /// False when the task is of no more use.
  [[nodiscard]] bool put_down(std::size_t which);
  [[nodiscard]] bool open_run(call& what);
  void keep_place(call& what, const std::shared_ptr<tool_place>& place);
  [[nodiscard]] bool begin(call& what);
  void take_answer(call& what, expected<std::string, error> answer);
  static asio::awaitable<void> look_at(tool_turn& self, call& what);

  // Everybody's.

  /// Whether there is a unit for one more call: it is kept for that. Under the mutex.
  [[nodiscard]] bool have_unit();
  /// Units that are kept or set aside go to others; it waits for none.
  void drop_unit() noexcept;
  /// The first of the ready whose tool is not taken up by this turn as often as it runs at once. Under the mutex.
  [[nodiscard]] std::deque<std::size_t>::iterator next_ready();
  /// How many calls of a tool that is limited are taken up. Under the mutex.
  [[nodiscard]] std::int64_t& taken_of(const registered_tool& tool);
  [[nodiscard]] stop stopped(const call& what) const;
  /// Whether it still has a use: it was not stopped and has no result yet.
  [[nodiscard]] bool is_wanted(const call& what) const;
  /// The call has the result that stands in it, unless it was abandoned.
  void conclude(std::size_t which);
  static void write(call& what, tool_outcome outcome, std::string text);
  static void write_stopped(call& what, stop why);
  [[nodiscard]] static std::string stop_words(const call& what, stop why);
  void tell_finished(const tool_result& what) noexcept;
  void room() noexcept override;

  const std::shared_ptr<tool_registry> tools_;
  const std::shared_ptr<run_state> run_;
  lent_scope scope_;
  const tool_hooks hooks_;
  const std::shared_ptr<task_set> tasks_;
  const instant deadline_;

  mutable std::mutex mutex_;
  /// None is added later: they do not move.
  std::vector<call> calls_;
  std::deque<std::size_t> ready_;
  /// Those that are asked about or taken up.
  std::vector<std::size_t> active_;
  std::vector<std::pair<const registered_tool*, std::int64_t>> taken_;
  std::size_t open_ = 0;
  /// Why everything was told to stop.
  stop stopping_ = stop::no;
  bool over_ = false;
  /// For the next call, and whether it is filled.
  std::shared_ptr<fan_out::unit> next_unit_;
  bool has_unit_ = false;
  /// Nothing can be begun until `room`.
  std::atomic<bool> no_room_{false};

  std::mutex telling_;
};

}  // namespace sluice::agent::detail
