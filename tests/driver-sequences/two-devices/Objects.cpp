// SPDX-License-Identifier: Apache-2.0
// Streams, events, modules, libraries and graphs of two devices.
#include "tests/driver-sequences/two-devices/TwoDevices.h"

namespace sequences {
namespace {

SEQUENCE(devices_of_contexts) {
  TwoDevices d;
  auto sayDevice = [](const char *what) {
    int device = -1;
    const int code = quiet("cuCtxGetDevice", &device);
    say("%s: %d, %d", what, code, device);
  };
  sayDevice("first");
  cu("cuCtxPushCurrent_v2", d.second.context);
  sayDevice("second");
  Pointer popped = kNone;
  cu("cuCtxPopCurrent_v2", &popped);
  say("%s", nameOf(popped));
  sayDevice("first");
  for (int i : {0, 1}) {
    Pointer of = kNone;
    int device = -1;
    cu("cuStreamGetCtx", d[i].stream, &of);
    say("%s", nameOf(of));
    cu("cuStreamGetDevice", d[i].stream, &device);
    say("%d", device);
  }
  int device = -1;
  cu("cuCtxGetDevice_v2", &device, d.second.context);
  say("%d", device);
}

SEQUENCE(events_of_two_devices) {
  TwoDevices d;
  Pointer mine = kNone, theirs = kNone;
  use(d.second);
  cu("cuEventCreate", &theirs, 0u);
  use(d.first);
  cu("cuEventCreate", &mine, 0u);
  cu("cuEventRecord", mine, d.second.stream);
  cu("cuEventRecord", theirs, d.first.stream);
  cu("cuEventRecord", mine, d.first.stream);
  cu("cuEventRecord", theirs, d.second.stream);
  cu("cuStreamWaitEvent", d.second.stream, mine, 0u);
  cu("cuStreamWaitEvent", d.first.stream, theirs, 0u);
  cu("cuEventSynchronize", theirs);
  cu("cuEventQuery", theirs);
  float time = -1;
  cu("cuEventElapsedTime", &time, mine, theirs);
  cu("cuStreamSynchronize", d.second.stream);
  cu("cuEventDestroy_v2", theirs);
}

SEQUENCE(order_of_two_devices) {
  TwoDevices d;
  d.enableBoth();
  Pointer event = kNone;
  cu("cuEventCreate", &event, 2u);
  int wrong = 0;
  for (int i = 0; i < 50; ++i) {
    use(d.first);
    wrong +=
        quiet("cuMemsetD32Async", d.first.memory, unsigned(i), size_t(64), d.first.stream) != 0;
    wrong += launchAdd(d.first, d.first.stream, d.first.memory, 1) != 0;
    wrong += quiet("cuEventRecord", event, d.first.stream) != 0;
    wrong += quiet("cuStreamWaitEvent", d.second.stream, event, 0u) != 0;
    use(d.second);
    wrong += launchAdd(d.second, d.second.stream, d.first.memory, 100) != 0;
    wrong += quiet("cuStreamSynchronize", d.second.stream) != 0;
    int words[64] = {};
    wrong += quiet("cuMemcpyDtoH_v2", Pointer(words), d.first.memory, sizeof(words)) != 0;
    wrong += words[0] != i + 101 || words[63] != i + 101;
  }
  say("%d wrong", wrong);
}

SEQUENCE(streams_of_the_other_device) {
  TwoDevices d;
  d.enableBoth();
  say("launch of 0 in a stream of 1: %d", launchAdd(d.first, d.second.stream, d.first.memory, 1));
  say("launch of 1 in its stream: %d", launchAdd(d.second, d.second.stream, d.second.memory, 1));
  say("launch of 1 in the null stream: %d", launchAdd(d.second, kNone, d.second.memory, 1));
  cu("cuStreamSynchronize", d.second.stream);
  cu("cuStreamQuery", d.second.stream);
  sayWords("memory of 1", d.second.memory);
  unsigned flags = 77;
  cu("cuStreamGetFlags", d.second.stream, &flags);
  static int called = 0;
  cu("cuLaunchHostFunc", d.second.stream, +[](void *) { ++called; }, kNone);
  cu("cuStreamSynchronize", d.second.stream);
  say("called %d", called);
  cu("cuStreamDestroy_v2", d.second.stream);
}

SEQUENCE(modules_of_two_devices) {
  TwoDevices d;
  int value = 0;
  cu("cuFuncGetAttribute", &value, 0, d.second.add);
  Pointer function = kNone;
  cu("cuModuleGetFunction", &function, d.second.module, "add");
  say("the same %d", function == d.second.add);
  for (int attribute : {4, 6}) // registers, version of the binary
    cu("cuFuncGetAttribute", &value, attribute, d.second.add);
  cu("cuFuncSetAttribute", d.second.add, 8, 1024);
  cu("cuFuncSetCacheConfig", d.second.add, 1);
  cu("cuFuncLoad", d.second.add);
  Pointer module = kNone;
  cu("cuFuncGetModule", &module, d.second.add);
  say("the same %d", module == d.second.module);
  int blocks = 0, grid = 0;
  size_t bytes = 0;
  cu("cuOccupancyMaxActiveBlocksPerMultiprocessor", &blocks, d.second.add, 64, size_t(0));
  cu("cuOccupancyMaxPotentialBlockSize", &grid, &blocks, d.second.add, kNone, size_t(0), 0);
  cu("cuOccupancyAvailableDynamicSMemPerBlock", &bytes, d.second.add, 1, 64);
  cu("cuModuleUnload", d.second.module);
  sayLaunch("device 0", d.first, d.first.memory, 3);
  sayWords("memory of 0", d.first.memory);
}

constexpr const char *kLibrary = R"(.version 7.0
.target sm_80
.address_size 64
.visible .global .u32 count = 5;
.visible .entry bump(.param .u64 out)
{
  .reg .b32 %r<3>;
  .reg .b64 %d<2>;
  atom.global.add.u32 %r1, [count], 1;
  ld.param.u64 %d1, [out];
  st.global.u32 [%d1], %r1;
  ret;
}
)";

int bump(Pointer function, Pointer stream, Pointer out) {
  void *values[] = {&out};
  return quiet("cuLaunchKernel", function, 1u, 1u, 1u, 1u, 1u, 1u, 0u, stream, &values[0],
               static_cast<void **>(nullptr));
}

SEQUENCE(library_on_two_devices) {
  TwoDevices d;
  Pointer library = kNone, kernel = kNone, functions[2] = {}, globals[2] = {};
  int *noOptions = nullptr;
  void **noValues = nullptr;
  cu("cuLibraryLoadData", &library, static_cast<const void *>(kLibrary), noOptions, noValues, 0u,
     noOptions, noValues, 0u);
  cu("cuLibraryGetKernel", &kernel, library, "bump");
  for (int i : {0, 1}) {
    use(d[i]);
    size_t bytes = 0;
    cu("cuKernelGetFunction", &functions[i], kernel);
    cu("cuLibraryGetGlobal", &globals[i], &bytes, library, "count");
    say("%zu bytes", bytes);
    int value = -1;
    cu("cuKernelGetAttribute", &value, 0, kernel, i);
  }
  say("functions differ %d, variables differ %d", functions[0] != functions[1],
      globals[0] != globals[1]);
  for (int turn = 0; turn < 3; ++turn)
    for (int i : {0, 1}) {
      use(d[i]);
      if (turn < 2 || !i) {
        say("launch on %d: %d", i, bump(kernel, d[i].stream, d[i].memory));
        quiet("cuStreamSynchronize", d[i].stream);
      }
      sayWords("count was", d[i].memory);
    }
  use(d.first);
  say("function of 1 while 0 is current: %d", bump(functions[1], d.second.stream, d.second.memory));
  say("kernel in a stream of 1: %d", bump(kernel, d.second.stream, d.second.memory));
  cu("cuStreamSynchronize", d.second.stream);
  sayWords("count was", d.second.memory);
  int value = -1;
  cu("cuKernelGetAttribute", &value, 0, kernel, 2);
  cu("cuKernelSetAttribute", 8, 1024, kernel, 1);
  for (int i : {0, 1}) {
    cu("cuKernelGetAttribute", &value, 8, kernel, i);
    say("%d", value);
  }
  cu("cuLibraryUnload", library);
}

SEQUENCE(variable_of_a_module_of_the_other_device) {
  TwoDevices d;
  Pointer module = kNone, function = kNone, variable = kNone;
  size_t bytes = 0;
  use(d.second);
  cu("cuModuleLoadData", &module, static_cast<const void *>(kLibrary));
  use(d.first);
  cu("cuModuleGetGlobal_v2", &variable, &bytes, module, "count");
  int device = -1;
  cu("cuPointerGetAttribute", Pointer(&device), 9, variable);
  say("%zu bytes of device %d", bytes, device);
  cu("cuModuleGetFunction", &function, module, "bump");
  use(d.second);
  say("launch %d", bump(function, d.second.stream, d.second.memory));
  cu("cuStreamSynchronize", d.second.stream);
  sayWords("count was", d.second.memory);
  int word = 0;
  cu("cuMemcpyDtoH_v2", Pointer(&word), variable, size_t(4));
  say("it is %d", word);
}

SEQUENCE(graph_of_two_devices) {
  TwoDevices d;
  d.enableBoth();
  Pointer graph = makeGraph(), copy = kNone, first = kNone, second = kNone;
  const Pointer *nothing = nullptr;
  FillParameters fill = fillParameters(d.first.memory, 7, 4, 64);
  cu("cuGraphAddMemsetNode", &first, graph, nothing, size_t(0),
     static_cast<const FillParameters *>(&fill), d.first.context);
  CopyParameters move = copyParameters(2, d.second.memory, 2, d.first.memory, 256);
  cu("cuGraphAddMemcpyNode", &copy, graph, static_cast<const Pointer *>(&first), size_t(1),
     static_cast<const CopyParameters *>(&move), d.first.context);
  KernelParameters add = addParameters(d.second, d.second.memory, 3);
  add.context = d.second.context;
  cu("cuGraphAddKernelNode_v2", &second, graph, static_cast<const Pointer *>(&copy), size_t(1),
     static_cast<const KernelParameters *>(&add));
  Pointer executable = instantiate(graph);
  for (int i : {0, 1}) {
    cu("cuGraphLaunch", executable, d[i].stream);
    cu("cuStreamSynchronize", d[i].stream);
    sayWords("memory of 1", d.second.memory);
  }
}

/// Captures launches of both devices around a copy between them.
template <class Copy> void captureWith(Copy copy) {
  TwoDevices d;
  d.enableBoth();
  Pointer fork = kNone, join = kNone, graph = kNone;
  use(d.second);
  cu("cuEventCreate", &join, 2u);
  use(d.first);
  cu("cuEventCreate", &fork, 2u);
  cu("cuStreamBeginCapture_v2", d.first.stream, 0);
  say("launch %d", launchAdd(d.first, d.first.stream, d.first.memory, 1));
  cu("cuEventRecord", fork, d.first.stream);
  cu("cuStreamWaitEvent", d.second.stream, fork, 0u);
  sayCapture(d.second.stream);
  use(d.second);
  say("launch %d", launchAdd(d.second, d.second.stream, d.first.memory, 2));
  copy(d);
  cu("cuEventRecord", join, d.second.stream);
  use(d.first);
  cu("cuStreamWaitEvent", d.first.stream, join, 0u);
  say("launch %d", launchAdd(d.first, d.first.stream, d.first.memory, 4));
  cu("cuStreamEndCapture", d.first.stream, &graph);
  sayGraph("graph", graph);
  Pointer executable = instantiate(graph);
  cu("cuGraphLaunch", executable, d.first.stream);
  cu("cuStreamSynchronize", d.first.stream);
  sayWords("memory of 0", d.first.memory);
  sayWords("memory of 1", d.second.memory);
}

SEQUENCE(capture_of_two_devices) {
  captureWith([](TwoDevices &d) {
    cu("cuMemcpyDtoDAsync_v2", d.second.memory, d.first.memory, size_t(256), d.second.stream);
  });
}

SEQUENCE(capture_of_a_copy_between_contexts) {
  captureWith([](TwoDevices &d) {
    cu("cuMemcpyPeerAsync", d.second.memory, d.second.context, d.first.memory, d.first.context,
       size_t(256), d.second.stream);
  });
}

SEQUENCE(captures_of_copies_between_contexts_of_any_kind) {
  TwoDevices d;
  auto capture = [&](const char *what, auto copy) {
    quiet("cuStreamBeginCapture_v2", d.first.stream, 0);
    const int code = copy();
    Pointer graph = kNone;
    say("%s: %d, then %d", what, code, quiet("cuStreamEndCapture", d.first.stream, &graph));
  };
  capture("of no bytes", [&] {
    return quiet("cuMemcpyPeerAsync", d.second.memory, d.second.context, d.first.memory,
                 d.first.context, size_t(0), d.first.stream);
  });
  capture("within one context", [&] {
    return quiet("cuMemcpyPeerAsync", d.first.memory2, d.first.context, d.first.memory,
                 d.first.context, size_t(4), d.first.stream);
  });
  capture("of wrong memory", [&] {
    return quiet("cuMemcpyPeerAsync", kNone, d.second.context, d.first.memory, d.first.context,
                 size_t(4), d.first.stream);
  });
}

SEQUENCE(words_of_the_other_device) {
  for (bool enabled : {false, true}) {
    TwoDevices d;
    if (enabled)
      d.enableBoth();
    cu("cuStreamWriteValue32_v2", d.first.stream, d.second.memory, 5u, 0u);
    cu("cuStreamSynchronize", d.first.stream);
    sayWords("memory of 1", d.second.memory);
    if (enabled) {
      cu("cuStreamWaitValue32_v2", d.second.stream, d.first.memory, 9u, 1u);
      use(d.second);
      say("launch %d", launchAdd(d.second, d.second.stream, d.second.memory, 1));
      cu("cuStreamQuery", d.second.stream);
      cu("cuStreamWriteValue32_v2", d.first.stream, d.first.memory, 9u, 0u);
      cu("cuStreamSynchronize", d.second.stream);
      sayWords("memory of 1", d.second.memory);
    }
    quiet("cuCtxDestroy_v2", d.first.context);
    quiet("cuCtxDestroy_v2", d.second.context);
  }
}

constexpr const char *kAtomics = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry sum(.param .u64 word, .param .u32 times)
{
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [word];
  ld.param.u32 %r1, [times];
more:
  atom.relaxed.sys.global.add.u32 %r2, [%d1], 1;
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra more;
  ret;
}
.visible .entry turns(.param .u64 word, .param .u32 mine, .param .u32 last)
{
  .reg .pred %p<3>;
  .reg .b32 %r<5>;
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [word];
  ld.param.u32 %r1, [mine];
  ld.param.u32 %r2, [last];
wait:
  ld.acquire.sys.global.u32 %r3, [%d1];
  setp.ge.u32 %p1, %r3, %r2;
  @%p1 bra done;
  setp.ne.u32 %p2, %r3, %r1;
  @%p2 bra wait;
  add.u32 %r4, %r3, 1;
  st.release.sys.global.u32 [%d1], %r4;
  add.u32 %r1, %r1, 2;
  bra wait;
done:
  ret;
}
)";

