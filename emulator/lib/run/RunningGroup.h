// SPDX-License-Identifier: Apache-2.0
// A workgroup with the memory of its waves.
#pragma once

#include "emulator/lib/machine/InitialState.h"
#include "emulator/lib/memory/PooledMemory.h"
#include "emulator/lib/run/Dispatch.h"

namespace rubia::emulator {

class RunningGroup {
public:
  /// Of kernels of `program`. `counts`: null, or one number for every operation of the program.
  RunningGroup(Dispatch &dispatch, const Program &program, unsigned worker, OperationTally *counts);
  ~RunningGroup();

  void start(uint64_t linearId);
  enum class Outcome { Finished, Faulted, Paused };
  Outcome run();
  uint64_t executed() const;
  /// "workgroup (0,0,0): wave 0 at pc 0x1c0: s_cbranch_scc1 65532, 3 waves from 1 waiting at ...".
  std::string describe() const;
  /// Makes the first wave that has not ended the one at fault.
  void fail(FaultKind kind);

  Workgroup shared;
  Dim3 id;
  std::vector<Wave> waves;
  std::string faultDetail; // what an observer has to say about the fault

private:
  template <bool kCount> bool runWave(Wave &wave, uint64_t &budget);

  Dispatch &dispatch;
  const Program &program;
  OperationTally *counts;
  PooledMemory registers, smallScratch;
  std::vector<WaveStart> starts; // of the waves
  std::vector<uint8_t> lds;
  uint8_t *scratch = nullptr; // in smallScratch, or mapped
  uint64_t scratchSize = 0;
  uint64_t slice = 0; // of a wave's instructions: how long the next run() is
};

std::vector<RunningGroup *> pointersTo(llvm::ArrayRef<std::unique_ptr<RunningGroup>> groups);

} // namespace rubia::emulator
