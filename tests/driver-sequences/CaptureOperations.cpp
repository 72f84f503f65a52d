// SPDX-License-Identifier: Apache-2.0
// What each operation does to a capture: its code, the capture's status after it, and how the
// capture ends; in each mode.
#include "tests/driver-sequences/Sequence.h"
#include <cstdlib>
#include <thread>

namespace sequences {
namespace {

struct Operation {
  const char *name;
  int (*run)(Setup &s);
};

Pointer pointer, graph, event, function;
size_t bytes, total;
int number;

Pointer blocking() {
  static Pointer stream;
  if (!stream)
    quiet("cuStreamCreate", &stream, 0u);
  return stream;
}

const Operation kOperations[] = {
    {"cuMemAlloc_v2", [](Setup &) { return quiet("cuMemAlloc_v2", &pointer, size_t(64)); }},
    {"cuMemFree_v2", [](Setup &) { return quiet("cuMemFree_v2", pointer); }},
    {"cuMemHostAlloc", [](Setup &) { return quiet("cuMemHostAlloc", &pointer, size_t(64), 0u); }},
    {"cuMemFreeHost", [](Setup &) { return quiet("cuMemFreeHost", pointer); }},
    {"cuMemAllocManaged",
     [](Setup &) { return quiet("cuMemAllocManaged", &pointer, size_t(64), 1u); }},
    {"cuMemGetInfo_v2", [](Setup &) { return quiet("cuMemGetInfo_v2", &bytes, &total); }},
    {"cuStreamSynchronize of it", [](Setup &s) { return quiet("cuStreamSynchronize", s.stream); }},
    {"cuStreamQuery of it", [](Setup &s) { return quiet("cuStreamQuery", s.stream); }},
    {"cuStreamSynchronize of another",
     [](Setup &s) { return quiet("cuStreamSynchronize", s.other); }},
    {"cuStreamQuery of another", [](Setup &s) { return quiet("cuStreamQuery", s.other); }},
    {"cuStreamSynchronize of the legacy stream",
     [](Setup &) { return quiet("cuStreamSynchronize", kNone); }},
    {"cuStreamQuery of the legacy stream", [](Setup &) { return quiet("cuStreamQuery", kNone); }},
    {"cuCtxSynchronize", [](Setup &) { return quiet("cuCtxSynchronize"); }},
    {"cuEventCreate", [](Setup &) { return quiet("cuEventCreate", &pointer, 0u); }},
    {"cuEventQuery", [](Setup &) { return quiet("cuEventQuery", event); }},
    {"cuEventSynchronize", [](Setup &) { return quiet("cuEventSynchronize", event); }},
    {"cuEventRecord on another", [](Setup &s) { return quiet("cuEventRecord", event, s.other); }},
    {"cuEventRecord on the legacy stream",
     [](Setup &) { return quiet("cuEventRecord", event, kNone); }},
    {"cuStreamWaitEvent of the legacy stream",
     [](Setup &) { return quiet("cuStreamWaitEvent", kNone, event, 0u); }},
    {"cuStreamCreate", [](Setup &) { return quiet("cuStreamCreate", &pointer, 0u); }},
    {"cuStreamCreate non-blocking", [](Setup &) { return quiet("cuStreamCreate", &pointer, 1u); }},
    {"cuMemcpyHtoD_v2",
     [](Setup &s) {
       return quiet("cuMemcpyHtoD_v2", s.memory, static_cast<const void *>(s.host), size_t(64));
     }},
    {"cuMemcpyDtoH_v2",
     [](Setup &s) { return quiet("cuMemcpyDtoH_v2", Pointer(s.host), s.memory, size_t(64)); }},
    {"cuMemcpyDtoD_v2",
     [](Setup &s) { return quiet("cuMemcpyDtoD_v2", s.memory, s.memory2, size_t(64)); }},
    {"cuMemsetD32_v2", [](Setup &s) { return quiet("cuMemsetD32_v2", s.memory, 0u, size_t(64)); }},
    {"cuMemcpyHtoDAsync_v2 on the legacy stream",
     [](Setup &s) {
       return quiet("cuMemcpyHtoDAsync_v2", s.memory, static_cast<const void *>(s.host), size_t(64),
                    kNone);
     }},
    {"launch on the legacy stream", [](Setup &s) { return launchAdd(s, kNone, s.memory, 0); }},
    {"launch on a blocking stream", [](Setup &s) { return launchAdd(s, blocking(), s.memory, 0); }},
    {"launch on another stream", [](Setup &s) { return launchAdd(s, s.other, s.memory, 0); }},
    {"launch of a wrong shape",
     [](Setup &s) {
       void *values[] = {&s.memory, &number};
       return quiet("cuLaunchKernel", s.add, 1u, 1u, 1u, 2048u, 1u, 1u, 0u, s.stream, &values[0],
                    static_cast<void **>(nullptr));
     }},
    {"copy of null",
     [](Setup &s) {
       return quiet("cuMemcpyHtoDAsync_v2", kNone, static_cast<const void *>(s.host), size_t(64),
                    s.stream);
     }},
    {"cuModuleGetFunction",
     [](Setup &s) { return quiet("cuModuleGetFunction", &function, s.module, "add"); }},
    {"cuFuncGetAttribute", [](Setup &s) { return quiet("cuFuncGetAttribute", &number, 0, s.add); }},
    {"cuFuncSetAttribute", [](Setup &s) { return quiet("cuFuncSetAttribute", s.add, 8, 1024); }},
    {"cuCtxSetLimit", [](Setup &) { return quiet("cuCtxSetLimit", 2, size_t(16 << 20)); }},
    {"cuStreamGetPriority",
     [](Setup &s) { return quiet("cuStreamGetPriority", s.stream, &number); }},
    {"cuPointerGetAttribute",
     [](Setup &s) { return quiet("cuPointerGetAttribute", Pointer(&number), 2, s.memory); }},
    {"cuMemPrefetchAsync",
     [](Setup &s) {
       Pointer managed = kNone;
       int mode = 2;
       quiet("cuThreadExchangeStreamCaptureMode", &mode);
       quiet("cuMemAllocManaged", &managed, size_t(4096), 1u);
       quiet("cuThreadExchangeStreamCaptureMode", &mode);
       return quiet("cuMemPrefetchAsync", managed, size_t(4096), 0, s.stream);
     }},
    {"cuStreamAttachMemAsync",
     [](Setup &s) { return quiet("cuStreamAttachMemAsync", s.stream, s.memory, size_t(0), 1u); }},
    {"cuStreamWriteValue32_v2",
     [](Setup &s) { return quiet("cuStreamWriteValue32_v2", s.stream, s.memory, 1u, 0u); }},
    {"cuGraphInstantiateWithFlags of another graph",
     [](Setup &) {
       Pointer made = kNone;
       return quiet("cuGraphInstantiateWithFlags", &made, makeGraph(), 0ull);
     }},
    {"cuModuleLoadData",
     [](Setup &) {
       Pointer loaded = kNone;
       return quiet("cuModuleLoadData", &loaded,
                    static_cast<const void *>(
                        ".version 7.0\n.target sm_80\n.visible .entry k()\n{\nret;\n}\n"));
     }},
    {"cuMemAllocAsync on another stream",
     [](Setup &s) { return quiet("cuMemAllocAsync", &pointer, size_t(64), s.other); }},
    {"cuMemFreeAsync on another stream",
     [](Setup &s) { return quiet("cuMemFreeAsync", pointer, s.other); }},
    {"cuMemAllocAsync on the legacy stream",
     [](Setup &) { return quiet("cuMemAllocAsync", &pointer, size_t(64), kNone); }},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor",
     [](Setup &s) {
       return quiet("cuOccupancyMaxActiveBlocksPerMultiprocessor", &number, s.add, 64, size_t(0));
     }},
};

void tryAll(int mode, bool isBlocking, bool isOther) {
  Setup s;
  if (isBlocking)
    s.stream = blocking();
  quiet("cuEventCreate", &event, 0u);
  for (const Operation &operation : kOperations) {
    Pointer keep = pointer;
    if (operation.name == std::string("cuMemFree_v2"))
      quiet("cuMemAlloc_v2", &pointer, size_t(64));
    if (operation.name == std::string("cuMemFreeHost"))
      quiet("cuMemHostAlloc", &pointer, size_t(64), 0u);
    int began = quiet("cuStreamBeginCapture_v2", s.stream, mode);
    int code = -2, status = -1;
    if (isOther)
      std::thread([&] {
        quiet("cuCtxSetCurrent", s.context);
        code = operation.run(s);
      }).join();
    else
      code = operation.run(s);
    quiet("cuStreamIsCapturing", s.stream, &status);
    graph = kNone;
    int ended = quiet("cuStreamEndCapture", s.stream, &graph);
    size_t count = 0;
    if (graph)
      quiet("cuGraphGetNodes", graph, static_cast<Pointer *>(nullptr), &count);
    say("%s: begin %d, code %d, status %d, end %d, %s, %zu nodes", operation.name, began, code,
        status, ended, graph ? "graph" : "no graph", count);
    if (graph)
      quiet("cuGraphDestroy", graph);
    quiet("cuCtxSynchronize");
    if (operation.name != std::string("cuMemAllocAsync on another stream"))
      pointer = keep;
  }
}

SEQUENCE(operations_in_a_global_capture) { tryAll(0, false, false); }
SEQUENCE(operations_in_a_thread_local_capture) { tryAll(1, false, false); }
SEQUENCE(operations_in_a_relaxed_capture) { tryAll(2, false, false); }
SEQUENCE(operations_in_a_global_capture_of_a_blocking_stream) { tryAll(0, true, false); }
SEQUENCE(operations_in_a_relaxed_capture_of_a_blocking_stream) { tryAll(2, true, false); }
SEQUENCE(operations_of_another_thread_in_a_global_capture) { tryAll(0, false, true); }
SEQUENCE(operations_of_another_thread_in_a_thread_local_capture) { tryAll(1, false, true); }

// However a kernel of a library is named: by its handle or its function, in a node or captured.
SEQUENCE(nodes_of_a_librarys_kernel) {
  Setup s;
  const char *ptx =
      ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry one(.param .u64 o)\n{\n"
      ".reg .b64 %d<2>;\nld.param.u64 %d1, [o];\nst.global.u32 [%d1], 11;\nret;\n}\n";
  Pointer library = kNone, kernel = kNone, function = kNone;
  quiet("cuLibraryLoadData", &library, static_cast<const void *>(ptx), static_cast<int *>(nullptr),
        static_cast<void **>(nullptr), 0u, static_cast<int *>(nullptr),
        static_cast<void **>(nullptr), 0u);
  quiet("cuLibraryGetKernel", &kernel, library, "one");
  cu("cuKernelGetFunction", &function, kernel);
  named(kernel, "one");
  void *values[] = {&s.memory};
  const auto describe = [](const char *what, Pointer node) {
    KernelParameters out{};
    const int code = quiet("cuGraphKernelNodeGetParams_v2", node, &out);
    say("%s: %d, function %s, kernel %s", what, code, out.function ? "set" : "null",
        nameOf(out.kernel));
    if (!code)
      cu("cuGraphKernelNodeSetParams_v2", node, static_cast<const KernelParameters *>(&out));
  };
  const auto add = [&](const char *what, Pointer named, Pointer handle) {
    Pointer node = kNone;
    const KernelParameters p{named, {1, 1, 1}, {1, 1, 1}, 0, values, nullptr, handle, nullptr};
    say("%s: %d", what,
        quiet("cuGraphAddKernelNode_v2", &node, makeGraph(), static_cast<const Pointer *>(nullptr),
              size_t(0), &p));
    describe(what, node);
  };
  add("node of the kernel", kNone, kernel);
  add("node of its function", function, kNone);
  add("node of the kernel as a function", kernel, kNone);
  const auto capture = [&](const char *what, auto launch) {
    Pointer graph = kNone, node = kNone;
    quiet("cuStreamBeginCapture_v2", s.stream, 0);
    const int code = launch();
    quiet("cuStreamEndCapture", s.stream, &graph);
    size_t count = 1;
    say("%s: %d, nodes %d", what, code, quiet("cuGraphGetNodes", graph, &node, &count));
    describe(what, node);
  };
  for (const auto &[what, launched] :
       {std::pair("kernel captured", kernel), std::pair("function captured", function)})
    capture(what, [&, launched = launched] {
      return quiet("cuLaunchKernel", launched, 1u, 1u, 1u, 1u, 1u, 1u, 0u, s.stream, &values[0],
                   static_cast<void **>(nullptr));
    });
  capture("a module's function captured", [&] { return launchAdd(s, s.stream, s.memory, 1); });
}

// External waits for events that stand for what was captured.
SEQUENCE(events_of_captures_awaited_from_outside) {
  Setup s;
  Pointer event = kNone;
  quiet("cuEventCreate", &event, 2u);
  const auto capture = [&](const char *what, auto call) {
    Pointer graph = kNone;
    quiet("cuStreamBeginCapture_v2", s.stream, 2);
    const int code = call();
    say("%s: %d, end %d", what, code, quiet("cuStreamEndCapture", s.stream, &graph));
    if (graph)
      sayGraph(what, graph);
  };
  const auto record = [&](Pointer stream, unsigned flags) {
    return quiet("cuEventRecordWithFlags", event, stream, flags);
  };
  const auto wait = [&](unsigned flags) {
    return quiet("cuStreamWaitEvent", s.stream, event, flags);
  };
  capture("never recorded", [&] { return wait(1); });
  capture("recorded from outside", [&] { return record(s.stream, 1); });
  capture("then awaited", [&] { return wait(1); });
  capture("captured", [&] { return record(s.stream, 0); });
  capture("then awaited from outside", [&] { return wait(1); });
  capture("then awaited", [&] { return wait(0); });
  capture("captured and awaited", [&] { return record(s.stream, 0) + wait(1); });
  capture("recorded from outside", [&] { return record(s.stream, 1); });
  capture("still awaited", [&] { return wait(1); });
  say("recorded: %d", record(s.other, 0));
  capture("awaited from outside", [&] { return wait(1); });
}

SEQUENCE(wrong_memory_freed_in_a_capture) {
  Setup s;
  int local = 0;
  const auto capture = [&](const char *what, int mode, const char *function, Pointer memory) {
    Pointer graph = kNone;
    quiet("cuStreamBeginCapture_v2", s.stream, mode);
    const int code = quiet(function, memory);
    say("%s, mode %d: %d, end %d", what, mode, code, quiet("cuStreamEndCapture", s.stream, &graph));
  };
  for (int mode : {0, 1, 2})
    for (const char *function : {"cuMemFree_v2", "cuMemFreeHost", "cuMemHostUnregister"}) {
      say("%s", function);
      capture("nothing", mode, function, kNone);
      capture("a variable", mode, function, Pointer(&local));
      capture("within memory", mode, function, at(s.memory, 4));
    }
}

} // namespace
} // namespace sequences
