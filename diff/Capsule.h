// SPDX-License-Identifier: Apache-2.0
// Capsules (docs/capsule.md): launches of kernels with all that they need and what they made of it.
// A file may come from anywhere: every size, offset, digest and number in it is checked before it
// is used, and no input makes a reader fault or take memory beyond the limits given here.
#pragma once

#include "diff/CapsuleFormat.h"
#include "input/File.h"
#include "runtime/cache/CacheKey.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rubia::capsule {

using runtime::Digest;

/// Where the launches ran.
struct Environment {
  std::string device;
  unsigned driverVersion = 0, computeCapability = 0, multiprocessors = 0;
  bool isJitForced = false; // the driver was told to run PTX alone
  /// What was left out of the capsule on purpose: images; and what launches made of their memory,
  /// of which digests are left.
  bool hasNoImages = false, hasNoResults = false;
};

/// An allocation or module variable that a launch could reach.
struct Region {
  uint64_t address = 0, bytes = 0;
  std::string kind; // "device", "managed", "host", "variable"
  std::string name; // of a variable
  Digest before{};
  std::optional<Digest> after; // none: the launch failed, or did not end alone
};

struct Launch {
  uint64_t ordinal = 0;  // among all launches of the program, from 0
  uint64_t ofKernel = 0; // among those of this kernel
  std::string kernel;
  std::vector<Digest> images; // of its module; several translation units; none: unknown
  unsigned ptxVersion = 0, binaryVersion = 0;
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  uint32_t sharedBytes = 0;
  bool isCooperative = false;
  struct Attribute {
    int id = 0;
    std::vector<uint8_t> value; // 64 bytes
  };
  std::vector<Attribute> attributes;
  std::vector<uint8_t> parameters;
  struct Parameter {
    uint32_t offset = 0, bytes = 0;
  };
  std::vector<Parameter> layout;
  std::vector<Region> memory; // no two overlap
  int status = 0;             // what the driver returned
  std::string problem;        // why it is recorded in part only

  /// Why there is nothing to compare with, or nothing to replay; empty: there is.
  std::string whyNotReplayable() const;
};

llvm::json::Value toJson(const Environment &environment);
llvm::json::Value toJson(const Launch &launch);

/// Counts of the last record; a program's recording that was cut short has none.
struct Counts {
  uint64_t launches = 0, recorded = 0, inStreamCapture = 0, graphLaunches = 0;
  double seconds = 0;
};

llvm::json::Value toJson(const Counts &counts);

class Capsule {
public:
  /// Reads all but memory and images. A record that is incomplete at the end of the file is passed
  /// over; a damaged one is an error.
  static llvm::Expected<Capsule> open(const std::string &path);

  Environment environment;
  std::vector<Launch> launches;
  std::optional<Counts> end; // none: cut short

  /// Of all records, in raw bytes; of the file.
  uint64_t rawBytes() const { return totalRaw; }
  uint64_t fileBytes() const { return file->size(); }
  size_t recordCount() const { return records.size(); }

  /// The bytes of an allocation. An error also if it has more than `most`.
  static constexpr uint64_t kMaxRegionBytes = uint64_t(1) << 32;
  llvm::Expected<std::vector<uint8_t>> contents(const Region &region, const Digest &map,
                                                uint64_t most = kMaxRegionBytes) const;
  llvm::Expected<std::vector<uint8_t>> image(const Digest &digest) const;
  /// The digests of an allocation's pages, which are there also where its bytes are not.
  llvm::Expected<std::vector<Digest>> pageDigests(const Region &region, const Digest &map) const;
  uint32_t bytesOfPages() const { return pageBytes; }

  /// Images that are not in the capsule, from a file that may hold some of them: a program, a
  /// library, a fatbin, a cubin, PTX. The number of those that launches name.
  llvm::Expected<size_t> addImages(const std::string &file);

  /// Reads everything: every digest, and that nothing is missing but what was left out.
  llvm::Error verify() const;
  /// Every record, in order, to be written elsewhere.
  llvm::Error
  forEachRecord(llvm::function_ref<llvm::Error(RecordType, llvm::ArrayRef<uint8_t>)> take) const;

private:
  struct Record {
    RecordHeader header;
    uint64_t offset; // of the payload
  };
  llvm::Error readRecords();
  llvm::Error readJson(const Record &record);
  llvm::Expected<std::vector<uint8_t>> payload(const Record &record) const;
  llvm::Expected<const Record *> find(RecordType type, const Digest &digest) const;
  llvm::Error failure(const llvm::Twine &what) const;

  std::string path;
  std::shared_ptr<input::File> file;
  uint32_t pageBytes = 0;
  uint64_t totalRaw = 0;
  std::vector<Record> records;
  std::map<std::pair<uint32_t, Digest>, size_t> byDigest;
  std::map<Digest, std::vector<uint8_t>> added; // images
};

/// A capsule being written, compressed: a temporary file beside `path`, for its owner only, which
/// takes that name at the end.
class CapsuleOutput {
public:
  static llvm::Expected<CapsuleOutput> create(const std::string &path, int compression = 9);
  CapsuleOutput(CapsuleOutput &&other) noexcept;
  ~CapsuleOutput(); // removes what was not finished

  llvm::Expected<Digest> add(RecordType type, llvm::ArrayRef<uint8_t> payload);
  llvm::Error add(RecordType type, const llvm::json::Value &value);
  /// The pages of an allocation and its map, whose digest it is.
  llvm::Expected<Digest> addMemory(llvm::ArrayRef<uint8_t> bytes);
  /// Its map alone.
  llvm::Expected<Digest> addDigests(llvm::ArrayRef<uint8_t> bytes);
  llvm::Error finish();

private:
  CapsuleOutput() = default;
  std::string path, temporary;
  int descriptor = -1, compression = 9;
  std::map<std::pair<uint32_t, Digest>, bool> written;
};

} // namespace rubia::capsule
