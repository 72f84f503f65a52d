// SPDX-License-Identifier: Apache-2.0
// Clusters of several CTAs. PTX ISA: thread-hierarchy-cluster. What a kernel computes is known to
// this file, whichever CTA a workgroup is.
#include "tests/lowering/execution/Execution.h"
#include "llvm/ADT/STLExtras.h"
#include <array>

using namespace llvm;
using namespace rubia::lowering::test;
using rubia::emulator::Dim3;

namespace {

std::string forClusters(std::string body, const std::string &before = "") {
  std::string ptx = executable(body, before, ".explicitcluster");
  const std::string old = ".version 8.0\n.target sm_80";
  return ptx.replace(ptx.find(old), old.size(), ".version 8.6\n.target sm_90");
}

// Both ways to know which CTA a workgroup is, and by tickets also with several host threads, so
// that workgroups begin in any order.
std::vector<uint32_t> runClusters(const std::string &ptx, const std::vector<uint32_t> &words,
                                  Form form) {
  std::vector<uint32_t> first = runAll(ptx, words, form);
  for (unsigned hostThreads : {1u, 3u}) {
    form.byTickets = true;
    form.hostThreads = hostThreads;
    EXPECT_EQ(run(ptx, words, form).words, first) << hostThreads << " host threads, by tickets";
  }
  return first;
}

Form formOf(Dim3 grid, Dim3 cluster, Dim3 block = {32, 1, 1}) {
  Form form;
  form.grid = grid;
  form.cluster = cluster;
  form.block = block;
  return form;
}

} // namespace

// Thread 0 of each CTA writes what it is told, at its place in the grid.
TEST(ClusterExecution, SpecialRegisters) {
  constexpr unsigned kWords = 20;
  std::string body = R"(
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ctaid.y; mov.u32 %r2, %ctaid.z;
    mov.u32 %r3, %nctaid.x; mov.u32 %r4, %nctaid.y;
    mad.lo.u32 %r5, %r2, %r4, %r1; mad.lo.u32 %r5, %r5, %r3, %r0;
    mul.lo.u32 %r5, %r5, 80; cvt.u64.u32 %rd0, %r5; add.u64 %rd0, %rd0, %buf;
    setp.ne.u32 %p0, %tid, 0; @%p0 ret;)";
  unsigned offset = 0;
  for (const char *name :
       {"%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid", "%ctaid"})
    for (const char *axis : {".x", ".y", ".z"}) {
      body += "mov.u32 %r6, " + std::string(name) + axis + "; st.global.u32 [%rd0+" +
              std::to_string(offset) + "], %r6;";
      offset += 4;
    }
  for (const char *name : {"%cluster_ctarank", "%cluster_nctarank"}) {
    body += "mov.u32 %r6, " + std::string(name) + "; st.global.u32 [%rd0+" +
            std::to_string(offset) + "], %r6;";
    offset += 4;
  }
  body += "mov.pred %p1, %is_explicit_cluster; selp.u32 %r6, 1, 0, %p1;"
          "st.global.u32 [%rd0+68], %r6;";
  const std::string ptx = forClusters(body);
  for (auto [grid, size] : std::initializer_list<std::pair<Dim3, Dim3>>{{{6, 1, 1}, {2, 1, 1}},
                                                                        {{4, 6, 2}, {2, 3, 2}},
                                                                        {{3, 4, 2}, {1, 4, 1}},
                                                                        {{32, 1, 1}, {16, 1, 1}},
                                                                        {{2, 3, 4}, {1, 1, 4}},
                                                                        {{5, 1, 1}, {1, 1, 1}}}) {
    std::vector<uint32_t> expected;
    for (uint32_t z = 0; z < grid.z; ++z)
      for (uint32_t y = 0; y < grid.y; ++y)
        for (uint32_t x = 0; x < grid.x; ++x) {
          const std::array<uint32_t, 3> inCluster{x % size.x, y % size.y, z % size.z};
          const uint32_t rank = inCluster[0] + size.x * (inCluster[1] + size.y * inCluster[2]);
          const uint32_t words[kWords] = {x / size.x,
                                          y / size.y,
                                          z / size.z,
                                          grid.x / size.x,
                                          grid.y / size.y,
                                          grid.z / size.z,
                                          inCluster[0],
                                          inCluster[1],
                                          inCluster[2],
                                          size.x,
                                          size.y,
                                          size.z,
                                          x,
                                          y,
                                          z,
                                          rank,
                                          uint32_t(size.count()),
                                          1,
                                          0,
                                          0};
          append_range(expected, words);
        }
    EXPECT_EQ(runClusters(ptx, std::vector<uint32_t>(expected.size()), formOf(grid, size)),
              expected)
        << grid.x << ' ' << grid.y << ' ' << grid.z;
  }
}

