// SPDX-License-Identifier: Apache-2.0
// cp.async, mbarriers, bulk copies: what they do, in every warp form, and what ends a kernel.
// Recorded results of an NVIDIA GPU are in tests/golden/kernels.
#include "tests/lowering/execution/AsyncPrograms.h"

using namespace rubia::lowering::test;

TEST(AsyncCopies, PiecesAndZeros) {
  // Each thread copies 16 bytes, of which the first 5 * lane % 17 are there.
  std::string ptx = executable(kStart + R"(
    mad.lo.u32 %r2, %tid, 16, %r1;
    mul.wide.u32 %rd0, %tid, 16; add.u64 %rd0, %rd0, %buf;
    mul.lo.u32 %r3, %tid, 5; rem.u32 %r3, %r3, 17;
    cp.async.ca.shared.global [%r2], [%rd0], 16, %r3;
    cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;
    ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r2];
    bar.sync 0;
    st.global.v4.u32 [%rd0], {%r4, %r5, %r6, %r7};
    ret;)",
                               kVariables);
  std::vector<uint32_t> words(64 * 4);
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = uint32_t(0x01010101 * (i + 1));
  std::vector<uint32_t> expected = words;
  auto *bytes = reinterpret_cast<uint8_t *>(expected.data());
  for (unsigned thread = 0; thread < 64; ++thread)
    for (unsigned i = thread * 5 % 17; i < 16; ++i)
      bytes[thread * 16 + i] = 0;
  EXPECT_EQ(runAll(ptx, words, blockOf(64)), expected);
}

// What is not copied is not read: the address is bad.
TEST(AsyncCopies, NothingIsReadThatIsNotCopied) {
  for (const char *last : {"%r3", "%p1", "0"}) {
    std::string ptx = executable(kStart + R"(
      mad.lo.u32 %r2, %tid, 8, %r1; mov.u32 %r4, -1;
      st.shared.v2.u32 [%r2], {%r4, %r4};
      setp.ge.u32 %p1, %tid, 0; selp.b32 %r3, 0, 8, %p1; mov.u64 %rd0, 16;
      cp.async.ca.shared.global [%r2], [%rd0], 8, )" +
                                     std::string(last) + R"(;
      cp.async.wait_all;
      ld.shared.v2.u32 {%r4, %r5}, [%r2]; or.b32 %r4, %r4, %r5;
      st.global.u32 [%mine], %r4; ret;)",
                                 kVariables);
    EXPECT_EQ(runAll(ptx, std::vector<uint32_t>(32, 7)), std::vector<uint32_t>(32, 0)) << last;
  }
}

