// SPDX-License-Identifier: Apache-2.0
// Integers of 128 bits: sums, products, quotients, remainders, shifts and decimal digits, against
// the host's. Their carries and borrows go from one 64-bit instruction to the next.

#include "Check.h"

using Wide = unsigned __int128;
using SignedWide = __int128;

struct Results {
  Wide sum, difference, product, quotient, remainder, shifted;
  SignedWide signedQuotient, signedRemainder;
  uint64_t digits;
};

__host__ __device__ Results compute(Wide a, Wide b) {
  Results r;
  r.sum = a + b;
  r.difference = a - b;
  r.product = a * b;
  r.quotient = a / b;
  r.remainder = a % b;
  r.shifted = (a << (unsigned(b) & 127)) + (b >> (unsigned(a) & 127));
  r.signedQuotient = SignedWide(a) / SignedWide(b);
  r.signedRemainder = SignedWide(a) % SignedWide(b);
  r.digits = 0;
  for (Wide rest = a; rest != 0; rest /= 10)
    r.digits = r.digits * 31 + unsigned(rest % 10);
  return r;
}

__global__ void computeAll(const Wide *a, const Wide *b, Results *results, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    results[i] = compute(a[i], b[i]);
}

// Of any size; never 0, nor -1, by which the smallest number has no quotient.
static Wide number(uint32_t index) {
  Wide value = 0;
  for (uint32_t word = 0; word < 4; ++word)
    value = value << 32 | mix(4 * index + word + 1);
  value >>= mix(~index) % 128;
  return value == 0 || value == ~Wide(0) ? 10 : value;
}

static void expectEqual(const char *what, int index, Wide found, Wide expected) {
  if (found != expected)
    fail(what, index, double(expected), double(found));
}

int main() {
  const int n = 2000;
  std::vector<Wide> a(n), b(n);
  for (int i = 0; i < n; ++i) {
    a[i] = i % 10 ? number(2 * i) : ~Wide(0) - i / 10;
    b[i] = i % 20 ? number(2 * i + 1) : 10;
  }
  Wide *deviceA = upload(a), *deviceB = upload(b);
  Results *deviceResults;
  CHECK(cudaMalloc(&deviceResults, n * sizeof(Results)));
  computeAll<<<(n + 127) / 128, 128>>>(deviceA, deviceB, deviceResults, n);
  checkLaunch("computeAll");
  std::vector<Results> results = download(deviceResults, n);
  for (int i = 0; i < n; ++i) {
    Results expected = compute(a[i], b[i]);
    expectEqual("sum", i, results[i].sum, expected.sum);
    expectEqual("difference", i, results[i].difference, expected.difference);
    expectEqual("product", i, results[i].product, expected.product);
    expectEqual("quotient", i, results[i].quotient, expected.quotient);
    expectEqual("remainder", i, results[i].remainder, expected.remainder);
    expectEqual("shifted", i, results[i].shifted, expected.shifted);
    expectEqual("signed quotient", i, results[i].signedQuotient, expected.signedQuotient);
    expectEqual("signed remainder", i, results[i].signedRemainder, expected.signedRemainder);
    expectEqual("digits", i, results[i].digits, expected.digits);
  }
  CHECK(cudaFree(deviceA));
  CHECK(cudaFree(deviceB));
  CHECK(cudaFree(deviceResults));
  return pass("wide_integers");
}
