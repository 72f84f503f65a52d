// SPDX-License-Identifier: Apache-2.0
// A workgroup has the slot whose word of used bytes it has written last: it does so before it
// accesses the slot, and when it gives it back. It may access those of its cluster too, which have
// the same number but for the bits that the word counts.
#include "emulator/lib/check/CheckSlots.h"
#include "llvm/ADT/DenseMap.h"

using namespace llvm;

namespace rubia::emulator {
namespace {

class SlotCheck : public Observer {
public:
  explicit SlotCheck(std::vector<SharedSlots> slots) : all(std::move(slots)) {}

  bool followsComputation() const override { return false; }
  void before(RunningGroup &group, Wave &wave, const MicroOp &op, const InstructionStep &,
              const Accesses &accesses) override {
    for (const LaneAccess &access : accesses.lanes) {
      if (access.space != Space::Global)
        continue;
      for (const SharedSlots &slots : all)
        if (!check(group, wave, op, access, slots))
          return;
    }
  }

private:
  bool check(RunningGroup &group, Wave &wave, const MicroOp &op, const LaneAccess &access,
             const SharedSlots &slots) {
    if (std::optional<uint32_t> slot = slots.slotUsedAt(access.address)) {
      if (access.writes)
        taken[{slots.first, &group}] = *slot;
      return true;
    }
    std::optional<uint32_t> slot = slots.slotAt(access.address);
    if (!slot)
      return true;
    const uint64_t offset = access.address - (slots.first + *slot * slots.stride);
    const auto own = taken.find({slots.first, &group});
    const bool isOwn = own != taken.end() &&
                       own->second >> slots.runOf(own->second) == *slot >> slots.runOf(own->second);
    const uint32_t used = isOwn ? slots.usedOf(*slot) : 0;
    if (offset + access.bytes <= used)
      return true;
    raise(wave, op, FaultKind::LdsOutOfBounds, access.lane, access.address, access.bytes,
          access.writes);
    group.faultDetail = isOwn
                            ? "this is " + std::to_string(offset) +
                                  " bytes behind the start of the " + std::to_string(used) +
                                  " bytes of shared memory that the workgroup has in device memory"
                            : "this is shared memory of another workgroup, in device memory";
    return false;
  }

  const std::vector<SharedSlots> all;
  DenseMap<std::pair<uint64_t, const RunningGroup *>, uint32_t> taken; // by first slot
};

} // namespace

std::unique_ptr<Observer> makeSlotCheck(std::vector<SharedSlots> slots) {
  return std::make_unique<SlotCheck>(std::move(slots));
}

} // namespace rubia::emulator
