// SPDX-License-Identifier: Apache-2.0
// The launches of a capsule once more, through a libcuda.so.1: Rubia's, or any other. Each gets the
// memory that it had, at its addresses where they can be had. Where they cannot, pointers in
// parameters and memory are changed on the way in, and changed back on the way out.
#pragma once

#include "diff/Capsule.h"
#include "diff/Locate.h"
#include "diff/Perturbation.h"
#include "diff/Trace.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace rubia::capsule {

struct ReplayOptions {
  std::string library; // the path of libcuda.so.1
  std::string ptx;     // to be replayed in the place of all that was recorded; empty: that
  size_t from = 0;     // index of the first launch
  llvm::function_ref<bool(const Launch &)> isWanted;
  unsigned timeout = 0; // seconds that a launch may take before SIGALRM ends the process; 0: any
  std::optional<Noise> noise; // what is replayed moves the results of its inexact instructions
  bool isPlain = false;       // the interpreter fuses no products and sums
};

/// Writes a capsule of what the launches made of their memory, under their ordinals. A launch that
/// cannot be loaded or is refused has a `status` and a `problem`; one that fails as it runs has a
/// `problem`, and as nothing can be done with the device behind it, is the last. Returns the index
/// behind the last launch that was looked at.
llvm::Expected<size_t> replay(const Capsule &capsule, CapsuleOutput &output,
                              const ReplayOptions &options);

/// Runs one launch with its stores watched: who wrote the byte at `offset` of a region, the last
/// first, of the last kWatchSlotCount. An error: it cannot be replayed, or its PTX cannot be
/// changed.
struct LocateRequest {
  size_t launch = 0; // index
  size_t region = 0;
  uint64_t offset = 0;
  /// The byte lies in the shared memory of the CTA of this number, and `region` means nothing.
  std::optional<uint32_t> sharedOf = std::nullopt;
};
/// The contents of kWatchVariable before the launch; `region`: where the region is.
std::vector<uint8_t> watchRequest(const LocateRequest &request, uint64_t region);
llvm::Expected<std::vector<Writer>> locate(const Capsule &capsule, const LocateRequest &request,
                                           const std::string &library, const std::string &ptx);

/// The same for all words of a region, from one run.
llvm::Expected<WriterMap> locateAll(const Capsule &capsule, const LocateRequest &request,
                                    const std::string &library, const std::string &ptx);

/// What a thread computes, by its numbers: the buffer of kTraceVariable after a run of a launch, by
/// its index.
struct TraceOf {
  size_t launch = 0;
  uint32_t cta = 0, thread = 0;
  Given given = Given::Open; // what the reference takes from another run
  /// The launch is known to fail: the buffer lies in `file`, which keeps what was written down even
  /// if the process is ended.
  bool isFailing = false;
  std::string file = "";
};
llvm::Expected<std::vector<uint8_t>> trace(const Capsule &capsule, const TraceOf &of,
                                           const std::string &library, const std::string &ptx);

/// Of each region of a launch a byte for each page, 1 if the launch touches it: from a run of PTX
/// that notes it. All pages of variables are touched. An error: the launch cannot be looked at so.
using TouchedPages = std::vector<std::vector<uint8_t>>;
llvm::Expected<TouchedPages> touchedPages(const Capsule &capsule, const Launch &launch,
                                          const std::string &library);

/// Where allocations were, and where they are.
class Relocation {
public:
  struct Move {
    uint64_t from, to, bytes; // bytes: 0 for a function
  };
  explicit Relocation(std::vector<Move> moves);
  /// Each aligned word that is an address in an allocation, or the one behind its last byte. The
  /// number of words that changed; `changed` gets the offset of each.
  size_t apply(llvm::MutableArrayRef<uint8_t> bytes,
               llvm::function_ref<void(size_t)> changed = nullptr) const;
  Relocation reversed() const;

private:
  std::vector<Move> moves; // by `from`
};

} // namespace rubia::capsule