// Each thread gives its number to the next CTA of its cluster by a store, to the one behind by an
// atomic operation, and reads what the one before has, by generic and by .shared addresses.
TEST(ClusterExecution, SharedMemoryOfOtherCtas) {
  const std::string ptx = forClusters(R"(
    mov.u32 %r0, %cluster_ctarank; mov.u32 %r1, %cluster_nctarank;
    add.u32 %r2, %r0, 1; rem.u32 %r2, %r2, %r1;
    add.u32 %r3, %r0, 2; rem.u32 %r3, %r3, %r1;
    mov.u32 %r4, %ctaid.x; mad.lo.u32 %r4, %r4, 1000, %tid;
    mov.u32 %r5, mine; shl.b32 %r6, %tid, 2; add.u32 %r5, %r5, %r6;
    mov.u32 %r7, sum;
    st.shared.u32 [%r5], %r4;
    setp.eq.u32 %p0, %tid, 0; @%p0 st.shared.u32 [sum], 0;
    barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
    mapa.shared::cluster.u32 %r8, %r5, %r2;
    ld.shared::cluster.u32 %r9, [%r8];
    mapa.shared::cluster.u32 %r10, %r7, %r3;
    red.shared::cluster.add.u32 [%r10], %r4;
    cvt.u64.u32 %rd0, %r5; cvta.shared.u64 %rd0, %rd0;
    mapa.u64 %rd1, %rd0, %r3;
    ld.u32 %r11, [%rd1];
    getctarank.u64 %r12, %rd1; getctarank.shared::cluster.u32 %r13, %r8;
    cvta.to.shared::cluster.u64 %rd2, %rd1; cvt.u32.u64 %r14, %rd2;
    getctarank.shared::cluster.u32 %r15, %r14;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    mapa.u64 %rd3, received, %r2;
    mul.wide.u32 %rd4, %tid, 4; add.u64 %rd3, %rd3, %rd4;
    st.u32 [%rd3], %r4;
    barrier.cluster.arrive; barrier.cluster.wait;
    ld.shared.u32 %r16, [sum];
    cvt.u32.u64 %r17, %rd4; mov.u32 %r18, received; add.u32 %r18, %r18, %r17;
    ld.shared::cluster.u32 %r19, [%r18];
    sub.u32 %r9, %r9, %tid; sub.u32 %r11, %r11, %tid; sub.u32 %r19, %r19, %tid;
    mul.lo.u32 %r4, %r12, 10000; mad.lo.u32 %r4, %r13, 100, %r4; add.u32 %r4, %r4, %r15;
    mov.u32 %r5, %ctaid.x; mov.u32 %r6, %ntid.x; mad.lo.u32 %r5, %r5, %r6, %tid;
    mul.wide.u32 %rd5, %r5, 20; add.u64 %rd5, %rd5, %buf;
    st.global.u32 [%rd5], %r9; st.global.u32 [%rd5+4], %r11; st.global.u32 [%rd5+8], %r19;
    st.global.u32 [%rd5+12], %r16; st.global.u32 [%rd5+16], %r4;)",
                                      ".shared .align 4 .b8 mine[512];"
                                      ".shared .align 4 .b8 received[512];"
                                      ".shared .align 4 .b8 sum[4];");
  for (auto [ctas, size, threads] : std::initializer_list<std::array<uint32_t, 3>>{
           {6, 2, 64}, {12, 3, 32}, {64, 16, 96}, {64, 8, 128}, {200, 4, 33}}) {
    std::vector<uint32_t> expected;
    const uint32_t sumOfThreads = threads * (threads - 1) / 2;
    for (uint32_t cta = 0; cta < ctas; ++cta) {
      const uint32_t first = cta / size * size, rank = cta % size;
      const uint32_t next = (rank + 1) % size, second = (rank + 2) % size;
      const uint32_t before = (rank + size - 1) % size, twoBefore = (rank + 2 * size - 2) % size;
      for (uint32_t thread = 0; thread < threads; ++thread)
        append_range(expected,
                     std::array<uint32_t, 5>{1000 * (first + next), 1000 * (first + second),
                                             1000 * (first + before),
                                             threads * 1000 * (first + twoBefore) + sumOfThreads,
                                             second * 10000 + next * 100 + second});
    }
    Form form = formOf({ctas, 1, 1}, {size, 1, 1}, {threads, 1, 1});
    form.sharedSlots = 32; // fewer than CTAs: slots are used again
    EXPECT_EQ(runClusters(ptx, std::vector<uint32_t>(expected.size()), form), expected)
        << ctas << " CTAs, clusters of " << size;
  }
}

