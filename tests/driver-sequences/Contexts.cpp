// SPDX-License-Identifier: Apache-2.0
// Contexts: their stack, flags, limits and ends, those of others; green contexts.
#include "tests/driver-sequences/Sequence.h"
#include <cstring>

namespace sequences {
namespace {

Pointer makeContext(unsigned flags = 0) {
  Pointer context = kNone;
  cu("cuCtxCreate_v2", &context, flags, 0);
  return context;
}
void sayCurrent() {
  Pointer current = kNone;
  const int code = quiet("cuCtxGetCurrent", &current);
  say("current %d: %s", code, nameOf(current));
}

SEQUENCE(stack_of_contexts) {
  cu("cuInit", 0u);
  sayCurrent();
  Pointer popped = kNone;
  cu("cuCtxPopCurrent_v2", &popped);
  Pointer first = named(makeContext(), "first"), second = named(makeContext(), "second");
  sayCurrent();
  cu("cuCtxPopCurrent_v2", &popped);
  say("popped %s", nameOf(popped));
  sayCurrent();
  cu("cuCtxPushCurrent_v2", second);
  cu("cuCtxPushCurrent_v2", second);
  cu("cuCtxPushCurrent_v2", kNone);
  sayCurrent();
  cu("cuCtxSetCurrent", first);
  cu("cuCtxPopCurrent_v2", static_cast<Pointer *>(nullptr));
  sayCurrent();
  cu("cuCtxSetCurrent", kNone);
  sayCurrent();
  cu("cuCtxPopCurrent_v2", &popped);
  say("popped %s", nameOf(popped));
  sayCurrent();
  cu("cuCtxSetCurrent", kNone);
  cu("cuCtxSetCurrent", kNone);
  sayCurrent();
  cu("cuCtxPopCurrent_v2", &popped);
  cu("cuCtxGetCurrent", static_cast<Pointer *>(nullptr));
  cu("cuCtxPopCurrent", &popped);
  cu("cuCtxPushCurrent", first);
  sayCurrent();
}

SEQUENCE(contexts_made_wrongly) {
  cu("cuInit", 0u);
  Pointer context = kNone;
  for (unsigned flags : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 0xcu, 0x10u, 0x20u, 0x40u, 0x80u,
                         0x100u, 0x80000000u}) {
    context = kNone;
    const int code = quiet("cuCtxCreate_v2", &context, flags, 0);
    unsigned got = 77;
    const int asked = code ? -1 : quiet("cuCtxGetFlags", &got);
    say("flags %x: %d, asked %d %x", flags, code, asked, got);
    if (!code)
      quiet("cuCtxDestroy_v2", context);
  }
  cu("cuCtxCreate_v2", &context, 0u, 99);
  cu("cuCtxCreate_v2", &context, 0u, -1);
  cu("cuCtxCreate_v2", static_cast<Pointer *>(nullptr), 0u, 0);
  cu("cuCtxCreate", &context, 0u, 99);
  cu("cuCtxCreate_v3", &context, kNone, 1, 0u, 0);
  cu("cuCtxCreate_v4", &context, kNone, 0u, 99);
}

SEQUENCE(context_destroyed_that_is_current) {
  cu("cuInit", 0u);
  Pointer first = named(makeContext(), "first"), second = named(makeContext(), "second");
  cu("cuCtxDestroy_v2", second);
  sayCurrent();
  Pointer memory = kNone;
  cu("cuMemAlloc_v2", &memory, size_t(64));
  cu("cuCtxDestroy_v2", first);
  sayCurrent();
  cu("cuMemAlloc_v2", &memory, size_t(64));
  cu("cuCtxSynchronize");
}

SEQUENCE(context_destroyed_that_is_below) {
  cu("cuInit", 0u);
  Pointer first = named(makeContext(), "first");
  named(makeContext(), "second");
  cu("cuCtxDestroy_v2", first);
  sayCurrent();
  Pointer popped = kNone;
  cu("cuCtxPopCurrent_v2", &popped);
  say("popped %s", nameOf(popped));
  Pointer memory = kNone;
  cu("cuMemAlloc_v2", &memory, size_t(64));
  unsigned version = 0;
  cu("cuCtxGetApiVersion", kNone, &version);
}

SEQUENCE(contexts_destroyed_wrongly) {
  cu("cuInit", 0u);
  cu("cuCtxDestroy_v2", kNone);
  cu("cuCtxDestroy", kNone);
  Pointer primary = kNone;
  cu("cuDevicePrimaryCtxRetain", &primary, 0);
  cu("cuCtxDestroy_v2", primary);
  cu("cuCtxSetCurrent", primary);
  cu("cuCtxSynchronize");
  cu("cuCtxDetach", primary);
}

SEQUENCE(context_set_after_its_end) {
  cu("cuInit", 0u);
  Pointer context = makeContext();
  cu("cuCtxDestroy_v2", context);
  cu("cuCtxSetCurrent", context);
  cu("cuCtxPushCurrent_v2", context);
  cu("cuCtxDestroy_v2", context);
}

SEQUENCE(limits) {
  Plain s;
  for (int limit = 0; limit <= 12; ++limit) {
    size_t value = 77;
    const int code = quiet("cuCtxGetLimit", &value, limit);
    const bool isSame = limit != 0x05 && limit != 6;
    say("limit %d: %d, %s", limit, code, isSame || code ? std::to_string(value).c_str() : "some");
  }
  cu("cuCtxGetLimit", static_cast<size_t *>(nullptr), 0);
  size_t value = 0;
  cu("cuCtxGetLimit", &value, -1);
}

SEQUENCE(limits_set) {
  Plain s;
  for (int limit : {0, 1, 2, 3, 4, 5, 7, 8, 9, 99})
    for (size_t wanted : {size_t(0), size_t(1), size_t(5000), size_t(1) << 40}) {
      size_t value = 77;
      const int code = quiet("cuCtxSetLimit", limit, wanted);
      const int asked = quiet("cuCtxGetLimit", &value, limit);
      say("limit %d set to %zx: %d, then %d", limit, wanted, code, asked);
      if (!code && (limit == 1 || limit == 2))
        say("  enough %d", value >= wanted);
    }
}

SEQUENCE(heap_and_ring_that_are_in_use) {
  Setup s;
  cu("cuCtxSetLimit", 1, size_t(2 << 20));
  cu("cuCtxSetLimit", 2, size_t(16 << 20));
  cu("cuCtxSetLimit", 0, size_t(2048));
  launchAdd(s, s.stream, s.memory, 1);
  cu("cuCtxSetLimit", 0, size_t(4096));
  sayMemory("memory", s.memory);
}

SEQUENCE(primary_context) {
  cu("cuInit", 0u);
  Pointer first = kNone, second = kNone;
  unsigned flags = 77;
  int active = 77;
  auto state = [&] {
    const int code = quiet("cuDevicePrimaryCtxGetState", 0, &flags, &active);
    say("state %d: flags %x, active %d", code, flags, active);
  };
  state();
  cu("cuDevicePrimaryCtxSetFlags_v2", 0, 4u);
  state();
  cu("cuDevicePrimaryCtxRetain", &first, 0);
  state();
  cu("cuDevicePrimaryCtxRetain", &second, 0);
  say("the same %d", first == second);
  named(first, "primary");
  sayCurrent();
  cu("cuCtxSetCurrent", first);
  cu("cuCtxGetFlags", &flags);
  say("flags %x", flags);
  Pointer memory = kNone;
  cu("cuMemAlloc_v2", &memory, size_t(64));
  cu("cuDevicePrimaryCtxSetFlags_v2", 0, 1u);
  state();
  cu("cuDevicePrimaryCtxRelease_v2", 0);
  state();
  cu("cuMemFree_v2", memory);
  cu("cuDevicePrimaryCtxRelease_v2", 0);
  state();
  sayCurrent();
  cu("cuMemAlloc_v2", &memory, size_t(64));
  cu("cuDevicePrimaryCtxRelease_v2", 0);
  cu("cuDevicePrimaryCtxRetain", &second, 0);
  cu("cuMemAlloc_v2", &memory, size_t(64));
}

SEQUENCE(primary_context_reset) {
  cu("cuInit", 0u);
  Pointer primary = kNone, memory = kNone;
  unsigned flags = 77;
  int active = 77;
  cu("cuDevicePrimaryCtxRetain", &primary, 0);
  cu("cuCtxSetCurrent", primary);
  cu("cuMemAlloc_v2", &memory, size_t(64));
  cu("cuDevicePrimaryCtxReset_v2", 0);
  cu("cuDevicePrimaryCtxGetState", 0, &flags, &active);
  say("active %d", active);
  cu("cuCtxSynchronize");
  cu("cuDevicePrimaryCtxRetain", &primary, 0);
  cu("cuCtxSynchronize");
}

SEQUENCE(primary_contexts_asked_wrongly) {
  cu("cuInit", 0u);
  Pointer context = kNone;
  unsigned flags = 77;
  int active = 77;
  cu("cuDevicePrimaryCtxRetain", &context, 99);
  cu("cuDevicePrimaryCtxRetain", &context, -1);
  cu("cuDevicePrimaryCtxRetain", static_cast<Pointer *>(nullptr), 0);
  cu("cuDevicePrimaryCtxRelease_v2", 99);
  cu("cuDevicePrimaryCtxReset_v2", 99);
  cu("cuDevicePrimaryCtxGetState", 99, &flags, &active);
  cu("cuDevicePrimaryCtxGetState", 0, static_cast<unsigned *>(nullptr), &active);
  cu("cuDevicePrimaryCtxGetState", 0, &flags, static_cast<int *>(nullptr));
  cu("cuDevicePrimaryCtxSetFlags_v2", 99, 0u);
  for (unsigned wanted : {3u, 8u, 0x10u, 0x20u, 0x40u, 0x80u, 0x100u})
    say("flags %x: %d", wanted, quiet("cuDevicePrimaryCtxSetFlags_v2", 0, wanted));
}

SEQUENCE(flags_of_a_context_set) {
  Plain s;
  for (unsigned flags : {0u, 1u, 2u, 4u, 3u, 8u, 0x10u, 0x20u, 0x40u, 0x80u, 0x100u}) {
    unsigned got = 77;
    const int code = quiet("cuCtxSetFlags", flags);
    const int asked = quiet("cuCtxGetFlags", &got);
    say("flags %x: %d, then %d %x", flags, code, asked, got);
  }
  cu("cuCtxGetFlags", static_cast<unsigned *>(nullptr));
}

SEQUENCE(memory_of_another_context) {
  Plain s;
  Pointer second = makeContext();
  cu("cuMemsetD32_v2", s.memory, 4u, size_t(64));
  sayMemory("memory", s.memory);
  Pointer owner = kNone;
  cu("cuPointerGetAttribute", Pointer(&owner), 1, s.memory);
  say("of %s", nameOf(owner));
  cu("cuMemFree_v2", s.memory);
  cu("cuMemFreeHost", Pointer(s.host));
  cu("cuCtxDestroy_v2", second);
}

SEQUENCE(stream_of_another_context) {
  Setup s;
  Pointer event = kNone, own = kNone, second = named(makeContext(), "second");
  cu("cuEventCreate", &event, 0u);
  cu("cuStreamCreate", &own, 0u);
  cu("cuMemsetD32Async", s.memory, 4u, size_t(64), s.stream);
  say("launch %d", launchAdd(s, s.stream, s.memory, 1));
  say("launch %d", launchAdd(s, own, s.memory, 1));
  cu("cuEventRecord", event, s.stream);
  cu("cuEventRecord", event, own);
  cu("cuStreamWaitEvent", s.stream, event, 0u);
  cu("cuStreamSynchronize", s.stream);
  Pointer of = kNone;
  cu("cuStreamGetCtx", s.stream, &of);
  say("of %s", nameOf(of));
  cu("cuStreamDestroy_v2", s.stream);
  cu("cuCtxDestroy_v2", second);
  sayMemory("memory", s.memory);
}

SEQUENCE(module_of_another_context) {
  Setup s;
  makeContext();
  say("launch %d", launchAdd(s, kNone, s.memory, 1));
  Pointer function = kNone;
  cu("cuModuleGetFunction", &function, s.module, "add");
  int value = 0;
  cu("cuFuncGetAttribute", &value, 0, s.add);
  cu("cuModuleUnload", s.module);
}

SEQUENCE(objects_of_a_context_that_ended) {
  cu("cuInit", 0u);
  makeContext();
  Pointer second = makeContext(), memory = kNone, host = kNone;
  cu("cuMemAlloc_v2", &memory, size_t(64));
  cu("cuMemHostAlloc", &host, size_t(64), 1u);
  cu("cuCtxDestroy_v2", second);
  cu("cuMemFree_v2", memory);
  cu("cuMemsetD32_v2", memory, 1u, size_t(1));
  int type = 0;
  cu("cuPointerGetAttribute", Pointer(&type), 2, memory);
  cu("cuMemFreeHost", host);
}

SEQUENCE(contexts_asked_wrongly) {
  Plain s;
  unsigned version = 0;
  int device = 0;
  uint64_t id = 0;
  cu("cuCtxGetApiVersion", kNone, &version);
  say("version some %d", version > 3000);
  cu("cuCtxGetApiVersion", s.context, static_cast<unsigned *>(nullptr));
  cu("cuCtxGetId", kNone, &id);
  say("id some %d", id != 0);
  cu("cuCtxGetId", s.context, static_cast<uint64_t *>(nullptr));
  cu("cuCtxGetDevice", static_cast<int *>(nullptr));
  cu("cuCtxGetDevice_v2", &device, s.context);
  cu("cuCtxGetDevice_v2", &device, kNone);
  cu("cuCtxSynchronize_v2", kNone);
  cu("cuCtxGetStreamPriorityRange", static_cast<int *>(nullptr), static_cast<int *>(nullptr));
  for (int config : {-1, 0, 1, 2, 3, 4})
    say("config %d: %d %d", config, quiet("cuCtxSetCacheConfig", config),
        quiet("cuCtxSetSharedMemConfig", config));
  cu("cuCtxGetCacheConfig", static_cast<int *>(nullptr));
  cu("cuCtxGetSharedMemConfig", static_cast<int *>(nullptr));
}

SEQUENCE(peers_of_one_device) {
  Plain s;
  Pointer second = makeContext();
  cu("cuCtxEnablePeerAccess", s.context, 0u);
  cu("cuCtxEnablePeerAccess", s.context, 1u);
  cu("cuCtxEnablePeerAccess", second, 0u);
  cu("cuCtxEnablePeerAccess", kNone, 0u);
  cu("cuCtxDisablePeerAccess", s.context);
  cu("cuCtxDisablePeerAccess", second);
  cu("cuCtxDisablePeerAccess", kNone);
  int can = 77, value = 77;
  cu("cuDeviceCanAccessPeer", &can, 0, 99);
  cu("cuDeviceCanAccessPeer", &can, 99, 0);
  cu("cuDeviceCanAccessPeer", static_cast<int *>(nullptr), 0, 0);
  for (int id : {0, 1, 2, 3, 4, 5, 99}) {
    value = 77;
    const int code = quiet("cuDeviceGetP2PAttribute", &value, id, 0, 0);
    say("attribute %d: %d, %d", id, code, value);
  }
  cu("cuDeviceGetP2PAttribute", &value, 1, 0, 99);
}

// ---------- Green contexts

struct Resource { // CUdevResource
  int type;
  unsigned char padding[92];
  unsigned count, others[11];
  unsigned char rest[64];
};

struct Green : Plain {
  Resource whole{};
  Pointer list = kNone, green = kNone;
  Green() {
    cu("cuDeviceGetDevResource", 0, &whole, 1);
    cu("cuDevResourceGenerateDesc", &list, &whole, 1u);
    cu("cuGreenCtxCreate", &green, list, 0, 1u);
  }
};

SEQUENCE(green_context) {
  Green s;
  Pointer context = kNone, stream = kNone, other = kNone, event = kNone;
  unsigned flags = 77;
  int active = 77;
  cu("cuDevicePrimaryCtxGetState", 0, &flags, &active);
  say("primary active %d", active);
  cu("cuCtxFromGreenCtx", &context, s.green);
  cu("cuCtxSetCurrent", context);
  cu("cuGreenCtxStreamCreate", &stream, s.green, 1u, 0);
  Pointer memory = kNone;
  cu("cuMemAlloc_v2", &memory, size_t(256));
  cu("cuMemsetD32Async", memory, 5u, size_t(64), stream);
  cu("cuStreamGetGreenCtx", stream, &other);
  say("green %d", other == s.green);
  cu("cuStreamGetCtx_v2", stream, &context, &other);
  say("green %d", other == s.green);
  cu("cuEventCreate", &event, 2u);
  cu("cuGreenCtxRecordEvent", s.green, event);
  cu("cuGreenCtxWaitEvent", s.green, event);
  cu("cuEventSynchronize", event);
  cu("cuStreamSynchronize", stream);
  sayMemory("memory", memory);
  Resource resource{};
  cu("cuGreenCtxGetDevResource", s.green, &resource, 1);
  say("all %d", resource.count == s.whole.count);
  cu("cuStreamDestroy_v2", stream);
  cu("cuGreenCtxDestroy", s.green);
}

SEQUENCE(green_contexts_made_wrongly) {
  Green s;
  Pointer green = kNone, list = kNone;
  for (unsigned flags : {0u, 2u, 3u})
    say("flags %u: %d", flags, quiet("cuGreenCtxCreate", &green, s.list, 0, flags));
  cu("cuGreenCtxCreate", &green, s.list, 99, 1u);
  cu("cuGreenCtxCreate", &green, kNone, 0, 1u);
  cu("cuGreenCtxCreate", static_cast<Pointer *>(nullptr), s.list, 0, 1u);
  cu("cuDevResourceGenerateDesc", &list, &s.whole, 0u);
  cu("cuDevResourceGenerateDesc", &list, static_cast<Resource *>(nullptr), 1u);
  cu("cuDevResourceGenerateDesc", static_cast<Pointer *>(nullptr), &s.whole, 1u);
  Resource none{};
  cu("cuDevResourceGenerateDesc", &list, &none, 1u);
}

SEQUENCE(streams_of_green_contexts) {
  Green s;
  Pointer stream = kNone, context = kNone;
  for (unsigned flags : {0u, 1u, 2u, 3u})
    say("flags %u: %d", flags, quiet("cuGreenCtxStreamCreate", &stream, s.green, flags, 0));
  cu("cuGreenCtxStreamCreate", &stream, s.green, 1u, -1);
  cu("cuGreenCtxStreamCreate", &stream, s.green, 1u, 100);
  cu("cuGreenCtxStreamCreate", static_cast<Pointer *>(nullptr), s.green, 1u, 0);
  cu("cuCtxFromGreenCtx", static_cast<Pointer *>(nullptr), s.green);
  Pointer green = &s;
  cu("cuStreamGetGreenCtx", s.stream, &green);
  say("%s", green ? "set" : "null");
  cu("cuStreamGetCtx_v2", s.stream, &context, &green);
  say("%s, %s", nameOf(context), green ? "set" : "null");
  cu("cuStreamGetGreenCtx", s.stream, static_cast<Pointer *>(nullptr));
}

SEQUENCE(resources_split_wrongly) {
  Green s;
  Resource groups[2] = {}, rest{};
  unsigned count = 1;
  auto split = [&](const char *what, Resource *out, unsigned *number, const Resource *input,
                   unsigned flags, unsigned least) {
    const int code = quiet("cuDevSmResourceSplitByCount", out, number, input, &rest, flags, least);
    say("%s: %d, %u", what, code, code || !number ? 0 : *number);
    count = 1;
  };
  split("one group of all", groups, &count, &s.whole, 0, s.whole.count);
  split("more than there is", groups, &count, &s.whole, 0, s.whole.count + 8);
  split("into null", nullptr, &count, &s.whole, 0, s.whole.count);
  split("without a count", groups, nullptr, &s.whole, 0, 8);
  split("of null", groups, &count, nullptr, 0, 8);
  split("with flags 4", groups, &count, &s.whole, 4, s.whole.count);
  Resource wrong = s.whole;
  wrong.type = 0;
  split("of nothing", groups, &count, &wrong, 0, 8);
  wrong.type = 99;
  split("of something else", groups, &count, &wrong, 0, 8);
}

SEQUENCE(green_contexts_of_null) {
  Plain s;
  Pointer event = kNone, context = kNone, stream = kNone;
  Resource resource{};
  quiet("cuEventCreate", &event, 0u);
  cu("cuCtxFromGreenCtx", &context, kNone);
  cu("cuGreenCtxGetDevResource", kNone, &resource, 1);
  cu("cuGreenCtxRecordEvent", kNone, event);
  cu("cuGreenCtxWaitEvent", kNone, event);
  cu("cuGreenCtxStreamCreate", &stream, kNone, 1u, 0);
  cu("cuGreenCtxDestroy", kNone);
}

} // namespace
} // namespace sequences
