#include "bench/readout/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace expunge::bench {
namespace {

using attention::NameOf;
using attention::Precision;

constexpr char kLegend[] =
    R"(M          tokens of the support; Q: queries of a call; d: of keys and values
us/query   of one thread, with all that a call needs: median
GFLOP/s    a multiplication and an addition for each element of keys and values, one operation for an exponential
% of GEMM  of the operations a second of a matrix product (1024 x 1024 x 1024, OpenBLAS, one thread) in this type
x softmax  a softmax over n = 10,000 tokens takes so many times longer: OpenBLAS, one thread, in this type
x search   an exact search for the M nearest of 10,000 tokens (faiss, flat index, float32) takes so many times longer
bound      the largest bound of an answer's error; the values are standard normal. All answers were compared
)";

std::string Ratio(std::optional<double> x, double scale, const char* unit) {
  if (!x.has_value()) return "-";
  const double y = *x * scale;
  return absl::StrFormat("%.*f%s", y < 10 ? 2 : y < 100 ? 1 : 0, y, unit);
}

void AppendPairs(const std::vector<Pair>& pairs, const std::string& title, std::string* text) {
  if (pairs.empty()) return;
  absl::StrAppend(text, "\n", title, "\n");
  for (const Pair& pair : pairs) {
    absl::StrAppendFormat(text, "  %-10s %9.1f us %9.1f us   ratio %.2f\n", NameOf(pair.precision), pair.us,
                          pair.other, pair.us / pair.other);
  }
}

// The rows that `wanted` picks, by their smallest value of `number`; what is absent counts for nothing.
template <typename Wanted, typename Number>
std::optional<double> Least(const Results& results, const Wanted& wanted, const Number& number) {
  std::optional<double> least;
  for (const Row& row : results.rows) {
    const std::optional<double> x = wanted(row) ? number(row) : std::nullopt;
    if (x.has_value() && (!least.has_value() || *x < *least)) least = x;
  }
  return least;
}

bool IsFast(const Row& row) { return row.precision != Precision::kCertified; }

void AppendAim(const std::string& what, std::optional<double> measured, double aim, bool at_most,
               std::string* text) {
  if (!measured.has_value()) return;
  const bool reached = at_most ? *measured <= aim : *measured >= aim;
  absl::StrAppendFormat(text, "%-68s %7.2f  (aim: %s %g)  %s\n", what, *measured, at_most ? "<=" : ">=", aim,
                        reached ? "reached" : "MISSED");
}

// The largest ratio of a certified readout's time to that of the float64 one.
std::optional<double> CertifiedRatio(const Results& results) {
  std::optional<double> worst;
  for (const Row& certified : results.rows) {
    if (certified.precision != Precision::kCertified) continue;
    for (const Row& fast : results.rows) {
      if (fast.precision != Precision::kFloat64 || fast.setting.support != certified.setting.support ||
          fast.setting.dimension != certified.setting.dimension ||
          fast.setting.queries != certified.setting.queries)
        continue;
      worst = std::max(worst.value_or(0), certified.us / fast.us);
    }
  }
  return worst;
}

nlohmann::json OrNull(std::optional<double> x) {
  return x.has_value() ? nlohmann::json(*x) : nlohmann::json();
}

nlohmann::json PairsJson(const std::vector<Pair>& pairs) {
  nlohmann::json array = nlohmann::json::array();
  for (const Pair& pair : pairs) {
    array.push_back({{"precision", NameOf(pair.precision)}, {"us", pair.us}, {"other_us", pair.other}});
  }
  return array;
}

}  // namespace

std::string FormatTables(const Results& results) {
  std::string text = absl::StrCat(kLegend, "\n");
  if (results.gemm_gflops_f32.has_value()) {
    absl::StrAppendFormat(&text, "matrix product: %.1f GFLOP/s float32, %.1f GFLOP/s float64\n\n",
                          *results.gemm_gflops_f32, *results.gemm_gflops_f64);
  }
  absl::StrAppendFormat(&text, "%5s %4s %5s  %-10s %9s %8s %9s %9s %9s %9s\n", "M", "d", "Q", "precision",
                        "us/query", "GFLOP/s", "% of GEMM", "x softmax", "x search", "bound");
  for (const Row& row : results.rows) {
    absl::StrAppendFormat(&text, "%5d %4d %5d  %-10s %9.2f %8.1f %9s %9s %9s %9.1e%s\n", row.setting.support,
                          row.setting.dimension, row.setting.queries, NameOf(row.precision), row.us,
                          FlopOfQuery(row.setting) / row.us * 1e-3, Ratio(row.gemm_share, 100, ""),
                          Ratio(row.softmax_ratio, 1, ""), Ratio(row.search_ratio, 1, ""), row.bound,
                          row.holds ? "" : "  WRONG");
  }
  const Setting& s = results.pair_setting;
  AppendPairs(results.threads,
              absl::StrFormat("one thread, two threads (M = %d, d = %d, Q = %d; on the clock)", s.support,
                              s.dimension, s.queries),
              &text);
  AppendPairs(results.memories,
              absl::StrFormat("%d queries to one memory, one query to each of %d memories, in one call",
                              s.queries, s.queries),
              &text);
  return text;
}

std::string FormatSummary(const Results& results) {
  std::string text;
  const std::pair<size_t, double> aims[] = {{14, 0.45}, {100, 0.60}, {1000, 0.70}};
  for (const auto& [support, aim] : aims) {
    const auto wanted = [support = support](const Row& row) {
      return IsFast(row) && row.setting.support == support && row.setting.queries == 1024;
    };
    AppendAim(absl::StrFormat("share of GEMM, M = %d, Q = 1024, least of f32 and f64", support),
              Least(results, wanted, [](const Row& row) { return row.gemm_share; }), aim, false, &text);
  }
  const auto hundred = [](const Row& row) { return IsFast(row) && row.setting.support == 100; };
  AppendAim("times faster than a softmax over all tokens, M = 100, least",
            Least(results, hundred, [](const Row& row) { return row.softmax_ratio; }), 80, false, &text);
  AppendAim("time of a certified readout over that of a float64 one, most", CertifiedRatio(results), 2, true,
            &text);
  std::optional<double> speed_up;
  for (const Pair& pair : results.threads)
    speed_up = std::min(speed_up.value_or(1e300), pair.us / pair.other);
  AppendAim("two threads are so many times faster than one, least", speed_up, 1.8, false, &text);
  return text;
}

std::string FormatJson(const Results& results) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& row : results.rows) {
    rows.push_back({{"support", row.setting.support},
                    {"dimension", row.setting.dimension},
                    {"queries", row.setting.queries},
                    {"precision", NameOf(row.precision)},
                    {"us_per_query", row.us},
                    {"gemm_share", OrNull(row.gemm_share)},
                    {"softmax_ratio", OrNull(row.softmax_ratio)},
                    {"search_ratio", OrNull(row.search_ratio)},
                    {"bound", row.bound},
                    {"holds", row.holds}});
  }
  const nlohmann::json json = {{"gemm_gflops_float32", OrNull(results.gemm_gflops_f32)},
                               {"gemm_gflops_float64", OrNull(results.gemm_gflops_f64)},
                               {"rows", rows},
                               {"threads", PairsJson(results.threads)},
                               {"memories", PairsJson(results.memories)}};
  return json.dump(1);
}

}  // namespace expunge::bench
