// SPDX-License-Identifier: Apache-2.0
// In front of `@p st.global.v2.u32 [%rd1+8], {...}` comes, in a block of its own:
//
//   add.s64     %rubia_a, %rd1, 8;
//   sub.u64     %rubia_a, watch, %rubia_a;      the offset of the watched byte in what is written
//   setp.lt.and.u64 %rubia_p, %rubia_a, 8, p;
//   @%rubia_p   atom.inc: the number of a slot; site, CTA and thread go there
//
// A watched address in shared memory is that of one CTA. Stores to local memory are left alone, and
// so are asynchronous copies.
//
// Where all writers are asked for, each store writes CTA, thread and site into a second memory, at
// the place of each word that it stores.
#include "diff/Locate.h"
#include "diff/lib/TextOfPtx.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using rubia::ptx::Operand;
using rubia::ptx::StateSpace;

namespace rubia::ptx::Op {
extern const Operation Atom, Red, St, WmmaStore;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier Col;
} // namespace rubia::ptx::Mod

namespace rubia::capsule {
namespace {

unsigned storedBytes(const ptx::Instruction &instruction) {
  const ptx::Spelling &spelling = *instruction.spelling;
  return std::max(1u, ptx::sizeInBits(spelling.type()) / 8) * std::max(1u, spelling.vectorWidth());
}

bool isStore(const ptx::Instruction &instruction, bool takesShared) {
  const StateSpace space = instruction.spelling->space();
  const bool isTile = takesShared && instruction.op() == ptx::Op::WmmaStore;
  return (isTile || is_contained({ptx::Op::St, ptx::Op::Red, ptx::Op::Atom}, instruction.op())) &&
         (space == StateSpace::Global || space == StateSpace::None ||
          (takesShared && space == StateSpace::Shared));
}

std::string writersCode(const ptx::Function &function, const ptx::Instruction &instruction,
                        const Operand &address, size_t site) {
  const std::string guard = guardOf(function, instruction);
  std::string code = "{ .reg .b64 %rubia_a<5>; .reg .b32 %rubia_r<5>; .reg .pred %rubia_p; ";
  raw_string_ostream os(code);
  takeAddress(os, "%rubia_a0", function, address);
  os << "mov.u64 %rubia_a1, " << kWritersVariable << "; ld.global.u64 %rubia_a2, [%rubia_a1]; "
     << "ld.global.u64 %rubia_a3, [%rubia_a1+8]; ld.global.u64 %rubia_a4, [%rubia_a1+16]; "
     << "sub.u64 %rubia_a0, %rubia_a0, %rubia_a2; setp.lt" << (guard.empty() ? "" : ".and")
     << ".u64 %rubia_p, %rubia_a0, %rubia_a3" << (guard.empty() ? "" : ", " + guard) << "; "
     << "shr.u64 %rubia_a0, %rubia_a0, 2; shl.b64 %rubia_a0, %rubia_a0, 4; "
     << "add.s64 %rubia_a4, %rubia_a4, %rubia_a0; ";
  takeNumber(os, "%ctaid", "%nctaid", 0);
  takeNumber(os, "%tid", "%ntid", 1);
  os << "mov.u32 %rubia_r2, " << site + 1 << "; mov.u32 %rubia_r3, 0; ";
  for (unsigned i = 0; i < storedBytes(instruction); i += kWordBytes)
    os << "@%rubia_p st.global.v4.u32 [%rubia_a4+" << i / kWordBytes * kWriterBytes
       << "], {%rubia_r0, %rubia_r1, %rubia_r2, %rubia_r3}; ";
  os << "} ";
  return code;
}

/// Whether this lane's fragment has the element that lies %rubia_a0 bytes behind the address of a
/// wmma.store, into %rubia_p. docs/reference.md has the fragments.
void takeTile(raw_ostream &os, const ptx::Function &function, const ptx::Instruction &instruction,
              StringRef guard) {
  const ptx::Spelling &spelling = *instruction.spelling;
  StringRef shape = ptx::textOf(spelling.first(ptx::ModCategory::Shape));
  unsigned m = 0, n = 0;
  shape.consume_front(".m");
  shape.consumeInteger(10, m);
  shape.consume_front("n");
  shape.consumeInteger(10, n);
  const bool isColumn = spelling.has(ptx::Mod::Col), isTransposed = m == 8 && n == 32;
  os << formatv(".reg .b64 %rubia_s, %rubia_e<3>; .reg .b32 %rubia_w<6>; "
                "div.u64 %rubia_e0, %rubia_a0, {0}; ",
                ptx::sizeInBits(spelling.type()) / 8);
  if (instruction.operands.size() < 3)
    os << "mov.u64 %rubia_s, " << (isColumn ? m : n) << "; ";
  else if (const Operand &stride = instruction.operands[2]; stride.kind == Operand::Kind::Register)
    os << formatv("cvt.u64.u32 %rubia_s, {0}; ", function.registerName(stride.reg));
  else
    os << "mov.u64 %rubia_s, " << stride.bits << "; ";
  os << "div.u64 %rubia_e1, %rubia_e0, %rubia_s; rem.u64 %rubia_e2, %rubia_e0, %rubia_s; "
     << formatv("setp.lt.u64 %rubia_p, %rubia_e1, {0}; "
                "setp.lt.and.u64 %rubia_p, %rubia_e2, {1}, %rubia_p; ",
                isColumn ? n : m, isColumn ? m : n)
     << "cvt.u32.u64 %rubia_w0, %rubia_e1; cvt.u32.u64 %rubia_w1, %rubia_e2; ";
  // Lane 4 (row % 8) + column % 8 / 2 of the tile.
  const bool isRowWithin = isColumn != isTransposed;
  os << formatv("and.b32 %rubia_w2, %rubia_w{0}, 7; shl.b32 %rubia_w2, %rubia_w2, 2; "
                "bfe.u32 %rubia_w3, %rubia_w{1}, 1, 2; add.u32 %rubia_w4, %rubia_w2, %rubia_w3; "
                "mov.u32 %rubia_w5, %laneid; "
                "setp.eq.and.u32 %rubia_p, %rubia_w4, %rubia_w5, %rubia_p; ",
                isRowWithin ? 1 : 0, isRowWithin ? 0 : 1);
  if (!guard.empty())
    os << formatv("@{0} setp.ne.u32 %rubia_p, 0, 0; ",
                  guard.starts_with("!") ? guard.drop_front().str() : ("!" + guard).str());
}

std::string watchCode(const ptx::Function &function, const ptx::Instruction &instruction,
                      const Operand &address, size_t site) {
  const std::string guard = guardOf(function, instruction);
  std::string code = "{ .reg .b64 %rubia_a<4>; .reg .b32 %rubia_r<9>; .reg .pred %rubia_p, "
                     "%rubia_q; ";
  raw_string_ostream os(code);
  takeAddress(os, "%rubia_a0", function, address);
  if (instruction.spelling->space() == StateSpace::None)
    os << "isspacep.shared %rubia_q, %rubia_a0; cvta.to.shared.u64 %rubia_a1, %rubia_a0; "
       << "selp.b64 %rubia_a0, %rubia_a1, %rubia_a0, %rubia_q; ";
  os << "mov.u64 %rubia_a1, " << kWatchVariable << "; ld.global.u64 %rubia_a2, [%rubia_a1]; "
     << "sub.u64 %rubia_a0, %rubia_a2, %rubia_a0; ";
  if (instruction.op() == ptx::Op::WmmaStore)
    takeTile(os, function, instruction, guard);
  else
    os << "setp.lt" << (guard.empty() ? "" : ".and") << ".u64 %rubia_p, %rubia_a0, "
       << storedBytes(instruction) << (guard.empty() ? "" : ", " + guard) << "; ";
  takeNumber(os, "%ctaid", "%nctaid", 0);
  os << "add.u32 %rubia_r0, %rubia_r0, 1; ld.global.u32 %rubia_r1, [%rubia_a1+12]; "
     << "setp.eq.u32 %rubia_q, %rubia_r1, 0; setp.eq.or.u32 %rubia_q, %rubia_r0, %rubia_r1, "
     << "%rubia_q; and.pred %rubia_p, %rubia_p, %rubia_q; "
     << "@%rubia_p atom.global.add.u32 %rubia_r0, [%rubia_a1+8], 1; "
     << "and.b32 %rubia_r0, %rubia_r0, " << kWatchSlotCount - 1 << "; "
     << "mul.wide.u32 %rubia_a3, %rubia_r0, " << kWatchSlotBytes << "; "
     << "add.s64 %rubia_a3, %rubia_a3, %rubia_a1; ";
  constexpr const char *kWords[] = {"%ctaid.x", "%ctaid.y", "%ctaid.z",
                                    "%tid.x",   "%tid.y",   "%tid.z"};
  os << "@%rubia_p st.global.u32 [%rubia_a3+" << kWatchSlots << "], " << site << "; ";
  for (unsigned i = 0; i < std::size(kWords); ++i)
    os << "mov.u32 %rubia_r" << i + 1 << ", " << kWords[i] << "; @%rubia_p st.global.u32 "
       << "[%rubia_a3+" << kWatchSlots + 4 + 4 * i << "], %rubia_r" << i + 1 << "; ";
  os << "} ";
  return code;
}

using MakeCode = std::string (*)(const ptx::Function &, const ptx::Instruction &, const Operand &,
                                 size_t site);

Expected<InstrumentedPtx> instrument(StringRef text, StringRef kernel, StringRef variable,
                                     size_t bytes, MakeCode make, bool takesShared) {
  Expected<PtxEditor> editor = PtxEditor::open(text, kernel);
  if (!editor)
    return editor.takeError();
  InstrumentedPtx out;
  editor->declare(formatv(".visible .global .align 8 .b8 {0}[{1}];", variable, bytes).str());
  for (const ptx::Function *function : editor->functions())
    for (const ptx::Instruction &instruction : function->body) {
      const Operand *address = addressIn(instruction);
      if (!address || !isStore(instruction, takesShared))
        continue;
      editor->before(instruction, make(*function, instruction, *address, out.sites.size()));
      out.sites.push_back({editor->lineOf(instruction), editor->statement(instruction).str(),
                           sourceOf(editor->module(), instruction)});
    }
  out.text = editor->finish();
  return out;
}

} // namespace

Expected<InstrumentedPtx> instrumentStores(StringRef text, StringRef kernel) {
  return instrument(text, kernel, kWatchVariable, kWatchBytes, watchCode, true);
}

Expected<InstrumentedPtx> instrumentWriters(StringRef text, StringRef kernel) {
  return instrument(text, kernel, kWritersVariable, kWritersBytes, writersCode, false);
}

std::optional<Writer> WriterMap::at(uint64_t offset) const {
  const uint64_t place = offset / kWordBytes * kWriterBytes;
  if (place + kWriterBytes > words.size())
    return std::nullopt;
  const auto word = [&](unsigned i) {
    return support::endian::read32le(words.data() + place + size_t(4) * i);
  };
  if (!word(2) || word(2) > sites.size())
    return std::nullopt;
  Writer writer;
  writer.site = sites[word(2) - 1];
  writer.stores = 1; // as far as is known
  const auto split = [](uint32_t number, const uint32_t (&in)[3], uint32_t (&out)[3]) {
    out[0] = number % std::max(in[0], 1u);
    number /= std::max(in[0], 1u);
    out[1] = number % std::max(in[1], 1u);
    out[2] = number / std::max(in[1], 1u);
  };
  split(word(0), grid, writer.cta);
  split(word(1), block, writer.thread);
  return writer;
}

std::vector<Writer> writersOf(ArrayRef<uint8_t> watch, const InstrumentedPtx &instrumented) {
  std::vector<Writer> writers;
  const uint32_t count = support::endian::read32le(watch.data() + 8);
  const uint32_t kept = std::min<uint32_t>(count, kWatchSlotCount);
  // From the last on.
  for (uint32_t i = 0; i < kept; ++i) {
    const uint8_t *slot =
        watch.data() + kWatchSlots + size_t((count - 1 - i) % kWatchSlotCount) * kWatchSlotBytes;
    const uint32_t site = support::endian::read32le(slot);
    if (site >= instrumented.sites.size())
      continue;
    Writer &writer = writers.emplace_back();
    writer.site = instrumented.sites[site];
    writer.stores = count;
    for (unsigned k = 0; k < 3; ++k) {
      writer.cta[k] = support::endian::read32le(slot + 4 + 4 * k);
      writer.thread[k] = support::endian::read32le(slot + 16 + 4 * k);
    }
  }
  return writers;
}

} // namespace rubia::capsule
