// SPDX-License-Identifier: Apache-2.0
#include "FatbinWriter.h"
#include <lz4.h>
#include <zstd.h>

namespace rubia::fatbin::test {

static std::string compress(const std::string &text, Compression compression) {
  std::string out;
  switch (compression) {
  case Compression::Stored:
    return text;
  case Compression::Lz4:
    out.resize(LZ4_compressBound(text.size()));
    out.resize(LZ4_compress_default(text.data(), out.data(), text.size(), out.size()));
    return out;
  case Compression::Zstd:
    out.resize(ZSTD_compressBound(text.size()));
    out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
    return out;
  case Compression::Unknown:
    return text;
  }
  return out;
}

Bytes writeEntry(const Entry &entry) {
  // nvcc ends compressed PTX with one NUL; stored PTX gets its NULs from the padding.
  bool compressed = entry.compression != Compression::Stored;
  std::string stored =
      compress(entry.payload + (compressed && entry.kind == 1 ? std::string(1, '\0') : ""),
               entry.compression);
  Bytes bytes(64);
  put<uint16_t>(bytes, 0, entry.kind);
  put<uint16_t>(bytes, 2, 0x0101);
  put<uint16_t>(bytes, 24, entry.kind == 1 ? 0 : 8);
  put<uint16_t>(bytes, 26, entry.kind == 1 ? 8 : 1);
  put<uint32_t>(bytes, 28, entry.sm);
  uint64_t flags = entry.flags;
  if (entry.compression == Compression::Lz4)
    flags |= kFlagLz4;
  if (entry.compression == Compression::Zstd)
    flags |= kFlagZstd;
  put<uint64_t>(bytes, 40, flags);
  if (compressed) {
    put<uint32_t>(bytes, 16, stored.size());
    put<uint64_t>(bytes, 56, entry.payload.size() + (entry.kind == 1));
  }
  if (!entry.identifier.empty()) {
    put<uint32_t>(bytes, 32, bytes.size());
    put<uint32_t>(bytes, 36, entry.identifier.size());
    append(bytes, entry.identifier);
    pad(bytes, 8);
  }
  if (!entry.options.empty()) {
    put<uint32_t>(bytes, 20, bytes.size());
    size_t descriptor = bytes.size();
    put<uint32_t>(bytes, descriptor, descriptor + 8);
    put<uint32_t>(bytes, descriptor + 4, entry.options.size());
    append(bytes, entry.options);
    pad(bytes, 8);
  }
  put<uint32_t>(bytes, 4, bytes.size());
  put<uint64_t>(bytes, 8, (stored.size() + 7) / 8 * 8);
  append(bytes, stored);
  pad(bytes, 8);
  return bytes;
}

Bytes wrapContainer(const Bytes &entries) {
  Bytes bytes;
  put<uint32_t>(bytes, 0, 0xBA55ED50);
  put<uint16_t>(bytes, 4, 1);
  put<uint16_t>(bytes, 6, 16);
  put<uint64_t>(bytes, 8, entries.size());
  append(bytes, entries);
  return bytes;
}

Bytes writeContainer(const std::vector<Entry> &entries) {
  Bytes all;
  for (const Entry &entry : entries)
    append(all, writeEntry(entry));
  return wrapContainer(all);
}

std::string ptxText(unsigned sm) {
  return "//\n// written by a test\n//\n\n.version 8.0\n.target sm_" + std::to_string(sm) +
         "\n.address_size 64\n\n.visible .entry k()\n{\n\tret;\n}\n";
}

// An ELF64 file: header, contents of the sections, section headers. The last section holds the
// names.
static Bytes writeElfFile(uint16_t machine, uint8_t abiVersion, uint32_t flags,
                          std::vector<Section> sections, uint32_t lastType) {
  Bytes names(1);
  std::vector<uint32_t> nameOffsets;
  sections.push_back({".shstrtab", {}});
  for (const Section &section : sections) {
    nameOffsets.push_back(names.size());
    append(names, section.name);
    names.push_back(0);
  }
  sections.back().contents = names;

  Bytes bytes(64);
  memcpy(bytes.data(),
         "\x7f"
         "ELF\x02\x01\x01",
         7);
  bytes[8] = abiVersion;
  put<uint16_t>(bytes, 16, 1);
  put<uint16_t>(bytes, 18, machine);
  put<uint32_t>(bytes, 20, 1);
  put<uint32_t>(bytes, 48, flags);
  put<uint16_t>(bytes, 52, 64);
  put<uint16_t>(bytes, 58, 64);
  put<uint16_t>(bytes, 60, sections.size() + 1);
  put<uint16_t>(bytes, 62, sections.size());
  std::vector<uint64_t> offsets;
  for (const Section &section : sections) {
    pad(bytes, 8);
    offsets.push_back(bytes.size());
    if (section.name != ".nv.global")
      append(bytes, section.contents);
  }
  pad(bytes, 8);
  put<uint64_t>(bytes, 40, bytes.size());
  bytes.resize(bytes.size() + 64);
  for (size_t i = 0; i < sections.size(); ++i) {
    size_t header = bytes.size();
    bool isNames = i + 1 == sections.size();
    bool isLast = i + 2 == sections.size();
    put<uint32_t>(bytes, header, nameOffsets[i]);
    put<uint32_t>(bytes, header + 4, isNames ? 3 : isLast ? lastType : 1);
    put<uint64_t>(bytes, header + 8, isNames ? 0 : 2);
    put<uint64_t>(bytes, header + 24, offsets[i]);
    put<uint64_t>(bytes, header + 32, sections[i].contents.size());
    put<uint64_t>(bytes, header + 48, 8);
    put<uint64_t>(bytes, header + 56, 0);
  }
  return bytes;
}

Bytes writeCubin(unsigned sm) {
  return writeElfFile(190, 8, sm << 8 | 0x06000004, {{".nv.global", Bytes(4096)}}, 0x70000007);
}

Bytes writeElf(const std::vector<Section> &sections) { return writeElfFile(62, 0, 0, sections, 1); }

Bytes writeCoff(const std::vector<Section> &sections) {
  Bytes bytes(20 + 40 * sections.size());
  put<uint16_t>(bytes, 0, 0x8664);
  put<uint16_t>(bytes, 2, sections.size());
  for (size_t i = 0; i < sections.size(); ++i) {
    size_t header = 20 + 40 * i;
    memcpy(&bytes[header], sections[i].name.data(), std::min<size_t>(sections[i].name.size(), 8));
    put<uint32_t>(bytes, header + 16, sections[i].contents.size());
    put<uint32_t>(bytes, header + 20, bytes.size());
    put<uint32_t>(bytes, header + 36, 0x40000040); // readable, initialised data
    append(bytes, sections[i].contents);
  }
  return bytes;
}

Bytes writeArchive(const std::vector<Section> &members) {
  Bytes bytes;
  append(bytes, "!<arch>\n");
  for (const Section &member : members) {
    char header[61];
    snprintf(header, sizeof(header), "%-16s%-12s%-6s%-6s%-8s%-10zu`\n", (member.name + "/").c_str(),
             "0", "0", "0", "644", member.contents.size());
    append(bytes, llvm::StringRef(header, 60));
    append(bytes, member.contents);
    if (bytes.size() % 2)
      bytes.push_back('\n');
  }
  return bytes;
}

} // namespace rubia::fatbin::test
