// SPDX-License-Identifier: Apache-2.0
// The entry point of GoogleTest programs. ctest cannot tell from GoogleTest's exit status whether
// anything was run: a failure counts first, then a filter that selects nothing is one too, and only
// what skipped every case is skipped.
#include <cstdio>
#include <gtest/gtest.h>
#include <malloc.h>

/// What ctest entries have as SKIP_RETURN_CODE.
constexpr int kSkipped = 77;

int main(int argc, char **argv) {
  // LLVM allocates megabytes for each function: kept, they are not mapped and cleared again for the
  // next. 14 % of the time of tests that compile small kernels.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  testing::InitGoogleTest(&argc, argv);
  if (const int failed = RUN_ALL_TESTS())
    return failed;
  const testing::UnitTest &tests = *testing::UnitTest::GetInstance();
  if (tests.test_to_run_count() == 0) {
    std::fputs("no test is selected\n", stderr);
    return testing::GTEST_FLAG(list_tests) ? 0 : 1;
  }
  return tests.skipped_test_count() == tests.test_to_run_count() ? kSkipped : 0;
}
