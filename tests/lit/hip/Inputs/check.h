// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdio>
#include <cstdlib>
#include <hip/hip_runtime.h>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    hipError_t error = (call);                                                                     \
    if (error != hipSuccess) {                                                                     \
      printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorName(error));                \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

#define EXPECT(condition)                                                                          \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                         \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)
