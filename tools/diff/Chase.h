// SPDX-License-Identifier: Apache-2.0
// The first instruction whose result differs between a target and the reference. If it loads, the
// threads that wrote what it loads are followed, back to an instruction that is no load.
#pragma once

#include "tools/diff/ReplayTargets.h"

namespace rubia::tools {

/// "thread (0,0,0) of CTA (1,0,0)"
std::string threadOf(const capsule::Writer &writer);

/// Products and sums are not fused meanwhile, and NaNs have NVIDIA's bits. Open results
/// (diff/Trace.h) are the target's on both sides; one that is beyond its own bound differs.
class Chase {
public:
  /// All are kept by reference. `isFailing`: the launch fails on the target.
  /// `moved`: what lies elsewhere there. An error: its threads
  /// cannot be followed.
  static llvm::Expected<Chase> open(const capsule::Capsule &capsule, const capsule::Launch &launch,
                                    const ReplayWork &work, const ReplayTarget &target,
                                    const ReplayTarget &reference, bool isFailing,
                                    const capsule::Launch::Moved &moved);

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
  Chase(const capsule::Capsule &capsule, const capsule::Launch &launch, const ReplayWork &work,
        const ReplayTarget &target, const ReplayTarget &reference, bool isFailing,
        const capsule::Launch::Moved &moved);
  llvm::Error readSites();
  llvm::Error boundFilters();
  llvm::Expected<capsule::TraceDifference> compare(const capsule::Writer &writer,
                                                   capsule::Given given, bool isStored = true);
  /// The same; where several threads store to one place, what is left there does not count.
  llvm::Expected<capsule::TraceDifference> compareOrdered(const capsule::Writer &writer,
                                                          capsule::Given given);
  /// Where it accesses memory, to be asked who wrote it. None: in local or constant memory, or
  /// unknown.
  std::optional<capsule::LocateRequest> placeOf(const capsule::TraceDifference &found,
                                                const capsule::Writer &writer) const;
  llvm::Expected<std::vector<capsule::Writer>> writersAt(const capsule::LocateRequest &place);
  /// Goes on with a thread that wrote what is loaded. False: none of them differs.
  llvm::Expected<bool> hop(capsule::Writer &writer, capsule::TraceDifference &found, Found &out);
  void tell(const capsule::TraceDifference &difference, llvm::StringRef whose, Found &out) const;
  void tellValue(const capsule::TraceDifference &difference, llvm::StringRef whose,
                 Found &out) const;
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
  const bool isFailing;
  std::vector<capsule::TraceSite> sites;
  std::vector<capsule::StoreSite> accesses;
  std::vector<std::pair<uint64_t, uint64_t>> fixed; // memory that lies where it lay
  /// Of a thread: what it computed on the target.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint8_t>> traces;
};

} // namespace rubia::tools
