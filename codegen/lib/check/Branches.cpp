// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/check/Branches.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/MC/MCInst.h"
#include "llvm/Support/Endian.h"
#include <set>

using namespace llvm;

namespace rubia::codegen {

namespace {

/// The distance in words is the low half of the encoding (RDNA3 ISA document, "SOPP" and "SOPK").
uint64_t relativeTarget(uint64_t address, ArrayRef<uint8_t> bytes) {
  return address + 4 + int64_t(int16_t(support::endian::read16le(bytes.data()))) * 4;
}

bool isAny(StringRef name, ArrayRef<StringLiteral> beginnings) {
  return any_of(beginnings, [&](StringRef beginning) { return name.starts_with(beginning); });
}

std::optional<RegisterRange> scalarAt(const Disassembler &disassembler, const MCInst &inst,
                                      unsigned index) {
  if (index >= inst.getNumOperands() || !inst.getOperand(index).isReg())
    return std::nullopt;
  RegisterRange range = disassembler.range(inst.getOperand(index).getReg());
  return range.file == RegisterRange::Scalar ? std::optional(range) : std::nullopt;
}

/// What s_add_u32 adds to a register: its literal, or its immediate operand.
std::optional<int32_t> addend(const MCInst &inst, uint64_t size, ArrayRef<uint8_t> bytes) {
  if (size == 8)
    return int32_t(support::endian::read32le(bytes.data() + 4));
  if (inst.getNumOperands() > 2 && inst.getOperand(2).isImm())
    return int32_t(inst.getOperand(2).getImm());
  return std::nullopt;
}

} // namespace

Branches::CodeAddress *Branches::codeAddressIn(unsigned lowRegister) {
  CodeAddress *found =
      find_if(codeAddresses, [&](const CodeAddress &at) { return at.lowRegister == lowRegister; });
  return found == codeAddresses.end() ? nullptr : found;
}

void Branches::follow(const MCInst &inst, uint64_t address, uint64_t size,
                      ArrayRef<uint8_t> bytes) {
  StringRef name = disassembler.name(inst.getOpcode());
  std::optional<RegisterRange> result = scalarAt(disassembler, inst, 0);
  std::optional<RegisterRange> source = scalarAt(disassembler, inst, 1);
  bool changesItself = result && source && result->first == source->first;
  if (changesItself && name.starts_with("S_ADD_U32")) {
    if (CodeAddress *at = codeAddressIn(result->first))
      if (std::optional<int32_t> distance = addend(inst, size, bytes)) {
        at->value += int64_t(*distance);
        return;
      }
  }
  // The high half follows the low one: it takes the carry, and gfx12 extends the sign first.
  if (changesItself && isAny(name, {"S_ADDC_U32", "S_SEXT_I32_I16"}) && result->first > 0 &&
      codeAddressIn(result->first - 1))
    return;
  if (!codeAddresses.empty())
    disassembler.forEachWritten(inst, [&](RegisterRange range) {
      if (range.file == RegisterRange::Scalar)
        erase_if(codeAddresses, [&](const CodeAddress &at) {
          return range.overlaps(RegisterRange::Scalar, at.lowRegister, 2);
        });
    });
  if (result && name.starts_with("S_GETPC"))
    codeAddresses.push_back({result->first, address + size});
}

Flow Branches::flowOf(const MCInst &inst, uint64_t address, uint64_t size,
                      ArrayRef<uint8_t> bytes) {
  StringRef name = disassembler.name(inst.getOpcode());
  if (!name.starts_with("S_")) {
    if (!codeAddresses.empty())
      follow(inst, address, size, bytes);
    return {};
  }
  Flow flow;
  if (isAny(name, {"S_CBRANCH", "S_SUBVECTOR"})) {
    flow = {Flow::Kind::Either, relativeTarget(address, bytes)};
  } else if (name.starts_with("S_BRANCH")) {
    flow = {Flow::Kind::Branch, relativeTarget(address, bytes)};
  } else if (name.starts_with("S_SETPC")) {
    flow.kind = Flow::Kind::Leave;
    std::optional<RegisterRange> pair = scalarAt(disassembler, inst, 0);
    const CodeAddress *at = pair ? codeAddressIn(pair->first) : nullptr;
    if (at && at->value >= begin && at->value < end)
      flow = {Flow::Kind::Branch, at->value};
  } else if (isAny(name, {"S_SWAPPC", "S_CALL"})) {
    flow.kind = Flow::Kind::Call;
    std::optional<RegisterRange> pair = scalarAt(disassembler, inst, 1);
    if (const CodeAddress *at = pair ? codeAddressIn(pair->first) : nullptr)
      flow.target = at->value;
  } else if (isAny(name, {"S_ENDPGM", "S_RFE"})) {
    flow.kind = Flow::Kind::Leave;
  } else {
    follow(inst, address, size, bytes);
    return flow;
  }
  if (flow.kind != Flow::Kind::Either)
    codeAddresses.clear();
  return flow;
}

std::vector<BasicBlock> basicBlocks(uint64_t begin, uint64_t end, ArrayRef<BlockEnd> ends) {
  std::set<uint64_t> leaders = {begin};
  for (const auto &[next, flow] : ends) {
    leaders.insert(next);
    if (flow.hasTarget())
      leaders.insert(flow.target);
  }
  std::vector<BasicBlock> blocks;
  DenseMap<uint64_t, size_t> blockAt;
  for (uint64_t leader : leaders)
    if (leader >= begin && leader < end) {
      if (!blocks.empty())
        blocks.back().end = leader;
      blockAt[leader] = blocks.size();
      blocks.push_back({leader, end, {}, {}});
    }
  const BlockEnd *last = ends.begin();
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (last != ends.end() && last->next == blocks[i].end)
      blocks[i].flow = (last++)->flow;
    const Flow &flow = blocks[i].flow;
    if (flow.fallsThrough() && i + 1 < blocks.size())
      blocks[i].successors.push_back(i + 1);
    if (flow.hasTarget())
      if (auto target = blockAt.find(flow.target); target != blockAt.end())
        blocks[i].successors.push_back(target->second);
  }
  return blocks;
}

} // namespace rubia::codegen
