// SPDX-License-Identifier: Apache-2.0
// The check `races` on asynchronous copies, whose stores and waits a code object's sections name
// (lowering/lib/frame/AsyncNotes.h). Kernels of two warps: each thread copies a dword to LDS and
// reads one; what lies between makes the difference.
#include "tests/emulator/Fixture.h"
#include "llvm/ADT/StringExtras.h"

using namespace rubia::emulator;
using namespace rubia::emulator::test;

namespace {

/// One step of a kernel on gfx1100.
enum class Do {
  Copy,      // this thread's dword of the first buffer
  CopyOther, // of the second buffer
  Store,     // the same as Copy, but plainly
  ReadOwn,
  ReadOther, // the dword of the thread in the other warp
  Barrier,
  Commit,
  Wait0,
  Wait1,
  WaitAll,
  HandOver,
  Observe,
  Hold,       // a copy of this thread's dword begins
  FinishHeld, // its store
};

/// Notes are bytes for each instruction in a memory encoding: a weak access of an aligned dword,
/// and bit 7 for a copy.
struct Text {
  std::string code, notes, marks;
  unsigned memoryInstructions = 0, markCount = 0;

  void access(const std::string &line, bool copies = false) {
    code += "  " + line + "\n";
    notes += std::string(notes.empty() ? "" : ", ") + (copies ? "0xca" : "0x4a");
    ++memoryInstructions;
  }
  void mark(unsigned kind, unsigned count, const std::string &more = "") {
    const std::string label = ".Lmark" + std::to_string(markCount++);
    code += label + ":\n  s_nop 0\n";
    marks += "  .quad " + label + "\n  .byte " + std::to_string(kind) + ", " +
             std::to_string(count) + "\n" + more;
  }
  void add(Do what) {
    switch (what) {
    case Do::Copy:
      return access("ds_store_b32 v1, v0", true);
    case Do::CopyOther:
      return access("ds_store_b32 v1, v0 offset:512", true);
    case Do::Store:
      return access("ds_store_b32 v1, v0");
    case Do::ReadOwn:
      access("ds_load_b32 v3, v1");
      code += "  s_waitcnt lgkmcnt(0)\n";
      return;
    case Do::ReadOther:
      access("ds_load_b32 v3, v2");
      code += "  s_waitcnt lgkmcnt(0)\n";
      return;
    case Do::Barrier:
      code += "  s_waitcnt lgkmcnt(0)\n  s_barrier\n";
      return;
    case Do::Commit:
      return mark(1, 0);
    case Do::Wait0:
      return mark(2, 0);
    case Do::Wait1:
      return mark(2, 1);
    case Do::WaitAll:
      return mark(3, 0);
    case Do::HandOver:
      return mark(4, 0);
    case Do::Observe:
      return mark(5, 0);
    case Do::Hold:
      return mark(6, 4, "  .asciz \"v1\"\n");
    case Do::FinishHeld:
      return access("ds_store_b32 v1, v0", true);
    }
  }
};

std::string kernelOf(std::initializer_list<Do> steps) {
  Text text;
  for (Do step : steps)
    text.add(step);
  return R"(
  .text
  .globl k
  .p2align 8
  .type k,@function
k:
  v_and_b32 v0, 0x3ff, v0
  v_lshlrev_b32 v1, 2, v0
  v_xor_b32 v2, 128, v1
)" + text.code +
         R"(  s_endpgm
.Lend:
  .size k, .Lend-k
  .rodata
  .p2align 6
  .amdhsa_kernel k
    .amdhsa_group_segment_fixed_size 1024
    .amdhsa_next_free_vgpr 8
    .amdhsa_next_free_sgpr 16
    .amdhsa_wavefront_size32 1
    .amdhsa_system_vgpr_workitem_id 0
  .end_amdhsa_kernel
  .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 1024
...
  .end_amdgpu_metadata
  .section .rubia.accesses,"",@progbits
  .quad k
  .long )" +
         std::to_string(text.memoryInstructions) + "\n  .byte " + text.notes +
         "\n  .section .rubia.async,\"\",@progbits\n" + text.marks;
}

class AsyncCopiesTest : public EmulatorTest {
protected:
  /// What the check says, or "" if nothing.
  std::string reportOf(std::initializer_list<Do> steps) {
    load(assemble(kernelOf(steps), "gfx1100", ""));
    if (!code)
      return "not loaded";
    Launch request;
    request.kernel = code->kernel("k");
    request.grid = {1};
    request.block = {64};
    request.checks = Checks();
    request.checks->races = true;
    auto result = rubia::emulator::run(request, memory);
    return result ? "" : llvm::toString(result.takeError());
  }
  void expectInFlight(std::initializer_list<Do> steps) {
    const std::string report = reportOf(steps);
    EXPECT_NE(report.find("an asynchronous copy, which has not been waited for"), std::string::npos)
        << report;
  }
  void expectRace(std::initializer_list<Do> steps) {
    const std::string report = reportOf(steps);
    EXPECT_NE(report.find("data race"), std::string::npos) << report;
  }
  void expectLate(std::initializer_list<Do> steps) {
    const std::string report = reportOf(steps);
    EXPECT_NE(report.find("covers an asynchronous copy that Rubia still holds back"),
              std::string::npos)
        << report;
  }
  void expectNothing(std::initializer_list<Do> steps) { EXPECT_EQ(reportOf(steps), ""); }
};

