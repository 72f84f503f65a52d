// SPDX-License-Identifier: Apache-2.0
// Branches, loops and switches of the generator.
#include "Generator.h"

namespace rubia::random_kernels {

void Generator::control(const Place &place) {
  size_t which = random.below(10);
  if (place.leave && random.chance(25)) {
    Statement statement;
    statement.what = Statement::What::Leave;
    statement.guard = predicate();
    return put(place, std::move(statement));
  }
  if (which < 5)
    branch(place);
  else if (which < 9)
    loop(place);
  else
    switches(place);
}

void Generator::branch(const Place &place) {
  Statement statement;
  statement.what = Statement::What::If;
  Place inner = place;
  bool hasElse = random.chance(45);
  std::optional<Operand> elseMask;
  if (!inFunction && place.cta && random.chance(30)) {
    statement.uniform = true;
    Register condition = put(
        place, "setp." + random.oneOf({"lt.s32", "ne.s32", "ge.u32", "eq.u32"}).str(), Kind::Pred,
        {Operand::of(random.pick(frame.uniform)),
         random.chance(50) ? constant(Kind::B32) : Operand::of(random.pick(frame.uniform))});
    freeze(condition);
    statement.guard = Operand::of(condition, random.chance(50));
    elseMask = place.mask;
  } else {
    statement.guard = predicate();
    inner.cta = false;
    inner.mask.reset();
    inner.wholeWarp = false;
    if (place.mask && family->warp && random.chance(60)) {
      Statement vote;
      vote.what = Statement::What::Warp;
      vote.word = "vote.sync.ballot.b32";
      vote.sources = {*statement.guard, *place.mask};
      vote.destinations = {fresh(Kind::B32)};
      Register mask = vote.destinations[0];
      put(place, std::move(vote));
      freeze(mask);
      inner.mask = Operand::of(mask);
      if (hasElse) {
        Register other = put(place, "xor.b32", Kind::B32, {Operand::of(mask), *place.mask});
        freeze(other);
        elseMask = Operand::of(other);
      }
    }
  }
  // The condition may be written in between: it is read once.
  statement.body = scope(1 + unsigned(random.below(10)), inner);
  inner.mask = elseMask;
  if (hasElse)
    statement.orElse = scope(1 + unsigned(random.below(8)), inner);
  put(place, std::move(statement));
}

void Generator::loop(const Place &place) {
  Statement statement;
  statement.what = Statement::What::Loop;
  Place inner = place;
  if (random.chance(55)) {
    statement.uniform = true;
    statement.count = 1 + unsigned(random.below(5));
  } else {
    statement.sources = {Operand::of(source(Kind::B32))};
    statement.voting = !inFunction && place.wholeWarp && family->warp && random.chance(60);
    inner.cta = false;
    if (!statement.voting) {
      inner.mask.reset();
      inner.wholeWarp = false;
      inner.leave = true;
    }
  }
  if (statement.uniform || statement.voting)
    inner.leave = false;
  if (statement.uniform && !place.cta && random.chance(30)) {
    inner.leave = true; // then the threads part
    inner.mask.reset();
    inner.wholeWarp = false;
  }
  // The counter: read, never written.
  statement.destinations = {fresh(Kind::B32)};
  Register counter = statement.destinations[0];
  freeze(counter);
  auto visible = frame.visible;
  show(counter);
  statement.body = scope(2 + unsigned(random.below(12)), inner);
  frame.visible = std::move(visible);
  statement.destinations = {counter};
  --budget;
  place.out->push_back(std::move(statement));
}

void Generator::switches(const Place &place) {
  Statement statement;
  statement.what = Statement::What::Switch;
  statement.sources = {Operand::of(source(Kind::B32))};
  Place inner = place;
  inner.cta = false;
  inner.mask.reset();
  inner.wholeWarp = false;
  unsigned count = random.chance(50) ? 2 : 4;
  for (unsigned i = 0; i < count; ++i)
    statement.cases.push_back(scope(1 + unsigned(random.below(5)), inner));
  put(place, std::move(statement));
}

} // namespace rubia::random_kernels
