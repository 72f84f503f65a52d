// SPDX-License-Identifier: Apache-2.0
// The scheduler moves instructions one by one. Each gets a new number between those of its
// neighbours, and the number that it had is left behind. LLVM leaves room for two numbers. Behind
// that, each move renumbers what follows up to the next room, and after some regions there is none
// up to the function's end: the time grows with the square of a function's length. With more room
// the order is the same, which is all that the scheduler asks. Register allocation begins with
// numbers of its own.
#include "codegen/lib/WideIndexes.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/SlotIndexes.h"
#include <algorithm>

using namespace llvm;

namespace rubia::codegen {

namespace {

// LLVM has no public way to the list of all numbers. A template that is instantiated explicitly may
// name a private member (C++20 [temp.spec.general]/6).
simple_ilist<IndexListEntry> &listOf(SlotIndexes &indexes);
template <auto Member> struct PrivateMember {
  friend simple_ilist<IndexListEntry> &listOf(SlotIndexes &indexes) { return indexes.*Member; }
};
template struct PrivateMember<&SlotIndexes::indexList>;

class WideIndexes : public MachineFunctionPass {
public:
  static char ID;
  WideIndexes() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Wide Indexes"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.addRequired<SlotIndexesWrapperPass>();
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction &) override {
    constexpr uint64_t kMost = 1u << 30; // numbers have 32 bits, and some more entries will come
    constexpr uint64_t kRoom = 1024;     // instructions; of more nothing is gained
    auto &list = listOf(getAnalysis<SlotIndexesWrapperPass>().getSI());
    const uint64_t room =
        std::min(kMost / SlotIndex::InstrDist / std::max<uint64_t>(list.size(), 1), kRoom);
    if (room < 2)
      return false;
    uint64_t number = 0;
    for (IndexListEntry &entry : list) {
      entry.setIndex(unsigned(number));
      number += room * SlotIndex::InstrDist;
    }
    return false; // the instructions are as before
  }
};

char WideIndexes::ID = 0;

} // namespace

Pass *makeWideIndexes() { return new WideIndexes; }

} // namespace rubia::codegen
