/// \file
/// `sim::request_source`: where a trial takes its requests from, one after the other, so that a trace of millions needs
/// no memory of its own.
#pragma once

#include <sluice/sim/trace.hpp>

#include <cstdint>
#include <vector>

namespace sluice::sim {

/// Requests in order of arrival.
class request_source {
 public:
  virtual ~request_source() = default;
  /// The next request; false, and `into` is left as it is, when there are no more.
  virtual bool next(trace_request& into) = 0;

 protected:
  request_source() = default;
  request_source(const request_source&) = default;
  request_source& operator=(const request_source&) = default;
};

/// The requests of a trace, `count` of them in all: from the beginning once more, one `period` later each time, when
/// they do not suffice. The trace is not copied, and must outlive this.
class trace_source final : public request_source {
 public:
  explicit trace_source(const std::vector<trace_request>& trace) : trace_source(trace, trace.size(), {}) {}
  trace_source(const std::vector<trace_request>& trace, std::uint64_t count, duration period)
      : trace_(&trace), left_(trace.empty() ? 0 : count), period_(period) {}

  bool next(trace_request& into) override {
    if (left_ == 0) return false;
    --left_;
    into = (*trace_)[at_];
    into.arrival += shift_;
    if (++at_ == trace_->size()) {
      at_ = 0;
      shift_ += period_;
    }
    return true;
  }

 private:
  const std::vector<trace_request>* trace_;
  std::uint64_t left_;
  duration period_;
  duration shift_{};
  std::size_t at_ = 0;
};

}  // namespace sluice::sim
