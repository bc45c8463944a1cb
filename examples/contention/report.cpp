#include "report.hpp"

#include "figures.hpp"
#include "table.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

namespace contention {
namespace {

std::string label(const arm_result& result, const options& asked) {
  if (result.name == "alone") return "chats alone";
  if (result.name == "limit") return "plain limit of " + with_commas(asked.limit);
  return result.name;
}

struct waste {
  std::int64_t chats = 0;
  std::int64_t agents = 0;
};

// Tokens that were of no use to anybody. On our side only those are known of which something arrived. The mock knows
// all, but not whose they were: they are the chats' unless work of the batch was preempted, since its deadlines are
// far.
waste wasted(const arm_result& result) {
  const auto& chats = result.accounts[sluice::interactive];
  const auto& agents = result.accounts[sluice::batch];
  waste known{chats.wasted_tokens_total + result.chats.broken_tokens,
              agents.wasted_tokens_total + result.agents.broken_tokens};
  if (!result.truth) return known;
  const auto unknown =
      result.truth->wasted_input_tokens + result.truth->wasted_output_tokens - known.chats - known.agents;
  (agents.preempted_total > 0 ? known.agents : known.chats) += std::max<std::int64_t>(unknown, 0);
  return known;
}

std::vector<std::string> row(const std::string& name, const char* work, const tally& seen,
                             const sluice::class_statistics& gate, std::int64_t wasted_tokens) {
  const auto quantile = [](const std::vector<double>& values, double q) {
    return values.empty() ? std::string("-") : in_seconds(percentile(values, q));
  };
  return {name,
          work,
          with_commas(seen.succeeded) + " of " + with_commas(seen.started),
          seen.started == 0 ? "-" : in_percent(seen.success()),
          quantile(seen.latencies, 0.5),
          quantile(seen.latencies, 0.95),
          quantile(seen.first_tokens, 0.5),
          quantile(seen.first_tokens, 0.95),
          with_commas(seen.too_many),
          with_commas(seen.refused),
          with_commas(gate.preempted_total),
          with_commas(wasted_tokens)};
}

void list_failures(std::string& text, const std::string& name, const char* work, const tally& seen) {
  for (const auto& [why, count] : seen.failures) {
    text += name + ", " + work + ": " + with_commas(count) + " failed: " + why + '\n';
  }
}

std::string provider_table(const std::vector<arm_result>& results, const options& asked) {
  table rows(1);
  rows.add({"what the provider saw", "answers", "429s", "most at once", "tokens", "of them for nobody"});
  rows.add_rule();
  bool any = false;
  for (const auto& each : results) {
    if (!each.truth) continue;
    any = true;
    const auto& truth = *each.truth;
    rows.add({label(each, asked), with_commas(truth.served), with_commas(truth.refused), with_commas(truth.most_open),
              with_commas(truth.input_tokens + truth.output_tokens),
              with_commas(truth.wasted_input_tokens + truth.wasted_output_tokens)});
  }
  return any ? '\n' + rows.text() : std::string();
}

const arm_result* find(const std::vector<arm_result>& results, const std::string& name) {
  const auto found = std::find_if(results.begin(), results.end(), [&](const auto& each) { return each.name == name; });
  return found == results.end() ? nullptr : &*found;
}

bool answered(const arm_result* result) { return result != nullptr && result->chats.succeeded > 0; }

double p95(const arm_result& result) { return percentile(result.chats.latencies, 0.95); }

double runs_a_second(const arm_result& result) {
  return static_cast<double>(result.agents.succeeded) / std::max(result.seconds, 1e-9);
}

// `0.65 s (1.3 times, and 5.1 % of the chats fail)`
std::string p95_against(const arm_result& result, const arm_result* alone) {
  const auto value = p95(result);
  std::string notes;
  if (answered(alone) && alone != &result) notes = one_digit(value / p95(*alone)) + " times";
  if (result.chats.failed > 0) {
    notes += (notes.empty() ? "" : ", and ") + in_percent(1 - result.chats.success()) + " of the chats fail";
  }
  return in_seconds(value) + (notes.empty() ? "" : " (" + notes + ")");
}

// Much faster without answering fewer, or as fast while answering more.
bool clearly_better(const arm_result& ours, const arm_result& other) {
  const double gained = ours.chats.success() - other.chats.success();
  if (gained < -0.005) return false;
  return p95(ours) <= 0.8 * p95(other) || (gained >= 0.02 && p95(ours) <= 1.1 * p95(other));
}

std::string lead(const arm_result& ours, const arm_result* alone, const std::vector<const arm_result*>& others) {
  if (ours.chats.success() < 0.9) return "In this run many chats failed with sluice, too: ";
  for (const auto* other : others) {
    if (!clearly_better(ours, *other)) return "In this run sluice is not clearly better for chats: ";
  }
  if (answered(alone) && p95(ours) <= 1.5 * p95(*alone)) return "sluice keeps chats close to what they take alone: ";
  return others.empty() ? std::string("With sluice: ") : std::string("sluice serves chats better than the others do: ");
}

std::string batch_part(const arm_result& ours, const arm_result* other, const char* where) {
  if (ours.agents.started == 0) return {};
  auto text = "; meanwhile " + with_commas(ours.agents.succeeded) + " of " + with_commas(ours.agents.started) +
              " agent runs are finished, " + one_digit(runs_a_second(ours)) + " a second";
  if (other != nullptr) text += " instead of " + one_digit(runs_a_second(*other)) + ' ' + where;
  return text;
}

}  // namespace

std::string arm_line(const arm_result& result) {
  const auto in_flight = result.accounts.all.in_flight + result.limit_accounts.all.in_flight;
  const auto waiting = result.accounts.all.waiting + result.limit_accounts.all.waiting;
  return result.name + ": " + in_seconds(result.seconds) + "; accounts after drain: " + with_commas(in_flight) +
         " in flight, " + with_commas(waiting) + " waiting, " + with_commas(result.accounts.all.held.tokens) +
         " tokens held";
}

std::string result_table(const std::vector<arm_result>& results, const options& asked) {
  table rows(2);
  rows.add({"", "", "", "", "latency", "", "first token", "", "", "", "", "tokens"});
  rows.add({"policy", "work", "done", "success", "p50", "p95", "p50", "p95", "429s", "refused", "preempted", "wasted"});
  std::string failures;
  for (const auto& each : results) {
    const auto name = label(each, asked);
    const auto lost = wasted(each);
    rows.add_rule();
    rows.add(row(name, "chats", each.chats, each.accounts[sluice::interactive], lost.chats));
    list_failures(failures, name, "chats", each.chats);
    if (!each.with_batch) continue;
    rows.add(row("", "agent runs", each.agents, each.accounts[sluice::batch], lost.agents));
    list_failures(failures, name, "agent runs", each.agents);
  }
  return rows.text() + (failures.empty() ? "" : '\n' + failures) + provider_table(results, asked);
}

std::string verdict(const std::vector<arm_result>& results) {
  const auto* ours = find(results, "sluice");
  if (ours == nullptr) return "The arm sluice was not run, so there is nothing to compare.";
  if (!answered(ours)) return "With sluice not one chat was answered, so there is nothing to compare.";
  const auto* alone = find(results, "alone");
  const auto* limit = find(results, "limit");
  const auto* nothing = find(results, "nothing");
  std::vector<const arm_result*> others;
  for (const auto* each : {limit, nothing}) {
    if (answered(each)) others.push_back(each);
  }

  auto text = lead(*ours, alone, others) + "95 % of those answered are done within " + p95_against(*ours, alone);
  if (answered(alone)) text += ", alone within " + in_seconds(p95(*alone));
  if (answered(limit)) text += ", behind a plain limit within " + p95_against(*limit, alone);
  if (answered(nothing)) text += ", with nothing in between within " + p95_against(*nothing, alone);
  text += limit != nullptr ? batch_part(*ours, limit, "behind the limit") : batch_part(*ours, nothing, "with nothing");
  return text + '.';
}

}  // namespace contention
