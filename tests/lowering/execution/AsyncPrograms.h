// SPDX-License-Identifier: Apache-2.0
// What kernels of asynchronous copies start with.
#pragma once

#include "tests/lowering/execution/Execution.h"

namespace rubia::lowering::test {

/// A kernel for sm_90a, as executable() makes it.
inline std::string executable90(const std::string &body, const std::string &before = "",
                                const std::string &attributes = "") {
  std::string text = executable(body, before, attributes);
  const std::string old = ".version 8.0\n.target sm_80";
  return text.replace(text.find(old), old.size(), ".version 8.6\n.target sm_90a");
}

/// An mbarrier and what is copied to.
inline const std::string kVariables =
    ".shared .align 8 .b64 bar;\n.shared .align 1024 .b8 tile[4096];\n";
/// Their addresses are %r0 and %r1, and %p0 is true for thread 0.
inline const std::string kStart = "mov.u32 %r0, bar; mov.u32 %r1, tile; setp.eq.u32 %p0, %tid, 0;";
/// For the barrier's first phase.
inline const std::string kWait = "WAIT: mbarrier.try_wait.parity.shared.b64 %p9, [%r0], 0;"
                                 "@!%p9 bra WAIT;";

inline Form blockOf(unsigned threads) {
  Form form;
  form.block = {threads, 1, 1};
  return form;
}

} // namespace rubia::lowering::test
