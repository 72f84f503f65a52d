// SPDX-License-Identifier: Apache-2.0
// printf by buffer: what HIP 6's device library does for -mprintf-kind=buffered, whose one function
// HIP 5.2's lacks.
// RUN: env RUBIA_ARCH=gfx1030 %hiplib %programs/printf_buffer 2> %t.err | FileCheck %s
// RUN: FileCheck --check-prefix=ERR %s < %t.err
// RUN: env RUBIA_ARCH=gfx90a %hiplib %programs/printf_buffer 2>&1 | FileCheck %s
#include "Inputs/check.h"
#include <cstring>

// Two words lead the buffer: how much is taken, how much there is.
extern "C" __device__ __attribute__((used)) void *__printf_alloc(unsigned bytes) {
  constexpr unsigned kPrintfBuffer = 9; // of the hidden arguments of 8 bytes
  auto *buffer = static_cast<unsigned *const *>(
      (const void *)__builtin_amdgcn_implicitarg_ptr())[kPrintfBuffer];
  const unsigned at =
      __hip_atomic_fetch_add(buffer, bytes, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  return at + bytes + 8 <= buffer[1] ? reinterpret_cast<char *>(buffer) + 8 + at : nullptr;
}

__global__ void print(const char *text, const char *format, int x) {
  printf("number %d, text '%s', %.2f\n", x, text, 0.125f);
  printf(format, x + 1, 0x1234567890abcdefLL);
  printf("no arguments: \"%%\"\n");
}

__global__ void all() {
  if (threadIdx.x % 16 == 5)
    printf("thread %d of %d\n", int(threadIdx.x), int(blockDim.x));
}

__global__ void tooMuch() {
  for (int i = 0; i < 10000; ++i)
    printf("%d\n", i);
}

int main() {
  char *text;
  CHECK(hipMallocManaged(&text, 100));
  strcpy(text, "from memory");
  strcpy(text + 50, "given: %d %llx\n");
  print<<<1, 1>>>(text, text + 50, 41);
  CHECK(hipDeviceSynchronize());
  // CHECK: {{^}}number 41, text 'from memory', 0.12
  // CHECK-NEXT: {{^}}given: 42 1234567890abcdef
  // CHECK-NEXT: {{^}}no arguments: "%"
  all<<<1, 64>>>();
  CHECK(hipDeviceSynchronize());
  // CHECK-COUNT-4: thread {{5|21|37|53}} of 64
  tooMuch<<<1, 64>>>();
  CHECK(hipDeviceSynchronize());
  // ERR: rubia emulator: kernels printed more than the buffer
  printf("end\n");
  // CHECK: {{^}}end
}
