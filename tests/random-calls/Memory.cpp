// SPDX-License-Identifier: Apache-2.0
// Memory and copies. CUDA Driver API, "Memory Management".
#include "tests/random-calls/Walk.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace walks {

static constexpr size_t kMost = 16384; // bytes of an allocation

MemoryOf *Walk::anyMemory() {
  std::vector<MemoryOf *> all;
  for (std::unique_ptr<MemoryOf> &memory : memories)
    if (memory)
      all.push_back(memory.get());
  return all.empty() ? nullptr : all[random.below(all.size())];
}

// New memory has unknown bytes: it is filled at once.
void Walk::keep(Pointer address, MemoryOf::Kind kind, size_t size, size_t stream) {
  auto memory = std::make_unique<MemoryOf>(
      MemoryOf{static_cast<char *>(address), kind, std::vector<uint8_t>(size), stream});
  const uint8_t value = uint8_t(random.next());
  std::fill(memory->bytes.begin(), memory->bytes.end(), value);
  if (stream == kNobody)
    expect(kSuccess, "cuMemsetD8_v2", address, value, size);
  else
    expect(kSuccess, "cuMemsetD8Async", address, value, size, handleOf(stream));
  // A fill from the host may still be under way: later calls on the legacy stream come behind it,
  // those on streams that do not block need not.
  if (stream == kNobody)
    memory->stream = kLegacy;
  memories.push_back(std::move(memory));
}

void Walk::order(MemoryOf &memory, size_t stream) {
  if (memory.stream != kNobody && memory.stream != stream) {
    if (stream == kNobody || random.isOneIn(2)) {
      expect(kSuccess, "cuStreamSynchronize", handleOf(memory.stream));
    } else {
      Pointer event = nullptr;
      expect(kSuccess, "cuEventCreate", &event, random.pick({0u, 2u}));
      expect(kSuccess, "cuEventRecord", event, handleOf(memory.stream));
      expect(kSuccess, "cuStreamWaitEvent", handleOf(stream), event, 0u);
      expect(kSuccess, "cuEventDestroy_v2", event);
    }
  }
  memory.stream = stream;
}

void Walk::read(MemoryOf &memory) {
  order(memory, kNobody);
  std::vector<uint8_t> bytes(memory.bytes.size());
  expect(kSuccess, "cuMemcpyDtoH_v2", static_cast<Pointer>(bytes.data()),
         static_cast<Pointer>(memory.address), bytes.size());
  claim(bytes == memory.bytes, "memory is not as the model says");
}

void Walk::allocate() {
  const size_t size = 1 + random.below(kMost);
  Pointer address = nullptr;
  MemoryOf::Kind kind = MemoryOf::Kind::Device;
  switch (random.below(4)) {
  case 0:
    kind = MemoryOf::Kind::Managed;
    expect(kSuccess, "cuMemAllocManaged", &address, size, random.pick({1u, 2u}));
    break;
  case 1: {
    size_t pitch = 0;
    expect(kSuccess, "cuMemAllocPitch_v2", &address, &pitch, size, size_t(1),
           random.pick({4u, 8u, 16u}));
    claim(pitch >= size, "a pitch below the width");
    break;
  }
  default:
    expect(kSuccess, "cuMemAlloc_v2", &address, size);
  }
  if (address)
    keep(address, kind, size, kNobody);
}

void Walk::allocatePooled() {
  const size_t stream = anyStream(), size = 1 + random.below(kMost);
  Pointer address = nullptr;
  expect(kSuccess, "cuMemAllocAsync", &address, size, handleOf(stream));
  if (address)
    keep(address, MemoryOf::Kind::Pooled, size, stream);
}

void Walk::release() {
  MemoryOf *memory = anyMemory();
  if (!memory || memory->isUsed)
    return;
  Pointer address = memory->address;
  if (memory->kind == MemoryOf::Kind::Pooled && random.isOneIn(2)) {
    const size_t stream = memory->stream == kNobody ? anyStream() : memory->stream;
    expect(kSuccess, "cuMemFreeAsync", address, handleOf(stream));
  } else {
    order(*memory, kNobody);
    expect(kSuccess, "cuMemFree_v2", address);
    if (world.isAlone && memory->kind == MemoryOf::Kind::Device)
      expect(kInvalidValue, "cuMemFree_v2", address);
  }
  for (std::unique_ptr<MemoryOf> &owner : memories)
    if (owner.get() == memory)
      owner.reset();
}

