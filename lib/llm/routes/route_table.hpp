/// \file
/// `route_table`: the providers of a router, what is known of them, and in which order a call asks them.
#pragma once

#include "llm/routes/provider_health.hpp"

#include <sluice/llm/router.hpp>

#include <cstddef>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace sluice::llm::detail {

/// Thread safety: all members may be called from any thread.
class route_table {
 public:
  route_table(std::vector<provider> providers, const router_options& options);

  /// Which providers a call asks, in turn; at least one.
  [[nodiscard]] std::vector<std::size_t> order(const call_options& how);
  /// The one that a call asks first, as long as no weights are drawn.
  [[nodiscard]] std::size_t first(const call_options& how) const;
  /// A call goes to it; nothing when it is not available, unless it is to be asked `anyway`.
  [[nodiscard]] std::optional<visit> begin(std::size_t which, bool anyway);
  // What came of it:
  void answered(std::size_t which, const visit& of);
  void failed(std::size_t which, const visit& of, const failure& why);
  /// It has shown nothing. The gates, and with them the clock, may have gone.
  void lost(std::size_t which, const visit& of) noexcept;
  /// A stream that had begun broke off.
  void broke(std::size_t which, instant begun, const failure& why);
  void passed_on(std::size_t which);
  [[nodiscard]] std::vector<provider_statistics> statistics() const;

  // These do not change.

  [[nodiscard]] const provider& at(std::size_t which) const noexcept { return entries_[which].what; }
  /// What the provider calls a request's model.
  [[nodiscard]] const std::string& model_at(std::size_t which, const std::string& logical) const noexcept;
  [[nodiscard]] bulkhead& gate() const noexcept { return entries_.front().what.over.gate(); }
  [[nodiscard]] instant now() const noexcept { return gate().time().now(); }

 private:
  struct entry {
    provider what;
    provider_health health;
    provider_statistics counts;
  };

  [[nodiscard]] std::vector<std::size_t> askable(const call_options& how, instant present) const;
  [[nodiscard]] double draw();
  void shuffle(std::vector<std::size_t>& some);

  const router_options options_;
  mutable std::mutex mutex_;
  std::vector<entry> entries_;
  std::mt19937_64 random_;
};

}  // namespace sluice::llm::detail
