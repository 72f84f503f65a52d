// SPDX-License-Identifier: Apache-2.0
// Stream capture: what becomes a node, and how a capture ends.
#include "tests/driver-sequences/Sequence.h"
#include <cstring>
#include <thread>

namespace sequences {
namespace {

constexpr int kGlobal = 0, kThreadLocal = 1, kRelaxed = 2;

int begin(Pointer stream, int mode = kThreadLocal) {
  return quiet("cuStreamBeginCapture_v2", stream, mode);
}

Pointer end(Pointer stream) {
  Pointer graph = kNone;
  cu("cuStreamEndCapture", stream, &graph);
  if (!graph)
    say("no graph");
  return graph;
}

Pointer makeEvent() {
  Pointer event = kNone;
  quiet("cuEventCreate", &event, 2u);
  return event;
}

SEQUENCE(capture_becomes_a_graph) {
  Setup s;
  cu("cuStreamBeginCapture_v2", s.stream, kGlobal);
  sayCapture(s.stream);
  cu("cuMemsetD32Async", s.memory, 5u, size_t(64), s.stream);
  say("launch %d", launchAdd(s, s.stream, s.memory, 3));
  cu("cuMemcpyDtoHAsync_v2", Pointer(s.host), s.memory, size_t(256), s.stream);
  Pointer graph = end(s.stream);
  sayCapture(s.stream);
  sayMemory("before the launch", s.memory);
  sayGraph("graph", graph);
  Pointer executable = instantiate(graph);
  cu("cuGraphDestroy", graph);
  for (int i = 0; i < 2; ++i) {
    cu("cuGraphLaunch", executable, s.stream);
    cu("cuStreamSynchronize", s.stream);
    say("host %d %d", s.host[0], s.host[63]);
    s.host[0] = 0;
  }
  cu("cuGraphExecDestroy", executable);
  cu("cuGraphLaunch", executable, s.stream);
}

SEQUENCE(capture_begins_where_it_may) {
  Setup s;
  for (int mode : {-1, 3, 100})
    say("mode %d: %d", mode, begin(s.stream, mode));
  for (uintptr_t handle : {0, 1, 2}) {
    Pointer stream = reinterpret_cast<Pointer>(handle);
    say("stream %d: %d", int(handle), begin(stream));
    sayCapture(stream);
    Pointer graph = kNone;
    say("end: %d", quiet("cuStreamEndCapture", stream, &graph));
  }
  say("ptsz of 0: %d", quiet("cuStreamBeginCapture_v2_ptsz", kNone, kThreadLocal));
  Pointer graph = kNone;
  say("end: %d", quiet("cuStreamEndCapture_ptsz", kNone, &graph));
  say("begin: %d", begin(s.stream));
  say("again: %d", begin(s.stream));
  sayCapture(s.stream);
  end(s.stream);
  end(s.stream);
  say("begin: %d", begin(s.stream));
  cu("cuStreamEndCapture", s.stream, static_cast<Pointer *>(nullptr));
  sayCapture(s.stream);
}

SEQUENCE(capture_of_the_first_version) {
  Setup s;
  cu("cuStreamBeginCapture", s.stream);
  sayCapture(s.stream);
  int status = 0;
  uint64_t id = 0;
  cu("cuStreamGetCaptureInfo", s.stream, &status, &id);
  say("status %d, id %s", status, id ? "not 0" : "0");
  say("launch %d", launchAdd(s, s.stream, s.memory, 3));
  sayGraph("graph", end(s.stream));
}

SEQUENCE(capture_of_nothing) {
  Setup s;
  say("begin: %d", begin(s.stream));
  Pointer graph = end(s.stream);
  sayGraph("graph", graph);
  Pointer executable = instantiate(graph);
  cu("cuGraphLaunch", executable, s.stream);
  cu("cuStreamSynchronize", s.stream);
}

SEQUENCE(capture_forks_and_joins) {
  Setup s;
  Pointer fork = makeEvent(), join = makeEvent();
  say("begin: %d", begin(s.stream));
  say("launch %d", launchAdd(s, s.stream, s.memory, 1));
  cu("cuEventRecord", fork, s.stream);
  cu("cuStreamWaitEvent", s.other, fork, 0u);
  sayCapture(s.other);
  say("launch %d", launchAdd(s, s.other, s.memory2, 2));
  say("launch %d", launchAdd(s, s.stream, s.memory, 3));
  cu("cuEventRecord", join, s.other);
  cu("cuStreamWaitEvent", s.stream, join, 0u);
  say("launch %d", launchAdd(s, s.stream, s.memory, 4));
  Pointer graph = end(s.stream);
  sayCapture(s.other);
  sayGraph("graph", graph);
  Pointer executable = instantiate(graph);
  cu("cuGraphLaunch", executable, s.other);
  sayMemory("memory", s.memory);
  sayMemory("memory2", s.memory2);
}

SEQUENCE(capture_joined_without_work) {
  Setup s;
  Pointer fork = makeEvent();
  say("begin: %d", begin(s.stream));
  say("launch %d", launchAdd(s, s.stream, s.memory, 1));
  cu("cuEventRecord", fork, s.stream);
  cu("cuStreamWaitEvent", s.other, fork, 0u);
  sayCapture(s.other);
  sayGraph("graph", end(s.stream));
  sayCapture(s.other);
}

SEQUENCE(capture_unjoined) {
  Setup s;
  Pointer fork = makeEvent();
  say("begin: %d", begin(s.stream));
  cu("cuEventRecord", fork, s.stream);
  cu("cuStreamWaitEvent", s.other, fork, 0u);
  say("launch %d", launchAdd(s, s.other, s.memory2, 2));
  end(s.stream);
  sayCapture(s.stream);
  sayCapture(s.other);
  say("launch %d", launchAdd(s, s.other, s.memory2, 2));
  cu("cuStreamWaitEvent", s.other, fork, 0u);
  cu("cuEventQuery", fork);
}

SEQUENCE(capture_ended_by_another_stream) {
  Setup s;
  Pointer fork = makeEvent();
  say("begin: %d", begin(s.stream));
  cu("cuEventRecord", fork, s.stream);
  cu("cuStreamWaitEvent", s.other, fork, 0u);
  end(s.other);
  sayCapture(s.stream);
  end(s.stream);
}

SEQUENCE(capture_merge) {
  Setup s;
  Pointer event = makeEvent();
  say("begin: %d", begin(s.stream));
  say("begin: %d", begin(s.other));
  cu("cuEventRecord", event, s.stream);
  cu("cuStreamWaitEvent", s.other, event, 0u);
  sayCapture(s.stream);
  sayCapture(s.other);
  end(s.stream);
  end(s.other);
}

SEQUENCE(capture_isolation) {
  Setup s;
  Pointer event = makeEvent();
  cu("cuEventRecord", event, s.other);
  say("begin: %d", begin(s.stream));
  cu("cuStreamWaitEvent", s.stream, event, 0u);
  sayCapture(s.stream);
  end(s.stream);
  Pointer never = makeEvent();
  say("begin: %d", begin(s.stream));
  cu("cuStreamWaitEvent", s.stream, never, 0u);
  sayCapture(s.stream);
  end(s.stream);
}

SEQUENCE(capture_waits_for_an_event_of_one_that_has_ended) {
  Setup s;
  Pointer event = makeEvent();
  say("begin: %d", begin(s.stream));
  cu("cuEventRecord", event, s.stream);
  end(s.stream);
  cu("cuEventQuery", event);
  cu("cuEventSynchronize", event);
  cu("cuStreamWaitEvent", s.other, event, 0u);
  say("begin: %d", begin(s.stream));
  cu("cuStreamWaitEvent", s.stream, event, 0u);
  sayCapture(s.stream);
  end(s.stream);
}

SEQUENCE(capture_event_outside) {
  Setup s;
  Pointer event = makeEvent(), timed = kNone;
  quiet("cuEventCreate", &timed, 0u);
  cu("cuEventRecord", timed, s.other);
  say("begin: %d", begin(s.stream));
  cu("cuEventRecord", event, s.stream);
  cu("cuEventQuery", event);
  sayCapture(s.stream);
  end(s.stream);
  say("begin: %d", begin(s.stream));
  cu("cuEventRecord", event, s.stream);
  cu("cuEventSynchronize", event);
  sayCapture(s.stream);
  end(s.stream);
  say("begin: %d", begin(s.stream));
  cu("cuEventRecord", timed, s.stream);
  float ms = 0;
  cu("cuEventElapsedTime", &ms, timed, timed);
  sayCapture(s.stream);
  end(s.stream);
}

SEQUENCE(capture_external_events) {
  Setup s;
  Pointer event = makeEvent();
  say("begin: %d", begin(s.stream));
  cu("cuEventRecordWithFlags", event, s.stream, 1u);
  say("launch %d", launchAdd(s, s.stream, s.memory, 1));
  cu("cuStreamWaitEvent", s.stream, event, 1u);
  say("launch %d", launchAdd(s, s.stream, s.memory, 1));
  Pointer graph = end(s.stream);
  sayGraph("graph", graph);
  Pointer executable = instantiate(graph);
  cu("cuEventQuery", event);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
  cu("cuEventQuery", event);
  cu("cuEventRecordWithFlags", event, s.stream, 1u);
  cu("cuEventRecordWithFlags", event, s.stream, 2u);
  cu("cuStreamWaitEvent", s.stream, event, 1u);
  cu("cuStreamWaitEvent", s.stream, event, 2u);
}

SEQUENCE(capture_on_another_thread) {
  Setup s;
  for (int mode : {kGlobal, kThreadLocal, kRelaxed}) {
    say("mode %d: %d", mode, begin(s.stream, mode));
    say("launch %d", launchAdd(s, s.stream, s.memory, 1));
    std::thread([&] {
      quiet("cuCtxSetCurrent", s.context);
      say("launch there %d", launchAdd(s, s.stream, s.memory, 1));
      end(s.stream);
    }).join();
    sayCapture(s.stream);
    end(s.stream);
  }
}

SEQUENCE(capture_information) {
  Setup s;
  int status = -1;
  uint64_t id = 77, firstId = 0;
  Pointer graph = kNone;
  const Pointer *nodes = nullptr;
  const EdgeData *edges = nullptr;
  size_t count = 77;
  cu("cuStreamGetCaptureInfo_v2", s.stream, &status, &id, &graph, &nodes, &count);
  say("status %d, id %s, graph %s, count %zu", status, id == 77 ? "as before" : "changed",
      nameOf(graph), count);
  cu("cuStreamGetCaptureInfo_v2", s.stream, static_cast<int *>(nullptr), &id, &graph, &nodes,
     &count);
  say("begin: %d", begin(s.stream));
  cu("cuStreamGetCaptureInfo_v2", s.stream, &status, &firstId, &graph, &nodes, &count);
  say("status %d, id %s, graph %s, count %zu", status, firstId ? "not 0" : "0", nameOf(graph),
      count);
  say("launch %d", launchAdd(s, s.stream, s.memory, 1));
  cu("cuStreamGetCaptureInfo_v2", s.stream, &status, &id, &graph, &nodes, &count);
  int type = -1;
  if (count == 1 && nodes)
    cu("cuGraphNodeGetType", nodes[0], &type);
  say("same id %d, count %zu, type %d", id == firstId, count, type);
  cu("cuStreamGetCaptureInfo_v2", s.stream, &status, static_cast<uint64_t *>(nullptr),
     static_cast<Pointer *>(nullptr), static_cast<const Pointer **>(nullptr),
     static_cast<size_t *>(nullptr));
  cu("cuStreamGetCaptureInfo_v3", s.stream, &status, &id, &graph, &nodes, &edges, &count);
  say("count %zu, edges %s", count, edges ? "an array" : "null");
  cu("cuStreamGetCaptureInfo_v3", s.stream, &status, &id, &graph, &nodes,
     static_cast<const EdgeData **>(nullptr), &count);
  sayGraph("while it is captured", graph);
  cu("cuGraphDestroy", graph);
  Pointer executable = kNone, node = kNone;
  cu("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
  cu("cuGraphAddEmptyNode", &node, graph, static_cast<const Pointer *>(nullptr), size_t(0));
  Pointer ended = end(s.stream);
  say("the same graph %d", ended == graph);
  sayGraph("graph", ended);
  say("begin: %d", begin(s.stream));
  cu("cuStreamGetCaptureInfo_v2", s.stream, &status, &id, &graph, &nodes, &count);
  say("same id %d", id == firstId);
  Pointer legacy = reinterpret_cast<Pointer>(1);
  cu("cuStreamGetCaptureInfo_v2", legacy, &status, &id, &graph, &nodes, &count);
  say("status %d", status);
  cu("cuStreamIsCapturing", kNone, &status);
  cu("cuStreamIsCapturing", s.stream, static_cast<int *>(nullptr));
}

SEQUENCE(capture_dependencies_changed) {
  Setup s;
  Pointer graph = kNone;
  const Pointer *nodes = nullptr;
  int status;
  uint64_t id;
  size_t count;
  Pointer nothing[1] = {};
  cu("cuStreamUpdateCaptureDependencies", s.stream, &nothing[0], size_t(0), 0u);
  say("begin: %d", begin(s.stream));
  say("launch %d", launchAdd(s, s.stream, s.memory, 1));
  quiet("cuStreamGetCaptureInfo_v2", s.stream, &status, &id, &graph, &nodes, &count);
  Pointer first = nodes ? nodes[0] : kNone;
  say("launch %d", launchAdd(s, s.stream, s.memory, 2));
  cu("cuStreamUpdateCaptureDependencies", s.stream, &first, size_t(1), 1u); // set
  say("launch %d", launchAdd(s, s.stream, s.memory, 3));
  cu("cuStreamUpdateCaptureDependencies", s.stream, &first, size_t(1), 0u); // add
  quiet("cuStreamGetCaptureInfo_v2", s.stream, &status, &id, &graph, &nodes, &count);
  say("count %zu", count);
  cu("cuStreamUpdateCaptureDependencies", s.stream, &first, size_t(1), 0u);
  quiet("cuStreamGetCaptureInfo_v2", s.stream, &status, &id, &graph, &nodes, &count);
  say("count %zu", count);
  cu("cuStreamUpdateCaptureDependencies", s.stream, &first, size_t(1), 2u);
  cu("cuStreamUpdateCaptureDependencies_v2", s.stream, &first,
     static_cast<const EdgeData *>(nullptr), size_t(1), 0u);
  Pointer added = kNone;
  cu("cuGraphAddEmptyNode", &added, graph, static_cast<const Pointer *>(nullptr), size_t(0));
  cu("cuStreamUpdateCaptureDependencies", s.stream, &added, size_t(1), 0u);
  Pointer foreignGraph = makeGraph(), foreign = kNone;
  cu("cuGraphAddEmptyNode", &foreign, foreignGraph, static_cast<const Pointer *>(nullptr),
     size_t(0));
  cu("cuStreamUpdateCaptureDependencies", s.stream, &foreign, size_t(1), 0u);
  say("launch %d", launchAdd(s, s.stream, s.memory, 4));
  sayGraph("graph", end(s.stream));
  say("begin: %d", begin(s.stream));
  say("launch %d", launchAdd(s, s.stream, s.memory, 1));
  cu("cuStreamUpdateCaptureDependencies", s.stream, &nothing[0], size_t(0), 1u);
  say("launch %d", launchAdd(s, s.stream, s.memory, 2));
  sayGraph("graph", end(s.stream));
}

SEQUENCE(capture_leaves_a_node_behind) {
  Setup s;
  Pointer nothing[1] = {};
  say("begin: %d", begin(s.stream));
  Pointer fork = makeEvent();
  cu("cuEventRecord", fork, s.stream);
  cu("cuStreamWaitEvent", s.other, fork, 0u);
  say("launch %d", launchAdd(s, s.other, s.memory, 1));
  cu("cuStreamUpdateCaptureDependencies", s.other, &nothing[0], size_t(0), 1u);
  sayGraph("graph", end(s.stream));
}

SEQUENCE(capture_to_a_graph) {
  Setup s;
  Pointer graph = makeGraph(), first = kNone, ended = kNone, foreign = kNone;
  KernelParameters p = addParameters(s, s.memory, 5);
  cu("cuGraphAddKernelNode_v2", &first, graph, static_cast<const Pointer *>(nullptr), size_t(0),
     static_cast<const KernelParameters *>(&p));
  const EdgeData *noEdges = nullptr;
  cu("cuStreamBeginCaptureToGraph", s.stream, graph, static_cast<const Pointer *>(&first), noEdges,
     size_t(1), kThreadLocal);
  sayCapture(s.stream);
  cu("cuMemsetD32Async", s.memory, 7u, size_t(1), s.stream);
  cu("cuStreamEndCapture", s.stream, &ended);
  say("the same graph %d", ended == graph);
  sayGraph("graph", graph);
  cu("cuStreamBeginCaptureToGraph", s.stream, graph, static_cast<const Pointer *>(nullptr), noEdges,
     size_t(0), kThreadLocal);
  say("launch %d", launchAdd(s, s.stream, s.memory2, 1));
  ended = kNone;
  cu("cuStreamEndCapture", s.stream, &ended);
  sayGraph("graph", graph);
  Pointer foreignGraph = makeGraph();
  quiet("cuGraphAddEmptyNode", &foreign, foreignGraph, static_cast<const Pointer *>(nullptr),
        size_t(0));
  cu("cuStreamBeginCaptureToGraph", s.stream, graph, static_cast<const Pointer *>(&foreign),
     noEdges, size_t(1), kThreadLocal);
  cu("cuStreamBeginCaptureToGraph", s.stream, kNone, static_cast<const Pointer *>(nullptr), noEdges,
     size_t(0), kThreadLocal);
  sayCapture(s.stream);
  Pointer executable = instantiate(graph);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
  sayMemory("memory2", s.memory2);
  // An invalid capture: the graph stays the program's.
  cu("cuStreamBeginCaptureToGraph", s.stream, graph, static_cast<const Pointer *>(nullptr), noEdges,
     size_t(0), kThreadLocal);
  say("launch %d", launchAdd(s, s.stream, s.memory2, 1));
  cu("cuStreamSynchronize", s.stream);
  ended = graph;
  cu("cuStreamEndCapture", s.stream, &ended);
  say("out: %s", ended == graph ? "the graph" : nameOf(ended));
  sayGraph("graph", graph);
}

SEQUENCE(capture_mode_of_the_thread) {
  Setup s;
  for (int mode : {kRelaxed, kThreadLocal, kGlobal, 3, -1}) {
    int exchanged = mode;
    cu("cuThreadExchangeStreamCaptureMode", &exchanged);
    say("gave %d, got %d", mode, exchanged);
  }
  int normal = kGlobal;
  quiet("cuThreadExchangeStreamCaptureMode", &normal);
  for (int capture : {kGlobal, kThreadLocal, kRelaxed})
    for (int own : {kGlobal, kThreadLocal, kRelaxed})
      for (bool isOther : {false, true}) {
        begin(s.stream, capture);
        auto allocate = [&] {
          quiet("cuCtxSetCurrent", s.context);
          int exchanged = own;
          quiet("cuThreadExchangeStreamCaptureMode", &exchanged);
          Pointer pointer = kNone;
          int code = quiet("cuMemAlloc_v2", &pointer, size_t(64));
          say("capture %d, %s thread in mode %d: cuMemAlloc_v2 %d", capture,
              isOther ? "another" : "its", own, code);
          quiet("cuThreadExchangeStreamCaptureMode", &exchanged);
        };
        if (isOther)
          std::thread(allocate).join();
        else
          allocate();
        sayCapture(s.stream);
        Pointer graph = kNone;
        say("end %d", quiet("cuStreamEndCapture", s.stream, &graph));
      }
}

SEQUENCE(capture_mode_null) {
  Setup s;
  cu("cuThreadExchangeStreamCaptureMode", static_cast<int *>(nullptr));
}

SEQUENCE(capture_invalidated) {
  Setup s;
  say("begin: %d", begin(s.stream));
  say("launch %d", launchAdd(s, s.stream, s.memory, 1));
  cu("cuStreamSynchronize", s.stream);
  sayCapture(s.stream);
  say("launch %d", launchAdd(s, s.stream, s.memory, 1));
  cu("cuMemsetD32Async", s.memory, 7u, size_t(1), s.stream);
  Pointer event = makeEvent();
  cu("cuEventRecord", event, s.stream);
  cu("cuStreamWaitEvent", s.other, event, 0u);
  say("begin again: %d", begin(s.stream));
  int status = -1;
  uint64_t id = 0;
  cu("cuStreamGetCaptureInfo", s.stream, &status, &id);
  say("status %d", status);
  cu("cuStreamSynchronize", s.stream);
  cu("cuStreamQuery", s.stream);
  Pointer graph = named(&graph, "as before");
  cu("cuStreamEndCapture", s.stream, &graph);
  say("graph %s", nameOf(graph));
  sayCapture(s.stream);
  say("launch %d", launchAdd(s, s.stream, s.memory, 1));
  sayMemory("memory", s.memory);
}

SEQUENCE(capture_stream_destroyed) {
  Setup s;
  say("begin: %d", begin(s.stream));
  say("launch %d", launchAdd(s, s.stream, s.memory, 1));
  cu("cuStreamDestroy_v2", s.stream);
  say("launch on another %d", launchAdd(s, s.other, s.memory, 1));
  sayMemory("memory", s.memory);
}

SEQUENCE(capture_forked_stream_destroyed) {
  Setup s;
  Pointer fork = makeEvent(), join = makeEvent();
  say("begin: %d", begin(s.stream));
  cu("cuEventRecord", fork, s.stream);
  cu("cuStreamWaitEvent", s.other, fork, 0u);
  say("launch %d", launchAdd(s, s.other, s.memory, 1));
  cu("cuEventRecord", join, s.other);
  cu("cuStreamDestroy_v2", s.other);
  sayCapture(s.stream);
  cu("cuStreamWaitEvent", s.stream, join, 0u);
  cu("cuEventDestroy_v2", join);
  sayGraph("graph", end(s.stream));
}

SEQUENCE(capture_of_a_graph_launch) {
  Setup s;
  say("begin: %d", begin(s.stream));
  say("launch %d", launchAdd(s, s.stream, s.memory, 1));
  say("launch %d", launchAdd(s, s.stream, s.memory, 2));
  Pointer executable = instantiate(end(s.stream));
  say("begin: %d", begin(s.stream));
  cu("cuGraphLaunch", executable, s.stream);
  cu("cuGraphUpload", executable, s.stream);
  sayCapture(s.stream);
  Pointer outer = end(s.stream);
  sayGraph("graph", outer);
  Pointer outerExecutable = instantiate(outer);
  cu("cuGraphLaunch", outerExecutable, s.stream);
  sayMemory("memory", s.memory);
}

SEQUENCE(capture_of_a_graph_launch_in_each_mode) {
  Setup s;
  say("begin: %d", begin(s.stream));
  say("launch %d", launchAdd(s, s.stream, s.memory, 1));
  Pointer executable = instantiate(end(s.stream));
  cu("cuGraphUpload", executable, s.stream);
  cu("cuGraphLaunch", executable, s.stream);
  cu("cuStreamSynchronize", s.stream);
  for (int mode : {kGlobal, kThreadLocal, kRelaxed}) {
    say("mode %d: %d", mode, begin(s.stream, mode));
    cu("cuGraphLaunch", executable, s.stream);
    sayCapture(s.stream);
    Pointer outer = end(s.stream);
    if (outer)
      sayGraph("graph", outer);
    say("mode %d: %d", mode, begin(s.stream, mode));
    cu("cuGraphLaunch", executable, s.other);
    sayCapture(s.stream);
    end(s.stream);
  }
  sayMemory("memory", s.memory);
}

SEQUENCE(capture_parameters_of_nodes) {
  Setup s;
  say("begin: %d", begin(s.stream));
  cu("cuMemcpyHtoDAsync_v2", s.memory, static_cast<const void *>(s.host), size_t(64), s.stream);
  cu("cuMemcpyAsync", s.memory2, s.memory, size_t(64), s.stream);
  cu("cuMemsetD16Async", s.memory, static_cast<unsigned short>(2), size_t(6), s.stream);
  cu("cuMemsetD2D8Async", s.memory, size_t(32), static_cast<unsigned char>(3), size_t(16),
     size_t(4), s.stream);
  cu("cuMemsetD2D8Async", s.memory, size_t(16), static_cast<unsigned char>(3), size_t(16),
     size_t(4), s.stream);
  say("launch %d", launchAdd(s, s.stream, s.memory, 5));
  Pointer graph = end(s.stream), nodes[8] = {};
  size_t count = 8;
  cu("cuGraphGetNodes", graph, &nodes[0], &count);
  for (size_t i = 0; i < count; ++i) {
    CopyParameters copy{};
    FillParameters fill{};
    KernelParameters kernel{};
    if (!quiet("cuGraphMemcpyNodeGetParams", nodes[i], &copy))
      say("copy: from type %d %s %s, to type %d %s %s, %zu %zu %zu, pitches %zu %zu heights %zu "
          "%zu",
          copy.from.type, nameOf(copy.from.host), nameOf(copy.from.device), copy.to.type,
          nameOf(copy.to.host), nameOf(copy.to.device), copy.width, copy.height, copy.depth,
          copy.from.pitch, copy.to.pitch, copy.from.height, copy.to.height);
    if (!quiet("cuGraphMemsetNodeGetParams", nodes[i], &fill))
      say("fill: %s pitch %zu value %x size %u width %zu height %zu", nameOf(fill.to), fill.pitch,
          fill.value, fill.elementBytes, fill.width, fill.height);
    if (!quiet("cuGraphKernelNodeGetParams_v2", nodes[i], &kernel))
      say("kernel: %s value %d context %s", nameOf(kernel.function),
          kernel.values ? *static_cast<int *>(kernel.values[1]) : -1, nameOf(kernel.context));
  }
}

SEQUENCE(capture_of_launch_attributes) {
  Setup s;
  struct {
    int id, padding;
    int value[16];
  } attributes[3] = {};
  struct {
    unsigned grid[3], block[3], sharedBytes;
    Pointer stream;
    void *attributes;
    unsigned count;
  } config{{1, 1, 1}, {64, 1, 1}, 0, s.stream, attributes, 1};
  int value = 1;
  void *values[] = {&s.memory, &value};
  auto launch = [&](const char *what) {
    say("%s: %d", what,
        quiet("cuLaunchKernelEx", &config, s.add, &values[0], static_cast<void **>(nullptr)));
    sayCapture(s.stream);
  };
  say("begin: %d", begin(s.stream));
  attributes[0].id = 2;
  attributes[0].value[0] = 1;
  launch("cooperative");
  attributes[0].id = 8;
  attributes[0].value[0] = -1;
  launch("priority");
  attributes[0].id = 6;
  attributes[0].value[0] = 1;
  launch("programmatic serialization");
  Pointer graph = end(s.stream), nodes[8] = {};
  size_t count = 8;
  cu("cuGraphGetNodes", graph, &nodes[0], &count);
  for (size_t i = 0; i < count; ++i)
    for (int id : {2, 8}) {
      int got[16] = {};
      int code = quiet("cuGraphKernelNodeGetAttribute", nodes[i], id, &got[0]);
      say("node %zu attribute %d: %d %d", i, id, code, got[0]);
    }
  EdgeData data[8] = {};
  Pointer from[8] = {}, to[8] = {};
  size_t edges = 8;
  cu("cuGraphGetEdges_v2", graph, &from[0], &to[0], &data[0], &edges);
  for (size_t i = 0; i < edges; ++i)
    say("edge %d %d %d", data[i].fromPort, data[i].toPort, data[i].type);
  Pointer executable = instantiate(graph);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
}

SEQUENCE(capture_joins_twice) {
  Setup s;
  Pointer a = makeEvent(), b = makeEvent();
  say("begin: %d", begin(s.stream));
  say("launch %d", launchAdd(s, s.stream, s.memory, 1));
  cu("cuEventRecord", a, s.stream);
  say("launch %d", launchAdd(s, s.stream, s.memory, 1));
  cu("cuStreamWaitEvent", s.other, a, 0u);
  cu("cuEventRecord", b, s.stream);
  cu("cuStreamWaitEvent", s.other, b, 0u);
  say("launch %d", launchAdd(s, s.other, s.memory, 1));
  cu("cuEventRecord", a, s.other);
  cu("cuStreamWaitEvent", s.stream, a, 0u);
  cu("cuStreamWaitEvent", s.stream, b, 0u);
  say("launch %d", launchAdd(s, s.stream, s.memory, 1));
  sayGraph("graph", end(s.stream));
}

SEQUENCE(capture_waits_on_the_legacy_stream) {
  Setup s;
  Pointer event = makeEvent();
  say("begin: %d", begin(s.stream));
  say("launch %d", launchAdd(s, s.stream, s.memory, 1));
  cu("cuEventRecord", event, s.stream);
  cu("cuStreamWaitEvent", kNone, event, 0u);
  sayCapture(s.stream);
  end(s.stream);
}

void hostFunction(void *data) { ++*static_cast<int *>(data); }
void callback(void *, int status, void *data) { *static_cast<int *>(data) += 10 + status; }

SEQUENCE(capture_of_host_functions) {
  Setup s;
  static int count = 0;
  say("begin: %d", begin(s.stream));
  cu("cuLaunchHostFunc", s.stream, hostFunction, Pointer(&count));
  say("launch %d", launchAdd(s, s.stream, s.memory, 1));
  cu("cuStreamAddCallback", s.stream, callback, Pointer(&count), 0u);
  sayCapture(s.stream);
  Pointer graph = end(s.stream);
  if (graph) {
    sayGraph("graph", graph);
    Pointer executable = instantiate(graph);
    cu("cuGraphLaunch", executable, s.stream);
    cu("cuStreamSynchronize", s.stream);
    say("count %d", count);
  }
}

SEQUENCE(capture_of_copies_and_fills) {
  Setup s;
  int pageable[64] = {9, 8};
  struct {
    size_t fromX, fromY;
    int fromType;
    Pointer fromHost, fromDevice, fromArray;
    size_t fromPitch, toX, toY;
    int toType;
    Pointer toHost, toDevice, toArray;
    size_t toPitch, width, height;
  } plane = {0, 0, 2, kNone, s.memory, kNone, 32, 0, 0, 2, kNone, s.memory2, kNone, 32, 16, 4};
  say("begin: %d", begin(s.stream));
  cu("cuMemcpyHtoDAsync_v2", s.memory, static_cast<const void *>(pageable), size_t(256), s.stream);
  cu("cuMemcpyDtoDAsync_v2", s.memory2, s.memory, size_t(256), s.stream);
  cu("cuMemcpyAsync", Pointer(s.host), s.memory2, size_t(256), s.stream);
  cu("cuMemcpyDtoHAsync_v2", Pointer(pageable + 32), s.memory2, size_t(8), s.stream);
  cu("cuMemsetD8Async", s.memory, static_cast<unsigned char>(1), size_t(3), s.stream);
  cu("cuMemsetD16Async", s.memory, static_cast<unsigned short>(2), size_t(3), s.stream);
  cu("cuMemsetD2D8Async", s.memory, size_t(32), static_cast<unsigned char>(3), size_t(16),
     size_t(4), s.stream);
  cu("cuMemcpy2DAsync_v2", &plane, s.stream);
  cu("cuMemcpyDtoDAsync_v2", s.memory2, s.memory, size_t(0), s.stream);
  cu("cuMemsetD32Async", s.memory, 7u, size_t(0), s.stream);
  sayCapture(s.stream);
  Pointer graph = end(s.stream);
  sayGraph("graph", graph);
  Pointer executable = instantiate(graph);
  pageable[0] = 77;
  cu("cuGraphLaunch", executable, s.stream);
  cu("cuStreamSynchronize", s.stream);
  say("host %d %d %d, pageable %d", s.host[0], s.host[1], s.host[63], pageable[32]);
  sayMemory("memory", s.memory);
  sayMemory("memory2", s.memory2);
}

SEQUENCE(capture_of_allocations) {
  Setup s;
  Pointer a = kNone, b = kNone;
  say("begin: %d", begin(s.stream));
  cu("cuMemAllocAsync", &a, size_t(256), s.stream);
  cu("cuMemsetD32Async", a, 4u, size_t(64), s.stream);
  say("launch %d", launchAdd(s, s.stream, a, 3));
  cu("cuMemcpyDtoDAsync_v2", s.memory, a, size_t(256), s.stream);
  cu("cuMemFreeAsync", a, s.stream);
  cu("cuMemFreeAsync", a, s.stream);
  sayCapture(s.stream);
  Pointer graph = end(s.stream);
  sayGraph("graph", graph);
  Pointer executable = instantiate(graph);
  for (int i = 0; i < 2; ++i) {
    cu("cuGraphLaunch", executable, s.stream);
    sayMemory("memory", s.memory);
  }
  cu("cuMemFreeAsync", a, s.stream);
  quiet("cuMemAllocAsync", &b, size_t(256), s.stream);
  say("begin: %d", begin(s.stream));
  cu("cuMemFreeAsync", b, s.stream);
  sayCapture(s.stream);
  sayGraph("graph", end(s.stream));
}

} // namespace
} // namespace sequences
