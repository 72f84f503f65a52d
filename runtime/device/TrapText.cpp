// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/TrapText.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace rubia::runtime {

static StringRef deedOf(abi::TrapReason reason) {
  switch (reason) {
  case abi::TrapReason::Assertion:
    return "failed an assertion";
  case abi::TrapReason::Unsupported:
    return "called what cannot be compiled";
  case abi::TrapReason::NeedsIndependentScheduling:
    return "waits for a thread of its own warp, which needs independent thread scheduling";
  case abi::TrapReason::IllegalInstruction:
  case abi::TrapReason::MisalignedAddress:
  case abi::TrapReason::BarrierMisuse:
  case abi::TrapReason::SurfaceAccess:
    return "did what the hardware refuses";
  case abi::TrapReason::None:
  case abi::TrapReason::TrapInstruction:
    break;
  }
  return "executed trap";
}

static bool hasPlace(abi::TrapReason reason) {
  return reason != abi::TrapReason::Assertion && reason != abi::TrapReason::None &&
         reason != abi::TrapReason::TrapInstruction;
}

std::string textOf(const abi::TrapRecord &record, ArrayRef<std::string> places) {
  const auto reason = abi::TrapReason(record.reason);
  std::string text =
      formatv("thread ({0}, {1}, {2}) of CTA ({3}, {4}, {5}) {6}", record.tid[0], record.tid[1],
              record.tid[2], record.ctaid[0], record.ctaid[1], record.ctaid[2], deedOf(reason));
  if (hasPlace(reason))
    for (const std::string &place : places)
      text += ": " + place;
  return text;
}

} // namespace rubia::runtime