// Stages of a ring: copies are under way while others are used. Whether they are made at once or
// at the wait, the results are the same.
TEST(AsyncCopies, StagesOfARing) {
  const std::string start = kStart + R"(
    mov.u32 %r9, 0; mov.u32 %r8, 0; mad.lo.u32 %r2, %tid, 4, %r1;
    mul.wide.u32 %rd0, %tid, 4; add.u64 %rd0, %rd0, %buf;)";
  // Copies round %r3 into its stage, of two or three.
  auto placesOf = [](unsigned stages) {
    return "rem.u32 %r4, %r3, " + std::to_string(stages) +
           "; mad.lo.u32 %r4, %r4, 256, %r2; mul.wide.u32 %rd1, %r3, 256; add.u64 %rd1, %rd1, "
           "%rd0; setp.lt.u32 %p1, %r3, 6;";
  };
  auto use = [](unsigned stages) {
    return "rem.u32 %r5, %r9, " + std::to_string(stages) +
           "; xor.b32 %r6, %tid, 33; shl.b32 %r6, %r6, 2; mad.lo.u32 %r5, %r5, 256, %r1; "
           "add.u32 %r5, %r5, %r6; ld.shared.u32 %r7, [%r5]; mad.lo.u32 %r8, %r8, 3, %r7;";
  };
  const std::string copy = "cp.async.ca.shared.global [%r4], [%rd1], 4;";
  const std::string commit = "cp.async.commit_group;", next = "add.u32 %r3, %r9, 1;";
  const std::string again = "add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 6; @%p2 bra LOOP;";
  const std::string end = "st.global.u32 [%mine], %r8; ret;";
  const std::string first = "mov.u32 %r3, 0;" + placesOf(2) + copy + commit;
  const std::string wait = "cp.async.wait_group 0; bar.sync 0;";
  auto fourStages = [&](const std::string &next) {
    std::string body;
    for (unsigned round = 0; round < 3; ++round)
      body += "mov.u32 %r3, " + std::to_string(round) + ";" + placesOf(4) + copy + commit;
    return body + "LOOP: add.u32 %r3, %r9, 3;" + placesOf(4) + next + commit +
           "cp.async.wait_group 3; bar.sync 0;" + use(4) + "bar.sync 0;" + again +
           "cp.async.wait_all;";
  };
  const std::string bodies[] = {
      // by a guard
      first + wait + "LOOP:" + next + placesOf(2) + "@%p1 " + copy + commit + use(2) + wait + again,
      // in a branch
      first + wait + "LOOP:" + next + placesOf(2) + "@!%p1 bra SKIP;" + copy + "SKIP:" + commit +
          use(2) + wait + again,
      // with a number of bytes, and a wait at the beginning
      first + "LOOP:" + wait + next + placesOf(2) + "selp.b32 %r10, 4, 0, %p1;" +
          "min.u32 %r3, %r3, 5; mul.wide.u32 %rd1, %r3, 256; add.u64 %rd1, %rd1, %rd0;"
          "cp.async.ca.shared.global [%r4], [%rd1], 4, %r10;" +
          commit + use(2) + again + "cp.async.wait_all;",
      // of three stages
      "mov.u32 %r3, 0;" + placesOf(3) + copy + commit + "mov.u32 %r3, 1;" + placesOf(3) + copy +
          commit + "LOOP: cp.async.wait_group 1; bar.sync 0; add.u32 %r3, %r9, 2;" + placesOf(3) +
          "@%p1 " + copy + commit + use(3) + again + "cp.async.wait_all;",
      // of four stages, with a wait behind the copy; by a guard and in a branch
      fourStages("@%p1 " + copy),
      fourStages("@!%p1 bra SKIP;" + copy + "SKIP:"),
  };
  std::vector<uint32_t> expected = counting(64 * 6);
  for (uint32_t thread = 0; thread < 64; ++thread) {
    expected[thread] = 0;
    for (uint32_t round = 0; round < 6; ++round)
      expected[thread] = expected[thread] * 3 + round * 64 + (thread ^ 33);
  }
  for (const std::string &body : bodies)
    EXPECT_EQ(runAll(executable(start + body + end, kVariables), counting(64 * 6), blockOf(64)),
              expected)
        << body;
}

// One thread goes through two phases: bytes that are expected hold back the first; a copy arrives
// in the second.
TEST(Mbarriers, TransactionsAndCopies) {
  std::string ptx = executable90(kStart + R"(
    @!%p0 bra END;
    mbarrier.init.shared.b64 [%r0], 2;
    mbarrier.arrive.shared.b64 %rd0, [%r0]; mbarrier.pending_count.b64 %r3, %rd0;
    mbarrier.expect_tx.relaxed.cta.shared.b64 [%r0], 64;
    mbarrier.arrive.shared.b64 %rd1, [%r0];
    mbarrier.test_wait.shared.b64 %p1, [%r0], %rd1; selp.b32 %r4, 16, 0, %p1;
    mbarrier.complete_tx.relaxed.cta.shared.b64 [%r0], 64;
    mbarrier.test_wait.shared.b64 %p1, [%r0], %rd1; selp.b32 %r5, 32, 0, %p1;
    cp.async.ca.shared.global [%r1], [%buf+4], 4;
    cp.async.mbarrier.arrive.noinc.shared.b64 [%r0];
    mbarrier.arrive.shared.b64 %rd2, [%r0];
    COPIED: mbarrier.test_wait.shared.b64 %p1, [%r0], %rd2; @!%p1 bra COPIED;
    ld.shared.u32 %r6, [%r1]; shl.b32 %r6, %r6, 8;
    mbarrier.inval.shared.b64 [%r0];
    add.u32 %r3, %r3, %r4; add.u32 %r3, %r3, %r5; add.u32 %r3, %r3, %r6;
    st.global.u32 [%mine], %r3;
    END: ret;)",
                                 kVariables);
  std::vector<uint32_t> words = counting(32), expected = words;
  words[1] = expected[1] = 7;
  expected[0] = 2 + 32 + (7 << 8); // two arrivals were pending before the first
  EXPECT_EQ(runAll(ptx, words), expected);
}

