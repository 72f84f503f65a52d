// SPDX-License-Identifier: Apache-2.0
// What kernels print, allocate and assert, through calls of the host.
// RUN: env RUBIA_ARCH=gfx1030 %hiplib %programs/printf > %t.out 2> %t.err
// RUN: FileCheck %s < %t.out
// RUN: FileCheck --check-prefix=ERR %s < %t.err
// RUN: env RUBIA_ARCH=gfx90a RUBIA_EMULATOR_CHECK=memory %hiplib %programs/printf 2>&1 | FileCheck %s
#include "Inputs/check.h"
#include <cassert>
#include <cstdio>
#include <hip/hip_runtime.h>

__global__ void conversions(const char *text, int width) {
  printf("%d %i %u %o %x %X %c\n", -1, 2, -1, 8, 255, 255, 'x');
  printf("%hhd %hd %ld %lld %zu\n", 300, 70000, 1L << 40, -(1LL << 50), sizeof(int));
  printf("%hhu %hu %llx %#x %+d|% d|%05d|%-5d|\n", 300, 70000, ~0ULL, 16, 7, 7, 42, 42);
  printf("%*d|%-*d|%.*f|\n", width, 1, width, 2, 3, 1.0 / 3);
  printf("%f %e %g %a %.0f\n", 1.5f, 12345.678, 1e-9, 1.0, 2.5);
  printf("'%s' '%5s' '%-5s' '%.2s'\n", "", "ab", "ab", "abcdef");
  printf("%s|%s\n", text, "exactly 56 characters, which is seven words of eight ...");
  printf("100%%, %p\n", static_cast<void *>(nullptr));
}

__global__ void rounds() {
  for (int i = 0; i < 3; ++i)
    if (threadIdx.x % 40 == 0)
      printf("thread %d round %d\n", int(threadIdx.x), i);
}

__global__ void many(int *count) {
  if (printf("%s", "") == 0)
    atomicAdd(count, 1);
}

struct Node {
  Node *next;
  int value;
};
__global__ void lists(int *sums) {
  Node *head = nullptr;
  for (int i = 0; i <= int(threadIdx.x); ++i) {
    Node *node = static_cast<Node *>(malloc(sizeof(Node)));
    node->next = head;
    node->value = i;
    head = node;
  }
  int sum = 0;
  while (head) {
    Node *next = head->next;
    sum += head->value;
    free(head);
    head = next;
  }
  char *large = static_cast<char *>(malloc(100000));
  large[99999] = 1;
  sums[threadIdx.x] = sum + large[99999];
  free(large);
}

__global__ void check(int expected) { assert(int(threadIdx.x) < expected && "too many"); }

int main() {
  char *text;
  CHECK(hipMallocManaged(&text, 200));
  for (int i = 0; i < 120; ++i)
    text[i] = 'a' + i % 26;
  text[120] = 0;
  printf("begin\n");
  conversions<<<1, 1>>>(text, 4);
  CHECK(hipDeviceSynchronize());
  // CHECK: begin
  // CHECK-NEXT: {{^}}-1 2 4294967295 10 ff FF x{{$}}
  // CHECK-NEXT: {{^}}44 4464 1099511627776 -1125899906842624 4{{$}}
  // CHECK-NEXT: {{^}}44 4464 ffffffffffffffff 0x10 +7| 7|00042|42   |{{$}}
  // CHECK-NEXT: {{^}}   1|2   |0.333|{{$}}
  // CHECK-NEXT: {{^}}1.500000 1.234568e+04 1e-09 0x1p+0 2{{$}}
  // CHECK-NEXT: {{^}}'' '   ab' 'ab   ' 'ab'{{$}}
  // CHECK-NEXT: {{^[a-z]+mnop}}|exactly 56 characters, which is seven
  // CHECK-NEXT: {{^}}100%, (nil){{$}}
  rounds<<<1, 64>>>();
  CHECK(hipDeviceSynchronize());
  // CHECK-COUNT-6: thread {{0|40}} round
  int *count;
  CHECK(hipMallocManaged(&count, sizeof(int)));
  *count = 0;
  many<<<33, 96>>>(count);
  CHECK(hipDeviceSynchronize());
  EXPECT(*count == 33 * 96);
  int *sums;
  CHECK(hipMallocManaged(&sums, 64 * sizeof(int)));
  lists<<<1, 64>>>(sums);
  CHECK(hipDeviceSynchronize());
  for (int i = 0; i < 64; ++i)
    EXPECT(sums[i] == i * (i + 1) / 2 + 1);
  printf("passed\n");
  fflush(stdout);
  // CHECK: passed
  check<<<1, 32>>>(31);
  EXPECT(hipDeviceSynchronize() == hipErrorLaunchFailure);
  // ERR: printf.hip:[[#]]: void check(int): Device-side assertion `int(threadIdx.x) <
  // ERR: kernel _Z5checki: trap, workgroup (0,0,0) thread (31,0,0)
  printf("end\n");
  // CHECK: end
}
