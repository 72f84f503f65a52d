// SPDX-License-Identifier: Apache-2.0
// What a fault on one device does to the contexts of a process.
#include "tests/driver-sequences/two-devices/TwoDevices.h"

namespace sequences {
namespace {

constexpr const char *kFaults = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry stop(.param .u64 unused, .param .u32 unused2)
{
  trap;
  ret;
}
)";

void sayStates(TwoDevices &d) {
  for (int i : {0, 1}) {
    use(d[i]);
    say("device %d: synchronize %d", i, quiet("cuCtxSynchronize"));
    sayLaunch("  then", d[i], d[i].memory, 2);
    Pointer memory = kNone;
    say("  allocate %d", quiet("cuMemAlloc_v2", &memory, size_t(64)));
  }
}

/// Ends the contexts and makes others.
void sayLifeAfter(TwoDevices &d) {
  for (int i : {0, 1})
    say("destroy %d", quiet("cuCtxDestroy_v2", d[i].context));
  for (int i : {0, 1}) {
    Pointer context = kNone, memory = kNone, primary = kNone;
    const int made = quiet("cuCtxCreate_v2", &context, 0u, i);
    const int allocated = quiet("cuMemAlloc_v2", &memory, size_t(64));
    say("device %d: create %d, allocate %d", i, made, allocated);
    say("  primary: retain %d", quiet("cuDevicePrimaryCtxRetain", &primary, i));
    say("  set %d", quiet("cuCtxSetCurrent", primary));
    say("  allocate %d", quiet("cuMemAlloc_v2", &memory, size_t(64)));
    say("  reset %d", quiet("cuDevicePrimaryCtxReset_v2", i));
    say("  allocate %d", quiet("cuMemAlloc_v2", &memory, size_t(64)));
  }
}

SEQUENCE(fault_of_one_of_two_devices) {
  TwoDevices d;
  sayLaunch("device 1", d.second, at(kNone, 256), 1);
  sayStates(d);
}

SEQUENCE(life_after_a_fault_of_one_of_two_devices) {
  TwoDevices d;
  sayLaunch("device 1", d.second, at(kNone, 256), 1);
  sayLifeAfter(d);
}

SEQUENCE(life_after_a_fault_of_peers) {
  TwoDevices d;
  d.enableBoth();
  use(d.second);
  sayLaunch("device 0", d.first, at(kNone, 256), 1);
  use(d.second);
  sayLifeAfter(d);
}

SEQUENCE(trap_of_one_of_two_devices) {
  TwoDevices d;
  Pointer module = kNone;
  Setup trapping = d.second;
  use(d.second);
  cu("cuModuleLoadData", &module, static_cast<const void *>(kFaults));
  cu("cuModuleGetFunction", &trapping.add, module, "stop");
  sayLaunch("device 1", trapping, d.second.memory, 1);
  sayStates(d);
  sayLifeAfter(d);
}

SEQUENCE(trap_of_a_graph_on_the_other_device) {
  TwoDevices d;
  Pointer module = kNone, graph = makeGraph(), added = kNone;
  Setup trapping = d.second;
  use(d.second);
  cu("cuModuleLoadData", &module, static_cast<const void *>(kFaults));
  cu("cuModuleGetFunction", &trapping.add, module, "stop");
  use(d.first);
  KernelParameters stop = addParameters(trapping, d.second.memory, 3);
  stop.context = d.second.context;
  cu("cuGraphAddKernelNode_v2", &added, graph, static_cast<const Pointer *>(nullptr), size_t(0),
     static_cast<const KernelParameters *>(&stop));
  Pointer executable = instantiate(graph);
  say("launch %d", launchFirst(executable, d.first.stream));
  say("wait %d", quiet("cuStreamSynchronize", d.first.stream));
}

SEQUENCE(fault_of_one_of_two_contexts) {
  Setup first(0), second(0);
  sayLaunch("second", second, at(kNone, 256), 1);
  use(first);
  say("first: synchronize %d", quiet("cuCtxSynchronize"));
  sayLaunch("first", first, first.memory, 1);
  cu("cuCtxDestroy_v2", second.context);
  sayLaunch("first", first, first.memory, 1);
  sayWords("memory", first.memory);
}

} // namespace
} // namespace sequences