TEST(Mbarriers, ProducersAndConsumers) {
  // The second warp waits for the first, round after round, by one mbarrier in each direction.
  std::string ptx = executable90(R"(
    mov.u32 %r0, bars; mov.u32 %r1, cells; mov.u32 %r9, 0; mov.u32 %r8, 0;
    setp.ne.u32 %p0, %tid, 0; @%p0 bra READY;
    mbarrier.init.shared.b64 [%r0], 32; mbarrier.init.shared.b64 [%r0+8], 32;
    READY: bar.sync 0;
    and.b32 %r2, %tid, 31; mad.lo.u32 %r2, %r2, 4, %r1;
    setp.ge.u32 %p1, %tid, 32; ld.global.u32 %r3, [%mine]; @%p1 bra CONSUMER;
    PRODUCER: st.shared.u32 [%r2], %r3; add.u32 %r3, %r3, 1;
    mbarrier.arrive.shared.b64 %rd0, [%r0];
    and.b32 %r4, %r9, 1;
    EMPTY: mbarrier.try_wait.parity.shared.b64 %p2, [%r0+8], %r4; @!%p2 bra EMPTY;
    add.u32 %r9, %r9, 1; setp.lt.u32 %p3, %r9, 6; @%p3 bra PRODUCER;
    bra DONE;
    CONSUMER: and.b32 %r4, %r9, 1;
    FULL: mbarrier.try_wait.parity.shared.b64 %p2, [%r0], %r4; @!%p2 bra FULL;
    ld.shared.u32 %r5, [%r2]; mad.lo.u32 %r8, %r8, 3, %r5;
    mbarrier.arrive.shared.b64 %rd0, [%r0+8];
    add.u32 %r9, %r9, 1; setp.lt.u32 %p3, %r9, 6; @%p3 bra CONSUMER;
    DONE: st.global.u32 [%mine], %r8; ret;)",
                                 ".shared .align 8 .b8 bars[16];\n.shared .align 4 .b8 "
                                 "cells[128];\n");
  std::vector<uint32_t> expected(64, 0);
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t round = 0; round < 6; ++round)
      expected[32 + lane] = expected[32 + lane] * 3 + lane + round;
  EXPECT_EQ(runAll(ptx, counting(64), blockOf(64)), expected);
  EXPECT_EQ(warpFormOf(ptx).form, "half-filled");
}

// Lanes wait for lane 0 of their own warp, which arrives itself or starts a copy that does. Each
// side may come first in the text, and lane 0 may wait behind what it does.
TEST(Mbarriers, LanesOfOneWarp) {
  const std::string arrives = "mbarrier.arrive.shared.b64 %rd0, [%r0];";
  const std::string copies = R"(
    mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r0], 16;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%buf], 16, [%r0];)";
  const std::string own = "OWN: mbarrier.try_wait.parity.shared.b64 %p8, [%r0], 0; @!%p8 bra OWN;";
  for (const std::string &answers : {arrives, copies, copies + own})
    for (bool waitsFirst : {false, true}) {
      std::string ptx = executable90(
          kStart + "@%p0 mbarrier.init.shared.b64 [%r0], 1; bar.warp.sync -1;" +
              (waitsFirst ? "@%p0 bra ANSWERS; " + kWait + "bra MEET; ANSWERS: " + answers
                          : "@!%p0 bra WAIT; " + answers + "bra MEET; " + kWait) +
              "MEET: bar.warp.sync -1; mov.u32 %r3, 5; st.global.u32 [%mine], %r3; ret;",
          kVariables);
      for (const char *arch : kTargets) {
        Form form;
        form.arch = arch;
        form.halfFilled = isWave64(arch);
        form.spinLimit = 1000;
        EXPECT_EQ(run(ptx, std::vector<uint32_t>(32, 0), form).words, std::vector<uint32_t>(32, 5))
            << arch << waitsFirst << answers;
      }
    }
}

