// SPDX-License-Identifier: Apache-2.0
// Kernels that wait for each other, on one core: all resident workgroups of all launches make
// progress, of several streams, devices and processes.
#include "runtime/device/Hip.h"
#include "tests/cuda/Peer.h"
#include <sched.h>

namespace rubia::runtime::cuda {
namespace {

constexpr unsigned kGroups = 24, kThreads = 64, kRounds = 40;

/// Each CTA tells one of the other launch its round, and waits for that one's: the first for the
/// last. All threads pass a barrier in each round. `done` counts the rounds.
constexpr const char *kExchange = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry exchange(.param .u64 mine, .param .u64 theirs, .param .u64 done, .param .u32 rounds)
{
  .reg .pred %p<4>;
  .reg .b32 %r<10>;
  .reg .b64 %d<10>;
  ld.param.u64 %d1, [mine];
  ld.param.u64 %d2, [theirs];
  ld.param.u64 %d3, [done];
  ld.param.u32 %r1, [rounds];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %nctaid.x;
  sub.u32 %r4, %r3, %r2;
  sub.u32 %r4, %r4, 1;
  mul.wide.u32 %d4, %r2, 4;
  add.s64 %d5, %d1, %d4;
  mul.wide.u32 %d6, %r4, 4;
  add.s64 %d7, %d2, %d6;
  mov.u32 %r5, %tid.x;
  setp.ne.u32 %p1, %r5, 0;
  mov.u32 %r6, 0;
round:
  add.u32 %r6, %r6, 1;
  @%p1 bra together;
  st.release.sys.global.u32 [%d7], %r6;
wait:
  ld.acquire.sys.global.u32 %r7, [%d5];
  setp.lt.u32 %p2, %r7, %r6;
  @%p2 bra wait;
together:
  bar.sync 0;
  red.relaxed.gpu.global.add.u32 [%d3], 1;
  setp.lt.u32 %p3, %r6, %r1;
  @%p3 bra round;
  ret;
}
)";

void stayOnOneCore() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  CPU_SET(unsigned(sched_getcpu()), &allowed);
  REQUIRE(sched_setaffinity(0, sizeof(allowed), &allowed) == 0);
}

/// One launch in a context, with words that another one writes.
struct Side {
  void *words = nullptr, *done = nullptr;
  Stream *stream = nullptr;
  Function *function = nullptr;
  Context *context = nullptr;

  explicit Side(Context *context) : context(context) {
    DONE(cu("cuCtxSetCurrent", context));
    Module *module = nullptr;
    DONE(cu("cuModuleLoadData", &module, static_cast<const void *>(kExchange)));
    DONE(cu("cuModuleGetFunction", &function, module, "exchange"));
    DONE(cu("cuStreamCreate", &stream, 1u));
    for (void **memory : {&words, &done}) {
      DONE(cu("cuMemAlloc_v2", memory, size_t(4 * kGroups)));
      DONE(cu("cuMemsetD32_v2", *memory, 0u, size_t(kGroups)));
    }
    DONE(cu("cuCtxSynchronize"));
  }
  void launch(void *theirs) {
    unsigned rounds = kRounds;
    void *values[] = {&words, &theirs, &done, &rounds};
    DONE(cu("cuCtxSetCurrent", context));
    DONE(cu("cuLaunchKernel", function, kGroups, 1u, 1u, kThreads, 1u, 1u, 0u, stream,
            static_cast<void **>(values), static_cast<void **>(nullptr)));
  }
  void check() const {
    unsigned count = 0;
    DONE(cu("cuCtxSetCurrent", context));
    DONE(cu("cuStreamSynchronize", stream));
    DONE(cu("cuMemcpyDtoH_v2", static_cast<void *>(&count), done, size_t(4)));
    REQUIRE(count == kGroups * kThreads * kRounds);
  }
};

void exchange(Side &first, Side &second) {
  first.launch(second.words);
  second.launch(first.words);
  first.check();
  second.check();
}

TEST(Fairness, StreamsOfOneDevice) {
  stayOnOneCore();
  Context *context = makeContext();
  Side first(context), second(context);
  exchange(first, second);
}

TEST(Fairness, DevicesOfOneProcess) {
  stayOnOneCore();
  setenv("RUBIA_ARCH", "gfx1100,gfx1100", 1);
  Context *context = makeContext(), *other = nullptr;
  DONE(cu("cuCtxCreate_v2", &other, 0u, 1));
  DONE(cu("cuCtxEnablePeerAccess", context, 0u));
  DONE(cu("cuCtxSetCurrent", context));
  DONE(cu("cuCtxEnablePeerAccess", other, 0u));
  Side first(context), second(other);
  exchange(first, second);
}

TEST(Fairness, Processes) {
  stayOnOneCore();
  auto play = [](Channel other) {
    Side side(makeContext());
    HipIpcHandle handle;
    DONE(cu("cuIpcGetMemHandle", &handle, side.words));
    other.send(handle);
    void *theirs = nullptr;
    DONE(cu("cuIpcOpenMemHandle_v2", &theirs, other.receive<HipIpcHandle>(), 1u));
    side.launch(theirs);
    side.check();
    other.meet(); // the other needs the memory until then
  };
  Peer peer(play);
  play(peer.channel());
  EXPECT_EQ(peer.end(), 0);
}

} // namespace
} // namespace rubia::runtime::cuda
