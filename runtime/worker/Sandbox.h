// SPDX-License-Identifier: Apache-2.0
// What a compile process gives up before it reads the first byte that a stranger wrote. LLVM parses
// and compiles that; whoever takes it over should find nothing to do. A compile process needs no
// files and no network: its supervisor hands it the image and the socket for the answer.
#pragma once

#include <string>

namespace rubia::runtime {

/// Confines the calling process, which must have one thread, for ever: limits, a user and a network
/// namespace of its own, no capabilities, no new privileges, and a filter of system calls
/// (SystemCallFilter.h). Returns what the kernel refused, for people; empty: nothing.
std::string enterSandbox();

} // namespace rubia::runtime
