// SPDX-License-Identifier: Apache-2.0
// Any file that may hold CUDA code -> the images in it, each with the place that it came from.
//
// PTX text, bare fatbins and cubins, ELF programs, libraries and objects, PE programs and objects,
// and archives of all these. Not for libcuda.so.1: it needs LLVM's Object library.

#pragma once

#include "fatbin/Container.h"
#include <memory>
#include <optional>

namespace llvm {
class MemoryBuffer;
}

namespace rubia::fatbin {

/// An image and where it lies.
struct FileImage {
  Image image;        // image.offset counts from the start of the file, of a member's data too
  std::string member; // archive member, "a.o" or "inner.a/a.o"; empty outside of archives
  std::string section;
  uint64_t container =
      0; // offset in the file of its container; image.offset for bare PTX and cubins
};

/// Relocatable device code of a program or shared library: what its code registers as one module.
/// Offsets are those of containers (FileImage::container).
struct LinkedModule {
  std::string member;             // as in FileImage
  std::optional<uint64_t> linked; // the container that nvcc's device linker made
  std::vector<uint64_t> units;    // those of the translation units, in the order of the file
};

/// The images of one file, and the file's bytes that they point into.
class ImageFile {
public:
  ImageFile(std::unique_ptr<llvm::MemoryBuffer> buffer);
  ImageFile(ImageFile &&) noexcept;
  ImageFile &operator=(ImageFile &&) noexcept;
  ~ImageFile();

  llvm::StringRef name() const;
  llvm::ArrayRef<uint8_t> bytes() const;

  std::vector<FileImage> images;

  /// Containers that are in none of them are modules of their own.
  std::vector<LinkedModule> linkedModules;

  /// Containers and members that could not be read, each with file, member, section and offset. The
  /// images are those of the rest of the file; who needs all of them has to treat a problem as an
  /// error.
  std::vector<std::string> problems;

  /// Number of containers, empty ones included.
  size_t containers = 0;

  /// "lib.a(a.o), section .nv_fatbin, offset 0x40": where the image lies.
  std::string place(const FileImage &image) const;

  /// describe() of all images.
  std::string description() const;

private:
  std::unique_ptr<llvm::MemoryBuffer> buffer;
};

/// A file without a single image. The text names the file, and every problem that was met, one a
/// line.
class NoImages : public llvm::ErrorInfo<NoImages, ImageError> {
public:
  static char ID;
  NoImages(std::string text) : ErrorInfo(0, std::move(text)) {}
  void log(llvm::raw_ostream &os) const override;
};

/// How many kernels a cubin has; an error if it cannot be read.
llvm::Expected<size_t> kernelCount(llvm::ArrayRef<uint8_t> cubin);

/// What a file or archive member may take: no library is near it.
constexpr uint64_t kMaxFileBytes = uint64_t(16) << 30;

/// The bytes of the file at `path`, which may be a pipe. A regular file is mapped: commands only.
/// An error if it is larger than kMaxFileBytes, or PTX text or a pipe larger than kMaxPayloadBytes.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> openFile(llvm::StringRef path);

/// The images of the file at `path`, by openFile(). A file with images that are all SASS is a
/// normal result (see description()); a file that cannot be opened, holds no CUDA code, or of which
/// nothing could be read, is an error.
llvm::Expected<ImageFile> readFile(llvm::StringRef path);

/// The same for bytes that are in memory already; the buffer's identifier is the file name.
llvm::Expected<ImageFile> readBuffer(std::unique_ptr<llvm::MemoryBuffer> buffer);

} // namespace rubia::fatbin