// Lane 0 and the others of its warp take turns.
TEST(Mbarriers, LanesThatTakeTurns) {
  std::string ptx = executable90(kStart + R"(
    @!%p0 bra READY; mbarrier.init.shared.b64 [%r0], 1; mbarrier.init.shared.b64 [%r1], 31;
    READY: bar.warp.sync -1; mov.u32 %r9, 0; @!%p0 bra OTHERS;
    ZERO: mbarrier.arrive.shared.b64 %rd0, [%r0]; and.b32 %r4, %r9, 1;
    EMPTY: mbarrier.try_wait.parity.shared.b64 %p2, [%r1], %r4; @!%p2 bra EMPTY;
    add.u32 %r9, %r9, 1; setp.lt.u32 %p3, %r9, 3; @%p3 bra ZERO; bra DONE;
    OTHERS: and.b32 %r4, %r9, 1;
    FULL: mbarrier.try_wait.parity.shared.b64 %p2, [%r0], %r4; @!%p2 bra FULL;
    mbarrier.arrive.shared.b64 %rd0, [%r1];
    add.u32 %r9, %r9, 1; setp.lt.u32 %p3, %r9, 3; @%p3 bra OTHERS;
    DONE: st.global.u32 [%mine], %r9; ret;)",
                                 kVariables);
  EXPECT_EQ(runOnAllTargets(ptx, std::vector<uint32_t>(32, 0), blockOf(32)),
            std::vector<uint32_t>(32, 3));
}

// Copies started and awaited by one warp, alone or with others.
TEST(BulkCopies, FetchAndWait) {
  for (const char *space : {"cta", "cluster"}) {
    std::string ptx =
        executable90(kStart + R"(
      @!%p0 bra READY; mbarrier.init.shared.b64 [%r0], 1; fence.mbarrier_init.release.cluster;
      READY: bar.sync 0; @!%p0 bra WAIT;
      cp.async.bulk.prefetch.L2.global [%buf], 256;
      mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r0], 256;
      cp.async.bulk.shared::)" +
                         std::string(space) +
                         R"(.global.mbarrier::complete_tx::bytes [%r1], [%buf], 256, [%r0];
      )" + kWait + R"(
      xor.b32 %r2, %tid, 63; mad.lo.u32 %r2, %r2, 4, %r1; ld.shared.u32 %r3, [%r2];
      st.global.u32 [%mine], %r3; ret;)",
                     kVariables);
    std::vector<uint32_t> expected(64);
    for (uint32_t i = 0; i < 64; ++i)
      expected[i] = 63 - i;
    EXPECT_EQ(runAll(ptx, counting(64), blockOf(64)), expected) << space;
  }
}

