// What no litmus test can miss, with the reason: LLVM emits it, and the memory model of the target
// gives the same order without it.
#pragma once

#include <string>

namespace rubia::litmus {

/// Why a mutation of this kind on `arch` need not be noticed, or empty.
std::string reasonOf(const std::string &arch, const std::string &kind);

} // namespace rubia::litmus
