// SPDX-License-Identifier: Apache-2.0
// What tests of threads that wait for one another share.
#pragma once

#include "tests/lowering/execution/Execution.h"

namespace rubia::lowering::test {

inline Form ofThreads(uint32_t threads) {
  Form form;
  form.block = {threads, 1, 1};
  return form;
}

inline void expectReport(const std::string &ptx, Form form, uint32_t loops = 1) {
  form.expectTrap = true;
  form.spinLimit = 1000;
  for (const char *arch : kTargets) {
    form.arch = arch;
    form.halfFilled = isWave64(arch);
    rubia::abi::TrapRecord record = run(ptx, std::vector<uint32_t>(256, 0), form).trap;
    EXPECT_EQ(record.reason, uint32_t(rubia::abi::TrapReason::NeedsIndependentScheduling)) << arch;
    EXPECT_LT(record.place, loops);
  }
}

// The critical section of the kernels below, which takes the values of others.
inline const char *const kCount = "ld.volatile.global.u32 %r9, [%buf+4]; add.u32 %r9, %r9, 1;"
                                  "st.volatile.global.u32 [%buf+4], %r9; membar.gl;\n";

} // namespace rubia::lowering::test
