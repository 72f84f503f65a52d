// SPDX-License-Identifier: Apache-2.0
// A kernel in C++ for the PTX target whose hot line is known.
static inline float squared(float x) { return x * x; }
extern "C" __attribute__((nvptx_kernel)) void hot(float *out, int n) {
  const int i = __nvvm_read_ptx_sreg_tid_x();
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += squared(out[i + k]);
  out[i] = sum;
}
