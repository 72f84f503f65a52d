// SPDX-License-Identifier: Apache-2.0
// cuGetExportTable: tables of functions without names, which NVIDIA's runtime and libraries ask for
// by UUID. What the slots that are used do was found by measuring what callers accept, and in
// ZLUDA's published source; see each table. The tables live as long as the process: their addresses
// are part of what cudart checks.
//
// A slot that nobody was seen to use is a function that says so in the log and fails; an unknown
// table is refused.
#include "runtime/cuda/Api.h"
#include "runtime/cuda/Context.h"
#include "runtime/cuda/Handshake.h"
#include "runtime/cuda/Module.h"
#include "runtime/cuda/Stream.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>
#include <utility>

using namespace llvm;

namespace rubia::runtime::cuda {

// One function per slot, so that the log names it.
template <char Table, unsigned Slot> static Result unknownSlot() {
  static constexpr const char *kTables[] = {"CudartInterface",
                                            "ToolsTls",
                                            "ToolsRuntimeCallbackHooks",
                                            "ContextLocalStorage",
                                            "ContextChecks",
                                            "IntegrityCheck",
                                            "ToolsContext",
                                            "ToolsModule",
                                            "1734DC26",
                                            "CtxCreateBypass",
                                            "HeapAccess",
                                            "DeviceExtendedRt",
                                            "7CB63F9B"};
  logOnce(LogLevel::Warning, Twine("slot ") + Twine(Slot) + " of the export table " +
                                 kTables[Table - 'A'] + " was called; it is not supported");
  return kNotSupported;
}

using Slot = void *;

template <char Table, unsigned... Slots>
static constexpr auto unknownSlots(std::integer_sequence<unsigned, Slots...>) {
  return std::array<Result (*)(), sizeof...(Slots)>{&unknownSlot<Table, Slots>...};
}

// A table of `Count` slots of which the first is the size in bytes.
template <char Table, unsigned Count> struct ExportTable {
  Slot slots[Count];

  ExportTable(std::initializer_list<std::pair<unsigned, Slot>> known, bool sized = true) {
    auto unknown = unknownSlots<Table>(std::make_integer_sequence<unsigned, Count>());
    for (unsigned i = 0; i < Count; ++i)
      slots[i] = reinterpret_cast<Slot>(unknown[i]);
    for (auto [index, function] : known)
      slots[index] = function;
    if (sized)
      slots[0] = reinterpret_cast<Slot>(sizeof(slots));
  }
};

template <class Function> static Slot slot(Function *function) {
  return reinterpret_cast<Slot>(function);
}

// CudartInterface

// The handle of a primary context, whether it is active or not; it is not retained.
static Result primaryContext(Context **out, int ordinal) {
  return call("CudartInterface[2]", [&] {
    Device *device = deviceAt(ordinal);
    if (!device)
      return kInvalidDevice;
    return out ? (*out = device->primary.get(), kSuccess) : kInvalidValue;
  });
}

// Module loading of runtimes before CUDA 12.
static Result loadWrapper(Module **out, const void *wrapper) {
  const void *caller = __builtin_return_address(0);
  return callIn("CudartInterface[1]",
                [&](Context &context) { return loadModule(context, out, wrapper, caller); });
}
static Result loadWrapperExtended(Module **out, const void *wrapper, void *, void *, unsigned) {
  const void *caller = __builtin_return_address(0);
  return callIn("CudartInterface[6]",
                [&](Context &context) { return loadModule(context, out, wrapper, caller); });
}
static Result loadContainer(const void *container, Module **out, void *, void *, unsigned) {
  const void *caller = __builtin_return_address(0);
  return callIn("CudartInterface[8]",
                [&](Context &context) { return loadModule(context, out, container, caller); });
}
static void announceSize(size_t) {}
static Result loadCompilers() { return kSuccess; } // ours are loaded when they are needed

// ToolsTls: values that a profiler would keep per thread. There is none.
static Result toolsValue(uint64_t *out, uint32_t) {
  if (!out)
    return kInvalidValue;
  *out = 0;
  return kSuccess;
}

// ToolsRuntimeCallbackHooks: arrays of flags, one per function of the runtime, which a profiler
// sets for those that it wants to see. cudart only reads them.
template <unsigned Count> static void callbackFlags(void **flags, size_t *count) {
  static uint32_t kNoneWanted[Count];
  *flags = kNoneWanted;
  *count = Count;
}

// ContextLocalStorage; a null context is the current one.

static Context *chosen(Context *context) {
  return context ? contextNamed(context) : currentContext();
}

static Result putLocal(Context *handle, void *key, void *value, LocalDestructor destructor) {
  return call("ContextLocalStorage[0]", [&] {
    Context *context = chosen(handle);
    if (!context || !isContext(context))
      return kInvalidContext;
    std::lock_guard<std::recursive_mutex> lock(context->mutex);
    context->locals[key] = {value, destructor};
    return kSuccess;
  });
}

static Result deleteLocal(Context *handle, void *key) {
  if (isExiting())
    return kSuccess;
  return call("ContextLocalStorage[1]", [&] {
    Context *context = chosen(handle);
    if (!context || !isContext(context))
      return kInvalidContext;
    std::lock_guard<std::recursive_mutex> lock(context->mutex);
    return context->locals.erase(key) ? kSuccess : kInvalidHandle;
  });
}

static Result getLocal(void **value, Context *handle, void *key) {
  if (Result result = state())
    return result;
  Context *context = chosen(handle);
  if (!context || !isContext(context))
    return kInvalidContext;
  if (!value)
    return kInvalidValue;
  std::lock_guard<std::recursive_mutex> lock(context->mutex);
  auto found = context->locals.find(key);
  if (found == context->locals.end())
    return kInvalidHandle;
  *value = found->second.value;
  return kSuccess;
}

// ContextChecks: bits that were never seen set.
static Result checkContext(Context *, uint32_t *first, void **) {
  if (first)
    *first = 0;
  return kSuccess;
}
static uint32_t checkDriver() { return 0; }

// ToolsContext, asked by cuBLAS and cuFFT. Of the first function only the status counts.
static Result toolsContext(Context *, uint64_t *out) {
  if (out)
    *out = 0;
  return kSuccess;
}
// The number of a stream's channel, and what a channel has in common with others. Launches of
// streams with equal answers follow each other, as cuBLAS believes: they share semaphores in its
// workspace, and before it gives those to another stream it waits for an event. So no two streams
// have the same.
static Result channelOf(Context *, Stream *stream, uint32_t *out) {
  return callIn("ToolsContext[51]", [&](Context &context) -> Result {
    Stream found{};
    if (Result result = describe(context, stream, found))
      return result;
    static std::atomic<uint32_t> threads = 0;
    static thread_local const uint32_t thread = ++threads;
    constexpr uint32_t kOfThread = 1u << 31;
    if (out)
      *out = stream == kPerThreadStream ? kOfThread | thread : uint32_t(found.id);
    return kSuccess;
  });
}
static Result groupOfChannel(Context *, uint32_t channel, uint32_t *out) {
  if (out)
    *out = channel;
  return kSuccess;
}

// ToolsModule, asked by cuFFT: calls back with each function of a module until the callback
// returns 0. The result says whether it did.
static int enumerateFunctions(Context *, Module *module, int (*visit)(void *user, Function *),
                              void *user) {
  unsigned count = 0;
  if (cuModuleGetFunctionCount(&count, module))
    return 0;
  std::vector<Function *> functions(count);
  if (!visit || cuModuleEnumerateFunctions(functions.data(), count, module))
    return 0;
  for (Function *function : functions)
    if (!visit(user, function))
      return 1;
  return 0;
}

static Result checkIntegrity(uint32_t version, uint64_t unixSeconds, uint64_t (*out)[2]);

static ExportTable<'A', 13> &cudartInterface = *new ExportTable<'A', 13>({
    {1, slot(loadWrapper)},
    {2, slot(primaryContext)},
    {6, slot(loadWrapperExtended)},
    {7, slot(announceSize)},
    {8, slot(loadContainer)},
    {12, slot(loadCompilers)},
});
static ExportTable<'B', 4> &toolsTls = *new ExportTable<'B', 4>({{2, slot(toolsValue)}});
static ExportTable<'C', 7> &toolsRuntimeCallbackHooks = *new ExportTable<'C', 7>({
    {2, slot(callbackFlags<1024>)}, // cudart 13.0 has 523 functions
    {6, slot(callbackFlags<64>)},
});
static ExportTable<'D', 4> &contextLocalStorage = *new ExportTable<'D', 4>(
    {{0, slot(putLocal)}, {1, slot(deleteLocal)}, {2, slot(getLocal)}}, /*sized=*/false);
static ExportTable<'E', 4> &contextChecks = *new ExportTable<'E', 4>({
    {2, slot(checkContext)},
    {3, slot(checkDriver)},
});
static ExportTable<'F', 3> &integrityCheck = *new ExportTable<'F', 3>({{1, slot(checkIntegrity)}});
static ExportTable<'G', 91> &toolsContextTable = *new ExportTable<'G', 91>({
    {4, slot(toolsContext)},
    {39, slot(groupOfChannel)},
    {51, slot(channelOf)},
});
static ExportTable<'H', 32> &toolsModule =
    *new ExportTable<'H', 32>({{7, slot(enumerateFunctions)}});
// Asked by cuBLASLt, which accepts that its slot 4 is not supported.
static ExportTable<'I', 32> &blasLtTable = *new ExportTable<'I', 32>({});
static ExportTable<'J', 2> &contextCreateBypass = *new ExportTable<'J', 2>({});
static ExportTable<'K', 3> &heapAccess = *new ExportTable<'K', 3>({});
static ExportTable<'L', 26> &deviceExtended = *new ExportTable<'L', 26>({});
// libcupti 13.5 tells its version only where this table is there, which JAX asks for when it
// starts. It was seen to use no slot.
static ExportTable<'M', 64> &profilerTable = *new ExportTable<'M', 64>({});

static Result checkIntegrity(uint32_t version, uint64_t unixSeconds, uint64_t (*out)[2]) {
  return call("IntegrityCheck[1]", [&] {
    if (!out)
      return kInvalidValue;
    return answerHandshake(version, unixSeconds, *out,
                           {&cudartInterface, &integrityCheck, integrityCheck.slots[1]});
  });
}

struct Entry {
  Uuid uuid;
  const void *table;
};

static const Entry *find(const Uuid &uuid) {
  static const Entry kTables[] = {
      {{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d,
        0xf9},
       &cudartInterface},
      {{0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec,
        0xdc},
       &toolsTls},
      {{0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a,
        0x66},
       &toolsRuntimeCallbackHooks},
      {{0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95,
        0x93},
       &contextLocalStorage},
      {{0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa,
        0x7e},
       &contextChecks},
      {{0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1,
        0xf2},
       &integrityCheck},
      {{0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8,
        0xf2},
       &toolsContextTable},
      {{0x6e, 0x16, 0x3f, 0xbe, 0xb9, 0x58, 0x44, 0x4d, 0x83, 0x5c, 0xe1, 0x82, 0xaf, 0xf1, 0x99,
        0x1e},
       &toolsModule},
      {{0x17, 0x34, 0xdc, 0x26, 0x80, 0x0d, 0x47, 0x45, 0x87, 0x26, 0xc0, 0xf1, 0xe7, 0xdd, 0x8b,
        0xca},
       &blasLtTable},
      {{0x0c, 0xa5, 0x0b, 0x8c, 0x10, 0x04, 0x92, 0x9a, 0x89, 0xa7, 0xd0, 0xdf, 0x10, 0xe7, 0x72,
        0x86},
       &contextCreateBypass},
      {{0x19, 0x5b, 0xcb, 0xf4, 0xd6, 0x7d, 0x02, 0x4a, 0xac, 0xc5, 0x1d, 0x29, 0xce, 0xa6, 0x31,
        0xae},
       &heapAccess},
      {{0xb1, 0x05, 0x41, 0xe1, 0xf7, 0xc7, 0xc7, 0x4a, 0x9f, 0x64, 0xf2, 0x23, 0xbe, 0x99, 0xf1,
        0xe2},
       &deviceExtended},
      {{0x7c, 0xb6, 0x3f, 0x9b, 0x9c, 0xa4, 0x8e, 0x42, 0xa4, 0x84, 0xbe, 0xb6, 0x6e, 0x6a, 0xed,
        0x7f},
       &profilerTable},
  };
  for (const Entry &entry : kTables)
    if (!memcmp(&entry.uuid, &uuid, sizeof(uuid)))
      return &entry;
  return nullptr;
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

// Works before cuInit.
Result cuGetExportTable(const void **table, const Uuid *uuid) {
  if (!table || !uuid)
    return kInvalidValue;
  const Entry *entry = find(*uuid);
  *table = entry ? entry->table : nullptr;
  if (entry)
    return kSuccess;
  logOnce(LogLevel::Info, "unknown export table " + toHex(uuid->bytes));
  return kInvalidValue;
}

} // extern "C"
