// SPDX-License-Identifier: Apache-2.0
// Modules, launches, and what is asked of contexts and devices.
#include "tests/random-calls/Walk.h"
#include <cstring>

namespace walks {

static constexpr const char *kText = R"(.version 7.0
.target sm_80
.address_size 64
.visible .global .align 4 .b8 variable[256];
.visible .entry add(.param .u64 out, .param .u32 count, .param .u32 value)
{
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [out];
  ld.param.u32 %r1, [count];
  ld.param.u32 %r2, [value];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.u32 %r6, %r3, %r4, %r5;
  setp.ge.u32 %p, %r6, %r1;
  @%p ret;
  mul.wide.u32 %d2, %r6, 4;
  add.s64 %d3, %d1, %d2;
  ld.global.u32 %r7, [%d3];
  add.u32 %r7, %r7, %r2;
  st.global.u32 [%d3], %r7;
  ret;
}
)";

Pointer Walk::text() { return const_cast<char *>(kText); }

ModuleOf *Walk::anyModule() {
  return modules.empty() ? nullptr : &modules[random.below(modules.size())];
}

void Walk::loadModule() {
  ModuleOf module{};
  size_t size = 0;
  if (random.isOneIn(2))
    expect(kSuccess, "cuModuleLoadData", &module.handle, text());
  else
    expect(kSuccess, "cuModuleLoadDataEx", &module.handle, text(), 0u, Pointer(), Pointer());
  if (!module.handle)
    return;
  expect(kSuccess, "cuModuleGetFunction", &module.add, module.handle, "add");
  expect(kSuccess, "cuModuleGetGlobal_v2", &module.variable, &size, module.handle, "variable");
  claim(size == 256, "a variable has another size");
  uint8_t bytes[256];
  expect(kSuccess, "cuMemcpyDtoH_v2", static_cast<Pointer>(bytes), module.variable, size_t(256));
  claim(std::vector<uint8_t>(bytes, bytes + 256) == std::vector<uint8_t>(256),
        "a variable does not begin as zeros");
  expect(kSuccess, "cuMemsetD8_v2", module.variable, uint8_t(0xff), size_t(256));
  modules.push_back(module);
}

void Walk::unloadModule() {
  if (modules.empty() || !graphs.empty())
    return;
  const size_t i = random.below(modules.size());
  Pointer handle = modules[i].handle;
  // Its kernels have ended.
  for (std::unique_ptr<MemoryOf> &memory : memories)
    if (memory)
      order(*memory, kNobody);
  expect(kSuccess, "cuModuleUnload", handle);
  modules.erase(modules.begin() + ptrdiff_t(i));
  if (world.isAlone && world.passesWildHandles)
    expect(kInvalidHandle, "cuModuleUnload", handle);
}

void Walk::prepare(MemoryOf &memory, size_t from, size_t count, uint32_t value) {
  parameters.address = reinterpret_cast<uint64_t>(memory.address) + from * 4;
  parameters.count = uint32_t(count);
  parameters.value = value;
  parameters.values[0] = &parameters.address;
  parameters.values[1] = &parameters.count;
  parameters.values[2] = &parameters.value;
}

void Walk::prepareNothing() {
  parameters = {};
  parameters.values[0] = &parameters.address;
  parameters.values[1] = &parameters.count;
  parameters.values[2] = &parameters.value;
}

void Walk::addTo(MemoryOf &memory, size_t from, size_t count, uint32_t value) {
  for (size_t i = from; i < from + count; ++i) {
    uint32_t word;
    memcpy(&word, memory.bytes.data() + 4 * i, 4);
    word += value;
    memcpy(memory.bytes.data() + 4 * i, &word, 4);
  }
}

void Walk::launch() {
  ModuleOf *module = anyModule();
  MemoryOf *memory = anyMemory();
  if (!module || !memory || memory->bytes.size() < 4)
    return;
  const size_t words = memory->bytes.size() / 4, from = random.below(words),
               count = 1 + random.below(words - from), stream = anyStream();
  const uint32_t value = uint32_t(random.next());
  const unsigned block = random.pick({32u, 64u, 100u, 256u}),
                 grid = unsigned((count + block - 1) / block);
  const int shared = random.pick({0, 16, 4096});
  order(*memory, stream);
  prepare(*memory, from, count, value);
  const bool isTooMuch = shared > module->mostShared;
  expect(isTooMuch ? kInvalidValue : kSuccess, "cuLaunchKernel", module->add, grid, 1u, 1u, block,
         1u, 1u, unsigned(shared), handleOf(stream), static_cast<void **>(parameters.values),
         static_cast<void **>(nullptr));
  if (isTooMuch)
    return;
  addTo(*memory, from, count, value);
}

