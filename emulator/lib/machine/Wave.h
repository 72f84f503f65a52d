// SPDX-License-Identifier: Apache-2.0
// The state of a running wave and the decoded form of an instruction.
//
// Registers. A vector register is 32 consecutive dwords, one per lane of a block; a wave64 has two
// blocks, each with its own file, `blockStride` dwords apart. Scalars live in one array under the
// hardware's operand numbers (RDNA3 ISA "Scalar operands"), in gfx11's numbering for all
// generations: NULL reads as a constant and writes to a sink; FLAT_SCRATCH has a place of its own,
// since it is a pair of SGPRs on gfx9 and a hardware register on gfx10.
//
// Accumulation registers (gfx90a, gfx942, gfx950) are vector registers: AGPR n is register
// kFirstAccumulator + n, whatever ACCUM_OFFSET says, so that a function decodes the same for all
// kernels that call it. Hence every instruction that takes a VGPR takes an AGPR.
//
// No LLVM and no containers here: this header is compiled for two instruction sets.
#pragma once

#include "emulator/lib/machine/LaneTypes.h"

namespace rubia::emulator {

enum ScalarIndex : uint16_t {
  kVcc = 106,
  kTtmp = 108,
  kM0 = 125,
  kExec = 126,
  kSink = 128,        // takes writes to NULL, up to 16 registers
  kFlatScratch = 144, // a pair
  kScalarCount = 160,
};

/// The vector register that AGPR 0 is.
constexpr unsigned kFirstAccumulator = 256;

/// Register 0 of the file is the decoder's, for intermediate results; v0 follows it.
constexpr uint32_t kTemporaryRegister = 0;
constexpr uint32_t vectorOffset(unsigned vgpr) { return (vgpr + 1) * kBlockLanes; }

enum class OperandKind : uint8_t {
  None,
  Vector,   // value: dword offset of the register in a block's file
  Constant, // value: address of the broadcast constant (vector ops), or the constant (scalar ops)
  Scalar,   // value: ScalarIndex
  Scc,
  Vccz,
  Execz,
};

/// Bits that tell whether an instruction must look at MODE at all.
enum SpecialMode : uint8_t {
  kFlush32 = 1,
  kFlush16And64 = 2,
  kRound32 = 4,       // the rounding mode of f32 is not nearest even
  kRound16And64 = 8,  // the same for f16 and f64
  kGprIndex = 16,     // MODE.gpr_idx_en of gfx9: M0 is added to register numbers
  kFp16Overflow = 32, // MODE.fp16_ovfl: f16 results that overflow become 65504
  kSkipVector = 64,   // MODE.vskip of gfx9: vector instructions, which have this, are skipped
};

struct Workgroup;
using Handler = void (*)(Wave &, const MicroOp &);

/// The parts of a vector instruction that most do not have.
struct VectorDetail {
  Shape shape;
  struct Source {
    bool negate = false, negateHigh = false, absolute = false;
    bool selectHigh = false;        // 16 bits: the high half; packed: the low result's source
    bool selectHighForHigh = false; // packed: the high result's source
    bool half = false;              // kMixedSources: an f16
    bool signExtend = false;        // of the bits below, SDWA's sext
    uint8_t shift = 0, width = 32;  // SDWA or byte select: the bits that are the operand
    bool fix = false;               // any of the above says something
  } sources[3];
  uint32_t flags = 0; // SemanticsFlags
  bool clamp = false;
  uint8_t omod = 0;
  /// Where a narrow result goes in its register, and what becomes of the other bits.
  enum class Unused : uint8_t { Zero, Sign, Keep } resultUnused = Unused::Keep;
  uint8_t resultShift = 0, resultWidth = 32;
  bool writesExecToo = false;             // V_CMPX_* of gfx9 write a mask and EXEC
  Exactness perturbed = Exactness::Exact; // RUBIA_EMULATOR_TRANS=worst
  uint32_t signs = 0;
  uint32_t immediate = 0;
  /// DPP
  enum class Dpp : uint8_t { None, Dpp16, Dpp8 } dpp = Dpp::None;
  bool boundControl = false;
  bool fetchInactive = false;
  uint8_t rowMask = 0xf, bankMask = 0xf;
  uint16_t control = 0;   // DPP16
  uint32_t selectors = 0; // DPP8
  /// MODE.gpr_idx_en: how many registers the sources and, last, the result have, 0 where an operand
  /// is no vector register; the source that is the result's old value
  uint8_t registers[5] = {};
  static constexpr uint8_t kNone = 255;
  uint8_t tiedSource = kNone;
  /// wavewise
  uint32_t modifiers[4] = {};
  uint8_t sourceCount = 0;
  MatrixControl matrix;
};

struct MicroOp {
  Handler handler = nullptr;
  union {
    LaneKernel kernel = nullptr;
    WaveFunction function;
    Handler slowPath; // memory: what does all that `handler` does not
    void *callee;
  };
  uint64_t source[4] = {};
  const VectorDetail *detail = nullptr;
  uint32_t result = 0;         // vector: dword offset in a block's file; scalar: ScalarIndex
  uint32_t pc = 0;             // offset from the code object's first byte
  int32_t immediate = 0;       // address offset, branch displacement in ops, SOPP operand
  uint16_t maskSource = kVcc;  // ScalarIndex
  uint16_t maskResult = kSink; // ScalarIndex
  OperandKind kind[4] = {};
  uint8_t special = 0; // SpecialMode bits that matter to it
  uint8_t round = 0;   // 0: none of its business, 1: f32's rounding mode, 2: f16's and f64's
  uint8_t registers = 0;
  uint8_t data = 0; // of the handler's own use
};

/// The last allocations that a workgroup touched, so that most accesses need no look-up.
struct AccessWindow {
  uint64_t begin = 0, end = 0;
  uint64_t generation = ~uint64_t(0);
  bool ofHost = false; // MemoryKind::HostPinned, Managed; not coarse-grained
};

enum class WaveStatus : uint8_t { Ready, AtBarrier, Ended, Faulted, Yielded };

struct Wave {
  uint32_t scalars[kScalarCount] = {};
  const MicroOp *next = nullptr;
  uint32_t *vgprs = nullptr;
  uint32_t blockStride = 0; // dwords
  uint32_t vgprCount = 0;   // with the decoder's register
  uint8_t blocks = 1;
  bool scc = false;
  bool stop = false; // leave the instruction loop; status says why
  uint8_t special = 0;
  WaveStatus status = WaveStatus::Ready;
  LaneState lane; // holds the decoded MODE too
  uint32_t modeRegister = 0;
  uint32_t trapStatus = 0;
  uint8_t *lds = nullptr;
  uint32_t ldsSize = 0;
  uint8_t *scratch = nullptr; // swizzled: dword d of lane l at (d * lanes + l) * 4
  uint32_t scratchPerLane = 0;
  uint64_t barrierLanes = 0;     // EXEC at the last barrier, at first all lanes
  uint8_t waitsFor = 0;          // the barrier that status AtBarrier is about
  uint8_t joined = 0;            // the named barrier that the wave is a member of; 0: none
  uint32_t barrierPhase[2] = {}; // of the workgroup's and of the named barrier: what wait outlasts
  bool inWaveSync = false;       // waits in DS_GWS_BARRIER for its counter's phase to end
  uint32_t waveSyncPhase = 0;
  uint32_t indexInGroup = 0;
  uint64_t instructions = 0;
  bool chain = false; // see RUBIA_NEXT
  int64_t left = 0;   // operations before the wave has to give way, when `from` was come to
  const MicroOp *from =
      nullptr; // where the last branch led: all from there to `next` were executed
  Workgroup *group = nullptr;

