// SPDX-License-Identifier: Apache-2.0
// The structure of a kernel of matrices: steps, branches that warps take apart, and loops.
#include "MatrixGenerator.h"
#include <algorithm>

namespace rubia::random_kernels {

MatrixGenerator::MatrixGenerator(uint64_t seed) : StepGenerator(seed, 2) {
  kernel.warps = random.pick(std::array{1u, 2u, 2u, 2u, 4u});
  start(10 + number(15));
}

// ---------- Names

std::vector<std::string> MatrixGenerator::any(unsigned count) {
  std::vector<std::string> names;
  while (names.size() < count)
    names.push_back(reg());
  return names;
}

std::vector<std::string> MatrixGenerator::different(unsigned count) {
  std::vector<std::string> names;
  while (names.size() < count)
    if (std::string name = reg(); std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  return names;
}

std::vector<std::string> MatrixGenerator::named(const char *prefix, unsigned count) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < count; ++i)
    names.push_back(prefix + std::to_string(i));
  return names;
}

std::string MatrixGenerator::list(const std::vector<std::string> &names) {
  std::string all;
  for (const std::string &name : names)
    all += (all.empty() ? "{" : ", ") + name;
  return all + "}";
}

// ---------- Steps

void MatrixGenerator::step(Draw draw) {
  text.clear();
  (this->*draw)();
  out->push_back({Step::What::Text, std::move(text), "", {}, {}});
}

void MatrixGenerator::block(unsigned count) {
  static constexpr Draw kDraws[] = {
      &MatrixGenerator::integerProduct, &MatrixGenerator::integerProduct,
      &MatrixGenerator::binaryProduct,  &MatrixGenerator::floatProduct,
      &MatrixGenerator::halfProduct,    &MatrixGenerator::doubleProduct,
      &MatrixGenerator::loadMatrix,     &MatrixGenerator::storeMatrix,
      &MatrixGenerator::transpose,      &MatrixGenerator::sum,
      &MatrixGenerator::shuffle,        &MatrixGenerator::scalar,
      &MatrixGenerator::laneNumbers,    &MatrixGenerator::laneNumbers,
      &MatrixGenerator::divergentLanes, &MatrixGenerator::guarded,
      &MatrixGenerator::asyncCopies,    &MatrixGenerator::call};
  for (unsigned i = 0; i < count; ++i) {
    if (depth < 3 && random.chance(20))
      divided();
    else if (depth < 3 && random.chance(8))
      loop();
    else
      step(random.pick(kDraws));
  }
}

// The same for all lanes of a warp: by its number, or by a vote.
void MatrixGenerator::setWarpPredicate() {
  if (random.chance(70)) {
    const std::string relation = random.oneOf({"lt", "gt", "eq", "ne"}).str();
    put("setp.{0}.u32 %q4, %warp, {1};", relation, number(kernel.warps + 1));
  } else {
    put("setp.lt.u32 %q4, {0}, 0x08000000; vote.sync.any.pred %q4, %q4, -1;", reg());
  }
}

void MatrixGenerator::divided() {
  Step step{Step::What::Divided, "", "", {}, {}};
  text.clear();
  setWarpPredicate();
  step.text = std::move(text);
  const unsigned first = 1 + number(2), second = number(3);
  step.body = inside(first);
  step.orElse = inside(second);
  out->push_back(std::move(step));
}

// Of as many rounds for each warp, or of more for some.
void MatrixGenerator::loop() {
  Step step{Step::What::Loop, "", "", {}, {}};
  const unsigned rounds = 2 + number(3);
  text.clear();
  switch (number(3)) {
  case 0:
    put("mov.u32 %limit, {0};", rounds);
    break;
  case 1:
    put("add.u32 %limit, %warp, {0};", rounds);
    break;
  default:
    put("xor.b32 %limit, %warp, 3; add.u32 %limit, %limit, 1;");
  }
  step.text = std::move(text);
  const unsigned count = 1 + number(3);
  step.body = inside(count);
  if (random.chance(60)) { // a rotation: values of one round are others' in the next
    text.clear();
    const std::vector<std::string> names = different(3);
    put("mov.u32 %t0, {0}; mov.u32 {0}, {1}; mov.u32 {1}, {2}; mov.u32 {2}, %t0;", names[0],
        names[1], names[2]);
    step.body.push_back({Step::What::Text, std::move(text), "", {}, {}});
  }
  out->push_back(std::move(step));
}

MatrixKernel MatrixGenerator::take() {
  static constexpr Draw kCopies[] = {&MatrixGenerator::asyncRing, &MatrixGenerator::barrierRounds,
                                     &MatrixGenerator::bulkOut, &MatrixGenerator::elected};
  out = &kernel.steps;
  // One in four kernels has copies of these kinds; most others may be packed.
  const bool hasCopies = random.chance(25);
  const unsigned parts = 1 + number(4);
  for (unsigned i = 0; i < parts; ++i) {
    if (hasCopies && random.chance(50))
      step(random.pick(kCopies));
    else if (random.chance(60))
      divided();
    else if (random.chance(40))
      loop();
    else
      block(1 + number(2));
  }
  return std::move(kernel);
}

MatrixKernel generateMatrices(uint64_t seed) { return MatrixGenerator(seed).take(); }

unsigned sizeOf(const std::vector<Step> &steps) {
  unsigned sum = 0;
  for (const Step &step : steps)
    sum += 1 + sizeOf(step.body) + sizeOf(step.orElse);
  return sum;
}

} // namespace rubia::random_kernels
