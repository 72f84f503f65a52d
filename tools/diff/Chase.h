// SPDX-License-Identifier: Apache-2.0
// The first instruction whose result differs between a target and the reference. If it loads, the
// threads that wrote what it loads are followed, back to an instruction that is no load.
#pragma once

#include "tools/diff/ReplayTargets.h"
#include <set>

namespace rubia::tools {

/// "thread (0,0,0) of CTA (1,0,0)"
std::string threadOf(const capsule::Writer &writer);

/// What is known of a launch that is followed.
struct Chased {
  const capsule::Launch &launch;
  const capsule::Launch::Moved &moved; // on the target
  bool isFailing = false;              // on the target
  bool isEndless = false;              // it fails as it does not end
  bool isOfNans = false;               // it computes with the bits of NaNs
};

/// Products and sums are not fused meanwhile. NaNs have NVIDIA's bits, unless their bits are what
/// is looked for. Open results (diff/Trace.h) are the target's on both sides; one that is beyond
/// its own bound differs.
class Chase {
public:
  /// All are kept by reference. An error: its threads cannot be followed.
  static llvm::Expected<Chase> open(const capsule::Capsule &capsule, const Chased &chased,
                                    const ReplayWork &work, const ReplayTarget &target,
                                    const ReplayTarget &reference);

  struct Found {
    std::vector<std::string> lines = {};         // of text
    std::optional<capsule::StoreSite> site = {}; // the instruction
    /// It makes another result of equal operands, or takes another way by them. False: it loads,
    /// and why it loads something else is not known.
    bool isComputed = false;
  };
  /// `whose`: what the thread is called in the text. `failingLine`: of the PTX, where it is known
  /// to fail; else 0. An error: it cannot be followed.
  llvm::Expected<Found> follow(const capsule::Writer &thread, const std::string &whose,
                               uint32_t failingLine = 0);
  /// The one instruction that writes to surfaces; none: there are others.
  std::optional<capsule::StoreSite> surfaceStore() const;
  /// Whether the instruction at this line changes memory by an operation.
  bool isAtomic(uint32_t line) const;
  bool hasFollowed(const capsule::Writer &thread) const {
    return traces.contains({ctaOf(thread), threadNumber(thread)});
  }

private:
  /// A thread that is followed, up to the store that led to it, and where it differs.
  struct Followed {
    capsule::Writer thread;
    std::optional<capsule::StoreAt> until;
    capsule::TraceDifference found;
    std::set<size_t> loads = {}; // entries of its trace that were followed
  };
  Chase(const capsule::Capsule &capsule, const Chased &chased, const ReplayWork &work,
        const ReplayTarget &target, const ReplayTarget &reference);
  llvm::Error readSites();
  llvm::Error boundFilters();
  llvm::Expected<capsule::TraceDifference> compare(const capsule::Writer &writer,
                                                   capsule::Given given,
                                                   const std::optional<capsule::StoreAt> &until,
                                                   bool isStored = true);
  /// Of a thread of a launch that fails on the emulator.
  llvm::Expected<capsule::TraceDifference> compareBehindFailures(const capsule::Writer &writer);
  /// As compare(); where several threads store to one place, what is left there does not count.
  llvm::Expected<capsule::TraceDifference>
  compareOrdered(const capsule::Writer &writer, capsule::Given given,
                 const std::optional<capsule::StoreAt> &until = std::nullopt);
  /// Where it accesses memory, to be asked who wrote it. None: in local or constant memory, or
  /// unknown.
  std::optional<capsule::LocateRequest> placeOf(const capsule::TraceDifference &found,
                                                const capsule::Writer &writer) const;
  llvm::Expected<std::vector<capsule::Writer>> writersAt(const capsule::LocateRequest &place);
  /// Goes on with a thread that wrote what is loaded. False: none of them differs.
  llvm::Expected<bool> hop(Followed &at, Found &out);
  /// Nobody who wrote what is loaded differs: what the thread makes of its loads. True: another
  /// load is to be followed, the furthest of those that were not. `isOpen`: the first one may
  /// differ by open results.
  llvm::Expected<bool> hopInside(Followed &at, bool isOpen, Found &out);
  capsule::StoreAt storeAt(uint32_t line, const capsule::TraceDifference &loaded) const;
  void tell(const capsule::TraceDifference &difference, llvm::StringRef whose, Found &out) const;
  void tellValue(const capsule::TraceDifference &difference, llvm::StringRef whose,
                 Found &out) const;
  void tellOpen(const capsule::TraceDifference &difference, Found &out) const;
  void tellFailure(uint32_t line, llvm::StringRef whose, Found &out) const;
  std::string textOfRegister(const capsule::TraceSite &reader, llvm::StringRef name,
                             uint64_t bits) const;
  size_t index() const { return size_t(&launch - capsule.launches.data()); }
  uint32_t ctaOf(const capsule::Writer &writer) const;
  uint32_t threadNumber(const capsule::Writer &writer) const;

  const capsule::Capsule &capsule;
  const capsule::Launch &launch;
  ReplayWork work;
  ReplayTarget target;
  const ReplayTarget &reference;
  const bool isFailing, isEndless, isOfNans;
  std::vector<capsule::TraceSite> sites;
  std::vector<capsule::StoreSite> accesses;
  std::vector<std::pair<uint64_t, uint64_t>> fixed; // memory that lies where it lay
  /// Of a thread: what it computed on the target.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint8_t>> traces;
  /// The same on the reference, by what it was given.
  std::map<std::tuple<uint32_t, uint32_t, capsule::Given>, std::vector<uint8_t>> given;
  /// Threads whose stores were followed, with the lines of these, addresses and bits.
  std::set<std::tuple<uint32_t, uint32_t, uint32_t, uint64_t, uint64_t>> stores;
};

} // namespace rubia::tools