  unsigned lanes() const { return blocks * kBlockLanes; }
  uint64_t exec() const { return mask(kExec); }
  uint64_t mask(unsigned index) const {
    return blocks == 1 ? scalars[index] : uint64_t(scalars[index + 1]) << 32 | scalars[index];
  }
  void setMask(unsigned index, uint64_t value) {
    scalars[index] = uint32_t(value);
    if (blocks == 2)
      scalars[index + 1] = uint32_t(value >> 32);
  }
  uint64_t pair(unsigned index) const {
    return uint64_t(scalars[index + 1]) << 32 | scalars[index];
  }
  void setPair(unsigned index, uint64_t value) {
    scalars[index] = uint32_t(value);
    scalars[index + 1] = uint32_t(value >> 32);
  }
  uint32_t *block(unsigned index) const { return vgprs + index * blockStride; }
  /// Register dword of a lane, `offset` being that of the register.
  uint32_t &vgpr(uint32_t offset, unsigned lane) const {
    return vgprs[(lane / kBlockLanes) * blockStride + offset + lane % kBlockLanes];
  }
  void halt(WaveStatus why) {
    status = why;
    stop = true;
  }
  /// What follows `op` is `target`.
  void branch(const MicroOp &op, const MicroOp *target) {
    left -= &op + 1 - from;
    from = next = target;
  }
  /// Sets the MODE register and everything derived from it.
  void setMode(uint32_t value);
};

/// Ends a handler that has neither stopped the wave nor branched: where the loop needs to see no
/// single instruction, the next one follows at once, without a return to the loop. 3.9 against 5.9
/// G lane operations/s.
#define RUBIA_NEXT(wave, op)                                                                       \
  if ((wave).chain) [[likely]] {                                                                   \
    (wave).next = &(op) + 2;                                                                       \
    [[clang::musttail]] return (&(op))[1].handler(wave, (&(op))[1]);                               \
  }                                                                                                \
  static_assert(true)

/// Ends a handler that branches to `target`. Operations are counted here only, not one by one.
#define RUBIA_GO(wave, op, target)                                                                 \
  const MicroOp *const goal = (target);                                                            \
  (wave).branch(op, goal);                                                                         \
  if ((wave).chain && (wave).left > 0) [[likely]] {                                                \
    (wave).next = goal + 1;                                                                        \
    [[clang::musttail]] return goal->handler(wave, *goal);                                         \
  }                                                                                                \
  static_assert(true)

enum class FaultKind : uint8_t {
  OutOfBounds,
  UseAfterFree,
  Misaligned,
  Trap,
  BarrierDivergence,
  Deadlock,
  IllegalInstruction,
  LdsOutOfBounds,
  ScratchOverflow,
  UnwaitedRegister,
  DataRace,
  Uninitialised,
  AtomicOnHostMemory,
  WarpHazard,
  InvalidMask,
  ImageResource, // FaultRecord::address is an ImageProblem
};

/// S_TRAP of code that has found an invalid membermask (lowering/lib/instructions/Warp.cpp).
constexpr int kMaskTrap = 77;

/// Records the wave's fault at `op` and stops it. The first fault of a wave stays.
void raise(Wave &wave, const MicroOp &op, FaultKind kind, unsigned lane = 0, uint64_t address = 0,
           uint32_t size = 0, bool isWrite = false);

/// Finds the live allocation around [address, address + size) and remembers it in the workgroup.
/// Returns null if there is none.
const AccessWindow *findWindow(Wave &wave, uint64_t address, uint32_t size);

/// A scalar operand of up to 64 bits.
inline uint64_t readScalar64(const Wave &wave, const MicroOp &op, unsigned i) {
  switch (op.kind[i]) {
  case OperandKind::Scalar:
    return wave.pair(unsigned(op.source[i]));
  case OperandKind::Constant:
    return op.source[i];
  case OperandKind::Scc:
    return wave.scc;
  case OperandKind::Vccz:
    return wave.mask(kVcc) == 0;
  case OperandKind::Execz:
    return wave.exec() == 0;
  case OperandKind::Vector:
  case OperandKind::None:
    break;
  }
  return 0;
}
inline uint32_t readScalar32(const Wave &wave, const MicroOp &op, unsigned i) {
  if (op.kind[i] == OperandKind::Scalar)
    return wave.scalars[op.source[i]];
  return uint32_t(readScalar64(wave, op, i));
}

} // namespace rubia::emulator
