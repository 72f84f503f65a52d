// SPDX-License-Identifier: Apache-2.0
// `@p add.s32 %r3, %r1, %r2;` becomes a block with registers of its own:
//
//   mov.pred %rubia_g, p;
//   @p add.s32 %r3, %r1, %r2;
//   if it is the thread that is asked for, and %rubia_g: an entry is appended
//
// A function finds out once which thread it is. Others jump over what appends.
//
// A load appends where it loads before that.
#include "diff/Trace.h"
#include "diff/lib/Inexact.h"
#include "diff/lib/TextOfPtx.h"
#include "ptx-frontend/InstructionTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using namespace llvm;
using rubia::ptx::Op;
using rubia::ptx::Operand;
using rubia::ptx::StateSpace;
using rubia::ptx::Type;

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
  // A wmma fragment and the state of an mbarrier are each processor's own.
  constexpr Op kOpaque[] = {Op::Call, Op::WmmaLoad, Op::WmmaMma, Op::WmmaStore, Op::MbarrierArrive};
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

TraceSite siteOf(const PtxEditor &editor, const ptx::Function &function,
                 const ptx::Instruction &instruction, const Operand &result) {
  const ptx::Spelling &spelling = *instruction.spelling;
  const Op op = instruction.op();
  TraceSite site;
  site.place = {editor.lineOf(instruction), editor.statement(instruction).str(),
                sourceOf(editor.module(), instruction)};
  site.function = function.name.str();
  site.result = function.registerName(result.reg);
  site.type = function.registers[result.reg].type;
  for (const Operand &operand : drop_begin(instruction.operands))
    forEachRegister(operand, [&](const Operand &source) {
      std::string name = function.registerName(source.reg);
      if (!is_contained(site.sources, name))
        site.sources.push_back(std::move(name));
    });
  site.isOpen =
      isInexact(instruction) || isOfOrder(spelling) || mayFilter(spelling) || readsOwn(instruction);
  const auto isPlace = [](const Operand &operand) {
    return operand.kind == Operand::Kind::Variable || operand.kind == Operand::Kind::Function;
  };
  site.isAddress =
      op == Op::Cvta || (op == Op::Mov && any_of(instruction.operands, isPlace)) ||
      (op == Op::Ld && spelling.space() == StateSpace::Param && ptx::sizeInBits(site.type) == 64);
  site.isLoad = op == Op::Ld && spelling.space() != StateSpace::Param;
  site.space = spelling.space();
  return site;
}

/// Where a load loads; its address may be the register that it writes.
constexpr const char *kPlace = "%rubia_l";

TraceSite placeOf(const TraceSite &load) {
  TraceSite site;
  site.place = load.place;
  site.function = load.function;
  site.result = kPlace;
  site.type = Type::B64;
  site.isPlace = true;
  return site;
}

/// "b32"; a predicate is a word.
unsigned bitsOf(Type type) { return type == Type::Pred ? 32 : ptx::sizeInBits(type); }

bool isTaken(const TraceSite &site, Given given) {
  return (site.isOpen && given != Given::Nothing) || (site.isLoad && given == Given::Loads);
}

