// SPDX-License-Identifier: Apache-2.0
// The PTX is compiled once more for this, without its lines of the source: the assembly has the
// lines of the PTX then.
#include "tools/diff/Excerpts.h"
#include "diff/Images.h"
#include "runtime/worker/Pipeline.h"
#include "targets/Target.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting arch;
} // namespace rubia::settings::Id

namespace rubia::tools {

using capsule::Excerpt;

static constexpr uint32_t kAround = 4;

Excerpt linesAround(StringRef text, uint32_t line) {
  Excerpt excerpt;
  uint32_t number = 0;
  for (StringRef rest = text; !rest.empty();) {
    StringRef one;
    std::tie(one, rest) = rest.split('\n');
    if (++number + kAround >= line && number <= line + kAround)
      excerpt.lines.push_back({number, one.rtrim().str(), number == line});
  }
  if (number < line || !line)
    excerpt.lines.clear();
  return excerpt;
}

namespace {
struct Instruction {
  uint32_t line;
  StringRef text;
};
} // namespace

/// Instructions stand behind a tab; what else does begins with a dot or a semicolon.
static std::vector<Instruction> instructionsIn(StringRef assembly) {
  std::vector<Instruction> all;
  uint32_t line = 0;
  for (StringRef rest = assembly; !rest.empty();) {
    StringRef one;
    std::tie(one, rest) = rest.split('\n');
    if (!one.consume_front("\t"))
      continue;
    if (one.consume_front(".loc\t")) {
      one.split(' ').second.consumeInteger(10, line); // behind the number of the file
      continue;
    }
    if (!one.empty() && one.front() >= 'a' && one.front() <= 'z')
      all.push_back({line, one.split(';').first.rtrim()});
  }
  return all;
}

static bool isStore(StringRef instruction) {
  return instruction.contains("_store_") || instruction.contains("_atomic_");
}

Excerpt instructionsOf(StringRef assembly, uint32_t line) {
  const std::vector<Instruction> all = instructionsIn(assembly);
  const auto isOfLine = [&](const Instruction &one) { return one.line == line; };
  const bool hasStore =
      any_of(all, [&](const Instruction &one) { return isOfLine(one) && isStore(one.text); });
  const auto isMarked = [&](const Instruction &one) {
    return isOfLine(one) && (!hasStore || isStore(one.text));
  };
  Excerpt excerpt;
  size_t shown = 0; // all before it
  for (size_t i = 0; i < all.size(); ++i) {
    if (!isMarked(all[i]))
      continue;
    const size_t first = std::max(shown, i > 2 * kAround ? i - 2 * kAround : 0);
    if (first > shown && shown)
      excerpt.lines.push_back({0, "...", false});
    for (shown = first; shown < std::min(all.size(), i + kAround); ++shown)
      excerpt.lines.push_back({all[shown].line, all[shown].text.str(), isMarked(all[shown])});
  }
  return excerpt;
}

/// A file as the compiler named it, or the end of that path below the current folder.
static std::string findSource(StringRef path) {
  if (sys::fs::exists(path))
    return path.str();
  for (StringRef rest = sys::path::relative_path(path); !rest.empty();
       rest = rest.split('/').second)
    if (sys::fs::exists(rest))
      return rest.str();
  return "";
}

static Excerpt sourceAround(const std::string &place) {
  constexpr uint64_t kMost = uint64_t(1) << 24;
  const auto [path, number] = StringRef(place).rsplit(':');
  uint32_t line = 0;
  const std::string file = findSource(path);
  if (file.empty() || number.getAsInteger(10, line))
    return Excerpt();
  auto text = input::readFile(file, kMost);
  if (!text) { // it is no more than a help
    consumeError(text.takeError());
    return Excerpt();
  }
  Excerpt excerpt = linesAround((*text)->getBuffer(), line);
  excerpt.title = place;
  return excerpt;
}

static Expected<std::string> assemblyOf(const std::string &ptx, const std::string &kernel,
                                        const ReplayTarget &target) {
  Expected<runtime::PtxImage> image =
      runtime::PtxImage::fromText("capsule", withoutSourceLines(ptx));
  if (!image)
    return image.takeError();
  runtime::PipelineOptions options;
  const std::string archs(target.settings.text(settings::Id::arch));
  const StringRef first = StringRef(archs).split(',').first;
  options.codegen.arch = (first.empty() ? targets::byDefault().name : first).str();
  options.code = target.settings.code();
  for (const lowering::Unit &unit : image->units())
    if (any_of(unit.kernels, [&](const ptx::Function *one) { return one->name == kernel; }))
      return image->emit(unit, options, codegen::EmitKind::Assembly);
  return createStringError("the PTX has no kernel '" + kernel + "'");
}

Expected<std::vector<Excerpt>> excerptsAt(const capsule::Capsule &capsule,
                                          const capsule::Launch &launch,
                                          const capsule::StoreSite &site,
                                          const ReplayTarget &target, const ReplayWork &work) {
  Expected<std::string> ptx = work.textOf(capsule, launch);
  if (!ptx)
    return ptx.takeError();
  std::vector<Excerpt> all;
  const auto add = [&](Excerpt excerpt) {
    if (!excerpt.lines.empty())
      all.push_back(std::move(excerpt));
  };
  add(sourceAround(site.source));
  Excerpt around = linesAround(*ptx, site.line);
  around.title = "PTX";
  add(std::move(around));
  if (!target.library.empty()) // another driver, whose instructions nobody has
    return all;
  Expected<std::string> assembly = assemblyOf(*ptx, launch.kernel, target);
  if (!assembly)
    return assembly.takeError();
  Excerpt instructions = instructionsOf(*assembly, site.line);
  instructions.title = target.name + ", each with its line of the PTX";
  add(std::move(instructions));
  return all;
}

} // namespace rubia::tools
