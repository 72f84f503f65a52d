// SPDX-License-Identifier: Apache-2.0
// AMD GPUs split misaligned accesses, atomics aside; CUDA wants every access aligned to its size.
// LLVM joins neighbouring accesses into wider ones, which are aligned as the first of them is. What
// the program had, AccessNotes tell of code that Rubia has made. Where they say nothing of an
// access of a dword, what is asked is that it lies at an even address, of wider ones at a multiple
// of 4: that leaves out joined dwords and pairs of joined halves, and would be wrong only of bytes,
// or more halves, that the program knows to lie side by side. Code without notes is not CUDA's: it
// may do what hardware does (HIP's device library reads texts by 8 bytes, wherever they start).
//
// The heap of a program's malloc() is one allocation; its blocks, those in use and those that were
// freed, are in a table that the program's own malloc() keeps (Memory::DeviceHeap).
#include "emulator/lib/check/CheckMemory.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace rubia::emulator {
namespace {

class MemoryCheck : public Observer {
public:
  explicit MemoryCheck(const Program &program) : program(program) {}
  bool followsComputation() const override { return false; }

  void before(RunningGroup &group, Wave &wave, const MicroOp &op, const InstructionStep &step,
              const Accesses &accesses) override {
    for (const LaneAccess &access : accesses.lanes) {
      const uint64_t address =
          step.kind == StepKind::Scalar ? locateScalar(wave, op, step, true) : access.address;
      if (const unsigned alignment = alignmentOf(step, access); address % alignment != 0) {
        raise(wave, op, FaultKind::Misaligned, access.lane, address, access.bytes, access.writes);
        group.faultDetail = "not aligned to " + std::to_string(alignment) +
                            " bytes, which hardware allows and CUDA does not";
        return;
      }
      if (access.writes && access.space == Space::Global && isCode(access.address)) {
        raise(wave, op, FaultKind::OutOfBounds, access.lane, access.address, access.bytes, true);
        group.faultDetail = "this is code";
        return;
      }
      if (access.space == Space::Global && !checkHeap(group, wave, op, access))
        return;
    }
  }

private:
  struct HeapBlock {
    uint64_t begin = 0, size = 0;
    bool isFreed = false;
  };
  /// The block at or before `address`.
  static std::optional<HeapBlock> blockBefore(const Memory::DeviceHeap &heap, uint64_t address) {
    for (uint64_t unit = (address - heap.begin) / Memory::kDeviceHeapUnit + 1; unit-- > 0;)
      if (const uint32_t entry = __atomic_load_n(&heap.blocks[unit], __ATOMIC_RELAXED))
        return HeapBlock{heap.begin + unit * Memory::kDeviceHeapUnit,
                         entry & ~Memory::kDeviceHeapFreed,
                         (entry & Memory::kDeviceHeapFreed) != 0};
    return std::nullopt;
  }
  /// Whether the access, if it is in a heap, lies in a block that is in use; else reports it.
  bool checkHeap(RunningGroup &group, Wave &wave, const MicroOp &op, const LaneAccess &access) {
    const std::optional<Memory::DeviceHeap> heap = wave.group->memory->deviceHeapAt(access.address);
    if (!heap)
      return true;
    const std::optional<HeapBlock> block = blockBefore(*heap, access.address);
    const uint64_t end = access.address + access.bytes;
    const bool isInside = block && access.address < block->begin + block->size;
    if (isInside && !block->isFreed && end <= block->begin + block->size)
      return true;
    raise(wave, op, isInside && block->isFreed ? FaultKind::UseAfterFree : FaultKind::OutOfBounds,
          access.lane, access.address, access.bytes, access.writes);
    const std::string what = block ? std::string(block->isFreed ? "freed " : "") +
                                         "block of malloc() of " + std::to_string(block->size) +
                                         " bytes at 0x" + utohexstr(block->begin, true)
                                   : "";
    group.faultDetail =
        !block     ? "no block of the device's heap lies there"
        : isInside ? (block->isFreed ? "in a " + what : "the access ends beyond the " + what)
                   : std::to_string(access.address - block->begin - block->size) +
                         " bytes behind the " + what;
    return false;
  }
  /// The notes are about the first of two joined accesses. Unless there are any, scalar loads
  /// are not checked: they ignore the lowest bits.
  unsigned alignmentOf(const InstructionStep &step, const LaneAccess &access) const {
    if (step.alignment != 0 && access.operand == 0)
      return step.alignment;
    if (step.kind == StepKind::Scalar || !program.accessNotes)
      return 1;
    return access.bytes > 4 ? 4 : access.bytes == 4 ? 2 : 1;
  }
  bool isCode(uint64_t address) const {
    if (address - program.map.base >= program.map.size)
      return false;
    return any_of(program.ranges, [&](const CodeRange &range) {
      return address >= range.begin && address < range.end;
    });
  }

  const Program &program;
};

} // namespace

std::unique_ptr<Observer> makeMemoryCheck(const Program &program) {
  return std::make_unique<MemoryCheck>(program);
}

} // namespace rubia::emulator
