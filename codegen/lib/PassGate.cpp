// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/PassGate.h"

using namespace llvm;

namespace rubia::codegen {

PassGate::PassGate(LLVMContext &context, const Options &options)
    : context(context), previous(context.getOptPassGate()), options(options) {
  context.setOptPassGate(*this);
}

PassGate::~PassGate() { context.setOptPassGate(previous); }

bool PassGate::shouldRunPass(StringRef pass, StringRef on) const {
  ++count;
  if (options.onPass)
    options.onPass(count, pass, on);
  return !options.passLimit || count <= *options.passLimit;
}

} // namespace rubia::codegen
