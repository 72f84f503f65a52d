// SPDX-License-Identifier: Apache-2.0
// Memory that another library has made, by file descriptor.
#include "tests/cuda/LaunchFixture.h"
#include <sys/mman.h>
#include <unistd.h>

namespace rubia::runtime::cuda {
namespace {

constexpr size_t kBytes = 3 * 4096;

class ExternalMemories : public InContext {
protected:
  void SetUp() override {
    InContext::SetUp();
    file = memfd_create("external", 0);
    ASSERT_EQ(ftruncate(file, off_t(kBytes)), 0);
    words =
        static_cast<unsigned *>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  }
  /// By a descriptor of its own, which the driver takes over.
  Result import(void **out, uint64_t bytes, int type = 1, unsigned flags = 0, int fd = -1) {
    ExternalMemoryHandle wanted = {};
    wanted.type = type;
    wanted.descriptor = fd < 0 ? dup(file) : fd;
    wanted.size = bytes;
    wanted.flags = flags;
    return cu("cuImportExternalMemory", out, static_cast<const ExternalMemoryHandle *>(&wanted));
  }
  static Result map(void **out, void *memory, uint64_t offset, uint64_t bytes, unsigned flags = 0) {
    ExternalBuffer wanted = {};
    wanted.offset = offset;
    wanted.size = bytes;
    wanted.flags = flags;
    return cu("cuExternalMemoryGetMappedBuffer", out, memory,
              static_cast<const ExternalBuffer *>(&wanted));
  }
  int file = -1;
  unsigned *words = nullptr;
};

TEST_F(ExternalMemories, AreTheOtherLibrarysBytes) {
  void *memory = nullptr, *first = nullptr, *rest = nullptr;
  ASSERT_EQ(import(&memory, kBytes), kSuccess);
  ASSERT_EQ(map(&first, memory, 0, 4096), kSuccess);
  ASSERT_EQ(map(&rest, memory, 4096, 8192), kSuccess);
  words[3] = 17;
  unsigned word = 0;
  void *third = static_cast<char *>(first) + 12;
  EXPECT_EQ(cu("cuMemcpyDtoH_v2", static_cast<void *>(&word), third, size_t(4)), kSuccess);
  EXPECT_EQ(word, 17u);
  EXPECT_EQ(cu("cuMemsetD32_v2", rest, 5u, size_t(2048)), kSuccess);
  EXPECT_EQ(cu("cuCtxSynchronize"), kSuccess);
  EXPECT_EQ(words[1023], 0u);
  EXPECT_EQ(words[1024], 5u);
  EXPECT_EQ(words[3071], 5u);
  EXPECT_EQ(cu("cuMemsetD32_v2", rest, 5u, size_t(2049)), kInvalidValue);
  EXPECT_EQ(cu("cuDestroyExternalMemory", memory), kInvalidValue); // it has buffers
  EXPECT_EQ(cu("cuMemFree_v2", first), kSuccess);
  EXPECT_EQ(cu("cuMemFree_v2", rest), kSuccess);
  EXPECT_EQ(cu("cuMemFree_v2", rest), kInvalidValue);
  EXPECT_EQ(cu("cuDestroyExternalMemory", memory), kSuccess);
  EXPECT_EQ(cu("cuDestroyExternalMemory", memory), kInvalidHandle);
}

TEST_F(ExternalMemories, WrongArgumentsAreRefused) {
  void *memory = nullptr, *made = nullptr, *wild = this;
  ASSERT_EQ(import(&memory, kBytes), kSuccess);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const struct {
    const char *what;
    Result result, expected;
  } calls[] = {
      {"import to null", import(nullptr, kBytes), kInvalidValue},
      {"import nothing", import(&made, 0), kInvalidValue},
      {"import more than there is", import(&made, kBytes + 1), kUnknown},
      {"import of type 0", import(&made, kBytes, 0), kInvalidValue},
      {"import of Windows", import(&made, kBytes, 2), kNotSupported},
      {"import with flags", import(&made, kBytes, 1, 2), kInvalidValue},
      {"import a pipe", import(&made, kBytes, 1, 0, ends[0]), kUnknown},
      {"import no descriptor", import(&made, kBytes, 1, 0, 1 << 20), kUnknown},
      {"map to null", map(nullptr, memory, 0, 4096), kInvalidValue},
      {"map nothing", map(&made, memory, 0, 0), kInvalidValue},
      {"map beyond the end", map(&made, memory, 4096, kBytes), kInvalidValue},
      {"map behind the end", map(&made, memory, kBytes + 1, 1), kInvalidValue},
      {"map with flags", map(&made, memory, 0, 4096, 1), kInvalidValue},
      {"map of anything", map(&made, wild, 0, 4096), kInvalidHandle},
      {"destroy anything", cu("cuDestroyExternalMemory", wild), kInvalidHandle},
  };
  for (const auto &call : calls)
    EXPECT_EQ(call.result, call.expected) << call.what;
  EXPECT_EQ(cu("cuDestroyExternalMemory", memory), kSuccess);
}

} // namespace
} // namespace rubia::runtime::cuda
