// SPDX-License-Identifier: Apache-2.0
// What libcuda.so.1 shows to the programs that load it, and what it brings with it.
#include "tests/cuda/Client.h"
#include <elf.h>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

namespace rubia::runtime::cuda {
namespace {

struct Row {
  const char *symbol, *name;
  int introduced;
  bool perThread;
};
const Row kRows[] = {
#define CUDA_FUNCTION(Symbol, Name, Introduced, PerThread)                                         \
  {#Symbol, #Name, Introduced, bool(PerThread)},
#include "runtime/cuda/Functions.def"
#undef CUDA_FUNCTION
};

// The dynamic section of an ELF file.
struct Dynamic {
  std::set<std::string> exports, needed;
  std::string soname;
};

Dynamic readDynamic(const char *path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  auto *header = reinterpret_cast<Elf64_Ehdr *>(bytes.data());
  auto *sections = reinterpret_cast<Elf64_Shdr *>(bytes.data() + header->e_shoff);
  Dynamic result;
  for (int i = 0; i < header->e_shnum; ++i) {
    const Elf64_Shdr &section = sections[i];
    if (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_DYNAMIC)
      continue;
    const char *strings = bytes.data() + sections[section.sh_link].sh_offset;
    const char *data = bytes.data() + section.sh_offset;
    if (section.sh_type == SHT_DYNSYM) {
      const auto *symbols = reinterpret_cast<const Elf64_Sym *>(data);
      for (size_t n = 0; n < section.sh_size / sizeof(*symbols); ++n)
        if (symbols[n].st_shndx != SHN_UNDEF)
          result.exports.insert(strings + symbols[n].st_name);
    } else {
      for (const auto *entry = reinterpret_cast<const Elf64_Dyn *>(data); entry->d_tag != DT_NULL;
           ++entry) {
        if (entry->d_tag == DT_NEEDED)
          result.needed.insert(strings + entry->d_un.d_val);
        if (entry->d_tag == DT_SONAME)
          result.soname = strings + entry->d_un.d_val;
      }
    }
  }
  return result;
}

TEST(Exports, AreTheApiAndNothingElse) {
  std::set<std::string> api;
  for (const Row &row : kRows)
    api.insert(row.symbol);
  EXPECT_EQ(api.size(), 672u);
  Dynamic dynamic = readDynamic(RUBIA_LIBCUDA);
  EXPECT_EQ(dynamic.exports, api);
  EXPECT_EQ(dynamic.soname, "libcuda.so.1");
}

// NVIDIA's stub library lacks them, its drivers have them. Dr.Jit looks for some when it starts,
// and uses no device without.
TEST(Exports, HaveWhatSharesMemoryWithGraphics) {
  Dynamic dynamic = readDynamic(RUBIA_LIBCUDA);
  for (const char *name :
       {"cuGraphicsGLRegisterBuffer", "cuGraphicsGLRegisterImage", "cuGLGetDevices_v2",
        "cuGLMapBufferObject_v2_ptds", "cuGLMapBufferObjectAsync_v2_ptsz",
        "cuEGLStreamConsumerConnect", "cuEventCreateFromEGLSync",
        "cuGraphicsVDPAURegisterVideoSurface", "cuVDPAUCtxCreate_v2"})
    EXPECT_TRUE(dynamic.exports.contains(name)) << name;
}

// Neither LLVM nor a C++ library nor a compression library of the program's can meet ours.
TEST(Exports, NeedOnlyTheCLibrary) {
  const std::set<std::string> allowed = {"libc.so.6",       "libm.so.6",  "libdl.so.2",
                                         "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"};
  for (const std::string &needed : readDynamic(RUBIA_LIBCUDA).needed)
    EXPECT_TRUE(allowed.count(needed)) << needed;
}

// Zeroes for all arguments.
Result callWithZeroes(const char *name) {
  size_t z = 0;
  return cu(name, z, z, z, z, z, z, z, z, z, z, z, z);
}

TEST(Exports, CanBeCalledBeforeInitialization) {
  for (const Row &row : kRows) {
    std::string name = row.symbol;
    if (name == "cuInit")
      continue;
    Result result = callWithZeroes(row.symbol);
    EXPECT_TRUE(nameOf(result)) << name << " " << result;
    EXPECT_NE(result, kSuccess) << name;
  }
}

TEST(Exports, CanBeCalledWithNulls) {
  ASSERT_EQ(cu("cuInit", 0u), kSuccess);
  for (const Row &row : kRows) {
    Context *context = nullptr;
    ASSERT_EQ(cu("cuDevicePrimaryCtxRetain", &context, 0), kSuccess) << row.symbol;
    ASSERT_EQ(cu("cuCtxSetCurrent", context), kSuccess) << row.symbol;
    Result result = callWithZeroes(row.symbol);
    EXPECT_TRUE(nameOf(result)) << row.symbol << " " << result;
  }
}

TEST(GetProcAddress, GivesTheNewestVariantThatTheCallerKnows) {
  for (const Row &row : kRows) {
    void *function = nullptr;
    int status = -1;
    ASSERT_EQ(cu("cuGetProcAddress_v2", row.name, &function, row.introduced,
                 row.perThread ? uint64_t(2) : uint64_t(0), &status),
              kSuccess)
        << row.symbol;
    EXPECT_EQ(function, symbol(row.symbol)) << row.symbol;
    EXPECT_EQ(status, 0) << row.symbol;
  }
}

TEST(GetProcAddress, TellsUnknownNamesFromOldVersions) {
  void *function = &function;
  int status = -1;
  EXPECT_EQ(cu("cuGetProcAddress_v2", "cuNoSuchFunction", &function, 13000, uint64_t(0), &status),
            kSuccess);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(cu("cuGetProcAddress_v2", "cuLibraryLoadData", &function, 11000, uint64_t(0), &status),
            kSuccess);
  EXPECT_EQ(status, 2);
}

TEST(GetProcAddress, AnswersWhatCudartAsks) {
  struct Lookup {
    const char *name;
    int version;
    uint64_t flags;
    const char *expected;
  };
  const Lookup lookups[] = {
#define LOOKUP(Name, Version, Flags, Symbol) {Name, Version, Flags, Symbol},
#include "tests/cuda/CudartLookups.def"
#undef LOOKUP
  };
  EXPECT_EQ(std::size(lookups), 440u);
  for (const Lookup &lookup : lookups) {
    void *function = nullptr;
    Result result = cu("cuGetProcAddress_v2", lookup.name, &function, lookup.version, lookup.flags,
                       static_cast<int *>(nullptr));
    EXPECT_EQ(result, kSuccess) << lookup.name;
    EXPECT_EQ(function, *lookup.expected ? symbol(lookup.expected) : nullptr)
        << lookup.name << " " << lookup.version;
  }
}

} // namespace
} // namespace rubia::runtime::cuda
