// SPDX-License-Identifier: Apache-2.0
// A runtime library that a program shares with others: it asks the driver for them through a
// function of its own, and for itself from deeper. No call is a tail call, which would leave no
// frame.
using GetAttribute = int (*)(int *value, int attribute, int device);

static GetAttribute driver;
static volatile int calls;

__attribute__((noinline)) static int ask(int *value, int attribute, int device) {
  const int result = driver(value, attribute, device);
  calls = calls + 1;
  return result;
}

__attribute__((noinline)) static int askAtStart(int *value, int attribute, int device) {
  const int result = ask(value, attribute, device);
  calls = calls + 1;
  return result;
}

extern "C" {

void setDriver(GetAttribute function) { driver = function; }

int getAttribute(int *value, int attribute, int device) {
  const int result = ask(value, attribute, device);
  calls = calls + 1;
  return result;
}

int getAttributeAtStart(int *value, int attribute, int device) {
  const int result = askAtStart(value, attribute, device);
  calls = calls + 1;
  return result;
}
}
