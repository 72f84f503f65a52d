// SPDX-License-Identifier: Apache-2.0
// Stored bytes of an image -> the image: decompressed, and PTX freed of the NULs that end and pad
// it.
//
// The claimed size is allocated before anything is decompressed, so it is held against a fixed
// bound and against what the compression can reach at best: a hundred bytes cannot make us take a
// gigabyte.

#include "fatbin/Container.h"
#include "fatbin/Cubin.h"
#include "fatbin/lib/Layout.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <lz4.h>
#include <memory>
#include <zstd.h>

using namespace llvm;

namespace rubia::fatbin {

// LZ4 block format: a match length grows by 255 for every byte.
constexpr uint64_t kLz4BestRatio = 255;
// RFC 8878: a block of at most 128 KiB takes 4 bytes at least (3 of header, 1 of a run).
constexpr uint64_t kZstdBestRatio = 128 * 1024 / 4;

static Error checkClaim(const Image &image, uint64_t bestRatio) {
  uint64_t claim = image.uncompressedSize;
  if (!claim)
    return malformed(image.offset, "compressed image claims to be empty");
  if (claim > kMaxPayloadBytes)
    return malformed(image.offset,
                     "image claims {0} bytes uncompressed, more than the limit of {1}", claim,
                     kMaxPayloadBytes);
  // A first LZ4 sequence without literals or a last zstd block can round up to one more unit of the
  // ratio.
  if (claim / bestRatio > image.stored.size() + 1)
    return malformed(image.offset,
                     "image claims {0} bytes uncompressed, which {1} bytes cannot hold", claim,
                     image.stored.size());
  return Error::success();
}

static Expected<std::string> unpackLz4(const Image &image) {
  if (Error error = checkClaim(image, kLz4BestRatio))
    return error;
  if (image.stored.size() > LZ4_MAX_INPUT_SIZE)
    return malformed(image.offset, "LZ4 data is too long: {0} bytes", image.stored.size());
  std::string out(image.uncompressedSize, '\0');
  int size = LZ4_decompress_safe(reinterpret_cast<const char *>(image.stored.data()), out.data(),
                                 int(image.stored.size()), int(out.size()));
  if (size < 0)
    return malformed(image.offset, "LZ4 data is damaged, or longer than the {0} bytes claimed",
                     image.uncompressedSize);
  if (uint64_t(size) != out.size())
    return malformed(image.offset, "LZ4 data gives {0} bytes, {1} expected", size, out.size());
  return out;
}

static Expected<std::string> unpackZstd(const Image &image) {
  if (Error error = checkClaim(image, kZstdBestRatio))
    return error;
  std::string out(image.uncompressedSize, '\0');
  size_t size = ZSTD_decompress(out.data(), out.size(), image.stored.data(), image.stored.size());
  if (ZSTD_isError(size))
    return malformed(image.offset, "zstd data is damaged: {0}", ZSTD_getErrorName(size));
  if (size != out.size())
    return malformed(image.offset, "zstd data gives {0} bytes, {1} expected", size, out.size());
  return out;
}

static Expected<std::string> unpack(const Image &image) {
  switch (image.compression) {
  case Compression::Stored:
    return asText(image.stored).str();
  case Compression::Lz4:
    return unpackLz4(image);
  case Compression::Zstd:
    return unpackZstd(image);
  case Compression::Unknown:
    break;
  }
  return unsupported(image.offset, "unsupported compression of image (flags {0:x})", image.flags);
}

std::string beginningOf(const Image &image, size_t bytes) {
  std::string out(bytes, '\0');
  const uint8_t *from = image.stored.data();
  const size_t stored = image.stored.size();
  if (image.compression == Compression::Lz4 && stored <= LZ4_MAX_INPUT_SIZE) {
    const int size = LZ4_decompress_safe_partial(reinterpret_cast<const char *>(from), out.data(),
                                                 int(stored), int(bytes), int(bytes));
    out.resize(size_t(std::max(size, 0)));
    return out;
  }
  ZSTD_outBuffer to = {out.data(), bytes, 0};
  if (image.compression == Compression::Zstd) {
    const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                       ZSTD_freeDCtx);
    for (ZSTD_inBuffer input = {from, stored, 0}; to.pos < to.size && input.pos < input.size;)
      if (const size_t before = to.pos + input.pos;
          ZSTD_isError(ZSTD_decompressStream(context.get(), &to, &input)) ||
          to.pos + input.pos == before)
        break;
  }
  out.resize(to.pos);
  return out;
}

Expected<std::string> payload(const Image &image) {
  if (image.kind == ImageKind::LtoIr)
    return unsupported(image.offset, "unsupported: LTO-IR for {0} is scrambled", image.target());
  if (image.kind == ImageKind::Other)
    return unsupported(image.offset, "unsupported image kind {0}", image.kindNumber);
  Expected<std::string> bytes = unpack(image);
  if (!bytes)
    return bytes;
  if (image.kind == ImageKind::Cubin) {
    if (!StringRef(*bytes).starts_with("\x7f"
                                       "ELF"))
      return malformed(image.offset, "cubin for {0} is not an ELF file", image.target());
    return bytes;
  }
  if (image.isInCubin) {
    const std::optional<ArrayRef<uint8_t>> inside = ptxInCubin(arrayRefFromStringRef(*bytes));
    if (!inside)
      return malformed(image.offset, "no PTX in the cubin for {0}", image.target());
    *bytes = toStringRef(*inside).str();
  }
  StringRef text = StringRef(*bytes).rtrim('\0');
  if (size_t nul = text.find('\0'); nul != StringRef::npos)
    return malformed(image.offset, "PTX for {0} has a NUL in its text, at {1} of {2}",
                     image.target(), nul, text.size());
  bytes->resize(text.size());
  return bytes;
}

} // namespace rubia::fatbin