// Threads that have ended are waited for no more, whole warps, CTAs and parts of warps, and the
// memory of a CTA that has ended stays.
TEST(ClusterExecution, ThreadsThatEndEarly) {
  const std::string ptx = forClusters(R"(
    mov.u32 %r0, %cluster_ctarank; mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, mine; shl.b32 %r3, %tid, 2; add.u32 %r2, %r2, %r3;
    mad.lo.u32 %r4, %r1, 100, %tid; st.shared.u32 [%r2], %r4;
    st.global.u32 [%mine], 0;
    barrier.cluster.arrive; barrier.cluster.wait;
    setp.eq.u32 %p0, %r0, 1; @%p0 exit;
    and.b32 %r5, %tid, 1; setp.ne.u32 %p1, %r5, 0; @%p1 exit;
    setp.ge.u32 %p1, %tid, 64; @%p1 bra SECOND;
    barrier.cluster.arrive; barrier.cluster.wait;
    SECOND: @%p1 exit;
    mov.u32 %r6, 1; mapa.shared::cluster.u32 %r7, %r2, %r6;
    ld.shared::cluster.u32 %r8, [%r7];
    st.global.u32 [%mine], %r8;
    barrier.cluster.arrive.relaxed; barrier.cluster.wait;)",
                                      ".shared .align 4 .b8 mine[512];");
  for (uint32_t size : {2u, 4u}) {
    const uint32_t ctas = 8 * size, threads = 96;
    std::vector<uint32_t> expected(ctas * threads);
    for (uint32_t cta = 0; cta < ctas; ++cta)
      for (uint32_t thread = 0; thread < 64; thread += 2)
        if (cta % size != 1)
          expected[cta * threads + thread] = (cta / size * size + 1) * 100 + thread;
    EXPECT_EQ(runClusters(ptx, std::vector<uint32_t>(expected.size(), 7),
                          formOf({ctas, 1, 1}, {size, 1, 1}, {threads, 1, 1})),
              expected);
  }
}

// Threads that have arrived may end without waiting: the phase then ends without them, but not
// before the others have arrived. Whole CTAs end so, and whole warps.
TEST(ClusterExecution, ThreadsThatArriveAndEnd) {
  for (const char *ending : {"and.b32 %r1, %r0, 1;", "shr.u32 %r1, %r0, 1; xor.b32 %r1, %r1, 1;",
                             "shr.u32 %r1, %tid, 5; and.b32 %r1, %r1, 1;"}) {
    const std::string ptx = forClusters("mov.u32 %r0, %cluster_ctarank;" + std::string(ending) + R"(
    setp.ne.u32 %p0, %r1, 0;
    mov.u32 %r2, s; shl.b32 %r3, %tid, 2; add.u32 %r2, %r2, %r3;
    add.u32 %r4, %r0, 1; and.b32 %r4, %r4, 3;
    mapa.shared::cluster.u32 %r5, %r2, %r4; mad.lo.u32 %r6, %r0, 1000, %tid;
    st.shared::cluster.u32 [%r5], %r6;
    st.global.u32 [%mine], 7;
    barrier.cluster.arrive;
    @%p0 exit;
    barrier.cluster.wait;
    ld.shared.u32 %r6, [%r2]; st.global.u32 [%mine], %r6;
    barrier.cluster.arrive; barrier.cluster.wait;
    barrier.cluster.arrive;)",
                                        ".shared .align 4 .b8 s[512];");
    const bool byRank = StringRef(ending).contains("%r0"),
               isOdd = StringRef(ending).contains("and.b32 %r1, %r0");
    std::vector<uint32_t> expected(8 * 96);
    for (uint32_t i = 0; i < expected.size(); ++i) {
      const uint32_t rank = i / 96 % 4, thread = i % 96;
      const bool ends = !byRank ? thread / 32 % 2 : isOdd ? rank % 2 : rank < 2;
      expected[i] = ends ? 7 : (rank + 3) % 4 * 1000 + thread;
    }
    EXPECT_EQ(runClusters(ptx, std::vector<uint32_t>(expected.size()),
                          formOf({8, 1, 1}, {4, 1, 1}, {96, 1, 1})),
              expected)
        << ending;
  }
}

