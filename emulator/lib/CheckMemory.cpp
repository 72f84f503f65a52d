// AMD GPUs split misaligned accesses, atomics aside; CUDA wants every access aligned to its size.
// LLVM joins neighbouring accesses into wider ones, which are aligned as the first of them is. So
// what is asked of an access of a dword is that it lies at an even address, of wider ones at a
// multiple of 4: that leaves out joined dwords and pairs of joined halves, and would be wrong only
// of bytes, or more halves, that the program knows to lie side by side.
#include "emulator/lib/CheckMemory.h"

using namespace llvm;

namespace rubia::emulator {
namespace {

class MemoryCheck : public Observer {
public:
  explicit MemoryCheck(const Program &program) : program(program) {}

  void before(RunningGroup &group, Wave &wave, const MicroOp &op, const InstructionStep &step,
              const Accesses &accesses) override {
    if (step.kind == StepKind::Scalar)
      return; // the two lowest bits are ignored
    for (const LaneAccess &access : accesses.lanes) {
      const unsigned alignment = access.bytes > 4 ? 4 : access.bytes == 4 ? 2 : 1;
      if (access.address % alignment != 0) {
        raise(wave, op, FaultKind::Misaligned, access.lane, access.address, access.bytes,
              access.writes);
        group.faultDetail = "not aligned, which hardware allows and CUDA does not";
        return;
      }
      if (access.writes && access.space == Space::Global && isCode(access.address)) {
        raise(wave, op, FaultKind::OutOfBounds, access.lane, access.address, access.bytes, true);
        group.faultDetail = "this is code";
        return;
      }
    }
  }

private:
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
