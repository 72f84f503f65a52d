// SPDX-License-Identifier: Apache-2.0
// The page of `rubia launch --html`.
#include "tools/html/Page.h"
#include "tools/inspect/KernelNames.h"
#include "tools/launch/Pages.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <nlohmann/json.hpp>

using namespace llvm;
using nlohmann::ordered_json;

namespace rubia::tools {

namespace {
uint64_t number(const ordered_json &object, const char *name) {
  return object.value(name, uint64_t(0));
}
const ordered_json &part(const ordered_json &object, const char *name) {
  static const ordered_json kNone = ordered_json::object();
  const auto found = object.find(name);
  return found == object.end() ? kNone : *found;
}
double percent(uint64_t share, uint64_t of) { return of ? 100.0 * double(share) / double(of) : 0; }

std::string sizes(const ordered_json &of) {
  return formatv("{0} x {1} x {2}", of[0].get<uint64_t>(), of[1].get<uint64_t>(),
                 of[2].get<uint64_t>())
      .str();
}

// The columns of what an instruction or a line cost.
constexpr PageColumn kCost[] = {{"wave instructions", true}, {"%", true},
                                {"active lanes %", true},    {"cache lines", true},
                                {"bytes used %", true},      {"LDS cycles", true},
                                {"of conflicts", true}};

class LaunchPage {
public:
  LaunchPage(raw_ostream &os, const ordered_json &launch, unsigned index)
      : os(os), launch(launch), index(index) {
    for (const ordered_json &count : part(launch, "classes"))
      all += count.get<uint64_t>();
    lineBytes = number(part(launch, "memory"), "line_bytes");
  }
  void write();

private:
  void facts();
  void classes();
  void operations();
  void lines();
  void instructions();
  void cost(PageTable &table, const ordered_json &cost) const;
  std::string id(const char *of) const { return of + std::to_string(index); }
  void row(StringRef name, const Twine &value) {
    os << "<tr><th>" << name << "</th><td>" << escaped(value.str()) << "</td></tr>\n";
  }

