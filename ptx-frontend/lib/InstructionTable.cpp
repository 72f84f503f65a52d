// The rows of Instructions.def, parsed by the compiler.

#include "ptx-frontend/InstructionTable.h"
#include "ptx-frontend/lib/SyntaxString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using llvm::ArrayRef;
using llvm::StringRef;

namespace rubia::ptx {

static constexpr Version V(unsigned major, unsigned minor) {
  return {uint8_t(major), uint8_t(minor)};
}

static constexpr Form kForms[] = {
#define PTX_FORM(Op_, Syntax, Version_, Sm, Anchor)                                                \
  SyntaxString(Syntax).parse(Op::Op_, Version_, Sm, Anchor),
#include "ptx-frontend/Instructions.def"
};

ArrayRef<Form> instructionForms() { return kForms; }

unsigned Form::requiredOperands() const {
  unsigned count = 0;
  for (const OperandSlot &slot : operands())
    count += !slot.optional;
  return count;
}

// Opcodes of PTX ISA 9.0 that have no row yet: using one is legal PTX, so the message says
// "unsupported" and never suggests another word. PTX ISA: instructions.
static constexpr StringRef kOtherOpcodes[] = {
    "alloca",     "applypriority", "bmsk",       "clusterlaunchcontrol",
    "cp",         "createpolicy",  "discard",    "dp2a",
    "elect",      "fns",           "getctarank", "griddepcontrol",
    "istypep",    "ldmatrix",      "ldu",        "mapa",
    "match",      "mbarrier",      "mma",        "movmatrix",
    "multimem",   "pmevent",       "prefetchu",  "redux",
    "setmaxnreg", "stackrestore",  "stacksave",  "stmatrix",
    "suld",       "suq",           "sured",      "sust",
    "szext",      "tcgen05",       "tensormap",  "tex",
    "tld4",       "txq",           "vabsdiff",   "vabsdiff2",
    "vabsdiff4",  "vadd",          "vadd2",      "vadd4",
    "vavrg2",     "vavrg4",        "vmad",       "vmax",
    "vmax2",      "vmax4",         "vmin",       "vmin2",
    "vmin4",      "vset",          "vset2",      "vset4",
    "vshl",       "vshr",          "vsub",       "vsub2",
    "vsub4",      "wgmma",         "wmma",
};

bool isKnownOpcode(StringRef opcode) {
  static const llvm::StringSet<> opcodes = [] {
    llvm::StringSet<> set;
    for (const Form &form : kForms)
      set.insert(form.opcode);
    for (StringRef other : kOtherOpcodes)
      set.insert(other);
    return set;
  }();
  return opcodes.contains(opcode);
}

Mod modifierNamed(StringRef text) {
  static const llvm::StringMap<Mod> modifiers = [] {
    llvm::StringMap<Mod> map;
    for (unsigned i = 1; i < std::size(kModifierTexts); ++i)
      map.try_emplace(StringRef(kModifierTexts[i].data(), kModifierTexts[i].size()), Mod(i));
    return map;
  }();
  return modifiers.lookup(text);
}

} // namespace rubia::ptx
