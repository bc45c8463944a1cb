/// \file
/// `candidate`: a request as the rooms see it, whether it has just come or waits.
#pragma once

#include "core/budget.hpp"
#include "core/rate_cell.hpp"
#include "core/tenant_table.hpp"

#include <sluice/core/attempt.hpp>
#include <sluice/core/cost.hpp>
#include <sluice/core/model.hpp>
#include <sluice/core/run.hpp>
#include <sluice/core/time.hpp>

#include <cstddef>
#include <cstdint>

namespace sluice::core {

/// A request as the rooms see it.
struct candidate {
  std::size_t workload = 0;
  capacity asked{};
  std::int64_t output = 0;
  std::uint32_t tenant = tenant_table::nobody;
  std::uint32_t run = no_run;
  bool finalising = false;
  sluice::model model{};
  instant deadline = never;
  std::int64_t money = 0;
  attempt kind = attempt::first;

  [[nodiscard]] rate_charge charge() const noexcept { return {1, asked.tokens - output, output}; }
  [[nodiscard]] spending price() const noexcept { return {.tokens = asked.tokens, .calls = 1, .money = money}; }
};

}  // namespace sluice::core
