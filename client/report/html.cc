#include "client/report/html.h"

#include "absl/strings/str_cat.h"
#include "base/printable.h"

namespace expunge::report {

std::string Escape(absl::string_view text) {
  std::string escaped;
  for (const char c : Printable(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped.push_back(c);
    }
  }
  return escaped;
}

std::string Element(absl::string_view name, absl::string_view content) {
  return absl::StrCat("<", name, ">", content, "</", name, ">\n");
}

std::string Element(absl::string_view name, absl::string_view css_class, absl::string_view content) {
  return absl::StrCat("<", name, " class=\"", css_class, "\">", content, "</", name, ">\n");
}

std::string Code(absl::string_view text) { return absl::StrCat("<code>", Escape(text), "</code>"); }

std::string TermList(const Terms& terms) {
  std::string list;
  for (const auto& [term, value] : terms) {
    absl::StrAppend(&list, "<div><dt>", Escape(term), "</dt><dd>", value, "</dd></div>\n");
  }
  return Element("dl", list);
}

std::string BulletList(const std::vector<std::string>& sentences) {
  std::string items;
  for (const std::string& sentence : sentences) items += Element("li", Escape(sentence));
  return Element("ul", items);
}

}  // namespace expunge::report
