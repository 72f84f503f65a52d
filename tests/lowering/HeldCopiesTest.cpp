// SPDX-License-Identifier: Apache-2.0
// Which copies of cp.async are stored where the thread waits for them, and by which waits.
#include "lowering/lib/analysis/HeldCopies.h"
#include "Lowered.h"

namespace rubia::ptx::Op {
extern const Operation CpAsync, CpAsyncWait;
} // namespace rubia::ptx::Op

using namespace rubia;
using namespace rubia::lowering;
using namespace rubia::lowering::test;

namespace {

// One line for each copy that is held: its number among the copies, those of its waits among the
// waits, and `itself` if it is stored where the copy comes again.
std::string heldIn(const std::string &body) {
  ptx::Module module = parsed(kernel(body));
  const ptx::Function &function = *partition(module)[0].kernels[0];
  const HeldCopies copies(function);
  std::string all;
  unsigned copy = 0;
  for (uint32_t i = 0; i < function.body.size(); ++i) {
    if (function.body[i].op() != ptx::Op::CpAsync)
      continue;
    std::string line = std::to_string(copy++) + ":";
    unsigned wait = 0;
    for (uint32_t j = 0; j < function.body.size(); ++j)
      if (function.body[j].op() == ptx::Op::CpAsyncWait) {
        if (llvm::is_contained(copies.finishedBy(j), i))
          line += " " + std::to_string(wait);
        ++wait;
      }
    if (llvm::is_contained(copies.finishedBy(i), i))
      line += " itself";
    if (copies.isHeld(i))
      all += line + "\n";
    else
      EXPECT_EQ(line.back(), ':') << "finished, but not held";
  }
  return all;
}

const std::string kCopy = "cp.async.ca.shared.global [%r1], [%rd1], 4;";
const std::string kCommit = "cp.async.commit_group;";
std::string waitFor(unsigned groups) {
  return "cp.async.wait_group " + std::to_string(groups) + ";";
}
const std::string kWaitAll = "cp.async.wait_all;";

} // namespace

TEST(HeldCopies, UntilTheWaitThatCoversThem) {
  EXPECT_EQ(heldIn(kCopy + kCommit + waitFor(0)), "0: 0\n");
  EXPECT_EQ(heldIn(kCopy + kWaitAll), "0: 0\n");
  EXPECT_EQ(heldIn(kCopy + kCommit + waitFor(1) + waitFor(0)), "0: 1\n");
  EXPECT_EQ(heldIn(kCopy + kCommit + kCopy + kCommit + waitFor(1) + waitFor(0)), "0: 0\n1: 1\n");
  // Not committed, so the wait is for others.
  EXPECT_EQ(heldIn(kCopy + waitFor(0)), "");
  EXPECT_EQ(heldIn(kCopy + waitFor(0) + kCommit + waitFor(0)), "0: 1\n");
  // Also across barriers and where the copy has a guard.
  EXPECT_EQ(heldIn("@%p0 " + kCopy + kCommit + "bar.sync 0;" + waitFor(0)), "0: 0\n");
}

TEST(HeldCopies, BehindManyGroups) {
  std::string commits;
  for (unsigned i = 0; i < 18; ++i)
    commits += kCommit;
  EXPECT_EQ(heldIn(kCopy + commits + waitFor(15) + kWaitAll), "0: 0\n");
  EXPECT_EQ(heldIn(kCopy + commits + waitFor(16) + kWaitAll), "0: 0\n");
  EXPECT_EQ(heldIn(kCopy + commits + waitFor(17) + kWaitAll), "0: 0\n");
}

TEST(HeldCopies, OnAllWays) {
  EXPECT_EQ(heldIn("@%p0 bra NONE;" + kCopy + "NONE:" + kCommit + waitFor(0)), "0: 0\n");
  EXPECT_EQ(heldIn(kCopy + kCommit + "@%p0 bra LATER;" + waitFor(0) + "ret; LATER:" + kWaitAll),
            "0: 0 1\n");
  EXPECT_EQ(heldIn(kCopy + kCommit + "@%p0 bra LATER;" + waitFor(0) + "LATER: bar.sync 0;"), "");
  EXPECT_EQ(heldIn(kCopy + kCommit + "@%p0 exit;" + waitFor(0)), "");
  EXPECT_EQ(heldIn(kCopy + kCommit + "@%p0 " + waitFor(0)), "");
}

TEST(HeldCopies, RoundLoops) {
  const std::string again = "@%p0 bra LOOP;";
  EXPECT_EQ(heldIn("LOOP:" + kCopy + kCommit + waitFor(0) + again), "0: 0\n");
  // The wait of the next round, or that behind the loop.
  EXPECT_EQ(heldIn("LOOP:" + waitFor(0) + kCopy + kCommit + again + kWaitAll), "0: 0 1\n");
  EXPECT_EQ(heldIn("LOOP:" + waitFor(0) + kCopy + kCommit + again), "");
  // Two or more are on their way at a time: the earlier one is stored where the next begins.
  EXPECT_EQ(heldIn("LOOP:" + kCopy + kCommit + waitFor(1) + again + kWaitAll), "0: 1 itself\n");
  EXPECT_EQ(heldIn("LOOP:" + kCopy + kCommit + waitFor(3) + again + kWaitAll), "0: 1 itself\n");
  EXPECT_EQ(heldIn("LOOP: @%p0 " + kCopy + kCommit + waitFor(2) + again + kWaitAll),
            "0: 1 itself\n");
  // Nobody waits for the last ones.
  EXPECT_EQ(heldIn("LOOP:" + kCopy + kCommit + waitFor(1) + again), "");
}

TEST(HeldCopies, NotBehindWhatCountsThem) {
  EXPECT_EQ(heldIn(kCopy + "cp.async.mbarrier.arrive.shared.b64 [%r1];" + kWaitAll), "");
}

TEST(HeldCopies, NotTooMany) {
  std::string eight;
  for (unsigned i = 0; i < 8; ++i)
    eight += kCopy;
  EXPECT_NE(heldIn(eight + kWaitAll), "");
  EXPECT_EQ(heldIn(eight + kCopy + kWaitAll), "");
}