void Walk::wrongLaunch() {
  ModuleOf *module = anyModule();
  Pointer stream = handleOf(anyStream()), out = nullptr;
  size_t size = 0;
  auto launch = [&](int expected, Pointer function, unsigned grid, unsigned block,
                    unsigned shared) {
    expect(expected, "cuLaunchKernel", function, grid, 1u, 1u, block, 1u, 1u, shared, stream,
           static_cast<void **>(parameters.values), static_cast<void **>(nullptr));
  };
  prepareNothing(); // what is refused executes nothing
  switch (module ? random.below(world.passesWildHandles ? 14 : 10) : random.below(3)) {
  case 0:
    launch(kInvalidHandle, nullptr, 1, 1, 0);
    break;
  case 1:
    expect(kInvalidPtx, "cuModuleLoadData", &out,
           static_cast<Pointer>(const_cast<char *>(
               ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() { foo; }\n")));
    break;
  case 2:
    expect(kInvalidValue, "cuModuleLoadData", static_cast<Pointer *>(nullptr), text());
    break;
  case 3:
    launch(kInvalidValue, module->add, 0, 1, 0);
    break;
  case 4:
    launch(kInvalidValue, module->add, 1, 0, 0);
    break;
  case 5:
    launch(kInvalidValue, module->add, 1, random.pick({1025u, 4096u}), 0);
    break;
  case 6:
    launch(kInvalidValue, module->add, 1, 1, 49153);
    break;
  case 7:
    expect(kNotFound, "cuModuleGetFunction", &out, module->handle, "none");
    break;
  case 8:
    expect(kNotFound, "cuModuleGetGlobal_v2", &out, &size, module->handle, "none");
    break;
  case 9:
    expect(kInvalidValue, "cuModuleGetFunction", &out, module->handle,
           static_cast<const char *>(nullptr));
    break;
  case 10:
    launch(kInvalidHandle, wild(), 1, 1, 0);
    break;
  case 11:
    expect(kInvalidHandle, "cuModuleUnload", wild());
    break;
  case 12:
    expect(kInvalidHandle, "cuModuleGetFunction", &out, wild(), "add");
    break;
  case 13:
    stream = wild();
    launch(kInvalidHandle, module->add, 1, 1, 0);
    break;
  }
}

void Walk::askFunction() {
  ModuleOf *module = anyModule();
  if (!module)
    return;
  int value = 0;
  switch (random.below(world.passesWildHandles ? 6 : 5)) {
  case 0:
    expect(kSuccess, "cuFuncGetAttribute", &value, 0, module->add);
    claim(value >= 32 && value <= 1024, "a kernel has another number of threads");
    break;
  case 1:
    expect(kInvalidValue, "cuFuncGetAttribute", &value, random.pick({-1, 99}), module->add);
    break;
  case 2:
    module->mostShared = random.pick({0, 1024, 49152});
    expect(kSuccess, "cuFuncSetAttribute", module->add, 8, module->mostShared);
    break;
  case 3:
    expect(kInvalidValue, "cuFuncSetAttribute", module->add, 8, random.pick({-5, 1 << 30}));
    break;
  case 4:
    expect(kSuccess, "cuOccupancyMaxActiveBlocksPerMultiprocessor", &value, module->add, 64,
           size_t(0));
    claim(value > 0, "a kernel has no place");
    break;
  default:
    expect(kInvalidValue, "cuOccupancyMaxActiveBlocksPerMultiprocessor", &value, module->add,
           random.pick({0, -1}), size_t(0));
  }
}

void Walk::useLibrary() {
  Pointer library = nullptr, kernel = nullptr, function = nullptr;
  unsigned count = 0;
  expect(kSuccess, "cuLibraryLoadData", &library, text(), Pointer(), Pointer(), 0u, Pointer(),
         Pointer(), 0u);
  if (!library)
    return;
  expect(kSuccess, "cuLibraryGetKernelCount", &count, library);
  claim(count == 1, "a library has another number of kernels");
  expect(kSuccess, "cuLibraryGetKernel", &kernel, library, "add");
  expect(kNotFound, "cuLibraryGetKernel", &function, library, "none");
  expect(kSuccess, "cuKernelGetFunction", &function, kernel);
  MemoryOf *memory = anyMemory();
  if (memory && memory->bytes.size() >= 4) {
    order(*memory, kLegacy);
    prepare(*memory, 0, 1, 5);
    expect(kSuccess, "cuLaunchKernel", random.isOneIn(2) ? kernel : function, 1u, 1u, 1u, 32u, 1u,
           1u, 0u, Pointer(), static_cast<void **>(parameters.values),
           static_cast<void **>(nullptr));
    addTo(*memory, 0, 1, 5);
    order(*memory, kNobody);
  }
  expect(kSuccess, "cuLibraryUnload", library);
}

void Walk::contexts() {
  Pointer context = nullptr, memory = nullptr;
  int device = 77;
  switch (random.below(5)) {
  case 0:
    if (random.isOneIn(2))
      expect(kSuccess, "cuCtxPushCurrent_v2", world.context);
    else
      expect(kSuccess, "cuCtxPushCurrent", world.context);
    expect(kSuccess, "cuCtxGetCurrent", &context);
    claim(context == world.context, "another context is current");
    if (random.isOneIn(2))
      expect(kSuccess, "cuCtxPopCurrent_v2", &context);
    else
      expect(kSuccess, "cuCtxPopCurrent", &context);
    claim(context == world.context, "another context was pushed");
    break;
  case 1: // without one
    expect(kSuccess, "cuCtxPopCurrent_v2", &context);
    expect(kInvalidContext, "cuCtxPopCurrent_v2", &context);
    expect(kInvalidContext, "cuMemAlloc_v2", &memory, size_t(16));
    expect(kInvalidContext, "cuStreamCreate", &memory, 0u);
    expect(kInvalidContext, "cuCtxGetDevice", &device);
    expect(kInvalidContext, "cuCtxSynchronize");
    expect(kSuccess, "cuCtxGetCurrent", &context);
    claim(!context, "a context is current");
    expect(kSuccess, "cuCtxSetCurrent", world.context);
    break;
  case 2:
    expect(kSuccess, "cuDevicePrimaryCtxRetain", &context, 0);
    claim(context == world.context, "the primary context is another");
    expect(kSuccess, "cuDevicePrimaryCtxRelease_v2", 0);
    break;
  case 3:
    expect(kSuccess, "cuCtxGetDevice", &device);
    claim(device == 0, "the context is of another device");
    break;
  default:
    expect(kInvalidValue, "cuCtxGetCurrent", static_cast<Pointer *>(nullptr));
  }
}

void Walk::devices() {
  int device = 77, value = 0;
  char name[64] = "";
  switch (random.below(6)) {
  case 0:
    expect(kSuccess, "cuDeviceGet", &device, 0);
    break;
  case 1:
    expect(kInvalidDevice, "cuDeviceGet", &device, random.pick({-1, world.devices, 1000}));
    break;
  case 2:
    expect(kSuccess, "cuDeviceGetAttribute", &value, 1, 0);
    claim(value == 1024, "a block has another number of threads");
    break;
  case 3:
    expect(kInvalidValue, "cuDeviceGetAttribute", &value, random.pick({0, -3, 100000}), 0);
    break;
  case 4:
    expect(kInvalidDevice, "cuDeviceGetAttribute", &value, 1, world.devices);
    break;
  default:
    expect(kSuccess, "cuDeviceGetName", &name[0], 64, 0);
    claim(name[0], "a device has no name");
  }
}

void Walk::limits() {
  size_t value = 0;
  switch (random.below(3)) {
  case 0:
    expect(kSuccess, "cuCtxGetLimit", &value, random.pick({0, 1, 2}));
    break;
  case 1:
    expect(kInvalidValue, "cuCtxGetLimit", &value, random.pick({77, 1000}));
    break;
  default:
    expect(kInvalidValue, "cuCtxSetLimit", 77, size_t(1024));
  }
}

} // namespace walks
