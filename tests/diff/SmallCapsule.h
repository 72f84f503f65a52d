// SPDX-License-Identifier: Apache-2.0
// A capsule of one small launch, and rubia diff on it.
#pragma once

#include "diff/Capsule.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

namespace diff_tests {

using namespace llvm;
using namespace rubia::capsule;

inline constexpr unsigned kThreads = 64, kCtas = 2, kWrong = 105;

// Element i becomes i + 1; element 7 is written twice.
inline constexpr const char *kKernel = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .b32 %r<5>;
  .reg .b64 %d<4>;
  .reg .pred %p1;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mad.lo.u32 %r3, %r2, 64, %r1;
  setp.eq.u32 %p1, %r3, 7;
  ld.param.u64 %d1, [p];
  mul.wide.u32 %d2, %r3, 4;
  add.s64 %d3, %d1, %d2;
  add.u32 %r4, %r3, 1;
  @%p1 st.global.u32 [%d3], %r3;
  st.global.u32 [%d3], %r4;
  ret;
}
)";

inline constexpr uint64_t kAddress = 0x6fddafe00000;

/// The capsule says that element `wrong` is to be another.
inline std::string makeCapsule(unsigned wrong, StringRef kernel = kKernel, bool hasMemory = true,
                               uint32_t other = 0xabcd, uint64_t address = kAddress) {
  const std::string path = testing::TempDir() + "rubia-diff." + std::to_string(getpid());
  CapsuleOutput output = cantFail(CapsuleOutput::create(path));
  cantFail(output.add(RecordType::Environment, toJson(Environment{"none", 13000, 90, 1, true})));
  Launch launch;
  launch.kernel = "k";
  launch.images.push_back(
      cantFail(output.add(RecordType::Image, ArrayRef(kernel.bytes_begin(), kernel.size()))));
  launch.grid[0] = kCtas;
  launch.block[0] = kThreads;
  launch.parameters.resize(8);
  support::endian::write64le(launch.parameters.data(), address);
  launch.layout = {{0, 8}};
  std::vector<uint8_t> before(kThreads * kCtas * 4), after = before;
  for (unsigned i = 0; i < kThreads * kCtas; ++i)
    support::endian::write32le(after.data() + i * 4, i == wrong ? other : i + 1);
  if (hasMemory)
    launch.memory.push_back({address, before.size(), "device", "",
                             cantFail(output.addMemory(before)),
                             cantFail(output.addMemory(after))});
  cantFail(output.add(RecordType::Launch, toJson(launch)));
  cantFail(output.finish());
  return path;
}

/// stdout, and behind it the status.
inline std::string rubia(const std::string &arguments,
                         const std::string &program = "'" RUBIA_COMMAND "'") {
  FILE *pipe = popen((program + " " + arguments + " 2>&1").c_str(), "r");
  if (!pipe)
    return "popen";
  std::string text(65536, 0);
  text.resize(fread(text.data(), 1, text.size(), pipe));
  const int status = pclose(pipe);
  return text + "status " + std::to_string(WEXITSTATUS(status));
}

/// Removes the capsule.
inline std::string diff(const std::string &path, StringRef options,
                        const std::string &program = "'" RUBIA_COMMAND "'") {
  std::string text = rubia(formatv("diff '{0}' {1}", path, options).str(), program);
  unlink(path.c_str());
  return text;
}

inline void expectIn(const std::string &text, StringRef what) {
  EXPECT_TRUE(StringRef(text).contains(what)) << text << "\nlacks: " << what.str();
}

} // namespace diff_tests