// All lanes of a wave copy for each that starts a copy. What idle lanes have stays: here sums of a
// loop that lanes leave one after the other. Sizes are no multiples of what a wave copies at once.
TEST(BulkCopies, ByAllLanesForSeveral) {
  // Without a loop, two warps may share a wave: the copies are done by then.
  const std::string kAsk = "bar.sync 0; mbarrier.test_wait.parity.shared.b64 %p9, [%r0], 0;";
  const auto ptx = [&](const std::string &wait) {
    return executable90(kStart + R"(
      @!%p0 bra READY; mbarrier.init.shared.b64 [%r0], 4; fence.mbarrier_init.release.cluster;
      READY: bar.sync 0;
      mov.u32 %r4, %tid; mov.u32 %r5, 0;
      NEXT: mad.lo.u32 %r4, %r4, 5, 3; add.u32 %r5, %r5, 1; and.b32 %r6, %tid, 15;
      setp.ne.u32 %p1, %r6, %r5; @!%p1 bra OUT;
      setp.ne.u32 %p1, %r5, 3; @%p1 bra MORE;
      and.b32 %r6, %tid, 31; setp.eq.u32 %p1, %r6, 8; setp.eq.or.u32 %p1, %r6, 29, %p1;
      @!%p1 bra MORE;
      // From %buf, to a place of its own: 3, 7, 11 and 15 times 16 bytes.
      shr.u32 %r6, %tid, 5; shl.b32 %r6, %r6, 3;
      and.b32 %r7, %tid, 1; shl.b32 %r7, %r7, 2; add.u32 %r6, %r6, %r7; add.u32 %r6, %r6, 3;
      shl.b32 %r6, %r6, 4;
      shr.u32 %r7, %tid, 5; shl.b32 %r7, %r7, 1; and.b32 %r8, %tid, 1; add.u32 %r7, %r7, %r8;
      shl.b32 %r7, %r7, 8; add.u32 %r7, %r7, %r1;
      mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r0], %r6;
      cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r7], [%buf], %r6, [%r0];
      MORE: setp.lt.u32 %p1, %r5, 20; @%p1 bra NEXT;
      OUT: )" + wait + R"(
      // The words that the four copies have brought, in each place at the thread's own.
      shl.b32 %r2, %tid, 2; add.u32 %r2, %r2, %r1; mov.u32 %r3, 0;
      setp.lt.u32 %p1, %tid, 12; @%p1 ld.shared.u32 %r3, [%r2]; @%p1 add.u32 %r4, %r4, %r3;
      setp.lt.u32 %p1, %tid, 28; @%p1 ld.shared.u32 %r3, [%r2+256]; @%p1 add.u32 %r4, %r4, %r3;
      setp.lt.u32 %p1, %tid, 44; @%p1 ld.shared.u32 %r3, [%r2+512]; @%p1 add.u32 %r4, %r4, %r3;
      setp.lt.u32 %p1, %tid, 60; @%p1 ld.shared.u32 %r3, [%r2+768]; @%p1 add.u32 %r4, %r4, %r3;
      bar.sync 0; st.global.u32 [%mine], %r4; ret;)",
                        kVariables);
  };
  std::vector<uint32_t> expected;
  for (uint32_t thread = 0; thread < 64; ++thread) {
    uint32_t value = thread;
    for (uint32_t round = 1; round <= 20; ++round) {
      value = value * 5 + 3;
      if ((thread & 15) == round)
        break;
    }
    for (uint32_t end : {12, 28, 44, 60})
      value += thread < end ? thread : 0;
    expected.push_back(value);
  }
  EXPECT_EQ(runAll(ptx(kWait), counting(64), blockOf(64)), expected);
  EXPECT_EQ(runAll(ptx(kAsk), counting(64), blockOf(64)), expected);
}

// The warp of the thread that starts the copy has eight threads. Its other lanes copy too.
TEST(BulkCopies, ByLanesWithoutAThread) {
  const std::string ptx = executable90(kStart + R"(
      setp.eq.u32 %p0, %tid, 37;
      @!%p0 bra READY; mbarrier.init.shared.b64 [%r0], 1; fence.mbarrier_init.release.cluster;
      mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r0], 1024;
      cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%buf], 1024, [%r0];
      READY: bar.sync 0;
      )" + kWait + R"(
      mul.lo.u32 %r2, %tid, 24; add.u32 %r2, %r2, %r1; ld.shared.u32 %r3, [%r2];
      st.global.u32 [%mine], %r3; ret;)",
                                       kVariables);
  std::vector<uint32_t> expected = counting(256);
  for (uint32_t thread = 0; thread < 40; ++thread)
    expected[thread] = 6 * thread;
  EXPECT_EQ(runAll(ptx, counting(256), blockOf(40)), expected);
}

TEST(BulkCopies, ReduceAndStore) {
  std::string ptx = executable90(kStart + R"(
    mad.lo.u32 %r2, %tid, 4, %r1; mul.lo.u32 %r3, %tid, 3; st.shared.u32 [%r2], %r3;
    fence.proxy.async.shared::cta; bar.sync 0; @!%p0 bra DONE;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%buf], [%r1], 128;
    cp.async.bulk.global.shared::cta.bulk_group [%buf+128], [%r1], 64;
    cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%buf+192], [%r1+64], 64, 0x000f;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;
    DONE: ret;)",
                                 kVariables);
  const std::string old = ".target sm_90a";
  ptx.replace(ptx.find(old), old.size(), ".target sm_100");
  std::vector<uint32_t> expected(64);
  for (uint32_t i = 0; i < 64; ++i)
    expected[i] = i < 32 ? i * 4 : i < 48 ? (i - 32) * 3 : i % 4 == 0 ? (i - 32) * 3 : i;
  EXPECT_EQ(runAll(ptx, counting(64), blockOf(64)), expected);
}

