// SPDX-License-Identifier: Apache-2.0
// The fast handlers of memory instructions, and of moves between lanes, against those that go lane
// by lane, on each instruction set of this machine: addresses in all patterns, in bounds and
// beyond, all lanes and some.
#include "emulator/lib/vector/VectorMemory.h"
#include "emulator/lib/decode/Instructions.h"
#include "emulator/lib/machine/WaveFunctions.h"
#include "tests/emulator/MemoryWave.h"
#include "tests/emulator/VectorAluCase.h"
#include "llvm/ADT/StringRef.h"
#include <random>

namespace rubia::emulator::test {
namespace {

constexpr unsigned kRegisters = 40;

struct State {
  std::vector<uint32_t> registers;
  std::vector<uint8_t> global, lds, scratch;
  FaultRecord fault;

  explicit State(MemoryWave &w) : lds(w.lds), scratch(w.scratch), fault(w.fault()) {
    global.assign(w.global, w.global + w.kBytes);
    for (unsigned r = 0; r < kRegisters; ++r)
      for (unsigned lane = 0; lane < w.lanes(); ++lane)
        registers.push_back(w.v(r, lane));
  }
  void restore(MemoryWave &w) const {
    std::copy(global.begin(), global.end(), w.global);
    w.lds = lds, w.scratch = scratch; // in place: the sizes are the same
    for (unsigned r = 0, i = 0; r < kRegisters; ++r)
      for (unsigned lane = 0; lane < w.lanes(); ++lane)
        w.v(r, lane) = registers[i++];
    w.clearFault();
  }
};

class Comparison {
public:
  explicit Comparison(const TargetCase &target) : w(target), begin(w) {}

  void compare(llvm::StringRef name, Handler fast) {
    MicroOp op;
    op.handler = fast;
    op.slowPath = plain(name);
    ASSERT_TRUE(op.slowPath) << name.str();
    for (unsigned i = 0; i < 40; ++i) {
      begin.restore(w);
      place(name, op);
      const State before(w);
      fast(w.wave, op);
      const State quick(w);
      before.restore(w);
      op.slowPath(w.wave, op);
      const State slow(w);
      EXPECT_EQ(quick.fault.set, slow.fault.set) << name.str();
      EXPECT_EQ(quick.fault.address, slow.fault.address) << name.str();
      EXPECT_EQ(quick.fault.lane, slow.fault.lane) << name.str();
      if (slow.fault.set) // what other lanes did is open then
        continue;
      EXPECT_EQ(quick.registers, slow.registers) << name.str() << " " << i;
      EXPECT_EQ(quick.global, slow.global) << name.str() << " " << i;
      EXPECT_EQ(quick.lds, slow.lds) << name.str() << " " << i;
      EXPECT_EQ(quick.scratch, slow.scratch) << name.str() << " " << i;
      if (testing::Test::HasFailure())
        return;
    }
  }

  /// A move between lanes against its wave function.
  void compareMove(llvm::StringRef name, Handler fast) {
    const WaveFunction function = functionOf(name);
    ASSERT_TRUE(function) << name.str();
    constexpr uint32_t kOpSel = 4;
    const bool readsOne = name.starts_with("V_READ");
    for (unsigned i = 0; i < 60; ++i) {
      begin.restore(w);
      const uint64_t exec = random() & random();
      w.exec(any(4) ? exec : exec & ~uint64_t(0xffffffff)); // perhaps only the upper half
      VectorDetail detail;
      detail.modifiers[0] = any(2) ? kOpSel : 0;
      detail.modifiers[1] = any(2) ? kOpSel : 0;
      alignas(64) uint32_t constants[2][kBlockLanes];
      MicroOp op;
      op.function = function;
      op.detail = &detail;
      op.kind[0] = OperandKind::Vector;
      op.source[0] = vectorOffset(20);
      for (unsigned source = 1; source < 3; ++source) {
        std::fill_n(constants[source - 1], kBlockLanes, uint32_t(random()));
        w.s(10 + source) = uint32_t(random());
        op.kind[source] = any(2) ? OperandKind::Constant : OperandKind::Scalar;
        op.source[source] =
            op.kind[source] == OperandKind::Scalar ? 10 + source : uint64_t(constants[source - 1]);
      }
      op.result = readsOne ? 14 : vectorOffset(any(2) ? 20 : 28);
      const State before(w);
      fast(w.wave, op);
      const State quick(w);
      const uint32_t one = w.s(14);
      before.restore(w);
      callWaveFunction(w.wave, op);
      EXPECT_EQ(quick.registers, State(w).registers) << name.str() << " " << i;
      EXPECT_EQ(one, w.s(14)) << name.str() << " " << i;
      if (testing::Test::HasFailure())
        return;
    }
  }

private:
  static Handler plain(llvm::StringRef name) {
    auto find = [](std::initializer_list<MemoryTable> tables, llvm::StringRef key) -> Handler {
      for (const MemoryTable &table : tables)
        if (Handler handler = findMemory(table, key))
          return handler;
      return nullptr;
    };
    if (name.starts_with("DS_"))
      return find({kLocalMemory, kLocalAtomics, kLocalLanes}, name);
    const llvm::StringRef action = name.split('_').second;
    if (name.starts_with("GLOBAL_"))
      return find({kGlobalMemory, kGlobalAtomics}, action);
    return find({name.starts_with("FLAT_") ? kFlatMemory : kScratchMemory, kFlatAtomics}, action);
  }