void Walk::fill() {
  MemoryOf *memory = anyMemory();
  if (!memory)
    return;
  const size_t width = random.pick({size_t(1), size_t(2), size_t(4)}),
               elements = memory->bytes.size() / width;
  if (!elements)
    return;
  const size_t from = random.below(elements), count = random.below(elements - from + 1);
  const uint32_t value = uint32_t(random.next());
  Pointer at = memory->address + from * width;
  const size_t stream = random.isOneIn(2) ? kNobody : anyStream();
  order(*memory, stream == kNobody ? kLegacy : stream);
  if (stream == kNobody) {
    if (width == 1)
      expect(kSuccess, "cuMemsetD8_v2", at, uint8_t(value), count);
    else if (width == 2)
      expect(kSuccess, "cuMemsetD16_v2", at, uint16_t(value), count);
    else
      expect(kSuccess, "cuMemsetD32_v2", at, value, count);
  } else {
    Pointer handle = handleOf(stream);
    if (width == 1)
      expect(kSuccess, "cuMemsetD8Async", at, uint8_t(value), count, handle);
    else if (width == 2)
      expect(kSuccess, "cuMemsetD16Async", at, uint16_t(value), count, handle);
    else
      expect(kSuccess, "cuMemsetD32Async", at, value, count, handle);
  }
  for (size_t i = 0; i < count; ++i)
    memcpy(memory->bytes.data() + (from + i) * width, &value, width);
}

void Walk::copy() {
  MemoryOf *memory = anyMemory();
  if (!memory)
    return;
  const size_t size = memory->bytes.size(), from = random.below(size),
               count = random.below(size - from + 1);
  Pointer at = memory->address + from;
  uint8_t *model = memory->bytes.data() + from;
  std::vector<uint8_t> host(count + 1);
  order(*memory, kNobody);
  switch (random.below(4)) {
  case 0:
    expect(kSuccess, "cuMemcpyDtoH_v2", static_cast<Pointer>(host.data()), at, count);
    claim(std::equal(model, model + count, host.begin()), "a copy to the host is not the model's");
    return;
  case 1: {
    MemoryOf *other = anyMemory();
    if (other == memory || other->bytes.size() < count)
      return;
    order(*other, kNobody);
    expect(kSuccess, random.isOneIn(2) ? "cuMemcpyDtoD_v2" : "cuMemcpy",
           static_cast<Pointer>(other->address), at, count);
    std::copy_n(model, count, other->bytes.begin());
    other->stream = memory->stream = kLegacy; // such a copy may return before it is done
    return;
  }
  default:
    for (uint8_t &byte : host)
      byte = uint8_t(random.next());
    expect(kSuccess, random.isOneIn(2) ? "cuMemcpyHtoD_v2" : "cuMemcpy", at,
           static_cast<Pointer>(host.data()), count);
    std::copy_n(host.begin(), count, model);
    memory->stream = kLegacy;
  }
}

void Walk::copyAsync() {
  MemoryOf *memory = anyMemory(), *other = anyMemory();
  if (!memory || memory == other)
    return;
  const size_t count = random.below(std::min(memory->bytes.size(), other->bytes.size()) + 1),
               stream = anyStream();
  order(*memory, stream);
  order(*other, stream);
  expect(kSuccess, random.isOneIn(2) ? "cuMemcpyDtoDAsync_v2" : "cuMemcpyAsync",
         static_cast<Pointer>(other->address), static_cast<Pointer>(memory->address), count,
         handleOf(stream));
  std::copy_n(memory->bytes.begin(), count, other->bytes.begin());
}

void Walk::hostMemory() {
  Pointer address = nullptr, device = nullptr;
  const size_t size = 1 + random.below(kMost);
  unsigned flags = random.pick({0u, 1u, 2u, 3u}), got = 77;
  expect(kSuccess, "cuMemHostAlloc", &address, size, flags);
  if (!address)
    return;
  memset(address, 0x5a, size);
  expect(kSuccess, "cuMemHostGetDevicePointer_v2", &device, address, 0u);
  expect(kSuccess, "cuMemHostGetFlags", &got, address);
  if (MemoryOf *memory = anyMemory()) {
    const size_t count = std::min(size, memory->bytes.size());
    order(*memory, kNobody);
    expect(kSuccess, "cuMemcpyDtoH_v2", address, static_cast<Pointer>(memory->address), count);
    claim(!memcmp(address, memory->bytes.data(), count), "pinned memory is not as the model says");
  }
  expect(kSuccess, "cuMemFreeHost", address);
  if (world.isAlone)
    expect(kInvalidValue, "cuMemFreeHost", address);
}

