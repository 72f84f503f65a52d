// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/check/ExecRules.h"
#include "llvm/MC/MCInstrDesc.h"

using namespace llvm;

namespace rubia::codegen {

namespace {

struct RuleOfName {
  StringLiteral beginning;
  Rule rule;
};

/// By LLVM's names, which are the same for all generations.
constexpr RuleOfName kRules[] = {
    {"S_MOV_B32", Rule::Copy},
    {"S_MOV_B64", Rule::Copy},
    {"S_MOVK_I32", Rule::Copy},
    {"S_CMOV_B", Rule::MaybeCopy},
    {"S_CMOVK_I32", Rule::MaybeCopy},
    {"S_CSELECT_B", Rule::Select},
    {"S_AND_B", Rule::And},
    {"S_ANDN2_B", Rule::AndNot},
    {"S_OR_B", Rule::Or},
    {"S_XOR_B", Rule::Xor},
    {"S_ORN2_B", Rule::OrNot},
    {"S_NAND_B", Rule::Widen},
    {"S_NOR_B", Rule::Widen},
    {"S_XNOR_B", Rule::Widen},
    {"S_NOT_B", Rule::Not},
    {"S_WQM_B", Rule::WidenOne},
    {"S_AND_SAVEEXEC", Rule::AndSave},
    {"S_ANDN2_SAVEEXEC", Rule::AndNotSave},
    {"S_ANDN1_SAVEEXEC", Rule::NotAndSave},
    {"S_OR_SAVEEXEC", Rule::OrSave},
    {"S_XOR_SAVEEXEC", Rule::XorSave},
    {"S_ORN1_SAVEEXEC", Rule::WidenSave},
    {"S_ORN2_SAVEEXEC", Rule::WidenSave},
    {"S_NAND_SAVEEXEC", Rule::WidenSave},
    {"S_NOR_SAVEEXEC", Rule::WidenSave},
    {"S_XNOR_SAVEEXEC", Rule::WidenSave},
    {"S_ANDN1_WREXEC", Rule::NotAndWrite},
    {"S_ANDN2_WREXEC", Rule::AndNotWrite},
    {"S_ADD_I32", Rule::Add},
    {"S_ADD_U32", Rule::Add},
    {"S_SUB_I32", Rule::Subtract},
    {"S_SUB_U32", Rule::Subtract},
    {"S_ADDK_I32", Rule::AddToItself},
    {"S_GETPC", Rule::GetPc},
    {"V_WRITELANE_B32", Rule::WriteLane},
    {"V_READLANE_B32", Rule::ReadLane},
    {"V_READFIRSTLANE_B32", Rule::Overwrite},
    {"V_S_", Rule::Overwrite},
    {"V_MOV_B32_e", Rule::CopyVector},
    {"V_ACCVGPR_", Rule::CopyVector},
    {"SCRATCH_STORE_DWORD_", Rule::StoreScratch},
    {"SCRATCH_STORE_B32_", Rule::StoreScratch},
    {"SCRATCH_LOAD_DWORD_", Rule::LoadScratch},
    {"SCRATCH_LOAD_B32_", Rule::LoadScratch},
    {"BUFFER_STORE_DWORD_", Rule::StoreScratch},
    {"BUFFER_STORE_B32_", Rule::StoreScratch},
    {"BUFFER_LOAD_DWORD_", Rule::LoadScratch},
    {"BUFFER_LOAD_B32_", Rule::LoadScratch},
};

/// Memory that lanes address, but for scratch and what only exchanges words.
bool isAddressedByLanes(StringRef name) {
  if (name.contains("SWIZZLE") || name.contains("PERMUTE"))
    return false;
  return name.starts_with("DS_") || (name.starts_with("GLOBAL_") && !name.contains("WB")) ||
         name.starts_with("FLAT_");
}

} // namespace

Rule ruleOf(const Disassembler &disassembler, unsigned opcode) {
  StringRef name = disassembler.name(opcode);
  for (const RuleOfName &row : kRules)
    if (name.starts_with(row.beginning))
      return row.rule;
  const MCInstrDesc &description = disassembler.description(opcode);
  if (isAddressedByLanes(name) && description.mayStore())
    return Rule::Store;
  if (isAddressedByLanes(name) && description.mayLoad())
    return Rule::Load;
  return disassembler.isVectorAlu(opcode) ? Rule::Lanes : Rule::Overwrite;
}

} // namespace rubia::codegen