  uint32_t any(uint32_t end) { return uint32_t(random()) % end; }

  /// The lanes of a half get offsets that follow one pattern.
  void addresses() {
    static constexpr uint32_t kSizes[] = {1, 2, 4, 8, 12, 16};
    const uint32_t size = kSizes[any(std::size(kSizes))];
    const uint32_t end = any(8) ? w.kBytes - 4096 : w.kBytes;
    uint32_t first = any(end) & ~(any(4) ? 15u : 0u);
    const unsigned pattern = any(5), flip = any(4) ? 0 : 16; // halves that change places
    for (unsigned lane = 0; lane < w.lanes(); ++lane) {
      if (lane % 16 == 0 && any(6) == 0)
        first = any(end) & ~(any(4) ? 15u : 0u);
      const unsigned within = lane % (any(2) ? 64 : 16);
      uint32_t at = first;
      if (pattern == 1 || pattern == 2)
        at += size * ((pattern == 1 ? lane : within) ^ flip);
      else if (pattern == 3)
        at += any(16) * size;
      else if (pattern == 4)
        at = any(end) & ~3u;
      w.v(4, lane) = at;
      w.setPair(2, lane, uint64_t(w.global) + at);
    }
    if (any(2)) // a lane out of the order
      w.v(4, any(w.lanes())) ^= 16;
  }

  void place(llvm::StringRef name, MicroOp &op) {
    addresses();
    static constexpr uint64_t kMasks[] = {~uint64_t(0), 0xffff, 0xffff0000ffff0000, 1, 0};
    w.exec(any(2) ? kMasks[any(std::size(kMasks))] : random());
    const bool isLocal = name.starts_with("DS_"), isScratch = name.starts_with("SCRATCH_");
    const bool byScalar = !isLocal && !isScratch && any(2);
    op.kind[0] = isScratch && any(4) ? OperandKind::None : OperandKind::Vector;
    op.source[0] = vectorOffset(isLocal || isScratch || byScalar ? 4 : 2);
    op.kind[1] = byScalar ? OperandKind::Scalar : OperandKind::None;
    op.source[1] = 4;
    op.source[2] = vectorOffset(20);
    op.source[3] = vectorOffset(24);
    op.result = vectorOffset(any(4) ? 28 : 4);
    op.data = any(2) ? kAtomicReturns : 0;
    op.registers = 2;
    op.immediate = name.contains("READ2") || name.contains("WRITE2")
                       ? int32_t(any(256) | any(256) << 16)
                   : name.contains("SWIZZLE") ? int32_t(any(0x10000))
                   : isScratch                ? int32_t(any(any(4) ? 60 : 130) * 4)
                                              : int32_t(any(64));
    if (byScalar && any(2)) { // offsets of 32 bits have no sign
      constexpr uint32_t kFar = 0xc0000000;
      w.wave.setPair(6, uint64_t(w.global) - kFar);
      op.source[1] = 6;
      for (unsigned lane = 0; lane < w.lanes(); ++lane)
        w.v(4, lane) += kFar;
    }
    if (isLocal && any(4) == 0) // bases below zero, which the offsets may or may not make good
      for (unsigned lane = 0, below = any(1024) & ~3u; lane < w.lanes(); ++lane)
        w.v(4, lane) = w.v(4, lane) % 4096 - below;
    if (isScratch && op.kind[0] == OperandKind::Vector)
      for (unsigned lane = 0; lane < w.lanes(); ++lane)
        w.v(4, lane) = any(200);
  }

  MemoryWave w;
  const State begin;
  std::mt19937_64 random{20261121};
};

std::vector<MemoryTable> tables() {
  std::vector<MemoryTable> all = {baseline::kVectorMemory, baseline::kVectorLanes};
#if defined(__x86_64__) && !defined(RUBIA_ONE_VECTOR_TABLE)
  if (hostIsa() >= HostIsa::Avx2)
    all.insert(all.end(), {avx2::kVectorMemory, avx2::kVectorLanes});
  if (hostIsa() >= HostIsa::Avx512)
    all.insert(all.end(), {avx512::kVectorMemory, avx512::kVectorLanes});
#endif
  return all;
}

TEST(VectorMemory, DoesWhatTheHandlersByLaneDo) {
  for (const TargetCase &target : casesOf({"gfx1100", "gfx942"})) {
    for (const MemoryTable &table : tables()) {
      Comparison comparison(target);
      for (size_t i = 0; i < table.count && !HasFailure(); ++i)
        if (llvm::StringRef(table.rows[i].name).starts_with("V_"))
          comparison.compareMove(table.rows[i].name, table.rows[i].handler);
        else
          comparison.compare(table.rows[i].name, table.rows[i].handler);
    }
  }
}

} // namespace
} // namespace rubia::emulator::test
