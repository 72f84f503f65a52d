// SPDX-License-Identifier: Apache-2.0
// Where the fields of wrappers, containers, entries and ELF files lie, and little-endian reads of
// them.
//
// The bytes come from files and from a program's memory, at any alignment, so fields are read by
// offset and never through a struct. The layouts were found by experiment with nvcc's output;
// NVIDIA does not document them.

#pragma once

#include "fatbin/Container.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"

namespace rubia::fatbin {

/// fatbinary wrapper: magic, version, pointer to the container, pointer to a list (version 2).
namespace wrapper {
constexpr uint32_t kMagic = 0x466243B1;
constexpr size_t kVersion = 4;  // u32
constexpr size_t kData = 8;     // const void *
constexpr size_t kFatbins = 16; // const void *const *, null-terminated
constexpr uint64_t kSize = 24;
} // namespace wrapper

/// Container header; the entries follow it.
namespace container {
constexpr uint32_t kMagic = 0xBA55ED50;
constexpr size_t kVersion = 4;    // u16, 1
constexpr size_t kHeaderSize = 6; // u16, 16
constexpr size_t kSize = 8;       // u64, of all entries
constexpr uint16_t kKnownVersion = 1;
constexpr uint64_t kMinHeaderSize = 16;
} // namespace container

/// Bundle header; then, for each part, a part header, its name and its bytes, each padded to 8.
namespace bundle {
constexpr uint32_t kMagic = 0x4c4252b1; // no text, no ELF file, none of CUDA's
constexpr size_t kVersion = 4;          // u32, 1
constexpr size_t kParts = 8;            // u64
constexpr size_t kSize = 16;            // u64, of all of it
constexpr uint64_t kHeaderSize = 24;
constexpr size_t kNameSize = 0;       // u64, of a part
constexpr size_t kBytesSize = 8;      // u64
constexpr size_t kPartFlags = 16;     // u32
constexpr size_t kRegisterLimit = 20; // u32; 0: none
constexpr uint64_t kPartHeaderSize = 24;
constexpr uint32_t kFlagLibrary = 1;
} // namespace bundle

/// Entry header; identifier and options lie in the header too, behind the fixed fields.
namespace entry {
constexpr size_t kKind = 0;              // u16
constexpr size_t kVersion = 2;           // u16, 0x0101
constexpr size_t kHeaderSize = 4;        // u32
constexpr size_t kPayloadSize = 8;       // u64, padded
constexpr size_t kCompressedSize = 16;   // u32, not padded; 0 if not compressed
constexpr size_t kOptions = 20;          // u32, offset of {u32 offset, u32 length}; 0 if none
constexpr size_t kMinorVersion = 24;     // u16
constexpr size_t kMajorVersion = 26;     // u16
constexpr size_t kSm = 28;               // u32
constexpr size_t kIdentifier = 32;       // u32 offset, u32 length
constexpr size_t kFlags = 40;            // u64
constexpr size_t kUncompressedSize = 56; // u64; 0 if not compressed
constexpr uint16_t kKnownVersion = 0x0101;
constexpr uint64_t kMinHeaderSize = 64;
constexpr uint64_t kAlignment = 8; // of entries and their payloads
} // namespace entry

/// ELF64, little-endian (System V ABI, "Object Files"); cubins are such files.
namespace elf {
constexpr size_t kClass = 4, kData = 5, kAbiVersion = 8;
constexpr size_t kMachine = 18, kProgramOffset = 32, kSectionOffset = 40, kFlags = 48;
constexpr size_t kProgramEntrySize = 54, kProgramCount = 56, kSectionEntrySize = 58,
                 kSectionCount = 60, kSectionNames = 62;
constexpr uint64_t kHeaderSize = 64, kMinProgramEntrySize = 56, kMinSectionEntrySize = 64;
constexpr size_t kSegmentFileOffset = 8, kSegmentFileSize = 32;
constexpr size_t kSectionType = 4, kSectionFileOffset = 24, kSectionSize = 32;
/// Sections that take no bytes of the file. The CUDA types are .nv.global and .nv_debug.shared of
/// relocatable cubins.
constexpr uint32_t kNoBits = 8, kCudaGlobal = 0x70000007, kCudaShared = 0x7000000a;
constexpr uint16_t kMachineCuda = 190;
} // namespace elf

template <typename T> T readAt(const uint8_t *base, uint64_t offset) {
  return llvm::support::endian::read<T>(base + offset, llvm::endianness::little);
}

template <typename T> T readAt(llvm::ArrayRef<uint8_t> bytes, uint64_t offset) {
  return readAt<T>(bytes.data(), offset);
}

/// True if [offset, offset + size) lies in [0, limit).
inline bool fits(uint64_t offset, uint64_t size, uint64_t limit) {
  return offset <= limit && size <= limit - offset;
}

template <typename... Args>
llvm::Error malformed(uint64_t offset, const char *format, Args &&...args) {
  return llvm::make_error<MalformedImage>(offset,
                                          llvm::formatv(format, std::forward<Args>(args)...).str());
}

template <typename... Args>
llvm::Error unsupported(uint64_t offset, const char *format, Args &&...args) {
  return llvm::make_error<UnsupportedImage>(
      offset, llvm::formatv(format, std::forward<Args>(args)...).str());
}

inline llvm::StringRef asText(llvm::ArrayRef<uint8_t> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

/// The size of the ELF64 file at `data`, from its section and program headers; no byte at or beyond
/// `limit` is read, and a file that reaches beyond it is an error. `machine` must be CUDA's.
llvm::Expected<uint64_t> cubinSize(const uint8_t *data, uint64_t limit);

/// An Image for bare PTX text (`.version` and `.target` are read; absent ones stay 0) and for a
/// bare cubin of known size.
Image describePtxText(llvm::ArrayRef<uint8_t> text);

/// The first bytes of a compressed image; fewer if they cannot be had.
std::string beginningOf(const Image &image, size_t bytes);
Image describeCubin(llvm::ArrayRef<uint8_t> bytes);

} // namespace rubia::fatbin
