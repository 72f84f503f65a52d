// SPDX-License-Identifier: Apache-2.0
// What `rubia diff` tells: for people, for programs (docs/schemas/diff.schema.json), for CI
// (JUnit).
#pragma once

#include "diff/Compare.h"
#include "llvm/Support/raw_ostream.h"

namespace rubia::tools {

struct DiffReport {
  struct Target {
    std::string name;
    std::vector<capsule::LaunchResult> launches;
  };
  std::string capsule; // the file
  std::string recordedOn;
  capsule::Environment recorded;
  std::vector<Target> targets;

  capsule::Verdict verdict() const; // the worst
  void writeText(llvm::raw_ostream &os, bool all) const;
  void writeJson(llvm::raw_ostream &os) const;
  void writeJUnit(llvm::raw_ostream &os) const;
  /// One file that needs no network (DiffHtml.cpp).
  void writeHtml(llvm::raw_ostream &os) const;
};

/// "launch 3 k"
std::string titleOf(const capsule::Launch &launch);
/// "thread (1,0,0) of CTA (0,0,0) wrote it at line 18 of the PTX: st.global.u32 [%d3], %r4;"
std::string textOf(const capsule::Writer &writer);
/// "1 allocation lies elsewhere ...; 3 words ... were changed"; empty: no word was changed.
std::string textOf(const capsule::Launch::Moved &moved);
/// "the reference fuses 3 of 4 sums ..."; empty: there are none that it may.
std::string textOf(const capsule::Launch::Fusion &fusion);

/// "12 of 8750 f32 elements differ; first element 17: expected ..., got ..."
std::string textOf(const capsule::Launch &launch, const capsule::BufferResult &buffer);

} // namespace rubia::tools
