// SPDX-License-Identifier: Apache-2.0
// What other threads may use meanwhile, and what ends with its owner: contexts, pools, links.
#include "tests/random-calls/Walk.h"
#include <cstring>

namespace walks {

namespace {

struct CopySide { // of CUDA_MEMCPY2D
  size_t x, y;
  int type; // 1 host, 2 device
  Pointer host, device, array;
  size_t pitch;
};
struct Copy2D {
  CopySide from, to;
  size_t width, height;
};
constexpr int kHost = 1, kDevice = 2;

struct PoolProperties { // CUmemPoolProps
  int allocationType, handleTypes, locationType, locationId;
  Pointer security;
  size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};
static_assert(sizeof(PoolProperties) == 88);

} // namespace

// A context with objects in it. They go with it.
void Walk::ownContext() {
  Pointer context = nullptr, stream = nullptr, event = nullptr, memory = nullptr, current = nullptr;
  if (!world.passesWildHandles)
    return;
  const bool isOld = random.isOneIn(2); // CUDA 2's names
  if (isOld)
    expect(kSuccess, "cuCtxCreate", &context, 0u, 0);
  else
    expect(kSuccess, "cuCtxCreate_v2", &context, 0u, 0);
  if (!context)
    return;
  expect(kSuccess, "cuStreamCreate", &stream, random.pick({0u, 1u}));
  expect(kSuccess, "cuEventCreate", &event, 0u);
  expect(kSuccess, "cuMemAlloc_v2", &memory, size_t(4096));
  expect(kSuccess, "cuMemsetD8Async", memory, uint8_t(7), size_t(4096), stream);
  expect(kSuccess, "cuEventRecord", event, stream);
  if (random.isOneIn(2))
    expect(kSuccess, "cuCtxSynchronize");
  const bool isTidy = random.isOneIn(2);
  if (isTidy) {
    expect(kSuccess, "cuMemFree_v2", memory);
    expect(kSuccess, "cuEventDestroy_v2", event);
    expect(kSuccess, "cuStreamDestroy_v2", stream);
  }
  if (isOld) // which pops it
    expect(kSuccess, "cuCtxDestroy", context);
  else
    expect(kSuccess, "cuCtxDestroy_v2", context);
  expect(kSuccess, "cuCtxGetCurrent", &current);
  claim(current == world.context, "another context is current");
  if (world.isAlone && world.passesWildHandles) {
    expect(kInvalidContext, "cuCtxDestroy_v2", context);
    expect(kInvalidHandle, "cuStreamSynchronize", stream);
    expect(kInvalidHandle, "cuEventQuery", event);
  }
}

// A word that a stream writes and another waits for.
void Walk::words() {
  const size_t writer = anyStream(), waiter = anyStream();
  MemoryOf *memory = anyMemory();
  if (!memory || memory->bytes.size() < 4 || memory->kind != MemoryOf::Kind::Device)
    return;
  const uint32_t value = uint32_t(random.next());
  order(*memory, writer);
  expect(kSuccess, "cuStreamWriteValue32_v2", handleOf(writer),
         static_cast<Pointer>(memory->address), value, 0u);
  memcpy(memory->bytes.data(), &value, 4);
  constexpr unsigned kAtLeast = 0, kEqual = 1;
  // Streams that block wait for each other.
  if (writer == waiter || random.isOneIn(2))
    expect(kSuccess, "cuStreamWaitValue32_v2", handleOf(writer),
           static_cast<Pointer>(memory->address), value, random.pick({kAtLeast, kEqual}));
  else
    order(*memory, waiter);
  expect(kInvalidValue, "cuStreamWriteValue32_v2", handleOf(writer),
         static_cast<Pointer>(memory->address + 2), value, 0u);
}

void Walk::ownPool() {
  PoolProperties properties{};
  properties.allocationType = 1; // pinned
  properties.locationType = 1;   // a device
  Pointer pool = nullptr, address = nullptr;
  uint64_t reserved = 77;
  if (!world.passesWildHandles)
    return;
  const size_t stream = anyStream();
  expect(kSuccess, "cuMemPoolCreate", &pool, static_cast<Pointer>(&properties));
  if (!pool)
    return;
  for (size_t i = random.below(3); i; --i) {
    expect(kSuccess, "cuMemAllocFromPoolAsync", &address, 1 + random.below(9000), pool,
           handleOf(stream));
    expect(kSuccess, "cuMemsetD8Async", address, uint8_t(1), size_t(1), handleOf(stream));
    expect(kSuccess, "cuMemFreeAsync", address, handleOf(stream));
  }
  expect(kSuccess, "cuMemPoolGetAttribute", pool, 5, static_cast<Pointer>(&reserved));
  expect(kSuccess, "cuMemPoolTrimTo", pool, size_t(0));
  expect(kInvalidValue, "cuMemPoolGetAttribute", pool, 77, static_cast<Pointer>(&reserved));
  expect(kSuccess, "cuMemPoolDestroy", pool);
}

void Walk::copyRectangle() {
  MemoryOf *memory = anyMemory();
  if (!memory || memory->bytes.size() < 64)
    return;
  const size_t pitch = 8 + random.below(8), height = memory->bytes.size() / pitch,
               rows = 1 + random.below(height), width = 1 + random.below(pitch);
  std::vector<uint8_t> host(rows * width);
  for (uint8_t &byte : host)
    byte = uint8_t(random.next());
  Copy2D copy{};
  copy.from = {0, 0, kHost, host.data(), nullptr, nullptr, width};
  copy.to = {0, 0, kDevice, nullptr, memory->address, nullptr, pitch};
  copy.width = width;
  copy.height = rows;
  const size_t stream = random.isOneIn(2) ? anyStream() : kNobody;
  order(*memory, stream == kNobody ? kLegacy : stream);
  if (stream == kNobody) {
    expect(kSuccess, "cuMemcpy2D_v2", static_cast<const Copy2D *>(&copy));
  } else {
    expect(kSuccess, "cuMemcpy2DAsync_v2", static_cast<const Copy2D *>(&copy), handleOf(stream));
    order(*memory, kNobody); // the host's bytes go
  }
  for (size_t row = 0; row < rows; ++row)
    memcpy(memory->bytes.data() + row * pitch, host.data() + row * width, width);
  copy.to.pitch = width - 1;
  if (copy.to.pitch) // 0 stands for the width
    expect(kInvalidValue, "cuMemcpy2D_v2", static_cast<const Copy2D *>(&copy));
}

void Walk::fillRectangle() {
  MemoryOf *memory = anyMemory();
  if (!memory || memory->bytes.size() < 64)
    return;
  const size_t pitch = 8 + random.below(8), rows = 1 + random.below(memory->bytes.size() / pitch),
               width = 1 + random.below(pitch), stream = anyStream();
  const uint8_t value = uint8_t(random.next());
  if (random.isOneIn(2)) {
    order(*memory, kLegacy);
    expect(kSuccess, "cuMemsetD2D8_v2", static_cast<Pointer>(memory->address), pitch, value, width,
           rows);
  } else {
    order(*memory, stream);
    expect(kSuccess, "cuMemsetD2D8Async", static_cast<Pointer>(memory->address), pitch, value,
           width, rows, handleOf(stream));
  }
  for (size_t row = 0; row < rows; ++row)
    memset(memory->bytes.data() + row * pitch, value, width);
}

void Walk::link() {
  static const std::string head = ".version 7.0\n.target sm_80\n.address_size 64\n";
  static const std::string definition = head + ".visible .func f() { ret; }\n",
                           use =
                               head + ".extern .func f();\n.visible .entry k() { call f; ret; }\n";
  constexpr int kPtx = 1, kInvalidSource = 300;
  Pointer state = nullptr, image = nullptr, module = nullptr;
  size_t size = 0;
  auto add = [&](int expected, const std::string &text) {
    expect(expected, "cuLinkAddData_v2", state, kPtx,
           static_cast<Pointer>(const_cast<char *>(text.c_str())), text.size() + 1, "name", 0u,
           Pointer(), Pointer());
  };
  expect(kSuccess, "cuLinkCreate_v2", 0u, Pointer(), Pointer(), &state);
  if (!state)
    return;
  add(kSuccess, use);
  const bool isWhole = random.isOneIn(2);
  if (isWhole)
    add(kSuccess, definition);
  // Behind this call an H100's driver has another code for what is unresolved.
  if (isWhole && random.isOneIn(3))
    expect(kInvalidValue, "cuLinkComplete", state, static_cast<Pointer *>(nullptr), &size);
  expect(isWhole ? kSuccess : kInvalidSource, "cuLinkComplete", state, &image, &size);
  if (image) {
    expect(kSuccess, "cuModuleLoadData", &module, image);
    expect(kSuccess, "cuModuleUnload", module);
  }
  expect(kSuccess, "cuLinkDestroy", state);
  if (world.isAlone && world.passesWildHandles)
    expect(kInvalidHandle, "cuLinkDestroy", state);
}

// Streams and events that all threads use at the same time.
void Walk::shared() {
  Pointer stream = world.streams[random.below(world.streamCount)],
          event = world.events[random.below(world.eventCount)];
  const size_t own = anyStream();
  switch (random.below(6)) {
  case 0:
    expect(kSuccess, "cuEventRecord", event, random.isOneIn(2) ? stream : handleOf(own));
    break;
  case 1:
    expect(kSuccess, "cuStreamWaitEvent", random.isOneIn(2) ? stream : handleOf(own), event, 0u);
    break;
  case 2:
    expectMaybeReady("cuEventQuery", event);
    break;
  case 3:
    expect(kSuccess, "cuStreamSynchronize", stream);
    break;
  case 4:
    expectMaybeReady("cuStreamQuery", stream);
    break;
  default:
    if (MemoryOf *memory = anyMemory()) {
      order(*memory, kNobody);
      expect(kSuccess, "cuMemsetD8Async", static_cast<Pointer>(memory->address), uint8_t(9),
             size_t(1), stream);
      expect(kSuccess, "cuStreamSynchronize", stream);
      memory->bytes[0] = 9;
    }
  }
}

} // namespace walks
