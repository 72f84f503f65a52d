// SPDX-License-Identifier: Apache-2.0
#include "PackedFile.h"
#include "llvm/Support/FileOutputBuffer.h"
#include "llvm/Support/MemoryBuffer.h"
#include <zstd.h>

using namespace llvm;
using nlohmann::json;

namespace rubia::golden {

Error write(const PackedFile &file, StringRef path) {
  std::string text = file.header.dump();
  std::string plain = std::to_string(text.size()) + "\n" + text + file.blob;
  std::string packed(ZSTD_compressBound(plain.size()), '\0');
  size_t size = ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), 19);
  if (ZSTD_isError(size))
    return createStringError(Twine("compression failed: ") + ZSTD_getErrorName(size));
  auto buffer = FileOutputBuffer::create(path, size);
  if (!buffer)
    return buffer.takeError();
  std::copy_n(packed.data(), size, (*buffer)->getBufferStart());
  return (*buffer)->commit();
}

Expected<PackedFile> readPacked(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return createStringError(buffer.getError(), "cannot read " + path);
  StringRef packed = (*buffer)->getBuffer();
  unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > 1u << 30)
    return createStringError(path + " is not a golden file");
  std::string plain(size, '\0');
  if (ZSTD_decompress(plain.data(), size, packed.data(), packed.size()) != size)
    return createStringError(path + " is damaged");
  StringRef rest = plain;
  size_t headerSize = 0;
  if (rest.consumeInteger(10, headerSize) || !rest.consume_front("\n") || headerSize > rest.size())
    return createStringError(path + " is not a golden file");
  json header = json::parse(rest.take_front(headerSize), nullptr, /*allow_exceptions=*/false);
  if (header.is_discarded())
    return createStringError(path + " is not a golden file");
  return PackedFile{std::move(header), rest.drop_front(headerSize).str()};
}

} // namespace rubia::golden