TEST(BulkCopies, StoresAndReductionsOfThreads) {
  std::string ptx = executable90(kStart + R"(
    mad.lo.u32 %r2, %tid, 8, %r1; st.shared.v2.u32 [%r2], {%tid, %tid};
    @!%p0 bra READY; mbarrier.init.shared.b64 [%r0], 64; fence.mbarrier_init.release.cluster;
    READY: bar.sync 0;
    xor.b32 %r3, %tid, 5; mad.lo.u32 %r3, %r3, 8, %r1; mul.lo.u32 %r4, %tid, 7;
    mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r0], 8;
    st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r3], %r4, [%r0];
    red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r3+4], %r4, [%r0];
    )" + kWait + R"(
    ld.shared.v2.u32 {%r5, %r6}, [%r2]; add.u32 %r5, %r5, %r6; st.global.u32 [%mine], %r5; ret;)",
                                 kVariables, ".explicitcluster .reqnctapercluster 1");
  std::vector<uint32_t> expected(64);
  for (uint32_t i = 0; i < 64; ++i)
    expected[i] = (i ^ 5) * 14 + i;
  EXPECT_EQ(runAll(ptx, counting(64), blockOf(64)), expected);
}

// What is refused never completes the phase that the others of the warp wait for.
TEST(BulkCopies, RefusedOnesEndTheKernelBeforeAWait) {
  using Reason = rubia::abi::TrapReason;
  struct Refused {
    const char *body;
    Reason reason;
  };
  const Refused kRefused[] = {
      {R"(mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r0], 64; add.u64 %rd1, %buf, 4;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 64, [%r0];)",
       Reason::MisalignedAddress},
      {R"(mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r0], 64; mov.u32 %r2, 0;
    cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes
      [%r1], [%buf, {%r2}], [%r0];)",
       Reason::IllegalInstruction},
      {"mbarrier.arrive.noComplete.shared.b64 %rd0, [%r0], 3;", Reason::BarrierMisuse}};
  for (const Refused &refused : kRefused) {
    const std::string ptx = executable90(kStart + R"(
    @!%p0 bra READY; mbarrier.init.shared.b64 [%r0], 1; fence.mbarrier_init.release.cluster;
    READY: bar.sync 0; @!%p0 bra WAIT;
    )" + refused.body + kWait + "ret;",
                                         kVariables);
    Form form = blockOf(64);
    form.expectTrap = true;
    for (const char *arch : kTargets) {
      form.arch = arch;
      form.halfFilled = isWave64(arch);
      rubia::abi::TrapRecord trap = run(ptx, std::vector<uint32_t>(64, 0), form).trap;
      EXPECT_EQ(trap.reason, uint32_t(refused.reason)) << arch << refused.body;
      EXPECT_EQ(trap.tid[0], 0u) << arch << refused.body;
    }
  }
}

// CTAs that ask for the work of others do all of it together, each part once. Requests fail here:
// each CTA does its own part.
TEST(ClusterLaunch, WorkIsDoneOnce) {
  for (const char *cluster : {"", ".multicast::cluster::all"})
    for (const char *space : {"", ".shared::cta"}) {
      SCOPED_TRACE(std::string(cluster) + space);
      const bool isGeneric = !*space;
      std::string ptx = executable90(
          kStart +
              (isGeneric ? "cvt.u64.u32 %rd1, %r1; cvta.shared.u64 %rd1, %rd1;"
                           "cvt.u64.u32 %rd2, %r0; cvta.shared.u64 %rd2, %rd2;"
                         : "cvt.u64.u32 %rd1, %r1; cvt.u64.u32 %rd2, %r0;") +
              R"(
    .reg .b128 %q0; .reg .b32 %none;
    mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ctaid.y; mov.u32 %r5, %ctaid.z; mov.u32 %r9, 0;
    mov.u64 %rd4, -1; st.shared.v2.u64 [%r1], {%rd4, %rd4};
    @!%p0 bra READY; mbarrier.init.shared.b64 [%r0], 1; fence.mbarrier_init.release.cluster;
    READY: bar.sync 0;
    NEXT: @!%p0 bra WORK;
    mbarrier.arrive.expect_tx.shared.b64 %rd3, [%r0], 16;
    clusterlaunchcontrol.try_cancel.async)" +
              space + ".mbarrier::complete_tx::bytes" + cluster + R"(.b128 [%rd1], [%rd2];
    WORK: mad.lo.u32 %r6, %r4, 3, %r3; mad.lo.u32 %r6, %r6, 32, %tid;
    mul.wide.u32 %rd3, %r6, 4; add.u64 %rd3, %rd3, %buf; red.global.add.u32 [%rd3], 1;
    WAIT: mbarrier.try_wait.parity.shared.b64 %p9, [%r0], %r9; @!%p9 bra WAIT;
    xor.b32 %r9, %r9, 1; ld.shared.b128 %q0, [%r1];
    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q0;
    fence.proxy.async.shared::cta; bar.sync 0; @!%p1 bra DONE;
    clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r3, %none, %none, %none}, %q0;
    clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r4, %q0;
    clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 %r5, %q0;
    clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r3, %q0;
    bra NEXT;
    DONE: ret;)",
          ".shared .align 8 .b64 bar;\n.shared .align 16 .b8 tile[16];\n");
      const std::string old = ".target sm_90a";
      ptx.replace(ptx.find(old), old.size(), ".target sm_100a");
      Form form = blockOf(32);
      form.grid = {3, 4, 1};
      EXPECT_EQ(runOnAllTargets(ptx, std::vector<uint32_t>(3 * 4 * 32, 7), form),
                std::vector<uint32_t>(3 * 4 * 32, 8));
    }
}

