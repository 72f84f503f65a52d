// SPDX-License-Identifier: Apache-2.0
// The registers of a wave when its kernel starts (AMDGPUUsage "Initial Kernel Execution State").
#pragma once

#include "emulator/Emulator.h"
#include "emulator/lib/machine/Target.h"
#include "emulator/lib/machine/Workgroup.h"
#include <vector>

namespace rubia::emulator {

/// The scratch memory of a workgroup: its waves' parts lie one behind the other.
struct ScratchArea {
  uint64_t base = 0;
  uint64_t size = 0;
};

struct WaveInputs {
  uint64_t kernarg = 0;
  uint64_t packet = 0;
  ScratchArea scratch;
};

/// Where a wave starts.
uint64_t entryOf(const Kernel &kernel);

/// What registers that nothing initialises hold: a signaling NaN as a float, out of all bounds as
/// an index or a pointer.
constexpr uint32_t kPoison = 0x7fa5a5a5;

/// Arguments that arrive in SGPRs, in dwords (AMDGPUUsage "Preloaded Kernel Arguments").
struct KernargPreload {
  unsigned offset = 0, count = 0;
};
KernargPreload kernargPreload(const Kernel &kernel);

/// Vector registers that the kernel's descriptor asks for.
unsigned allocatedVgprs(const Kernel &kernel, const targets::Target &target);

/// A wave at the start of the launch's kernel, but for its workgroup's number: what is the same for
/// all workgroups is computed once.
class WaveStart {
public:
  /// Of `wave`, whose memory, place in the group and place in the code are set. Its vector
  /// registers get what they hold at the start, of which code that names registers only below
  /// `named` changes no others.
  WaveStart(Wave &wave, const Launch &launch, const WaveInputs &inputs, unsigned named);
  /// Puts the wave at the start of its kernel in `workgroup`. `all`: any register may have changed.
  void apply(Wave &wave, const Launch &launch, Dim3 workgroup, bool all) const;

private:
  Wave initial;
  std::vector<uint32_t> workItems; // the registers of a block with its work-items' ids, by blocks
  unsigned named;
};

} // namespace rubia::emulator
