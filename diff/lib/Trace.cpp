// SPDX-License-Identifier: Apache-2.0
// `@p add.s32 %r3, %r1, %r2;` becomes a block with registers of its own:
//
//   mov.pred %rubia_g, p;
//   @p add.s32 %r3, %r1, %r2;
//   if it is the thread that is asked for: an entry is appended, with %rubia_g
//
// A function finds out once which thread it is. Others jump over what appends.
//
// In front of what accesses memory an entry has the address, so that a launch that fails there
// tells. Behind a store the same thread loads from there, which shows what the store left.
#include "diff/Trace.h"
#include "diff/lib/Bounds.h"
#include "diff/lib/Inexact.h"
#include "diff/lib/TextOfPtx.h"
#include "diff/lib/TextureSites.h"
#include "ptx-frontend/InstructionTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using rubia::ptx::Operand;
using rubia::ptx::Operation;
using rubia::ptx::StateSpace;
using rubia::ptx::Type;

namespace rubia::ptx::Op {
extern const Operation Atom, Bra, BrxIdx, Call, Cvta, Exit, Ld, Ldmatrix, MbarrierArrive,
    MbarrierWait, Mov, Red, Ret, St, WmmaLoad;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier Mmio, Relaxed, Release, Volatile;
} // namespace rubia::ptx::Mod

namespace Op = rubia::ptx::Op;

