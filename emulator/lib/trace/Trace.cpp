// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/trace/Trace.h"
#include "emulator/lib/decode/Disassembly.h"
#include "emulator/lib/run/FaultReport.h"
#include "input/Printable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <utility>

using namespace llvm;

namespace rubia::emulator {

static Expected<Dim3> parsePlace(StringRef word, StringRef value) {
  SmallVector<StringRef, 3> parts;
  value.split(parts, ',');
  Dim3 place{0, 0, 0};
  uint32_t *const numbers[] = {&place.x, &place.y, &place.z};
  bool good = parts.size() <= 3;
  for (size_t i = 0; good && i < parts.size(); ++i)
    good = !parts[i].trim().getAsInteger(0, *numbers[i]);
  if (!good)
    return createStringError("trace: '" + word + "=" + value + "' is not X[,Y,Z]");
  return place;
}

std::string whyNothingIsTraced(const TraceRequest &request, const Launch &launch) {
  const Program &program = *launch.kernel->program;
  auto lacks = [](const std::optional<Dim3> &id, const Dim3 &size) {
    return id && (id->x >= size.x || id->y >= size.y || id->z >= size.z);
  };
  const Dim3 block = blockOfThreads(launch, program);
  const uint64_t waves = (launch.block.count() + program.waveSize - 1) / program.waveSize;
  if (!request.kernel.empty() && request.kernel != launch.kernel->name)
    return "";
  if (lacks(request.workgroup, launch.grid))
    return "there is no workgroup " + triple(*request.workgroup) + " in a grid of " +
           triple(launch.grid);
  if (lacks(request.thread, block))
    return "there is no thread " + triple(*request.thread) + " in a block of " + triple(block);
  if (!request.thread && request.wave && *request.wave >= waves)
    return "there is no wave " + std::to_string(*request.wave) + " in a workgroup of " +
           std::to_string(waves) + (waves == 1 ? " wave" : " waves");
  return "";
}

Expected<TraceRequest> parseTraceRequest(StringRef words) {
  TraceRequest request;
  SmallVector<StringRef> parts;
  words.split(parts, ';', -1, false);
  for (StringRef part : parts) {
    const auto [name, value] = part.trim().split('=');
    const bool all = value == "all";
    auto number = [&](auto &result) { return !value.getAsInteger(0, result); };
    unsigned wave = 0;
    if (name == "kernel") {
      request.kernel = value.str();
    } else if (name == "workgroup" || name == "thread") {
      std::optional<Dim3> &place = name == "thread" ? request.thread : request.workgroup;
      place.reset();
      if (all && name == "workgroup")
        continue;
      Expected<Dim3> parsed = parsePlace(name, value);
      if (!parsed)
        return parsed.takeError();
      place = *parsed;
    } else if (name == "wave" && all) {
      request.wave.reset();
    } else if (name == "wave" && number(wave)) {
      request.wave = wave;
    } else if (name == "limit" && number(request.limit)) {
    } else if (name == "format" && (value == "json" || value == "text")) {
      request.json = value == "json";
    } else {
      return createStringError("trace: '" + part +
                               "' is none of kernel=NAME, workgroup=X[,Y,Z]|all, wave=N|all, "
                               "thread=X[,Y,Z], limit=N, format=text|json");
    }
  }
  return request;
}

/// Launches are numbered whether or not anything of them is written.
static uint64_t nextLaunch() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

TraceObserver::TraceObserver(const TraceRequest &request, const Launch &launch)
    : request(request), launch(launch), number(nextLaunch()), kernel(launch.kernel->name),
      lines(launch.kernel->program->lines.get()), code(launch.kernel->program->stepped()),
      isThisKernel(request.kernel.empty() || request.kernel == kernel), onlyWave(request.wave) {
  if (!request.thread)
    return;
  const WavePlace place = placeOf(launch, *launch.kernel->program, *request.thread);
  onlyWave = place.wave;
  onlyLane = place.lane;
}

TraceObserver::~TraceObserver() {
  for (auto &[wave, traced] : waves)
    if (traced.pending) {
      traced.current.fault = true;
      write(traced.current);
    }
}

bool TraceObserver::isChosen(const RunningGroup &group, const Wave &wave) const {
  if (!isThisKernel || (onlyWave && wave.indexInGroup != *onlyWave))
    return false;
  const std::optional<Dim3> &at = request.workgroup;
  return !at || (at->x == group.id.x && at->y == group.id.y && at->z == group.id.z);
}

void TraceObserver::groupEnded(RunningGroup &group) {
  for (const Wave &wave : group.waves) // others will lie where they do
    waves.erase(&wave);
}

void TraceObserver::begin(Traced &traced, const RunningGroup &group, const Wave &wave,
                          const MicroOp &op) {
  TracedInstruction &line = traced.current;
  line = TracedInstruction();
  line.launch = number;
  line.workgroup = group.id;
  line.wave = wave.indexInGroup;
  line.waveSize = wave.lanes();
  line.number = traced.count++;
  line.pc = op.pc;
  line.exec = wave.exec();
  line.execChanged = line.number == 0 || line.exec != traced.lastExec;
  if (const auto found = disassembleAt(*code.program, op.pc)) {
    line.text = found->text;
    line.kind = classify(*code.program->target, found->inst);
  }
  if (lines) {
    const std::vector<SourceFrame> frames = lines->frames(op.pc);
    std::string place = frames.empty() ? "" : frames[0].file + ":" + std::to_string(frames[0].line);
    if (!place.empty() && place != traced.lastSource) {
      line.source = lines->at(op.pc);
      line.sourceText = sources.line(frames[0].file, frames[0].line).str();
      traced.lastSource = std::move(place);
    }
  }
  traced.pending = true;
  std::copy(std::begin(wave.scalars), std::end(wave.scalars), traced.scalars);
  traced.scc = wave.scc;
  traced.vectors.clear();
}

void TraceObserver::keep(Traced &traced, const Wave &wave, const InstructionStep &step) {
  for (const RegisterRange &range : step.registers)
    for (unsigned i = 0; range.vector && range.written && i < range.count; ++i) {
      const unsigned number = range.first + i;
      if (any_of(traced.vectors, [&](const auto &kept) { return kept.first == number; }) ||
          vectorOffset(number) / kBlockLanes >= wave.blockStride / kBlockLanes)
        continue;
      std::vector<uint32_t> values(wave.lanes());
      for (unsigned lane = 0; lane < values.size(); ++lane)
        values[lane] = wave.vgpr(vectorOffset(number), lane);
      traced.vectors.push_back({number, std::move(values)});
    }
}

void TraceObserver::addAccesses(TracedInstruction &line, const Accesses &accesses) const {
  for (const LaneAccess &access : accesses.lanes) {
    if (onlyLane && isVector(line.kind) && access.lane != *onlyLane)
      continue;
    // One entry for each address of a lane, such as the two of DS_READ2_B32.
    auto fits = [&](const TracedAccess &entry) {
      return entry.space == access.space && entry.reads == access.reads &&
             entry.writes == access.writes && entry.bytes == access.bytes &&
             entry.addresses.lanes.back() < access.lane;
    };
    auto entry = find_if(line.accesses, fits);
    if (entry == line.accesses.end()) {
      line.accesses.push_back({access.space, access.reads, access.writes, access.bytes, {}});
      entry = std::prev(line.accesses.end());
    }
    entry->addresses.lanes.push_back(access.lane);
    entry->addresses.values.push_back(access.address);
  }
}

void TraceObserver::before(RunningGroup &group, Wave &wave, const MicroOp &op,
                           const InstructionStep &step, const Accesses &accesses) {
  if (!isChosen(group, wave))
    return;
  Traced &traced = waves[&wave];
  if (!continuesInstruction(*code.program, size_t(&op - code.program->operations.data()))) {
    if (request.limit && traced.count >= request.limit)
      return;
    begin(traced, group, wave, op);
    addAccesses(traced.current, accesses);
  }
  if (traced.pending)
    keep(traced, wave, step);
}

/// Names and widths of what lies at a place of the scalar file.
static std::string scalarName(unsigned index) {
  if (index < kVcc)
    return "s" + std::to_string(index);
  if (index >= kTtmp && index < kTtmp + 16)
    return "ttmp" + std::to_string(index - kTtmp);
  switch (index) {
  case kM0:
    return "m0";
  case kVcc + 1:
    return "vcc_hi";
  case kFlatScratch:
    return "flat_scratch_lo";
  case kFlatScratch + 1:
    return "flat_scratch_hi";
  }
  return ""; // writes to NULL, and EXEC, which has a place of its own
}

void TraceObserver::compare(Traced &traced, const Wave &wave) {
  TracedInstruction &line = traced.current;
  for (unsigned i = 0; i < kScalarCount; ++i) {
    if (i == kVcc || i == kExec) {
      const bool wide = wave.blocks == 2;
      if (wave.scalars[i] != traced.scalars[i] ||
          (wide && wave.scalars[i + 1] != traced.scalars[i + 1])) {
        RegisterChange change;
        change.name = i == kVcc ? "vcc" : "exec";
        change.value = wave.mask(i);
        line.registers.push_back(std::move(change));
      }
      i += wide;
      continue;
    }
    if (wave.scalars[i] == traced.scalars[i])
      continue;
    RegisterChange change;
    change.name = scalarName(i);
    change.value = wave.scalars[i];
    if (!change.name.empty())
      line.registers.push_back(std::move(change));
  }
  if (wave.scc != traced.scc) {
    RegisterChange change;
    change.name = "scc";
    change.value = wave.scc;
    line.registers.push_back(std::move(change));
  }
  for (const auto &[number, old] : traced.vectors) {
    RegisterChange change;
    change.isVector = true;
    change.name = number < kFirstAccumulator ? "v" + std::to_string(number)
                                             : "a" + std::to_string(number - kFirstAccumulator);
    bool changed = false;
    for (unsigned lane = 0; lane < old.size(); ++lane) {
      if (onlyLane && lane != *onlyLane)
        continue;
      const uint32_t value = wave.vgpr(vectorOffset(number), lane);
      changed |= value != old[lane];
      if (value == old[lane] && !(line.exec >> lane & 1))
        continue;
      change.lanes.lanes.push_back(uint8_t(lane));
      change.lanes.values.push_back(value);
    }
    if (changed)
      line.registers.push_back(std::move(change));
  }
}

void TraceObserver::after(RunningGroup &, Wave &wave, const MicroOp &op, const InstructionStep &) {
  auto found = waves.find(&wave);
  if (found == waves.end() || !found->second.pending)
    return;
  const size_t next = size_t(&op - code.program->operations.data()) + 1;
  if (next < code.program->operations.size() && continuesInstruction(*code.program, next))
    return;
  Traced &traced = found->second;
  compare(traced, wave);
  traced.lastExec = wave.exec();
  traced.pending = false;
  write(traced.current);
}

void TraceObserver::write(const TracedInstruction &line) {
  std::string text = request.json ? traceJson(line, kernel) : traceText(line);
  if (!request.json && !std::exchange(hasTitle, true))
    text = "launch " + std::to_string(number) + ": kernel " + kernel + ", grid " +
           triple(launch.grid) + ", block " +
           triple(blockOfThreads(launch, *launch.kernel->program)) + "\n" + text;
  // At one go: launches of several streams may write to the same file.
  *request.out << (request.json ? text : input::printable(text)) + "\n";
}

} // namespace rubia::emulator
