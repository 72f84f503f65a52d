// SPDX-License-Identifier: Apache-2.0
// Values that calls take and refuse: names and versions of functions, attributes of launches,
// windows of memory, lengths, addresses that nobody knows, handles of libraries.
#include "tests/driver-sequences/Sequence.h"
#include <cstring>
#include <thread>
#include <unistd.h>

namespace sequences {
namespace {

const Pointer kUntouched = Pointer(uintptr_t(7));

SEQUENCE(entry_points_that_there_are_not) {
  Plain s;
  struct {
    const char *what, *name;
    int version;
    uint64_t flags;
  } asked[] = {{"one that there is", "cuMemAlloc", 12000, 0},
               {"nowhere", "cuNoSuch", 12000, 0},
               {"without a name", "", 12000, 0},
               {"before it was", "cuMemAlloc", 1000, 0},
               {"of the driver's version", "cuMemAlloc", 13000, 0},
               {"of a newer version", "cuMemAlloc", 13001, 0},
               {"nowhere, of a newer version", "cuNoSuch", 99999, 0},
               {"for the legacy stream", "cuStreamQuery", 12000, 1},
               {"for threads", "cuStreamQuery", 12000, 2},
               {"for both", "cuStreamQuery", 12000, 3},
               {"with other flags", "cuStreamQuery", 12000, 4}};
  auto told = [](Pointer function) {
    return function == kUntouched ? "untouched" : function ? "found" : "null";
  };
  for (const auto &row : asked) {
    Pointer function = kUntouched;
    int status = 77;
    int code = quiet("cuGetProcAddress_v2", row.name, &function, row.version, row.flags, &status);
    say("%s: %d, %s, status %d", row.what, code, told(function), status);
    function = kUntouched;
    code = quiet("cuGetProcAddress_v2", row.name, &function, row.version, row.flags,
                 static_cast<int *>(nullptr));
    say("  without a status: %d, %s", code, told(function));
    function = kUntouched;
    code = quiet("cuGetProcAddress", row.name, &function, row.version, row.flags);
    say("  the first version: %d, %s", code, told(function));
  }
  Pointer streams[4] = {};
  for (uint64_t flags = 0; flags < 4; ++flags)
    quiet("cuGetProcAddress_v2", "cuStreamQuery", &streams[flags], 12000, flags,
          static_cast<int *>(nullptr));
  say("1 as 0: %d, 2 as 0: %d, 3 as 2: %d", streams[1] == streams[0], streams[2] == streams[0],
      streams[3] == streams[2]);
}

struct Window { // CUaccessPolicyWindow
  Pointer base;
  size_t bytes;
  float ratio;
  int hit, miss;
};

struct Attribute { // CUlaunchAttribute
  int id, padding;
  union {
    char bytes[64];
    int number;
    Window window;
  };
};

std::vector<Window> windows(Pointer memory) {
  return {{memory, 128, 0.5f, 2, 1},
          {memory, 128, 2, 2, 1},
          {memory, 128, -1, 2, 1},
          {memory, 128, 1, 2, 2},
          {memory, 128, 1, 0, 2},
          {memory, 128, 1, 3, 1},
          {memory, 128, 1, 2, 7},
          {memory, 128, 1, -1, 0},
          {memory, 0, 1, 2, 1},
          {memory, 1u << 27, 1, 2, 1},
          {memory, size_t(1) << 40, 1, 2, 1},
          {kNone, 128, 1, 2, 1},
          {kNone, 0, 0, 0, 0},
          {at(memory, 3), 5, 1, 1, 0}};
}

SEQUENCE(windows_of_streams) {
  Plain s;
  for (const Window &window : windows(s.memory)) {
    Attribute attribute{};
    attribute.window = window;
    const int code =
        quiet("cuStreamSetAttribute", s.stream, 1, static_cast<const void *>(attribute.bytes));
    memset(&attribute, 0, sizeof(attribute));
    quiet("cuStreamGetAttribute", s.stream, 1, static_cast<void *>(attribute.bytes));
    say("%zu bytes, %g, %d %d: %d; %zu, %g, %d %d", window.bytes, window.ratio, window.hit,
        window.miss, code, attribute.window.bytes, attribute.window.ratio, attribute.window.hit,
        attribute.window.miss);
  }
}

SEQUENCE(values_of_launch_attributes) {
  Setup s;
  int one = 1;
  void *values[] = {&s.memory, &one};
  auto launch = [&](const char *what, Attribute &attribute, int number) {
    struct {
      unsigned grid[3], block[3], sharedBytes;
      Pointer stream;
      void *attributes;
      unsigned count;
    } config{{1, 1, 1}, {64, 1, 1}, 0, s.stream, &attribute, 1};
    const int code =
        quiet("cuLaunchKernelEx", &config, s.add, &values[0], static_cast<void **>(nullptr));
    say("%s %d as %d: %d", what, attribute.id, number, code);
  };
  auto ask = [&](int id, std::vector<int> numbers) {
    for (int number : numbers) {
      Attribute attribute{};
      attribute.id = id;
      attribute.number = number;
      launch("attribute", attribute, number);
    }
  };
  ask(0, {0, 77});
  ask(2, {0, 1, 2, -1});
  ask(3, {0, 1, 2, 3, 4, 5, -1});
  ask(5, {0, 1, 2, 3, -1});
  ask(6, {0, 1, 2, -1});
  ask(8, {-100, -5, 0, 5});
  ask(9, {0, 0x100, 0x101, 0x200, 0x5, 0xff00});
  ask(10, {0, 1, 2, -1});
  ask(14, {-2, -1, 0, 50, 100, 101});
  ask(16, {0, 1, 2, -1});
  ask(15, {0, 1});
  ask(17, {0, 1});
  ask(18, {0, 1});
  ask(99, {0});
  ask(-1, {0});
  for (const Window &window : windows(s.memory)) {
    Attribute attribute{};
    attribute.id = 1;
    attribute.window = window;
    launch("window", attribute, int(window.bytes));
  }
  sayMemory("memory", s.memory);
}

SEQUENCE(values_of_node_attributes) {
  Setup s;
  Pointer graph = makeGraph(), node = kNone;
  KernelParameters parameters = addParameters(s, s.memory, 1);
  quiet("cuGraphAddKernelNode_v2", &node, graph, static_cast<const Pointer *>(nullptr), size_t(0),
        static_cast<const KernelParameters *>(&parameters));
  auto ask = [&](int id, std::vector<int> numbers) {
    for (int number : numbers) {
      Attribute attribute{};
      attribute.number = number;
      const int code = quiet("cuGraphKernelNodeSetAttribute", node, id,
                             static_cast<const void *>(attribute.bytes));
      say("attribute %d as %d: %d", id, number, code);
    }
  };
  ask(3, {0, 1, 5});
  ask(5, {0, 2, 3});
  ask(8, {-100, 5});
  ask(9, {0x100, 0x200, 0x5});
  ask(10, {0, 1, 2, -1});
  ask(14, {-2, -1, 100, 101});
  ask(99, {0});
  for (const Window &window : windows(s.memory)) {
    Attribute attribute{};
    attribute.window = window;
    const int code =
        quiet("cuGraphKernelNodeSetAttribute", node, 1, static_cast<const void *>(attribute.bytes));
    say("window of %zu, %g, %d %d: %d", window.bytes, window.ratio, window.hit, window.miss, code);
  }
}

SEQUENCE(lengths_attached_to_streams) {
  Plain s;
  Pointer managed = kNone;
  cu("cuMemAllocManaged", &managed, size_t(1) << 20, 1u);
  for (size_t bytes : {size_t(0), size_t(5), size_t(4096), size_t(1) << 20, size_t(1) << 21})
    for (unsigned flags : {1u, 2u, 4u})
      say("%zu, flags %u: %d", bytes, flags,
          quiet("cuStreamAttachMemAsync", s.stream, managed, bytes, flags));
  say("inside: %d", quiet("cuStreamAttachMemAsync", s.stream, at(managed, 4096), size_t(0), 4u));
  for (uintptr_t stream : {0, 1, 2})
    say("stream %d: %d", int(stream),
        quiet("cuStreamAttachMemAsync", Pointer(stream), managed, size_t(0), 4u));
}

SEQUENCE(lists_of_unknown_addresses) {
  Plain s;
  static int pageable[64];
  Pointer freed = kNone;
  quiet("cuMemAlloc_v2", &freed, size_t(64 << 20));
  quiet("cuMemFree_v2", freed);
  for (Pointer address : {Pointer(pageable), freed, Pointer(uintptr_t(0x123456)), kNone}) {
    int ids[] = {3, 4, 11, 12, 13, 7, 16, 17, 19, 18};
    uint64_t values[10] = {};
    void *out[10];
    for (int i = 0; i < 10; ++i)
      out[i] = &values[i];
    say("%d", quiet("cuPointerGetAttributes", 10u, &ids[0], &out[0], address));
    for (int i = 0; i < 10; ++i)
      say("  attribute %d: %s", ids[i],
          !values[i]                      ? "0"
          : Pointer(values[i]) == address ? "the address"
                                          : "another");
  }
}

SEQUENCE(invalid_captures_ended_elsewhere) {
  Plain s;
  for (int mode : {0, 1, 2}) {
    cu("cuStreamBeginCapture_v2", s.stream, mode);
    std::thread([&] {
      quiet("cuCtxSetCurrent", s.context);
      cu("cuStreamSynchronize", s.stream);
      Pointer graph = kUntouched;
      cu("cuStreamEndCapture", s.stream, &graph);
      say("graph %s", graph ? "untouched" : "null");
    }).join();
    sayCapture(s.stream);
    Pointer graph = kNone;
    cu("cuStreamEndCapture", s.stream, &graph);
  }
}

constexpr const char *kText = ".version 7.0\n.target sm_80\n.address_size 64\n"
                              ".visible .entry one(.param .u64 p) { ret; }\n"
                              ".visible .entry two() { ret; }\n";

SEQUENCE(handles_of_libraries) {
  Plain s;
  Pointer library = kNone, module = kNone, kernel = kNone, byKernel = kNone, byModule = kNone;
  auto load = [&](std::vector<int> options, std::vector<void *> values) {
    say("options: %d", quiet("cuLibraryLoadData", &library, static_cast<const void *>(kText),
                             options.data(), values.data(), unsigned(options.size()),
                             static_cast<int *>(nullptr), static_cast<void **>(nullptr), 0u));
  };
  load({200}, {nullptr});
  load({-1}, {nullptr});
  load({0}, {nullptr});
  load({0}, {Pointer(uintptr_t(32))});
  load({}, {});
  cu("cuLibraryGetModule", &module, library);
  cu("cuLibraryGetKernel", &kernel, library, "one");
  cu("cuKernelGetFunction", &byKernel, kernel);
  cu("cuModuleGetFunction", &byModule, module, "one");
  say("one function: %d", byKernel == byModule);
  Pointer listed[2] = {};
  cu("cuModuleEnumerateFunctions", &listed[0], 2u, module);
  say("listed: %d", listed[0] == byModule || listed[1] == byModule);
  cu("cuFuncGetModule", &module, byKernel);
  cu("cuModuleUnload", module);
  cu("cuLibraryUnload", library);
}

SEQUENCE(fills_of_nothing) {
  Plain s;
  cu("cuMemsetD16_v2", at(s.memory, 1), (unsigned short)1, size_t(0));
  cu("cuMemsetD32_v2", at(s.memory, 1), 1u, size_t(0));
  cu("cuMemsetD32_v2", at(s.memory, 1), 1u, size_t(1));
  cu("cuMemsetD32Async", at(s.memory, 1), 1u, size_t(0), s.stream);
  cu("cuMemsetD2D32_v2", at(s.memory, 1), size_t(3), 1u, size_t(0), size_t(5));
  cu("cuMemsetD2D32_v2", at(s.memory, 1), size_t(3), 1u, size_t(5), size_t(0));
  cu("cuMemsetD2D16_v2", at(s.memory, 1), size_t(3), (unsigned short)1, size_t(0), size_t(5));
}

SEQUENCE(copies_within_the_host) {
  Plain s;
  static int pageable[2][64];
  int *pinned = nullptr;
  quiet("cuMemAllocHost_v2", &pinned, size_t(256));
  struct {
    const char *what;
    int *to, *from;
  } rows[] = {{"pinned to pinned", pinned, s.host},
              {"pageable to pinned", pinned, pageable[0]},
              {"pinned to pageable", pageable[0], pinned},
              {"pageable to pageable", pageable[1], pageable[0]}};
  auto wait = [&] {
    void (*sleep)(void *) = [](void *) { usleep(50'000); };
    quiet("cuLaunchHostFunc", s.stream, sleep, kNone);
  };
  for (auto &row : rows) {
    *row.to = 0, *row.from = 1;
    wait();
    int code = quiet("cuMemcpyAsync", Pointer(row.to), Pointer(row.from), size_t(256), s.stream);
    say("%s: %d, at once %d", row.what, code, *row.to);
    *row.to = 0;
    wait();
    CopyParameters copy = copyParameters(1, row.to, 1, row.from, 256);
    code = quiet("cuMemcpy3DAsync_v2", static_cast<const CopyParameters *>(&copy), s.stream);
    say("  as a volume: %d, at once %d", code, *row.to);
    cu("cuStreamSynchronize", s.stream);
  }
}

} // namespace
} // namespace sequences
