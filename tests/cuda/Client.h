// SPDX-License-Identifier: Apache-2.0
// A client of libcuda.so.1 that has no header of NVIDIA's: functions are called by name, each test
// in a process of its own.
#pragma once

#include "runtime/cuda/Types.h"
#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

namespace rubia::runtime::cuda {

/// For readable failures.
inline void PrintTo(Result result, std::ostream *os) { *os << int(result); }

inline void *library() {
  static void *handle = [] {
#ifdef RUBIA_FAKE_HIP
    setenv("RUBIA_HIP_LIBRARY", RUBIA_FAKE_HIP, 1);
#else
    unsetenv("RUBIA_HIP_LIBRARY");
    setenv("RUBIA_DEVICE", "emulator", 1);
    setenv("RUBIA_CACHE_DIR", RUBIA_TEST_CACHE, 1);
#endif
    void *opened = dlopen(RUBIA_LIBCUDA, RTLD_NOW | RTLD_LOCAL);
    if (!opened)
      throw std::runtime_error(dlerror());
    return opened;
  }();
  return handle;
}

inline void *symbol(const char *name) {
  void *address = dlsym(library(), name);
  if (!address)
    throw std::runtime_error(std::string("no ") + name);
  return address;
}

/// The arguments have to have the types of the parameters: nothing is converted.
template <class... Arguments> Result cu(const char *name, Arguments... arguments) {
  return reinterpret_cast<Result (*)(Arguments...)>(symbol(name))(arguments...);
}

#ifdef RUBIA_FAKE_HIP
/// A function of the fake HIP library.
template <class Function> Function *fakeHip(const char *name) {
  void *hip = dlopen(RUBIA_FAKE_HIP, RTLD_NOW | RTLD_NOLOAD);
  return hip ? reinterpret_cast<Function *>(dlsym(hip, name)) : nullptr;
}
#endif

/// A context on device 0.
class InContext : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(cu("cuInit", 0u), kSuccess);
    ASSERT_EQ(cu("cuCtxCreate_v2", &context, 0u, 0), kSuccess);
  }
  // A fault would reach the next test's context, where several run in a process.
  void TearDown() override { (void)cu("cuCtxDestroy_v2", context); }
  Context *context = nullptr;
};

inline void *allocate(size_t bytes) {
  void *pointer = nullptr;
  EXPECT_EQ(cu("cuMemAlloc_v2", &pointer, bytes), kSuccess);
  return pointer;
}

} // namespace rubia::runtime::cuda