SEQUENCE(atomics_of_two_devices) {
  TwoDevices d;
  d.enableBoth();
  Pointer sums[2] = {};
  unsigned times = 20;
  for (int i : {0, 1}) {
    use(d[i]);
    Pointer module = kNone;
    cu("cuModuleLoadData", &module, static_cast<const void *>(kAtomics));
    cu("cuModuleGetFunction", &sums[i], module, "sum");
  }
  for (int i : {0, 1}) {
    use(d[i]);
    void *values[] = {&d.second.memory, &times};
    say("launch %d", quiet("cuLaunchKernel", sums[i], 4u, 1u, 1u, 64u, 1u, 1u, 0u, d[i].stream,
                           &values[0], static_cast<void **>(nullptr)));
  }
  for (int i : {0, 1})
    cu("cuStreamSynchronize", d[i].stream);
  sayWords("memory of 1", d.second.memory);
}

SEQUENCE(kernels_of_two_devices_that_wait_for_each_other) {
  TwoDevices d;
  d.enableBoth();
  Pointer turns[2] = {};
  for (int i : {0, 1}) {
    use(d[i]);
    Pointer module = kNone;
    cu("cuModuleLoadData", &module, static_cast<const void *>(kAtomics));
    cu("cuModuleGetFunction", &turns[i], module, "turns");
    // Loading is lazy, and waits for kernels that run: 0 is no turn of anybody.
    unsigned mine = 0, last = 0;
    void *values[] = {&d.second.memory, &mine, &last};
    quiet("cuLaunchKernel", turns[i], 1u, 1u, 1u, 1u, 1u, 1u, 0u, d[i].stream, &values[0],
          static_cast<void **>(nullptr));
    quiet("cuStreamSynchronize", d[i].stream);
  }
  unsigned last = 100;
  for (int i : {0, 1}) {
    use(d[i]);
    unsigned mine = i;
    void *values[] = {&d.second.memory, &mine, &last};
    say("launch %d", quiet("cuLaunchKernel", turns[i], 1u, 1u, 1u, 1u, 1u, 1u, 0u, d[i].stream,
                           &values[0], static_cast<void **>(nullptr)));
  }
  for (int i : {0, 1})
    cu("cuStreamSynchronize", d[i].stream);
  sayWords("memory of 1", d.second.memory);
}

SEQUENCE(cooperative_launch_on_two_devices) {
  TwoDevices d;
  struct {
    Pointer function;
    unsigned grid[3], block[3], sharedBytes;
    Pointer stream;
    void **values;
  } launches[2] = {};
  int value = 1;
  void *values[2][2] = {{&d.first.memory, &value}, {&d.second.memory, &value}};
  for (int i : {0, 1})
    launches[i] = {d[i].add, {1, 1, 1}, {64, 1, 1}, 0, d[i].stream, values[i]};
  cu("cuLaunchCooperativeKernelMultiDevice", Pointer(launches), 2u, 0u);
}

} // namespace
} // namespace sequences
