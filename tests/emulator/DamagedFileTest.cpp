// SPDX-License-Identifier: Apache-2.0
// Code objects and offload bundles whose every field says something extreme, loaded, described and
// run under a limit of memory: each is used or refused with a message, and none makes the emulator
// touch what is not its own (which the sanitizers see) or ask for more than the file is worth.
//
// What is damaged comes from clang, as linked and as relocatable file, so that the fields are those
// that real files have.
#include "emulator/CodeObjectInfo.h"
#include "emulator/OffloadBundle.h"
#include "tests/emulator/Fixture.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Support/Compression.h"
#include <functional>
#include <set>
#include <sys/resource.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define RUBIA_TEST_ASAN 1
#endif
#endif

using namespace llvm;
using namespace rubia::emulator;
using namespace rubia::emulator::test;

namespace {

using Bytes = std::vector<uint8_t>;

/// The address space of this process, limited while it lives. AddressSanitizer needs more.
class MemoryLimit {
public:
  MemoryLimit() {
#ifndef RUBIA_TEST_ASAN
    getrlimit(RLIMIT_AS, &before);
    rlimit limit = before;
    limit.rlim_cur = rlim_t(1) << 30;
    setrlimit(RLIMIT_AS, &limit);
#endif
  }
  ~MemoryLimit() {
#ifndef RUBIA_TEST_ASAN
    setrlimit(RLIMIT_AS, &before);
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    EXPECT_LT(usage.ru_maxrss, 400 << 10) << "KiB";
#endif
  }

private:
  [[maybe_unused]] rlimit before;
};

constexpr const char *kSource = R"(
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
__attribute__((noinline)) static int twice(int a) { return a * 2; }
typedef int (*operation)(int);
__attribute__((noinline)) static int thrice(int a) { return a * 3; }
constant operation table[2] = {twice, thrice};
__attribute__((visibility("default"))) global int counter = 5;
kernel void k(global int *out, int which, short narrow) {
  local int shared[4];
  shared[which & 3] = narrow;
  counter += 1;
  out[0] = table[which & 1](counter) + shared[0];
})";

struct Field {
  std::string name;
  size_t offset;
  unsigned bytes;
};

uint64_t read(const Bytes &bytes, size_t offset, unsigned size) {
  uint64_t value = 0;
  if (offset + size <= bytes.size())
    std::memcpy(&value, bytes.data() + offset, size);
  return value;
}
void write(Bytes &bytes, size_t offset, unsigned size, uint64_t value) {
  ASSERT_LE(offset + size, bytes.size());
  std::memcpy(bytes.data() + offset, &value, size);
}

/// A record of fields of these widths from `offset` on.
void addRecord(std::vector<Field> &fields, const std::string &name, size_t offset,
               std::initializer_list<unsigned> widths) {
  unsigned i = 0;
  for (unsigned width : widths) {
    fields.push_back({name + " field " + std::to_string(i++), offset, width});
    offset += width;
  }
}

/// All fields of a sound code object: headers, notes, symbols, relocations, kernel descriptors.
std::vector<Field> fieldsOf(const Bytes &object) {
  std::vector<Field> fields;
  addRecord(fields, "ELF header", 4, {1, 1, 1, 1, 1});
  addRecord(fields, "ELF header", 16, {2, 2, 4, 8, 8, 8, 4, 2, 2, 2, 2, 2, 2});
  const uint64_t segments = read(object, 32, 8), sections = read(object, 40, 8);
  for (unsigned i = 0; i < read(object, 56, 2); ++i)
    addRecord(fields, "segment " + std::to_string(i), segments + i * 56, {4, 4, 8, 8, 8, 8, 8, 8});
  for (unsigned i = 0; i < read(object, 60, 2); ++i) {
    const size_t header = sections + i * 64;
    const std::string name = "section " + std::to_string(i);
    addRecord(fields, name, header, {4, 4, 8, 8, 8, 8, 4, 4, 8, 8});
    const uint64_t type = read(object, header + 4, 4), offset = read(object, header + 24, 8),
                   size = read(object, header + 32, 8);
    if (type == ELF::SHT_NOTE)
      addRecord(fields, name + " note", offset, {4, 4, 4, 4, 4});
    const bool isSymbols = type == ELF::SHT_SYMTAB || type == ELF::SHT_DYNSYM;
    for (uint64_t at = 0; isSymbols && at < size; at += 24)
      addRecord(fields, name + " symbol " + std::to_string(at / 24), offset + at,
                {4, 1, 1, 2, 8, 8});
    for (uint64_t at = 0; type == ELF::SHT_RELA && at < size; at += 24)
      addRecord(fields, name + " relocation " + std::to_string(at / 24), offset + at, {8, 4, 4, 8});
  }
  return fields;
}

