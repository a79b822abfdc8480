#include "client/report/partition_plot.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/report/html.h"
#include "client/report/words.h"

namespace expunge::report {
namespace {

using nlohmann::json;

constexpr double kLeft = 96;         // where the bars begin
constexpr double kLength = 544;      // of the longest
constexpr double kHeight = 30;       // of one
constexpr double kStep = 44;         // from one to the next
constexpr double kDigitWidth = 8;    // of a label inside
constexpr double kLeastWidth = 1.5;  // of a part that is not empty

constexpr std::array<const char*, 3> kCss = {"margin", "error", "reserve"};
constexpr std::array<const char*, 3> kTitles = {"Margin", "Error", "Reserve"};

struct Bar {
  std::string title;
  std::array<uint64_t, 3> counts{};  // margin, error, reserve

  [[nodiscard]] uint64_t total() const { return counts[0] + counts[1] + counts[2]; }
};

Bar StateBar(const std::string& title, const json& state) {
  const json& partition = state["partition"];
  return {title, {CountOf(partition["margin"]), CountOf(partition["error"]), CountOf(partition["reserve"])}};
}

std::vector<Bar> BarsOf(const json& predicate) {
  if (!predicate.contains("before")) return {StateBar("State", predicate["after"])};
  Bar removed{"Removed", {}};
  for (const json& token : predicate["removed"]) {
    const std::string& name = Text(token["classBefore"]);
    ++removed.counts[name == "S" ? 0 : (name == "E" ? 1 : 2)];
  }
  return {StateBar("Before", predicate["before"]), removed, StateBar("After", predicate["after"])};
}

std::string Drawing(const Bar& bar, double y, uint64_t scale) {
  std::string svg = absl::StrFormat("<text x=\"0\" y=\"%.1f\" class=\"name\">%s</text>\n",
                                    y + kHeight / 2 + 5, Escape(bar.title));
  double x = kLeft;
  for (size_t i = 0; i < bar.counts.size(); ++i) {
    if (bar.counts[i] == 0) continue;
    const double width =
        std::max(kLeastWidth, kLength * static_cast<double>(bar.counts[i]) / static_cast<double>(scale));
    absl::StrAppendFormat(&svg, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.0f\" class=\"%s\"/>\n",
                          x, y, width, kHeight, kCss[i]);
    const std::string label = WithCommas(bar.counts[i]);
    if (width > kDigitWidth * static_cast<double>(label.size()) + 8) {
      absl::StrAppendFormat(&svg, "<text x=\"%.2f\" y=\"%.1f\" class=\"inside\">%s</text>\n", x + width / 2,
                            y + kHeight / 2 + 5, label);
    }
    x += width;
  }
  absl::StrAppendFormat(&svg, "<text x=\"%.2f\" y=\"%.1f\" class=\"total\">%s</text>\n", x + 8,
                        y + kHeight / 2 + 5, WithCommas(bar.total()));
  return svg;
}

std::string Table(const std::vector<Bar>& bars) {
  std::string head = "<th scope=\"col\">Class</th>";
  for (const Bar& bar : bars) absl::StrAppend(&head, "<th scope=\"col\">", Escape(bar.title), "</th>");
  constexpr std::array<const char*, 3> kMeanings = {"weight between 0 and the bound", "weight at the bound",
                                                    "weight 0"};
  std::string rows;
  for (size_t i = 0; i < kTitles.size(); ++i) {
    std::string row = absl::StrCat("<th scope=\"row\"><span class=\"key ", kCss[i], "\"></span>", kTitles[i],
                                   " <span class=\"quiet\">", kMeanings[i], "</span></th>");
    for (const Bar& bar : bars) absl::StrAppend(&row, "<td>", WithCommas(bar.counts[i]), "</td>");
    rows += Element("tr", row);
  }
  std::string total = "<th scope=\"row\">All</th>";
  for (const Bar& bar : bars) absl::StrAppend(&total, "<td>", WithCommas(bar.total()), "</td>");
  rows += Element("tr", "all", total);
  return Element("table", "counts",
                 absl::StrCat("<thead><tr>", head, "</tr></thead><tbody>", rows, "</tbody>"));
}

std::string Described(const std::vector<Bar>& bars) {
  std::string text;
  for (const Bar& bar : bars) {
    absl::StrAppend(&text, text.empty() ? "" : " ", bar.title, ": ", WithCommas(bar.counts[0]), " margin, ",
                    WithCommas(bar.counts[1]), " error, ", WithCommas(bar.counts[2]), " reserve.");
  }
  return text;
}

}  // namespace

std::string PartitionPlot(const json& predicate) {
  const std::vector<Bar> bars = BarsOf(predicate);
  uint64_t scale = 1;
  for (const Bar& bar : bars) scale = std::max(scale, bar.total());
  std::string svg;
  double y = 4;
  for (const Bar& bar : bars) {
    svg += Drawing(bar, y, scale);
    y += kStep;
  }
  return absl::StrFormat(
      "<figure>\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 %.0f\" role=\"img\" "
      "aria-label=\"%s\">\n%s</svg>\n%s</figure>\n",
      y - kStep + kHeight + 8, Escape(Described(bars)), svg, Table(bars));
}

}  // namespace expunge::report
