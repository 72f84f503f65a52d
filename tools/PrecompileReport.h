// SPDX-License-Identifier: Apache-2.0
// What became of every kernel: as lines of JSON while it happens, as one JSON document and as a
// table for people at the end.
#pragma once

#include "tools/PrecompileInputs.h"
#include "llvm/ADT/ArrayRef.h"
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace rubia::tools {

struct KernelReport {
  enum class Status { Compiled, Cached, Failed };

  std::string name;
  size_t image = 0; // index into the inputs' images
  uint32_t unit = 0;
  std::string arch;
  Status status = Status::Failed;
  std::string reason; // Failed
  /// Of the unit that the kernel is in, when it was compiled; 0: it was not, or not known.
  double seconds = 0;
  uint64_t memoryBytes = 0;
  /// Of the code.
  uint32_t vgprs = 0, agprs = 0, sgprs = 0, vgprSpills = 0, sgprSpills = 0;
  uint32_t ldsBytes = 0, scratchBytes = 0, maxThreads = 0;
  std::string warpForm, warpFormReason;
  uint32_t exactThreads = 0;      // of a CTA; others take the half-filled form
  std::vector<std::string> notes; // notesOf(), of the unit
};

/// Fills in what the code object says about the kernel; the error of an object that lacks it.
llvm::Error describeCode(KernelReport &kernel, llvm::ArrayRef<uint8_t> codeObject);

struct PrecompileReport {
  std::vector<std::string> archs;
  std::string shard; // "2/8", or empty
  unsigned files = 0;
  std::vector<PrecompileImage> images;
  std::vector<InputProblem> problems; // of files and of images
  std::vector<KernelReport> kernels;
  double seconds = 0;
  const char *interrupted = nullptr; // the signal that ended the run
  size_t pending = 0;                // interrupted: units that were not done

  size_t count(KernelReport::Status status) const;
  size_t failures() const { return count(KernelReport::Status::Failed) + problems.size(); }
  /// kDone, kPartlyFailed, or kFailed if nothing worked.
  int exitStatus() const;

  nlohmann::ordered_json json() const;
  void printTable(llvm::raw_ostream &os) const;   // every kernel
  void printSummary(llvm::raw_ostream &os) const; // counts, and what failed
};

nlohmann::ordered_json toJson(const KernelReport &kernel, const PrecompileImage &image);
std::string dump(const nlohmann::ordered_json &json, int indent); // names may be no UTF-8

} // namespace rubia::tools
