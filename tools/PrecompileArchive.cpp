// SPDX-License-Identifier: Apache-2.0
#include "tools/PrecompileArchive.h"
#include "fatbin/Container.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <archive.h>
#include <archive_entry.h>

using namespace llvm;

namespace rubia::tools {

bool startsLikeArchive(StringRef bytes) {
  static constexpr StringLiteral kStarts[] = {
      "PK\x03\x04",             // zip
      "\x1f\x8b",               // gzip
      "BZh",                    // bzip2
      "\xfd\x37zXZ",            // xz
      "\x28\xb5\x2f\xfd",       // zstd
      "\x04\x22\x4d\x18",       // lz4
      "!<arch>\ndebian-binary", // a Debian package; other ar archives are fatbin/'s
  };
  return any_of(kStarts, [&](StringRef start) { return bytes.starts_with(start); }) ||
         bytes.substr(257, 5) == "ustar";
}

bool startsLikeCudaCode(StringRef bytes, StringRef name) {
  switch (identify_magic(bytes)) {
  case file_magic::archive:
  case file_magic::elf:
  case file_magic::elf_relocatable:
  case file_magic::elf_executable:
  case file_magic::elf_shared_object:
  case file_magic::coff_object:
  case file_magic::pecoff_executable:
    return true;
  default:
    break;
  }
  ArrayRef<uint8_t> raw = arrayRefFromStringRef(bytes);
  return fatbin::startsWithContainer(raw) || fatbin::startsWithPtx(raw) || name.ends_with(".ptx") ||
         name.ends_with(".fatbin") || name.ends_with(".cubin");
}

namespace {
using Handle = std::unique_ptr<archive, decltype(&archive_read_free)>;

Error failure(archive *handle) {
  const char *text = archive_error_string(handle);
  return createStringError(inconvertibleErrorCode(), text ? text : "unreadable archive");
}

// One block of a member: libarchive gives them with their offsets, holes are zeros.
struct Block {
  StringRef bytes;
  uint64_t offset = 0;
};

// False: the end.
Expected<bool> nextBlock(archive *handle, Block &block) {
  const void *bytes;
  size_t size;
  la_int64_t offset;
  int result = archive_read_data_block(handle, &bytes, &size, &offset);
  if (result == ARCHIVE_EOF)
    return false;
  if (result < ARCHIVE_WARN)
    return failure(handle);
  block = {StringRef(static_cast<const char *>(bytes), size), uint64_t(offset)};
  return true;
}

Error tooLarge(uint64_t most) {
  return createStringError(inconvertibleErrorCode(), "larger than " + Twine(most >> 30) + " GiB");
}

// What is to become of a member, by its first bytes and its name. 0: nothing.
uint64_t mostBytesOf(StringRef start, StringRef name) {
  if (startsLikeArchive(start))
    return kMaxMemberBytes;
  if (!startsLikeCudaCode(start, name))
    return 0;
  const bool isPtx = fatbin::startsWithPtx(arrayRefFromStringRef(start)) || name.ends_with(".ptx");
  return isPtx ? fatbin::kMaxPayloadBytes : kMaxMemberBytes;
}

// The rest of a member behind its first block, in a temporary file that has no name any more.
Expected<std::unique_ptr<MemoryBuffer>> spool(archive *handle, Block block,
                                              const std::string &place, uint64_t most) {
  int file;
  SmallString<128> path;
  if (std::error_code error = sys::fs::createTemporaryFile("rubia-precompile", "", file, path))
    return createStringError(error, "temporary file: " + error.message());
  (void)sys::fs::remove(path);
  raw_fd_ostream os(file, /*shouldClose=*/true);
  uint64_t end = 0;
  for (bool more = true; more;) {
    end = std::max<uint64_t>(end, block.offset + block.bytes.size());
    if (end > most)
      return tooLarge(most);
    os.seek(block.offset);
    os << block.bytes;
    Expected<bool> next = nextBlock(handle, block);
    if (!next)
      return next.takeError();
    more = *next;
  }
  os.flush();
  if (std::error_code error = os.error()) {
    os.clear_error();
    return createStringError(error, "temporary file: " + error.message());
  }
  auto buffer = MemoryBuffer::getOpenFile(sys::fs::convertFDToNativeFile(file), place, end,
                                          /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError(buffer.getError(), buffer.getError().message());
  return std::move(*buffer);
}
} // namespace

Error readArchive(const MemoryBuffer &bytes,
                  const std::function<void(StringRef name, std::unique_ptr<MemoryBuffer>)> &take) {
  Handle handle(archive_read_new(), archive_read_free);
  // Not all: some filters start other programs.
  for (auto *support : {archive_read_support_filter_bzip2, archive_read_support_filter_compress,
                        archive_read_support_filter_gzip, archive_read_support_filter_lz4,
                        archive_read_support_filter_lzma, archive_read_support_filter_xz,
                        archive_read_support_filter_zstd})
    support(handle.get());
  archive_read_support_format_tar(handle.get());
  archive_read_support_format_zip(handle.get());
  archive_read_support_format_ar(handle.get());
  if (archive_read_open_memory(handle.get(), bytes.getBufferStart(), bytes.getBufferSize()) !=
      ARCHIVE_OK)
    return failure(handle.get());
  for (;;) {
    archive_entry *entry;
    int result = archive_read_next_header(handle.get(), &entry);
    if (result == ARCHIVE_EOF)
      return Error::success();
    if (result < ARCHIVE_WARN)
      return failure(handle.get());
    if (archive_entry_filetype(entry) != AE_IFREG && archive_entry_filetype(entry) != 0)
      continue;
    const char *path = archive_entry_pathname(entry);
    std::string name = path ? path : "";
    std::string place = bytes.getBufferIdentifier().str() + "(" + name + ")";
    Block first;
    Expected<bool> any = nextBlock(handle.get(), first);
    if (!any)
      return createStringError(inconvertibleErrorCode(),
                               "member " + name + ": " + toString(any.takeError()));
    const uint64_t most = *any ? mostBytesOf(first.bytes, name) : 0;
    if (!most)
      continue;
    // Before anything of it is written: most formats say how large a member is.
    const bool isKnown = archive_entry_size_is_set(entry);
    Expected<std::unique_ptr<MemoryBuffer>> member =
        isKnown && uint64_t(archive_entry_size(entry)) > most
            ? Expected<std::unique_ptr<MemoryBuffer>>(tooLarge(most))
            : spool(handle.get(), first, place, most);
    if (!member)
      return createStringError(inconvertibleErrorCode(),
                               "member " + name + ": " + toString(member.takeError()));
    take(name, std::move(*member));
  }
}

} // namespace rubia::tools
