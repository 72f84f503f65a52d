// SPDX-License-Identifier: Apache-2.0
// Modules as text. Deliberately apart from the printer that it judges.

#include "Dump.h"
#include "ptx-frontend/Printer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using llvm::ArrayRef;
using llvm::raw_ostream;

namespace rubia::ptx {

namespace {

class Dumper {
public:
  Dumper(const Module &module, raw_ostream &out) : module(module), out(out) {}

  void run() {
    out << module.versionMajor << '.' << module.versionMinor << " sm " << module.sm
        << int(module.smVariant) << module.texmodeIndependent << module.debug << module.mapF64ToF32
        << ' ' << module.addressSize << '\n';
    for (const SourceFile &file : module.files)
      out << "file " << file.number << ' ' << file.path << ' ' << file.modified.value_or(77) << ' '
          << file.size.value_or(77) << '\n';
    for (llvm::StringRef pragma : module.pragmas)
      out << "pragma " << pragma << '\n';
    for (const Section &section : module.sections)
      out << "section " << section.name << '{' << section.contents << "}\n";
    for (const Variable *v : module.variables)
      variable(v, /*named=*/true);
    for (const Function *fn : module.functions)
      function(*fn);
    for (const SourceLine &line : module.sourceLines)
      out << "loc " << line.file << ' ' << line.line << ' ' << line.column << ' ' << line.inlinedAt
          << ' ' << line.inlinedFunction << '+' << line.inlinedFunctionOffset << '\n';
  }

private:
  const Module &module;
  raw_ostream &out;
  const Function *current = nullptr;

