// SPDX-License-Identifier: Apache-2.0
// Modules, libraries, kernels and launches, with the real compiler and the emulator behind the API:
// what the tests of each chapter begin with.
#pragma once

#include "tests/cuda/Client.h"
#include <cstring>
#include <string>
#include <vector>

namespace rubia::runtime::cuda {

/// out[i] = in[i] * factor + offset[0], one thread an element; and kernels with other needs.
inline constexpr const char *kPtx = R"(.version 7.0
.target sm_80
.address_size 64

.const .align 4 .u32 offset;
.global .align 8 .u64 table[4] = {1, 2, 3, 4};

.visible .entry scale(.param .u64 out, .param .u64 in, .param .u8 factor, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b16 %h<2>;
  .reg .b32 %r<10>;
  .reg .b64 %d<8>;
  ld.param.u64 %d1, [out];
  ld.param.u64 %d2, [in];
  ld.param.u8 %h1, [factor];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 bra done;
  mul.wide.s32 %d3, %r5, 4;
  add.s64 %d4, %d2, %d3;
  ld.global.u32 %r6, [%d4];
  cvt.u32.u16 %r7, %h1;
  ld.const.u32 %r8, [offset];
  mad.lo.s32 %r9, %r6, %r7, %r8;
  add.s64 %d5, %d1, %d3;
  st.global.u32 [%d5], %r9;
done:
  ret;
}

.extern .shared .align 4 .b8 dynamic[];
.visible .entry reverse(.param .u64 out) .maxntid 256, 1, 1
{
  .reg .b32 %r<10>;
  .reg .b64 %d<6>;
  ld.param.u64 %d1, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, dynamic;
  shl.b32 %r4, %r1, 2;
  add.s32 %r5, %r3, %r4;
  st.shared.u32 [%r5], %r1;
  bar.sync 0;
  sub.s32 %r6, %r2, %r1;
  shl.b32 %r7, %r6, 2;
  add.s32 %r8, %r3, %r7;
  ld.shared.u32 %r9, [%r8+-4];
  mul.wide.u32 %d2, %r1, 4;
  add.s64 %d3, %d1, %d2;
  st.global.u32 [%d3], %r9;
  ret;
}

.visible .entry wild()
{
  .reg .b64 %d<2>;
  mov.u64 %d1, 64;
  st.global.u32 [%d1], 1;
  ret;
}

.visible .entry trapping()
{
  trap;
  ret;
}

.extern .func nowhere();
.visible .entry unlinked()
{
  call nowhere, ();
  ret;
}
)";

/// A container with this text as its only entry, as fatbinary writes it without compression.
/// `options`: of ptxas, behind the header's 64 bytes and where they lie.
inline std::vector<uint64_t> container(std::string text, uint16_t kind, uint32_t sm,
                                       std::string options = "") {
  const size_t length = options.size();
  if (length)
    options.resize((8 + length + 7) & ~size_t(7));
  const uint32_t header = uint32_t(64 + options.size());
  text.resize((text.size() + 8) & ~size_t(7)); // NULs
  std::vector<uint64_t> words((16 + header + text.size()) / 8, 0);
  auto *bytes = reinterpret_cast<char *>(words.data());
  auto put = [&](size_t offset, auto value) { memcpy(bytes + offset, &value, sizeof(value)); };
  put(0, uint32_t(0xba55ed50));
  put(4, uint16_t(1));
  put(6, uint16_t(16));
  put(8, uint64_t(header + text.size()));
  put(16, kind);
  put(18, uint16_t(0x0101));
  put(20, header);
  put(24, uint64_t(text.size()));
  put(16 + 24, uint16_t(0));
  put(16 + 26, uint16_t(7));
  put(16 + 28, sm);
  put(16 + 40, uint64_t(0x11));
  if (length) {
    put(16 + 20, uint32_t(64));
    put(16 + 64, uint32_t(72));
    put(16 + 68, uint32_t(length));
    memcpy(bytes + 16 + 72, options.data(), length);
  }
  memcpy(bytes + 16 + header, text.data(), text.size());
  return words;
}

struct Wrapper {
  uint32_t magic = 0x466243b1, version = 1;
  const void *data;
  const void *filename = nullptr;
};

inline Library *load(const void *image) {
  Library *library = nullptr;
  int preserved = 1; // CU_LIBRARY_BINARY_IS_PRESERVED
  void *values[] = {reinterpret_cast<void *>(1)};
  EXPECT_EQ(cu("cuLibraryLoadData", &library, image, static_cast<int *>(nullptr),
               static_cast<void **>(nullptr), 0u, &preserved, static_cast<void **>(values), 1u),
            kSuccess);
  return library;
}

inline Function *kernel(Library *library, const char *name) {
  Function *found = nullptr;
  EXPECT_EQ(cu("cuLibraryGetKernel", &found, library, name), kSuccess) << name;
  return found;
}

inline Result launch(Function *function, unsigned grid, unsigned block, unsigned shared,
                     void **values, void **extra = nullptr) {
  return cu("cuLaunchKernel", function, grid, 1u, 1u, block, 1u, 1u, shared,
            static_cast<Stream *>(nullptr), values, extra);
}

class Launch : public InContext {
protected:
  void SetUp() override {
    InContext::SetUp();
    image = container(kPtx, 1, 80);
    wrapper.data = image.data();
    library = load(&wrapper);
    ASSERT_TRUE(library);
  }
  std::vector<uint64_t> image;
  Wrapper wrapper{.data = nullptr};
  Library *library = nullptr;
};

inline std::vector<int> fetch(void *device, size_t count) {
  std::vector<int> out(count);
  EXPECT_EQ(cu("cuMemcpyDtoH_v2", static_cast<void *>(out.data()), device, count * 4), kSuccess);
  return out;
}

} // namespace rubia::runtime::cuda