// What is asked of a response are its words. Where it may not be written, the kernel ends.
TEST(ClusterLaunch, ResponsesAndErrors) {
  const std::string words = executable90(R"(
    .reg .b128 %q0;
    mov.b64 %rd0, {%tid, 7}; mov.b64 %rd1, {9, %tid}; mov.b128 %q0, {%rd0, %rd1};
    clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r0, %r1, %r2, %r3}, %q0;
    clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 %r4, %q0;
    clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r5, %q0;
    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p0, %q0;
    mad.lo.u32 %r0, %r1, 256, %r0; mad.lo.u32 %r0, %r2, 4096, %r0; mad.lo.u32 %r0, %r4, 65536, %r0;
    mad.lo.u32 %r0, %r5, 0x100000, %r0; @%p0 add.u32 %r0, %r0, 0x1000000;
    st.global.u32 [%mine], %r0; ret;)");
  auto for100 = [](std::string ptx) {
    const std::string old = ".target sm_90a";
    return ptx.replace(ptx.find(old), old.size(), ".target sm_100");
  };
  std::vector<uint32_t> expected(32);
  for (uint32_t i = 0; i < 32; ++i)
    expected[i] = i + 7 * 256 + 9 * 4096 + 9 * 65536 + 7 * 0x100000 + i % 2 * 0x1000000;
  EXPECT_EQ(runAll(for100(words), std::vector<uint32_t>(32, 0)), expected);
  Form form = blockOf(1);
  form.expectTrap = true;
  Outcome outcome = run(for100(executable90(kStart + R"(
    mbarrier.init.shared.b64 [%r0], 1;
    clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1+8], [%r0];
    ret;)",
                                            kVariables)),
                        std::vector<uint32_t>(32, 0), form);
  EXPECT_EQ(outcome.trap.reason, uint32_t(rubia::abi::TrapReason::MisalignedAddress));
}

TEST(AsyncErrors, EndTheKernel) {
  struct Wrong {
    const char *code;
    rubia::abi::TrapReason reason;
  };
  const std::string init = "mbarrier.init.shared.b64 [%r0], 1;";
  for (const Wrong &wrong : {
           Wrong{"mbarrier.arrive.shared.b64 %rd0, [%r0], 2;",
                 rubia::abi::TrapReason::BarrierMisuse},
           {"mbarrier.arrive_drop.shared.b64 %rd0, [%r0]; mbarrier.arrive.shared.b64 %rd0, [%r0];",
            rubia::abi::TrapReason::BarrierMisuse},
           {"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1+64], "
            "[%r1], 16, [%r0];",
            rubia::abi::TrapReason::IllegalInstruction},
           {"st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r0, [%r0];",
            rubia::abi::TrapReason::IllegalInstruction},
       }) {
    Form form;
    form.expectTrap = true;
    form.block = {1, 1, 1};
    Outcome outcome = run(executable90(kStart + init + wrong.code + "ret;", kVariables), {0}, form);
    EXPECT_EQ(outcome.trap.reason, uint32_t(wrong.reason)) << wrong.code;
  }
}