// The two halves of the barrier in different functions, with work of other phases between.
TEST(ClusterExecution, ArrivalsAndWaitsInFunctions) {
  const std::string ptx = forClusters(R"(
    mov.u32 %r0, %cluster_ctarank; xor.b32 %r1, %r0, 1;
    mov.u32 %r2, word; mapa.shared::cluster.u32 %r3, %r2, %r1;
    mov.u32 %r4, 0; mov.u32 %r5, 0;
    setp.ne.u32 %p0, %tid, 0;
    LOOP:
    add.u32 %r6, %r4, %r0;
    @!%p0 st.shared::cluster.u32 [%r3], %r6;
    call arrive, ();
    add.u32 %r4, %r4, 10;
    call wait, ();
    ld.shared.u32 %r7, [word];
    add.u32 %r5, %r5, %r7;
    call arrive, (); call wait, ();
    setp.lt.u32 %p1, %r4, 50; @%p1 bra LOOP;
    st.global.u32 [%mine], %r5;)",
                                      ".shared .align 4 .b8 word[4];"
                                      ".func arrive() { barrier.cluster.arrive.aligned; ret; }"
                                      ".func wait() { barrier.cluster.wait.aligned; ret; }");
  std::vector<uint32_t> expected(8 * 64);
  for (uint32_t i = 0; i < expected.size(); ++i)
    expected[i] = 100 + 5 * (i / 64 % 2 ? 0 : 1);
  EXPECT_EQ(runClusters(ptx, std::vector<uint32_t>(expected.size()),
                        formOf({8, 1, 1}, {2, 1, 1}, {64, 1, 1})),
            expected);
}

// Bytes that other CTAs write by st.async, red.async and bulk copies are awaited by an mbarrier of
// the CTA that gets them, which also waits for arrivals from afar.
TEST(ClusterExecution, AsynchronousStoresToOtherCtas) {
  const std::string ptx = forClusters(R"(
    mov.u32 %r0, %cluster_ctarank; mov.u32 %r1, %cluster_nctarank;
    add.u32 %r2, %r0, 1; rem.u32 %r2, %r2, %r1;
    setp.ne.u32 %p0, %tid, 0;
    @%p0 bra READY;
    mbarrier.init.shared.b64 [bar], 2;
    fence.mbarrier_init.release.cluster;
    st.shared.u32 [sum], 5;
    READY:
    mov.u32 %r3, from; shl.b32 %r4, %tid, 2; add.u32 %r3, %r3, %r4;
    mov.u32 %r5, %ctaid.x; mad.lo.u32 %r6, %r5, 1000, %tid; st.shared.u32 [%r3], %r6;
    fence.proxy.async.shared::cta;
    barrier.cluster.arrive; barrier.cluster.wait;
    mov.u32 %r7, bar; mapa.shared::cluster.u32 %r8, %r7, %r2;
    mov.u32 %r9, words; add.u32 %r9, %r9, %r4; mapa.shared::cluster.u32 %r10, %r9, %r2;
    mov.u32 %r11, copied; mapa.shared::cluster.u32 %r12, %r11, %r2;
    mov.u32 %r13, sum; mapa.shared::cluster.u32 %r14, %r13, %r2;
    @%p0 bra SEND;
    mbarrier.arrive.expect_tx.shared.b64 %rd0, [bar], 384;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r8];
    mov.u32 %r15, from;
    cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r12], [%r15], 128, [%r8];
    SEND:
    st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r10], %r6, [%r8];
    red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r14], 1, [%r8];
    WAIT:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [bar], 0;
    @!%p1 bra WAIT;
    ld.shared.u32 %r16, [%r9];
    add.u32 %r17, %r11, %r4; ld.shared.u32 %r18, [%r17];
    ld.shared.u32 %r19, [sum];
    mov.u32 %r6, %ctaid.x; mad.lo.u32 %r6, %r6, 32, %tid;
    mul.wide.u32 %rd1, %r6, 12; add.u64 %rd1, %rd1, %buf;
    st.global.u32 [%rd1], %r16; st.global.u32 [%rd1+4], %r18; st.global.u32 [%rd1+8], %r19;
    barrier.cluster.arrive; barrier.cluster.wait;)",
                                      ".shared .align 8 .b8 bar[8];"
                                      ".shared .align 16 .b8 from[128];"
                                      ".shared .align 16 .b8 copied[128];"
                                      ".shared .align 16 .b8 words[128];"
                                      ".shared .align 4 .b8 sum[4];");
  for (uint32_t size : {2u, 5u}) {
    const uint32_t ctas = 4 * size;
    std::vector<uint32_t> expected;
    for (uint32_t cta = 0; cta < ctas; ++cta)
      for (uint32_t thread = 0; thread < 32; ++thread) {
        const uint32_t before = cta / size * size + (cta % size + size - 1) % size;
        append_range(expected, std::array<uint32_t, 3>{1000 * before + thread,
                                                       1000 * before + thread, 5 + 32});
      }
    EXPECT_EQ(runClusters(ptx, std::vector<uint32_t>(expected.size()),
                          formOf({ctas, 1, 1}, {size, 1, 1})),
              expected)
        << size;
  }
}

