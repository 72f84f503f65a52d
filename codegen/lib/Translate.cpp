// SPDX-License-Identifier: Apache-2.0
// Around the middle end (Optimise.cpp): what a module has to be before, and the back end behind.
// The verifier runs before and after the middle end in every build, because distribution LLVM has
// no assertions and a broken module would become broken code.
#include "codegen/lib/Translate.h"
#include "codegen/lib/Diagnostics.h"
#include "codegen/lib/KeptByThread.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <map>
#include <mutex>
#include <tuple>

using namespace llvm;

namespace rubia::codegen {

namespace {

constexpr const char *kMetadataName = "rubia.metadata";
/// Who made the module has run the verifier on it.
constexpr const char *kVerifiedName = "rubia.verified";
constexpr const char *kVersionFlag = "amdhsa_code_object_version";

Error malformed(const Twine &message, StringRef function = {}) {
  return make_error<CodegenError>(Fault::Malformed, message.str(), function.str());
}

/// The default changes, since lld sets all options back to theirs.
void changeDefault(StringRef option, unsigned value) {
  auto found = cl::getRegisteredOptions().find(option);
  if (found != cl::getRegisteredOptions().end())
    static_cast<cl::opt<unsigned> *>(found->second)->setInitialValue(value);
}

void changeDefaults() {
  // To free a register, the allocator looks at the values that lie in each of those it might take.
  // It gives a register up that has more than so many. LLVM's ten make allocation quadratic where
  // all registers are full: a Fourier transform takes 1.6 times as long as with two, for the same
  // code.
  changeDefault("regalloc-eviction-max-interference-cutoff", 2);
  // The scheduler compares each memory access with so many others before it gives up, and takes
  // them in order. With LLVM's 1000 a large Fourier transform takes twice as long, and has more
  // values at once than registers.
  changeDefault("dag-maps-huge-region", 128);
}

void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser();
    LLVMInitializeAMDGPUAsmPrinter();
    changeDefaults();
  });
}

/// 16-bit values in halves of registers (gfx11 and later) cost LLVM 22.1 correctness: E22, E6 and
/// E7 of docs/errata.md. Without the feature a value has a register of its own.
constexpr StringRef kAlwaysOff = "-real-true16";

std::string featuresOf(StringRef given) {
  return given.empty() ? kAlwaysOff.str() : (given + "," + kAlwaysOff).str();
}

/// A function may carry its own processor and features; they replace those of the target machine,
/// so they must not contradict it.
Error reconcileAttributes(Function &function, const TargetId &target) {
  if (function.isDeclaration())
    return Error::success();
  StringRef processor = function.getFnAttribute("target-cpu").getValueAsString();
  if (!processor.empty() && processor != target.processor)
    return malformed("compiled for '" + target.processor +
                         "' but has the attribute \"target-cpu\"=\"" + processor + "\"",
                     function.getName());
  StringRef features = function.getFnAttribute("target-features").getValueAsString();
  if (!features.empty()) {
    std::string all =
        target.features.empty() ? features.str() : (features + "," + target.features).str();
    function.addFnAttr("target-features", featuresOf(all));
  }
  return Error::success();
}

/// The module's metadata text becomes a section through the assembler, byte for byte.
Error placeMetadata(Module &module) {
  const NamedMDNode *node = module.getNamedMetadata(kMetadataName);
  if (!node)
    return Error::success();
  const MDString *text = nullptr;
  if (node->getNumOperands() == 1 && node->getOperand(0)->getNumOperands() == 1)
    text = dyn_cast_or_null<MDString>(node->getOperand(0)->getOperand(0));
  if (!text)
    return malformed(Twine("!") + kMetadataName + " must be one node with one string");

  constexpr size_t kBytesPerLine = 256;
  std::string assembly;
  raw_string_ostream os(assembly);
  os << "\t.section .rubia.metadata,\"\",@progbits\n";
  for (StringRef rest = text->getString(); !rest.empty();
       rest = rest.drop_front(std::min(rest.size(), kBytesPerLine))) {
    os << "\t.ascii \"";
    for (unsigned char byte : rest.take_front(kBytesPerLine)) {
      if (isPrint(char(byte)) && byte != '"' && byte != '\\')
        os << char(byte);
      else
        os << '\\' << char('0' + (byte >> 6)) << char('0' + ((byte >> 3) & 7))
           << char('0' + (byte & 7));
    }
    os << "\"\n";
  }
  os << "\t.text\n";
  module.appendModuleInlineAsm(assembly);
  return Error::success();
}

