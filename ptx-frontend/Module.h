// SPDX-License-Identifier: Apache-2.0
// A parsed PTX module: what the text says, with names resolved, and nothing more.
// Every node lives in the module's arena and is trivially destructible; StringRefs point into the
// text or the arena. Places are byte offsets into the text: line and column are computed only for a
// diagnostic (Diagnostics.h).
#pragma once

#include "ptx-frontend/Modifiers.h"
#include "ptx-frontend/Operation.h"
#include "ptx-frontend/Types.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rubia::ptx {

struct Variable;
struct Function;

using RegisterId = uint32_t; // index into Function::registers
using LabelId = uint32_t;    // index into Function::labels
inline constexpr uint32_t kNone = ~0u;

/// One virtual register; `.reg .b32 %r<4>` declares four. Scopes are resolved: each declaration has
/// its own ids. Function::registerName tells how it is written.
struct Register {
  Type type;
  uint8_t vectorWidth = 1; // 2 or 4 for `.reg .v4 .f32 %v`
};

/// A declaration of registers with consecutive ids.
struct RegisterRange {
  llvm::StringRef name; // "%r" of `%r<4>`, "x" of `.reg .b32 x`
  RegisterId first = 0; // id of %r0
  uint32_t count = 1;
  bool isNumbered = false; // `%r<4>`: the names are %r0 to %r3
};

enum class SpecialRegister : uint8_t; // SpecialRegisters.h

/// 24 bytes: a module has three for each instruction. What only some kinds have shares memory, so
/// it is read through functions that give nothing (null, empty) for all other kinds.
struct Operand {
  enum class Kind : uint8_t {
    Register, // reg, component (0..3 for .x .y .z .w), negated (`!%p`, `-%r`)
    Integer,  // bits: the value of a constant expression, two's complement in 64 bits; isUnsigned
    Float,    // bits: IEEE double bits (decimal, 0d), or single bits if isSingle (0f)
    SpecialRegister, // special, component
    Variable,        // variable(), offset: the address of a variable (mov, call argument)
    Function,        // function(): its address, or the callee of call
    Address,         // [reg|variable()|nothing + offset]
    AddressList,     // [a, {x, y}], [texture, sampler, {x, y}]: elements(), the first an Address
    Vector,          // {elements()}
    Label,           // label
    LabelList,       // label list of brx.idx: labels()
    Sink,            // _
    Pair,            // d|p: elements()[0], elements()[1]
    List,            // ( ... ): call arguments and results
    Prototype,       // name of a .callprototype or .calltargets: prototype
  };
  Kind kind{};
  bool negated : 1 = false;
  bool isUnsigned : 1 = false;
  bool isSingle : 1 = false;
  bool unified : 1 = false; // Address: `[a].unified`
  bool braced : 1 = false;  // {a}: a vector of one element, which matrix instructions insist on
  uint8_t component = 0xff; // 0..3; 0xff: none
  /// Register: the part of it that a video instruction takes, as `.b0`, `.h10`, `.b7610`: the
  /// number of digits (1 to 4), plus 8 for halves; the digits are in `offset`, four bits each, as
  /// written. 0xff: all of it. PTX ISA: video-instructions
  uint8_t selector = 0xff;
  uint32_t place = 0;     // byte offset in the text
  RegisterId reg = kNone; // Register; base of Address
  union {
    int32_t offset = 0; // Address, Variable. PTX ISA: addresses-as-operands (32 bits, signed)
    uint32_t count;     // of elements() or labels()
  };
  union {
    uint64_t bits = 0;
    ptx::SpecialRegister special;
    LabelId label;
    uint32_t prototype; // index into Function::prototypes
    const void *target; // what variable(), function(), elements() or labels() point to
  };

  const ptx::Variable *variable() const {
    return kind == Kind::Variable || kind == Kind::Address
               ? static_cast<const ptx::Variable *>(target)
               : nullptr;
  }
  const ptx::Function *function() const {
    return kind == Kind::Function ? static_cast<const ptx::Function *>(target) : nullptr;
  }
  llvm::ArrayRef<Operand> elements() const {
    bool has = kind == Kind::Vector || kind == Kind::Pair || kind == Kind::List ||
               kind == Kind::AddressList;
    return has ? llvm::ArrayRef(static_cast<const Operand *>(target), count)
               : llvm::ArrayRef<Operand>();
  }
  llvm::ArrayRef<LabelId> labels() const {
    return kind == Kind::LabelList ? llvm::ArrayRef(static_cast<const LabelId *>(target), count)
                                   : llvm::ArrayRef<LabelId>();
  }
};
static_assert(sizeof(Operand) == 24);