namespace rubia::capsule {
namespace {

void forEachRegister(const Operand &operand, function_ref<void(const Operand &)> visit) {
  if (operand.kind == Operand::Kind::Register ||
      (operand.kind == Operand::Kind::Address && operand.reg != ptx::kNone))
    visit(operand);
  for (const Operand &element : operand.elements())
    forEachRegister(element, visit);
}

/// Registers that the instruction writes, as far as they can be written down.
std::vector<const Operand *> resultsOf(const ptx::Function &function,
                                       const ptx::Instruction &instruction) {
  std::vector<const Operand *> results;
  const ptx::Form &form = ptx::instructionForms()[instruction.spelling->form];
  // The state of an mbarrier is each processor's own.
  const Operation kOpaque[] = {Op::Call, Op::MbarrierArrive};
  if (!form.operandCount || !form.operandSlots[0].destination || instruction.operands.empty() ||
      is_contained(kOpaque, instruction.op()))
    return results;
  forEachRegister(instruction.operands[0], [&](const Operand &operand) {
    if (operand.kind != Operand::Kind::Register)
      return;
    const ptx::Register &reg = function.registers[operand.reg];
    if (operand.component == 0xff && reg.vectorWidth == 1 && ptx::sizeInBits(reg.type) <= 64)
      results.push_back(&operand);
  });
  return results;
}

bool readsOwn(const ptx::Instruction &instruction) {
  return any_of(instruction.operands, [](const Operand &operand) {
    return operand.kind == Operand::Kind::SpecialRegister && isOwn(operand.special);
  });
}

/// What all sites of an instruction have.
TraceSite siteOf(const PtxEditor &editor, const ptx::Function &function,
                 const ptx::Instruction &instruction, TraceSite::Kind kind, size_t firstSource) {
  TraceSite site;
  site.kind = kind;
  site.place = {editor.lineOf(instruction), editor.statement(instruction).str(),
                sourceOf(editor.module(), instruction)};
  site.function = function.name.str();
  site.space = instruction.spelling->space();
  site.isAtomic = is_contained({Op::Atom, Op::Red}, instruction.op());
  for (const Operand &operand : instruction.operands.drop_front(firstSource))
    forEachRegister(operand, [&](const Operand &source) {
      std::string name = function.registerName(source.reg);
      if (!is_contained(site.sources, name))
        site.sources.push_back(std::move(name));
    });
  return site;
}

TraceSite resultSite(const PtxEditor &editor, const ptx::Function &function,
                     const ptx::Instruction &instruction, const Operand &result) {
  const ptx::Spelling &spelling = *instruction.spelling;
  const Operation op = instruction.op();
  TraceSite site = siteOf(editor, function, instruction, TraceSite::Kind::Result, 1);
  site.result = function.registerName(result.reg);
  site.type = function.registers[result.reg].type;
  site.isOpen = isInexact(instruction) || isOfOrder(spelling) || mayFilter(spelling) ||
                readsOwn(instruction) || op == Op::MbarrierWait; // how often it waits is open
  if (isInexact(instruction))
    site.bound = resultBoundOf(function, instruction);
  else if (mayFilter(spelling) && spelling.type(0) == Type::F32)
    site.bound = filterBoundOf(spelling);
  const auto isPlace = [](const Operand &operand) {
    return operand.kind == Operand::Kind::Variable || operand.kind == Operand::Kind::Function;
  };
  site.isAddress =
      op == Op::Cvta || (op == Op::Mov && any_of(instruction.operands, isPlace)) ||
      (op == Op::Ld && spelling.space() == StateSpace::Param && ptx::sizeInBits(site.type) == 64);
  site.isOfTile = op == Op::WmmaLoad || op == Op::Ldmatrix;
  site.isLoad = site.isOfTile || (op == Op::Ld && spelling.space() != StateSpace::Param);
  if (const ArrayRef<Operand> elements = instruction.operands[0].elements(); !elements.empty())
    site.offset = unsigned(&result - elements.data()) * ptx::sizeInBits(spelling.type()) / 8;
  return site;
}

constexpr const char *kPlace = "%rubia_l";

/// What it accesses of memory, if that can be written down; null: nothing.
const Operand *accessOf(const ptx::Instruction &instruction) {
  constexpr StateSpace kSpaces[] = {StateSpace::Global, StateSpace::Shared, StateSpace::Local,
                                    StateSpace::Const, StateSpace::None};
  // Textures and surfaces have handles, and calls parameters.
  return is_contained(kSpaces, instruction.spelling->space()) ? addressIn(instruction) : nullptr;
}

/// Others may change at once what those that are not weak store; other CTAs' memory is not read.
bool isReadAgain(const ptx::Instruction &instruction) {
  const ptx::Spelling &spelling = *instruction.spelling;
  const ptx::Modifier kStrong[] = {ptx::Mod::Volatile, ptx::Mod::Relaxed, ptx::Mod::Release,
                                   ptx::Mod::Mmio};
  return instruction.op() == Op::St && accessOf(instruction) &&
         ptx::sizeInBits(spelling.type()) <= 64 && !spelling.text.contains("::cluster") &&
         none_of(kStrong, [&](ptx::Modifier mod) { return spelling.has(mod); });
}

StringRef spaceOf(const TraceSite &site) {
  switch (site.space) {
  case StateSpace::Global:
    return ".global";
  case StateSpace::Shared:
    return ".shared";
  case StateSpace::Local:
    return ".local";
  default:
    return "";
  }
}

/// Jumps and ends of threads that are not for all.
bool isBranch(const ptx::Instruction &instruction) {
  const Operation kGuarded[] = {Op::Bra, Op::Ret, Op::Exit};
  return is_contained(kGuarded, instruction.op()) && instruction.guard.reg != ptx::kNone;
}

/// "b32"; a predicate is a word.
unsigned bitsOf(Type type) { return type == Type::Pred ? 32 : ptx::sizeInBits(type); }

bool isTaken(const TraceSite &site, Given given) {
  return site.kind == TraceSite::Kind::Result &&
         ((site.isOpen && given != Given::Nothing) || (site.isLoad && given == Given::Loads));
}

/// No register has two definitions where one will do, and few instructions a guard: large kernels
/// would have too many of either to be compiled.
class SiteCode {
public:
  SiteCode(TracedPtx &out, Given given) : out(out), given(given) {}
  /// Code that appends an entry for each site. `guard`: of the instruction, as it is written;
  /// empty: none. `prelude`: what is computed before, in that thread alone.
  std::string append(std::vector<TraceSite> sites, StringRef guard, StringRef prelude = "");

private:
  /// `number`: of the site; `i`: among those of its instruction.
  void appendOne(raw_ostream &os, const TraceSite &site, size_t number, size_t i,
                 bool isGuarded) const;
  static void take(raw_ostream &os, const TraceSite &site, size_t i, size_t place);

