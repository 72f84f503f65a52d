// SPDX-License-Identifier: Apache-2.0
// Launches as tables of text.
#include "tools/Commands.h"
#include "tools/LaunchObservation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <nlohmann/json.hpp>

using namespace llvm;
using nlohmann::ordered_json;

namespace rubia::tools {

static uint64_t number(const ordered_json &object, const char *name) {
  auto found = object.find(name);
  return found == object.end() ? 0 : found->get<uint64_t>();
}
static std::string text(const ordered_json &object, const char *name) {
  auto found = object.find(name);
  return found == object.end() ? "" : found->get<std::string>();
}
static const ordered_json &part(const ordered_json &object, const char *name) {
  static const ordered_json kNone = ordered_json::object();
  auto found = object.find(name);
  return found == object.end() ? kNone : *found;
}
static double percent(uint64_t share, uint64_t of) {
  return of ? 100.0 * double(share) / double(of) : 0;
}

static void printHeader(const ordered_json &launch) {
  printed() << text(launch, "kernel") << ": " << number(launch, "workgroups") << " workgroups, "
            << number(launch, "waves") << " waves, " << number(launch, "instructions")
            << " wave instructions\n";
}

static void printOccupancy(const ordered_json &found) {
  printed() << "occupancy: " << number(found, "workgroups") << " workgroups at once, "
            << number(found, "waves_per_simd") << " of " << number(found, "max_waves_per_simd")
            << " waves per SIMD, limited by " << text(found, "limited_by") << " (workgroups by";
  const char *separator = " ";
  for (const auto &[name, count] : part(found, "workgroups_by").items()) {
    printed() << separator << name << ": " << count.get<uint64_t>();
    separator = ", ";
  }
  printed() << "; " << number(found, "vgprs") << " vector registers, " << number(found, "lds_bytes")
            << " bytes of LDS)\n";
}

static void printMemory(const ordered_json &memory) {
  uint64_t all = 0;
  for (const ordered_json &cost : memory)
    all += cost.is_object() ? number(cost, "lines") : 0;
  if (all == 0)
    return;
  printed() << "memory, in cache lines of " << number(memory, "line_bytes") << " bytes\n";
  for (const char *kind : {"loads", "stores", "atomics"}) {
    const ordered_json &cost = part(memory, kind);
    const uint64_t lines = number(cost, "lines");
    if (lines == 0)
      continue;
    printed() << formatv("  {0,-8} {1} instructions, {2} lines", kind, number(cost, "accesses"),
                         lines)
              << format(
                     " (%.2f each), %.1f %% of their bytes used\n",
                     double(lines) / double(number(cost, "accesses")),
                     percent(number(cost, "distinct_bytes"), lines * number(memory, "line_bytes")));
  }
}

static void printLds(const ordered_json &lds) {
  if (number(lds, "accesses") == 0)
    return;
  printed() << "LDS: " << number(lds, "accesses") << " instructions, " << number(lds, "cycles")
            << " cycles, of which bank conflicts " << number(lds, "conflict_cycles") << "\n";
}

static void printDivergence(const ordered_json &divergence) {
  printed() << format("divergence: %.1f %% of lanes active in %llu vector instructions; ",
                      percent(number(divergence, "active_lanes"), number(divergence, "lanes")),
                      (unsigned long long)number(divergence, "vector_instructions"))
            << number(divergence, "splits") << " of " << number(divergence, "maskings")
            << " conditions divided a wave\n";
  for (const auto &[lanes, count] : part(divergence, "vector_instructions_by_active_lanes").items())
    printed() << formatv("  {0,12}  with {1} lanes\n", count.get<uint64_t>(), lanes);
}

void printStatistics(const ordered_json &launch) {
  printHeader(launch);
  printed() << "by class\n";
  for (const auto &[name, count] : part(launch, "classes").items())
    printed() << formatv("  {0,12}  {1}\n", count.get<uint64_t>(), name);
  printed() << "by instruction\n";
  for (const ordered_json &operation : part(launch, "operations"))
    printed() << formatv("  {0,12}  {1,-15} {2}\n", number(operation, "waves"),
                         text(operation, "exactness"), text(operation, "name"));
  printOccupancy(part(launch, "occupancy"));
  if (!launch.contains("memory"))
    return;
  printMemory(part(launch, "memory"));
  printLds(part(launch, "lds"));
  printDivergence(part(launch, "divergence"));
}

static constexpr const char *kColumns =
    "  instructions       %   lanes %   lines  used %   LDS cycles  conflicts  ";

/// One row under kColumns; empty where an instruction has nothing of the kind.
static void printCost(const ordered_json &cost, uint64_t all, uint64_t lineBytes) {
  const uint64_t waves = number(cost, "waves");
  printed() << format("  %12llu  %6.1f", (unsigned long long)waves, percent(waves, all));
  if (const uint64_t lanes = number(cost, "lanes"))
    printed() << format("   %7.1f", percent(number(cost, "active_lanes"), lanes));
  else
    printed().indent(10);
  const ordered_json &memory = part(cost, "memory");
  if (const uint64_t lines = number(memory, "lines"))
    printed() << format(" %7llu  %6.1f", (unsigned long long)lines,
                        percent(number(memory, "distinct_bytes"), lines * lineBytes));
  else
    printed().indent(16);
  const ordered_json &lds = part(cost, "lds");
  if (const uint64_t cycles = number(lds, "cycles"))
    printed() << format("   %10llu  %9llu  ", (unsigned long long)cycles,
                        (unsigned long long)number(lds, "conflict_cycles"));
  else
    printed().indent(26);
}

static uint64_t allInstructions(const ordered_json &launch) {
  uint64_t all = 0;
  for (const ordered_json &count : part(launch, "classes"))
    all += count.get<uint64_t>();
  return all;
}

static std::string placeOf(const ordered_json &object) {
  const std::string file = text(object, "file");
  return file.empty()
             ? ""
             : sys::path::filename(file).str() + ":" + std::to_string(number(object, "line"));
}

void printSourceLines(const ordered_json &launch) {
  printHeader(launch);
  if (part(launch, "source_lines").empty()) {
    printed() << "  the code object has no source lines (compile with -lineinfo or -g)\n";
    return;
  }
  printed() << kColumns << "with inlined  source\n";
  const uint64_t all = allInstructions(launch),
                 lineBytes = number(part(launch, "memory"), "line_bytes");
  for (const ordered_json &line : part(launch, "source_lines")) {
    const ordered_json &own = part(line, "cost");
    printCost(own, all, lineBytes);
    const uint64_t inlined = number(part(line, "cost_with_inlined"), "waves");
    if (inlined != number(own, "waves"))
      printed() << format("%12llu  ", (unsigned long long)inlined);
    else
      printed().indent(14);
    printed() << placeOf(line);
    if (std::string source = text(line, "text"); !source.empty())
      printed() << "  " << source;
    printed() << "\n";
  }
}

void printInstructions(const ordered_json &launch) {
  printHeader(launch);
  printed() << kColumns << "    pc  instruction\n";
  const uint64_t all = allInstructions(launch),
                 lineBytes = number(part(launch, "memory"), "line_bytes");
  for (const ordered_json &instruction : part(launch, "code")) {
    printCost(part(instruction, "cost"), all, lineBytes);
    printed() << format("%6llx  ", (unsigned long long)number(instruction, "pc"))
              << StringRef(formatv("{0,-48}", text(instruction, "text")).str() + "  " +
                           placeOf(instruction))
                     .rtrim()
              << "\n";
  }
}

} // namespace rubia::tools