/// Code behind an instruction with such results, from a number of a site on.
std::string recordCode(ArrayRef<TraceSite> sites, size_t first, bool isGuarded, Given given) {
  std::string code = " { .reg .b64 %rubia_a<3>; .reg .b32 %rubia_r<6>; .reg .pred %rubia_p<2>; ";
  raw_string_ostream os(code);
  os << (isGuarded ? "and.pred %rubia_p0, %rubia_me, %rubia_g; "
                   : "mov.pred %rubia_p0, %rubia_me; ")
     << "@!%rubia_p0 bra $rubia_" << first << "; mov.u64 %rubia_a0, " << kTraceVariable
     << "; ld.global.u32 %rubia_r4, [%rubia_a0+8]; add.u32 %rubia_r0, %rubia_r4, " << sites.size()
     << "; @%rubia_p0 st.global.u32 [%rubia_a0+8], %rubia_r0; "
     << "setp.lt.and.u32 %rubia_p0, %rubia_r4, " << kTraceMost << ", %rubia_p0; "
     << "mul.wide.u32 %rubia_a1, %rubia_r4, " << kTraceEntryBytes << "; ";
  if (given != Given::Nothing)
    os << "mov.u64 %rubia_a2, " << kGivenVariable << "; add.s64 %rubia_a2, %rubia_a2, %rubia_a1; ";
  os << "add.s64 %rubia_a1, %rubia_a1, %rubia_a0; ";
  for (auto [i, site] : enumerate(sites)) {
    const size_t entry = kTraceEntries + i * kTraceEntryBytes;
    const unsigned bits = bitsOf(site.type);
    os << "mov.u32 %rubia_r0, " << first + i << "; @%rubia_p0 st.global.u32 [%rubia_a1+" << entry
       << "], %rubia_r0; ";
    if (site.type == Type::Pred)
      os << "selp.u32 %rubia_r0, 1, 0, " << site.result << "; ";
    os << "@%rubia_p0 st.global.b" << bits << " [%rubia_a1+" << entry + 8 << "], "
       << (site.type == Type::Pred ? "%rubia_r0" : site.result) << "; ";
    if (!isTaken(site, given))
      continue;
    if (site.type != Type::Pred) {
      os << "@%rubia_p0 ld.global.b" << bits << " " << site.result << ", [%rubia_a2+" << entry + 8
         << "]; ";
      continue;
    }
    os << "@%rubia_p0 ld.global.u32 %rubia_r0, [%rubia_a2+" << entry + 8
       << "]; @%rubia_p0 setp.ne.u32 " << site.result << ", %rubia_r0, 0; ";
  }
  os << "$rubia_" << first << ": } ";
  return code;
}

/// Whether the thread is the one that is asked for, where a function begins.
std::string entryCode() {
  std::string code = " .reg .pred %rubia_me; { .reg .b64 %rubia_a; .reg .b32 %rubia_r<4>; ";
  raw_string_ostream os(code);
  takeNumber(os, "%ctaid", "%nctaid", 0);
  takeNumber(os, "%tid", "%ntid", 1);
  os << "mov.u64 %rubia_a, " << kTraceVariable
     << "; ld.global.v2.u32 {%rubia_r2, %rubia_r3}, [%rubia_a]; "
     << "setp.eq.u32 %rubia_me, %rubia_r0, %rubia_r2; "
     << "setp.eq.and.u32 %rubia_me, %rubia_r1, %rubia_r3, %rubia_me; } ";
  return code;
}

} // namespace

