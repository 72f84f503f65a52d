// SPDX-License-Identifier: Apache-2.0
// Images without a container: PTX text and cubins. What a container's entry header would say about
// them (architecture, version, size) is read from the image itself.

#include "fatbin/Container.h"
#include "fatbin/Cubin.h"
#include "fatbin/lib/Layout.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace llvm;

namespace rubia::fatbin {

static bool takesFileBytes(uint32_t sectionType) {
  return sectionType != elf::kNoBits && sectionType != elf::kCudaGlobal &&
         sectionType != elf::kCudaShared;
}

// The extent of a table of `count` headers, and of what each of them points to.
static Expected<uint64_t> tableExtent(const uint8_t *data, uint64_t limit, uint64_t offset,
                                      uint64_t entrySize, uint64_t count, bool sections) {
  const char *what = sections ? "section" : "program";
  if (!fits(offset, entrySize * count, limit))
    return malformed(0, "cubin's {0} headers reach beyond {1} bytes", what, limit);
  uint64_t extent = offset + entrySize * count;
  for (uint64_t i = 0; i < count; ++i) {
    const uint8_t *header = data + offset + i * entrySize;
    if (sections && !takesFileBytes(readAt<uint32_t>(header, elf::kSectionType)))
      continue;
    uint64_t start =
        readAt<uint64_t>(header, sections ? elf::kSectionFileOffset : elf::kSegmentFileOffset);
    uint64_t size = readAt<uint64_t>(header, sections ? elf::kSectionSize : elf::kSegmentFileSize);
    // Section 0 is no section: its size holds the number of sections where there are more than
    // 65,279.
    if (sections && i == 0)
      continue;
    if (!fits(start, size, limit))
      return malformed(0, "cubin's {0} {1} reaches beyond {2} bytes", what, i, limit);
    extent = std::max(extent, start + size);
  }
  return extent;
}

Expected<uint64_t> cubinSize(const uint8_t *data, uint64_t limit) {
  if (limit < elf::kHeaderSize)
    return malformed(0, "cubin's ELF header cut off: {0} of {1} bytes", limit, elf::kHeaderSize);
  if (data[elf::kClass] != 2 || data[elf::kData] != 1)
    return unsupported(0, "unsupported cubin: not a 64-bit little-endian ELF file");
  if (uint16_t machine = readAt<uint16_t>(data, elf::kMachine); machine != elf::kMachineCuda)
    return malformed(0, "ELF file is for machine {0}, not a cubin (machine {1})", machine,
                     elf::kMachineCuda);

  uint64_t sectionOffset = readAt<uint64_t>(data, elf::kSectionOffset);
  uint64_t sectionSize = readAt<uint16_t>(data, elf::kSectionEntrySize);
  uint64_t sectionCount = readAt<uint16_t>(data, elf::kSectionCount);
  uint64_t programOffset = readAt<uint64_t>(data, elf::kProgramOffset);
  uint64_t programSize = readAt<uint16_t>(data, elf::kProgramEntrySize);
  uint64_t programCount = readAt<uint16_t>(data, elf::kProgramCount);
  if (sectionOffset && sectionSize < elf::kMinSectionEntrySize)
    return malformed(0, "cubin's section headers are of {0} bytes, expected {1}", sectionSize,
                     elf::kMinSectionEntrySize);
  if (programCount && programSize < elf::kMinProgramEntrySize)
    return malformed(0, "cubin's program headers are of {0} bytes, expected {1}", programSize,
                     elf::kMinProgramEntrySize);
  if (sectionOffset && !sectionCount) {
    if (!fits(sectionOffset, sectionSize, limit))
      return malformed(0, "cubin's section headers reach beyond {0} bytes", limit);
    sectionCount = readAt<uint64_t>(data + sectionOffset, elf::kSectionSize);
    if (sectionCount > limit / sectionSize)
      return malformed(0, "cubin claims {0} sections in {1} bytes", sectionCount, limit);
  }
  if (!sectionOffset)
    sectionCount = 0;

  Expected<uint64_t> sections =
      tableExtent(data, limit, sectionOffset, sectionSize, sectionCount, true);
  if (!sections)
    return sections;
  Expected<uint64_t> segments =
      tableExtent(data, limit, programCount ? programOffset : 0, programSize, programCount, false);
  if (!segments)
    return segments;
  return std::max({elf::kHeaderSize, *sections, *segments});
}

std::optional<ArrayRef<uint8_t>> ptxInCubin(ArrayRef<uint8_t> cubin) {
  if (cubin.size() < elf::kHeaderSize)
    return std::nullopt;
  const uint64_t at = readAt<uint64_t>(cubin, elf::kSectionOffset);
  const uint64_t headerSize = readAt<uint16_t>(cubin, elf::kSectionEntrySize);
  const uint64_t count = readAt<uint16_t>(cubin, elf::kSectionCount);
  const uint64_t namesIndex = readAt<uint16_t>(cubin, elf::kSectionNames);
  if (headerSize < elf::kMinSectionEntrySize || !fits(at, headerSize * count, cubin.size()) ||
      namesIndex >= count)
    return std::nullopt;
  auto contentsOf = [&](uint64_t index) -> ArrayRef<uint8_t> {
    const ArrayRef<uint8_t> header = cubin.slice(at + index * headerSize, headerSize);
    const uint64_t offset = readAt<uint64_t>(header, elf::kSectionFileOffset);
    const uint64_t size = readAt<uint64_t>(header, elf::kSectionSize);
    return takesFileBytes(readAt<uint32_t>(header, elf::kSectionType)) &&
                   fits(offset, size, cubin.size())
               ? cubin.slice(offset, size)
               : ArrayRef<uint8_t>();
  };
  const StringRef names = asText(contentsOf(namesIndex));
  for (uint64_t i = 1; i < count; ++i) {
    const uint32_t name = readAt<uint32_t>(cubin, at + i * headerSize);
    StringRef rest = names.substr(name); // may have no end for as long as the file is
    if (!rest.consume_front(kPtxSection) || (!rest.empty() && rest.front()))
      continue;
    const StringRef text = asText(contentsOf(i)).take_until([](char c) { return !c; });
    return arrayRefFromStringRef(text);
  }
  return std::nullopt;
}

Image describeCubin(ArrayRef<uint8_t> bytes) {
  if (std::optional<ArrayRef<uint8_t>> text = ptxInCubin(bytes))
    return describePtxText(*text);
  Image image;
  image.kind = ImageKind::Cubin;
  image.kindNumber = 2;
  image.stored = bytes;
  image.uncompressedSize = bytes.size();
  // LLVM's BinaryFormat/ELF.h: EF_CUDA_SM in ABI version 7, EF_CUDA_SM_MASK in 8. No flag tells
  // sm_90a from sm_90.
  uint32_t flags = readAt<uint32_t>(bytes, elf::kFlags);
  image.sm = bytes[elf::kAbiVersion] >= 8 ? (flags >> 8) & 0xff : flags & 0xff;
  return image;
}

// The text behind blanks and comments, which PTX has the C++ forms of (PTX ISA: comments).
static StringRef skipBlanks(StringRef text) {
  while (true) {
    text = text.ltrim(" \t\r\n\f\v");
    if (text.starts_with("//"))
      text = text.substr(text.find('\n'));
    else if (text.starts_with("/*"))
      text = text.substr(text.find("*/", 2)).substr(2);
    else
      return text;
  }
}

static bool takeWord(StringRef &text, StringRef word) {
  text = skipBlanks(text);
  if (!text.starts_with(word) || (text.size() > word.size() && isAlnum(text[word.size()])))
    return false;
  text = text.drop_front(word.size());
  return true;
}

bool startsWithPtx(ArrayRef<uint8_t> bytes) {
  StringRef text = asText(bytes);
  return takeWord(text, ".version");
}

// .version major.minor; .target sm_90a, ...   PTX ISA: ptx-module-directives-version,
// ptx-module-directives-target
Image describePtxText(ArrayRef<uint8_t> bytes) {
  Image image;
  image.kind = ImageKind::Ptx;
  image.kindNumber = 1;
  image.stored = bytes;
  image.uncompressedSize = bytes.size();
  StringRef text = asText(bytes);
  if (!takeWord(text, ".version"))
    return image;
  text = skipBlanks(text);
  if (text.consumeInteger(10, image.versionMajor) || !text.consume_front(".") ||
      text.consumeInteger(10, image.versionMinor))
    return image;
  if (!takeWord(text, ".target"))
    return image;
  text = skipBlanks(text);
  if (!text.consume_front("sm_") || text.consumeInteger(10, image.sm))
    return image;
  if (text.starts_with("a") || text.starts_with("f"))
    image.variant = text.front();
  return image;
}

static Expected<std::vector<Image>> readBundleImages(ArrayRef<uint8_t> bytes) {
  Expected<std::vector<BundlePart>> parts = readBundle(bytes);
  if (!parts)
    return parts.takeError();
  std::vector<Image> all;
  for (const BundlePart &part : *parts) {
    if (startsWithBundle(part.bytes))
      return malformed(0, "a bundle inside of a bundle");
    Expected<std::vector<Image>> images = readImages(part.bytes);
    if (!images)
      return images.takeError();
    all.insert(all.end(), images->begin(), images->end());
  }
  return all;
}

Expected<std::vector<Image>> readImages(ArrayRef<uint8_t> bytes) {
  if (startsWithContainer(bytes))
    return readContainer(bytes);
  if (startsWithBundle(bytes))
    return readBundleImages(bytes);
  if (asText(bytes).starts_with("\x7f"
                                "ELF")) {
    Expected<uint64_t> size = cubinSize(bytes.data(), bytes.size());
    if (!size)
      return size.takeError();
    return std::vector<Image>{describeCubin(bytes.take_front(*size))};
  }
  if (startsWithPtx(bytes))
    return std::vector<Image>{describePtxText(bytes)};
  return malformed(0, "not a CUDA image: no fatbin, cubin or PTX");
}

} // namespace rubia::fatbin
