// SPDX-License-Identifier: Apache-2.0
// clusterlaunchcontrol: a CTA asks to do the work of a cluster that has not begun yet.
// PTX ISA: parallel-synchronization-and-communication-instructions-clusterlaunchcontrol.
//
// Nothing takes a workgroup back that has been dispatched. So each request fails, as it may on
// NVIDIA's GPUs at any time, and all CTAs of the grid run themselves. The 16 bytes of the response
// are opaque in PTX. Here they are four words: x, y, z of the first CTA, and whether there is one.
#include "lowering/lib/asynchronous/BulkCopies.h"
#include "lowering/lib/frame/AsyncNotes.h"
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/RuntimeErrors.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "ptx-frontend/SpecialRegisters.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier GetFirstCtaidX, GetFirstCtaidY, GetFirstCtaidZ, IsCanceled,
    MulticastClusterAll;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

constexpr unsigned kResponseBytes = 16, kAnswerWords = 4, kFoundAt = 3;

// clusterlaunchcontrol.try_cancel.async{.shared::cta}.mbarrier::complete_tx::bytes
//   {.multicast::cluster::all}.b128 [a], [mbar]
Expected<Value *> lowerClusterTryCancel(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  const ptx::StateSpace space = inst.spelling->space(); // none: generic
  Value *response = fn.pointer(inst.operands[0], space);
  Value *mbarrier = fn.pointer(inst.operands[1], space);
  if (!response || !mbarrier)
    return nullptr;
  failIfMisaligned(fn, inst, response, kResponseBytes);
  auto *type = FixedVectorType::get(b.getInt32Ty(), kAnswerWords);
  auto answer = [&](Value *shift) {
    markAsyncStore(b.CreateAlignedStore(Constant::getNullValue(type), shifted(fn, response, shift),
                                        Align(kResponseBytes)));
    completeBytes(fn, inst, shifted(fn, mbarrier, shift), b.getInt32(kResponseBytes));
  };
  if (!inst.spelling->has(ptx::Mod::MulticastClusterAll) || !fn.unit().isForClusters()) {
    answer(nullptr);
    return nullptr;
  }
  Value *ctas = fn.specialRegister(ptx::SpecialRegister::ClusterNCtaRank, 0xff);
  Value *all = b.CreateShl(b.getInt32(1), b.CreateAnd(ctas, 31));
  forEachCta(fn, b.CreateSub(all, b.getInt32(1)), answer);
  return nullptr;
}

// clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, a
// clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 d, a   The fourth element is any.
// clusterlaunchcontrol.query_cancel.get_first_ctaid::(x|y|z).b32.b128 d, a
Expected<Value *> lowerClusterQueryCancel(FunctionLowering &fn, const ptx::Instruction &inst) {
  IRBuilder<> &b = fn.builder();
  const ptx::Spelling &spelling = *inst.spelling;
  Value *response = fn.source(0, ptx::Type::B128);
  auto word = [&](unsigned n) {
    return b.CreateTrunc(b.CreateLShr(response, n * 32), b.getInt32Ty());
  };
  if (spelling.has(ptx::Mod::IsCanceled))
    return b.CreateTrunc(word(kFoundAt), b.getInt1Ty());
  const ptx::Modifier kAxes[] = {ptx::Mod::GetFirstCtaidX, ptx::Mod::GetFirstCtaidY,
                                 ptx::Mod::GetFirstCtaidZ};
  for (auto [axis, mod] : enumerate(kAxes))
    if (spelling.has(mod))
      return word(unsigned(axis));
  auto destinations = fn.elementsOf(inst.operands[0], kAnswerWords);
  if (destinations.size() != kAnswerWords)
    return fn.malformed(inst, "four destinations are needed");
  for (auto [n, destination] : enumerate(destinations))
    fn.write(destination, word(unsigned(n)), ptx::Type::B32);
  return nullptr;
}

} // namespace rubia::lowering
