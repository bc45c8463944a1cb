#include "sluice-sim/picture.hpp"

#include "markup_reader.hpp"
#include "sluice-sim/trial_plots.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace sluice_sim;

namespace {

// Of four chats one fails and one is late; of three documents two are done.
std::vector<series> plots_of_e1() {
  std::vector<series> all;
  for (const char* arm : {"fail-fast", "two-at-most", "sluice"}) {
    all.push_back({first_token_plot, "interactive", "s", "s", {{1, 0.5}, {2, 1}, {44, 6}}, mark::dots, arm});
    all.push_back({first_token_plot, "interactive, failed", "s", "s", {{3, 0}}, mark::ticks, arm});
    all.push_back({latency_plot, "batch", "s", "s", {{5, 100}, {10, 20}}, mark::dots, arm});
    all.push_back({latency_plot, "batch, failed", "s", "s", {{12, 0}}, mark::ticks, arm});
  }
  return all;
}

}  // namespace

TEST_CASE("the picture is one well-formed drawing that fetches nothing") {
  const std::string picture = picture_of(plots_of_e1());
  CHECK(picture.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  CHECK(markup_fault(picture) == "");
  CHECK(picture.find("http", 20) == std::string::npos);
  CHECK(picture.find("<script") == std::string::npos);
  const auto numbers = numbers_of_drawings(picture);
  CHECK(numbers.size() > 100);
  for (const auto& each : numbers) CHECK_MESSAGE(std::isfinite(each.value), each.text);
}

TEST_CASE("the picture says how many chats were answered soon and how many documents were done") {
  const std::string picture = picture_of(plots_of_e1());
  CHECK(picture.find("50 % of chats: first token within 5 s") != std::string::npos);
  CHECK(picture.find("2 of 3 documents done") != std::string::npos);
}

TEST_CASE("without one of its arms there is no picture") {
  auto plots = plots_of_e1();
  plots.pop_back();
  CHECK(picture_of(plots).empty());
  CHECK(picture_of({}).empty());
}
