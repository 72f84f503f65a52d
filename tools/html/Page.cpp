// SPDX-License-Identifier: Apache-2.0
#include "tools/html/Page.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rubia::tools {

static constexpr char kStyle[] =
#include "generated/html/page.css.inc"
    ;
static constexpr char kPictures[] =
#include "generated/html/pictures.js.inc"
    ;
static constexpr char kLaunches[] =
#include "generated/html/launches.js.inc"
    ;
static constexpr char kTables[] =
#include "generated/html/tables.js.inc"
    ;
static constexpr char kFlames[] =
#include "generated/html/flames.js.inc"
    ;

static const char *textOf(PageScript script) {
  switch (script) {
  case PageScript::Pictures:
    return kPictures;
  case PageScript::Launches:
    return kLaunches;
  case PageScript::Tables:
    return kTables;
  case PageScript::Flames:
    return kFlames;
  }
  llvm_unreachable("PageScript");
}

std::string escaped(StringRef text) {
  std::string out;
  raw_string_ostream os(out);
  for (char c : json::fixUTF8(text))
    // XML has no other control characters.
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t')
      os << '?';
    else
      printHTMLEscaped(StringRef(&c, 1), os);
  return out;
}

void beginPage(raw_ostream &os, StringRef pageTitle) {
  os << "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>"
     << escaped(pageTitle) << "</title><style>\n"
     << kStyle << "</style></head><body>\n";
}

void endPage(raw_ostream &os, ArrayRef<PageScript> scripts) {
  for (PageScript script : scripts)
    os << "<script type=\"module\">\n" << textOf(script) << "</script>\n";
  os << "</body></html>\n";
}

void beginPicture(raw_ostream &os, StringRef title, double width, double height,
                  StringRef svgClass) {
  os << formatv("<figure tabindex=\"0\"><figcaption>{0}</figcaption><svg class=\"{3}\" "
                "role=\"img\" aria-label=\"{0}\" viewBox=\"0 0 {1:f2} {2:f2}\" width=\"{1:f2}\" "
                "fill=\"var(--bar)\">",
                escaped(title), width, height, svgClass);
}

void endPicture(raw_ostream &os) {
  os << "</svg><output aria-live=\"polite\"></output></figure>\n";
}

void writeMark(raw_ostream &os, const PageMark &mark, StringRef text) {
  os << formatv("<rect data-x=\"{0}\" data-y=\"{1}\" x=\"{2:f2}\" y=\"{3:f2}\" width=\"{4:f2}\" "
                "height=\"{5:f2}\"",
                mark.column, mark.row, mark.x, mark.y, mark.width, mark.height);
  if (mark.opacity < 1)
    os << formatv(" opacity=\"{0:f2}\"", mark.opacity);
  os << "><title>" << escaped(text) << "</title></rect>";
}

PageTable::PageTable(raw_ostream &os, ArrayRef<PageColumn> columns, StringRef id) : os(os) {
  if (!id.empty())
    os << "<input type=\"search\" placeholder=\"only rows with...\" data-filters=\"" << id
       << "\" aria-label=\"only rows with\">\n";
  os << "<table class=\"sortable\"";
  if (!id.empty())
    os << " id=\"" << id << "\"";
  os << "><thead><tr>";
  for (const PageColumn &column : columns)
    os << (column.isNumber ? "<th class=\"number\">" : "<th>") << escaped(column.name) << "</th>";
  os << "</tr></thead><tbody>\n";
}

PageTable::~PageTable() { os << (isInRow ? "</tr>\n" : "") << "</tbody></table>\n"; }

void PageTable::beginRow() {
  os << (isInRow ? "</tr>\n<tr>" : "<tr>");
  isInRow = true;
}

void PageTable::text(StringRef text, StringRef cellClass) {
  os << "<td";
  if (!cellClass.empty())
    os << " class=\"" << cellClass << "\"";
  os << ">" << escaped(text) << "</td>";
}

void PageTable::number(uint64_t value) { os << "<td class=\"number\">" << value << "</td>"; }

void PageTable::number(double value, unsigned digits) {
  os << formatv("<td class=\"number\" data-value=\"{0:f6}\">", value)
     << format("%.*f", int(digits), value) << "</td>";
}

void PageTable::share(double percent) {
  os << formatv("<td class=\"number share\" style=\"--part: {0:f1}%\">{0:f1}</td>", percent);
}

void PageTable::nothing() { os << "<td class=\"number\" data-value=\"0\"></td>"; }

} // namespace rubia::tools
