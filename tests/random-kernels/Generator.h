// SPDX-License-Identifier: Apache-2.0
// How a random kernel is made: a family says what it is mostly made of, and statements are drawn
// one after the other, each of registers that are in scope.
#pragma once

#include "Kernel.h"
#include "Rows.h"
#include "tests/ptx-generator/Random.h"

namespace rubia::random_kernels {

/// What kernels of a family consist of; weights.
struct Family {
  const char *name;
  unsigned weight;
  std::array<unsigned char, kTopicCount> topics;
  unsigned scalar, carry, pack, memory, atomic, control, warp, shared, call;
};
extern const std::vector<Family> &families();

class Generator {
public:
  explicit Generator(uint64_t seed);
  Kernel take();

private:
  /// Where statements are put, and what may stand there.
  struct Place {
    std::vector<Statement> *out;
    bool cta = false;                 // all threads of the CTA come here together
    std::optional<Operand> mask = {}; // the threads of the warp that come here together
    bool wholeWarp = false;           // these are all
    bool leave = false;               // a loop may be left
    unsigned depth = 0;
  };
  /// Registers of the kernel or of a function.
  struct Frame {
    std::array<unsigned, kKindCount> count = {};
    std::array<std::vector<unsigned>, kKindCount> visible;
    std::vector<Register> frozen, read, uniform;
  };

  /// Registers.
  Register fresh(Kind kind); // not visible before show()
  void show(Register reg) { frame.visible[unsigned(reg.kind)].push_back(reg.index); }
  void freeze(Register reg) { frame.frozen.push_back(reg); }
  bool isFrozen(Register reg) const;
  Register source(Kind kind);
  std::optional<Register> old(Kind kind); // that may be written again
  Register destination(Kind kind, const Place &place);
  Operand constant(Kind kind);
  Operand operand(char letter, const Row &row, unsigned position, bool mayBeConstant,
                  const Place &place);
  Operand predicate();
  Register bits(Register reg, const Place &place); // the same as an integer, whatever NaN it is

  /// Statements.
  void put(const Place &place, Statement statement);
  Register put(const Place &place, std::string word, Kind kind, std::vector<Operand> sources);
  void block(unsigned budget, const Place &place);
  std::vector<Statement> scope(unsigned budget, Place place);
  void statement(const Place &place);
  void scalar(const Place &place, const Row &row);
  void anyScalar(const Place &place);
  void videoSelectors(Statement &statement, const Row &row);
  void carryChain(const Place &place);
  void pack(const Place &place);
  void memory(const Place &place);
  void load(const Place &place, Space space);
  void store(const Place &place, Space space);
  Address address(Space space, unsigned bytes);
  void atomic(const Place &place);
  void reduce(const Place &place);
  void shared(const Place &place);
  void barrier(const Place &place);
  void exchange(const Place &place);
  void warp(const Place &place);
  void shuffle(const Place &place);
  void control(const Place &place);
  void branch(const Place &place);
  void loop(const Place &place);
  void switches(const Place &place);
  void call(const Place &place);
  void special(const Place &place);

  void initialise(const Place &place, bool ofKernel);
  void fillOwnMemory();
  void makeFunctions();
  void makeInputs();
  void observe(const Place &place);

  test::Random random;
  Kernel kernel;
  const Family *family = nullptr;
  Frame frame;
  std::array<bool, kKindCount> inUse = {};
  std::array<bool, 16> touched = {}; // spaces
  int budget = 0;                    // of the kernel
  bool inFunction = false;
};

} // namespace rubia::random_kernels
