// Keeps carries away from what LLVM's instruction selection gets wrong about them.
#ifndef RUBIA_CODEGEN_LIB_CARRYCHAINS_H
#define RUBIA_CODEGEN_LIB_CARRYCHAINS_H

namespace llvm {
class Module;
} // namespace llvm

namespace rubia::codegen {

/// Rewrites additions and subtractions whose carry the back end would get wrong (docs/errata.md).
/// It has to be the last thing before the back end: the optimiser would undo it.
void protectCarries(llvm::Module &module);

} // namespace rubia::codegen

#endif