Expected<TracedPtx> instrumentTrace(StringRef ptx, StringRef kernel, Given given) {
  Expected<PtxEditor> editor = PtxEditor::open(ptx, kernel);
  if (!editor)
    return editor.takeError();
  TracedPtx out;
  for (const char *variable : {kTraceVariable, kGivenVariable})
    if (given != Given::Nothing || variable == kTraceVariable)
      editor->declare(
          (".visible .global .align 16 .b8 " + Twine(variable) + "[" + Twine(kTraceBytes) + "];")
              .str());
  for (const ptx::Function *function : editor->functions()) {
    editor->atEntry(*function, entryCode());
    for (const ptx::Instruction &instruction : function->body) {
      const std::vector<const Operand *> results = resultsOf(*function, instruction);
      if (results.empty())
        continue;
      const size_t first = out.sites.size();
      const ArrayRef<Operand> elements = instruction.operands[0].elements();
      for (const Operand *result : results) {
        TraceSite site = siteOf(*editor, *function, instruction, *result);
        if (site.isLoad && result == results.front())
          out.sites.push_back(placeOf(site));
        if (!elements.empty())
          site.offset = unsigned(result - elements.data()) *
                        ptx::sizeInBits(instruction.spelling->type()) / 8;
        out.sites.push_back(std::move(site));
      }
      const bool isLoad = out.sites[first].isPlace;
      std::string code;
      if (isLoad) {
        code = (" { .reg .b64 " + Twine(kPlace) + "; ").str();
        raw_string_ostream os(code);
        takeAddress(os, kPlace, *function, *addressIn(instruction));
      }
      const bool isGuarded = instruction.guard.reg != ptx::kNone;
      if (isGuarded) // the instruction may write to its own guard
        editor->before(instruction, code + " { .reg .pred %rubia_g; " +
                                        (instruction.guard.negated ? "not" : "mov") +
                                        ".pred %rubia_g, " +
                                        function->registerName(instruction.guard.reg) + "; ");
      else
        editor->before(instruction, code);
      editor->behind(instruction,
                     recordCode(ArrayRef(out.sites).drop_front(first), first, isGuarded, given) +
                         (isGuarded ? "} " : "") + (isLoad ? "} " : ""));
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

namespace {

struct Entry {
  uint32_t site;
  uint64_t bits;
};
Entry entryAt(ArrayRef<uint8_t> trace, size_t index) {
  const uint8_t *at = trace.data() + kTraceEntries + index * kTraceEntryBytes;
  return {support::endian::read32le(at), support::endian::read64le(at + 8)};
}

bool isNan(Type type, uint64_t bits) {
  const unsigned width = ptx::sizeInBits(type);
  if (width == 64)
    return (bits & ~(uint64_t(1) << 63)) > 0x7ff0000000000000;
  return width == 32 && (bits & 0x7fffffff) > 0x7f800000;
}

/// What led to entry `index`, backwards.
std::vector<TraceDifference::Step> sliceOf(ArrayRef<uint8_t> trace, size_t index,
                                           ArrayRef<TraceSite> sites) {
  std::vector<TraceDifference::Step> slice;
  StringSet<> needed;
  const auto need = [&](const TraceSite &site) {
    for (const std::string &source : site.sources)
      needed.insert(site.function + source);
  };
  need(sites[entryAt(trace, index).site]);
  while (index-- > 0 && !needed.empty() && slice.size() < TraceDifference::kSliceMost) {
    const Entry entry = entryAt(trace, index);
    if (entry.site >= sites.size() ||
        !needed.erase(sites[entry.site].function + sites[entry.site].result))
      continue;
    slice.push_back({entry.site, entry.bits});
    need(sites[entry.site]);
  }
  return slice;
}

} // namespace

TraceDifference compareTraces(ArrayRef<uint8_t> first, ArrayRef<uint8_t> second,
                              ArrayRef<TraceSite> sites, Given given) {
  TraceDifference result;
  const size_t counts[] = {support::endian::read32le(first.data() + 8),
                           support::endian::read32le(second.data() + 8)};
  StringMap<std::pair<uint64_t, uint64_t>> values; // of registers
  std::set<std::pair<unsigned, uint64_t>> moved;   // by how much things lie elsewhere, with bits
  const size_t most = std::min(kTraceMost, std::min(counts[0], counts[1]));
  for (size_t i = 0; i < most; ++i) {
    const Entry a = entryAt(first, i), b = entryAt(second, i);
    if (a.site >= sites.size() || b.site >= sites.size())
      break;
    const TraceSite &site = sites[a.site];
    result.site = a.site;
    result.otherSite = b.site;
    if (a.site != b.site) {
      result.kind = TraceDifference::Kind::Path;
      return result;
    }
    if (site.isPlace) {
      values[site.function + site.result] = {a.bits, b.bits};
      continue;
    }
    const unsigned bits = bitsOf(site.type);
    const std::pair<unsigned, uint64_t> apart = {
        bits, (a.bits - b.bits) & (bits >= 64 ? ~0ull : (uint64_t(1) << bits) - 1)};
    const bool isFloat = ptx::classOf(site.type) == ptx::TypeClass::Float;
    // A loaded pointer into constant memory is an offset in NVIDIA's bank.
    constexpr uint64_t kBank = 1 << 16;
    if (site.isAddress ||
        (site.isLoad && bits == 64 && !isFloat && b.bits < kBank && a.bits >= kBank))
      moved.insert(apart);
    const bool isEqual = !apart.second || (!isFloat && moved.contains(apart)) ||
                         (isFloat && isNan(site.type, a.bits) && isNan(site.type, b.bits));
    const bool isOpen = isTaken(site, given);
    if (!isOpen && !isEqual) {
      result.kind = TraceDifference::Kind::Value;
      result.first = a.bits;
      result.second = b.bits;
      result.slice = sliceOf(first, i, sites);
      for (const std::string &source : site.sources)
        if (auto found = values.find(site.function + source); found != values.end())
          result.operands.push_back({source, found->second.first, found->second.second});
      if (auto found = values.find(site.function + kPlace); site.isLoad && found != values.end())
        result.place = {"", found->second.first + site.offset, found->second.second + site.offset};
      return result;
    }
    ++(isOpen ? result.open : result.compared);
    // The second one has gone on with what it has taken of the first.
    values[site.function + site.result] = {a.bits, isOpen ? a.bits : b.bits};
  }
  if (std::max(counts[0], counts[1]) > kTraceMost)
    result.kind = TraceDifference::Kind::Cut;
  else if (counts[0] != counts[1])
    result.kind = TraceDifference::Kind::Path;
  return result;
}

} // namespace rubia::capsule
