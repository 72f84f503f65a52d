// SPDX-License-Identifier: Apache-2.0
// A warp: its rows, and the paths that its threads are on.
//
// A path is a set of lanes at one instruction of one chain of calls. Of those that can go on, the
// one at the lowest place does (Order.h); paths that meet become one. A path that goes on for very
// long while another could is set behind it, so that a thread may wait for another of its warp.
//
// Two chains of calls may use the same rows and bytes: each lane is on one path, so every write is
// of the path's own lanes alone.
#pragma once

#include "reference/lib/interpreter/Code.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"
#include <array>
#include <map>
#include <memory>
#include <tuple>

namespace rubia::reference::interpreter {

class Cta;

/// An activation: equal chains of calls are the same Frame.
struct Frame {
  const Frame *parent = nullptr;
  const FunctionCode *code = nullptr;
  const CallData *call = nullptr;
  uint32_t returnPc = 0; // in the parent
  uint32_t rowBase = 0, byteBase = 0;
  uint32_t bytes = 0; // of the code, and of an argument list without a size
};

struct Path {
  enum class State : uint8_t { Runs, WaitsForMembers, WaitsAtBarrier };
  Lanes lanes = 0;
  uint32_t pc = 0;
  const Frame *frame = nullptr;
  State state = State::Runs;
  int turn = 0;      // lower: it has waited long, and goes before all others
  uint64_t last = 0; // Warp::executed when it was last chosen
  // Where it waits at a barrier:
  uint32_t barrier = 0, threads = 0; // its number, and how many it is for (0: all)
  Lanes condition = 0;               // of a reduction: where it holds
  const Micro *where = nullptr;      // the instruction
};

class Warp {
public:
  /// `lanes`: those that exist. `firstThread`: of the CTA, linear.
  Warp(Cta &cta, unsigned index, Lanes lanes);

  /// Executes up to `budget` instructions, fewer if the warp waits, ends or fails.
  void run(uint64_t &budget);
  bool hasEnded() const { return live == 0; }
  /// Whether a path can go on.
  bool canRun() const;

  // ---------- For instructions

  uint32_t active = 0; // lanes that execute the instruction
  const uint64_t *source(const Micro &micro, unsigned n) {
    const Source &source = micro.sources[n];
    const uint64_t *row = bases[unsigned(source.base)] + size_t(source.row) * kLanes;
    return source.negated || source.frameAddress ? adjusted(source, row, n) : row;
  }
  uint64_t *destination(const Micro &micro, unsigned n) {
    return frameRows + size_t(micro.destinations[n].row) * kLanes;
  }
  /// All ones for an active lane, else 0.
  const uint64_t *activeRow() const { return activeWords; }
  uint64_t *carryRow() { return frameRows + size_t(kCarryRow) * kLanes; }
  uint64_t *rowOf(uint32_t row) { return frameRows + size_t(row) * kLanes; }
  /// Writes the active lanes of a destination.
  void write(const Micro &micro, unsigned n, unsigned lane, uint64_t value) {
    destination(micro, n)[lane] = value & micro.destinations[n].mask;
  }
  /// `size` bytes that a lane accesses, aligned; null after fail().
  uint8_t *memory(ptx::StateSpace space, uint64_t address, uint64_t size, unsigned lane);
  /// Memory of the current frame.
  uint8_t *frameMemory(unsigned lane) { return local[lane].data() + current().frame->byteBase; }
  /// What alloca gives: local memory of each lane above the frames.
  static constexpr uint64_t kStackBase = 1 << 24;
  std::array<std::vector<uint8_t>, kLanes> stack;
  /// Ends the launch. `lane`: the thread that it is about; kLanes: the first of the active ones.
  void fail(const llvm::Twine &reason, unsigned lane = kLanes);
  bool hasFailed() const { return failed; }
  /// The value of %clock and the like: what the warp has executed.
  uint64_t clock() const { return executed; }

  // ---------- For control flow; the current path's pc is behind the instruction

  Path &current() { return paths[at]; }
  /// Lanes of the current path go on elsewhere.
  void jump(Lanes lanes, uint32_t pc);
  /// Lanes of the current path enter a function. `again`: lanes that execute the call once more, as
  /// they call another one.
  void call(const CallData &data, const FunctionCode &callee, Lanes lanes, Lanes again = 0);
  void returnFrom(Lanes lanes);
  void exit(Lanes lanes);
  /// Lanes of the current path wait at a barrier, which has been told.
  void waitAt(const Micro &micro, uint32_t barrier, uint32_t threads, Lanes condition, Lanes lanes);
  /// Lanes arrive at a barrier for so many threads and go on. True: all of the warp have now.
  bool arriveAt(uint32_t barrier, uint32_t threads, Lanes lanes);
  /// The paths that wait at a barrier go on; `result` is written where it is a reduction.
  void release(uint32_t barrier, llvm::function_ref<uint64_t(const Micro &)> result);
  /// The paths at a barrier, if all of the warp's lanes are there; else none.
  llvm::SmallVector<const Path *, 4> pathsAt(uint32_t barrier) const;
  /// An instruction at which the warp waits, for a report; null if it does not.
  const Path *waiting() const;
  /// For a report about a path.
  std::string describe(const Path &path) const;

  Cta &cta;
  const unsigned index;
  const Lanes existing;
  Lanes live;
  uint64_t clusterPhase = 0; // behind the one that it has arrived in at barrier.cluster
  uint64_t executed = 0;

private:
  const uint64_t *adjusted(const Source &source, const uint64_t *row, unsigned n);
  bool choosePath();
  bool precedes(const Path &a, const Path &b) const;
  void merge();
  void boostStarved();
  void enter(const Frame *frame);
  void setActive(Lanes lanes);
  uint32_t nextStop() const;
  Lanes guarded(const Micro &micro, Lanes lanes) const;
  /// Executes an instruction for the members of its mask that are all there; the others wait.
  void meet(const Micro &micro, Lanes lanes);
  Lanes ready(const Micro &micro, Lanes lanes);
  void meetElsewhere(size_t waiter);
  struct Part { // of a path's lanes
    size_t path;
    Lanes lanes;
  };
  void executeTogether(llvm::ArrayRef<Part> parts);
  void remove(size_t path);
  /// Lanes of the current path become one of their own, which is returned.
  Path &split(Lanes lanes);
  const Frame *frameFor(const Frame *parent, const FunctionCode *code, const CallData *call,
                        uint32_t returnPc);
  void fillSpecials();
  bool reserve(const Frame &frame);

  std::vector<Path> paths;
  size_t at = 0;
  bool rechoose = true; // the paths have changed
  bool failed = false;
  uint64_t patienceEnds = 0;  // when paths that wait are looked for; by `executed`
  const Micro *now = nullptr; // the instruction that is executed
  std::vector<uint64_t> rows, specials;
  std::array<std::vector<uint8_t>, kLanes> local; // memory of each lane
  std::map<std::tuple<const Frame *, const FunctionCode *, const CallData *, uint32_t>,
           std::unique_ptr<Frame>>
      frames;
  struct Arrival {
    Lanes lanes = 0;
    uint32_t threads = 0;
  };
  std::map<uint32_t, Arrival> arrived; // of barriers that some lanes have arrived at
  const uint64_t *bases[3] = {};
  uint64_t *frameRows = nullptr;
  const Frame *entered = nullptr;
  Lanes expanded = 0; // that activeWords is of
  alignas(64) uint64_t activeWords[kLanes] = {};
  std::deque<std::array<uint64_t, kLanes>> scratch; // of adjusted sources
};

} // namespace rubia::reference::interpreter
