#include "emulator/hip/HostCalls.h"
#include "llvm/Support/MathExtras.h"
#include <system_error>

using namespace llvm;

namespace rubia::emulator {

// The layouts are the device library's.
struct HostCalls::Packet {
  uint64_t next; // of the stack that it is on
  uint64_t activeLanes;
  uint32_t service;
  uint32_t control; // bit 0: the host has not answered
};
struct HostCalls::Buffer {
  uint64_t packets, payloads, signal;
  uint64_t free, ready; // stacks: the number of the packet on top, 0 for none
  uint64_t indexMask;   // of a packet's number; the bits above it change with every use
  uint64_t signalObject[8];
};

// Of the device library's services.
enum Service : uint32_t { kPrintf = 2, kDeviceMemory = 3 };

Expected<std::unique_ptr<HostCalls>> HostCalls::start(uint64_t waves) {
  const uint64_t count = PowerOf2Ceil(std::max<uint64_t>(waves, 2));
  const uint64_t packetsAt = alignTo(sizeof(Buffer), 64);
  const uint64_t payloadsAt = alignTo(packetsAt + count * sizeof(Packet), 64);
  auto memory = DeviceMemory::zeroed(payloadsAt + count * sizeof(Payload));
  if (!memory)
    return memory.takeError();
  auto &buffer = *memory->as<Buffer>();
  const uint64_t base = memory->address();
  // A signal without a mailbox, so that nobody sends an interrupt for it.
  buffer = {.packets = base + packetsAt,
            .payloads = base + payloadsAt,
            .signal = base + offsetof(Buffer, signalObject),
            .free = 0,
            .ready = 0,
            .indexMask = count - 1,
            .signalObject = {}};
  auto *packets = reinterpret_cast<Packet *>(buffer.packets);
  for (uint64_t i = 0; i < count; ++i) {
    packets[i].next = buffer.free;
    buffer.free = count + i;
  }
  std::unique_ptr<HostCalls> calls(new HostCalls(std::move(*memory)));
  try {
    calls->thread = std::thread([served = calls.get()] { served->serve(); });
  } catch (const std::system_error &error) {
    return createStringError("cannot start a thread for what kernels ask the host: %s",
                             error.what());
  }
  return calls;
}

HostCalls::HostCalls(DeviceMemory owned) : memory(std::move(owned)) {}

void HostCalls::finish() {
  over = true;
  if (thread.joinable())
    thread.join();
}

HostCalls::~HostCalls() {
  finish();
  consumeError(std::move(trouble));
}

void HostCalls::serve() {
  constexpr unsigned kEagerRounds = 200; // calls come in rows: a string is many of them
  for (unsigned idle = 0;;) {
    const bool last = over;
    if (serveReady())
      idle = 0;
    else if (last)
      return;
    else if (++idle < kEagerRounds)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

// Answers what is ready, in the order in which it became so. False if there was nothing.
bool HostCalls::serveReady() {
  auto &buffer = *memory.as<Buffer>();
  uint64_t number = std::atomic_ref(buffer.ready).exchange(0, std::memory_order_acquire);
  std::vector<uint64_t> indexes;
  auto *packets = reinterpret_cast<Packet *>(buffer.packets);
  auto *payloads = reinterpret_cast<Payload *>(buffer.payloads);
  for (; number; number = packets[number & buffer.indexMask].next)
    indexes.push_back(number & buffer.indexMask);
  for (uint64_t index : reverse(indexes)) {
    answer(packets[index], payloads[index]);
    std::atomic_ref(packets[index].control).fetch_and(~1u, std::memory_order_release);
  }
  return !indexes.empty();
}

// Memory for the device library's heap, in whose large blocks small ones find their block's start
// by its alignment. 0 where there is none; a size of 0 frees.
static uint64_t serveMemory(uint64_t address, uint64_t bytes) {
  Memory &memory = Machine::instance().memory;
  if (address || !bytes) {
    consumeError(memory.free(reinterpret_cast<void *>(address)));
    return 0;
  }
  const uint64_t alignment = std::clamp<uint64_t>(PowerOf2Ceil(bytes), 4096, 2 << 20);
  auto made = memory.allocateZeroed(bytes, MemoryKind::Device, alignment);
  if (!made) {
    consumeError(made.takeError());
    return 0;
  }
  return reinterpret_cast<uint64_t>(*made);
}

void HostCalls::answer(Packet &packet, Payload &payload) {
  for (uint64_t lanes = packet.activeLanes; lanes; lanes &= lanes - 1) {
    uint64_t *values = payload[countr_zero(lanes)];
    switch (packet.service) {
    case kPrintf:
      messages.receive(values);
      break;
    case kDeviceMemory:
      values[0] = serveMemory(values[0], values[1]);
      break;
    default:
      trouble = joinErrors(std::move(trouble),
                           createStringError("a kernel asked the host for service %u, expected 2 "
                                             "(printf) or 3 (memory)",
                                             packet.service));
      return;
    }
  }
}

} // namespace rubia::emulator
