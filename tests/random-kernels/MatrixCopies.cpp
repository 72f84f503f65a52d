// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies of the generator: each lane reads what another lane of its warp has copied.
#include "MatrixGenerator.h"
#include <iterator>

namespace rubia::random_kernels {

// Groups of copies to own slots of 512 bytes, of which some are waited for first.
void MatrixGenerator::asyncCopies() {
  const unsigned size = random.pick(std::array{4u, 8u, 16u, 16u}), groups = 1 + number(3);
  join();
  put("mul.lo.u32 %t2, %lane, {0}; add.u32 %t2, %t2, %tile;", size);
  std::vector<unsigned> slots; // the group of each
  for (unsigned group = 0; group < groups; ++group) {
    const unsigned copies = 1 + number(2);
    for (unsigned i = 0; i < copies && slots.size() < 4; ++i, slots.push_back(group)) {
      put("and.b32 %t3, {0}, {1}; mul.wide.u32 %d1, %t3, 16; add.u64 %d1, %d1, %in;", reg(),
          kRows - 1);
      const bool isGuarded = random.chance(20);
      if (isGuarded)
        put("setp.gt.u32 %q3, {0}, 0x80000000;", reg());
      std::string last; // how many bytes are copied, or whether none is
      switch (number(4)) {
      case 0:
        put("and.b32 %t4, {0}, 31; min.u32 %t4, %t4, {1};", reg(), size);
        last = ", %t4";
        break;
      case 1:
        put("setp.gt.u32 %q2, {0}, 0x70000000;", reg());
        last = ", %q2";
        break;
      case 2:
        last = ", " + std::to_string(random.pick(std::array{0u, size, size / 2}));
        break;
      default:
        break;
      }
      put("{0}cp.async.{1}.shared.global [%t2+{2}], [%d1], {3}{4};", isGuarded ? "@%q3 " : "",
          size == 16 && random.chance(50) ? "cg" : "ca", slots.size() * 512, size, last);
    }
    put("cp.async.commit_group;");
  }
  const unsigned left = number(groups + 1);
  put("cp.async.wait_group {0};", left);
  join();
  for (unsigned slot = 0; slot < slots.size(); ++slot)
    if (slots[slot] + left < groups)
      put("ld.shared.u32 %t5, [%t2+{0}]; add.u32 {1}, {1}, %t5;", slot * 512, reg());
  if (random.chance(50))
    integerProduct();
  text += random.chance(50) ? "  cp.async.wait_all;\n" : "  cp.async.wait_group 0;\n";
  join();
  for (unsigned slot = 0; slot < slots.size(); ++slot) {
    put("xor.b32 %t3, %lane, {0}; mul.lo.u32 %t3, %t3, {1}; add.u32 %t3, %t3, %tile;", number(32),
        size);
    put("ld.shared.u32 %t5, [%t3+{0}]; mad.lo.u32 {1}, {1}, 3, %t5;", slot * 512, reg());
  }
  join();
}

void MatrixGenerator::issueRing(const char *at, unsigned stages, unsigned rounds, unsigned size,
                                unsigned form) {
  put("rem.u32 %t3, {0}, {1}; mad.lo.u32 %t3, %t3, 512, %t2;", at, stages);
  put("mad.lo.u32 %t4, {0}, 5, %lane; add.u32 %t4, %t4, %warp; and.b32 %t4, %t4, {1};", at,
      kRows - 1);
  put("mul.wide.u32 %d1, %t4, 16; add.u64 %d1, %d1, %in; setp.lt.u32 %q2, {0}, {1};", at, rounds);
  if (form == 2)
    put("selp.b32 %t5, {0}, 0, %q2;", size);
  put("{0}cp.async.ca.shared.global [%t3], [%d1], {1}{2}; cp.async.commit_group;",
      form == 1 ? "@%q2 " : "", size, form == 2 ? ", %t5" : "");
}

// The loop of a kernel with stages: copies are some rounds ahead.
void MatrixGenerator::asyncRing() {
  const unsigned stages = 2 + number(3), rounds = stages + number(9 - stages);
  const unsigned size = random.pick(std::array{4u, 8u, 16u}), form = number(3);
  const std::string again = label();
  const bool waitsFirst = random.chance(50);
  join();
  put("mul.lo.u32 %t2, %lane, {0}; add.u32 %t2, %t2, %tile; mov.u32 %i0, 0;", size);
  for (unsigned stage = 0; stage + 1 < stages; ++stage) {
    put("mov.u32 %i1, {0};", stage);
    issueRing("%i1", stages, rounds, size, form);
  }
  put("{0}:", again);
  if (waitsFirst) {
    put("cp.async.wait_group {0};", stages - 2);
    join();
  }
  put("add.u32 %i1, %i0, {0};", stages - 1);
  issueRing("%i1", stages, rounds, size, form);
  if (!waitsFirst) {
    put("cp.async.wait_group {0};", stages - 1);
    join();
  }
  put("rem.u32 %t3, %i0, {0}; mul.lo.u32 %t3, %t3, 512; xor.b32 %t4, %lane, {1};", stages,
      number(32));
  put("mad.lo.u32 %t3, %t4, {0}, %t3; add.u32 %t3, %t3, %tile; ld.shared.u32 %t5, [%t3];", size);
  put("mad.lo.u32 {0}, {0}, 3, %t5;", reg());
  if (random.chance(50))
    integerProduct();
  join();
  put("add.u32 %i0, %i0, 1; setp.lt.u32 %q2, %i0, {0}; @%q2 bra {1};", rounds, again);
  text += "  cp.async.wait_all;\n";
  join();
}

// Phases of the warp's own mbarrier: of arrivals, of the bytes of bulk copies, or of both.
void MatrixGenerator::barrierRounds() {
  enum { Arrivals, Bytes, Both };
  const unsigned kind = random.pick(std::array{Arrivals, Bytes, Bytes, Both});
  const unsigned rounds = 1 + number(6), size = 16 * random.pick(std::array{1u, 3u, 8u, 9u, 33u});
  const std::string again = label(), wait = label(), skip = label();
  put("setp.eq.u32 %q0, %lane, {0};", number(32));
  join();
  put("@%q0 mbarrier.init.shared.b64 [%barrier], {0};", kind == Bytes ? 1 : 32);
  join();
  put("mov.u32 %i2, 0;");
  put("{0}:", again);
  put("and.b32 %t6, %i2, 1; mad.lo.u32 %t3, %i2, 7, %warp; and.b32 %t3, %t3, 15;");
  put("mul.wide.u32 %d1, %t3, 16; add.u64 %d1, %d1, %in;");
  if (kind == Arrivals)
    put("st.shared.u32 [%own], %s0;");
  else
    put("@!%q0 bra {0}; mbarrier.expect_tx.relaxed.cta.shared.b64 [%barrier], {1}; "
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%d1], {1}, "
        "[%barrier];",
        skip, size);
  if (kind == Bytes)
    put("mbarrier.arrive.shared.b64 _, [%barrier];");
  put("{0}:", skip);
  if (kind != Bytes)
    put("mbarrier.arrive.shared.b64 %d2, [%barrier];");
  put("{0}: mbarrier.{1}.parity.shared.b64 %q2, [%barrier], %t6; @!%q2 bra {0};", wait,
      random.oneOf({"try_wait", "test_wait"}).str());
  join();
  if (kind == Arrivals)
    put("xor.b32 %t3, %own, {0}; ld.shared.u32 %t5, [%t3];", 4 * number(32));
  else
    put("mul.lo.u32 %t3, %lane, 4; rem.u32 %t3, %t3, {0}; add.u32 %t3, %t3, %tile; "
        "ld.shared.u32 %t5, [%t3]; ld.shared.u32 %t4, [%tile+{1}]; add.u32 %t5, %t5, %t4;",
        size, size - 4);
  put("mad.lo.u32 {0}, {0}, 5, %t5;", reg());
  text += "  fence.proxy.async.shared::cta;\n";
  join();
  if (random.chance(40))
    integerProduct();
  put("add.u32 %i2, %i2, 1; setp.lt.u32 %q2, %i2, {0}; @%q2 bra {1};", rounds, again);
  join();
  text += "  @%q0 mbarrier.inval.shared.b64 [%barrier];\n";
  join();
}

