// SPDX-License-Identifier: Apache-2.0
// CUDA's fatbin containers: bytes in memory -> the images (PTX, cubin, LTO-IR) that they hold.
//
// This part is linked into libcuda.so.1, so it needs LLVM's Support library, zstd and lz4 and
// nothing else. Nothing is copied or decompressed until payload() is called: an Image is a view
// into the bytes that it was read from, which must outlive it. Every size and offset is checked
// against those bytes before it is used.
//
// The format is little-endian. A *wrapper* (in .nvFatBinSegment) points to a *container*, a
// container is a header and a row of *entries*, each entry is one image for one architecture. The
// layouts are in lib/Layout.h.

#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rubia::fatbin {

/// Other: an entry of a kind that is not known; it is listed and has no payload.
enum class ImageKind : uint8_t { Ptx, Cubin, LtoIr, Other };

/// Unknown: the entry says that it is compressed, but not by a method that is known.
enum class Compression : uint8_t { Stored, Lz4, Zstd, Unknown };

/// Bits of Image::flags that mean something to us.
enum ImageFlags : uint64_t {
  kFlag64Bit = 0x1,
  kFlagDebug = 0x2,
  kFlagLz4 = 0x2000,
  kFlagZstd = 0x8000,
  kFlagLtoIr = 0x10000,
  kFlagArchSpecific = 0x100000, // sm_90a
  kFlagFamily = 0x200000,       // sm_100f
};

/// One image of a container, or a bare PTX text or cubin.
struct Image {
  ImageKind kind = ImageKind::Other;
  Compression compression = Compression::Stored;
  uint16_t kindNumber = 0; // as in the entry: 1 PTX, 2 cubin, 8 LTO-IR
  unsigned sm = 0;         // 80 for sm_80, 120 for sm_120; 0 if the image does not say
  char variant = 0;        // 0, 'a' or 'f'
  unsigned versionMajor = 0, versionMinor = 0; // of PTX: the ISA version
  uint64_t flags = 0;
  llvm::StringRef identifier;     // the source file's name, mostly empty
  llvm::StringRef options;        // ptxas flags recorded with PTX
  llvm::ArrayRef<uint8_t> stored; // as stored, without padding if compressed
  uint64_t uncompressedSize = 0;  // stored.size() if not compressed
  uint64_t offset = 0;            // of the entry, from the start of the bytes read
  bool isInCubin = false;         // PTX, which lies in what is stored: a compressed cubin

  /// "sm_90a"; "sm_?" if the image does not say.
  std::string target() const;
};

