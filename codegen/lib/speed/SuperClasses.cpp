// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/speed/SuperClasses.h"
#include "codegen/lib/speed/Wrap.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include <map>
#include <tuple>

using namespace llvm;

namespace rubia::codegen {
namespace {

/// Classes are tables of the target. Which sizes they have depends on the processor. The addresses
/// stay what they are: targetMachine() keeps a thread's machines for as long as this is kept.
using Question = std::tuple<const TargetRegisterInfo *, const TargetRegisterClass *, unsigned,
                            const TargetRegisterClass *, unsigned, unsigned, unsigned>;

struct Answer {
  const TargetRegisterClass *common;
  unsigned first, second; // what the indices become
};

constexpr size_t kMostAnswers = 50'000; // a target has hundreds

thread_local std::map<Question, Answer> answers;
thread_local SuperClassAnswers counts;

} // namespace

SuperClassAnswers superClassAnswers() { return counts; }

} // namespace rubia::codegen

// TargetRegisterInfo::getCommonSuperRegClass(const TargetRegisterClass *, unsigned,
//     const TargetRegisterClass *, unsigned, unsigned &, unsigned &) const
#define RUBIA_FUNCTION                                                                             \
  _ZNK4llvm18TargetRegisterInfo22getCommonSuperRegClassEPKNS_19TargetRegisterClassEjS3_jRjS4_

extern "C" {

const TargetRegisterClass *
    RUBIA_REAL(RUBIA_FUNCTION)(const TargetRegisterInfo *registers, const TargetRegisterClass *a,
                               unsigned indexOfA, const TargetRegisterClass *b, unsigned indexOfB,
                               unsigned &first, unsigned &second);

const TargetRegisterClass *
RUBIA_WRAP(RUBIA_FUNCTION)(const TargetRegisterInfo *registers, const TargetRegisterClass *a,
                           unsigned indexOfA, const TargetRegisterClass *b, unsigned indexOfB,
                           unsigned &first, unsigned &second) {
  using namespace rubia::codegen;
  if (answers.size() == kMostAnswers)
    answers.clear();
  auto [at, isNew] =
      answers.try_emplace({registers, a, indexOfA, b, indexOfB, registers->getRegSizeInBits(*a),
                           registers->getRegSizeInBits(*b)});
  Answer &answer = at->second;
  if (isNew) {
    // LLVM leaves the indices as they are where it finds no class.
    answer = {nullptr, first, second};
    answer.common = RUBIA_REAL(RUBIA_FUNCTION)(registers, a, indexOfA, b, indexOfB, answer.first,
                                               answer.second);
  }
  ++(isNew ? counts.found : counts.remembered);
  if (answer.common) {
    first = answer.first;
    second = answer.second;
  }
  return answer.common;
}
}