/// A dotted word that was met in the text, matched against the table once and shared by all its
/// instructions.
struct Spelling {
  llvm::StringRef text; // "add.rn.ftz.f32"
  Operation op;
  uint16_t form; // row of Instructions.def
  /// In textual order, without the opcode; then those that the module's version and target imply
  /// (.ftz on sm_1x).
  llvm::ArrayRef<Modifier> modifiers;

  bool has(Modifier mod) const;
  /// The n-th type modifier (0 = first as written): `cvt.f32.s32` has F32, S32. Type::None if there
  /// are fewer.
  Type type(unsigned n = 0) const;
  /// The type that the table gives operand n as written (0 = the destination, `d|p` counts as one;
  /// for a pair the type of its first): `setp.eq.s32 p|q, a, b` has Pred, S32, S32; `mul.wide.s32
  /// d, a, b` S64, S32, S32; vector operands: the element's type. Type::None for labels, lists,
  /// addresses and `mov` of anything.
  Type operandType(unsigned n) const;
  /// First modifier of a category, or Mod::None.
  Modifier first(ModCategory category) const;
  StateSpace space() const;     // of .global, .shared, .shared::cta, ...; None: generic
  unsigned vectorWidth() const; // 1, 2, 4, 8
};

/// `@p` / `@!p`.
struct Guard {
  RegisterId reg = kNone;
  bool negated = false;
};

/// PTX ISA: debugging-directives-loc.
struct SourceLine {
  uint32_t file = 0, line = 0, column = 0; // file: number given by .file
  uint32_t inlinedAt = kNone;              // index into Module::sourceLines
  llvm::StringRef inlinedFunction;         // function_name, where given: a label in a section
  uint32_t inlinedFunctionOffset = 0;      // behind that label
};

struct Instruction {
  const Spelling *spelling;
  Guard guard;
  llvm::ArrayRef<Operand> operands; // as written: destinations first
  uint32_t place = 0;
  uint32_t sourceLine = kNone; // index into Module::sourceLines

  Operation op() const { return spelling->op; }
};

struct Label {
  llvm::StringRef name;
  uint32_t instruction; // index of the instruction it precedes; = size of the body at its end
};

/// An element of an initialiser that is an address: written at `offset` of the variable, `width`
/// bytes.
struct Relocation {
  uint64_t offset;
  uint8_t width;                      // 8 or 4; 1 for mask() elements of a byte array
  const Variable *variable = nullptr; // one of the two
  const Function *function = nullptr;
  int64_t addend = 0;
  bool generic = false;  // generic(x): the generic address
  uint64_t mask = ~0ull; // PTX ISA: initializers, mask() operator
};

/// A field of a texture, sampler or surface reference: `addr_mode_0 = wrap`.
/// PTX ISA: texture-sampler-and-surface-types.
struct OpaqueField {
  uint64_t element; // of the array
  llvm::StringRef name, word;
  int64_t value; // where there is no word
};

/// .attribute(.unified(a, b)): identifies a function or variable across hosts and devices.
/// PTX ISA: variable-and-function-attribute-directive-attribute.
struct UnifiedId {
  uint64_t first = 0, second = 0;
  bool given = false;
};

enum class Linkage : uint8_t { Internal, Visible, Extern, Weak, Common };

struct Variable {
  llvm::StringRef name;
  StateSpace space;
  Type type;
  uint8_t vectorWidth = 1;
  Linkage linkage = Linkage::Internal;
  bool managed = false;    // .attribute(.managed)
  bool incomplete = false; // extern array of unknown size: dynamic shared memory
  bool isKernelParameter = false;
  bool isPointer = false; // .param .u64 .ptr
  StateSpace pointerSpace = StateSpace::None;
  uint32_t pointerAlignment = 0;
  uint32_t alignment = 0;    // bytes, at least the natural one
  uint64_t elementCount = 1; // product of all dimensions
  uint64_t sizeInBytes = 0;
  bool initialized = false;
  llvm::ArrayRef<uint8_t> initializer; // sizeInBytes long if initialized, else empty
  llvm::ArrayRef<Relocation> relocations;
  llvm::ArrayRef<OpaqueField> fields; // of .texref, .samplerref and .surfref
  UnifiedId unified;
  const Function *function = nullptr; // the function it is declared in; null: module scope
  RegisterId reg = kNone;             // a .reg parameter of a device function
  uint32_t place = 0;
};

