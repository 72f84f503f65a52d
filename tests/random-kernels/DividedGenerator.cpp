// SPDX-License-Identifier: Apache-2.0
#include "DividedGenerator.h"

namespace rubia::random_kernels {

DividedGenerator::DividedGenerator(uint64_t seed, bool hasMeetings)
    : StepGenerator(seed, hasMeetings ? 4 : 3), hasMeetings(hasMeetings) {
  kernel.warps = random.pick(std::array{1u, 2u, 2u, 4u});
  start(4 + number(8));
}

// ---------- Statements

void DividedGenerator::scalar() {
  const unsigned count = 1 + number(2);
  for (unsigned i = 0; i < count; ++i) {
    const std::string op =
        random.oneOf({"add.u32", "xor.b32", "mul.lo.u32", "sub.u32", "min.u32", "or.b32"}).str();
    put("{0} {1}, {2}, {3};", op, reg(), reg(), reg());
  }
}

// %t0: a lane of the mask, another one for each thread.
void DividedGenerator::pickMember() {
  put("and.b32 %t1, {0}, 31; shf.r.wrap.b32 %t0, $M, $M, %t1;", reg());
  put("brev.b32 %t0, %t0; clz.b32 %t0, %t0; add.u32 %t0, %t0, %t1; and.b32 %t0, %t0, 31;");
}

DividedGenerator::Operation DividedGenerator::operation() {
  const auto what = Together(number(9));
  switch (what) {
  case Together::Shift:
    return {what, random.oneOf({"bfly", "up", "down"}).str()};
  case Together::Vote:
    return {what, random.oneOf({"any", "all", "uni"}).str()};
  case Together::Sum:
    return {what,
            random.oneOf({"add.s32", "max.u32", "min.s32", "xor.b32", "and.b32", "or.b32"}).str()};
  case Together::Pick:
  case Together::Ballot:
  case Together::MatchAny:
  case Together::MatchAll:
  case Together::Elect:
  case Together::Exchange:
    break;
  }
  return {what, ""};
}

// What is only there for it, and changes no state, has no guard.
void DividedGenerator::execute(const Operation &operation, const std::string &guard) {
  const std::string to = reg(), from = reg();
  switch (operation.what) {
  case Together::Pick:
    pickMember();
    put("{0}shfl.sync.idx.b32 {1}, {2}, %t0, 31, $M;", guard, to, from);
    break;
  case Together::Shift: {
    const unsigned distance = 1 + number(random.chance(50) ? 31 : 4);
    const bool isUp = operation.word == "up";
    put("mov.b32 %t2, {0};", from);
    put("{0}shfl.sync.{1}.b32 %t2|%q1, %t2, {2}, {3}, $M;", guard, operation.word, distance,
        isUp ? 0 : 31);
    // From a thread that takes no part it is any value.
    put("{0} %t0, %lane, {1}; and.b32 %t0, %t0, 31; shr.u32 %t0, $M, %t0; and.b32 %t0, %t0, 1;",
        operation.word == "bfly" ? "xor.b32" : (isUp ? "sub.u32" : "add.u32"), distance);
    put("setp.eq.u32 %q2, %t0, 0;");
    put("{0}and.pred %q2, %q2, %q1; {0}selp.b32 {1}, 77, %t2, %q2;", guard, to);
    break;
  }
  case Together::Ballot:
    put("setp.lt.u32 %q1, {0}, {1};", from, reg());
    put("{0}vote.sync.ballot.b32 {1}, {2}%q1, $M;", guard, to, random.chance(30) ? "!" : "");
    break;
  case Together::Vote:
    put("setp.lt.u32 %q1, {0}, {1};", from, reg());
    put("{0}vote.sync.{1}.pred %q2, %q1, $M;", guard, operation.word);
    put("{0}selp.b32 %t0, 5, 3, %q2; {0}mad.lo.u32 {1}, {1}, %t0, 1;", guard, to);
    break;
  case Together::MatchAny:
    put("and.b32 %t0, {0}, 3;", from);
    put("{0}match.any.sync.b32 {1}, %t0, $M;", guard, to);
    break;
  case Together::MatchAll:
    put("shr.u32 %t0, {0}, {1};", from, random.pick(std::array{30u, 31u}));
    put("{0}match.all.sync.b32 {1}|%q2, %t0, $M;", guard, to);
    put("@%q2 xor.b32 %t0, %t0, 9; {0}xor.b32 {1}, {1}, %t0;", guard, to);
    break;
  case Together::Sum:
    put("{0}redux.sync.{1} {2}, {3}, $M;", guard, operation.word, to, from);
    break;
  case Together::Elect:
    put("{0}elect.sync %t0|%q2, $M;", guard);
    put("{0}selp.b32 %t1, 11, 0, %q2; {0}add.u32 %t1, %t1, %t0; {0}xor.b32 {1}, {1}, %t1;", guard,
        to);
    break;
  case Together::Exchange:
    put("{0}st.shared.u32 [%own], {1};", guard, from);
    put("{0}bar.warp.sync $M;", guard);
    pickMember();
    put("mad.lo.u32 %t1, %t0, 4, %tile;");
    put("{0}ld.shared.u32 {1}, [%t1];", guard, to);
    put("{0}bar.warp.sync $M;", guard);
    break;
  }
}

// Those that have met are all there.
void DividedGenerator::activeLanes() {
  put("bar.warp.sync $M; activemask.b32 %t0; and.b32 %t0, %t0, $M; xor.b32 {0}, {0}, %t0;", reg());
}

// ---------- Structure

std::string DividedGenerator::lanePredicate(const char *name) {
  switch (number(5)) {
  case 0:
    return llvm::formatv("setp.eq.u32 {0}, %lane, {1};", name, random.chance(60) ? 0 : number(32));
  case 1:
    return llvm::formatv("setp.lt.u32 {0}, %lane, {1};", name, 1 + number(31));
  case 2:
    return llvm::formatv("and.b32 %t0, %lane, {1}; setp.ne.u32 {0}, %t0, 0;", name, 1 + number(31));
  default:
    return llvm::formatv("setp.lt.u32 {0}, {1}, {2};", name, reg(), reg());
  }
}

void DividedGenerator::step() {
  text.clear();
  const unsigned which = number(10);
  if (which < 2)
    scalar();
  else if (which == 2)
    activeLanes();
  else if (which < 6 && hasMeetings)
    random.chance(25) ? guardedMeeting() : meeting();
  else
    execute(operation());
  out->push_back({Step::What::Text, std::move(text), "", {}, {}});
}

void DividedGenerator::block(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    const unsigned which = depth < 3 ? number(10) : 9;
    if (which < 3)
      lanes();
    else if (which < 5)
      leaving();
    else if (which < 6)
      loop();
    else
      step();
  }
}

