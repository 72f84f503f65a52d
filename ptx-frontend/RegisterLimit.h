// SPDX-License-Identifier: Apache-2.0
// ptxas' option -maxrregcount, which containers, linkers and cuModuleLoadDataEx give beside PTX.
#pragma once

#include "ptx-frontend/Module.h"
#include <string>

namespace rubia::ptx {

/// ptxas takes no limit below this one, and ignores one above kMostRegisters.
inline constexpr unsigned kLeastRegisterLimit = 24, kMostRegisters = 255;

/// The text of `module` with `.maxnreg limit` in each kernel that says nothing itself: as for
/// ptxas, `.maxnreg` and `.minnctapersm` beside a number of threads are stronger than the option.
/// Lines stay where they are. `limit`: 0 and more than kMostRegisters change nothing.
std::string limitRegisters(const Module &module, unsigned limit);

/// The same of a text; one that cannot be parsed stays as it is, for who reports its errors.
std::string limitRegisters(std::string text, unsigned limit);

/// The value of -maxrregcount in a line of ptxas' options, as containers record them; 0: none.
unsigned registerLimitOf(llvm::StringRef options);

} // namespace rubia::ptx
