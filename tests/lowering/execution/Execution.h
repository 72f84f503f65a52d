// SPDX-License-Identifier: Apache-2.0
// Compiles a module of one unit and runs its kernel `k` on the emulator, in every warp form.
#pragma once

#include "emulator/Emulator.h"
#include "lowering/Abi.h"
#include "lowering/Lowering.h"
#include "tests/Targets.h"
#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace rubia::settings::MmaMode {
extern const Word Ieee;
} // namespace rubia::settings::MmaMode
namespace rubia::settings::NanMode {
extern const Word Any;
} // namespace rubia::settings::NanMode

namespace rubia::lowering::test {

/// A way to compile and launch.
struct Form {
  std::string arch = "gfx1100"; // with wave64, one of the forms has to be chosen
  bool halfFilled = false;
  bool safeAtomics = false;
  bool packed = false;  // where it is not sound, it is an error
  bool checked = false; // then: or ends with one
  settings::Word mma = settings::MmaMode::Ieee;
  settings::Word nan = settings::NanMode::Any;
  unsigned optLevel = 3;
  emulator::Dim3 grid = {1, 1, 1}, block = {32, 1, 1}; // as CUDA means them
  uint32_t dynamicSharedBytes = 0;
  bool sharedInMemory = false;        // shared memory lies in device memory
  uint32_t sharedSlots = 64;          // then: for so many CTAs
  emulator::Dim3 cluster = {0, 0, 0}; // not 0: code for clusters, of so many CTAs
  bool byTickets = false;             // then: which CTA a workgroup is follows from when it begins
  bool inParts = false;               // each function with an address is compiled apart
  unsigned hostThreads = 1;
  std::optional<uint64_t> orderSeed; // the emulator's check `order`
  bool expectTrap = false, mayTrap = false;
  uint32_t spinLimit = 1 << 22;
};

struct Outcome {
  std::vector<uint32_t> words; // of the buffer, after the run
  abi::TrapRecord trap = {};
};

/// A kernel k(.param .u64 p, .param .u32 n) with registers %p, %rs, %r, %rd, %f, %fd (0 to 19).
/// %buf is p as a global address, %tid the linear index of the thread in its CTA, %mine the address
/// of its word: p + 4 * (%tid + CTA size * %ctaid.x).
std::string executable(const std::string &body, const std::string &before = "",
                       const std::string &attributes = "");

/// Runs kernel `k` with a buffer of these words as its first parameter and their number as the
/// second.
Outcome run(const std::string &ptx, std::vector<uint32_t> words, const Form &form = {});

/// What a kernel is compiled to if no form is asked for, from the metadata.
struct WarpFormOf {
  std::string form, reason;
  uint32_t exactThreads = 0;
};
WarpFormOf warpFormOf(const std::string &ptx, const std::string &arch = "gfx942");

/// Runs in wave32, in the half-filled and, where it is sound, in the packed form, and checks that
/// all agree. One of the forms is also run unoptimised, which one the text of the PTX decides; with
/// RUBIA_TEST_TARGETS all are. Where there is shared memory, also with it in device memory, and
/// where functions are called through addresses, also in parts.
std::vector<uint32_t> runAll(const std::string &ptx, const std::vector<uint32_t> &words,
                             Form form = {});

/// The same for all targets, optimised; those with wave64 in each form that is sound. Shared memory
/// is also in device memory. By default two of six: one with wave64 alone, which also has shared
/// memory in device memory, and another, by the text of the PTX. RUBIA_TEST_TARGETS asks for all.
std::vector<uint32_t> runOnAllTargets(const std::string &ptx, const std::vector<uint32_t> &words,
                                      Form form = {});
inline const std::vector<const char *> kTargets = rubia::test::testTargets();
/// A target without waves of 32 lanes takes the half-filled form where a test does not choose.
inline bool isWave64(llvm::StringRef arch) { return !rubia::test::rowOf(arch).hasWave32; }

/// 0, 1, 2, ...
std::vector<uint32_t> counting(size_t size);

} // namespace rubia::lowering::test
