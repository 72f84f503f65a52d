// SPDX-License-Identifier: Apache-2.0
// A program hands a bare pointer to the driver. The first bytes tell what is there, and each kind
// tells its own size. The driver has accepted the image before it is looked at here.
#include "diff/forward/Images.h"
#include "diff/forward/VariableNames.h"
#include <fcntl.h>
#include <new>
#include <unistd.h>

namespace rubia::forward {
namespace {

constexpr uint32_t kWrapper = 0x466243b1, kContainer = 0xba55ed50, kElf = 0x464c457f;

template <class T> T at(const uint8_t *data, size_t offset) {
  T value;
  memcpy(&value, data + offset, sizeof(value));
  return value;
}

bool startsWith(const uint8_t *data, uint32_t magic) {
  for (unsigned i = 0; i < 4; ++i)
    if (data[i] != uint8_t(magic >> (8 * i)))
      return false;
  return true;
}

uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

/// The end of the last section, segment or table of a 64-bit ELF file.
size_t elfBytes(const uint8_t *data) {
  if (data[4] != 2)
    return 0;
  const uint64_t segments = at<uint64_t>(data, 32), sections = at<uint64_t>(data, 40);
  const unsigned segmentSize = at<uint16_t>(data, 54), segmentCount = at<uint16_t>(data, 56),
                 sectionSize = at<uint16_t>(data, 58), sectionCount = at<uint16_t>(data, 60);
  uint64_t end = larger(64, larger(segments + uint64_t(segmentSize) * segmentCount,
                                   sections + uint64_t(sectionSize) * sectionCount));
  for (unsigned i = 0; i < sectionCount && sectionSize >= 64; ++i) {
    const uint8_t *header = data + sections + size_t(i) * sectionSize;
    if (at<uint32_t>(header, 4) != 8) // SHT_NOBITS has no bytes in the file
      end = larger(end, at<uint64_t>(header, 24) + at<uint64_t>(header, 32));
  }
  for (unsigned i = 0; i < segmentCount && segmentSize >= 56; ++i) {
    const uint8_t *header = data + segments + size_t(i) * segmentSize;
    end = larger(end, at<uint64_t>(header, 8) + at<uint64_t>(header, 32));
  }
  return end <= capsule::kMaxImageBytes ? end : 0;
}

} // namespace

size_t imageBytes(const uint8_t *data) {
  if (startsWith(data, kContainer)) {
    const uint64_t size = at<uint64_t>(data, 8) + at<uint16_t>(data, 6);
    return size <= capsule::kMaxImageBytes ? size : 0;
  }
  if (startsWith(data, kElf))
    return elfBytes(data);
  const uint8_t *text = data;
  while (*text && strchr(" \t\r\n\f\v", *text))
    ++text;
  return *text == '.' || *text == '/' ? strlen(reinterpret_cast<const char *>(data)) : 0;
}

static void addPiece(LoadedImage &image, const uint8_t *data, bool isStable) {
  const size_t size = imageBytes(data);
  // A container without entries is what stands before linked translation units.
  if (!size || (startsWith(data, kContainer) && !at<uint64_t>(data, 8)))
    return;
  if (isStable) {
    image.pieces.push({data, size, false});
    return;
  }
  auto *copy = static_cast<uint8_t *>(malloc(size + 1));
  if (!copy)
    return;
  memcpy(copy, data, size);
  copy[size] = 0;
  image.pieces.push({copy, size, true});
}

bool LoadedImage::namesTextures() {
  if (textures == Known::Not) {
    textures = Known::No;
    for (const Piece &piece : pieces)
      if (mayNameTextures(piece.data, piece.size))
        textures = Known::Yes;
  }
  return textures == Known::Yes;
}

void Images::loaded(Handle owner, bool isLibrary, const void *given) {
  unloaded(owner); // a handle may come back
  auto *image = new (malloc(sizeof(LoadedImage))) LoadedImage(owner, isLibrary);
  const auto *data = static_cast<const uint8_t *>(given);
  if (!startsWith(data, kWrapper)) {
    addPiece(*image, data, false);
  } else {
    // Wrappers and what they point to are constants of a program or library, which outlive the
    // module.
    if (const auto *container = at<const uint8_t *>(data, 8))
      addPiece(*image, container, true);
    if (const auto *list = at<const uint8_t *const *>(data, 16); list && at<uint32_t>(data, 4) == 2)
      for (; *list; ++list)
        addPiece(*image, *list, true);
  }
  images.push(image);
}

void readFile(const char *path, size_t most, Bytes &bytes) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  for (ssize_t got = 1; file >= 0 && got > 0 && bytes.size() <= most;) {
    uint8_t piece[4096];
    got = read(file, piece, sizeof(piece));
    if (got > 0)
      bytes.append(piece, size_t(got));
  }
  if (file >= 0)
    close(file);
}

void Images::loadedFile(Handle owner, bool isLibrary, const char *path) {
  Bytes bytes;
  readFile(path, capsule::kMaxImageBytes, bytes);
  if (bytes.size() < 64 || bytes.size() > capsule::kMaxImageBytes)
    return;
  bytes.push(0);
  loaded(owner, isLibrary, bytes.begin());
}

void Images::unloaded(Handle owner) {
  for (size_t i = images.size(); i--;)
    if (images[i]->owner == owner) {
      for (const Piece &piece : images[i]->pieces)
        if (piece.isOurs)
          free(const_cast<uint8_t *>(piece.data));
      images[i]->~LoadedImage();
      free(images[i]);
      images.remove(i);
    }
  for (size_t i = functions.size(); i--;)
    if (functions[i].owner == owner)
      functions.remove(i);
  for (size_t i = aliases.size(); i--;)
    if (aliases[i].library == owner || aliases[i].module == owner)
      aliases.remove(i);
}

void Images::found(Handle function, Handle owner, const char *name, bool isKernel) {
  for (KnownFunction &known : functions)
    if (known.function == function) {
      if (known.owner == owner && !strcmp(known.name, name))
        return;
      known = {function, owner, strdup(name), isKernel};
      return;
    }
  functions.push({function, owner, strdup(name), isKernel});
}

void Images::isModuleOf(Handle module, Handle library) {
  for (Alias &alias : aliases)
    if (alias.module == module) {
      alias.library = library;
      return;
    }
  aliases.push({module, library});
}

LoadedImage *Images::imageOf(Handle owner) {
  for (const Alias &alias : aliases)
    if (alias.module == owner)
      owner = alias.library;
  for (LoadedImage *image : images)
    if (image->owner == owner)
      return image;
  return nullptr;
}

const KnownFunction *Images::functionOf(Handle function) {
  for (const KnownFunction &known : functions)
    if (known.function == function)
      return &known;
  const char *name = nullptr;
  Handle owner = nullptr;
  if (!DRIVER(cuFuncGetName, const char **, Handle)(&name, function) && name) {
    (void)DRIVER(cuFuncGetModule, Handle *, Handle)(&owner, function);
    found(function, owner, name, false);
  } else if (!DRIVER(cuKernelGetName, const char **, Handle)(&name, function) && name) {
    (void)DRIVER(cuKernelGetLibrary, Handle *, Handle)(&owner, function);
    found(function, owner, name, true);
  } else {
    return nullptr;
  }
  return functions.end() - 1;
}

} // namespace rubia::forward