void Walk::registerHost() {
  constexpr size_t kPage = 4096;
  Pointer pages = aligned_alloc(kPage, 2 * kPage);
  expect(kSuccess, "cuMemHostRegister_v2", pages, 2 * kPage, random.pick({0u, 1u, 2u}));
  expect(kAlreadyRegistered, "cuMemHostRegister_v2", pages, 2 * kPage, 0u);
  expect(kSuccess, "cuMemHostUnregister", pages);
  expect(kNotRegistered, "cuMemHostUnregister", pages);
  free(pages);
}

void Walk::askPointers() {
  MemoryOf *memory = anyMemory();
  if (!memory)
    return;
  const size_t from = random.below(memory->bytes.size());
  Pointer at = memory->address + from, base = nullptr;
  size_t size = 0;
  expect(kSuccess, "cuMemGetAddressRange_v2", &base, &size, at);
  claim(base == memory->address && size >= memory->bytes.size(), "the range is another");
  unsigned kind = 0, isManaged = 7;
  expect(kSuccess, "cuPointerGetAttribute", static_cast<Pointer>(&kind), 2, at);
  claim(kind == 2, "it is no device memory");
  expect(kSuccess, "cuPointerGetAttribute", static_cast<Pointer>(&isManaged), 8, at);
  claim((isManaged & 0xff) == (memory->kind == MemoryOf::Kind::Managed), "managed is wrong");
}

// What H100s refuse.
void Walk::wrongMemory() {
  Pointer address = nullptr, own = noHandleMemory.get();
  size_t pitch = 0;
  MemoryOf *memory = anyMemory();
  switch (random.below(memory ? 14 : 8)) {
  case 0:
    expect(kInvalidValue, "cuMemAlloc_v2", &address, size_t(0));
    break;
  case 1:
    expect(kInvalidValue, "cuMemAlloc_v2", static_cast<Pointer *>(nullptr), size_t(16));
    break;
  case 2:
    expect(kOutOfMemory, "cuMemAlloc_v2", &address, size_t(1) << 46);
    break;
  case 3:
    expect(kInvalidValue, "cuMemAllocPitch_v2", &address, &pitch, size_t(16), size_t(1),
           random.pick({0u, 3u, 5u, 32u}));
    break;
  case 4:
    expect(kInvalidValue, "cuMemAllocManaged", &address, size_t(16), random.pick({0u, 3u, 8u}));
    break;
  case 5:
    expect(kSuccess, "cuMemFree_v2", Pointer());
    break;
  case 6:
    expect(kInvalidValue, "cuMemFree_v2", reinterpret_cast<Pointer>(uintptr_t(0x10)));
    break;
  case 7:
    expect(kInvalidValue, "cuMemFreeHost", own);
    break;
  case 8:
    expect(kInvalidValue, "cuMemsetD32_v2", static_cast<Pointer>(memory->address + 1), 0u,
           size_t(1));
    break;
  case 9:
    order(*memory, kNobody);
    expect(kInvalidValue, "cuMemcpyDtoH_v2", own, static_cast<Pointer>(memory->address),
           size_t(1) << 40);
    break;
  case 10:
    expect(kInvalidValue, "cuMemcpyHtoD_v2", Pointer(), own, size_t(8));
    break;
  case 11:
    expect(kInvalidValue, "cuMemsetD8_v2", Pointer(), uint8_t(1), size_t(8));
    break;
  case 12:
    if (memory->bytes.size() > 1 && memory->kind == MemoryOf::Kind::Device)
      expect(kInvalidValue, "cuMemFree_v2", static_cast<Pointer>(memory->address + 1));
    break;
  case 13:
    expect(kInvalidValue, "cuMemsetD16_v2", static_cast<Pointer>(memory->address + 1), uint16_t(0),
           size_t(1));
    break;
  }
}

} // namespace walks
