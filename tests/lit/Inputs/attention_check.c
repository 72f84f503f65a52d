// SPDX-License-Identifier: Apache-2.0
// Results of examples/matrix/attention.py against f64, within 2^-9 of the sum of magnitudes of what is added up. In C, since
// each of 500 rows takes 500 products of 64 elements, three times.
//
// attention_check Q K V O ROWS CAUSAL
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { kHead = 64 };

static void *read_file(const char *path, size_t bytes) {
  void *data = malloc(bytes + 1);
  FILE *file = fopen(path, "rb");
  if (!file || fread(data, 1, bytes + 1, file) != bytes) {
    fprintf(stderr, "%s has not %zu bytes\n", path, bytes);
    exit(2);
  }
  fclose(file);
  return data;
}

int main(int argc, char **argv) {
  if (argc != 7)
    return 2;
  const size_t rows = strtoul(argv[5], NULL, 10), count = rows * kHead;
  const int causal = atoi(argv[6]);
  const _Float16 *q = read_file(argv[1], count * 2), *k = read_file(argv[2], count * 2), *v = read_file(argv[3], count * 2);
  const float *o = read_file(argv[4], count * 4);
  double *weights = malloc(rows * sizeof(double)), worst = 0;
  for (size_t i = 0; i < rows; ++i) {
    const size_t seen = causal ? i + 1 : rows;
    double most = -INFINITY, total = 0;
    for (size_t j = 0; j < seen; ++j) {
      double score = 0;
      for (size_t e = 0; e < kHead; ++e)
        score += (double)q[i * kHead + e] * (double)k[j * kHead + e];
      weights[j] = score / 8;
      most = fmax(most, weights[j]);
    }
    double expected[kHead] = {0}, magnitude[kHead] = {0};
    for (size_t j = 0; j < seen; ++j) {
      const double weight = exp(weights[j] - most);
      total += weight;
      for (size_t e = 0; e < kHead; ++e) {
        const double value = (double)v[j * kHead + e];
        expected[e] += weight * value;
        magnitude[e] += weight * fabs(value);
      }
    }
    for (size_t e = 0; e < kHead; ++e) {
      const double error = fabs((double)o[i * kHead + e] - expected[e] / total) / (magnitude[e] / total);
      worst = isnan(error) ? INFINITY : fmax(worst, error);
    }
  }
  printf("worst 2^%.1f: %s the bound\n", worst > 0 ? log2(worst) : -99.0, worst <= 0x1p-9 ? "within" : "beyond");
  return 0;
}
