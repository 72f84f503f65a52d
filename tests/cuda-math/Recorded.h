// SPDX-License-Identifier: Apache-2.0
// What CudaMath and CudaBf16 share: noise, and running rows of kernels over inputs and printing
// what they give.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static void require(cudaError_t status, const char *what) {
  if (status == cudaSuccess)
    return;
  printf("%s: %s\n", what, cudaGetErrorString(status));
  exit(1);
}

struct Row {
  const char *name;
  char kind;
  int ulp;
  void (*kernel)(const uint64_t *, uint64_t *, unsigned);
};

static uint64_t state = 0x2545f4914f6cdd1d;
static uint64_t next() { // xorshift64*
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1du;
}

/// Prints a line for each row: name, kind, bound, digest of all results, the first results. `fill`
/// makes the inputs of a kind, three words each.
template <size_t N, class Fill>
int record(int argumentCount, char **arguments, const Row (&rows)[N], Fill fill) {
  if (argumentCount < 4) {
    fprintf(stderr, "usage: PROGRAM INPUTS SAMPLES STEP [FILE]\n");
    return 2;
  }
  const unsigned count = atoi(arguments[1]), samples = atoi(arguments[2]);
  const unsigned step = atoi(arguments[3]);
  FILE *file = argumentCount > 4 ? fopen(arguments[4], "wb") : nullptr;
  std::vector<uint64_t> in(3 * count), out(count);
  uint64_t *deviceIn = nullptr, *deviceOut = nullptr;
  require(cudaMalloc(&deviceIn, in.size() * 8), "cudaMalloc");
  require(cudaMalloc(&deviceOut, out.size() * 8), "cudaMalloc");
  char made = 0;
  for (unsigned n = 0; n < N; n += step) {
    const Row &row = rows[n];
    if (row.kind != made) {
      state = 0x2545f4914f6cdd1d ^ uint64_t(row.kind);
      fill(in, row.kind);
      require(cudaMemcpy(deviceIn, in.data(), in.size() * 8, cudaMemcpyHostToDevice), "copy");
      made = row.kind;
    }
    row.kernel<<<(count + 127) / 128, 128>>>(deviceIn, deviceOut, count);
    require(cudaGetLastError(), row.name);
    require(cudaMemcpy(out.data(), deviceOut, out.size() * 8, cudaMemcpyDeviceToHost), row.name);
    uint64_t digest = 0xcbf29ce484222325u; // FNV-1a over words
    for (uint64_t value : out)
      digest = (digest ^ value) * 0x100000001b3u;
    printf("%s %c %d %016llx", row.name, row.kind, row.ulp, (unsigned long long)digest);
    for (unsigned i = 0; i < samples; ++i)
      printf(" %llx", (unsigned long long)out[i]);
    printf("\n");
    if (!file || !row.ulp ||
        row.kind == 'p') // pairs are of functions that are there for one number
      continue;
    fprintf(file, "%s %c %d %u\n", row.name, row.kind, row.ulp, count);
    for (unsigned i = 0; i < count; ++i) {
      fwrite(&in[3 * i], 8, 3, file);
      fwrite(&out[i], 8, 1, file);
    }
  }
  if (file && fclose(file)) {
    perror(arguments[4]);
    return 1;
  }
  return 0;
}
