// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/speed/PreservedPasses.h"
#include "codegen/lib/speed/Wrap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Pass.h"
#include "llvm/PassInfo.h"
#include "llvm/PassRegistry.h"
#include <atomic>
#include <mutex>

using namespace llvm;

namespace rubia::codegen {
namespace {

std::atomic<unsigned> told = 0;
thread_local unsigned enumerates = 0;

/// The analyses that need the control flow alone. Other threads may register passes meanwhile.
class ControlFlowAnalyses : public PassRegistrationListener {
public:
  /// Never destroyed: passes may be registered until the process ends.
  static ControlFlowAnalyses &all() {
    static auto &analyses = *new ControlFlowAnalyses;
    return analyses;
  }

  void passRegistered(const PassInfo *pass) override { passEnumerate(pass); }

  void passEnumerate(const PassInfo *pass) override {
    if (!pass->isCFGOnlyPass())
      return;
    std::lock_guard lock(mutex);
    found.insert(pass->getTypeInfo());
  }

  void addTo(AnalysisUsage &usage) {
    std::lock_guard lock(mutex);
    for (const void *id : found)
      usage.addPreservedID(id);
  }

private:
  ControlFlowAnalyses() {
    PassRegistry::getPassRegistry()->addRegistrationListener(this);
    enumeratePasses();
  }

  std::mutex mutex;
  SetVector<const void *> found;
};

} // namespace

unsigned passesTold() { return told; }

PassesEnumerated::PassesEnumerated() { ++enumerates; }
PassesEnumerated::~PassesEnumerated() { --enumerates; }

} // namespace rubia::codegen

// AnalysisUsage::setPreservesCFG()
#define RUBIA_FUNCTION _ZN4llvm13AnalysisUsage15setPreservesCFGEv

extern "C" {

void RUBIA_REAL(RUBIA_FUNCTION)(AnalysisUsage *usage);

void RUBIA_WRAP(RUBIA_FUNCTION)(AnalysisUsage *usage) {
  using namespace rubia::codegen;
  if (enumerates)
    return RUBIA_REAL(RUBIA_FUNCTION)(usage);
  ++told;
  ControlFlowAnalyses::all().addTo(*usage);
}
}
