// SPDX-License-Identifier: Apache-2.0
// Stands for a library of NVIDIA's, whose name its file has: asks the driver for the compute
// capability, by way of the function that it is given.
int ask(int (*attribute)(int *, int, int)) {
  int major = 0, minor = 0;
  if (attribute(&major, 75, 0) || attribute(&minor, 76, 0))
    return -1;
  return major * 10 + minor;
}
