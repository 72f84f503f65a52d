// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/WaitNotice.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace rubia::runtime {

static constexpr std::chrono::seconds kPatience{2};

void WaitNotice::begin(Clock::time_point now) {
  if (!waiting++)
    since = now;
}

void WaitNotice::end(Clock::time_point now) {
  if (!--waiting)
    before += now - since;
}

WaitNotice::Clock::duration WaitNotice::waited(Clock::time_point now) const {
  return before + (waiting ? now - since : Clock::duration{});
}

std::string WaitNotice::due(bool isCached, Clock::time_point now) {
  if (said || waited(now) < kPatience)
    return "";
  said = true;
  const double seconds = std::chrono::duration<double>(waited(now)).count();
  const double rate = double(made) / seconds;
  std::string text =
      formatv("waiting for kernels to be compiled: {0} done in {1:f1} s", made, seconds).str();
  if (made)
    text += formatv(", {0:f1} a second", rate).str();
  if (const uint64_t left = known > taken ? known - taken : 0) {
    text += formatv(". The loaded modules have {0} more", left).str();
    if (made)
      text += formatv(": {0:f0} s if all are launched", double(left) / rate).str();
  }
  return text + (isCached ? ". Later runs find them in the cache" : "");
}

} // namespace rubia::runtime
