// SPDX-License-Identifier: Apache-2.0
// The table, little endian: kMagic, the number of functions, for each the digest of its name, the
// offset and size of what there is of it; in order of the digests. Behind that what there is of
// them, each compressed by itself: a process takes few of them.
#include "codegen/ReadyFunctions.h"
#include "codegen/lib/speed/KeptCode.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using namespace llvm::support;

namespace rubia::codegen {
namespace {

constexpr StringLiteral kMagic = "RUBIAFN1";
constexpr size_t kDigest = 16, kEntry = kDigest + 8, kHead = kMagic.size() + 4;

ArrayRef<uint8_t> used;

std::string digestOf(StringRef name) {
  return toStringRef(BLAKE3::hash<kDigest>(arrayRefFromStringRef(name))).str();
}

template <typename T> void append(std::string &to, T number) {
  char bytes[sizeof(T)];
  endian::write<T>(bytes, number, endianness::little);
  to.append(bytes, sizeof(T));
}

void append(std::string &to, StringRef text) {
  append(to, uint32_t(text.size()));
  to += text;
}

/// Takes parts of bytes from the front.
class Reader {
public:
  explicit Reader(StringRef bytes) : bytes(bytes) {}
  template <typename T> T number() {
    T value = 0;
    if (const StringRef taken = take(sizeof(T)); taken.size() == sizeof(T))
      value = endian::read<T>(taken.data(), endianness::little);
    return value;
  }
  std::string text() { return take(number<uint32_t>()).str(); }
  bool isWhole() const { return isRight && bytes.empty(); }

private:
  StringRef take(size_t size) {
    isRight &= size <= bytes.size();
    const StringRef taken = bytes.take_front(size);
    bytes = bytes.drop_front(taken.size());
    return taken;
  }
  StringRef bytes;
  bool isRight = true;
};

std::string packed(const KeptCode &function) {
  std::string text, all;
  append(text, function.stackBytes);
  append(text, function.alignment);
  for (StringRef part : {function.code, function.accesses, function.written})
    append(text, part);
  SmallVector<uint8_t, 0> compressed;
  compression::zstd::compress(arrayRefFromStringRef(text), compressed,
                              compression::zstd::BestSizeCompression);
  append(all, uint32_t(text.size()));
  all += toStringRef(compressed);
  return all;
}

Expected<KeptCode> unpacked(StringRef bytes) {
  if (bytes.size() < 4)
    return createStringError("it is cut off");
  Reader head(bytes.take_front(4));
  SmallVector<uint8_t, 0> text;
  if (Error error = compression::zstd::decompress(arrayRefFromStringRef(bytes.drop_front(4)), text,
                                                  head.number<uint32_t>()))
    return std::move(error);
  Reader reader(toStringRef(text));
  KeptCode function;
  function.stackBytes = reader.number<uint64_t>();
  function.alignment = reader.number<uint64_t>();
  for (std::string *part : {&function.code, &function.accesses, &function.written})
    *part = reader.text();
  if (!reader.isWhole() || function.code.empty())
    return createStringError("it is cut off");
  return function;
}

uint32_t countOf(ArrayRef<uint8_t> table) { return endian::read32le(table.data() + kMagic.size()); }

} // namespace

void ReadyFunctions::addKept() {
  forEachKept([&](StringRef name, const KeptCode &function) {
    functions.try_emplace(digestOf(name), packed(function));
  });
}

// Functions of two names may be the same: for a target with and without its features, say.
std::vector<uint8_t> ReadyFunctions::table() const {
  std::string head = kMagic.str(), rest;
  append(head, uint32_t(functions.size()));
  const size_t begin = kHead + functions.size() * kEntry;
  StringMap<size_t> places;
  for (const auto &[digest, bytes] : functions) {
    const auto [place, isNew] = places.try_emplace(bytes, begin + rest.size());
    if (isNew)
      rest += bytes;
    head += digest;
    append(head, uint32_t(place->second));
    append(head, uint32_t(bytes.size()));
  }
  head += rest;
  return {head.begin(), head.end()};
}

Error useReadyFunctions(ArrayRef<uint8_t> table) {
  if (!table.empty() && (table.size() < kHead || !toStringRef(table).starts_with(kMagic) ||
                         (table.size() - kHead) / kEntry < countOf(table)))
    return createStringError("no table of compiled functions");
  used = table;
  return Error::success();
}

Expected<std::optional<KeptCode>> readyFunction(StringRef name) {
  if (used.empty())
    return std::nullopt;
  const std::string digest = digestOf(name);
  const auto entry = [](uint32_t index) {
    return toStringRef(used.slice(kHead + index * kEntry, kEntry));
  };
  uint32_t first = 0, behind = countOf(used);
  while (first < behind) {
    const uint32_t middle = first + (behind - first) / 2;
    if (entry(middle).take_front(kDigest) < digest)
      first = middle + 1;
    else
      behind = middle;
  }
  if (first == countOf(used) || entry(first).take_front(kDigest) != digest)
    return std::nullopt;
  Reader place(entry(first).drop_front(kDigest));
  const uint32_t offset = place.number<uint32_t>(), size = place.number<uint32_t>();
  Expected<KeptCode> function = unpacked(toStringRef(used).substr(offset, size));
  if (!function)
    return createStringError("the table of compiled functions is damaged: %s",
                             toString(function.takeError()).c_str());
  return std::move(*function);
}

} // namespace rubia::codegen