/// What is wrong with the bytes of an image, and where.
class ImageError : public llvm::ErrorInfo<ImageError> {
public:
  static char ID;
  ImageError(uint64_t offset, std::string text) : offset(offset), text(std::move(text)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

  uint64_t offset; // from the start of the bytes read
  std::string text;
};

/// The bytes are damaged or no CUDA code.
class MalformedImage : public llvm::ErrorInfo<MalformedImage, ImageError> {
public:
  static char ID;
  using ErrorInfo::ErrorInfo;
};

/// The bytes may be fine, but are not something that we can read.
class UnsupportedImage : public llvm::ErrorInfo<UnsupportedImage, ImageError> {
public:
  static char ID;
  using ErrorInfo::ErrorInfo;
};

/// What a decompressed image may take at most: no real image is near it, a zip bomb is.
constexpr uint64_t kMaxPayloadBytes = uint64_t(1) << 30;

/// True if `bytes` start with a container's magic number.
bool startsWithContainer(llvm::ArrayRef<uint8_t> bytes);

/// True if the first word of `bytes`, after blanks and comments, is `.version`, which begins every
/// PTX text.
bool startsWithPtx(llvm::ArrayRef<uint8_t> bytes);

/// What the header of a container says of its size, header included, if `bytes` start with one;
/// that many of them are enough to tell.
constexpr uint64_t kContainerHeaderBytes = 16;
std::optional<uint64_t> claimedContainerSize(llvm::ArrayRef<uint8_t> bytes);

/// The size, header included, of the container that `bytes` start with; it lies within `bytes`.
llvm::Expected<uint64_t> containerSize(llvm::ArrayRef<uint8_t> bytes);

/// The images of the container that `bytes` start with, in order. What follows the container is not
/// looked at.
llvm::Expected<std::vector<Image>> readContainer(llvm::ArrayRef<uint8_t> bytes);

/// Several images that are one module once their PTX is linked (ptx-frontend/Linker.h): what
/// cuLinkComplete gives, and what modules of several translation units are loaded from. Like a
/// container it says itself how far it goes.
struct BundlePart {
  llvm::StringRef name; // for diagnostics
  llvm::ArrayRef<uint8_t> bytes;
  bool isLibrary = false;     // of an archive: it counts only if it defines what others lack
  unsigned registerLimit = 0; // -maxrregcount; 0: none
};
std::vector<uint8_t> makeBundle(llvm::ArrayRef<BundlePart> parts);
bool startsWithBundle(llvm::ArrayRef<uint8_t> bytes);
/// Views into `bytes`, which may be longer than the bundle.
llvm::Expected<std::vector<BundlePart>> readBundle(llvm::ArrayRef<uint8_t> bytes);
/// A bundle of `bytes`, an image or a bundle, whose parts have `limit` unless they have their own.
llvm::Expected<std::vector<uint8_t>> withRegisterLimit(llvm::ArrayRef<uint8_t> bytes,
                                                       unsigned limit);

/// The images in what a module was loaded from: one container, one cubin, or one PTX text (NULs at
/// its end allowed); of a bundle those of all its parts.
llvm::Expected<std::vector<Image>> readImages(llvm::ArrayRef<uint8_t> bytes);

/// The image itself: PTX text without the NULs at its end, or the bytes of an ELF file. LTO-IR is
/// scrambled and gives an UnsupportedImage error. A size beyond kMaxPayloadBytes, or that the
/// compression cannot reach, is an error.
llvm::Expected<std::string> payload(const Image &image);

/// What a program gave to cuModuleLoadData or cuLibraryLoadData.
struct RawImage {
  enum class Kind : uint8_t { Container, Cubin, PtxText, Bundle };
  Kind kind = Kind::Container;
  bool relocatable =
      false; // one of several translation units that have to be linked with each other
  llvm::ArrayRef<uint8_t> bytes; // PTX text: without the NUL
};

/// The bytes behind `image`: a wrapper (0x466243B1), a container (0xBA55ED50), a cubin or
/// NUL-terminated PTX text or a bundle, told apart by their first bytes; the sizes come from the
/// headers. One result, except for a version 2 wrapper (relocatable device code): the linked
/// container, unless it is empty, then every translation unit in the order of registration. The
/// caller vouches that the memory is readable as far as its headers say.
llvm::Expected<std::vector<RawImage>> rawImages(const void *image);

/// The first of rawImages(), for callers that have nothing to link: relocatable device code is an
/// error.
llvm::Expected<llvm::ArrayRef<uint8_t>> rawImage(const void *image);

/// The PTX to compile for a caller that was told compute capability `capability` (89 for 8.9): the
/// newest generic PTX that is not above it, else the oldest above it; sm_90a and sm_100f variants
/// only where there is no generic PTX. Of equals the first. Null if there is no PTX.
const Image *selectPtx(llvm::ArrayRef<Image> images, unsigned capability);

/// What a program gets of the images that it registered as one module.
struct ModuleChoice {
  enum class Kind : uint8_t { Chosen, Linked, Malformed, NoPtx };
  Kind kind = Kind::NoPtx;
  llvm::ArrayRef<uint8_t> bytes; // Chosen: of one of the images
  std::vector<uint8_t> bundle;   // Linked: of several of them
  std::string text;              // else: why there is none
  /// Linked: the translation units that are not in the bundle, each with the reason.
  std::vector<std::string> leftOut;
};

/// The one of `images` (in the order of rawImages()) that has PTX. Translation units of relocatable
/// device code are linked with each other where several of them have PTX, or where some have none
/// or cannot be read: what the others name of these then costs the kernels that need it.
ModuleChoice chooseModule(llvm::ArrayRef<RawImage> images);

/// What the images are, for people: "PTX for sm_80; SASS for sm_80, sm_90", "no PTX: only SASS for
/// sm_80, sm_90".
std::string describe(llvm::ArrayRef<Image> images);

} // namespace rubia::fatbin
