// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/check/KnownFlags.h"
#include "llvm/ADT/STLExtras.h"
#include <bitset>
#include <map>

using namespace llvm;

namespace rubia::codegen {

namespace {

constexpr unsigned kCopies = 4; ///< of a block, on average, at most

struct Flag {
  uint16_t first, count; ///< its scalar registers
  bool isSet;            ///< -1, not 0

  auto operator<=>(const Flag &) const = default;
};
using Flags = std::vector<Flag>; ///< by register
using Registers = std::bitset<kScalarRegisters>;

class Separation {
public:
  Separation(const Disassembler &disassembler, ArrayRef<DecodedInstruction> function,
             ArrayRef<BasicBlock> blocks)
      : disassembler(disassembler), function(function), blocks(blocks) {}
  std::optional<SeparateBlocks> separate();

private:
  std::optional<RegisterRange> scalarAt(const MCInst &inst, unsigned index) const;
  bool isTest(const MCInst &inst) const;
  void findTested();
  void follow(const MCInst &inst, Flags &flags, bool &isNone) const;
  SmallVector<size_t, 2> successorsOf(size_t block, Flags &flags) const;

  const Disassembler &disassembler;
  ArrayRef<DecodedInstruction> function;
  ArrayRef<BasicBlock> blocks;
  std::vector<Registers> tested; ///< later, of what each block begins with
};

std::optional<RegisterRange> Separation::scalarAt(const MCInst &inst, unsigned index) const {
  if (index >= inst.getNumOperands() || !inst.getOperand(index).isReg())
    return std::nullopt;
  const RegisterRange range = disassembler.range(inst.getOperand(index).getReg());
  return range.file == RegisterRange::Scalar ? std::optional(range) : std::nullopt;
}

/// s_and_b64 vcc, exec, FLAG, or s_andn2_b64.
bool Separation::isTest(const MCInst &inst) const {
  const StringRef name = disassembler.name(inst.getOpcode());
  if (!name.starts_with("S_AND_B") && !name.starts_with("S_ANDN2_B") &&
      !name.starts_with("S_AND_NOT1_B"))
    return false;
  const auto result = scalarAt(inst, 0), mask = scalarAt(inst, 1), flag = scalarAt(inst, 2);
  return result && mask && flag && result->first == kVcc && mask->first == kExec;
}

bool isMove(StringRef name) { return name.starts_with("S_MOV_B"); }

void setAll(Registers &registers, RegisterRange range, bool value) {
  for (unsigned i = range.first; i < unsigned(range.first) + range.count; ++i)
    if (i < kScalarRegisters)
      registers.set(i, value);
}

/// Backwards: a copy of a flag is tested where its own copy is.
void Separation::findTested() {
  tested.resize(blocks.size());
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    for (size_t index = blocks.size(); index-- > 0;) {
      Registers live;
      for (size_t successor : blocks[index].successors)
        live |= tested[successor];
      for (const DecodedInstruction &decoded : reverse(instructionsOf(blocks[index], function))) {
        if (decoded.size == 0)
          continue;
        const MCInst &inst = decoded.inst;
        bool isTested = isTest(inst);
        disassembler.forEachWritten(inst, [&](RegisterRange range) {
          if (range.file != RegisterRange::Scalar)
            return;
          for (unsigned i = 0; i < range.count; ++i)
            isTested |= isMove(disassembler.name(inst.getOpcode())) && live[range.first + i];
          setAll(live, range, false);
        });
        if (isTested)
          if (const auto flag = scalarAt(inst, isTest(inst) ? 2 : 1))
            setAll(live, *flag, true);
      }
      isChanged |= live != tested[index];
      tested[index] = live;
    }
  }
}

/// `isNone`: vcc is 0.
void Separation::follow(const MCInst &inst, Flags &flags, bool &isNone) const {
  const StringRef name = disassembler.name(inst.getOpcode());
  const auto flagIn = [&](std::optional<RegisterRange> range) {
    return range ? find_if(flags,
                           [&](const Flag &flag) {
                             return flag.first == range->first && flag.count == range->count;
                           })
                 : flags.end();
  };
  std::optional<Flag> made;
  bool becomesNone = false;
  if (const auto result = scalarAt(inst, 0); isMove(name) && result) {
    if (inst.getOperand(1).isImm() &&
        (inst.getOperand(1).getImm() == 0 || inst.getOperand(1).getImm() == -1))
      made = Flag{result->first, result->count, inst.getOperand(1).getImm() == -1};
    else if (auto flag = flagIn(scalarAt(inst, 1)); flag != flags.end())
      made = Flag{result->first, result->count, flag->isSet};
  } else if (isTest(inst)) {
    if (auto flag = flagIn(scalarAt(inst, 2)); flag != flags.end())
      becomesNone = flag->isSet != name.starts_with("S_AND_B");
  }
  disassembler.forEachWritten(inst, [&](RegisterRange range) {
    if (range.file != RegisterRange::Scalar)
      return;
    erase_if(flags, [&](const Flag &flag) {
      return range.overlaps(RegisterRange::Scalar, flag.first, flag.count);
    });
    if (range.overlaps(RegisterRange::Scalar, kVcc, 2))
      isNone = false;
  });
  isNone |= becomesNone;
  if (made)
    flags.insert(upper_bound(flags, *made), *made);
}

/// `flags` before the block become those behind it.
SmallVector<size_t, 2> Separation::successorsOf(size_t block, Flags &flags) const {
  bool isNone = false;
  StringRef last;
  for (const DecodedInstruction &decoded : instructionsOf(blocks[block], function))
    if (decoded.size != 0) {
      last = disassembler.name(decoded.inst.getOpcode());
      follow(decoded.inst, flags, isNone);
    }
  const SmallVector<size_t, 2> &all = blocks[block].successors;
  if (!isNone || all.size() != 2 || blocks[block].flow.kind != Flow::Kind::Either)
    return all;
  if (last.starts_with("S_CBRANCH_VCCZ"))
    return {all[1]};
  if (last.starts_with("S_CBRANCH_VCCNZ"))
    return {all[0]};
  return all;
}

std::optional<SeparateBlocks> Separation::separate() {
  findTested();
  SeparateBlocks found;
  std::vector<Flags> before;
  std::map<std::pair<size_t, Flags>, size_t> numbers;
  const auto numberOf = [&](size_t block, Flags flags) {
    erase_if(flags, [&](const Flag &flag) { return !tested[block][flag.first]; });
    const auto [at, isNew] = numbers.try_emplace({block, flags}, found.blocks.size());
    if (isNew) {
      found.blocks.push_back(blocks[block]);
      found.origins.push_back(block);
      before.push_back(std::move(flags));
    }
    return at->second;
  };
  numberOf(0, {});
  for (size_t i = 0; i < found.blocks.size(); ++i) {
    if (found.blocks.size() > kCopies * blocks.size())
      return std::nullopt;
    Flags flags = before[i];
    SmallVector<size_t, 2> successors;
    for (size_t successor : successorsOf(found.origins[i], flags))
      successors.push_back(numberOf(successor, flags));
    found.blocks[i].successors = std::move(successors);
  }
  return found;
}

} // namespace

ArrayRef<DecodedInstruction> instructionsOf(const BasicBlock &block,
                                            ArrayRef<DecodedInstruction> function) {
  const auto isBefore = [](const DecodedInstruction &a, uint64_t address) {
    return a.address < address;
  };
  return {lower_bound(function, block.address, isBefore),
          lower_bound(function, block.end, isBefore)};
}

SeparateBlocks separateByFlags(const Disassembler &disassembler,
                               ArrayRef<DecodedInstruction> function,
                               std::vector<BasicBlock> blocks) {
  if (auto found = Separation(disassembler, function, blocks).separate())
    return std::move(*found);
  SeparateBlocks same{std::move(blocks), {}};
  for (size_t i = 0; i < same.blocks.size(); ++i)
    same.origins.push_back(i);
  return same;
}

} // namespace rubia::codegen
