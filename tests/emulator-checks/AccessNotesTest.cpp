// SPDX-License-Identifier: Apache-2.0
// What is read of the section .rubia.accesses.
#include "emulator/lib/decode/AccessNotes.h"
#include <gtest/gtest.h>

using namespace llvm;

namespace rubia::emulator {
namespace {

std::vector<uint8_t> section(uint64_t address, std::vector<uint8_t> notes) {
  std::vector<uint8_t> bytes;
  for (unsigned i = 0; i < 8; ++i)
    bytes.push_back(uint8_t(address >> 8 * i));
  for (unsigned i = 0; i < 4; ++i)
    bytes.push_back(uint8_t(notes.size() >> 8 * i));
  bytes.insert(bytes.end(), notes.begin(), notes.end());
  return bytes;
}

TEST(AccessNotes, TellStrengthAlignmentAndElements) {
  const AccessNotes notes = cantFail(AccessNotes::read(section(0x1500, {0x4a, 0x6c, 0x53, 0})));
  std::vector<InstructionStep> steps(5);
  for (uint32_t i = 0; i < 4; ++i)
    steps[i < 2 ? i : i + 1].memoryIndex = i;
  notes.apply(0x1500, 4, steps);
  EXPECT_EQ(steps[0].strength, Strength::Weak);
  EXPECT_EQ(steps[0].alignment, 4);
  EXPECT_EQ(steps[0].elementBytes, 4);
  EXPECT_EQ(steps[1].alignment, 16);
  EXPECT_EQ(steps[1].elementBytes, 8);
  EXPECT_EQ(steps[2].strength, Strength::Unknown); // no memory instruction
  EXPECT_EQ(steps[3].strength, Strength::Strong);
  EXPECT_EQ(steps[3].alignment, 8);
  EXPECT_EQ(steps[4].strength, Strength::Unknown);
  EXPECT_EQ(steps[4].alignment, 0);
}

TEST(AccessNotes, TellNothingOfOtherCode) {
  const AccessNotes notes = cantFail(AccessNotes::read(section(0x1500, {0x4a})));
  std::vector<InstructionStep> steps(2);
  steps[0].memoryIndex = 0;
  steps[1].memoryIndex = 1;
  notes.apply(0x1500, 2, steps);
  notes.apply(0x1600, 1, steps);
  EXPECT_EQ(steps[0].strength, Strength::Unknown);
}

TEST(AccessNotes, RefuseWhatEndsEarly) {
  std::vector<uint8_t> bytes = section(0x1500, {1, 2, 3});
  for (size_t size = 1; size < bytes.size(); ++size) {
    Expected<AccessNotes> notes = AccessNotes::read(ArrayRef(bytes).take_front(size));
    EXPECT_FALSE(bool(notes)) << size;
    consumeError(notes.takeError());
  }
  EXPECT_TRUE(cantFail(AccessNotes::read({})).empty());
}

TEST(AccessNotes, KnowWhereWarpsMeet) {
  AccessNotes notes;
  std::vector<uint8_t> bytes = {0x10, 0x15, 0, 0, 0, 0, 0, 0, 0x24, 0x15, 0, 0, 0, 0, 0, 0};
  cantFail(notes.readWarpSyncs(bytes));
  EXPECT_TRUE(notes.isWarpSync(0x1510) && notes.isWarpSync(0x1524));
  EXPECT_FALSE(notes.isWarpSync(0x1514));
  bytes.pop_back();
  EXPECT_TRUE(errorToBool(notes.readWarpSyncs(bytes)));
}

} // namespace
} // namespace rubia::emulator