// One CTA copies for several, each of which waits at its own mbarrier. Addresses of any CTA of the
// cluster say where in each of them.
TEST(ClusterExecution, CopiesToSeveralCtas) {
  for (const char *addressed : {"0", "2", "3"}) {
    const std::string ptx = forClusters(R"(
    mov.u32 %r0, %cluster_ctarank;
    setp.ne.u32 %p0, %tid, 0;
    mov.u32 %r3, to; shl.b32 %r4, %tid, 2; add.u32 %r3, %r3, %r4;
    st.shared.u32 [%r3], 77;
    mov.u32 %r7, bar;
    @%p0 bra READY;
    mbarrier.init.shared.b64 [%r7], 1;
    setp.eq.u32 %p2, %r0, 1; selp.u32 %r5, 0, 128, %p2;
    mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r7], %r5;
    READY:
    barrier.cluster.arrive; barrier.cluster.wait;
    setp.ne.or.u32 %p1, %r0, 2, %p0;
    @%p1 bra WAIT;
    mov.u32 %r9, to; mov.u16 %rs0, 13;
    mapa.shared::cluster.u32 %r9, %r9, )" + std::string(addressed) +
                                            R"(;
    mapa.shared::cluster.u32 %r10, %r7, )" + addressed +
                                            R"(;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
      [%r9], [%buf], 128, [%r10], %rs0;
    WAIT:
    mbarrier.try_wait.parity.shared.b64 %p3, [%r7], 0;
    @!%p3 bra WAIT;
    ld.shared.u32 %r8, [%r3];
    st.global.u32 [%mine+128], %r8;
    barrier.cluster.arrive; barrier.cluster.wait;)",
                                        ".shared .align 16 .b8 bar[16];"
                                        ".shared .align 16 .b8 to[128];");
    std::vector<uint32_t> expected = counting(32 + 8 * 32);
    for (uint32_t i = 0; i < 8 * 32; ++i)
      expected[32 + i] = i / 32 % 4 == 1 ? 77 : i % 32;
    EXPECT_EQ(runClusters(ptx, counting(expected.size()), formOf({8, 1, 1}, {4, 1, 1})), expected)
        << addressed;
  }
}