  TracedPtx &out;
  const Given given;
};

void SiteCode::appendOne(raw_ostream &os, const TraceSite &site, size_t number, size_t i,
                         bool isGuarded) const {
  const unsigned bits = bitsOf(site.type);
  const size_t entry = kTraceEntries + i * kTraceEntryBytes, place = entry + 8;
  os << formatv("mov.u32 %rubia_n{0}, {1}; st.global.v2.u32 [%rubia_a3+{2}], {{%rubia_n{0}, "
                "%rubia_r3}; ",
                i, number, entry);
  if (site.kind == TraceSite::Kind::Memory) {
    if (isGuarded)
      os << formatv("mov.b64 %rubia_v{0}, 0; @%rubia_p1 ", i);
    os << formatv("ld{0}.u{1} %rubia_v{2}, [%rubia_l+{3}]; st.global.b64 [%rubia_a3+{4}], "
                  "%rubia_v{2}; ",
                  spaceOf(site), bits, i, site.offset, place);
    return;
  }
  std::string value = site.result;
  if (site.type == Type::Pred) {
    value = formatv("%rubia_b{0}", i);
    os << formatv("selp.u32 {0}, 1, 0, {1}; ", value, site.result);
  }
  os << formatv("st.global.b{0} [%rubia_a3+{1}], {2}; ", bits, place, value);
  if (isTaken(site, given))
    take(os, site, i, place);
}

/// The result becomes what is given.
void SiteCode::take(raw_ostream &os, const TraceSite &site, size_t i, size_t place) {
  const unsigned bits = bitsOf(site.type);
  os << formatv(".reg .b{0} %rubia_t{1}; ld.global.b{0} %rubia_t{1}, [%rubia_a6+{2}]; ", bits, i,
                place);
  if (site.type == Type::Pred)
    os << formatv("@%rubia_p1 setp.ne.u32 {0}, %rubia_t{1}, 0; ", site.result, i);
  else
    os << formatv("selp.b{0} {1}, %rubia_t{2}, {1}, %rubia_p1; ", bits, site.result, i);
}

std::string SiteCode::append(std::vector<TraceSite> sites, StringRef guard, StringRef prelude) {
  const size_t first = out.sites.size(), count = sites.size();
  std::string code =
      formatv(" {{ .reg .b64 %rubia_a<7>, {0}, %rubia_v<{1}>; .reg .b32 %rubia_r<4>, "
              "%rubia_n<{1}>, %rubia_b<{1}>; .reg .pred %rubia_p1; ",
              kPlace, count);
  raw_string_ostream os(code);
  // Entries behind the last go into what the buffer has behind it.
  os << formatv("@!%rubia_me bra $rubia_{0}; {1}mov.u64 %rubia_a0, {2}; "
                "ld.global.u64 %rubia_a1, [%rubia_a0]; ld.global.u32 %rubia_r0, [%rubia_a1+8]; "
                "add.u32 %rubia_r1, %rubia_r0, {3}; st.global.u32 [%rubia_a1+8], %rubia_r1; "
                "min.u32 %rubia_r2, %rubia_r0, {4}; mul.wide.u32 %rubia_a2, %rubia_r2, {5}; "
                "add.s64 %rubia_a3, %rubia_a1, %rubia_a2; ",
                first, prelude, kTraceVariable, count, kTraceMost, kTraceEntryBytes);
  if (given != Given::Nothing)
    os << formatv("mov.u64 %rubia_a4, {0}; ld.global.u64 %rubia_a5, [%rubia_a4]; "
                  "add.s64 %rubia_a6, %rubia_a5, %rubia_a2; ",
                  kGivenVariable);
  if (guard.empty())
    os << formatv("setp.lt.u32 %rubia_p1, %rubia_r0, {0}; mov.u32 %rubia_r3, 1; ", kTraceMost);
  else
    os << formatv("setp.lt.and.u32 %rubia_p1, %rubia_r0, {0}, {1}; "
                  "selp.u32 %rubia_r3, 1, 0, %rubia_p1; ",
                  kTraceMost, guard);
  for (auto [i, site] : enumerate(sites))
    appendOne(os, site, first + i, i, !guard.empty());
  os << "$rubia_" << first << ": } ";
  append_range(out.sites, std::move(sites));
  return code;
}

/// Whether the thread is the one that is asked for, where a function begins.
std::string entryCode() {
  std::string code = " .reg .pred %rubia_me; { .reg .b64 %rubia_a; .reg .b32 %rubia_r<4>; ";
  raw_string_ostream os(code);
  takeNumber(os, "%ctaid", "%nctaid", 0);
  takeNumber(os, "%tid", "%ntid", 1);
  os << "mov.u64 %rubia_a, " << kTraceVariable
     << "; ld.global.u64 %rubia_a, [%rubia_a]; ld.global.v2.u32 {%rubia_r2, %rubia_r3}, "
        "[%rubia_a]; "
     << "setp.eq.u32 %rubia_me, %rubia_r0, %rubia_r2; "
     << "setp.eq.and.u32 %rubia_me, %rubia_r1, %rubia_r3, %rubia_me; } ";
  return code;
}

/// Puts code around one instruction.
class Watch {
public:
  Watch(PtxEditor &editor, const ptx::Function &function, const ptx::Instruction &instruction,
        SiteCode &code)
      : editor(editor), function(function), instruction(instruction), code(code) {
    if (const Operand *operand = accessOf(instruction)) {
      raw_string_ostream os(address);
      takeAddress(os, kPlace, function, *operand);
    }
  }
  void write();

private:
  TraceSite siteOfKind(TraceSite::Kind kind, StringRef result, Type type) const {
    TraceSite site = siteOf(editor, function, instruction, kind, 0);
    site.result = result;
    site.type = type;
    return site;
  }
  std::string before();
  std::string behind();
  std::vector<TraceSite> memorySites() const;