/// Where the descriptor of the only kernel lies in the file: in .rodata, found by its sizes.
std::vector<Field> descriptorOf(const Bytes &object) {
  std::vector<Field> fields;
  const uint64_t sections = read(object, 40, 8), count = read(object, 60, 2);
  const uint64_t names = read(object, sections + read(object, 62, 2) * 64 + 24, 8);
  for (unsigned i = 0; i < count; ++i) {
    const size_t header = sections + i * 64;
    const auto *name =
        reinterpret_cast<const char *>(object.data() + names + read(object, header, 4));
    if (StringRef(name) == ".rodata")
      for (uint64_t at = 0; at + 64 <= read(object, header + 32, 8); at += 64)
        addRecord(fields, "descriptor " + std::to_string(at / 64),
                  read(object, header + 24, 8) + at, {4, 4, 4, 4, 8, 8, 8, 4, 4, 4, 4, 2, 2, 4});
  }
  return fields;
}

std::set<uint64_t> extremes(uint64_t sound, unsigned bytes, uint64_t fileSize) {
  std::set<uint64_t> values;
  for (uint64_t value : {uint64_t(0),
                         uint64_t(1),
                         uint64_t(3),
                         sound - 1,
                         sound + 1,
                         sound + 8,
                         sound * 2,
                         fileSize,
                         fileSize - 1,
                         fileSize - sound,
                         uint64_t(0x7f),
                         uint64_t(0x80),
                         uint64_t(0xff00),
                         uint64_t(0x7fffffff),
                         uint64_t(0x80000000),
                         uint64_t(0xfffffff0),
                         uint64_t(0xffffffff),
                         uint64_t(1) << 32,
                         uint64_t(1) << 40,
                         ~uint64_t(0) - 7,
                         ~uint64_t(0),
                         uint64_t(1) << 63}) {
    const uint64_t cut = bytes == 8 ? value : value & ((uint64_t(1) << bytes * 8) - 1);
    if (cut != sound)
      values.insert(cut);
  }
  return values;
}

struct Outcomes {
  unsigned used = 0, refused = 0;
};

/// Loads, describes and runs the file.
void use(const Bytes &file, const std::string &what, Outcomes &outcomes) {
  SCOPED_TRACE(what);
  // At the very end of an allocation, so that a sanitizer sees the first byte beyond it.
  std::unique_ptr<uint8_t[]> copy(new uint8_t[file.size()]);
  std::copy(file.begin(), file.end(), copy.get());
  const ArrayRef<uint8_t> bytes(copy.get(), file.size());
  auto checkMessage = [&](Error error) {
    const std::string message = llvm::toString(std::move(error));
    EXPECT_GT(message.size(), 10u);
    EXPECT_LT(message.size(), 32u << 10) << message.substr(0, 200);
  };
  if (auto info = describeCodeObject(bytes); !info)
    checkMessage(info.takeError());
  Memory memory;
  auto code = CodeObject::load(bytes, memory);
  if (!code) {
    ++outcomes.refused;
    return checkMessage(code.takeError());
  }
  ++outcomes.used;
  for (const Kernel &kernel : (*code)->kernels()) {
    for (const KernelArgument &argument : kernel.arguments)
      EXPECT_LE(uint64_t(argument.offset) + argument.size, kernel.kernargSize);
    Bytes arguments(kernel.explicitKernargSize);
    Launch launch;
    launch.kernel = &kernel;
    launch.kernarg = arguments;
    launch.hostThreads = 1;
    launch.instructionLimit = 1000;
    if (auto result = run(launch, memory); !result) // it writes to address 0 at best
      checkMessage(result.takeError());
  }
}

