// SPDX-License-Identifier: Apache-2.0
#include "tools/CheckReport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace rubia::tools {

static StringRef textOf(const json::Object &report, StringRef name) {
  return report.getString(name).value_or("");
}

Error CheckReport::read(StringRef lines) {
  for (unsigned number = 1; !lines.empty(); ++number) {
    const auto [line, rest] = lines.split('\n');
    lines = rest;
    Expected<json::Value> value = json::parse(line);
    if (!value)
      return createStringError("line " + Twine(number) +
                               " of the reports: " + toString(value.takeError()));
    json::Object *report = value->getAsObject();
    if (!report || !is_contained({"error", "warning"}, textOf(*report, "severity")))
      return createStringError("line " + Twine(number) + " of the reports is none");
    reports.push_back(std::move(*report));
  }
  return Error::success();
}

size_t CheckReport::count(StringRef severity) const {
  return size_t(count_if(
      reports, [&](const json::Object &one) { return textOf(one, "severity") == severity; }));
}

void CheckReport::writeText(raw_ostream &os) const {
  for (const json::Object &report : reports)
    os << textOf(report, "severity") << ": " << textOf(report, "message") << "\n";
}

void CheckReport::writeJson(raw_ostream &os) const {
  json::OStream j(os, 2);
  j.object([&] {
    j.attribute("version", 1);
    j.attributeArray("command", [&] {
      for (const std::string &word : command)
        j.value(json::fixUTF8(word));
    });
    j.attribute("status", status);
    j.attribute("errors", int64_t(errors()));
    j.attribute("warnings", int64_t(warnings()));
    j.attributeArray("reports", [&] {
      for (const json::Object &report : reports)
        j.value(json::Object(report));
    });
  });
  os << "\n";
}

/// XML 1.0 has no way to write control characters.
static std::string escaped(StringRef text) {
  std::string result;
  for (char c : text)
    switch (c) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    case '\n':
    case '\t':
      result += c;
      break;
    default:
      result += uint8_t(c) < 0x20 ? '?' : c;
    }
  return result;
}

void CheckReport::writeXml(raw_ostream &os) const {
  const bool failed = status != 0;
  os << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"rubia check "
     << escaped(json::fixUTF8(join(command, " "))) << "\" tests=\"" << reports.size() + 1
     << "\" failures=\"" << errors() + failed << "\">\n    <testcase classname=\"program\" name=\""
     << "ends with status 0\">";
  if (failed)
    os << "<failure type=\"status\" message=\"it ended with status " << status << "\"/>";
  os << "</testcase>\n";
  for (const json::Object &report : reports) {
    const StringRef place = textOf(report, "source"), kind = textOf(report, "kind");
    const std::string kernel = textOf(report, "kernel").str();
    os << "    <testcase classname=\"" << escaped(kernel.empty() ? "program" : kernel)
       << "\" name=\"" << escaped(kind) << (place.empty() ? "" : " at " + escaped(place)) << "\">";
    const std::string message = escaped(textOf(report, "message"));
    if (textOf(report, "severity") == "error")
      os << "<failure type=\"" << escaped(kind) << "\" message=\"" << message << "\"/>";
    else
      os << "<system-out>" << message << "</system-out>";
    os << "</testcase>\n";
  }
  os << "  </testsuite>\n</testsuites>\n";
}

} // namespace rubia::tools
