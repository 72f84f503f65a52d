// SPDX-License-Identifier: Apache-2.0
// Several images in one row of bytes. The bytes can be a program's, so every size is checked.
#include "fatbin/Container.h"
#include "fatbin/lib/Layout.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace rubia::fatbin {

static void append(std::vector<uint8_t> &out, ArrayRef<uint8_t> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
  out.resize(alignTo(out.size(), 8), 0);
}

template <typename T> static void appendWord(std::vector<uint8_t> &out, T word) {
  for (size_t i = 0; i < sizeof(T); ++i)
    out.push_back(uint8_t(word >> (8 * i)));
}

std::vector<uint8_t> makeBundle(ArrayRef<BundlePart> parts) {
  std::vector<uint8_t> out;
  appendWord(out, bundle::kMagic);
  appendWord(out, uint32_t(1));
  appendWord(out, uint64_t(parts.size()));
  appendWord(out, uint64_t(0)); // the size, below
  for (const BundlePart &part : parts) {
    appendWord(out, uint64_t(part.name.size()));
    appendWord(out, uint64_t(part.bytes.size()));
    appendWord(out, part.isLibrary ? bundle::kFlagLibrary : uint32_t(0));
    appendWord(out, uint32_t(part.registerLimit));
    append(out, arrayRefFromStringRef(part.name));
    append(out, part.bytes);
  }
  support::endian::write64le(out.data() + bundle::kSize, out.size());
  return out;
}

bool startsWithBundle(ArrayRef<uint8_t> bytes) {
  return bytes.size() >= bundle::kHeaderSize && readAt<uint32_t>(bytes, 0) == bundle::kMagic;
}

Expected<std::vector<BundlePart>> readBundle(ArrayRef<uint8_t> bytes) {
  const uint64_t size = readAt<uint64_t>(bytes, bundle::kSize);
  if (readAt<uint32_t>(bytes, bundle::kVersion) != 1 || size > bytes.size())
    return malformed(0, "a bundle of another version, or cut off");
  bytes = bytes.take_front(size);
  std::vector<BundlePart> parts;
  uint64_t at = bundle::kHeaderSize;
  auto take = [&](uint64_t count, ArrayRef<uint8_t> &out) {
    if (count > size - at)
      return false;
    out = bytes.slice(at, count);
    at = std::min(size, alignTo(at + count, 8));
    return true;
  };
  for (uint64_t i = 0, count = readAt<uint64_t>(bytes, bundle::kParts); i < count; ++i) {
    ArrayRef<uint8_t> header, name, contents;
    if (at > size || !take(bundle::kPartHeaderSize, header) ||
        !take(readAt<uint64_t>(header, bundle::kNameSize), name) ||
        !take(readAt<uint64_t>(header, bundle::kBytesSize), contents))
      return malformed(at, "part {0} of a bundle does not end within it", i);
    const bool isLibrary = readAt<uint32_t>(header, bundle::kPartFlags) & bundle::kFlagLibrary;
    parts.push_back(
        {toStringRef(name), contents, isLibrary, readAt<uint32_t>(header, bundle::kRegisterLimit)});
  }
  return parts;
}

Expected<std::vector<uint8_t>> withRegisterLimit(ArrayRef<uint8_t> bytes, unsigned limit) {
  std::vector<BundlePart> parts{{"", bytes}};
  if (startsWithBundle(bytes)) {
    Expected<std::vector<BundlePart>> all = readBundle(bytes);
    if (!all)
      return all.takeError();
    parts = std::move(*all);
  }
  for (BundlePart &part : parts)
    if (!part.registerLimit)
      part.registerLimit = limit;
  return makeBundle(parts);
}

} // namespace rubia::fatbin