// From shared memory to the warp's own part of the results, and back to the state.
void MatrixGenerator::bulkOut() {
  const unsigned size = 16 * random.pick(std::array{1u, 2u, 3u, 5u, 8u, 15u});
  const std::vector<std::string> names = any(3);
  put("st.shared.u32 [%own], {0}; st.shared.u32 [%own+128], {1};", names[0], names[1]);
  text += "  fence.proxy.async.shared::cta;\n";
  join();
  put("setp.eq.u32 %q0, %lane, {0};", number(32));
  const std::string op = random
                             .oneOf({"", "", "add.u32", "min.u32", "max.s32", "and.b32", "or.b32",
                                     "xor.b32", "add.u64", "inc.u32", "dec.u32", "min.s64"})
                             .str();
  put("@%q0 cp.{0}async.bulk.global.shared::cta.bulk_group{1}{2} [%mine], [%tile], {3};",
      op.empty() ? "" : "reduce.", op.empty() ? "" : ".", op, size);
  text += "  @%q0 cp.async.bulk.commit_group; @%q0 cp.async.bulk.wait_group 0;\n"
          "  fence.proxy.async;\n";
  join();
  put("mul.wide.u32 %d1, %lane, 4; add.u64 %d1, %d1, %mine; ld.global.u32 %t5, [%d1];");
  put("add.u32 {0}, {0}, %t5;", names[2]);
  join();
}

// Whoever of some lanes is elected, it is one of them.
void MatrixGenerator::elected() {
  const uint32_t mask = random.pick(std::array{0xffffffffu, 0xffffu, 0xf0f0f0f0u, 1u << number(32),
                                               uint32_t(random.next()) | 1u});
  const std::string skip = label();
  put("mov.u32 %t3, {0}; shr.u32 %t4, %t3, %lane; and.b32 %t4, %t4, 1;", mask);
  put("setp.eq.u32 %q2, %t4, 1; mov.u32 %t5, 0; @!%q2 bra {0};", skip);
  put("elect.sync %t6|%q3, {0}; selp.u32 %t5, 1, 0, %q3; shr.u32 %t7, %t3, %t6;", mask);
  put("and.b32 %t7, %t7, 1; add.u32 %t5, %t5, %t7;");
  put("{0}:", skip);
  join();
  put("redux.sync.add.u32 %t5, %t5, -1; add.u32 {0}, {0}, %t5;", reg());
}

} // namespace rubia::random_kernels
