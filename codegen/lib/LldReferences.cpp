// SPDX-License-Identifier: Apache-2.0
// lld's link-time optimiser refers to every target that LLVM was built with and, on Debian, to
// Polly. It never runs here: lld sees ELF objects only. So these references are answered with
// "nothing to initialise", which keeps 21 back ends out of each of our programs. The definitions
// are weak: a program that links another back end gets the real one.
#include "llvm/Plugins/PassPlugin.h"

// clang-format off
#define RUBIA_OTHER_TARGETS(X) \
  X(AArch64) X(ARM) X(AVR) X(BPF) X(Hexagon) X(Lanai) X(LoongArch) X(M68k) \
  X(Mips) X(MSP430) X(NVPTX) X(PowerPC) X(RISCV) X(Sparc) X(SPIRV) X(SystemZ) \
  X(VE) X(WebAssembly) X(X86) X(XCore) X(Xtensa)
// clang-format on

#define RUBIA_NOTHING_TO_INITIALIZE(Name)                                                          \
  extern "C" [[gnu::weak]] void LLVMInitialize##Name##TargetInfo() {}                              \
  extern "C" [[gnu::weak]] void LLVMInitialize##Name##Target() {}                                  \
  extern "C" [[gnu::weak]] void LLVMInitialize##Name##TargetMC() {}                                \
  extern "C" [[gnu::weak]] void LLVMInitialize##Name##AsmParser() {}                               \
  extern "C" [[gnu::weak]] void LLVMInitialize##Name##AsmPrinter() {}

RUBIA_OTHER_TARGETS(RUBIA_NOTHING_TO_INITIALIZE)

[[gnu::weak]] llvm::PassPluginLibraryInfo getPollyPluginInfo();

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  llvm::PassPluginLibraryInfo info{};
  info.APIVersion = LLVM_PLUGIN_API_VERSION;
  info.PluginName = "no Polly";
  info.PluginVersion = "0";
  info.RegisterPassBuilderCallbacks = [](llvm::PassBuilder &) {};
  return info;
}
