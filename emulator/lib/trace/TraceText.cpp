// SPDX-License-Identifier: Apache-2.0
// The lines of a trace. Most vectors of values are the same in all lanes, or grow by the same step
// from lane to lane; these are written short.
#include "emulator/lib/trace/Trace.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rubia::emulator {

static std::string hex(uint64_t value) { return "0x" + utohexstr(value, true); }

/// "{0, 4 .. 124}" and the like.
static std::string describe(const LaneValues &all, uint64_t wrap) {
  const auto &values = all.values;
  constexpr size_t kShown = 8;
  if (all_equal(values))
    return values.empty() ? "" : hex(values[0]);
  bool steady = values.size() > 3;
  const uint64_t step = ((values[1] - values[0]) & wrap) / uint64_t(all.lanes[1] - all.lanes[0]);
  for (size_t i = 1; i < values.size(); ++i)
    steady &= ((values[i] - values[i - 1]) & wrap) ==
              ((step * uint64_t(all.lanes[i] - all.lanes[i - 1])) & wrap);
  if (steady)
    return "{" + hex(values[0]) + ", " + hex(values[1]) + " .. " + hex(values.back()) + "}";
  std::string text = "{";
  for (size_t i = 0; i < std::min(values.size(), kShown); ++i)
    text += (i ? ", " : "") + hex(values[i]);
  if (values.size() > kShown)
    text += ", " + std::to_string(values.size() - kShown) + " more";
  return text + "}";
}

static bool isFloat32(InstructionClass kind, StringRef text) {
  return kind == InstructionClass::VectorF32 || ((kind == InstructionClass::VectorTranscendental ||
                                                  kind == InstructionClass::VectorConversion) &&
                                                 text.split(' ').first.contains("_f32"));
}

static uint64_t maskOf(const LaneValues &all) {
  uint64_t mask = 0;
  for (uint8_t lane : all.lanes)
    mask |= uint64_t(1) << lane;
  return mask;
}

static StringRef nameOf(Space space) {
  switch (space) {
  case Space::Local:
    return "LDS";
  case Space::Scratch:
    return "scratch";
  case Space::Global:
  case Space::Flat:
  case Space::Buffer:
    break;
  }
  return "global";
}

static std::string verbOf(const TracedAccess &access) {
  return access.reads ? access.writes ? "updates" : "reads" : "writes";
}

static void describe(raw_ostream &os, const RegisterChange &change, const TracedInstruction &line) {
  os << "  " << change.name << "=";
  if (!change.isVector) {
    os << hex(change.value);
    return;
  }
  os << describe(change.lanes, 0xffffffff);
  if (isFloat32(line.kind, line.text) && all_equal(change.lanes.values))
    os << format(" (%g)", double(bit_cast<float>(uint32_t(change.lanes.values[0]))));
  if (change.lanes.lanes.size() != 1 && maskOf(change.lanes) != line.exec)
    os << " in lanes " << hex(maskOf(change.lanes));
}

std::string traceText(const TracedInstruction &line) {
  std::string text;
  raw_string_ostream os(text);
  if (!line.source.empty())
    os << line.source << (line.sourceText.empty() ? "" : ": ") << line.sourceText << "\n";
  os << format("(%u,%u,%u) wave %u  %06llx: ", line.workgroup.x, line.workgroup.y, line.workgroup.z,
               line.wave, (unsigned long long)line.pc)
     << left_justify(line.text, 48);
  if (line.execChanged)
    os << format("  [exec %0*llx]", int(line.waveSize / 4), (unsigned long long)line.exec);
  for (const RegisterChange &change : line.registers)
    describe(os, change, line);
  for (const TracedAccess &access : line.accesses)
    os << "  " << verbOf(access) << " " << access.bytes << " B " << nameOf(access.space) << " "
       << describe(access.addresses, ~uint64_t(0));
  if (line.fault)
    os << "  fault";
  return StringRef(text).rtrim().str();
}

static void writeLanes(json::OStream &j, StringRef name, const LaneValues &all) {
  j.attributeArray("lanes", [&] {
    for (uint8_t lane : all.lanes)
      j.value(int64_t(lane));
  });
  j.attributeArray(name, [&] {
    for (uint64_t value : all.values)
      j.value(int64_t(value));
  });
}

std::string traceJson(const TracedInstruction &line, StringRef kernel) {
  std::string text;
  raw_string_ostream os(text);
  json::OStream j(os);
  j.object([&] {
    j.attribute("version", kProfileVersion);
    j.attribute("launch", int64_t(line.launch));
    j.attribute("kernel", kernel);
    j.attributeArray("workgroup", [&] {
      for (uint32_t i : {line.workgroup.x, line.workgroup.y, line.workgroup.z})
        j.value(int64_t(i));
    });
    j.attribute("wave", int64_t(line.wave));
    j.attribute("number", int64_t(line.number));
    j.attribute("pc", int64_t(line.pc));
    j.attribute("text", line.text);
    j.attribute("class", toString(line.kind));
    j.attribute("exec", hex(line.exec));
    if (!line.source.empty())
      j.attribute("source", line.source);
    if (line.fault)
      j.attribute("fault", true);
    j.attributeArray("registers", [&] {
      for (const RegisterChange &change : line.registers)
        j.object([&] {
          j.attribute("name", change.name);
          if (change.isVector)
            writeLanes(j, "values", change.lanes);
          else
            j.attribute("value", hex(change.value));
        });
    });
    j.attributeArray("accesses", [&] {
      for (const TracedAccess &access : line.accesses)
        j.object([&] {
          j.attribute("space", nameOf(access.space));
          j.attribute("reads", access.reads);
          j.attribute("writes", access.writes);
          j.attribute("bytes", int64_t(access.bytes));
          writeLanes(j, "addresses", access.addresses);
        });
    });
  });
  return text;
}

} // namespace rubia::emulator
