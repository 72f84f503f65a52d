// SPDX-License-Identifier: Apache-2.0
#include "tests/litmus/Kernel.h"

namespace rubia::litmus {

const char kModuleHead[] = ".version 8.0\n.target sm_80\n.address_size 64\n";

static const char *scopeName(Scope scope, bool membar) {
  switch (scope) {
  case Scope::Cta:
    return ".cta";
  case Scope::Gpu:
    return membar ? ".gl" : ".gpu";
  case Scope::Sys:
    return ".sys";
  }
  return "";
}

/// The words between the mnemonic and the type.
static std::string qualifiers(const Test &test, const Operation &operation) {
  const bool atomic = operation.kind == Operation::Exchange || operation.kind == Operation::Add;
  std::string text;
  if (operation.isVolatile)
    text = ".volatile";
  else if (operation.strong)
    text = std::string(operation.acquires && operation.releases ? ".acq_rel"
                       : operation.acquires                     ? ".acquire"
                       : operation.releases                     ? ".release"
                                                                : ".relaxed") +
           scopeName(operation.scope, false);
  text += test.isShared(operation.location) ? ".shared" : ".global";
  if (atomic)
    text += operation.kind == Operation::Add ? ".add" : ".exch";
  return text;
}

/// `label` is unique.
static std::string instruction(const Test &test, const Operation &operation,
                               const std::string &label) {
  const std::string result = "%result" + std::to_string(operation.result);
  const std::string address = std::string("[%") + operation.location + "]";
  const std::string value = std::to_string(operation.value);
  const std::string last = "%result" + std::to_string(operation.lastWord);
  const std::string words = qualifiers(test, operation);
  switch (operation.kind) {
  case Operation::Load:
    if (operation.isVector)
      return "ld" + words + ".v4.u32 {" + result + ", _, _, " + last + "}, " + address + ";\n";
    return "ld" + words + ".u32 " + result + ", " + address + ";\n";
  case Operation::Await:
    return label + ": ld" + words + ".u32 %awaited, " + address + ";\nsetp.ne.u32 %p, %awaited, " +
           value + "; @%p bra " + label + ";\n";
  case Operation::Store:
    if (operation.isVector)
      return "st" + words + ".v4.u32 " + address + ", {" + value + ", " + value + ", " + value +
             ", " + value + "};\n";
    return "st" + words + ".u32 " + address + ", " + value + ";\n";
  case Operation::Exchange:
    return "atom" + words + ".b32 " + result + ", " + address + ", " + value + ";\n";
  case Operation::Add:
    return "atom" + words + ".u32 " + result + ", " + address + ", " + value + ";\n";
  case Operation::Fence:
    if (operation.membar)
      return std::string("membar") + scopeName(operation.scope, true) + ";\n";
    return std::string("fence") + (operation.sequential ? ".sc" : ".acq_rel") +
           scopeName(operation.scope, false) + ";\n";
  case Operation::Barrier:
    return "bar.sync 0;\n";
  }
  return "";
}

std::string kernelOf(const Test &test, const std::string &name) {
  std::string shared, parameters = ".param .u64 results", text;
  bool hasShared = false;
  for (char location : test.locations) {
    const std::string one(1, location);
    if (test.isShared(location)) {
      hasShared = true;
      shared +=
          ".shared .align 16 .b8 memory_" + one + "[" + std::to_string(16 * kInstances) + "];\n";
      text += ".reg .u32 %base_" + one + ", %place_" + one + "; mov.u32 %base_" + one +
              ", memory_" + one + "; mad.lo.u32 %place_" + one + ", %lane, 16, %base_" + one +
              ";\ncvt.u64.u32 %" + one + ", %place_" + one + ";\n";
    } else {
      parameters += ", .param .u64 " + one;
      text += "ld.param.u64 %" + one + ", [" + one + "]; cvta.to.global.u64 %" + one + ", %" + one +
              "; mad.wide.u32 %" + one + ", %lane, " + std::to_string(kStride) + ", %" + one +
              ";\n";
    }
  }
  const size_t values = test.results + test.locations.size();
  std::string head = ".visible .entry " + name + "(" + parameters + ") {\n" + shared +
                     ".reg .pred %p, %elsewhere<" + std::to_string(2 * test.threads.size()) +
                     ">;\n.reg .u32 %lane, %wave, %warp, %cta, %final, %awaited;\n"
                     ".reg .u64 %out;\n.reg .u32 %result<" +
                     std::to_string(test.results + 1) + ">;\n";
  for (char location : test.locations)
    head += std::string(".reg .u64 %") + location + ";\n";
  // In a wave of its own, or in one lane: %warp is the thread's number then, %lane the instance's.
  head += test.isOneWarp
              ? "mov.u32 %lane, %tid.x; and.b32 %wave, %lane, 3; shl.b32 %warp, %wave, 1;\n"
                "shr.u32 %lane, %lane, 2; mov.u32 %cta, %ctaid.x;\n"
              : "mov.u32 %lane, %tid.x; shr.u32 %wave, %lane, 6; and.b32 %lane, %lane, 63;\n"
                "mov.u32 %warp, %warpid;\n"
                "setp.ge.u32 %p, %lane, 32; @%p exit;\nmov.u32 %cta, %ctaid.x;\n";
  head += "ld.param.u64 %out, [results]; cvta.to.global.u64 %out, %out;\n"
          "mad.wide.u32 %out, %lane, " +
          std::to_string(4 * values) + ", %out;\n";
  if (hasShared) {
    text += "setp.ne.u32 %p, %wave, 0; @%p bra initialised;\n";
    for (char location : test.locations)
      if (test.isShared(location))
        text += std::string("st.shared.v4.u32 [%") + location + "], {0, 0, 0, 0};\n";
    text += "initialised: bar.sync 0;\n";
  }
  unsigned label = 0;
  std::vector<unsigned> waves(test.threads.size()); // so far, in each CTA
  for (size_t i = 0; i < test.threads.size(); ++i) {
    const std::string next = "thread" + std::to_string(i + 1);
    const unsigned wave = waves[test.cta[i]]++;
    // Of values that are the same for a warp, else: no thread waits for another one of its warp.
    const std::string elsewhere = "%elsewhere" + std::to_string(2 * i);
    const std::string otherWarp = "%elsewhere" + std::to_string(2 * i + 1);
    text += "setp.ne.u32 " + elsewhere + ", %cta, " + std::to_string(test.cta[i]) + "; @" +
            elsewhere + " bra " + next + ";\nsetp.ne.u32 " + otherWarp + ", %warp, " +
            std::to_string(2 * wave) + "; @" + otherWarp + " bra " + next + ";\n";
    for (const Operation &operation : test.threads[i])
      text += instruction(test, operation, "again" + std::to_string(label++));
    for (const Operation &operation : test.threads[i])
      for (int value : {operation.result, operation.lastWord})
        if (value >= 0)
          text += "st.global.u32 [%out+" + std::to_string(4 * value) + "], %result" +
                  std::to_string(value) + ";\n";
    text += "bra done;\n" + next + ":\n";
  }
  text += "done:\n";
  if (hasShared) {
    text += "bar.sync 0;\nsetp.ne.u32 %p, %wave, 0; @%p exit;\n";
    for (size_t i = 0; i < test.locations.size(); ++i)
      if (test.isShared(test.locations[i]))
        text += std::string("ld.shared.u32 %final, [%") + test.locations[i] +
                "];\nst.global.u32 [%out+" + std::to_string(4 * (test.results + i)) +
                "], %final;\n";
  }
  return head + text + "ret;\n}\n";
}

} // namespace rubia::litmus