class DamagedFile : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    object = compile(kSource, "gfx90a", std::string("-O1 -Wno-everything ") + GetParam());
    ASSERT_GT(object.size(), 1000u);
    Memory memory;
    auto sound = CodeObject::load(object, memory);
    ASSERT_TRUE(bool(sound)) << llvm::toString(sound.takeError());
  }

  /// Puts all extreme values into all fields, one at a time.
  Outcomes damage(const std::vector<Field> &fields) {
    MemoryLimit limit;
    Outcomes outcomes;
    for (const Field &field : fields) {
      const uint64_t sound = read(object, field.offset, field.bytes);
      for (uint64_t value : extremes(sound, field.bytes, object.size())) {
        Bytes damaged = object;
        write(damaged, field.offset, field.bytes, value);
        use(damaged, field.name + " = 0x" + utohexstr(value), outcomes);
      }
    }
    return outcomes;
  }

  Bytes object;
};

TEST_P(DamagedFile, FieldsOfTheFileSayAnything) {
  const Outcomes outcomes = damage(fieldsOf(object));
  EXPECT_GT(outcomes.refused, 500u);
  EXPECT_GT(outcomes.used, 500u); // much of a file does not matter
}

TEST_P(DamagedFile, FieldsOfTheDescriptorSayAnything) {
  const Outcomes outcomes = damage(descriptorOf(object));
  EXPECT_GT(outcomes.refused, 20u);
  EXPECT_GT(outcomes.used, 20u);
}

TEST_P(DamagedFile, EndsAnywhere) {
  MemoryLimit limit;
  Outcomes outcomes;
  for (size_t size = 0; size < object.size(); ++size)
    use(Bytes(object.begin(), object.begin() + ptrdiff_t(size)), std::to_string(size) + " bytes",
        outcomes);
  EXPECT_EQ(outcomes.used, 0u); // the section headers are the last part
}

/// The bounds of the metadata note's description.
std::pair<size_t, size_t> metadataOf(const Bytes &object) {
  const uint64_t sections = read(object, 40, 8);
  for (unsigned i = 0; i < read(object, 60, 2); ++i) {
    const size_t header = sections + i * 64;
    const uint64_t offset = read(object, header + 24, 8);
    if (read(object, header + 4, 4) == ELF::SHT_NOTE)
      return {offset + 20, read(object, offset + 4, 4)};
  }
  return {0, 0};
}

TEST_P(DamagedFile, BytesOfTheMetadataAreAnything) {
  MemoryLimit limit;
  Outcomes outcomes;
  const auto [start, size] = metadataOf(object);
  ASSERT_GT(size, 100u);
  // A map, a list, a text, an extension, nothing; lengths that there are not; a number. Each byte
  // is three of them in turn.
  constexpr uint8_t kBytes[] = {0x81, 0x91, 0xa1, 0xc7, 0xc0, 0xdd, 0xdf, 0xdb, 0x05};
  for (size_t at = 0; at < size; ++at)
    for (size_t i = at % 3; i < std::size(kBytes); i += 3) {
      Bytes damaged = object;
      damaged[start + at] = kBytes[i];
      use(damaged, "metadata byte " + std::to_string(at) + " = 0x" + utohexstr(kBytes[i]),
          outcomes);
    }
  EXPECT_GT(outcomes.refused, 500u);
}

/// The file with other metadata, at its end; the note's headers lead there.
Bytes withMetadata(const Bytes &object, StringRef metadata) {
  Bytes result = object;
  result.resize((result.size() + 7) / 8 * 8);
  const uint64_t place = result.size();
  const uint32_t note[] = {7, uint32_t(metadata.size()), ELF::NT_AMDGPU_METADATA};
  auto add = [&](const void *bytes, size_t size) {
    const auto *first = static_cast<const uint8_t *>(bytes);
    result.insert(result.end(), first, first + size);
  };
  add(note, sizeof(note));
  add("AMDGPU", 7); // with its NUL
  add("", 1);       // padding
  add(metadata.data(), metadata.size());
  result.resize((result.size() + 3) / 4 * 4);
  const uint64_t size = result.size() - place, segments = read(object, 32, 8),
                 sections = read(object, 40, 8);
  for (unsigned i = 0; i < read(object, 56, 2); ++i)
    if (read(object, segments + i * 56, 4) == ELF::PT_NOTE) {
      write(result, segments + i * 56 + 8, 8, place);
      write(result, segments + i * 56 + 32, 8, size);
    }
  for (unsigned i = 0; i < read(object, 60, 2); ++i)
    if (read(object, sections + i * 64 + 4, 4) == ELF::SHT_NOTE) {
      write(result, sections + i * 64 + 24, 8, place);
      write(result, sections + i * 64 + 32, 8, size);
    }
  return result;
}

