// SPDX-License-Identifier: Apache-2.0
#include "BarrierGenerator.h"
#include <utility>

namespace rubia::random_kernels {

BarrierGenerator::BarrierGenerator(uint64_t seed) : StepGenerator(seed, 5) {
  kernel.warps = random.pick(std::array{2u, 2u, 3u, 4u, 7u, 18u});
  start(3 + number(6));
}

// ---------- Statements

void BarrierGenerator::scalar() {
  const std::string op =
      random.oneOf({"add.u32", "xor.b32", "mul.lo.u32", "sub.u32", "min.u32", "or.b32"}).str();
  put("{0} {1}, {2}, {3};", op, reg(), reg(), reg());
}

// What a thread of another warp, or the own one, stored in the same round.
void BarrierGenerator::exchange() {
  const unsigned row = number(16) * 128;
  put("st.shared.u32 [%own+{0}], {1};", row, reg());
  put("bar.sync {0};", number(3));
  put("add.u32 %t0, %warp, {0}; rem.u32 %t0, %t0, {1};", 1 + number(kernel.warps), kernel.warps);
  put("mov.u32 %t1, tiles; mad.lo.u32 %t1, %t0, 2048, %t1; xor.b32 %t0, %lane, {0};", number(32));
  put("mad.lo.u32 %t1, %t0, 4, %t1; ld.shared.u32 {0}, [%t1+{1}];", reg(), row);
  put("bar.sync {0};", number(3));
}

void BarrierGenerator::reduction() {
  const std::string result = reg();
  put("setp.lt.u32 %q1, {0}, {1};", reg(), reg());
  if (random.chance(50)) {
    put("bar.red.popc.u32 %t0, {0}, %q1; mad.lo.u32 {1}, {1}, 7, %t0;", number(3), result);
  } else {
    put("bar.red.{0}.pred %q2, {1}, %q1; selp.b32 %t0, 21, 2, %q2; xor.b32 {2}, {2}, %t0;",
        random.chance(50) ? "and" : "or", number(3), result);
  }
}

void BarrierGenerator::warpOperation() {
  switch (number(3)) {
  case 0:
    put("shfl.sync.bfly.b32 {0}, {1}, {2}, 31, -1;", reg(), reg(), 1 + number(31));
    break;
  case 1:
    put("redux.sync.add.s32 {0}, {1}, -1;", reg(), reg());
    break;
  default:
    put("setp.lt.u32 %q1, {0}, {1}; vote.sync.ballot.b32 {2}, %q1, -1;", reg(), reg(), reg());
  }
}

// To memory that is only the thread's, of the block or of the results.
void BarrierGenerator::store() {
  if (random.chance(50))
    put("st.shared.u32 [%own+{0}], {1};", number(16) * 128, reg());
  else
    put("mul.wide.u32 %d1, %lane, 4; add.u64 %d1, %d1, %mine; st.global.u32 [%d1+{0}], {1};",
        number(8) * 128, reg());
}

// A warp that others do not wait for any more.
void BarrierGenerator::end() {
  put("setp.eq.u32 %q3, %warp, {0}; @%q3 exit;", number(kernel.warps));
}

// ---------- Structure

std::string BarrierGenerator::warpPredicate(const char *name) {
  const std::string relation = random.oneOf({"lt", "gt", "eq", "ne"}).str();
  return llvm::formatv("  setp.{0}.u32 {1}, %warp, {2};\n", relation, name,
                       number(kernel.warps + 1));
}

void BarrierGenerator::step() {
  text.clear();
  const unsigned which = number(isTogether ? 10 : 4);
  if (which < 1)
    scalar();
  else if (which < 2)
    warpOperation();
  else if (which < 4)
    store();
  else if (which < 8)
    exchange();
  else
    reduction();
  out->push_back({Step::What::Text, std::move(text), "", {}, {}});
}

void BarrierGenerator::block(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    const unsigned which = depth < 3 ? number(10) : 9;
    if (which < 3 && isTogether)
      rounds();
    else if (which < 4 && isTogether)
      branchOfAll();
    else if (which < 6)
      divided();
    else
      step();
  }
}

std::vector<Step> BarrierGenerator::insideOfSome(unsigned count) {
  const bool were = std::exchange(isTogether, false);
  std::vector<Step> steps = inside(count);
  isTogether = were;
  return steps;
}

// As many for all threads, since none has a number of 1,024 or more.
void BarrierGenerator::rounds() {
  Step step{Step::What::Loop, "", "", {}, {}};
  const unsigned rounds = 1 + number(4);
  step.text =
      random.chance(50)
          ? llvm::formatv("  shr.u32 %t0, %thread, 10; add.u32 %limit, %t0, {0};\n", rounds).str()
          : llvm::formatv("  and.b32 %t0, %thread, 1024; or.b32 %limit, %t0, {0};\n", rounds).str();
  step.body = inside(1 + number(3));
  if (random.chance(10)) {
    text.clear();
    end();
    step.body.push_back({Step::What::Text, std::move(text), "", {}, {}});
  }
  out->push_back(std::move(step));
}

void BarrierGenerator::branchOfAll() {
  const bool isElse = random.chance(50);
  Step step{Step::What::Divided, "", "", {}, {}};
  step.text =
      llvm::formatv("  setp.{0}.u32 %q4, %thread, {1};\n", isElse ? "lt" : "ge", 1024 + number(50));
  const unsigned first = 1 + number(2), second = 1 + number(2);
  step.body = inside(first);
  step.orElse = inside(second);
  out->push_back(std::move(step));
}

void BarrierGenerator::divided() {
  Step step{Step::What::Divided, warpPredicate("%q4"), "", {}, {}};
  const unsigned first = 1 + number(2), second = number(3);
  step.body = insideOfSome(first);
  step.orElse = insideOfSome(second);
  out->push_back(std::move(step));
}

MatrixKernel BarrierGenerator::take() {
  out = &kernel.steps;
  rounds();
  block(1 + number(4));
  return std::move(kernel);
}

MatrixKernel generateBarriers(uint64_t seed) { return BarrierGenerator(seed).take(); }

} // namespace rubia::random_kernels
