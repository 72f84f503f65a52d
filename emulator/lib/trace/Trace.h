// SPDX-License-Identifier: Apache-2.0
// Writes down executed instructions with what they changed, for Launch::trace.
//
// Registers are kept before an instruction and compared behind it: all scalar ones, and those
// vector ones that it writes.
#pragma once

#include "emulator/lib/decode/InstructionClass.h"
#include "emulator/lib/machine/SourceText.h"
#include "emulator/lib/observe/Observer.h"
#include <map>

namespace rubia::emulator {

/// A vector register, or the addresses of an access, in the lanes that matter.
struct LaneValues {
  llvm::SmallVector<uint8_t, 64> lanes;
  llvm::SmallVector<uint64_t, 64> values;
};

struct RegisterChange {
  std::string name; // "s4", "vcc", "v12", "a3"
  uint64_t value = 0;
  LaneValues lanes; // of vector registers
  bool isVector = false;
};

struct TracedAccess {
  Space space = Space::Global;
  bool reads = false, writes = false;
  unsigned bytes = 0; // of a lane
  LaneValues addresses;
};

/// One executed instruction.
struct TracedInstruction {
  uint64_t launch = 0; // of the process' launches, from 1
  Dim3 workgroup;
  unsigned wave = 0, waveSize = 32;
  uint64_t number = 0; // of the wave's instructions, from 0
  uint64_t pc = 0;
  std::string text;
  InstructionClass kind = InstructionClass::Other;
  std::string source; // SourceLines::at(), if it is another one than before
  std::string sourceText;
  uint64_t exec = 0;        // before it
  bool execChanged = false; // by it, or since the wave's last line
  bool fault = false;       // it was not completed
  std::vector<RegisterChange> registers;
  std::vector<TracedAccess> accesses;
};

class TraceObserver : public Observer {
public:
  TraceObserver(const TraceRequest &request, const Launch &launch);
  ~TraceObserver() override; // writes what was at fault

  void groupEnded(RunningGroup &group) override;
  void before(RunningGroup &group, Wave &wave, const MicroOp &op, const InstructionStep &step,
              const Accesses &accesses) override;
  void after(RunningGroup &, Wave &wave, const MicroOp &op, const InstructionStep &step) override;

private:
  struct Traced {
    uint64_t count = 0;
    uint64_t lastExec = 0;
    std::string lastSource;
    bool pending = false; // `current` has been begun
    TracedInstruction current;
    /// Before the instruction.
    uint32_t scalars[kScalarCount];
    bool scc = false;
    llvm::SmallVector<std::pair<unsigned, std::vector<uint32_t>>, 4> vectors; // number, lanes
  };
  bool isChosen(const RunningGroup &group, const Wave &wave) const;
  void begin(Traced &traced, const RunningGroup &group, const Wave &wave, const MicroOp &op);
  void keep(Traced &traced, const Wave &wave, const InstructionStep &step);
  void addAccesses(TracedInstruction &line, const Accesses &accesses) const;
  void compare(Traced &traced, const Wave &wave);
  void write(const TracedInstruction &line);

  TraceRequest request;
  const Launch &launch;
  uint64_t number; // of the launch
  bool hasTitle = false;
  std::string kernel;
  const SourceLines *lines; // null: none are known
  const SteppedProgram &code;
  bool isThisKernel;
  std::optional<unsigned> onlyWave, onlyLane;
  std::map<const Wave *, Traced> waves;
  SourceText sources;
};

/// What a request of this kernel asks for that the launch lacks; empty: nothing.
std::string whyNothingIsTraced(const TraceRequest &request, const Launch &launch);

/// The line without its end, as text or as JSON.
std::string traceText(const TracedInstruction &line);
std::string traceJson(const TracedInstruction &line, llvm::StringRef kernel);

} // namespace rubia::emulator
