// SPDX-License-Identifier: Apache-2.0
// The report as a page: one file with nothing from elsewhere. A launch is a <details>, which the
// keyboard opens; colours follow the reader's choice of light or dark, and verdicts are words, so
// that it can be printed. What the script adds (tools/html) is comfort: each mark of a picture has
// its text as a title too.
#include "tools/diff/DiffReport.h"
#include "tools/html/Page.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;

namespace rubia::tools {

using capsule::BufferResult;
using capsule::LaunchResult;
using capsule::Verdict;

static const char *classOf(Verdict verdict) {
  if (verdict >= Verdict::Different)
    return "bad";
  return verdict >= Verdict::Undecided ? "open" : "good";
}

static std::string marked(Verdict verdict) {
  return formatv("<strong class=\"{0}\">{1}</strong>", classOf(verdict), nameOf(verdict)).str();
}

/// Bars of 0 to 100 percent in height; under the pointer: the name, the count, and what `more` has.
static void writeBars(raw_ostream &os, StringRef title, ArrayRef<uint64_t> counts,
                      function_ref<std::string(size_t)> name,
                      function_ref<std::string(size_t)> more) {
  constexpr unsigned kWidth = 768, kHeight = 80;
  const uint64_t most = *std::max_element(counts.begin(), counts.end());
  if (!most)
    return;
  beginPicture(os, title, kWidth, kHeight);
  os << formatv("<rect y=\"{0}\" width=\"{1}\" height=\"1\" opacity=\"0.4\"/>", kHeight - 1,
                kWidth);
  const double step = double(kWidth) / double(counts.size());
  const double width = step < 4 ? step : step - 1; // many bars are one picture
  for (size_t i = 0; i < counts.size(); ++i) {
    if (!counts[i])
      continue;
    // At least a pixel or two: one element that differs among millions is the point.
    const double height = std::max(2.0, (kHeight - 2) * double(counts[i]) / double(most));
    writeMark(os, {i, 0, double(i) * step, kHeight - 1 - height, width, height},
              name(i) + ": " + std::to_string(counts[i]) + more(i));
  }
  endPicture(os);
}

/// "; element 105: thread (41,0,0) of CTA (1,0,0), line 18"
static std::string writerOf(const BufferResult::Part &part) {
  if (!part.writer)
    return "";
  const capsule::Writer &writer = *part.writer;
  return formatv("; element {0}: thread ({1},{2},{3}) of CTA ({4},{5},{6}), line {7}{8}",
                 part.element, writer.thread[0], writer.thread[1], writer.thread[2], writer.cta[0],
                 writer.cta[1], writer.cta[2], writer.site.line,
                 writer.site.source.empty() ? "" : " (" + writer.site.source + ")")
      .str();
}

/// A picture of an allocation that has a shape: the more elements differ, the darker.
static void writeCells(raw_ostream &os, const BufferResult &buffer) {
  if (buffer.cells.empty())
    return;
  const uint64_t most = *std::max_element(buffer.cells.begin(), buffer.cells.end());
  const double wide = 768.0 / double(buffer.cellColumns),
               size = std::min(wide, 384.0 / double(buffer.cellRows));
  const double width = size * double(buffer.cellColumns), height = size * double(buffer.cellRows);
  const auto from = [](uint64_t cell, uint64_t elements, size_t cells) {
    return (cell * elements + cells - 1) / cells; // the first that lies in it
  };
  beginPicture(
      os,
      formatv("where elements differ, {0} columns and {1} rows", buffer.columns, buffer.rows).str(),
      width, height);
  os << formatv("<rect width=\"{0:f2}\" height=\"{1:f2}\" fill=\"none\" stroke=\"var(--line)\"/>",
                width, height);
  for (size_t i = 0; i < buffer.cells.size(); ++i) {
    if (!buffer.cells[i])
      continue;
    const uint64_t column = i % buffer.cellColumns, row = i / buffer.cellColumns;
    const std::string text =
        formatv("columns {0} to {1}, rows {2} to {3}: {4}",
                from(column, buffer.columns, buffer.cellColumns),
                from(column + 1, buffer.columns, buffer.cellColumns) - 1,
                from(row, buffer.rows, buffer.cellRows),
                from(row + 1, buffer.rows, buffer.cellRows) - 1, buffer.cells[i]);
    writeMark(os,
              {column, row, double(column) * size, double(row) * size, size, size,
               0.25 + 0.75 * double(buffer.cells[i]) / double(most)},
              text + writerOf(buffer.cellParts[i]));
  }
  endPicture(os);
}

static void writeCode(raw_ostream &os, const capsule::Excerpt &excerpt) {
  os << "<div class=\"code\"><b>" << escaped(excerpt.title) << "</b>";
  for (const capsule::Excerpt::Line &line : excerpt.lines) {
    const char *marked = line.isMarked ? " class=\"marked\"" : "";
    os << "<span" << marked << ">";
    if (line.number)
      os << line.number;
    os << "</span><span" << marked << ">" << escaped(line.text) << "</span>";
  }
  os << "</div>\n";
}

static void writeBuffer(raw_ostream &os, const LaunchResult &launch, const BufferResult &buffer) {
  os << "<p>" << marked(buffer.verdict) << ": " << escaped(textOf(*launch.launch, buffer))
     << "</p>\n";
  if (buffer.writer)
    os << "<pre>" << escaped(textOf(*buffer.writer)) << "</pre>\n";
  for (const capsule::Excerpt &excerpt : buffer.code)
    writeCode(os, excerpt);
  if (!buffer.differing)
    return;
  // The first element of each stretch.
  SmallVector<uint64_t, 0> begins(buffer.stretches.size() + 1, buffer.elements);
  for (size_t i = 0, size = buffer.stretches.size(); i < size; ++i)
    begins[i] = i * (buffer.elements / size) + std::min<uint64_t>(i, buffer.elements % size);
  writeBars(
      os, "where elements differ", buffer.stretches,
      [&](size_t i) { return formatv("elements {0} to {1}", begins[i], begins[i + 1] - 1).str(); },
      [&](size_t i) { return writerOf(buffer.stretchParts[i]); });
  writeCells(os, buffer);
  if (buffer.type != ptx::Type::None)
    writeBars(
        os, "by how many steps between floating-point numbers", buffer.histogram,
        [](size_t i) {
          return i + 1 == BufferResult::kBins ? std::string("more, or not a number on one side")
                                              : formatv("up to {0}", uint64_t(1) << i).str();
        },
        [](size_t) { return std::string(); });
}

static void writeLaunch(raw_ostream &os, const LaunchResult &launch) {
  const auto &grid = launch.launch->grid, &block = launch.launch->block;
  const bool isOpen = launch.verdict >= Verdict::Undecided;
  os << "<details" << (isOpen ? " open" : "") << "><summary>" << marked(launch.verdict) << " <code>"
     << escaped(titleOf(*launch.launch)) << "</code></summary>\n";
  os << formatv("<p>grid {0} x {1} x {2}, block {3} x {4} x {5}, {6} bytes of dynamic shared "
                "memory</p>\n",
                grid[0], grid[1], grid[2], block[0], block[1], block[2],
                launch.launch->sharedBytes);
  if (!launch.reason.empty())
    os << "<p>" << escaped(launch.reason) << "</p>\n";
  if (!launch.explanation.empty()) {
    os << "<pre>";
    for (const std::string &line : launch.explanation)
      os << escaped(line) << "\n";
    os << "</pre>\n";
  }
  for (const capsule::Excerpt &excerpt : launch.explained)
    writeCode(os, excerpt);
  for (const BufferResult &buffer : launch.buffers)
    if (buffer.differing || buffer.nans)
      writeBuffer(os, launch, buffer);
  for (const std::string &text : {textOf(launch.moved), textOf(launch.fusion)})
    if (!text.empty())
      os << "<p>" << text << "</p>\n";
  const auto equal = count_if(
      launch.buffers, [](const BufferResult &buffer) { return !buffer.differing && !buffer.nans; });
  os << "<p>" << equal << " of " << launch.buffers.size()
     << " allocations are equal</p></details>\n";
}

void DiffReport::writeHtml(raw_ostream &os) const {
  beginPage(os, "rubia diff");
  os << "<h1>rubia diff</h1>\n<p>" << marked(verdict()) << ": <code>" << escaped(capsule)
     << "</code>, recorded on " << escaped(recordedOn) << "</p>\n";
  os << formatv("<p>Recorded with compute capability {0}.{1}, driver {2}, {3} multiprocessors{4}; "
                "compared by Rubia {5}.</p>\n",
                recorded.computeCapability / 10, recorded.computeCapability % 10,
                recorded.driverVersion, recorded.multiprocessors,
                recorded.isJitForced ? ", from PTX alone" : "", RUBIA_VERSION);
  for (const Target &target : targets) {
    os << "<h2>" << escaped(target.name)
       << "</h2>\n<table><tr><th>verdict</th><th>launches</th></tr>";
    for (unsigned i = 0; i <= unsigned(Verdict::Failed); ++i) {
      const auto count = count_if(target.launches, [&](const LaunchResult &launch) {
        return launch.verdict == Verdict(i);
      });
      if (count)
        os << "<tr><td>" << marked(Verdict(i)) << "</td><td>" << count << "</td></tr>";
    }
    os << "</table>\n";
    for (const LaunchResult &launch : target.launches)
      writeLaunch(os, launch);
  }
  os << "<p class=\"keys\">Keys: n and p go to the next and the previous launch that is not equal, "
        "a opens "
        "or closes all. In a\npicture, the arrows go from mark to mark.</p>\n";
  endPage(os, {PageScript::Pictures, PageScript::Launches});
}

} // namespace rubia::tools
