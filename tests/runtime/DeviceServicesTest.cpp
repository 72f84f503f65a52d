// SPDX-License-Identifier: Apache-2.0
// What the host prints of the ring while others still write into it: HIP is played by malloc, the
// device by the test.
#include "runtime/device/DeviceServices.h"
#include "lowering/DeviceState.h"
#include "runtime/device/PrintfText.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

using namespace llvm;

using namespace rubia::runtime;

namespace {

class DeviceServicesTest : public ::testing::Test {
protected:
  void SetUp() override {
    hip.slot<hipHostMalloc>() = [](void **memory, size_t bytes, unsigned) {
      return (*memory = calloc(1, bytes)) ? 0 : 2;
    };
    hip.slot<hipHostGetDevicePointer>() = [](void **device, void *host, unsigned) {
      return *device = host, 0;
    };
    hip.slot<hipHostFree>() = [](void *memory) { return free(memory), 0; };
    ring = static_cast<rubia::abi::PrintfRing *>(cantFail(services.ring(hip)));
    out = open_memstream(&text, &size);
  }
  void TearDown() override {
    services.release(hip);
    fclose(out);
    free(text);
  }

  static constexpr uint64_t kRecordBytes = 32;
  uint64_t reserve() { return std::exchange(ring->reserved, ring->reserved + kRecordBytes); }
  void write(uint64_t position, const char *format) {
    struct {
      rubia::abi::PrintfRecord header;
      char text[8];
    } record{{rubia::abi::stampOf(position), kRecordBytes, rubia::abi::kPrintfRecord, 0, 8}, {}};
    static_assert(sizeof(record) == kRecordBytes);
    strcpy(record.text, format);
    memcpy(reinterpret_cast<char *>(ring + 1) + position % ring->capacity, &record, sizeof(record));
  }
  std::string printed(uint64_t ended) {
    const size_t before = size;
    services.print(ended, out, out);
    fflush(out);
    return {text + before, size - before};
  }

  Hip hip;
  DeviceServices services;
  rubia::abi::PrintfRing *ring = nullptr;
  FILE *out = nullptr;
  char *text = nullptr;
  size_t size = 0;
};

TEST_F(DeviceServicesTest, WhatIsStillBeingWrittenIsPrintedTheNextTime) {
  write(reserve(), "a");
  const uint64_t ended = services.reserved();
  const uint64_t late = reserve(); // by a kernel that began after the wait
  write(reserve(), "c");
  EXPECT_EQ(printed(ended), "a");
  write(late, "b");
  EXPECT_EQ(printed(0), "bc");
}

// Kernels can write the ring's header too: the host has a capacity of its own, and an end of the
// text that cannot be is no place to read at.
TEST_F(DeviceServicesTest, AHostileRing) {
  write(reserve(), "a");
  const uint64_t capacity = std::exchange(ring->capacity, uint64_t(1) << 50);
  for (uint64_t end : {uint64_t(1) << 45, uint64_t(3), uint64_t(1) << 63, UINT64_MAX}) {
    ring->reserved = end;
    (void)printed(DeviceServices::kEverything);
  }
  ring->capacity = 0;
  ring->reserved = 0;
  (void)printed(0);
  ring->capacity = capacity;
  write(reserve(), "b");
  EXPECT_EQ(printed(DeviceServices::kEverything), "b");
}

// 10,000 conversions of 65,536 blanks each.
TEST_F(DeviceServicesTest, ATextIsCutBeforeItFillsTheMemory) {
  std::string format;
  for (unsigned i = 0; i < 10000; ++i)
    format += "%65536d";
  const size_t words = format.size() / 8 + 1;
  std::vector<uint8_t> record(sizeof(rubia::abi::PrintfRecord) + 80000 + 8 * words);
  const rubia::abi::PrintfRecord header = {0, uint32_t(record.size()), rubia::abi::kPrintfRecord,
                                           80000, uint32_t(8 * words)};
  memcpy(record.data(), &header, sizeof(header));
  memcpy(record.data() + sizeof(header) + 80000, format.data(), format.size());
  bool isAssertion = false;
  const std::string text = textOfRecord(record, isAssertion);
  EXPECT_LT(text.size(), size_t(65) << 20);
  EXPECT_TRUE(StringRef(text).ends_with("64 MiB)\n"));
}

TEST_F(DeviceServicesTest, WhatEndedKernelsLeftUnfinishedIsPassedOver) {
  write(reserve(), "a");
  reserve();
  write(reserve(), "b");
  reserve();
  const uint64_t ended = services.reserved();
  const uint64_t late = reserve();
  EXPECT_EQ(printed(0), "a");
  EXPECT_EQ(printed(ended), "b");
  write(late, "c");
  EXPECT_EQ(printed(0), "c");
  reserve();
  write(reserve(), "d");
  EXPECT_EQ(printed(DeviceServices::kEverything), "d");
}

// A width of gigabytes is no reason to print them; nor one that no number holds.
TEST(PrintfText, WidthsAreBounded) {
  auto textOf = [](const char *format, std::initializer_list<int32_t> arguments) {
    std::vector<uint8_t> bytes(sizeof(rubia::abi::PrintfRecord));
    rubia::abi::PrintfRecord header{0, 0, rubia::abi::kPrintfRecord, uint32_t(arguments.size() * 4),
                                    uint32_t(strlen(format) + 1)};
    memcpy(bytes.data(), &header, sizeof(header));
    auto add = [&](const void *data, size_t size) {
      bytes.insert(bytes.end(), static_cast<const uint8_t *>(data),
                   static_cast<const uint8_t *>(data) + size);
    };
    add(arguments.begin(), arguments.size() * 4);
    add(format, strlen(format) + 1);
    bool isAssertion = true;
    std::string text = textOfRecord(bytes, isAssertion);
    EXPECT_FALSE(isAssertion);
    return text;
  };
  EXPECT_EQ(textOf("%5d|%-5d|%.3d", {1, 2, 3}), "    1|2    |003");
  EXPECT_EQ(textOf("%*d|%.*d", {-5, 2, 3, 4}), "2    |004");
  constexpr size_t kMax = 1 << 16;
  EXPECT_EQ(textOf("%2000000000d|", {7}).size(), kMax + 1);
  EXPECT_EQ(textOf("%-99999999999999999999d|", {7}).size(), kMax + 1);
  EXPECT_EQ(textOf("%*d|", {2'000'000'000, 7}).size(), kMax + 1);
  EXPECT_EQ(textOf("%*d|", {-2'000'000'000, 7}).size(), kMax + 1);
  EXPECT_EQ(textOf("%.2000000000d|", {7}).size(), kMax + 1);
  EXPECT_EQ(textOf("%.*d|", {2'000'000'000, 7}).size(), kMax + 1);
}

} // namespace