TEST(ClusterExecution, CopiesToCtasThatAreNoneAreRefused) {
  const std::string ptx =
      forClusters(R"(
    mbarrier.init.shared.b64 [bar], 1;
    mov.u32 %r7, bar; mov.u32 %r9, to; mov.u16 %rs0, 4;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
      [%r9], [%buf], 16, [%r7], %rs0;)",
                  ".shared .align 16 .b8 bar[16]; .shared .align 16 .b8 to[16];");
  Form form = formOf({2, 1, 1}, {2, 1, 1});
  form.expectTrap = true;
  EXPECT_EQ(run(ptx, counting(4), form).trap.reason,
            uint32_t(rubia::abi::TrapReason::IllegalInstruction));
}

// Whether a generic address is in the CTA's shared memory, in the cluster's, in global memory.
TEST(ClusterExecution, SpacesOfAddresses) {
  const std::string ptx = forClusters(R"(
    mov.u32 %r0, %cluster_ctarank; xor.b32 %r1, %r0, 1;
    cvta.shared.u64 %rd0, s; mapa.u64 %rd1, %rd0, %r1; mapa.u64 %rd2, %rd0, %r0;
    mov.u32 %r2, 0;
    isspacep.shared %p0, %rd0; selp.u32 %r3, 1, 0, %p0; add.u32 %r2, %r2, %r3;
    isspacep.shared::cta %p0, %rd1; selp.u32 %r3, 2, 0, %p0; add.u32 %r2, %r2, %r3;
    isspacep.shared::cluster %p0, %rd1; selp.u32 %r3, 4, 0, %p0; add.u32 %r2, %r2, %r3;
    isspacep.global %p0, %rd1; selp.u32 %r3, 8, 0, %p0; add.u32 %r2, %r2, %r3;
    isspacep.global %p0, %buf; selp.u32 %r3, 16, 0, %p0; add.u32 %r2, %r2, %r3;
    isspacep.shared::cluster %p0, %buf; selp.u32 %r3, 32, 0, %p0; add.u32 %r2, %r2, %r3;
    setp.eq.u64 %p0, %rd0, %rd2; selp.u32 %r3, 64, 0, %p0; add.u32 %r2, %r2, %r3;
    cvta.to.shared.u64 %rd3, %rd0; cvt.u32.u64 %r4, %rd3; mov.u32 %r5, s;
    setp.eq.u32 %p0, %r4, %r5; selp.u32 %r3, 128, 0, %p0; add.u32 %r2, %r2, %r3;
    st.global.u32 [%mine], %r2;)",
                                      ".shared .align 4 .b8 s[4];");
  EXPECT_EQ(runClusters(ptx, std::vector<uint32_t>(4 * 32), formOf({4, 1, 1}, {2, 1, 1})),
            std::vector<uint32_t>(4 * 32, 1 + 4 + 16 + 64 + 128));
}

// Lanes that wait for a phase while others of their warp have gone on to later ones.
TEST(ClusterExecution, WaitsForEarlierPhases) {
  for (const char *slow : {"setp.lt.u32 %p0, %tid, 16;", "setp.ge.u32 %p0, %tid, 16;"})
    for (unsigned phases : {1u, 2u, 3u, 4u}) {
      std::string body = slow;
      body += "barrier.cluster.arrive; @%p0 bra SLOW; barrier.cluster.wait;";
      for (unsigned i = 0; i < phases; ++i)
        body += "barrier.cluster.arrive; barrier.cluster.wait;";
      body +=
          "st.global.u32 [%mine], 1; ret; SLOW: barrier.cluster.wait; st.global.u32 [%mine], 2;";
      Form form = formOf({2, 1, 1}, {2, 1, 1});
      form.byTickets = true;
      std::vector<uint32_t> words = run(forClusters(body), counting(64), form).words;
      for (uint32_t i = 0; i < words.size(); ++i)
        EXPECT_EQ(words[i], (i % 32 < 16) == (StringRef(slow).contains("lt")) ? 2u : 1u)
            << slow << ' ' << phases << " phases, thread " << i;
    }
}

