// SPDX-License-Identifier: Apache-2.0
// How types, state spaces and special registers are written.
#pragma once

#include "ptx-frontend/InstructionTable.h"
#include "ptx-frontend/Module.h"
#include <string>

namespace rubia::ptx {

llvm::StringRef nameOf(Type type);           // ".u32"
llvm::StringRef nameOf(StateSpace space);    // ".global"
llvm::StringRef nameOf(SpecialRegister reg); // "%tid"
Type elementTypeOf(SpecialRegister reg);     // .u32 of %tid
unsigned widthOf(SpecialRegister reg);       // 4 of %tid
Version versionOf(SpecialRegister reg);      // the first that has it
unsigned smOf(SpecialRegister reg);
llvm::StringRef wordOf(Linkage linkage);        // ".visible ", with the space behind it, or nothing
std::string describe(const Variable &variable); // ".param .align 8 .b8[16]"

} // namespace rubia::ptx
