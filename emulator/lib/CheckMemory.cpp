// AMD GPUs split misaligned accesses, atomics aside; CUDA wants every access aligned to its size.
// LLVM joins accesses to neighbouring dwords into one that is aligned as the first of them is, and
// pairs of bytes too, so that what can be asked of an access of a dword or more is the alignment of
// a dword, and nothing of smaller ones.
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
      if (access.bytes >= 4 && access.address % 4 != 0) {
        raise(wave, op, FaultKind::Misaligned, access.lane, access.address, access.bytes,
              access.writes);
        group.faultDetail = "not a multiple of 4, which hardware allows and CUDA does not";
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
