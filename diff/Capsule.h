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
#include <array>
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
  bool isJitForced = false;                  // the driver was told to run PTX alone
  bool hasLibraryCapability = false;         // NVIDIA's libraries were told what Rubia tells them
  std::vector<std::string> commandLine = {}; // empty: it was not asked for
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

/// An array that a launch could reach through a texture or surface. Its contents are those of all
/// levels, one behind the other, with rows side by side.
struct ArrayRegion : Region {
  uint64_t width = 0, height = 0, depth = 0; // height and depth: 0 for fewer dimensions
  int format = 0;                            // CUarray_format
  unsigned channels = 0, flags = 0;
  unsigned levels = 0; // of a mipmapped array; 0: it is none

  static constexpr uint64_t kMaxSize = uint64_t(1) << 20; // of each dimension
  static constexpr unsigned kMaxLevels = 32;
  /// Width, height and depth of a level; 1 at least.
  std::array<uint64_t, 3> sizeOf(unsigned level) const;
  /// Of a texel, and of one of its channels; 0: the format is not known.
  unsigned texelBytes() const, channelBytes() const;
  /// Of its channels: f16 or f32; s8, also a normalized one.
  bool isFloat() const, isSignedByte() const;
  /// Of all levels.
  uint64_t contentBytes() const;
};

/// A texture or surface as the program made it, in the structures of the driver API.
struct Texture {
  uint64_t handle = 0; // of an object; 0: a reference
  std::string name;    // of a reference
  bool isSurface = false;
  std::vector<uint8_t> resource; // CUDA_RESOURCE_DESC
  std::vector<uint8_t> sampler;  // CUDA_TEXTURE_DESC; of a surface empty
  std::vector<uint8_t> view;     // CUDA_RESOURCE_VIEW_DESC; empty: none
  std::optional<uint64_t> array; // of Launch::arrays; none: it is of linear memory

  static constexpr size_t kResourceBytes = 144, kSamplerBytes = 104, kViewBytes = 112;
  enum class Kind : uint32_t { Array, Mipmapped, Linear, Pitched };
  Kind kind() const;        // of the resource
  uint64_t address() const; // of linear memory
  bool isFiltered() const;  // it is read between texels
};

/// A tensor map that stands in parameters or memory of a launch.
struct TensorMap {
  std::vector<uint8_t> bytes; // kTensorMapBytes
  TensorMapArguments arguments{};
};

struct Launch {
  uint64_t ordinal = 0;  // among all launches of the program, from 0
  uint64_t ofKernel = 0; // among those of this kernel
  struct InGraph {
    uint64_t launch = 0; // among all launches of graphs, from 0
    uint64_t node = 0;   // in the order in which they ran
  };
  std::optional<InGraph> inGraph; // it was a node of a graph
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
  std::vector<ArrayRegion> arrays;
  std::vector<Texture> textures;
  std::vector<TensorMap> tensorMaps;
  /// Of a replay: what does not lie where it was recorded.
  struct Moved {
    std::vector<uint64_t> regions; // of `memory`
    /// Words of memory, not of parameters, that were changed as they look like addresses in those.
    uint64_t words = 0;
    uint64_t region = 0, offset = 0; // of the first such word
  };
  Moved moved;
  /// Of a replay by the interpreter: sums that PTX lets a compiler fuse with a product, and how
  /// many were, so that the results are nearest to what is recorded (diff/Fusion.h).
  struct Fusion {
    uint64_t sums = 0, fused = 0;
    uint64_t runs = 0; // that looked for these; 0: none could, as one takes too long
  };
  Fusion fusion;
  int status = 0;              // what the driver returned
  uint64_t untouchedPages = 0; // that are left out, as it does not touch them; they read as zeros
  std::string problem;         // why it is recorded in part only

  /// Some texture is read between texels.
  bool isFiltered() const;
  /// Memory, then arrays.
  std::vector<const Region *> regions() const;
  std::vector<Region *> regions();

  /// Why there is nothing to compare with, or nothing to replay; empty: there is.
  std::string whyNotReplayable() const;
};

llvm::json::Value toJson(const Environment &environment);
llvm::json::Value toJson(const Launch &launch);

/// A call of the driver API that the program made.
struct Call {
  uint64_t number = 0; // from 0, in the order in which they began
  uint64_t thread = 0;
  std::string name; // of the exported function
  /// Numbers, texts, and pointers as texts, in order.
  struct Named {
    std::string name;
    llvm::json::Value value = nullptr;
  };
  std::vector<Named> arguments;
  std::vector<Named> written; // what stands behind pointers now
  int result = 0;
};

/// Counts of the last record; a program's recording that was cut short has none.
struct Counts {
  uint64_t launches = 0, recorded = 0, inStreamCapture = 0, graphLaunches = 0;
  uint64_t wholeGraphLaunches = 0; // of those that could not be taken apart
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

  /// In the order in which they ended. An error: what is logged is none.
  llvm::Error forEachCall(llvm::function_ref<void(const Call &)> take) const;
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
  /// The same without the pages of which `touched` has 0: their digests are zeros.
  llvm::Expected<Digest> addTouched(llvm::ArrayRef<uint8_t> bytes, llvm::ArrayRef<uint8_t> touched);
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
