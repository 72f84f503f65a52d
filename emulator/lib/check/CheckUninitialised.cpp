// SPDX-License-Identifier: Apache-2.0
// Bits that nobody has written are followed through registers, LDS, private and device memory (as
// Valgrind's Memcheck does: Seward and Nethercote, 2005), since compilers move undefined values
// around freely. They are reported where they decide something: in an address, in EXEC, in a
// branch, or when they go to global memory: computed ones always, copied ones (structures have
// padding) if they are the lowest bit. The report is about the instruction that read them first.
//
// What becomes of undefined bits in an operation is found by trying: its own handler runs with
// these bits as zeros, as ones and as noise, and result bits that differ are undefined. So no
// instruction needs a rule of its own. Comparisons alone are taken to depend on an operand of which
// no bit is defined: noise may miss the value that makes them true. What was computed from what was
// only copied, a second trial tells, in which only computed bits differ.
#include "emulator/lib/check/CheckUninitialised.h"
#include "emulator/lib/check/Definedness.h"
#include "emulator/lib/check/ImageRegisters.h"
#include "emulator/lib/check/Results.h"
#include "emulator/lib/decode/Disassembly.h"
#include "emulator/lib/machine/InitialState.h"
#include "emulator/lib/machine/WaveFunctions.h"
#include "emulator/lib/run/FaultReport.h"

using namespace llvm;

namespace rubia::emulator {
namespace {

/// Where undefined bits were read first.
struct Origin {
  uint32_t pc = 0;
  unsigned wave = 0, lane = 0;
  bool memory = false; // else a register
  uint64_t address = 0;
  unsigned bytes = 0;
};

struct WaveState {
  explicit WaveState(const Wave &wave) : vectors(wave) {}
  VectorDefinedness vectors;
  Undefined scalars[kScalarCount], scc;
  MemoryDefinedness scratch;
};

struct GroupState {
  std::vector<WaveState> waves;
  MemoryDefinedness lds; // and shared memory in device memory
};

/// A register that an operation may read and that is not defined.
struct UndefinedInput {
  uint32_t *place;
  uint32_t bits, computed;
};

/// What an operation may read and write, saved to be tried.
struct Saved {
  Wave wave;
  FaultRecord fault;
  std::vector<uint32_t> vectors; // of all vector ranges of the step, block after block
};

class UninitialisedCheck : public Observer {
public:
  UninitialisedCheck(const Launch &launch, std::vector<SharedSlots> slots)
      : program(*launch.kernel->program), slots(std::move(slots)), origins(1) {}

  void groupStarted(RunningGroup &group) override;
  void groupEnded(RunningGroup &group) override {
    groups.erase(&group);
    last = {};
  }
  void before(RunningGroup &group, Wave &wave, const MicroOp &op, const InstructionStep &step,
              const Accesses &accesses) override;

private:
  struct Now {
    RunningGroup &group;
    GroupState &all;
    WaveState &state;
    Wave &wave;
    const MicroOp &op;
    const InstructionStep &step;
    ArrayRef<RegisterRange> registers;
  };
  enum class AtomicLogic : uint8_t { Other, And, Or, Exchange };
  AtomicLogic atomicLogicAt(const MicroOp &op);
  static Undefined combined(AtomicLogic logic, Undefined old, Undefined value, uint32_t operand);
  uint32_t originAt(const Now &now, unsigned lane, const LaneAccess *access);
  void report(const Now &now, Undefined value, unsigned lane, const char *use);
  bool checkScalar(const Now &now, unsigned index, unsigned count, const char *use);
  bool checkAddresses(const Now &now);
  void access(const Now &now, const Accesses &accesses);
  void store(const Now &now, const LaneAccess &access);
  void load(const Now &now, const LaneAccess &access);
  void loadScalar(const Now &now, const LaneAccess &access);
  bool checkImage(const Now &now, const ImageRegisters &image);
  void loadTexel(const Now &now, const ImageRegisters &image, const LaneAccess &access);
  void storeTexel(const Now &now, const ImageRegisters &image, const LaneAccess &access);
  uint32_t unwrittenBits(const Now &now, uint64_t address, unsigned bytes);
  /// Memory that others see.
  bool isGlobal(const LaneAccess &access) const {
    return access.space == Space::Global && none_of(slots, [&](const SharedSlots &of) {
             return of.slotAt(access.address).has_value();
           });
  }
  /// Host addresses in slots are none in LDS.
  MemoryDefinedness &memoryOf(const Now &now, const LaneAccess &access) {
    return access.space == Space::Scratch ? now.state.scratch : now.all.lds;
  }
  static uint64_t dwordOf(const LaneAccess &access, unsigned byte) {
    const uint64_t lane = access.space == Space::Scratch ? uint64_t(access.lane) << 48 : 0;
    return lane | (access.address + byte) / 4;
  }
  void compute(const Now &now);
  bool readsUndefined(const Now &now) const;
  bool readsWholeDword(const Now &now, unsigned lane) const;
  void defineResults(const Now &now);
  void tryOut(const Now &now);
  static SmallVector<UndefinedInput> undefinedInputs(const Now &now);
  static void patch(const Now &now, ArrayRef<UndefinedInput> inputs, unsigned variant,
                    bool onlyComputed);
  void restore(const Now &now, const Saved &saved);
  Undefined firstSource(const Now &now, int lane);
  void checkDecisions(const Now &now);

