// SPDX-License-Identifier: Apache-2.0
// How the steps of a kernel of matrices are drawn. The state is %s0, %s1, ...; %t, %f, %d, %q and
// the factors %a and %b live within a step. The kernel's frame is in MatrixText.cpp.
#pragma once

#include "StepGenerator.h"

namespace rubia::random_kernels {

inline constexpr unsigned kTileBytes = 2048; // of shared memory, for each warp
inline constexpr unsigned kOwnBytes = 1024;  // of the results, for each warp: of bulk copies
inline constexpr unsigned kRows = kProgramInput / 16; // of 16 bytes, in the input

class MatrixGenerator : StepGenerator {
public:
  explicit MatrixGenerator(uint64_t seed);
  MatrixKernel take();

private:
  using Draw = void (MatrixGenerator::*)();

  /// Structure.
  void step(Draw draw);
  void block(unsigned count) override;
  void divided();
  void loop();
  void setWarpPredicate();

  /// What a warp does at once (MatrixSteps.cpp).
  void scalar();
  void laneNumbers();
  void divergentLanes();
  void shuffle();
  void sum();
  void integerProduct();
  void binaryProduct();
  void floatProduct();
  void halfProduct();
  void doubleProduct();
  void loadMatrix();
  void storeMatrix();
  void transpose();
  void guarded();
  void call();

  /// Copies (MatrixCopies.cpp).
  void asyncCopies();
  void asyncRing();
  void issueRing(const char *at, unsigned stages, unsigned rounds, unsigned size, unsigned form);
  void barrierRounds();
  void bulkOut();
  void elected();

  /// Names.
  std::vector<std::string> different(unsigned count);
  std::vector<std::string> any(unsigned count);
  static std::string list(const std::vector<std::string> &names);
  static std::vector<std::string> named(const char *prefix, unsigned count);

  void join() { put("bar.warp.sync -1;"); }
  void smallHalves(const std::string &result, bool isBf16);
  void rowAddress(unsigned row);

  std::string guard; // of warp operations: "" or "@%q4 "
};

} // namespace rubia::random_kernels