// cvta heeds whose a .shared address is, and what reads and writes shared memory of the own CTA
// refuses those of others.
TEST(ClusterExecution, SharedAddressesOfOtherCtas) {
  const std::string start = R"(
    mov.u32 %r0, %cluster_ctarank; xor.b32 %r0, %r0, 1; mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, s; st.shared.u32 [%r2], %r1; mapa.shared::cluster.u32 %r3, %r2, %r0;
    barrier.cluster.arrive; barrier.cluster.wait;)";
  const std::string end = R"(
    barrier.cluster.arrive; barrier.cluster.wait; st.global.u32 [%mine], %r4;)";
  for (const char *space : {"shared", "shared::cta", "shared::cluster"}) {
    const std::string ptx =
        forClusters(start + "cvt.u64.u32 %rd0, %r3; cvta." + space +
                        ".u64 %rd0, %rd0; ld.u32 %r4, [%rd0]; getctarank.u64 %r5, %rd0;"
                        "mad.lo.u32 %r4, %r5, 10, %r4;" +
                        end,
                    ".shared .align 4 .b8 s[4];");
    std::vector<uint32_t> expected(4 * 32);
    for (uint32_t i = 0; i < expected.size(); ++i)
      expected[i] = (i / 32 ^ 1) + 10 * (i / 32 % 2 ^ 1);
    EXPECT_EQ(runClusters(ptx, expected, formOf({4, 1, 1}, {2, 1, 1})), expected) << space;
  }
  for (const char *access :
       {"ld.shared.u32 %r4, [%r3];", "ld.shared::cta.u32 %r4, [%r3];", "st.shared.u32 [%r3], 1;",
        "atom.shared.add.u32 %r4, [%r3], 1;", "red.shared.add.u32 [%r3], 1;",
        "mbarrier.init.shared.b64 [%r3], 1;", "ld.shared.u32 %r4, [%r2+0x3000000];",
        "cp.async.ca.shared.global [%r3], [%buf], 4;"}) {
    Form form = formOf({2, 1, 1}, {2, 1, 1});
    form.expectTrap = true;
    EXPECT_EQ(
        run(forClusters(start + access + end, ".shared .align 8 .b8 s[8];"), counting(64), form)
            .trap.reason,
        uint32_t(rubia::abi::TrapReason::IllegalInstruction))
        << access;
  }
}

// Half a warp waits for its other half, which comes by another way: it never will.
TEST(ClusterExecution, ThreadsThatWaitForTheirWarpAreReported) {
  const std::string ptx = forClusters(R"(
    setp.lt.u32 %p0, %tid, 16; @%p0 bra OTHER;
    barrier.cluster.arrive; barrier.cluster.wait;
    st.global.u32 [%mine], 1; ret;
    OTHER: barrier.cluster.arrive; barrier.cluster.wait;
    st.global.u32 [%mine], 2;)");
  Form form = formOf({2, 1, 1}, {2, 1, 1});
  form.spinLimit = 100;
  form.expectTrap = true;
  EXPECT_EQ(run(ptx, counting(64), form).trap.reason,
            uint32_t(rubia::abi::TrapReason::NeedsIndependentScheduling));
}

// A thread that has arrived may wait anywhere, also apart from its warp.
TEST(ClusterExecution, WaitsInBranches) {
  const std::string ptx = forClusters(R"(
    mov.u32 %r0, %cluster_ctarank; xor.b32 %r0, %r0, 1;
    mov.u32 %r1, s; shl.b32 %r2, %tid, 2; add.u32 %r1, %r1, %r2;
    mapa.shared::cluster.u32 %r3, %r1, %r0; mov.u32 %r4, %ctaid.x;
    st.shared::cluster.u32 [%r3], %r4;
    barrier.cluster.arrive;
    setp.lt.u32 %p0, %tid, 16; @%p0 bra OTHER;
    barrier.cluster.wait;
    ld.shared.u32 %r5, [%r1]; add.u32 %r5, %r5, 100; bra END;
    OTHER: barrier.cluster.wait;
    ld.shared.u32 %r5, [%r1];
    END: st.global.u32 [%mine], %r5;
    barrier.cluster.arrive; barrier.cluster.wait;)",
                                      ".shared .align 4 .b8 s[128];");
  std::vector<uint32_t> expected(4 * 32);
  for (uint32_t i = 0; i < expected.size(); ++i)
    expected[i] = (i / 32 ^ 1) + (i % 32 < 16 ? 0 : 100);
  EXPECT_EQ(runClusters(ptx, std::vector<uint32_t>(expected.size()), formOf({4, 1, 1}, {2, 1, 1})),
            expected);
}