/// PTX ISA: performance-tuning-directives, cluster-dimension-directives.
struct KernelAttributes {
  uint32_t maxThreads[3] = {0, 0, 0};      // .maxntid; 0: not given
  uint32_t requiredThreads[3] = {0, 0, 0}; // .reqntid
  uint32_t minBlocksPerMultiprocessor = 0; // .minnctapersm
  uint32_t maxBlocksPerMultiprocessor = 0; // .maxnctapersm
  uint32_t maxRegisters = 0;               // .maxnreg
  uint32_t requiredCluster[3] = {0, 0, 0}; // .reqnctapercluster
  bool explicitCluster = false;
  bool blocksAreClusters = false;
  uint32_t maxClusterRank = 0; // .maxclusterrank
  bool noReturn = false;       // .noreturn
  /// Registers that a call preserves: .abi_preserve, .abi_preserve_control; kNone: not given
  uint32_t abiPreserve = kNone, abiPreserveControl = kNone;
};

/// The signature of an indirect call. PTX ISA: kernel-and-function-directives-callprototype.
struct Prototype {
  llvm::StringRef name;
  llvm::ArrayRef<const Variable *> results, parameters;
  llvm::ArrayRef<const Function *> targets; // .calltargets: the possible callees
  bool isTargetList = false;
  bool noReturn = false;
  uint32_t abiPreserve = kNone, abiPreserveControl = kNone; // as in KernelAttributes
};

/// A hint to a compiler. PTX ISA: pragma-strings.
struct Pragma {
  llvm::StringRef text;
  uint32_t instruction; // that it stands before; kNone: before the body
};

struct Function {
  llvm::StringRef name;
  bool isKernel = false;
  Linkage linkage = Linkage::Internal;
  bool hasBody = false;
  /// False: an error was found inside; diagnostics name it. What the body was is then unknown: it
  /// has no instructions.
  bool valid = true;
  KernelAttributes attributes;
  const Function *aliasOf = nullptr;        // .alias: this name stands for that function
  llvm::ArrayRef<const Variable *> results; // .func only
  llvm::ArrayRef<const Variable *> parameters;
  llvm::ArrayRef<const Variable *> locals; // .local .shared .param ... declared in the body
  llvm::ArrayRef<Register> registers;
  llvm::ArrayRef<RegisterRange> registerRanges; // in the order of their ids; they cover all
  llvm::ArrayRef<Label> labels;
  llvm::ArrayRef<Prototype> prototypes;
  llvm::ArrayRef<Instruction> body;
  llvm::ArrayRef<Pragma> pragmas;
  UnifiedId unified;
  uint32_t place = 0;

  std::string registerName(RegisterId reg) const; // with its number: "%r3"
};

struct SourceFile {
  uint32_t number;
  llvm::StringRef path;
  std::optional<uint64_t> modified, size; // time stamp and bytes, where given
};

/// DWARF data. PTX ISA: debugging-directives-section.
struct Section {
  llvm::StringRef name;     // ".debug_str"
  llvm::StringRef contents; // what stands between its braces
};

struct Module {
  Module();
  Module(Module &&) noexcept;
  ~Module();

  std::string name; // for diagnostics: file name
  std::shared_ptr<const std::string> text;
  unsigned versionMajor = 0, versionMinor = 0; // .version
  unsigned sm = 0;                             // .target sm_NN
  char smVariant = 0;                          // 'a', 'f' or 0
  bool texmodeIndependent = false;
  bool debug = false; // .target debug
  /// .target map_f64_to_f32 (sm_1x): allows .f64, which is .f64, as on all newer GPUs
  bool mapF64ToF32 = false;
  unsigned addressSize = 64;
  std::vector<const Variable *> variables; // module scope, in order of declaration
  std::vector<const Function *>
      functions; // definitions and extern declarations, one per name, in order
  std::vector<SourceFile> files;
  std::vector<SourceLine> sourceLines;
  std::vector<Section> sections;
  std::vector<llvm::StringRef> pragmas; // outside of functions

  const Function *function(llvm::StringRef name) const; // null if there is none

  struct Storage; // arena, interned names, spellings
  std::unique_ptr<Storage> storage;
};

} // namespace rubia::ptx
