// SPDX-License-Identifier: Apache-2.0
// Loading modules: which text is refused, when, and what is written of it; and occupancy.
#include "tests/driver-sequences/Sequence.h"
#include <cstring>

namespace sequences {
namespace {

void load(const char *what, const std::string &text) {
  char errors[4096] = "", information[4096] = "";
  float wall = -1;
  int options[] = {5, 6, 3, 4, 2};
  void *values[] = {errors, reinterpret_cast<void *>(sizeof(errors)), information,
                    reinterpret_cast<void *>(sizeof(information)), kNone};
  Pointer module = kNone;
  int code = quiet("cuModuleLoadDataEx", &module, static_cast<const void *>(text.c_str()), 5u,
                   &options[0], &values[0]);
  memcpy(&wall, &values[4], sizeof(wall));
  say("%s: cuModuleLoadDataEx %d, errors %s, size %s, information %s, size %s, time %s", what, code,
      errors[0] ? "written" : "empty",
      values[1] == reinterpret_cast<void *>(sizeof(errors))       ? "as before"
      : reinterpret_cast<size_t>(values[1]) == strlen(errors)     ? "their length"
      : reinterpret_cast<size_t>(values[1]) == strlen(errors) + 1 ? "their length and 1"
                                                                  : "another",
      information[0] ? "written" : "empty",
      values[3] == reinterpret_cast<void *>(sizeof(information))       ? "as before"
      : reinterpret_cast<size_t>(values[3]) == strlen(information)     ? "its length"
      : reinterpret_cast<size_t>(values[3]) == strlen(information) + 1 ? "its length and 1"
                                                                       : "another",
      wall > 0 ? "written" : "0");
  Pointer plain = kNone, library = kNone, kernel = kNone, function = kNone;
  int ofModule = quiet("cuModuleLoadData", &plain, static_cast<const void *>(text.c_str()));
  int ofLibrary = quiet("cuLibraryLoadData", &library, static_cast<const void *>(text.c_str()),
                        static_cast<int *>(nullptr), static_cast<void **>(nullptr), 0u,
                        static_cast<int *>(nullptr), static_cast<void **>(nullptr), 0u);
  say("  cuModuleLoadData %d, cuLibraryLoadData %d", ofModule, ofLibrary);
  if (!ofLibrary) {
    int found = quiet("cuLibraryGetKernel", &kernel, library, "k");
    int bound = kernel ? quiet("cuKernelGetFunction", &function, kernel) : -2;
    say("  cuLibraryGetKernel %d, cuKernelGetFunction %d", found, bound);
  }
}

std::string unit(const std::string &body, const char *version = "7.0",
                 const char *target = "sm_80") {
  return std::string(".version ") + version + "\n.target " + target + "\n.address_size 64\n" + body;
}

SEQUENCE(load_of_texts) {
  Setup s;
  load("fine", unit(".visible .entry k() { ret; }\n"));
  load("no kernel", unit(""));
  load("syntax", unit(".visible .entry k() { nonsense; }\n"));
  load("unknown register", unit(".visible .entry k() { mov.u32 %r1, 0; ret; }\n"));
  load("wrong type", unit(".visible .entry k() { .reg .f32 f; add.u32 f, f, f; ret; }\n"));
  load("missing brace", unit(".visible .entry k() { ret;\n"));
  load("no version", ".target sm_80\n.visible .entry k() { ret; }\n");
  load("empty", "");
  load("garbage", "this is no PTX\n");
  load("newer version", unit(".visible .entry k() { ret; }\n", "99.0"));
  load("unknown target", unit(".visible .entry k() { ret; }\n", "7.0", "sm_999"));
  load("newer target", unit(".visible .entry k() { ret; }\n", "9.0", "sm_120"));
  load("instruction of a newer target",
       unit(".visible .entry k() { .reg .b32 %r<3>; redux.sync.add.s32 %r1, %r2, -1; ret; }\n",
            "7.0", "sm_70"));
  load("instruction of a newer version",
       unit(".visible .entry k() { .reg .b32 %r<3>; setmaxnreg.inc.sync.aligned.u32 64; ret; }\n",
            "7.0", "sm_80"));
  load("unresolved function", unit(".extern .func nowhere();\n.visible .entry k() { call nowhere; "
                                   "ret; }\n"));
  load("unresolved function that nobody calls",
       unit(".extern .func nowhere();\n.visible .entry k() { ret; }\n"));
  load(
      "unresolved variable",
      unit(
          ".extern .global .u32 v;\n.visible .entry k() { .reg .b32 %r<2>; ld.global.u32 %r1, [v]; "
          "st.global.u32 [v], %r1; ret; }\n"));
  load("label that is not there", unit(".visible .entry k() { bra nowhere; }\n"));
  load("two kernels of one name",
       unit(".visible .entry k() { ret; }\n.visible .entry k() { ret; }\n"));
  load("too much shared memory", unit(".visible .entry k() { .shared .b8 a[300000]; .reg .b32 r; "
                                      "st.shared.u32 [a], r; ret; }\n"));
  load("too many parameters", unit(".visible .entry k(.param .b8 p[40000]) { ret; }\n"));
  load("misaligned vector", unit(".visible .entry k() { .reg .b32 %r<5>; ld.global.v3.u32 {%r1, "
                                 "%r2, %r3}, [0]; ret; }\n"));
}

SEQUENCE(load_without_reading_the_entry) {
  Setup s;
  // What a kernel cannot be compiled for is known when the module is loaded.
  std::string one = unit(".visible .entry k() { ret; }\n.visible .entry bad() { bra nowhere; }\n");
  load("one kernel of two", one);
}

SEQUENCE(load_of_null) {
  Setup s;
  Pointer module = kNone, function = kNone;
  size_t bytes = 0;
  cu("cuModuleLoadData", &module, static_cast<const void *>(nullptr));
  cu("cuModuleLoadData", static_cast<Pointer *>(nullptr), static_cast<const void *>("x"));
  cu("cuModuleLoad", &module, "/nowhere/file.ptx");
  cu("cuModuleLoad", &module, static_cast<const char *>(nullptr));
  cu("cuModuleGetFunction", &function, s.module, "nothing");
  cu("cuModuleGetFunction", &function, s.module, static_cast<const char *>(nullptr));
  cu("cuModuleGetFunction", &function, kNone, "add");
  cu("cuModuleGetGlobal_v2", &module, &bytes, s.module, "nothing");
  cu("cuModuleUnload", kNone);
}

SEQUENCE(load_logs_without_room) {
  Setup s;
  for (size_t room : {size_t(0), size_t(1), size_t(10)}) {
    char errors[16] = "before";
    int options[] = {5, 6};
    void *values[] = {errors, reinterpret_cast<void *>(room)};
    Pointer module = kNone;
    cu("cuModuleLoadDataEx", &module, static_cast<const void *>("nonsense"), 2u, &options[0],
       &values[0]);
    say("room %zu: size %zu, first byte %d, length %zu", room, reinterpret_cast<size_t>(values[1]),
        errors[0] != 0, strnlen(errors, sizeof(errors)));
  }
}

SEQUENCE(handles_after_their_end) {
  Setup s;
  Pointer event = kNone;
  quiet("cuEventCreate", &event, 0u);
  cu("cuEventDestroy_v2", event);
  cu("cuEventDestroy_v2", kNone);
  cu("cuStreamDestroy_v2", kNone);
  cu("cuEventRecord", kNone, s.stream);
  cu("cuEventQuery", kNone);
  cu("cuStreamWaitEvent", s.stream, kNone, 0u);
  cu("cuLaunchKernel", kNone, 1u, 1u, 1u, 1u, 1u, 1u, 0u, s.stream, static_cast<void **>(nullptr),
     static_cast<void **>(nullptr));
  cu("cuFuncGetAttribute", static_cast<int *>(nullptr), 0, s.add);
  int value = 0;
  cu("cuFuncGetAttribute", &value, 0, kNone);
  cu("cuFuncGetAttribute", &value, 99, s.add);
  cu("cuMemFree_v2", kNone);
  cu("cuMemFree_v2", reinterpret_cast<Pointer>(0x10));
  cu("cuMemFreeHost", kNone);
}
SEQUENCE(event_recorded_after_its_end) {
  Setup s;
  Pointer event = kNone;
  quiet("cuEventCreate", &event, 0u);
  quiet("cuEventDestroy_v2", event);
  cu("cuEventRecord", event, s.stream);
}
SEQUENCE(event_destroyed_twice) {
  Setup s;
  Pointer event = kNone;
  quiet("cuEventCreate", &event, 0u);
  quiet("cuEventDestroy_v2", event);
  cu("cuEventDestroy_v2", event);
}
SEQUENCE(stream_used_after_its_end) {
  Setup s;
  quiet("cuStreamDestroy_v2", s.stream);
  cu("cuStreamSynchronize", s.stream);
}
SEQUENCE(stream_captured_after_its_end) {
  Setup s;
  quiet("cuStreamDestroy_v2", s.stream);
  cu("cuStreamBeginCapture_v2", s.stream, 0);
}
SEQUENCE(module_unloaded_twice) {
  Setup s;
  cu("cuModuleUnload", s.module);
  cu("cuModuleUnload", s.module);
}
SEQUENCE(module_used_after_its_end) {
  Setup s;
  Pointer function = kNone;
  cu("cuModuleUnload", s.module);
  cu("cuModuleGetFunction", &function, s.module, "add");
}
SEQUENCE(function_launched_after_its_end) {
  Setup s;
  cu("cuModuleUnload", s.module);
  say("launch %d", launchAdd(s, s.stream, s.memory, 1));
}
SEQUENCE(memory_freed_twice) {
  Setup s;
  cu("cuMemFree_v2", s.memory);
  cu("cuMemFree_v2", s.memory);
}
SEQUENCE(executable_destroyed_twice) {
  Setup s;
  Pointer executable = instantiate(makeGraph());
  cu("cuGraphExecDestroy", executable);
  cu("cuGraphExecDestroy", executable);
}
SEQUENCE(link_state_destroyed_twice) {
  Setup s;
  Pointer state = kNone;
  quiet("cuLinkCreate_v2", 0u, static_cast<int *>(nullptr), static_cast<void **>(nullptr), &state);
  cu("cuLinkDestroy", state);
  cu("cuLinkDestroy", state);
}

SEQUENCE(occupancy) {
  Setup s;
  int value = 0, perBlock = 0, perProcessor = 0, threads = 0, optIn = 0, reserved = 0;
  quiet("cuDeviceGetAttribute", &perBlock, 8, 0);
  quiet("cuDeviceGetAttribute", &perProcessor, 81, 0);
  quiet("cuDeviceGetAttribute", &threads, 39, 0);
  quiet("cuDeviceGetAttribute", &optIn, 97, 0);
  quiet("cuDeviceGetAttribute", &reserved, 111, 0);
  for (size_t shared : {size_t(0), size_t(16000), size_t(40000), size_t(49152), size_t(60000)}) {
    int code = quiet("cuOccupancyMaxActiveBlocksPerMultiprocessor", &value, s.add, 64, shared);
    say("%zu bytes: %d, within the attributes %d", shared, code,
        value * int(shared + reserved) <= perProcessor && value * 64 <= threads);
  }
  cu("cuFuncSetAttribute", s.add, 8, optIn);
  cu("cuOccupancyMaxActiveBlocksPerMultiprocessor", &value, s.add, 64, size_t(optIn));
  say("%d blocks with all of it", value);
  cu("cuOccupancyMaxActiveBlocksPerMultiprocessor", &value, s.add, 64, size_t(optIn) + 1);
  cu("cuFuncSetAttribute", s.add, 8, optIn + 1);
  for (int size : {0, -1, 1, 32, 1024, 1025, 2048}) {
    int code = quiet("cuOccupancyMaxActiveBlocksPerMultiprocessor", &value, s.add, size, size_t(0));
    say("block of %d: %d, %s", size, code, value ? "some" : "none");
  }
  cu("cuOccupancyMaxActiveBlocksPerMultiprocessor", static_cast<int *>(nullptr), s.add, 32,
     size_t(0));
  cu("cuOccupancyMaxActiveBlocksPerMultiprocessor", &value, kNone, 32, size_t(0));
  cu("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", &value, s.add, 32, size_t(0), 2u);
}

// What kernels declare of their blocks, and blocks that are larger.
static constexpr const char *kBounded = R"(.version 7.8
.target sm_80
.address_size 64
.visible .entry plain() { ret; }
.visible .entry most() .maxntid 64, 1, 1 { ret; }
.visible .entry mostOfTwo() .maxntid 16, 4, 1 { ret; }
.visible .entry mostLeast() .maxntid 64, 1, 1 .minnctapersm 4 { ret; }
.visible .entry exact() .reqntid 64, 1, 1 { ret; }
.visible .entry odd() .maxntid 50, 1, 1 { ret; }
.visible .entry shared() .maxntid 64, 1, 1
{
  .shared .align 4 .b8 words[20000];
  .reg .b32 %r<2>;
  mov.u32 %r0, words;
  st.volatile.shared.u32 [%r0], %r0;
  ret;
}
)";

SEQUENCE(occupancy_of_bounded_kernels) {
  Setup s;
  Pointer module = kNone;
  cu("cuModuleLoadData", &module, static_cast<const void *>(kBounded));
  const auto amount = [](int64_t value) {
    return value > 0 ? "some" : value ? "negative" : "none";
  };
  for (const char *name : {"plain", "most", "mostOfTwo", "mostLeast", "exact", "odd", "shared"}) {
    Pointer function = kNone;
    quiet("cuModuleGetFunction", &function, module, name);
    for (int threads : {-1, 0, 1, 32, 50, 51, 63, 64, 65, 128, 512, 1024, 1025, 2147483647}) {
      int blocks = -7;
      int code = quiet("cuOccupancyMaxActiveBlocksPerMultiprocessor", &blocks, function, threads,
                       size_t(0));
      say("%s: block of %d: %d %s", name, threads, code, amount(blocks));
    }
    for (size_t shared :
         {size_t(29152), size_t(29153), size_t(49152), size_t(49153), size_t(1000000)}) {
      int blocks = -7;
      int code =
          quiet("cuOccupancyMaxActiveBlocksPerMultiprocessor", &blocks, function, 128, shared);
      say("%s: shared %zu: %d %s", name, shared, code, amount(blocks));
    }
    for (unsigned flags : {0u, 1u, 2u, 3u}) {
      int blocks = -7;
      int code = quiet("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", &blocks, function,
                       128, size_t(0), flags);
      say("%s: flags %u: %d %s", name, flags, code, amount(blocks));
    }
    for (int limit : {-1, 0, 1, 32, 33, 64, 65, 96, 1024, 4096}) {
      int grid = -7, block = -7;
      int code = quiet("cuOccupancyMaxPotentialBlockSize", &grid, &block, function, kNone,
                       size_t(0), limit);
      const char *what = block < 0 ? "untouched" : block > 1024 ? "too many" : "threads";
      // Kernels without a bound have a size that depends on the device.
      if (*name == 'p' && limit != 1 && limit != 32)
        say("%s: limit %d: %d %s %s", name, limit, code, amount(grid), what);
      else
        say("%s: limit %d: %d %s %d", name, limit, code, amount(grid), block);
    }
    for (int blocks : {-1, 0, 1, 2, 1000, 100000})
      for (int threads : {-1, 0, 1, 64, 65, 1024, 1025}) {
        size_t bytes = 77;
        int code =
            quiet("cuOccupancyAvailableDynamicSMemPerBlock", &bytes, function, blocks, threads);
        say("%s: %d blocks of %d: %d %s", name, blocks, threads, code,
            bytes == 77 ? "untouched" : amount(int64_t(bytes)));
      }
    for (unsigned threads : {0u, 64u, 65u, 1024u, 1025u}) {
      struct {
        unsigned grid[3], block[3], sharedBytes;
        Pointer stream;
        void *attributes;
        unsigned count;
      } config = {{8, 1, 1}, {threads, 1, 1}, 0, s.stream, nullptr, 0};
      struct {
        int id, pad;
        unsigned value[16];
      } attribute = {4, 0, {2, 1, 1}};
      int size = -7, clusters = -7;
      int code = quiet("cuOccupancyMaxPotentialClusterSize", &size, function, &config);
      say("%s: cluster of blocks of %u: %d %d", name, threads, code, size);
      config.attributes = &attribute;
      config.count = 1;
      code = quiet("cuOccupancyMaxActiveClusters", &clusters, function, &config);
      say("%s: clusters of blocks of %u: %d %s", name, threads, code,
          clusters == -7 ? "untouched" : amount(clusters));
    }
    void *none = nullptr;
    for (unsigned threads : {64u, 65u, 1025u})
      say("%s: launch of %u: %d", name, threads,
          quiet("cuLaunchKernel", function, 1u, 1u, 1u, threads, 1u, 1u, 0u, kNone, &none,
                static_cast<void **>(nullptr)));
  }
}

} // namespace
} // namespace sequences