// Under the check `order` what no fence shows stays unseen for a while.
TEST(ClusterExecution, BarriersOrderSharedMemory) {
  const std::string ptx = forClusters(R"(
    mov.u32 %r0, %cluster_ctarank; xor.b32 %r0, %r0, 1;
    mov.u32 %r1, s; shl.b32 %r2, %tid, 2; add.u32 %r1, %r1, %r2;
    mapa.shared::cluster.u32 %r3, %r1, %r0; mov.u32 %r4, 0; mov.u32 %r6, 0;
    mov.u32 %r7, s; xor.b32 %r8, %r2, 4; add.u32 %r7, %r7, %r8;
    LOOP: mad.lo.u32 %r5, %r4, 100, %tid;
    st.shared::cluster.u32 [%r3], %r5;
    barrier.cluster.arrive; barrier.cluster.wait;
    ld.shared.u32 %r5, [%r7]; add.u32 %r6, %r6, %r5;
    barrier.cluster.arrive; barrier.cluster.wait;
    add.u32 %r4, %r4, 1; setp.lt.u32 %p0, %r4, 4; @%p0 bra LOOP;
    st.global.u32 [%mine], %r6;)",
                                      ".shared .align 4 .b8 s[256];");
  std::vector<uint32_t> expected(4 * 64);
  for (uint32_t i = 0; i < expected.size(); ++i)
    expected[i] = 600 + 4 * (i % 64 ^ 1);
  for (const char *arch : {"gfx1100", "gfx942"})
    for (uint64_t seed : {1, 2, 3}) {
      Form form = formOf({4, 1, 1}, {2, 1, 1}, {64, 1, 1});
      form.arch = arch;
      form.halfFilled = isWave64(arch);
      form.byTickets = seed == 3;
      form.orderSeed = seed;
      EXPECT_EQ(run(ptx, std::vector<uint32_t>(expected.size()), form).words, expected)
          << arch << ' ' << seed;
    }
}

// Each CTA multiplies what lies in its own shared memory, by a matrix unit where there is one.
TEST(ClusterExecution, WarpgroupProductsReadTheOwnCta) {
  const std::string descriptor = "and.b64 %rd0, %rd0, 0x3ffff; shr.u64 %rd0, %rd0, 4;"
                                 "or.b64 %rd0, %rd0, 0x1000080000;"; // strides of 128 and 256
  std::string ptx =
      forClusters(R"(
    mov.u32 %r0, %ctaid.x; shl.b32 %r1, %tid, 4;
    add.u32 %r2, %r0, 1; cvt.rn.f16.u32 %rs0, %r2; mov.b32 %r3, {%rs0, %rs0};
    add.u32 %r4, %r0, 2; cvt.rn.f16.u32 %rs1, %r4; mov.b32 %r5, {%rs1, %rs1};
    mov.u32 %r6, a; add.u32 %r6, %r6, %r1; st.shared.v4.u32 [%r6], {%r3, %r3, %r3, %r3};
    mov.u32 %r7, b; add.u32 %r7, %r7, %r1; st.shared.v4.u32 [%r7], {%r5, %r5, %r5, %r5};
    mov.u64 %rd0, a;)" +
                      descriptor + "mov.u64 %rd1, %rd0; mov.u64 %rd0, b;" + descriptor + R"(
    mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
    setp.eq.u32 %p0, %r0, %r0;
    fence.proxy.async; barrier.cluster.arrive; barrier.cluster.wait;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd0, %p0,
      1, 1, 0, 0;
    wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
    add.f32 %f0, %f0, %f1; add.f32 %f2, %f2, %f3; add.f32 %f0, %f0, %f2;
    cvt.rni.u32.f32 %r8, %f0; st.global.u32 [%mine], %r8;
    barrier.cluster.arrive; barrier.cluster.wait;)",
                  ".shared .align 1024 .b8 a[2048]; .shared .align 1024 .b8 b[2048];");
  ptx.replace(ptx.find("sm_90"), 5, "sm_90a");
  std::vector<uint32_t> expected(4 * 128);
  for (uint32_t i = 0; i < expected.size(); ++i)
    expected[i] = 4 * 16 * (i / 128 + 1) * (i / 128 + 2);
  EXPECT_EQ(runClusters(ptx, std::vector<uint32_t>(expected.size()),
                        formOf({4, 1, 1}, {2, 1, 1}, {128, 1, 1})),
            expected);
}
