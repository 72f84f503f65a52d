// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/debug/Inspection.h"
#include "emulator/lib/debug/MemoryRange.h"
#include "emulator/lib/debug/NamedValues.h"
#include "emulator/lib/decode/Disassembly.h"
#include "emulator/lib/run/FaultReport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Demangle/Demangle.h"

using namespace llvm;

namespace rubia::emulator {

static std::string hex(uint64_t value) { return "0x" + utohexstr(value, true); }

json::Array arrayOf(Dim3 place) {
  return json::Array{int64_t(place.x), int64_t(place.y), int64_t(place.z)};
}

static bool isAt(Dim3 a, Dim3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

uint32_t Inspection::pcOf(const Wave &wave) {
  return wave.status == WaveStatus::AtBarrier ? wave.next[-1].pc : wave.next->pc;
}

// ---------- Frames

size_t Inspection::depthOf(const Wave &wave, uint32_t pc) const {
  size_t depth = 0;
  auto count = [&](uint32_t at) {
    depth += lines ? std::max<size_t>(lines->frames(at).size(), 1) : 1;
  };
  count(pc);
  for (const CallStacks::Call &call : calls.of(wave))
    count(call.pc);
  return depth;
}

json::Object Inspection::frame(const SourceFrame &frame, uint64_t pc, bool isInlined) const {
  json::Object object{{"pc", int64_t(pc)},
                      {"function", json::fixUTF8(demangle(frame.function))},
                      {"inlined", isInlined}};
  if (frame.line != 0) {
    object["file"] = json::fixUTF8(frame.file);
    object["line"] = int64_t(frame.line);
  }
  return object;
}

json::Array Inspection::frames(const Wave &wave) const {
  json::Array found;
  std::vector<uint32_t> pcs{pcOf(wave)};
  for (const CallStacks::Call &call : reverse(calls.of(wave)))
    pcs.push_back(call.pc);
  for (const uint32_t pc : pcs) {
    std::vector<SourceFrame> parts;
    if (lines)
      parts = lines->frames(pc);
    if (parts.empty())
      parts.push_back({"", "", 0});
    if (pc == pcs.back() && parts.back().function.empty())
      parts.back().function = launch.kernel->name;
    for (const SourceFrame &part : parts)
      found.push_back(frame(part, pc, &part != &parts.back()));
  }
  return found;
}

json::Object Inspection::place(const Focus &focus) const {
  const Wave &wave = *focus.wave;
  const uint32_t pc = pcOf(wave);
  json::Object object{
      {"workgroup", arrayOf(focus.group->id)},
      {"wave", int64_t(wave.indexInGroup)},
      {"lane", int64_t(focus.lane)},
      {"thread", arrayOf(threadOf(launch, *launch.kernel->program, wave.indexInGroup, focus.lane))},
      {"active", isActive(focus)},
      {"exec", hex(wave.exec())},
      {"pc", int64_t(pc)}};
  if (const auto found = disassembleAt(*code.program, pc))
    object["instruction"] = json::fixUTF8(found->text);
  if (const std::optional<size_t> operation = places.findPc(pc))
    if (const auto at = places.placeOf(*operation)) {
      object["file"] = json::fixUTF8(places.files()[at->file]);
      object["line"] = int64_t(at->line);
    }
  return object;
}

// ---------- Threads

json::Array Inspection::waves(ArrayRef<RunningGroup *> groups) const {
  json::Array all;
  for (RunningGroup *group : groups)
    for (Wave &wave : group->waves) {
      if (wave.status == WaveStatus::Ended)
        continue;
      const uint64_t exec = wave.exec();
      json::Object object = place({group, &wave, exec ? unsigned(llvm::countr_zero(exec)) : 0});
      object["waits"] = wave.status == WaveStatus::AtBarrier;
      all.push_back(std::move(object));
    }
  return all;
}

json::Array Inspection::lanes(const Focus &focus) const {
  json::Array all;
  const Wave &wave = *focus.wave;
  for (unsigned lane = 0; lane < wave.lanes(); ++lane) {
    const Dim3 thread = threadOf(launch, *launch.kernel->program, wave.indexInGroup, lane);
    all.push_back(json::Object{{"lane", int64_t(lane)},
                               {"thread", arrayOf(thread)},
                               {"active", bool(wave.exec() >> lane & 1)}});
  }
  return all;
}

Expected<Focus> Inspection::find(ArrayRef<RunningGroup *> groups, Dim3 workgroup,
                                 Dim3 thread) const {
  const Dim3 block = blockOfThreads(launch, *launch.kernel->program);
  if (thread.x >= block.x || thread.y >= block.y || thread.z >= block.z)
    return createStringError("there is no thread " + triple(thread) + " in a block of " +
                             triple(block));
  const WavePlace at = placeOf(launch, *launch.kernel->program, thread);
  for (RunningGroup *group : groups)
    if (isAt(group->id, workgroup)) {
      Wave &wave = group->waves[at.wave];
      if (wave.status == WaveStatus::Ended)
        return createStringError("thread " + triple(thread) + " of workgroup " + triple(workgroup) +
                                 " has ended");
      return Focus{group, &wave, at.lane};
    }
  return createStringError("workgroup " + triple(workgroup) + " does not run now");
}

// ---------- Registers

static json::Object registerValue(std::string name, uint64_t value, unsigned bits) {
  return json::Object{{"name", std::move(name)}, {"value", hex(value)}, {"bits", int64_t(bits)}};
}

static unsigned vectorRegisters(const Wave &wave) {
  return std::min(wave.vgprCount, 2 * kFirstAccumulator);
}

json::Array Inspection::registers(const Focus &focus) const {
  const Wave &wave = *focus.wave;
  json::Array all;
  all.push_back(registerValue("pc", pcOf(wave), 32));
  all.push_back(registerValue("exec", wave.exec(), wave.lanes()));
  all.push_back(registerValue("vcc", wave.mask(kVcc), wave.lanes()));
  all.push_back(registerValue("scc", wave.scc, 1));
  all.push_back(registerValue("m0", wave.scalars[kM0], 32));
  all.push_back(registerValue("mode", wave.modeRegister, 32));
  const unsigned scalars = std::min<unsigned>(launch.kernel->sgprCount, kVcc);
  for (unsigned i = 0; i < scalars; ++i)
    all.push_back(registerValue("s" + std::to_string(i), wave.scalars[i], 32));
  for (unsigned i = 0; i < vectorRegisters(wave); ++i) {
    const bool isAccumulator = i >= kFirstAccumulator;
    const unsigned number = isAccumulator ? i - kFirstAccumulator : i;
    const unsigned used = isAccumulator ? launch.kernel->agprCount : launch.kernel->vgprCount;
    if (number < used && vectorOffset(i) < wave.blockStride)
      all.push_back(registerValue((isAccumulator ? "a" : "v") + std::to_string(number),
                                  wave.vgpr(vectorOffset(i), focus.lane), 32));
  }
  return all;
}

Expected<json::Array> Inspection::lanesOf(const Focus &focus, StringRef name) const {
  const Wave &wave = *focus.wave;
  StringRef digits = name;
  const bool isVector = digits.consume_front("v"), isAccumulator = digits.consume_front("a");
  unsigned number = 0;
  if (isVector == isAccumulator || digits.getAsInteger(10, number) || number >= kFirstAccumulator ||
      vectorOffset(number + (isAccumulator ? kFirstAccumulator : 0)) >= wave.blockStride)
    return createStringError("'" + name + "' is no vector register of this wave");
  const unsigned offset = vectorOffset(number + (isAccumulator ? kFirstAccumulator : 0));
  json::Array all;
  for (unsigned lane = 0; lane < wave.lanes(); ++lane)
    all.push_back(hex(wave.vgpr(offset, lane)));
  return all;
}

json::Array Inspection::values(const Focus &focus) const {
  json::Array all;
  if (!lines)
    return all;
  for (const NamedValue &value : namedValues(*lines, *focus.wave, focus.lane, pcOf(*focus.wave))) {
    json::Object object = registerValue(value.name, value.low, value.bits);
    object["type"] = value.type;
    object["where"] = value.where;
    if (value.bits > 64)
      object["high"] = hex(value.high);
    all.push_back(std::move(object));
  }
  return all;
}

// ---------- Memory

Expected<std::string> Inspection::bytes(const Focus &focus, StringRef space, uint64_t address,
                                        uint64_t count) const {
  Expected<MemoryRange> range = MemoryRange::find(memory, focus, space, address, count);
  if (!range)
    return range.takeError();
  std::vector<uint8_t> found(range->count());
  for (uint64_t i = 0; i < range->count(); ++i)
    found[i] = range->at(i);
  return toHex(found, true);
}

// ---------- Code

json::Array Inspection::instructions(uint64_t pc, uint64_t before, uint64_t count) const {
  json::Array all;
  const std::optional<size_t> at = places.findPc(pc);
  if (!at)
    return all;
  const std::vector<MicroOp> &operations = code.program->operations;
  size_t first = *at;
  while (before > 0 && first > 0)
    before -= !continuesInstruction(*code.program, --first);
  for (size_t i = first; i < operations.size() && count > 0; ++i) {
    if (continuesInstruction(*code.program, i))
      continue;
    const auto found = disassembleAt(*code.program, operations[i].pc);
    if (!found)
      break;
    --count;
    json::Object object{{"pc", int64_t(operations[i].pc)},
                        {"instruction", json::fixUTF8(found->text)}};
    if (const auto place = places.placeOf(i)) {
      object["file"] = json::fixUTF8(places.files()[place->file]);
      object["line"] = int64_t(place->line);
    }
    all.push_back(std::move(object));
  }
  return all;
}

json::Array Inspection::source(StringRef file) {
  json::Array all;
  auto [found, fresh] = texts.try_emplace(file.str());
  if (fresh) {
    const std::string text = places.embeddedText(file);
    SmallVector<StringRef, 0> lines;
    if (!text.empty())
      StringRef(text).rtrim('\n').split(lines, '\n');
    for (StringRef line : lines)
      found->second.push_back(line.str());
  }
  for (const std::string &line : found->second)
    all.push_back(json::fixUTF8(line));
  if (all.empty())
    for (StringRef line : sources.lines(file))
      all.push_back(json::fixUTF8(line));
  return all;
}

std::string Inspection::lineText(StringRef file, unsigned line) {
  const json::Array all = source(file);
  return line >= 1 && line <= all.size() ? all[line - 1].getAsString()->trim().str() : "";
}

} // namespace rubia::emulator