  PtxEditor &editor;
  const ptx::Function &function;
  const ptx::Instruction &instruction;
  SiteCode &code;
  std::string address, magnitudes; // code for these
};

std::vector<TraceSite> Watch::memorySites() const {
  const Type type = instruction.spelling->type();
  constexpr unsigned kByte = 8;
  const unsigned bits = ptx::sizeInBits(type);
  std::vector<TraceSite> sites;
  for (unsigned i = 0; i < std::max(1u, instruction.spelling->vectorWidth()); ++i) {
    sites.push_back(siteOfKind(TraceSite::Kind::Memory, "memory", type));
    sites.back().offset = i * bits / kByte;
  }
  return sites;
}

std::string Watch::before() {
  const std::string guard = guardOf(function, instruction);
  if (isBranch(instruction)) {
    const StringRef predicate = StringRef(guard).trim('!');
    return code.append({siteOfKind(TraceSite::Kind::Branch, predicate, Type::Pred)}, "");
  }
  std::string text;
  if (instruction.op() == Op::BrxIdx && !instruction.operands.empty() &&
      instruction.operands[0].kind == Operand::Kind::Register)
    text += code.append({siteOfKind(TraceSite::Kind::Branch,
                                    function.registerName(instruction.operands[0].reg), Type::U32)},
                        guard);
  if (!address.empty())
    text += code.append({siteOfKind(TraceSite::Kind::Place, kPlace, Type::B64)}, guard, address);
  const std::optional<ResultBound> bound = resultBoundOf(function, instruction);
  if (!bound || bound->magnitude != Magnitude::Products)
    return text;
  magnitudes = productMagnitudes(function, instruction);
  if (magnitudes.empty())
    return text;
  std::vector<TraceSite> sites;
  for (size_t i = 0; i < registersOf(function, instruction.operands[0]).size(); ++i)
    sites.push_back(
        siteOfKind(TraceSite::Kind::Magnitude, "%rubia_m" + std::to_string(i), Type::B32));
  return text + "{ " + magnitudes + code.append(std::move(sites), "") + "} ";
}

std::string Watch::behind() {
  const StringRef guard = instruction.guard.reg != ptx::kNone ? "%rubia_g" : "";
  if (isReadAgain(instruction))
    return code.append(memorySites(), guard, address);
  std::vector<TraceSite> sites;
  for (const Operand *result : resultsOf(function, instruction))
    sites.push_back(resultSite(editor, function, instruction, *result));
  return sites.empty() ? "" : code.append(std::move(sites), guard);
}

void Watch::write() {
  std::string text = before();
  const std::string follows = behind();
  const bool isGuarded = !follows.empty() && instruction.guard.reg != ptx::kNone;
  if (isGuarded) // the instruction may write to its own guard
    text += (" { .reg .pred %rubia_g; " + Twine(instruction.guard.negated ? "not" : "mov") +
             ".pred %rubia_g, " + function.registerName(instruction.guard.reg) + "; ")
                .str();
  if (!text.empty())
    editor.before(instruction, text);
  if (follows.empty())
    return;
  if (text.empty())
    editor.before(instruction, "");
  editor.behind(instruction, follows + (isGuarded ? "} " : ""));
}

} // namespace

Expected<TracedPtx> instrumentTrace(StringRef ptx, StringRef kernel, Given given) {
  Expected<PtxEditor> editor = PtxEditor::open(ptx, kernel);
  if (!editor)
    return editor.takeError();
  TracedPtx out;
  for (const char *variable : {kTraceVariable, kGivenVariable})
    if (given != Given::Nothing || variable == kTraceVariable)
      editor->declare((".visible .global .align 8 .b8 " + Twine(variable) + "[8];").str());
  SiteCode code(out, given);
  for (const ptx::Function *function : editor->functions()) {
    editor->atEntry(*function, entryCode());
    for (const ptx::Instruction &instruction : function->body) {
      if (addressIn(instruction) || namesTexture(instruction.op()))
        out.accesses.push_back({editor->lineOf(instruction), editor->statement(instruction).str(),
                                sourceOf(editor->module(), instruction)});
      Watch(*editor, *function, instruction, code).write();
    }
  }
  out.text = editor->finish();
  return out;
}

std::vector<uint8_t> traceRequest(uint32_t cta, uint32_t thread) {
  std::vector<uint8_t> bytes(kTraceBytes);
  support::endian::write32le(bytes.data(), cta);
  support::endian::write32le(bytes.data() + 4, thread);
  return bytes;
}

void markUnwritten(MutableArrayRef<uint8_t> trace) {
  for (size_t at = kTraceEntries; at + kTraceEntryBytes <= trace.size(); at += kTraceEntryBytes)
    std::fill_n(trace.begin() + at, kTraceEntryBytes, kUnwritten);
}

} // namespace rubia::capsule