/// All entries of a document's maps and lists.
void forEntries(msgpack::DocNode &node, const std::function<void(msgpack::DocNode &)> &visit) {
  visit(node);
  if (node.isMap())
    for (auto &entry : node.getMap())
      forEntries(entry.second, visit);
  else if (node.isArray())
    for (auto &entry : node.getArray())
      forEntries(entry, visit);
}

TEST_P(DamagedFile, EntriesOfTheMetadataAreAnything) {
  MemoryLimit limit;
  const auto [start, size] = metadataOf(object);
  const StringRef sound(reinterpret_cast<const char *>(object.data()) + start, size);
  msgpack::Document original;
  ASSERT_TRUE(original.readFromBlob(sound, false));
  unsigned entries = 0;
  forEntries(original.getRoot(), [&](msgpack::DocNode &) { ++entries; });
  Outcomes outcomes, unchanged;
  use(withMetadata(object, sound), "moved", unchanged);
  EXPECT_EQ(unchanged.used, 1u);
  using Change = std::function<msgpack::DocNode(msgpack::Document &)>;
  std::vector<Change> changes = {
      [](msgpack::Document &document) { return document.getNode(); },
      [](msgpack::Document &document) { return document.getNode("text"); },
      [](msgpack::Document &document) { return document.getNode(true); },
      [](msgpack::Document &document) { return document.getNode(-1.5); },
      [](msgpack::Document &document) { return document.getMapNode(); },
      [](msgpack::Document &document) { return document.getArrayNode(); },
      [](msgpack::Document &document) { return document.getNode(int64_t(-1)); }};
  for (uint64_t value : {uint64_t(0), uint64_t(7), uint64_t(0x10000), uint64_t(0x7fffffff),
                         uint64_t(0xfffffff8), uint64_t(0xffffffff), uint64_t(1) << 32,
                         (uint64_t(1) << 32) + 8, ~uint64_t(0) - 7, ~uint64_t(0)})
    changes.push_back([value](msgpack::Document &document) { return document.getNode(value); });
  for (unsigned changed = 0; changed < entries; ++changed)
    for (size_t change = 0; change < changes.size(); ++change) {
      msgpack::Document document;
      ASSERT_TRUE(document.readFromBlob(sound, false));
      unsigned i = 0;
      msgpack::DocNode *place = nullptr;
      forEntries(document.getRoot(), [&](msgpack::DocNode &node) {
        if (i++ == changed)
          place = &node;
      });
      *place = changes[change](document);
      std::string blob;
      document.writeToBlob(blob);
      use(withMetadata(object, blob),
          "entry " + std::to_string(changed) + ", change " + std::to_string(change), outcomes);
    }
  EXPECT_GT(outcomes.refused, 300u);
}

// Keys that are lists or maps, lengths without contents, nesting.
TEST_P(DamagedFile, MetadataIsOfAnyShape) {
  MemoryLimit limit;
  Outcomes outcomes;
  const std::string deep(4000, '\x91');
  for (StringRef blob :
       {StringRef("\x83\x90\x01\x90\x02\x91\x01\x03"), StringRef("\x82\x80\x01\x80\x02"),
        StringRef("\x82\xa1"
                  "a\xdd\xff\xff\xff\xff"),
        StringRef("\xdf\xff\xff\xff\xff"), StringRef(deep), StringRef("\xc0"), StringRef(""),
        StringRef("\x81\xae"
                  "amdhsa.kernels\x91\x80"),
        StringRef("\x81\xae"
                  "amdhsa.kernels\xc0")})
    use(withMetadata(object, blob), toHex(blob.take_front(20)), outcomes);
  EXPECT_EQ(outcomes.used, 0u);
}

INSTANTIATE_TEST_SUITE_P(Forms, DamagedFile, testing::Values("", "-c"),
                         [](const auto &info) { return *info.param ? "Relocatable" : "Linked"; });

