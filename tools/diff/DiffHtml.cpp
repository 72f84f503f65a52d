// SPDX-License-Identifier: Apache-2.0
// The report as a page: one file without scripts, fonts or anything else from elsewhere. A launch
// is a <details>, which the keyboard opens; colours follow the reader's choice of light or dark,
// and verdicts are words, so that it can be printed.
#include "tools/diff/DiffReport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace llvm;

namespace rubia::tools {

using capsule::BufferResult;
using capsule::LaunchResult;
using capsule::Verdict;

static constexpr const char *kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>rubia diff</title><style>
:root { color-scheme: light dark; --bad: #b3261e; --open: #8a5a00; --good: #1b6e3c; --line: #8886; --bar: #3f6fb5; }
@media (prefers-color-scheme: dark) { :root { --bad: #ff8a80; --open: #ffc266; --good: #7ddc9a; --bar: #8fb4f0; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } td, th { padding: .15rem .8rem; border-bottom: 1px solid var(--line); text-align: left; }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .5rem 0; padding: .3rem .8rem; }
summary { cursor: pointer; } code, pre { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: anywhere; } pre { white-space: pre-wrap; }
.bad { color: var(--bad); } .open { color: var(--open); } .good { color: var(--good); }
svg { display: block; max-width: 100%; } figure { margin: .6rem 0; } figcaption { font-size: .9em; }
@media print { details { break-inside: avoid; } details > * { display: block; } }
</style></head><body>
)";

static const char *classOf(Verdict verdict) {
  if (verdict >= Verdict::Different)
    return "bad";
  return verdict >= Verdict::Undecided ? "open" : "good";
}

static std::string marked(Verdict verdict) {
  return formatv("<strong class=\"{0}\">{1}</strong>", classOf(verdict), nameOf(verdict)).str();
}

/// Bars of 0 to 100 percent in height; under the pointer: what each is.
static void writeBars(raw_ostream &os, StringRef title, ArrayRef<uint64_t> counts,
                      function_ref<std::string(size_t)> name) {
  constexpr unsigned kWidth = 768, kHeight = 80;
  const uint64_t most = *std::max_element(counts.begin(), counts.end());
  if (!most)
    return;
  os << "<figure><figcaption>" << title << "</figcaption><svg role=\"img\" aria-label=\"" << title
     << "\" viewBox=\"0 0 " << kWidth << " " << kHeight << "\" width=\"" << kWidth
     << "\" fill=\"var(--bar)\">";
  os << formatv("<rect y=\"{0}\" width=\"{1}\" height=\"1\" opacity=\"0.4\"/>", kHeight - 1,
                kWidth);
  const double step = double(kWidth) / double(counts.size());
  const double width = step < 4 ? step : step - 1; // many bars are one picture
  for (size_t i = 0; i < counts.size(); ++i) {
    if (!counts[i])
      continue;
    // At least a pixel or two: one element that differs among millions is the point.
    const double height = std::max(2.0, (kHeight - 2) * double(counts[i]) / double(most));
    os << formatv("<rect x=\"{0:f2}\" y=\"{1:f2}\" width=\"{2:f2}\" height=\"{3:f2}\"><title>{4}: "
                  "{5}</title></rect>",
                  double(i) * step, kHeight - 1 - height, width, height, escaped(name(i)),
                  counts[i]);
  }
  os << "</svg></figure>\n";
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
  os << formatv("<figure><figcaption>where elements differ, {0} columns and {1} rows</figcaption>"
                "<svg role=\"img\" aria-label=\"elements that differ in {0} columns and {1} rows\" "
                "viewBox=\"0 0 {2:f2} {3:f2}\" width=\"{2:f2}\" fill=\"var(--bar)\">"
                "<rect width=\"{2:f2}\" height=\"{3:f2}\" fill=\"none\" stroke=\"var(--line)\"/>",
                buffer.columns, buffer.rows, width, height);
  for (size_t i = 0; i < buffer.cells.size(); ++i) {
    if (!buffer.cells[i])
      continue;
    const uint64_t column = i % buffer.cellColumns, row = i / buffer.cellColumns;
    os << formatv(
        "<rect x=\"{0:f2}\" y=\"{1:f2}\" width=\"{2:f2}\" height=\"{2:f2}\" "
        "opacity=\"{3:f2}\"><title>columns {4} to {5}, rows {6} to {7}: {8}</title></rect>",
        double(column) * size, double(row) * size, size,
        0.25 + 0.75 * double(buffer.cells[i]) / double(most),
        from(column, buffer.columns, buffer.cellColumns),
        from(column + 1, buffer.columns, buffer.cellColumns) - 1,
        from(row, buffer.rows, buffer.cellRows), from(row + 1, buffer.rows, buffer.cellRows) - 1,
        buffer.cells[i]);
  }
  os << "</svg></figure>\n";
}

static void writeBuffer(raw_ostream &os, const LaunchResult &launch, const BufferResult &buffer) {
  os << "<p>" << marked(buffer.verdict) << ": "
     << escaped(json::fixUTF8(textOf(*launch.launch, buffer))) << "</p>\n";
  if (buffer.writer)
    os << "<pre>" << escaped(json::fixUTF8(textOf(*buffer.writer))) << "</pre>\n";
  if (!buffer.differing)
    return;
  // The first element of each stretch.
  SmallVector<uint64_t, 0> begins(buffer.stretches.size() + 1, buffer.elements);
  for (size_t i = 0, size = buffer.stretches.size(); i < size; ++i)
    begins[i] = i * (buffer.elements / size) + std::min<uint64_t>(i, buffer.elements % size);
  writeBars(os, "where elements differ", buffer.stretches, [&](size_t i) {
    return formatv("elements {0} to {1}", begins[i], begins[i + 1] - 1).str();
  });
  writeCells(os, buffer);
  if (buffer.type != ptx::Type::None)
    writeBars(
        os, "by how many steps between floating-point numbers", buffer.histogram, [](size_t i) {
          return i + 1 == BufferResult::kBins ? std::string("more, or not a number on one side")
                                              : formatv("up to {0}", uint64_t(1) << i).str();
        });
}

static void writeLaunch(raw_ostream &os, const LaunchResult &launch) {
  const auto &grid = launch.launch->grid, &block = launch.launch->block;
  const bool isOpen = launch.verdict >= Verdict::Undecided;
  os << "<details" << (isOpen ? " open" : "") << "><summary>" << marked(launch.verdict) << " <code>"
     << escaped(json::fixUTF8(titleOf(*launch.launch))) << "</code></summary>\n";
  os << formatv("<p>grid {0} x {1} x {2}, block {3} x {4} x {5}, {6} bytes of dynamic shared "
                "memory</p>\n",
                grid[0], grid[1], grid[2], block[0], block[1], block[2],
                launch.launch->sharedBytes);
  if (!launch.reason.empty())
    os << "<p>" << escaped(json::fixUTF8(launch.reason)) << "</p>\n";
  for (const BufferResult &buffer : launch.buffers)
    if (buffer.differing || buffer.nans)
      writeBuffer(os, launch, buffer);
  if (const std::string text = textOf(launch.moved); !text.empty())
    os << "<p>" << text << "</p>\n";
  const auto equal = count_if(
      launch.buffers, [](const BufferResult &buffer) { return !buffer.differing && !buffer.nans; });
  os << "<p>" << equal << " of " << launch.buffers.size()
     << " allocations are equal</p></details>\n";
}

void DiffReport::writeHtml(raw_ostream &os) const {
  os << kHead << "<h1>rubia diff</h1>\n<p>" << marked(verdict()) << ": <code>"
     << escaped(json::fixUTF8(capsule)) << "</code>, recorded on "
     << escaped(json::fixUTF8(recordedOn)) << "</p>\n";
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
  os << "</body></html>\n";
}

} // namespace rubia::tools