void DividedGenerator::lanes() {
  Step step{Step::What::Lanes, "  " + lanePredicate("%q4") + "\n", "", {}, {}};
  const unsigned first = 1 + number(3), second = number(3);
  step.body = inside(first);
  step.orElse = inside(second);
  out->push_back(std::move(step));
}

// Threads stay while a bit of a register is set, or until a round that depends on the lane.
void DividedGenerator::leaving() {
  Step step{Step::What::Leaving, "", "", {}, {}};
  step.text = llvm::formatv("  mov.u32 %limit, {0};\n", 2 + number(4));
  step.test = random.chance(50) ? llvm::formatv("  shr.u32 %t0, {0}, {1}; and.b32 %t0, %t0, 3; "
                                                "setp.ne.u32 %q4, %t0, 0;\n",
                                                reg(), number(30))
                                      .str()
                                : "  " + lanePredicate("%q4") + "\n";
  const unsigned first = number(3), second = 1 + number(2);
  step.body = inside(first);
  step.orElse = inside(second);
  out->push_back(std::move(step));
}

void DividedGenerator::loop() {
  Step step{Step::What::Loop, "", "", {}, {}};
  step.text = random.chance(50) ? "  add.u32 %limit, %warp, 2;\n"
                                : llvm::formatv("  mov.u32 %limit, {0};\n", 2 + number(3)).str();
  const unsigned count = 1 + number(3);
  step.body = inside(count);
  out->push_back(std::move(step));
}

// The same instructions, one after the other or in rounds.
void DividedGenerator::way(const std::vector<Operation> &operations, unsigned rounds,
                           bool isUnrolled) {
  const std::string again = label();
  const bool isLoop = rounds > 1 && !isUnrolled;
  if (isLoop)
    put("mov.u32 %i0, 0;\n{0}:", again);
  for (unsigned round = 0; round < (isUnrolled ? rounds : 1); ++round)
    for (const Operation &one : operations) {
      if (random.chance(40))
        scalar();
      execute(one);
    }
  if (isLoop)
    put("add.u32 %i0, %i0, 1; setp.lt.u32 %q0, %i0, {0}; @%q0 bra {1};", rounds, again);
}

void DividedGenerator::meeting() {
  std::vector<Operation> operations;
  const unsigned count = 1 + number(3), ways = random.chance(25) ? 3 : 2;
  const unsigned rounds = random.chance(50) ? 2 + number(3) : 1;
  for (unsigned i = 0; i < count; ++i)
    operations.push_back(operation());
  const std::string end = label();
  for (unsigned i = 0; i < ways; ++i) {
    const bool isLast = i + 1 == ways;
    const std::string next = label();
    if (!isLast)
      put("{0} @%q3 bra {1};", lanePredicate("%q3"), next);
    if (random.chance(30))
      scalar();
    way(operations, rounds, random.chance(15));
    if (!isLast)
      put("bra {0};\n{1}:", end, next);
  }
  put("\n{0}: bar.warp.sync $M;", end);
}

// Without branches: by a predicate and by its opposite.
void DividedGenerator::guardedMeeting() {
  const Operation one = operation();
  put("{0}", lanePredicate("%q3"));
  execute(one, "@%q3 ");
  execute(one, "@!%q3 ");
  put("bar.warp.sync $M;");
}

MatrixKernel DividedGenerator::take() {
  out = &kernel.steps;
  block(2 + number(4));
  return std::move(kernel);
}

MatrixKernel generateDivided(uint64_t seed, bool hasMeetings) {
  return DividedGenerator(seed, hasMeetings).take();
}

} // namespace rubia::random_kernels