using enum Do;

TEST_F(AsyncCopiesTest, MayBeReadBehindTheirWaitAndABarrier) {
  expectNothing({Copy, Commit, Wait0, Barrier, ReadOther});
  expectNothing({Copy, WaitAll, Barrier, ReadOther});
  expectNothing({Copy, Commit, Wait0, ReadOwn});
  expectNothing({CopyOther, Commit, Barrier, ReadOther}); // other bytes
}

TEST_F(AsyncCopiesTest, MayNotBeReadBefore) {
  expectInFlight({Copy, Commit, Barrier, ReadOther});
  expectInFlight({Copy, Commit, ReadOwn, Wait0});
  expectInFlight({Copy, ReadOwn});
  expectInFlight({Copy, Wait0, ReadOwn}); // not committed, so not waited for
}

TEST_F(AsyncCopiesTest, ArriveByGroups) {
  expectNothing({Copy, Commit, CopyOther, Commit, Wait1, Barrier, ReadOther});
  expectInFlight({CopyOther, Commit, Copy, Commit, Wait1, Barrier, ReadOther});
  expectInFlight({Copy, Commit, Wait1, Barrier, ReadOther});
  expectNothing({Copy, Commit, Commit, Wait1, Barrier, ReadOther}); // an empty group counts
}

TEST_F(AsyncCopiesTest, ArriveAtTheWaitForOtherWarps) {
  expectRace({Copy, Commit, Barrier, Wait0, ReadOther});
  expectNothing({Copy, Commit, Barrier, Wait0, Barrier, ReadOther});
}

TEST_F(AsyncCopiesTest, MayNotBeOverwritten) {
  expectInFlight({Copy, Commit, Store});
  expectNothing({Copy, Commit, Wait0, Store, Barrier, ReadOther});
  expectNothing({Copy, Copy, Commit, Wait0, ReadOwn});
}

TEST_F(AsyncCopiesTest, BarriersInMemoryTellOfThem) {
  expectInFlight({Copy, HandOver, Barrier, ReadOther});
  expectNothing({Copy, HandOver, Barrier, Observe, ReadOther});
  expectNothing({Copy, HandOver, Observe, Barrier, ReadOther});
  expectInFlight({Observe, Copy, HandOver, Barrier, ReadOther});
}

TEST_F(AsyncCopiesTest, MayBeHeldBackToTheWait) {
  expectInFlight({Hold, Commit, ReadOwn, Wait0, FinishHeld});
  expectInFlight({Hold, Commit, Barrier, ReadOther, Wait0, FinishHeld});
  expectInFlight({Hold, Commit, FinishHeld, Hold, Commit, Wait1, ReadOwn});
  expectInFlight({Hold, Commit, FinishHeld, ReadOwn, Wait0});
  expectNothing({Hold, Commit, FinishHeld, Wait0, ReadOwn, Barrier, ReadOther});
  expectNothing({Hold, Commit, FinishHeld, Wait0, Hold, Commit, FinishHeld, Wait0, ReadOwn});
  expectRace({Hold, Commit, FinishHeld, Wait0, ReadOther});
}

TEST_F(AsyncCopiesTest, MayNotBeHeldBackBeyondTheWait) {
  expectLate({Hold, Commit, Wait0, FinishHeld, ReadOwn, Barrier, ReadOther});
  expectLate({Hold, Commit, WaitAll, FinishHeld, Barrier, ReadOther});
  expectLate({Hold, Commit, Hold, Commit, Wait1, FinishHeld, ReadOwn});
}

TEST_F(AsyncCopiesTest, RegistersOfMarksAreNotBelieved) {
  for (const char *name : {"v256", "s1", "v", "", "v1x"}) {
    std::string text = kernelOf({Hold});
    const size_t at = text.find("\"v1\"");
    ASSERT_NE(at, std::string::npos);
    text.replace(at + 1, 2, name);
    auto loaded = CodeObject::load(assemble(text, "gfx1100", ""), memory);
    EXPECT_FALSE(bool(loaded)) << name;
    consumeError(loaded.takeError());
  }
  std::string beyond = kernelOf({Hold, ReadOwn}); // a VGPR that the kernel does not have
  beyond.replace(beyond.find("\"v1\""), 4, "\"v200\"");
  load(assemble(beyond, "gfx1100", ""));
  ASSERT_TRUE(code);
}

TEST_F(AsyncCopiesTest, MarksAreNotBelieved) {
  std::string text = kernelOf({Copy, Commit, Wait0, Barrier, ReadOther});
  const size_t kind = text.find(".byte 2, 0");
  ASSERT_NE(kind, std::string::npos);
  text.replace(kind, 10, ".byte 9, 0");
  auto loaded = CodeObject::load(assemble(text, "gfx1100", ""), memory);
  ASSERT_FALSE(bool(loaded));
  const std::string message = toString(loaded.takeError());
  EXPECT_NE(message.find(".rubia.async has an entry of kind 9"), std::string::npos) << message;
}

} // namespace
