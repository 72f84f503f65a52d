// SPDX-License-Identifier: Apache-2.0
// Builds containers, wrappers, cubins, ELF and COFF objects and archives byte by byte, for the
// tests of fatbin/.

#pragma once

#include "fatbin/Container.h"
#include <cstring>
#include <string>
#include <vector>

namespace rubia::fatbin::test {

using Bytes = std::vector<uint8_t>;

template <typename T> void put(Bytes &bytes, size_t offset, T value) {
  if (bytes.size() < offset + sizeof(T))
    bytes.resize(offset + sizeof(T));
  for (size_t i = 0; i < sizeof(T); ++i)
    bytes[offset + i] = uint8_t(uint64_t(value) >> (8 * i));
}

inline void append(Bytes &bytes, llvm::StringRef text) {
  bytes.insert(bytes.end(), text.begin(), text.end());
}

inline void append(Bytes &bytes, const Bytes &more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

inline void pad(Bytes &bytes, size_t alignment) {
  while (bytes.size() % alignment)
    bytes.push_back(0);
}

/// What one entry of a container is made of.
struct Entry {
  uint16_t kind = 1;
  unsigned sm = 80;
  std::string payload; // before compression
  Compression compression = Compression::Stored;
  uint64_t flags = kFlag64Bit;
  std::string identifier = "", options = "";
};

/// An entry as nvcc lays it out: header, identifier, option descriptor and string, payload padded
/// to 8.
Bytes writeEntry(const Entry &entry);

/// A container with these entries.
Bytes writeContainer(const std::vector<Entry> &entries);

/// A 16-byte header in front of `entries`.
Bytes wrapContainer(const Bytes &entries);

/// PTX text for sm_<sm>, `.version 8.0`.
std::string ptxText(unsigned sm);

/// A cubin: ELF header, a string table and a .nv.global section of 4096 bytes that takes none of
/// the file.
Bytes writeCubin(unsigned sm);

struct Section {
  std::string name;
  Bytes contents;
};

/// An x86-64 ELF object with these sections.
Bytes writeElf(const std::vector<Section> &sections);

/// An x86-64 COFF object with these sections.
Bytes writeCoff(const std::vector<Section> &sections);

/// An ar archive; names of up to 15 characters.
Bytes writeArchive(const std::vector<Section> &members);

} // namespace rubia::fatbin::test