  raw_ostream &os;
  const ordered_json &launch;
  const unsigned index;
  uint64_t all = 0, lineBytes = 0; // wave instructions; bytes of a cache line
};

void LaunchPage::cost(PageTable &table, const ordered_json &cost) const {
  table.number(number(cost, "waves"));
  table.share(percent(number(cost, "waves"), all));
  auto ratio = [&](uint64_t share, uint64_t of) {
    if (of)
      table.number(percent(share, of), 1);
    else
      table.nothing();
  };
  auto count = [&](uint64_t value) {
    if (value)
      table.number(value);
    else
      table.nothing();
  };
  const ordered_json &memory = part(cost, "memory"), &lds = part(cost, "lds");
  ratio(number(cost, "active_lanes"), number(cost, "lanes"));
  count(number(memory, "lines"));
  ratio(number(memory, "distinct_bytes"), number(memory, "lines") * lineBytes);
  count(number(lds, "cycles"));
  count(number(lds, "conflict_cycles"));
}

void LaunchPage::facts() {
  os << "<table>\n";
  row("grid, block", sizes(launch["grid"]) + " blocks of " + sizes(launch["block"]) + " threads");
  row("executed", Twine(number(launch, "workgroups")) + " workgroups, " +
                      Twine(number(launch, "waves")) + " waves, " +
                      Twine(number(launch, "instructions")) + " wave instructions");
  const ordered_json &occupancy = part(launch, "occupancy");
  row("occupancy", Twine(number(occupancy, "workgroups")) + " workgroups at once, " +
                       Twine(number(occupancy, "waves_per_simd")) + " of " +
                       Twine(number(occupancy, "max_waves_per_simd")) +
                       " waves per SIMD, limited by " + occupancy.value("limited_by", ""));
  const ordered_json &memory = part(launch, "memory");
  for (const char *kind : {"loads", "stores", "atomics"})
    if (const uint64_t lines = number(part(memory, kind), "lines"))
      row(kind,
          formatv("{0} instructions, {1} cache lines of {2} bytes, {3:P1} of them used",
                  number(part(memory, kind), "accesses"), lines, lineBytes,
                  percent(number(part(memory, kind), "distinct_bytes"), lines * lineBytes) / 100)
              .str());
  const ordered_json &lds = part(launch, "lds");
  if (const uint64_t cycles = number(lds, "cycles"))
    row("LDS", Twine(number(lds, "accesses")) + " accesses, " + Twine(cycles) + " cycles, " +
                   Twine(number(lds, "conflict_cycles")) + " of them bank conflicts");
  const ordered_json &divergence = part(launch, "divergence");
  if (const uint64_t lanes = number(divergence, "lanes"))
    row("divergence",
        formatv("{0:P1} of lanes are active in vector instructions; {1} of {2} conditions "
                "divide their wave",
                percent(number(divergence, "active_lanes"), lanes) / 100,
                number(divergence, "splits"), number(divergence, "maskings"))
            .str());
  os << "</table>\n";
}

void LaunchPage::classes() {
  os << "<h3>By class</h3>\n";
  PageTable table(os, {{"class"}, {"wave instructions", true}, {"%", true}});
  for (const auto &[name, count] : part(launch, "classes").items()) {
    table.beginRow();
    table.text(name);
    table.number(count.get<uint64_t>());
    table.share(percent(count.get<uint64_t>(), all));
  }
}

void LaunchPage::operations() {
  os << "<details><summary>By instruction</summary>\n";
  {
    PageTable table(os, {{"instruction"}, {"class"}, {"wave instructions", true}, {"exactness"}},
                    id("operations"));
    for (const ordered_json &operation : part(launch, "operations")) {
      table.beginRow();
      table.text(operation.value("name", ""), "source");
      table.text(operation.value("class", ""));
      table.number(number(operation, "waves"));
      table.text(operation.value("exactness", ""));
    }
  }
  os << "</details>\n";
}

// In the order of the files: what stands beside the counts reads as it was written.
void LaunchPage::lines() {
  os << "<h3>Source</h3>\n";
  std::vector<const ordered_json *> sorted;
  for (const ordered_json &line : part(launch, "source_lines"))
    sorted.push_back(&line);
  if (sorted.empty()) {
    os << "<p>The code object has no source lines (compile with <code>-lineinfo</code> or "
          "<code>-g</code>).</p>\n";
    return;
  }
  llvm::sort(sorted, [](const ordered_json *a, const ordered_json *b) {
    const auto files = a->value("file", "").compare(b->value("file", ""));
    return files ? files < 0 : number(*a, "line") < number(*b, "line");
  });
  std::vector<PageColumn> columns = {{"file"}, {"line", true}, {"source"}};
  llvm::append_range(columns, kCost);
  columns.push_back({"with inlined", true});
  PageTable table(os, columns, id("lines"));
  for (const ordered_json *line : sorted) {
    table.beginRow();
    table.text(sys::path::filename(line->value("file", "")));
    table.number(number(*line, "line"));
    table.text(line->value("text", ""), "source");
    cost(table, part(*line, "cost"));
    table.number(number(part(*line, "cost_with_inlined"), "waves"));
  }
}

void LaunchPage::instructions() {
  os << "<details><summary>Executed code</summary>\n";
  {
    std::vector<PageColumn> columns = {{"pc"}, {"instruction"}};
    llvm::append_range(columns, kCost);
    columns.push_back({"place"});
    PageTable table(os, columns, id("code"));
    for (const ordered_json &instruction : part(launch, "code")) {
      table.beginRow();
      table.text(formatv("{0:x-8}", number(instruction, "pc")).str(), "source");
      table.text(instruction.value("text", ""), "source");
      cost(table, part(instruction, "cost"));
      table.text(instruction.contains("file")
                     ? sys::path::filename(instruction.value("file", "")).str() + ":" +
                           std::to_string(number(instruction, "line"))
                     : "");
    }
  }
  os << "</details>\n";
}

void LaunchPage::write() {
  const std::string kernel = demangled(launch["kernel"].get<std::string>());
  os << "<h2>" << index + 1 << ". <code>" << escaped(kernel) << "</code></h2>\n";
  facts();
  classes();
  if (launch.contains("code")) {
    os << "<h3>Flame graph</h3>\n";
    for (const auto &[name, flame] : flamesOf(ordered_json::array({launch})))
      writeFlames(os, name, flame);
    lines();
    instructions();
  }
  operations();
}
} // namespace

void writeLaunchPage(raw_ostream &os, StringRef file, const ordered_json &launches) {
  beginPage(os, "rubia launch: " + sys::path::filename(file).str());
  os << "<h1>rubia launch</h1>\n<p><code>" << escaped(file) << "</code>: " << launches.size()
     << (launches.size() == 1 ? " launch" : " launches") << " on the emulator, by Rubia "
     << RUBIA_VERSION
     << ". These are counts, not times.</p>\n<p class=\"keys\">The head of a column sorts. In a "
        "flame graph, a press or Enter widens a place, Escape shows all, arrows go from place to "
        "place.</p>\n";
  unsigned index = 0;
  for (const ordered_json &launch : launches)
    LaunchPage(os, launch, index++).write();
  endPage(os, {PageScript::Tables, PageScript::Pictures, PageScript::Flames});
}

} // namespace rubia::tools
