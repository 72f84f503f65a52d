// SPDX-License-Identifier: Apache-2.0
// Calls of CUDA's first versions, which programs still make: launches whose parameters are set one
// by one, contexts that are attached to, the profiler's switches.
#include "tests/driver-sequences/Sequence.h"

namespace sequences {
namespace {

SEQUENCE(launch_of_the_first_version) {
  Setup s;
  cu("cuFuncSetBlockShape", s.add, 64, 1, 1);
  cu("cuFuncSetSharedSize", s.add, 0u);
  cu("cuParamSetSize", s.add, 12u);
  cu("cuParamSetv", s.add, 0, Pointer(&s.memory), 8u);
  cu("cuParamSeti", s.add, 8, 3u);
  cu("cuLaunch", s.add);
  cu("cuLaunchGrid", s.add, 1, 1);
  cu("cuLaunchGridAsync", s.add, 1, 1, s.stream);
  sayMemory("memory", s.memory);
  cu("cuParamSeti", s.add, 8, 100u);
  cu("cuFuncSetBlockShape", s.add, 1, 1, 1);
  cu("cuLaunchGrid", s.add, 1, 1);
  sayMemory("memory", s.memory);
  cu("cuParamSetf", s.add, 8, 1.0f);
  cu("cuLaunch", s.add);
  sayMemory("memory", s.memory);
  launchAdd(s, s.stream, s.memory2, 1); // has its own shape and parameters
  sayMemory("memory2", s.memory2);
}

SEQUENCE(launch_of_the_first_version_refused) {
  Setup s;
  cu("cuLaunch", s.twice);
  cu("cuFuncSetBlockShape", s.twice, 0, 1, 1);
  cu("cuFuncSetBlockShape", s.twice, 2048, 1, 1);
  cu("cuFuncSetBlockShape", s.twice, 32, 1, 128);
  cu("cuFuncSetBlockShape", s.twice, -1, 1, 1);
  cu("cuFuncSetBlockShape", s.twice, 64, 1, 1);
  cu("cuFuncSetSharedSize", s.twice, 1u << 20);
  cu("cuParamSetSize", s.twice, 4u);
  cu("cuParamSetSize", s.twice, 8u);
  cu("cuParamSetSize", s.twice, 16u);
  cu("cuParamSetSize", s.twice, 1u << 20);
  cu("cuParamSetv", s.twice, 4, Pointer(&s.memory), 8u);
  cu("cuParamSetv", s.twice, -8, Pointer(&s.memory), 8u);
  cu("cuParamSetv", s.twice, 0, kNone, 8u);
  cu("cuParamSetv", s.twice, 1 << 20, Pointer(&s.memory), 8u);
  cu("cuParamSeti", s.twice, 1 << 20, 1u);
  cu("cuParamSeti", s.twice, 2, 1u);
  cu("cuParamSetf", s.twice, -4, 1.0f);
  cu("cuFuncSetSharedSize", s.twice, 0u);
  cu("cuParamSetSize", s.twice, 8u);
  cu("cuParamSetv", s.twice, 0, Pointer(&s.memory), 8u);
  cu("cuLaunchGrid", s.twice, 0, 1);
  cu("cuLaunchGrid", s.twice, 1, 0);
  cu("cuLaunchGrid", s.twice, 1, 70000);
  cu("cuLaunchGrid", s.twice, -1, 1);
  cu("cuLaunchGridAsync", kNone, 1, 1, s.stream);
  cu("cuFuncSetBlockShape", kNone, 64, 1, 1);
  cu("cuFuncSetSharedSize", kNone, 0u);
  cu("cuParamSetSize", kNone, 8u);
  cu("cuParamSetv", kNone, 0, Pointer(&s.memory), 8u);
  cu("cuParamSeti", kNone, 0, 1u);
  cu("cuParamSetf", kNone, 0, 1.0f);
  cu("cuLaunch", kNone);
  sayMemory("memory", s.memory);
}

SEQUENCE(launch_of_the_first_version_captured) {
  Setup s;
  cu("cuFuncSetBlockShape", s.add, 64, 1, 1);
  cu("cuParamSetSize", s.add, 12u);
  cu("cuParamSetv", s.add, 0, Pointer(&s.memory), 8u);
  cu("cuParamSeti", s.add, 8, 3u);
  quiet("cuStreamBeginCapture_v2", s.stream, 0);
  cu("cuLaunchGridAsync", s.add, 1, 1, s.stream);
  sayCapture(s.stream);
  Pointer graph = kNone;
  cu("cuStreamEndCapture", s.stream, &graph);
  if (!graph)
    return;
  sayGraph("graph", graph);
  cu("cuGraphLaunch", instantiate(graph), s.stream);
  sayMemory("memory", s.memory);
}

SEQUENCE(context_attached) {
  Setup s;
  Pointer context = kNone, *null = nullptr;
  cu("cuCtxAttach", &context, 0u);
  say("%s", nameOf(context));
  cu("cuCtxAttach", &context, 1u);
  cu("cuCtxAttach", null, 0u);
  cu("cuCtxDetach", s.context);
  cu("cuCtxGetCurrent", &context);
  say("%s", nameOf(context));
  sayMemory("memory", s.memory);
  cu("cuCtxDetach", kNone);
  cu("cuCtxSetCurrent", kNone);
  cu("cuCtxAttach", &context, 0u);
  cu("cuCtxDetach", s.context);
}

SEQUENCE(profiler) {
  Setup s;
  const char *text = "x", *null = nullptr;
  cu("cuProfilerInitialize", text, text, 0);
  cu("cuProfilerInitialize", null, null, 1);
  cu("cuProfilerStart");
  cu("cuProfilerStart");
  cu("cuProfilerStop");
  cu("cuProfilerStop");
  cu("cuCtxSetCurrent", kNone);
  cu("cuProfilerStart");
  cu("cuProfilerStop");
}

SEQUENCE(functions_loaded) {
  Setup s;
  int state = -1, *null = nullptr;
  cu("cuFuncIsLoaded", &state, s.add);
  say("state %d", state);
  static const char ptx[] = ".version 7.0\n.target sm_80\n.visible .entry k()\n{\nret;\n}\n";
  Pointer module = kNone, function = kNone;
  cu("cuModuleLoadData", &module, static_cast<const void *>(ptx));
  cu("cuModuleGetFunction", &function, module, "k");
  cu("cuFuncIsLoaded", &state, function);
  say("state %d", state);
  cu("cuFuncLoad", function);
  cu("cuFuncIsLoaded", &state, function);
  say("state %d", state);
  cu("cuFuncIsLoaded", null, function);
  cu("cuFuncIsLoaded", &state, kNone);
  cu("cuFuncLoad", kNone);
}

struct LaunchParameters { // CUDA_LAUNCH_PARAMS
  Pointer function;
  unsigned grid[3], block[3], sharedBytes;
  Pointer stream;
  void **values;
};

SEQUENCE(cooperative_launch_on_many_devices) {
  Setup s;
  int value = 3;
  void *values[] = {&s.memory, &value};
  LaunchParameters p{s.add, {1, 1, 1}, {64, 1, 1}, 0, s.stream, values}, *null = nullptr;
  cu("cuLaunchCooperativeKernelMultiDevice", &p, 1u, 0u);
  cu("cuLaunchCooperativeKernelMultiDevice", &p, 1u, 3u);
  sayMemory("memory", s.memory);
  cu("cuLaunchCooperativeKernelMultiDevice", &p, 1u, 4u);
  cu("cuLaunchCooperativeKernelMultiDevice", &p, 0u, 0u);
  cu("cuLaunchCooperativeKernelMultiDevice", null, 1u, 0u);
  LaunchParameters two[] = {p, p};
  cu("cuLaunchCooperativeKernelMultiDevice", &two[0], 2u, 0u);
  p.stream = kNone;
  cu("cuLaunchCooperativeKernelMultiDevice", &p, 1u, 0u);
  sayMemory("memory", s.memory);
}

} // namespace
} // namespace sequences
