// SPDX-License-Identifier: Apache-2.0
// Containers with one thing wrong each, and the exact message that it gives: from readContainer,
// else from the first payload.

#include "FatbinWriter.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <functional>

using namespace llvm;
using namespace rubia::fatbin;
using namespace rubia::fatbin::test;

namespace {

constexpr size_t kEntry = 16; // where the first entry of a container begins

struct Hostile {
  const char *what;
  std::function<Bytes()> make;
  const char *message;
  bool unsupported = false;
};

// One stored PTX entry of `text`, changed by `change`.
std::function<Bytes()> with(std::function<void(Bytes &)> change,
                            Compression compression = Compression::Stored) {
  return [=] {
    Bytes bytes = writeContainer({{1, 80, std::string(120, 'x'), compression, kFlag64Bit}});
    change(bytes);
    return bytes;
  };
}

// The same with an identifier at 64 and an option descriptor at 72 of a header of 88.
std::function<Bytes()> withStrings(std::function<void(Bytes &)> change) {
  return [=] {
    Bytes bytes = writeContainer(
        {{1, 80, std::string(120, 'x'), Compression::Stored, kFlag64Bit, "k.cu", " -g "}});
    change(bytes);
    return bytes;
  };
}

template <typename T> std::function<void(Bytes &)> set(size_t offset, T value) {
  return [=](Bytes &bytes) { put<T>(bytes, offset, value); };
}

const Hostile kTable[] = {
    {"nothing", [] { return Bytes(); }, "offset 0x0: container header cut off: 0 of 16 bytes"},
    {"half a header", with([](Bytes &b) { b.resize(8); }),
     "offset 0x0: container header cut off: 8 of 16 bytes"},
    {"other magic number", with(set<uint32_t>(0, 0x466243B1)),
     "offset 0x0: container expected: magic number is 0x466243b1, not 0xba55ed50"},
    {"container version", with(set<uint16_t>(4, 2)), "offset 0x0: unsupported container version 2",
     true},
    {"container header too short", with(set<uint16_t>(6, 8)),
     "offset 0x0: container header size is 8, expected 16 to 200"},
    {"container header of no size", with(set<uint16_t>(6, 0)),
     "offset 0x0: container header size is 0, expected 16 to 200"},
    {"container header too long", with(set<uint16_t>(6, 0xffff)),
     "offset 0x0: container header size is 65535, expected 16 to 200"},
    {"container beyond its bytes", with(set<uint64_t>(8, 185)),
     "offset 0x0: container claims 185 bytes of entries, but only 184 follow its header"},
    {"container size that wraps around", with(set<uint64_t>(8, ~uint64_t(0) - 8)),
     "offset 0x0: container claims 18446744073709551607 bytes of entries, but only 184 follow its "
     "header"},
    {"entries of less than a header", with(set<uint64_t>(8, 63)),
     "offset 0x10: entry header cut off: 63 of 64 bytes"},
    {"bytes behind the last entry", with([](Bytes &b) {
       b.resize(b.size() + 8);
       put<uint64_t>(b, 8, b.size() - 16);
     }),
     "offset 0xc8: entry header cut off: 8 of 64 bytes"},
    {"entry version", with(set<uint16_t>(kEntry + 2, 0x0201)),
     "offset 0x10: unsupported entry version 0x201", true},
    {"entry header of no size", with(set<uint32_t>(kEntry + 4, 0)),
     "offset 0x10: entry header size is 0, expected 64 to 184"},
    {"entry header too short", with(set<uint32_t>(kEntry + 4, 63)),
     "offset 0x10: entry header size is 63, expected 64 to 184"},
    {"entry header beyond the container", with(set<uint32_t>(kEntry + 4, 185)),
     "offset 0x10: entry header size is 185, expected 64 to 184"},
    {"entry header of 4 GiB", with(set<uint32_t>(kEntry + 4, ~0u)),
     "offset 0x10: entry header size is 4294967295, expected 64 to 184"},
    {"payload beyond the container", with(set<uint64_t>(kEntry + 8, 121)),
     "offset 0x10: entry claims 121 bytes, but only 120 follow its header"},
    {"payload size that wraps around", with(set<uint64_t>(kEntry + 8, ~uint64_t(0) - 63)),
     "offset 0x10: entry claims 18446744073709551552 bytes, but only 120 follow its header"},
    {"payload too short for the next entry", with(set<uint64_t>(kEntry + 8, 80)),
     "offset 0xa0: entry header cut off: 40 of 64 bytes"},
    {"identifier beyond the header", withStrings(set<uint32_t>(kEntry + 36, 25)),
     "offset 0x10: identifier at 64, 25 bytes long, is not inside its entry's header of 88"},
    {"identifier in the fixed fields", withStrings(set<uint32_t>(kEntry + 32, 8)),
     "offset 0x10: identifier at 8, 4 bytes long, is not inside its entry's header of 88"},
    {"identifier whose end wraps around", withStrings(set<uint32_t>(kEntry + 32, ~0u)),
     "offset 0x10: identifier at 4294967295, 4 bytes long, is not inside its entry's header of 88"},
    {"identifier of 4 GiB", withStrings(set<uint32_t>(kEntry + 36, ~0u)),
     "offset 0x10: identifier at 64, 4294967295 bytes long, is not inside its entry's header of "
     "88"},
    {"option descriptor across the header's end", withStrings(set<uint32_t>(kEntry + 20, 81)),
     "offset 0x10: option descriptor at 81 is not inside its entry's header of 88"},
    {"option descriptor in the fixed fields", withStrings(set<uint32_t>(kEntry + 20, 4)),
     "offset 0x10: option descriptor at 4 is not inside its entry's header of 88"},
    {"option descriptor far away", withStrings(set<uint32_t>(kEntry + 20, ~0u - 3)),
     "offset 0x10: option descriptor at 4294967292 is not inside its entry's header of 88"},
    {"option string beyond the header", withStrings(set<uint32_t>(kEntry + 76, 9)),
     "offset 0x10: option string at 80, 9 bytes long, is not inside its entry's header of 88"},
    {"option string far away", withStrings(set<uint32_t>(kEntry + 72, 0x80000000)),
     "offset 0x10: option string at 2147483648, 4 bytes long, is not inside its entry's header of "
     "88"},
    {"two compressions", with(set<uint64_t>(kEntry + 40, kFlagLz4 | kFlagZstd)),
     "offset 0x10: entry is flagged both as LZ4 and as zstd"},
    {"compressed to nothing", with(set<uint64_t>(kEntry + 40, kFlagZstd)),
     "offset 0x10: compressed size is 0, but the entry has 120 bytes"},
    {"compressed size beyond the entry", with([](Bytes &b) {
       put<uint64_t>(b, kEntry + 40, kFlagLz4);
       put<uint32_t>(b, kEntry + 16, 121);
     }),
     "offset 0x10: compressed size is 121, but the entry has 120 bytes"},
    {"unknown compression", with([](Bytes &b) {
       put<uint64_t>(b, kEntry + 40, 0x4001);
       put<uint32_t>(b, kEntry + 16, 100);
     }),
     "offset 0x10: unsupported compression of image (flags 0x4001)", true},
    {"nothing compressed", with(set<uint64_t>(kEntry + 56, 0), Compression::Zstd),
     "offset 0x10: compressed image claims to be empty"},
    {"bomb: 2^63 bytes", with(set<uint64_t>(kEntry + 56, uint64_t(1) << 63), Compression::Zstd),
     "offset 0x10: image claims 9223372036854775808 bytes uncompressed, more than the limit of "
     "1073741824"},
    {"bomb: all ones", with(set<uint64_t>(kEntry + 56, ~uint64_t(0)), Compression::Lz4),
     "offset 0x10: image claims 18446744073709551615 bytes uncompressed, more than the limit of "
     "1073741824"},
    {"bomb: just above the limit",
     with(set<uint64_t>(kEntry + 56, kMaxPayloadBytes + 1), Compression::Lz4),
     "offset 0x10: image claims 1073741825 bytes uncompressed, more than the limit of 1073741824"},
    {"bomb: LZ4 cannot do that",
     with(set<uint64_t>(kEntry + 56, kMaxPayloadBytes), Compression::Lz4),
     "offset 0x10: image claims 1073741824 bytes uncompressed, which 11 bytes cannot hold"},
    {"bomb: zstd cannot do that",
     with(set<uint64_t>(kEntry + 56, kMaxPayloadBytes), Compression::Zstd),
     "offset 0x10: image claims 1073741824 bytes uncompressed, which 18 bytes cannot hold"},
    {"LZ4 claims too little", with(set<uint64_t>(kEntry + 56, 120), Compression::Lz4),
     "offset 0x10: LZ4 data is damaged, or longer than the 120 bytes claimed"},
    {"LZ4 claims too much", with(set<uint64_t>(kEntry + 56, 122), Compression::Lz4),
     "offset 0x10: LZ4 data gives 121 bytes, 122 expected"},
    {"zstd claims too little", with(set<uint64_t>(kEntry + 56, 120), Compression::Zstd),
     "offset 0x10: zstd data is damaged: Destination buffer is too small"},
    {"zstd claims too much", with(set<uint64_t>(kEntry + 56, 122), Compression::Zstd),
     "offset 0x10: zstd data gives 121 bytes, 122 expected"},
    {"zstd without its frame", with([](Bytes &b) { b[kEntry + 64] ^= 1; }, Compression::Zstd),
     "offset 0x10: zstd data is damaged: Unknown frame descriptor"},
    {"a cubin that is none", with(set<uint16_t>(kEntry, 2)),
     "offset 0x10: cubin for sm_80 is not an ELF file"},
    {"a NUL inside of PTX", with([](Bytes &b) { b[kEntry + 64 + 5] = 0; }),
     "offset 0x10: PTX for sm_80 has a NUL in its text, at 5 of 120"},
};

Error firstError(const Bytes &bytes) {
  Expected<std::vector<Image>> images = readContainer(bytes);
  if (!images)
    return images.takeError();
  if (images->empty())
    return Error::success();
  return payload(images->front()).takeError();
}

TEST(FatbinHostile, EveryInputGivesItsMessage) {
  for (const Hostile &hostile : kTable) {
    Bytes bytes = hostile.make();
    Error error = firstError(bytes);
    EXPECT_EQ(error.isA<UnsupportedImage>(), hostile.unsupported) << hostile.what;
    EXPECT_EQ(error.isA<MalformedImage>(), !hostile.unsupported) << hostile.what;
    EXPECT_EQ(toString(std::move(error)), hostile.message) << hostile.what;
  }
}

// Without the damage the same writer makes good containers, so every message above comes from the
// one change.
TEST(FatbinHostile, UnchangedInputsAreGood) {
  auto nothing = [](Bytes &) {};
  for (const Bytes &bytes : {with(nothing)(), with(nothing, Compression::Lz4)(),
                             with(nothing, Compression::Zstd)(), withStrings(nothing)()}) {
    Error error = firstError(bytes);
    EXPECT_FALSE(bool(error));
    consumeError(std::move(error));
  }
}

} // namespace
