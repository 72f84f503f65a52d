// SPDX-License-Identifier: Apache-2.0
// The JSON of a launch; docs/debugging.md describes it.
#include "emulator/hip/LaunchRecords.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace rubia::emulator::hip {
namespace {

class Writer {
public:
  explicit Writer(raw_ostream &os) : j(os) {}
  void launch(const Launch &launch, const Statistics &statistics);

private:
  void number(StringRef name, uint64_t value) { j.attribute(name, int64_t(value)); }
  void limit(StringRef name, std::optional<unsigned> value) {
    if (value)
      number(name, *value);
  }
  void place(StringRef name, Dim3 place) {
    j.attributeArray(name, [&] {
      for (uint32_t i : {place.x, place.y, place.z})
        j.value(int64_t(i));
    });
  }
  void classes(const Statistics &statistics);
  void operations(const Statistics &statistics);
  void occupancy(const Launch &launch);
  void memory(const MemoryCost &cost, unsigned lineBytes);
  void cost(const Cost &cost);
  void frames(const std::vector<SourceFrame> &frames);
  void profile(const Profile &profile);

  json::OStream j;
};

void Writer::classes(const Statistics &statistics) {
  std::array<uint64_t, kInstructionClasses> counts = {};
  if (statistics.profile)
    counts = statistics.profile->classes;
  else
    for (const OperationCount &operation : statistics.operations)
      counts[unsigned(operation.kind)] += operation.waves;
  j.attributeObject("classes", [&] {
    for (unsigned i = 0; i < kInstructionClasses; ++i)
      if (counts[i])
        number(toString(InstructionClass(i)), counts[i]);
  });
}

void Writer::operations(const Statistics &statistics) {
  j.attributeArray("operations", [&] {
    for (const OperationCount &operation : statistics.operations)
      j.object([&] {
        j.attribute("name", operation.name);
        number("waves", operation.waves);
        j.attribute("exactness", operation.exactness);
        j.attribute("class", toString(operation.kind));
      });
  });
}

void Writer::occupancy(const Launch &launch) {
  const Occupancy found = rubia::emulator::occupancy(*launch.kernel, uint32_t(launch.block.count()),
                                                     launch.dynamicLdsBytes);
  j.attributeObject("occupancy", [&] {
    number("workgroups", found.workgroups);
    number("waves_per_simd", found.wavesPerSimd);
    number("max_waves_per_simd", found.maxWavesPerSimd);
    j.attribute("limited_by", found.limit());
    number("vgprs", found.vgprs);
    number("lds_bytes", found.ldsBytes);
    j.attributeObject("workgroups_by", [&] {
      number("waves", found.byWaves);
      number("registers", found.byRegisters);
      limit("LDS", found.byLds);
      limit("barriers", found.byBarriers);
    });
  });
}

void Writer::memory(const MemoryCost &cost, unsigned lineBytes) {
  number("accesses", cost.accesses);
  number("bytes", cost.bytes);
  number("distinct_bytes", cost.distinctBytes);
  number("lines", cost.lines);
  if (lineBytes && cost.lines)
    j.attribute("efficiency", double(cost.distinctBytes) / double(cost.lines * lineBytes));
}

void Writer::cost(const Cost &cost) {
  number("waves", cost.waves);
  if (cost.vectors) {
    number("vector_instructions", cost.vectors);
    number("active_lanes", cost.activeLanes);
    number("lanes", cost.laneSlots);
  }
  if (cost.memory.accesses)
    j.attributeObject("memory", [&] { memory(cost.memory, 0); });
  if (cost.ldsAccesses)
    j.attributeObject("lds", [&] {
      number("accesses", cost.ldsAccesses);
      number("cycles", cost.ldsCycles);
      number("conflict_cycles", cost.conflictCycles);
    });
  if (cost.maskings) {
    number("maskings", cost.maskings);
    number("splits", cost.splits);
  }
}

void Writer::frames(const std::vector<SourceFrame> &frames) {
  j.attribute("file", frames.front().file);
  number("line", frames.front().line);
  j.attributeArray("frames", [&] {
    for (const SourceFrame &frame : frames)
      j.object([&] {
        j.attribute("function", frame.function);
        j.attribute("file", frame.file);
        number("line", frame.line);
      });
  });
}

void Writer::profile(const Profile &profile) {
  j.attributeObject("memory", [&] {
    number("line_bytes", profile.lineBytes);
    for (auto [name, part] :
         {std::pair("loads", &profile.loads), std::pair("stores", &profile.stores),
          std::pair("atomics", &profile.atomics)})
      j.attributeObject(name, [&, part = part] { memory(*part, profile.lineBytes); });
  });
  j.attributeObject("lds", [&] {
    number("banks", profile.ldsBanks);
    number("accesses", profile.total.ldsAccesses);
    number("cycles", profile.total.ldsCycles);
    number("conflict_cycles", profile.total.conflictCycles);
  });
  j.attributeObject("divergence", [&] {
    number("vector_instructions", profile.total.vectors);
    number("active_lanes", profile.total.activeLanes);
    number("lanes", profile.total.laneSlots);
    number("maskings", profile.total.maskings);
    number("splits", profile.total.splits);
    j.attributeObject("vector_instructions_by_active_lanes", [&] {
      for (unsigned i = 0; i < profile.activeLanes.size(); ++i)
        if (profile.activeLanes[i])
          number(std::to_string(i), profile.activeLanes[i]);
    });
  });
  j.attributeArray("source_lines", [&] {
    for (const LineCost &line : profile.lines)
      j.object([&] {
        j.attribute("file", line.file);
        number("line", line.line);
        j.attribute("function", line.function);
        j.attribute("text", json::fixUTF8(line.text));
        j.attributeObject("cost", [&] { cost(line.cost); });
        j.attributeObject("cost_with_inlined", [&] { cost(line.inlined); });
      });
  });
  j.attributeArray("code", [&] {
    for (const InstructionCost &instruction : profile.instructions)
      j.object([&] {
        number("pc", instruction.pc);
        j.attribute("text", instruction.text);
        j.attribute("class", toString(instruction.kind));
        if (!instruction.frames.empty())
          frames(instruction.frames);
        j.attributeObject("cost", [&] { cost(instruction.cost); });
      });
  });
}

void Writer::launch(const Launch &launch, const Statistics &statistics) {
  j.object([&] {
    number("version", kProfileVersion);
    j.attribute("kernel", launch.kernel->name);
    number("workgroups", statistics.workgroups);
    number("waves", statistics.waves);
    number("instructions", statistics.instructions);
    number("wave_size", launch.kernel->waveSize);
    place("grid", launch.grid);
    place("block", launch.block);
    operations(statistics);
    classes(statistics);
    occupancy(launch);
    if (statistics.profile)
      profile(*statistics.profile);
  });
}

} // namespace

void writeJson(raw_ostream &os, const Launch &launch, const Statistics &statistics) {
  Writer(os).launch(launch, statistics);
}

} // namespace rubia::emulator::hip