  const Program &program; // has lines
  const std::vector<SharedSlots> slots;
  std::vector<Origin> origins;
  DenseMap<uint32_t, AtomicLogic> atomicLogic;             // by pc; those that have been asked for
  DenseMap<std::pair<uint64_t, uint64_t>, uint32_t> known; // pc, wave and lane: origin
  DenseMap<const RunningGroup *, std::unique_ptr<GroupState>> groups;
  std::pair<const RunningGroup *, GroupState *> last; // a wave's turn has many operations
  /// Blocks of global memory of which every byte was written when the launch looked: what is
  /// written stays so while it runs.
  static constexpr unsigned kBlockBytes = 64;
  std::array<uint64_t, 1024> writtenBlocks = {};
};

/// What WaveStart left as it was holds a pattern of its own.
void UninitialisedCheck::groupStarted(RunningGroup &group) {
  auto state = std::make_unique<GroupState>();
  state->waves.reserve(group.waves.size());
  for (const Wave &wave : group.waves) {
    WaveState &fresh = state->waves.emplace_back(wave);
    for (unsigned i = 0; i < kScalarCount; ++i)
      if (wave.scalars[i] == kPoison)
        fresh.scalars[i].bits = ~0u;
    fresh.vectors.markUnwritten(wave, kPoison);
  }
  groups[&group] = std::move(state);
}

/// To be asked once undefined bits have been found.
uint32_t UninitialisedCheck::originAt(const Now &now, unsigned lane, const LaneAccess *access) {
  constexpr size_t kMax = 1 << 22; // later ones of the same instruction and lane share one
  uint32_t &origin = known[{now.op.pc, uint64_t(now.wave.indexInGroup) << 8 | lane}];
  if (origin == 0 ||
      (access && origins[origin].address != access->address && origins.size() < kMax)) {
    origin = uint32_t(origins.size());
    origins.push_back({now.op.pc, now.wave.indexInGroup, lane, access != nullptr,
                       access ? access->address : 0, access ? access->bytes : 0u});
  }
  return origin;
}

void UninitialisedCheck::report(const Now &now, Undefined value, unsigned lane, const char *use) {
  if (now.group.shared.fault.set)
    return;
  const Origin origin = origins[value.origin ? value.origin : originAt(now, lane, nullptr)];
  now.wave.halt(WaveStatus::Faulted);
  now.group.shared.fault = {true,      FaultKind::Uninitialised, origin.wave,  origin.lane,
                            origin.pc, origin.address,           origin.bytes, false};
  now.group.faultDetail = std::string(origin.memory ? "nobody has written these bytes"
                                                    : "nobody has written this register") +
                          "; used " + use + " at " + describePlace(program, now.op.pc);
}

bool UninitialisedCheck::checkScalar(const Now &now, unsigned index, unsigned count,
                                     const char *use) {
  for (unsigned i = index; i < index + count && i < kScalarCount; ++i)
    if (now.state.scalars[i].bits) {
      const uint64_t exec = now.wave.exec();
      report(now, now.state.scalars[i], exec ? unsigned(std::countr_zero(exec)) : 0, use);
      return false;
    }
  return true;
}

// Memory.

bool UninitialisedCheck::checkAddresses(const Now &now) {
  const MicroOp &op = now.op;
  const bool buffer = now.step.kind == StepKind::Vector && now.step.space == Space::Buffer;
  if (now.step.kind == StepKind::Scalar)
    return checkScalar(now, unsigned(op.source[0]), 2, "as an address") &&
           (op.kind[1] != OperandKind::Scalar ||
            checkScalar(now, unsigned(op.source[1]), 1, "as an address"));
  if (op.kind[1] == OperandKind::Scalar && now.wave.exec() != 0 &&
      !checkScalar(
          now, unsigned(op.source[1]),
          now.step.kind == StepKind::Vector && !buffer && now.step.space != Space::Scratch ? 2 : 1,
          "as an address"))
    return false;
  if (op.kind[0] != OperandKind::Vector || now.step.lds == LdsForm::Counter)
    return true;
  unsigned registers = 1;
  if (buffer)
    registers = (op.data & kBufferOffset ? 1 : 0) + (op.data & kBufferIndex ? 1 : 0);
  else if (now.step.kind == StepKind::Vector && now.step.space != Space::Scratch &&
           op.kind[1] != OperandKind::Scalar)
    registers = 2;
  for (unsigned i = 0; i < registers; ++i)
    for (uint64_t rest = now.wave.exec(); rest; rest &= rest - 1) {
      const unsigned lane = unsigned(std::countr_zero(rest));
      const Undefined value = now.state.vectors.at(uint32_t(op.source[0]) + i * kBlockLanes, lane);
      if (value.bits) {
        report(now, value, lane, "as an address");
        return false;
      }
    }
  return true;
}

/// The atomic operation of an instruction, by its mnemonic: ds_and_rtn_b32, flat_atomic_or,
/// ds_wrxchg_rtn_b32.
UninitialisedCheck::AtomicLogic UninitialisedCheck::atomicLogicAt(const MicroOp &op) {
  auto [entry, isNew] = atomicLogic.try_emplace(op.pc, AtomicLogic::Other);
  if (!isNew)
    return entry->second;
  std::optional<DisassembledInstruction> instruction = disassembleAt(program, op.pc);
  const std::string word =
      instruction ? StringRef(instruction->text).split(' ').first.str() + "_" : "";
  const StringRef name = word;
  if (name.contains("cmp"))
    return entry->second;
  if (name.contains("_and_"))
    entry->second = AtomicLogic::And;
  else if (name.contains("_or_"))
    entry->second = AtomicLogic::Or;
  else if (name.contains("swap") || name.contains("xchg"))
    entry->second = AtomicLogic::Exchange;
  return entry->second;
}

/// What an atomic operation leaves undefined: of `and` and `or` not the bits that its operand
/// decides, such as flags that are cleared one by one; of an exchange nothing of the old value. All
/// others keep what was undefined.
Undefined UninitialisedCheck::combined(AtomicLogic logic, Undefined old, Undefined value,
                                       uint32_t operand) {
  switch (logic) {
  case AtomicLogic::And:
    return (old & (operand | value.bits)) | value;
  case AtomicLogic::Or:
    return (old & (~operand | value.bits)) | value;
  case AtomicLogic::Exchange:
    return value;
  case AtomicLogic::Other:
    break;
  }
  return old | value;
}

void UninitialisedCheck::store(const Now &now, const LaneAccess &access) {
  const uint32_t first = uint32_t(now.op.source[2 + access.operand]);
  const unsigned shift = now.step.highHalf ? 16 : 0;
  for (unsigned byte = 0; byte < access.bytes; byte += 4) {
    Undefined value = now.state.vectors.at(first + byte / 4 * kBlockLanes, access.lane) >> shift;
    const unsigned bits = 8 * std::min(4u, access.bytes - byte);
    const uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
    if (isGlobal(access)) {
      // Padding, also of bit fields, does not begin a word, but for whole words of structures.
      const bool isUpperWord =
          byte % 8 == 4 && now.step.elementBytes == 8 && now.step.alignment >= 8;
      bool counts = (value.bits & 1 && !isUpperWord) || value.computed & mask;
      const uint32_t old = access.reads ? unwrittenBits(now, access.address + byte, bits / 8) : 0;
      if (old && !counts && atomicLogicAt(now.op) != AtomicLogic::Exchange) {
        value = {old, originAt(now, access.lane, &access), old};
        counts = true;
      }
      now.wave.group->memory->markWritten(access.address + byte, bits / 8);
      if (counts)
        return report(now, value, access.lane, "in a store to global memory");
      continue;
    }
    if (value.bits & mask && value.origin == 0)
      value.origin = originAt(now, access.lane, nullptr);
    MemoryDefinedness &memory = memoryOf(now, access);
    if (access.reads) {
      Undefined old = memory.load(dwordOf(access, byte));
      if (old.bits & mask && old.origin == 0)
        old.origin = originAt(now, access.lane, &access);
      if (old.bits & mask) {
        const uint32_t operand =
            now.wave.vgpr(first + byte / 4 * kBlockLanes, access.lane) >> shift;
        value = combined(atomicLogicAt(now.op), old, value, operand);
      }
    }
    const unsigned place = 8 * (access.address % 4);
    memory.store(dwordOf(access, byte), mask << place, value << place);
    if (place + bits > 32) // misaligned
      memory.store(dwordOf(access, byte) + 1, mask >> (32 - place), value >> (32 - place));
  }
}

/// Of up to 4 bytes of global memory.
uint32_t UninitialisedCheck::unwrittenBits(const Now &now, uint64_t address, unsigned bytes) {
  const Memory &memory = *now.wave.group->memory;
  const uint64_t block = address / kBlockBytes;
  uint64_t &known = writtenBlocks[block % writtenBlocks.size()];
  const bool isInBlock = (address + bytes - 1) / kBlockBytes == block;
  if (isInBlock && known == block)
    return 0;
  if (isInBlock && memory.unwritten(block * kBlockBytes, kBlockBytes) == 0) {
    known = block;
    return 0;
  }
  const uint64_t mask = memory.unwritten(address, bytes);
  uint32_t bits = 0;
  for (unsigned i = 0; i < bytes; ++i)
    bits |= mask >> i & 1 ? 0xffu << 8 * i : 0;
  return bits;
}

void UninitialisedCheck::loadScalar(const Now &now, const LaneAccess &access) {
  if (access.writes)
    return;
  for (unsigned byte = 0; byte < access.bytes; byte += 4) {
    const unsigned index = now.op.result + byte / 4;
    const unsigned count = std::min(4u, access.bytes - byte);
    uint32_t bits = unwrittenBits(now, access.address + byte, count);
    if (!bits || index >= kScalarCount)
      continue;
    if (now.step.signExtends && bits >> (8 * count - 1) & 1)
      bits |= uint32_t(~uint64_t(0) << 8 * count);
    const unsigned lane = now.wave.exec() ? unsigned(std::countr_zero(now.wave.exec())) : 0;
    now.state.scalars[index] = {bits, originAt(now, lane, &access)};
  }
}

void UninitialisedCheck::load(const Now &now, const LaneAccess &access) {
  uint32_t to = now.op.result + access.operand * (access.bytes / 4) * kBlockLanes;
  for (unsigned byte = 0; byte < access.bytes; byte += 4, to += kBlockLanes) {
    Undefined value;
    if (access.space == Space::Global && isOfCluster(slots, access.address)) {
      value = {}; // other workgroups write there too
    } else if (!isGlobal(access)) {
      const MemoryDefinedness &memory = memoryOf(now, access);
      const unsigned place = 8 * (access.address % 4);
      value = memory.load(dwordOf(access, byte)) >> place;
      if (place + 8 * std::min(4u, access.bytes - byte) > 32)
        value = value | memory.load(dwordOf(access, byte) + 1) << (32 - place);
    } else {
      value.bits = unwrittenBits(now, access.address + byte, std::min(4u, access.bytes - byte));
    }
    const unsigned bits = 8 * (access.bytes - byte);
    if (bits < 32)
      value = value & ((1u << bits) - 1);
    if (value.bits && value.origin == 0)
      value.origin = originAt(now, access.lane, &access);
    if (bits < 32) {
      auto extended = [&](uint32_t from) {
        return from >> (bits - 1) & 1 ? from | ~((1u << bits) - 1) : from;
      };
      if (now.step.signExtends)
        value = {extended(value.bits), value.origin, extended(value.computed)};
      const Undefined old = now.state.vectors.at(to, access.lane);
      if (now.step.highHalf)
        value = value << 16 | (old & 0xffff);
      else if (any_of(now.registers, [](const RegisterRange &range) {
                 return range.written && range.halves == 1;
               }))
        value = (value & 0xffff) | (old & 0xffff0000);
    }
    now.state.vectors.set(to, access.lane, value);
  }
}

/// Whether the addresses, the resource and the sampler are defined.
bool UninitialisedCheck::checkImage(const Now &now, const ImageRegisters &image) {
  if (!now.wave.exec())
    return true;
  for (auto [first, count] : image.scalars)
    if (!checkScalar(now, first, count, "as an image"))
      return false;
  for (uint32_t offset : image.addresses)
    for (uint64_t rest = now.wave.exec(); rest; rest &= rest - 1) {
      const unsigned lane = unsigned(std::countr_zero(rest));
      if (const Undefined value = now.state.vectors.at(offset, lane); value.bits) {
        report(now, value, lane, "as an address");
        return false;
      }
    }
  return true;
}

/// What becomes of a channel that nobody has written.
void UninitialisedCheck::loadTexel(const Now &now, const ImageRegisters &image,
                                   const LaneAccess &access) {
  for (const ImageRegisters::Part &part : image.data) {
    const bool isOther = now.op.handler == gatherImage && part.component != access.operand;
    if (part.channel == ImageRegisters::kNoChannel || isOther ||
        !unwrittenBits(now, access.address + part.channel * image.channelBytes, image.channelBytes))
      continue;
    const Undefined value = {part.place(part.mask), originAt(now, access.lane, &access)};
    now.state.vectors.set(part.offset, access.lane,
                          now.state.vectors.at(part.offset, access.lane) | value);
  }
}

/// Stores and atomic operations.
void UninitialisedCheck::storeTexel(const Now &now, const ImageRegisters &image,
                                    const LaneAccess &access) {
  const bool exchanges = access.reads && atomicLogicAt(now.op) == AtomicLogic::Exchange;
  uint32_t old = 0;
  for (unsigned byte = 0; access.reads && byte < access.bytes; byte += 4)
    old |= unwrittenBits(now, access.address + byte, 4);
  now.wave.group->memory->markWritten(access.address, access.bytes);
  for (const ImageRegisters::Part &part : image.data) {
    const Undefined value =
        (now.state.vectors.at(part.offset, access.lane) >> part.shift) & part.mask;
    if (value.bits && (access.reads || part.channel != ImageRegisters::kNoChannel))
      return report(now, value, access.lane, "in a store to global memory");
  }
  if (!old)
    return;
  const Undefined value = {old, originAt(now, access.lane, &access), old};
  if (!exchanges)
    return report(now, value, access.lane, "in a store to global memory");
  for (unsigned i = 0; i < image.returnedRegisters; ++i)
    now.state.vectors.set(now.op.result + i * kBlockLanes, access.lane, value);
}

void UninitialisedCheck::access(const Now &now, const Accesses &accesses) {
  if (now.step.image) {
    const ImageRegisters image(now.wave, now.op);
    if (!checkImage(now, image))
      return;
    if (!now.step.writes)
      defineResults(now);
    for (const LaneAccess &access : accesses.lanes) {
      if (now.group.shared.fault.set)
        return;
      now.step.writes ? storeTexel(now, image, access) : loadTexel(now, image, access);
    }
    return;
  }
  if (!checkAddresses(now))
    return;
  defineResults(now);
  if (now.step.kind == StepKind::Scalar) {
    for (const LaneAccess &access : accesses.lanes)
      loadScalar(now, access);
    return;
  }
  for (const LaneAccess &access : accesses.lanes) {
    if (now.group.shared.fault.set)
      return;
    if (access.space == Space::Global && access.writes && now.step.direct)
      now.wave.group->memory->markWritten(access.address, access.bytes);
    const bool outside =
        access.space == Space::Local && access.address + access.bytes > now.wave.ldsSize;
    if (outside)
      continue; // its handler reports it
    if (now.step.toLds) {
      if (access.space == Space::Local)
        for (unsigned byte = 0; byte < access.bytes; byte += 4)
          now.all.lds.store(dwordOf(access, byte), ~0u, {});
      continue;
    }
    const bool returns = access.reads && (!access.writes || now.op.data & kAtomicReturns);
    if (returns && !now.step.direct)
      load(now, access);
    if (access.writes && !now.step.direct)
      store(now, access);
  }
}

// Operations in registers.

/// Whether a result may depend on lanes that are off.
bool crossesLanes(const MicroOp &op) {
  return !op.detail || isWavewise(op) || op.detail->dpp != VectorDetail::Dpp::None;
}

/// Whether an operation leaves a part of its destination as it was.
bool writesPart(const MicroOp &op, const RegisterRange &range) {
  return range.halves != 3 || (op.detail && op.detail->resultWidth != 32);
}

bool UninitialisedCheck::readsUndefined(const Now &now) const {
  const uint64_t lanes = crossesLanes(now.op) ? ~uint64_t(0) : now.wave.exec();
  if (now.step.readsScc && now.state.scc.bits)
    return true;
  for (const RegisterRange &range : now.registers) {
    if (range.written && !writesPart(now.op, range))
      continue;
    for (unsigned i = range.first; i < unsigned(range.first) + range.count; ++i)
      if (range.vector
              ? now.state.vectors.contains(offsetOf(i)) && now.state.vectors.any(offsetOf(i), lanes)
              : !range.written && i < kScalarCount && now.state.scalars[i].bits)
        return true;
  }
  return false;
}

/// The other half of a register of which only one is written is what it was.
void UninitialisedCheck::defineResults(const Now &now) {
  for (const RegisterRange &range : now.registers)
    for (unsigned i = range.first; range.written && i < unsigned(range.first) + range.count; ++i)
      if (!range.vector && i < kScalarCount)
        now.state.scalars[i] = {};
      else if (range.vector && range.halves == 3 && now.state.vectors.contains(offsetOf(i)))
        now.state.vectors.define(offsetOf(i), now.wave);
  if (now.step.writesScc)
    now.state.scc = {};
}

/// All scalar registers that are not defined: operations read some that are not named, such as VCC.
SmallVector<UndefinedInput> UninitialisedCheck::undefinedInputs(const Now &now) {
  SmallVector<UndefinedInput> inputs;
  for (unsigned i = 0; i < kScalarCount; ++i)
    if (const Undefined value = now.state.scalars[i]; value.bits)
      inputs.push_back({&now.wave.scalars[i], value.bits, value.computed});
  for (const RegisterRange &range : now.registers)
    for (unsigned i = range.first; range.vector && i < unsigned(range.first) + range.count; ++i)
      if (const uint32_t offset = offsetOf(i); now.state.vectors.contains(offset))
        for (unsigned lane = 0; lane < now.wave.lanes(); ++lane)
          if (const Undefined value = now.state.vectors.at(offset, lane); value.bits)
            inputs.push_back({&now.wave.vgpr(offset, lane), value.bits, value.computed});
  return inputs;
}

/// The operation's undefined inputs, or only the computed ones, as zeros, ones, numbers of either
/// sign or noise.
void UninitialisedCheck::patch(const Now &now, ArrayRef<UndefinedInput> inputs, unsigned variant,
                               bool onlyComputed) {
  uint64_t noise = 0x9e3779b97f4a7c15 * variant;
  for (const UndefinedInput &input : inputs) {
    const uint32_t undefined = onlyComputed ? input.computed : input.bits;
    noise = noise * 6364136223846793005 + 1442695040888963407;
    constexpr uint32_t kFirst[] = {0, ~0u, 0x5b5b5b5b, 0xdbdbdbdb};
    const uint32_t with = variant < 4 ? kFirst[variant] : uint32_t(noise >> 32);
    *input.place = (*input.place & ~undefined) | (with & undefined);
  }
  if (onlyComputed ? now.state.scc.computed : now.state.scc.bits)
    now.wave.scc = variant % 2;
}

void UninitialisedCheck::restore(const Now &now, const Saved &saved) {
  now.wave = saved.wave;
  now.wave.group->fault = saved.fault;
  const uint32_t *from = saved.vectors.data();
  for (const RegisterRange &range : now.registers)
    for (unsigned block = 0; range.vector && block < now.wave.blocks; ++block) {
      std::copy_n(from, range.count * kBlockLanes, now.wave.block(block) + offsetOf(range.first));
      from += range.count * kBlockLanes;
    }
}

/// Undefined bits among the sources, of a lane if possible.
Undefined UninitialisedCheck::firstSource(const Now &now, int lane) {
  Undefined found;
  auto take = [&](Undefined value) {
    if (value.bits && (!found.bits || (!found.origin && value.origin)))
      found = value;
  };
  const uint64_t exec = now.wave.exec();
  if (lane >= int(now.wave.lanes())) // of a mask's upper half, in a wave32
    lane = -1;
  for (const RegisterRange &range : now.registers)
    for (unsigned i = range.first; i < unsigned(range.first) + range.count; ++i) {
      if (range.vector && now.state.vectors.contains(offsetOf(i))) {
        if (lane >= 0)
          take(now.state.vectors.at(offsetOf(i), unsigned(lane)));
        else
          for (uint64_t rest = exec; rest; rest &= rest - 1)
            take(now.state.vectors.at(offsetOf(i), unsigned(std::countr_zero(rest))));
      } else if (!range.vector && !range.written && i < kScalarCount) {
        take(now.state.scalars[i]);
      }
    }
  if (now.step.readsScc)
    take(now.state.scc);
  if (found.bits && !found.origin)
    found.origin = originAt(now,
                            lane >= 0   ? unsigned(lane)
                            : exec != 0 ? unsigned(std::countr_zero(exec))
                                        : 0,
                            nullptr);
  return found;
}

/// Whether no bit of a dword that is read is defined.
bool UninitialisedCheck::readsWholeDword(const Now &now, unsigned lane) const {
  return any_of(now.registers, [&](const RegisterRange &range) {
    if (range.written)
      return false;
    if (range.vector)
      return now.state.vectors.contains(offsetOf(range.first)) &&
             now.state.vectors.at(offsetOf(range.first), lane).bits == ~0u;
    return range.first < kScalarCount && now.state.scalars[range.first].bits == ~0u;
  });
}

void UninitialisedCheck::tryOut(const Now &now) {
  const Meaning meaning = meaningOf(now.step, now.op);
  Wave &wave = now.wave;
  Saved saved = {wave, now.wave.group->fault, {}};
  for (const RegisterRange &range : now.registers)
    for (unsigned block = 0; range.vector && block < wave.blocks; ++block) {
      const uint32_t *from = wave.block(block) + offsetOf(range.first);
      saved.vectors.insert(saved.vectors.end(), from, from + range.count * kBlockLanes);
    }
  // The results of the first variant, and in which bits others differ.
  struct Result {
    bool vector;
    unsigned index, lane; // lane: of vectors
    const uint32_t *place;
    uint32_t original, written = ~0u, first = 0, differs = 0, computed = 0;
    bool changed = false;
  };
  std::vector<Result> results;
  const VectorDetail *detail = now.op.detail;
  for (const RegisterRange &range : now.registers) {
    const uint32_t written =
        range.halves == 1   ? 0xffffu
        : range.halves == 2 ? 0xffff0000u
        : detail && detail->resultWidth < 32 && detail->resultUnused == VectorDetail::Unused::Keep
            ? ((1u << detail->resultWidth) - 1) << detail->resultShift
            : ~0u;
    for (unsigned i = range.first; range.written && i < unsigned(range.first) + range.count; ++i) {
      if (!range.vector && i < kScalarCount)
        results.push_back({false, i, 0, &wave.scalars[i], wave.scalars[i]});
      else if (range.vector && now.state.vectors.contains(offsetOf(i)))
        for (unsigned lane = 0; lane < wave.lanes(); ++lane)
          results.push_back({true, i, lane, &wave.vgpr(offsetOf(i), lane),
                             wave.vgpr(offsetOf(i), lane), written});
    }
  }
  bool scc = false, sccDiffers = false, sccComputed = false;
  const SmallVector<UndefinedInput> inputs = undefinedInputs(now);
  const bool hasComputed = now.state.scc.computed ||
                           any_of(inputs, [](const UndefinedInput &in) { return in.computed; });
  auto vary = [&](bool onlyComputed) {
    const unsigned variants = onlyComputed && !hasComputed ? 1 : 8; // all would be the same
    for (unsigned variant = 0; variant < variants; ++variant) {
      patch(now, inputs, variant, onlyComputed);
      wave.next = &now.op + 1;
      now.op.handler(wave, now.op);
      for (Result &result : results) {
        const uint32_t value = *result.place;
        if (variant == 0)
          result.first = value;
        (onlyComputed ? result.computed : result.differs) |= value ^ result.first;
        result.changed |= value != result.original;
      }
      if (variant == 0)
        scc = wave.scc;
      (onlyComputed ? sccComputed : sccDiffers) |= wave.scc != scc;
      restore(now, saved);
    }
  };
  vary(false);
  if (meaning == Meaning::Copies)
    vary(true);
  // Comparisons with what has no defined bit at all.
  const bool compares = now.op.detail ? now.op.detail->shape.result == Element::Mask
                                      : now.step.writesScc && results.empty();
  auto isUnknown = [&](int lane) { return compares && firstSource(now, lane).bits == ~0u; };
  // Of the lanes that a result, half a mask, is about; gfx9's V_CMPX_* write two masks.
  auto half = [&](const Result &result) { return unsigned(&result - results.data()) % 2; };
  if (compares && now.op.detail)
    for (Result &result : results)
      for (uint64_t rest = wave.exec(); !result.vector && rest; rest &= rest - 1)
        if (const unsigned lane = unsigned(std::countr_zero(rest));
            lane / 32 == half(result) && isUnknown(int(lane)))
          result.differs |= 1u << lane % 32;
  std::vector<Undefined> found;
  for (Result &result : results) {
    if (meaning != Meaning::Copies) {
      const bool isMask = !result.vector && detail;
      const Undefined old =
          result.vector ? now.state.vectors.at(offsetOf(result.index), result.lane) : Undefined();
      const uint32_t wide =
          isMask ? result.differs : widened(result.differs, meaning, now.step.ofHalves);
      result.differs |= wide & result.written;
      result.computed = (result.differs & result.written) | (old.computed & ~result.written);
    } else if (now.step.scales && readsWholeDword(now, result.vector ? result.lane : 0)) {
      result.computed = result.differs & result.written; // of parts of a word: a field's place
    }
    Undefined value = {result.differs, 0, result.computed & result.differs};
    const int lane = result.vector ? int(result.lane)
                     : compares && result.differs
                         ? int(std::countr_zero(result.differs) + 32 * half(result))
                         : -1;
    if (value.bits)
      value.origin = firstSource(now, lane).origin;
    if (value.bits && !value.origin)
      value.origin = firstSource(now, -1).origin;
    found.push_back(value);
  }
  Undefined sccSource = sccDiffers || isUnknown(-1) ? firstSource(now, -1) : Undefined();
  sccSource.computed = sccSource.bits && (sccComputed || meaning != Meaning::Copies) ? 1 : 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const Result &result = results[i];
    if (!result.vector)
      now.state.scalars[result.index] = found[i];
    else if (wave.exec() >> result.lane & 1 || result.changed)
      now.state.vectors.set(offsetOf(result.index), result.lane, found[i]);
  }
  if (now.step.writesScc)
    now.state.scc = sccSource;
}

void UninitialisedCheck::compute(const Now &now) {
  if (readsUndefined(now)) {
    tryOut(now);
  } else {
    defineResults(now);
    // Lanes that are off may be written too.
    if (isWavewise(now.op) || !now.op.detail)
      for (const RegisterRange &range : now.registers)
        for (unsigned i = range.first;
             range.vector && range.written && i < unsigned(range.first) + range.count &&
             now.step.kind == StepKind::Other;
             ++i)
          for (unsigned lane = 0; lane < now.wave.lanes(); ++lane)
            if (now.state.vectors.contains(offsetOf(i)))
              now.state.vectors.set(offsetOf(i), lane, {});
  }
  // EXEC decides what is done at all.
  for (unsigned i = 0; i < now.wave.blocks; ++i)
    if (Undefined &exec = now.state.scalars[kExec + i]; exec.bits)
      report(now, exec, 32 * i + unsigned(std::countr_zero(exec.bits)),
             "to choose the threads that go on");
}

void UninitialisedCheck::checkDecisions(const Now &now) {
  const uint64_t exec = now.wave.exec();
  const unsigned lane = exec ? unsigned(std::countr_zero(exec)) : 0;
  if (now.step.readsScc) {
    if (now.state.scc.bits)
      report(now, now.state.scc, lane, "in a branch");
    return;
  }
  for (const RegisterRange &range : now.registers) { // VCC
    if (range.vector || range.written || range.first != kVcc)
      continue;
    bool decided = false;
    for (unsigned i = 0; i < now.wave.blocks; ++i)
      decided |= (now.wave.scalars[kVcc + i] & ~now.state.scalars[kVcc + i].bits) != 0;
    if (!decided)
      checkScalar(now, kVcc, now.wave.blocks, "in a branch");
  }
}

void UninitialisedCheck::before(RunningGroup &group, Wave &wave, const MicroOp &op,
                                const InstructionStep &step, const Accesses &accesses) {
  if (step.kind == StepKind::Wait || step.kind == StepKind::Cache)
    return;
  if (last.first != &group)
    last = {&group, groups[&group].get()};
  GroupState &all = *last.second;
  SmallVector<RegisterRange, 4> ofHalf;
  if (step.dual)
    ofHalf = registersOfHalf(op);
  const Now now = {group,
                   all,
                   all.waves[wave.indexInGroup],
                   wave,
                   op,
                   step,
                   step.dual ? ArrayRef(ofHalf) : ArrayRef(step.registers)};
  if (step.reads || step.writes)
    return access(now, accesses);
  if (step.branch)
    return checkDecisions(now);
  if (step.barrier || step.ends || (step.registers.empty() && !step.writesScc))
    return;
  if (wave.special & op.special & kGprIndex || step.movesRelative) {
    // The destination is known only when it is executed.
    for (uint32_t offset = vectorOffset(0); now.state.vectors.contains(offset);
         offset += kBlockLanes)
      now.state.vectors.define(offset, wave);
    return;
  }
  compute(now);
}

} // namespace

std::unique_ptr<Observer> makeUninitialisedCheck(const Launch &launch,
                                                 std::vector<SharedSlots> slots) {
  return std::make_unique<UninitialisedCheck>(launch, std::move(slots));
}

} // namespace rubia::emulator
