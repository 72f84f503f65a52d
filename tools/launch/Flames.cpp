// SPDX-License-Identifier: Apache-2.0
#include "tools/html/Page.h"
#include "tools/inspect/KernelNames.h"
#include "tools/launch/Pages.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <nlohmann/json.hpp>

using namespace llvm;
using nlohmann::ordered_json;

namespace rubia::tools {

// Debug information names a function without its scope and parameters.
static bool isFunction(StringRef kernel, StringRef function) {
  const std::string whole = demangled(kernel);
  const StringRef name = StringRef(whole).split('(').first.split('<').first;
  return function == kernel || function == name.rsplit("::").second || function == name;
}

static std::string nameOfFrame(const ordered_json &frame, StringRef kernel) {
  const auto function = frame["function"].get<std::string>();
  const std::string place = sys::path::filename(frame["file"].get<std::string>()).str() + ":" +
                            std::to_string(frame["line"].get<uint64_t>());
  return function.empty() || isFunction(kernel, function) ? place
                                                          : demangled(function) + " " + place;
}

std::map<std::string, Flame> flamesOf(const ordered_json &launches) {
  std::map<std::string, Flame> kernels;
  for (const ordered_json &launch : launches) {
    const auto code = launch.find("code");
    if (code == launch.end())
      continue;
    const auto kernel = launch["kernel"].get<std::string>();
    Flame &whole = kernels[demangled(kernel)];
    for (const ordered_json &instruction : *code) {
      const auto waves = instruction["cost"]["waves"].get<uint64_t>();
      Flame *flame = &whole;
      flame->waveInstructions += waves;
      const auto frames = instruction.find("frames");
      if (frames == instruction.end()) {
        flame->inlined["no source line"].waveInstructions += waves;
        continue;
      }
      for (const ordered_json &frame : llvm::reverse(*frames)) {
        flame = &flame->inlined[nameOfFrame(frame, kernel)];
        flame->waveInstructions += waves;
      }
    }
  }
  return kernels;
}

static void writeFolded(raw_ostream &os, const std::string &above, const std::string &name,
                        const Flame &flame) {
  std::string stack = name;
  for (char &c : stack)
    c = c == ';' ? ':' : isPrint(c) ? c : '?'; // UTF-8 is rare in names
  stack = above + stack;
  uint64_t own = flame.waveInstructions;
  for (const auto &[place, inlined] : flame.inlined)
    own -= inlined.waveInstructions;
  if (own)
    os << stack << " " << own << "\n";
  for (const auto &[place, inlined] : flame.inlined)
    writeFolded(os, stack + ";", place, inlined);
}

void writeFolded(raw_ostream &os, const std::map<std::string, Flame> &kernels) {
  for (const auto &[name, flame] : kernels)
    writeFolded(os, "", name, flame);
}

namespace {
constexpr unsigned kWidth = 1080, kRow = 18;

unsigned depthOf(const Flame &flame) {
  unsigned depth = 0;
  for (const auto &[place, inlined] : flame.inlined)
    depth = std::max(depth, depthOf(inlined));
  return depth + 1;
}

/// `from` and what the width is of are wave instructions of the kernel.
void writeFrame(raw_ostream &os, const std::string &name, const Flame &flame, uint64_t from,
                uint64_t all, unsigned row) {
  const double left = double(from) / double(all),
               width = double(flame.waveInstructions) / double(all);
  os << format("<g data-from=\"%.9f\" data-width=\"%.9f\" data-name=\"", left, width)
     << escaped(name) << "\">";
  writeMark(os,
            {uint64_t(left * 1000), row, left * kWidth, double(row * kRow),
             std::max(width * kWidth - 0.5, 0.5), kRow - 1},
            formatv("{0}: {1} wave instructions, {2}", name, flame.waveInstructions,
                    formatv("{0:P1}", width))
                .str());
  os << format("<text x=\"%.2f\" y=\"%u\"></text></g>\n", left * kWidth + 3, row * kRow + 13);
  for (const auto &[place, inlined] : flame.inlined) {
    writeFrame(os, place, inlined, from, all, row + 1);
    from += inlined.waveInstructions;
  }
}
} // namespace

void writeFlames(raw_ostream &os, const std::string &kernel, const Flame &flame) {
  if (!flame.waveInstructions)
    return;
  beginPicture(os, "wave instructions by place and by what was inlined there", kWidth,
               depthOf(flame) * kRow, "flames");
  writeFrame(os, kernel, flame, 0, flame.waveInstructions, 0);
  endPicture(os);
}

} // namespace rubia::tools