CodeGenOptLevel backEndLevel(unsigned optLevel) {
  switch (optLevel) {
  case 0:
    return CodeGenOptLevel::None;
  case 1:
    return CodeGenOptLevel::Less;
  default:
    // Aggressive has GVN in the place of a second EarlyCSE: 1.03 of the time for the same number of
    // executed instructions (docs/performance.md).
    return CodeGenOptLevel::Default;
  }
}

} // namespace

Error verify(Module &module, const Twine &when) {
  std::string text;
  raw_string_ostream os(text);
  bool brokenDebugInfo = false;
  if (!verifyModule(module, &os, &brokenDebugInfo) && !brokenDebugInfo)
    return Error::success();
  // Ask again function by function, so that the error names one.
  StringRef culprit;
  for (const Function &function : module)
    if (culprit.empty() && verifyFunction(function))
      culprit = function.getName();
  return malformed("invalid LLVM IR " + when + ": " + StringRef(text).trim(), culprit);
}

Expected<TargetMachine *> targetMachine(const TargetId &target, unsigned optLevel) {
  thread_local KeptByThread<
      std::map<std::tuple<std::string, std::string, unsigned>, std::unique_ptr<TargetMachine>>>
      machines;
  std::unique_ptr<TargetMachine> &machine =
      (*machines)[{target.processor, target.features, optLevel}];
  if (machine)
    return machine.get();
  initializeTarget();
  Triple triple("amdgcn-amd-amdhsa");
  std::string error;
  const Target *description = TargetRegistry::lookupTarget(triple, error);
  if (!description)
    return make_error<CodegenError>(Fault::System, error);
  TargetOptions options;
  // PTX says what is fused (PTX ISA: floating-point-instructions-fma); nothing else may be.
  options.AllowFPOpFusion = FPOpFusion::Strict;
  options.MCOptions.AsmVerbose = true;
  machine.reset(description->createTargetMachine(triple, target.processor,
                                                 featuresOf(target.features), options, Reloc::PIC_,
                                                 std::nullopt, backEndLevel(optLevel)));
  if (!machine)
    return make_error<CodegenError>(Fault::System, "no target machine for " + target.processor);
  return machine.get();
}

Error prepare(Module &module, TargetMachine &machine, const TargetId &target,
              unsigned codeObjectVersion) {
  const Triple &triple = machine.getTargetTriple();
  if (module.getTargetTriple().empty())
    module.setTargetTriple(triple);
  if (module.getTargetTriple() != triple)
    return malformed("the module is for '" + module.getTargetTriple().str() + "', expected '" +
                     triple.str() + "'");
  DataLayout layout = machine.createDataLayout();
  if (module.getDataLayoutStr().empty())
    module.setDataLayout(layout);
  if (module.getDataLayout() != layout)
    return malformed("the module's data layout is '" + module.getDataLayoutStr() + "', expected '" +
                     layout.getStringRepresentation() + "'");
  if (NamedMDNode *mark = module.getNamedMetadata(kVerifiedName))
    mark->eraseFromParent();
  else if (Error error = verify(module, "from lowering"))
    return error;
  for (Function &function : module)
    if (Error error = reconcileAttributes(function, target))
      return error;

  // AMDGPUUsage "Generic Processors": their versions are in the ELF flags of code object version 6.
  if (target.isGeneric && codeObjectVersion == 5)
    codeObjectVersion = 6;
  if (codeObjectVersion < 4 || codeObjectVersion > 6)
    return make_error<CodegenError>(Fault::Unsupported, "code object version " +
                                                            std::to_string(codeObjectVersion) +
                                                            ", expected 4, 5 or 6");
  if (target.isGeneric && codeObjectVersion < 6)
    return make_error<CodegenError>(Fault::Unsupported, "target '" + target.processor +
                                                            "' needs code object version 6");
  module.setModuleFlag(Module::Error, kVersionFlag, codeObjectVersion * 100);
  return placeMetadata(module);
}

} // namespace rubia::codegen
