// SPDX-License-Identifier: Apache-2.0
// Kernels for the tests of code objects, in C.
#define KERNEL __attribute__((amdgpu_kernel, visibility("default"))) void
#define GLOBAL __attribute__((address_space(1)))
static unsigned index(void) {
  return __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
}

KERNEL saxpy(unsigned n, float a, const float GLOBAL *x, float GLOBAL *y) {
  unsigned i = index();
  if (i < n)
    y[i] = __builtin_fmaf(a, x[i], y[i]);
}

// The size of the grid comes from a hidden argument.
KERNEL threads(unsigned GLOBAL *out) {
  out[index()] = __builtin_amdgcn_grid_size_x() * 1000 + __builtin_amdgcn_workgroup_size_x();
}

KERNEL reciprocal(float GLOBAL *x) { x[index()] = __builtin_amdgcn_rcpf(x[index()]); }