  void name(const Variable *v) {
    if (!v->function) {
      out << v->name;
      return;
    }
    for (auto list : {current->results, current->parameters, current->locals}) {
      const auto *found = llvm::find(list, v);
      if (found != list.end())
        out << "local" << found - list.begin() << '/' << list.size();
    }
  }
  void variable(const Variable *v, bool named) {
    out << "  variable ";
    if (named)
      out << v->name;
    out << " space " << int(v->space) << " type " << int(v->type) << " x" << int(v->vectorWidth)
        << " linkage " << int(v->linkage) << v->managed << v->incomplete << v->isPointer
        << int(v->pointerSpace) << " align " << v->pointerAlignment << ' ' << v->alignment
        << " count " << v->elementCount << " size " << v->sizeInBytes << " reg " << v->reg
        << " bytes";
    for (uint8_t byte : v->initializer)
      out << ' ' << int(byte);
    for (const Relocation &r : v->relocations)
      out << " [" << r.offset << ' ' << int(r.width) << ' '
          << (r.variable ? r.variable->name : r.function->name) << ' ' << r.addend << ' '
          << r.generic << ' ' << r.mask << ']';
    for (const OpaqueField &f : v->fields)
      out << " [" << f.element << ' ' << f.name << '=' << f.word << f.value << ']';
    unified(v->unified);
    out << '\n';
  }
  void unified(const UnifiedId &id) {
    if (id.given)
      out << " unified " << id.first << ' ' << id.second;
  }
  void function(const Function &fn) {
    current = &fn;
    const KernelAttributes &a = fn.attributes;
    out << "function " << fn.name << ' ' << fn.isKernel << int(fn.linkage) << fn.hasBody << fn.valid
        << " attributes";
    for (const auto *triple : {&a.maxThreads, &a.requiredThreads, &a.requiredCluster})
      out << ' ' << (*triple)[0] << ' ' << (*triple)[1] << ' ' << (*triple)[2];
    out << ' ' << a.minBlocksPerMultiprocessor << ' ' << a.maxRegisters << ' ' << a.explicitCluster
        << a.blocksAreClusters << a.noReturn << ' ' << a.maxClusterRank << ' '
        << (fn.aliasOf ? fn.aliasOf->name : "") << ' ' << a.maxBlocksPerMultiprocessor << ' '
        << a.abiPreserve << ' ' << a.abiPreserveControl;
    unified(fn.unified);
    for (const Pragma &pragma : fn.pragmas)
      out << " pragma " << pragma.text << '@' << pragma.instruction;
    out << '\n';
    for (auto list : {fn.results, fn.parameters, fn.locals}) {
      out << " list\n";
      for (const Variable *v : list)
        variable(v, /*named=*/false);
    }
    for (const Register &reg : fn.registers)
      out << int(reg.type) << 'x' << int(reg.vectorWidth) << ' ';
    out << "\n labels";
    for (const Label &label : fn.labels)
      out << ' ' << label.instruction;
    for (const Prototype &p : fn.prototypes) {
      out << "\n prototype " << p.isTargetList << p.noReturn << ' ' << p.abiPreserve << ' '
          << p.abiPreserveControl << '\n';
      for (const Function *target : p.targets)
        out << target->name << ' ';
      for (auto list : {p.results, p.parameters})
        for (const Variable *v : list)
          variable(v, /*named=*/false);
    }
    out << '\n';
    for (const Instruction &i : fn.body) {
      out << "  " << i.spelling->text << " form " << i.spelling->form << " op " << int(i.op())
          << " guard " << i.guard.reg << i.guard.negated << " line " << i.sourceLine;
      operands(i.operands);
      out << '\n';
    }
  }
  void value(const Operand &o) {
    if (o.variable())
      name(o.variable());
    if (o.function())
      out << o.function()->name;
    for (LabelId label : o.labels())
      out << " L" << label;
    switch (o.kind) {
    case Operand::Kind::Integer:
    case Operand::Kind::Float:
      out << o.bits;
      break;
    case Operand::Kind::SpecialRegister:
      out << int(o.special);
      break;
    case Operand::Kind::Label:
      out << o.label;
      break;
    case Operand::Kind::Prototype:
      out << o.prototype;
      break;
    default: // said above
      break;
    }
  }
  void operands(ArrayRef<Operand> list) {
    for (const Operand &o : list) {
      out << " (" << int(o.kind) << ' ' << o.negated << o.isUnsigned << o.isSingle << ' '
          << int(o.component) << ' ' << int(o.selector) << ' ' << o.reg << ' ' << o.offset << ' ';
      value(o);
      operands(o.elements());
      out << ')';
    }
  }
};

} // namespace

std::string dump(const Module &module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  Dumper(module, out).run();
  return text;
}

std::string instructions(const Module &module) {
  std::string out;
  for (const Function *fn : module.functions) {
    if (!fn->hasBody)
      continue;
    if (!out.empty())
      out += "; ";
    out += (fn->isKernel ? "kernel " : "func ") + fn->name.str() + ":";
    for (const Instruction &instruction : fn->body)
      out += (&instruction == fn->body.begin() ? " " : " | ") + print(module, *fn, instruction);
  }
  return out;
}

std::string messages(const ParseResult &result) {
  std::string out;
  for (const Diagnostic &d : result.diagnostics)
    out += (out.empty() ? "" : "\n") + std::to_string(d.line) + ":" + std::to_string(d.column) +
           ": " + d.message;
  return out;
}

std::string inKernel(llvm::StringRef body) {
  return std::string(".version 8.0\n.target sm_80\n.address_size 64\n"
                     ".global .u32 gv; .shared .align 4 .u32 sv[4]; .const .u32 cv;\n"
                     ".func (.reg .u32 r) fn(.reg .u32 a) { mov.u32 r, a; ret; }\n"
                     ".func (.param .b32 r) fp(.param .b32 a, .param .align 8 .b8 s[16]);\n"
                     ".visible .entry k(.param .u64 p0) {\n"
                     ".reg .b32 %r<10>; .reg .u32 %u<5>; .reg .s32 %s<5>; .reg .f32 %f<10>; .reg "
                     ".b64 %rd<10>; "
                     ".reg .pred %p<5>; .reg .b16 %h<5>; .reg .f64 %fd<5>; .reg .b8 %c<4>;\n") +
         body.str() + "\n}\n";
}

} // namespace rubia::ptx