// One function over a gigabyte of zeros, which are instructions too.
TEST(DamagedFiles, ZerosBehindTheFileAreNotCode) {
  const Bytes object = compile(kSource, "gfx90a", "-O1 -Wno-everything");
  Bytes damaged = object;
  const uint64_t segments = read(object, 32, 8), sections = read(object, 40, 8);
  for (unsigned i = 0; i < read(object, 56, 2); ++i)
    if (read(object, segments + i * 56, 4) == ELF::PT_LOAD)
      write(damaged, segments + i * 56 + 40, 8, 1 << 28);
  for (unsigned i = 0; i < read(object, 60, 2); ++i)
    if (const size_t header = sections + i * 64; read(object, header + 4, 4) == ELF::SHT_SYMTAB)
      for (uint64_t at = 0; at < read(object, header + 32, 8); at += 24)
        if (const size_t symbol = read(object, header + 24, 8) + at;
            (object[symbol + 4] & 15) == ELF::STT_FUNC)
          write(damaged, symbol + 16, 8, 1 << 27);
  MemoryLimit limit;
  Memory memory;
  auto code = CodeObject::load(damaged, memory);
  ASSERT_FALSE(bool(code));
  const std::string message = llvm::toString(code.takeError());
  EXPECT_NE(message.find("lies outside of the executable segments"), std::string::npos) << message;
}

// A bundle of one empty entry and one of 300 bytes; its header's sizes lie.
TEST(DamagedFiles, BundlesAreReadOrRefused) {
  std::string plain = "__CLANG_OFFLOAD_BUNDLE__";
  auto number = [](std::string &text, uint64_t value, unsigned bytes) {
    text.append(reinterpret_cast<const char *>(&value), bytes);
  };
  const std::string id = "hipv4-amdgcn-amd-amdhsa--gfx1100";
  number(plain, 1, 8);
  number(plain, plain.size() + 24 + id.size(), 8);
  number(plain, 300, 8);
  number(plain, id.size(), 8);
  plain += id + std::string(300, 'x');

  SmallVector<uint8_t> packed;
  compression::zstd::compress(arrayRefFromStringRef<uint8_t>(plain), packed);
  std::vector<std::pair<std::string, std::vector<Field>>> files = {{plain, {}}};
  addRecord(files[0].second, "bundle", 24, {8, 8, 8, 8});
  for (unsigned version : {1u, 2u, 3u}) {
    const unsigned width = version == 3 ? 8 : 4, header = 8 + width * (version == 1 ? 1 : 2) + 8;
    std::string file = "CCOB";
    number(file, version, 2);
    number(file, 1, 2);
    if (version > 1)
      number(file, header + packed.size(), width);
    number(file, plain.size(), width);
    number(file, 0, 8);
    file += toStringRef(packed);
    std::vector<Field> fields;
    addRecord(fields, "version " + std::to_string(version), 4, {2, 2, width, width});
    files.push_back({file, fields});
  }

  MemoryLimit limit;
  auto use = [](StringRef file) {
    std::unique_ptr<uint8_t[]> copy(new uint8_t[file.size()]);
    std::copy(file.begin(), file.end(), copy.get());
    auto object = selectCodeObject(ArrayRef<uint8_t>(copy.get(), file.size()), "gfx1100");
    if (object)
      return true;
    EXPECT_GT(llvm::toString(object.takeError()).size(), 10u);
    return false;
  };
  for (const auto &[file, fields] : files) {
    ASSERT_TRUE(use(file));
    for (size_t size = 0; size < file.size(); ++size)
      EXPECT_FALSE(use(StringRef(file).take_front(size))) << size;
    for (const Field &field : fields) {
      Bytes damaged(file.begin(), file.end());
      for (uint64_t value :
           extremes(read(damaged, field.offset, field.bytes), field.bytes, file.size())) {
        write(damaged, field.offset, field.bytes, value);
        (void)use(toStringRef(ArrayRef<uint8_t>(damaged)));
      }
    }
  }
  std::string bomb = "CCOB";
  number(bomb, 3, 2);
  number(bomb, 1, 2);
  number(bomb, 96, 8);
  number(bomb, uint64_t(1) << 60, 8);
  bomb.resize(96);
  auto object = selectCodeObject(arrayRefFromStringRef<uint8_t>(bomb), "gfx1100");
  ASSERT_FALSE(bool(object));
  EXPECT_EQ(llvm::toString(object.takeError()),
            "malformed offload bundle: 64 bytes cannot hold 1152921504606846976");
}

} // namespace
