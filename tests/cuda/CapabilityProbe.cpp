// SPDX-License-Identifier: Apache-2.0
// Asks for the compute capability from inside a library, whose name decides the answer. The status
// is looked at after each call, so that neither is a tail call, which would have our caller's
// return address.
extern "C" __attribute__((visibility("default"))) int
probe(int (*getAttribute)(int *value, int attribute, int device), int *major, int *minor) {
  int failed = getAttribute(major, 75, 0) != 0;
  return failed + (getAttribute(minor, 76, 0) != 0);
}
