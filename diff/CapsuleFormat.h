// SPDX-License-Identifier: Apache-2.0
// The bytes of a capsule (docs/capsule.md): a header, then records, each of which stands for
// itself. A file that was cut short keeps every record before the cut, and a launch's record
// follows all that it refers to.
//
// Plain C++ without any library: the forwarding libcuda.so.1 writes capsules and has nothing else.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rubia::capsule {

inline constexpr char kMagic[8] = {'R', 'U', 'B', 'I', 'A', 'C', 'A', 'P'};
inline constexpr uint32_t kFormatVersion = 1;

/// Memory is stored in pages of this size, counted from the start of its allocation.
inline constexpr uint32_t kPageBytes = 16384;
inline constexpr size_t kDigestBytes = 32; // BLAKE3

struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t pageBytes;
  uint8_t reserved[16]; // zeros
};
static_assert(sizeof(FileHeader) == 32);

enum class RecordType : uint32_t {
  Environment = 1, // JSON: where the launches ran
  Page = 2,        // bytes of memory
  Map = 3,         // digests of pages, in order: the contents of an allocation
  Image = 4,       // what a module was loaded from
  Launch = 5,      // JSON: a launch
  End = 6,         // JSON: counts; its absence says that the recording was cut short
  Calls = 7,       // lines of JSON: calls of the driver API
};

enum class Codec : uint32_t { Stored = 0, Zstd = 1 };

struct RecordHeader {
  uint32_t type;
  uint32_t codec;
  uint64_t storedBytes;         // of the payload behind this header
  uint64_t rawBytes;            // of the payload once it is decompressed
  uint8_t digest[kDigestBytes]; // of the raw payload
  uint8_t check[8];             // the first bytes of the digest of all fields before
};
static_assert(sizeof(RecordHeader) == 64 && offsetof(RecordHeader, check) == 56);

/// A tensor map as the driver has it, and what cuTensorMapEncode* made it of. The numbers are those
/// of the driver API.
inline constexpr size_t kTensorMapBytes = 128;
struct TensorMapArguments {
  uint32_t isIm2col; // 0: tiled
  int32_t type;
  uint32_t rank; // 1 to 5
  int32_t interleave, swizzle, promotion, fill;
  uint32_t elementStrides[5];
  uint32_t box[5];           // of tiled ones
  uint32_t channels, pixels; // of im2col
  int32_t lower[3], upper[3];
  uint32_t reserved;
  uint64_t address;
  uint64_t sizes[5], strides[4];
};
static_assert(sizeof(TensorMapArguments) == 184 && offsetof(TensorMapArguments, address) == 104);

/// No record of these types is larger, in raw bytes.
inline constexpr uint64_t kMaxJsonBytes = uint64_t(1) << 26, kMaxImageBytes = uint64_t(1) << 30,
                          kMaxMapBytes = uint64_t(1) << 28;

} // namespace rubia::capsule
