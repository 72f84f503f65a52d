// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/FreshPass.h"
#include "llvm/Analysis/CallGraphSCCPass.h"
#include "llvm/PassInfo.h"
#include "llvm/PassRegistry.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llvm;

namespace rubia::codegen {
namespace {

class FreshEachModule : public CallGraphSCCPass {
public:
  static char ID;
  explicit FreshEachModule(const PassInfo &info) : CallGraphSCCPass(ID), info(info) {}

  StringRef getPassName() const override { return "Rubia Fresh Pass"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override { usage.setPreservesAll(); }

  bool doInitialization(CallGraph &graph) override {
    pass.reset(static_cast<CallGraphSCCPass *>(info.createPass()));
    // The pass owns its resolver.
    pass->setResolver(new AnalysisResolver(getResolver()->getPMDataManager()));
    return pass->doInitialization(graph);
  }
  bool runOnSCC(CallGraphSCC &component) override { return pass->runOnSCC(component); }
  bool doFinalization(CallGraph &graph) override {
    const bool isChanged = pass->doFinalization(graph);
    pass.reset();
    return isChanged;
  }

private:
  const PassInfo &info;
  std::unique_ptr<CallGraphSCCPass> pass;
};

char FreshEachModule::ID = 0;

} // namespace

Pass *makeFreshEachModule(Pass *pass) {
  const PassInfo *info = PassRegistry::getPassRegistry()->getPassInfo(pass->getPassID());
  if (!info || !info->getNormalCtor() || pass->getPassKind() != PT_CallGraphSCC)
    report_fatal_error("no new pass can be made like " + Twine(pass->getPassName()));
  delete pass;
  return new FreshEachModule(*info);
}

} // namespace rubia::codegen
