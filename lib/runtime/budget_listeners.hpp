/// \file
/// `budget_listeners`: who is to be told that a run has crossed a threshold, and what they have not been told of yet.
#pragma once

#include <sluice/core/run.hpp>
#include <sluice/runtime/bulkhead.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

namespace sluice::detail {

/// Used under the gate's mutex. Listeners belong to users, and so do their destructors: whoever takes one out lets go
/// of it when the mutex is free.
class budget_listeners {
 public:
  using shared = std::shared_ptr<const budget_listener>;
  struct message {
    run_id about{};
    std::uint32_t percent = 0;
    shared to{};
  };
  struct all {
    std::unordered_map<std::uint64_t, shared> listening;
    std::deque<message> untold;
  };

  [[nodiscard]] bool empty() const noexcept { return all_.listening.empty(); }

  /// Keeps a place for one whose run is not open yet, so that `fill_place` asks for no memory.
  void keep_place(shared listener) { all_.listening.emplace(nobody, std::move(listener)); }
  void fill_place(run_id of) noexcept {
    auto place = all_.listening.extract(nobody);
    place.key() = key_of(of);
    all_.listening.insert(std::move(place));
  }
  void give_place_up() noexcept { all_.listening.erase(nobody); }

  /// Whether somebody listens to that run, and will be told.
  bool note(run_id about, std::uint32_t percent) {
    const auto found = all_.listening.find(key_of(about));
    if (found == all_.listening.end()) return false;
    all_.untold.push_back({about, percent, found->second});
    return true;
  }
  [[nodiscard]] std::optional<message> next() {
    if (all_.untold.empty()) return std::nullopt;
    std::optional<message> first(std::move(all_.untold.front()));
    all_.untold.pop_front();
    return first;
  }
  [[nodiscard]] bool anything_untold() const noexcept { return !all_.untold.empty(); }

  /// Its listener, who is told nothing more; null when it has none.
  [[nodiscard]] shared remove(run_id of) {
    const auto found = all_.listening.find(key_of(of));
    if (found == all_.listening.end()) return nullptr;
    std::erase_if(all_.untold, [of](const message& each) { return each.about == of; });
    shared gone = std::move(found->second);
    all_.listening.erase(found);
    return gone;
  }
  [[nodiscard]] all remove_all() noexcept { return std::exchange(all_, {}); }

 private:
  /// No run has the generation zero.
  static constexpr std::uint64_t nobody = 0;
  [[nodiscard]] static std::uint64_t key_of(run_id of) noexcept {
    return std::uint64_t{of.generation} << 32U | of.index;
  }

  all all_;
};

}  // namespace sluice::detail
