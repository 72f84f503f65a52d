// SPDX-License-Identifier: Apache-2.0
// libFuzzer over everything in fatbin/ that reads outside bytes: any file -> images -> payloads ->
// what those hold. There is nothing to compare with: what is asked for is no fault, no leak, and
// payloads of the size that they claim.

#include "fatbin/Embedded.h"
#include "fatbin/File.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdlib>

using namespace llvm;
using namespace rubia::fatbin;

static void readAll(ArrayRef<Image> images) {
  for (const Image &image : images) {
    if (image.uncompressedSize > 1 << 24) // keeps the memory of one run small
      continue;
    Expected<std::string> bytes = payload(image);
    if (!bytes) {
      consumeError(bytes.takeError());
      continue;
    }
    if (bytes->size() > image.uncompressedSize)
      abort();
    consumeError(readImages(arrayRefFromStringRef(*bytes)).takeError());
  }
}

// What is read of a bundle gives the same when it is written and read again.
static void readParts(ArrayRef<uint8_t> bytes) {
  Expected<std::vector<BundlePart>> parts = readBundle(bytes);
  if (!parts) {
    consumeError(parts.takeError());
    return;
  }
  const std::vector<uint8_t> again = makeBundle(*parts);
  Expected<std::vector<BundlePart>> same = readBundle(again);
  if (!same || same->size() != parts->size())
    abort();
  for (auto [a, b] : zip_equal(*parts, *same))
    if (a.name != b.name || a.bytes != b.bytes || a.isLibrary != b.isLibrary)
      abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ArrayRef<uint8_t> bytes(data, size);
  if (Expected<std::vector<Image>> images = readImages(bytes))
    readAll(*images);
  else
    consumeError(images.takeError());

  if (startsWithBundle(bytes))
    readParts(bytes);
  for (ArrayRef<uint8_t> container : embeddedContainers(bytes))
    if (Expected<std::vector<Image>> images = readImages(container))
      readAll(*images);
    else
      consumeError(images.takeError());

  Expected<ImageFile> file =
      readBuffer(MemoryBuffer::getMemBuffer(toStringRef(bytes), "fuzz", false));
  if (!file) {
    consumeError(file.takeError());
    return 0;
  }
  for (const FileImage &image : file->images) {
    file->place(image);
    readAll(image.image);
  }
  file->description();
  return 0;
}
