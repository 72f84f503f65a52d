// SPDX-License-Identifier: Apache-2.0
#include "emulator/hip/HostCalls.h"
#include "emulator/lib/machine/ThreadSignals.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"
#include <system_error>

using namespace llvm;

namespace rubia::emulator::hip {

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

static uint64_t packetsAt(uint64_t bufferBytes) { return alignTo(bufferBytes, 64); }
static uint64_t payloadsAt(uint64_t bufferBytes, uint64_t packetBytes) {
  return alignTo(packetsAt(bufferBytes) + packetBytes, 64);
}

Expected<std::unique_ptr<HostCalls>> HostCalls::start(uint64_t waves) {
  const uint64_t count = PowerOf2Ceil(std::max<uint64_t>(waves, 2));
  const uint64_t bytes =
      payloadsAt(sizeof(Buffer), count * sizeof(Packet)) + count * sizeof(Payload);
  auto memory = DeviceMemory::zeroed(bytes);
  if (!memory)
    return memory.takeError();
  std::unique_ptr<HostCalls> calls(new HostCalls(std::move(*memory), count));
  const NewThreadsTakeNoSignals guard;
  try {
    calls->thread = std::thread([served = calls.get()] { served->serve(); });
  } catch (const std::system_error &error) {
    return createStringError("cannot start a thread for what kernels ask the host: %s",
                             error.what());
  }
  return calls;
}

HostCalls::HostCalls(DeviceMemory owned, uint64_t count) : memory(std::move(owned)), count(count) {
  auto &buffer = *memory.as<Buffer>();
  // A signal without a mailbox, so that nobody sends an interrupt for it.
  buffer = {.packets = uint64_t(packets()),
            .payloads = uint64_t(payloads()),
            .signal = memory.address() + offsetof(Buffer, signalObject),
            .free = 0,
            .ready = 0,
            .indexMask = count - 1,
            .signalObject = {}};
  for (uint64_t i = 0; i < count; ++i) {
    packets()[i].next = buffer.free;
    buffer.free = count + i;
  }
}

HostCalls::Packet *HostCalls::packets() const {
  return reinterpret_cast<Packet *>(memory.address() + packetsAt(sizeof(Buffer)));
}
HostCalls::Payload *HostCalls::payloads() const {
  return reinterpret_cast<Payload *>(memory.address() +
                                     payloadsAt(sizeof(Buffer), count * sizeof(Packet)));
}

void HostCalls::finish() {
  over = true;
  if (thread.joinable())
    thread.join();
}

HostCalls::~HostCalls() { finish(); }

Error HostCalls::takeError() {
  return problem.empty() ? Error::success() : createStringError(problem);
}

void HostCalls::fail(const Twine &what) {
  if (problem.empty())
    problem = what.str();
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

// A word that kernels may write at the same time.
static uint64_t load(uint64_t &word) {
  return std::atomic_ref(word).load(std::memory_order_relaxed);
}
static uint32_t load(uint32_t &word) {
  return std::atomic_ref(word).load(std::memory_order_relaxed);
}

// The indexes of the packets on a stack, from its top on; each at most once.
std::vector<uint64_t> HostCalls::walk(uint64_t number) {
  std::vector<uint64_t> indexes;
  BitVector seen(number ? unsigned(count) : 0);
  for (; number; number = load(packets()[indexes.back()].next)) {
    const uint64_t index = number & (count - 1);
    if (seen.test(unsigned(index))) {
      fail("a kernel has damaged the list of its calls of the host: it goes round");
      break;
    }
    seen.set(unsigned(index));
    indexes.push_back(index);
  }
  return indexes;
}

// Answers what is ready, in the order in which it became so. False if there was nothing.
bool HostCalls::serveReady() {
  std::atomic_ref ready(memory.as<Buffer>()->ready);
  const std::vector<uint64_t> indexes = walk(ready.exchange(0, std::memory_order_acquire));
  for (uint64_t index : reverse(indexes)) {
    Packet &packet = packets()[index];
    answer({0, load(packet.activeLanes), load(packet.service), 0}, payloads()[index]);
    std::atomic_ref(packet.control).fetch_and(~1u, std::memory_order_release);
  }
  return !indexes.empty();
}

namespace {

// What the device library's heap was given, which it keeps from launch to launch: all that kernels
// may free.
class GivenMemory {
public:
  static GivenMemory &instance() {
    static GivenMemory all;
    return all;
  }
  void add(uint64_t address) {
    std::lock_guard lock(mutex);
    addresses.insert(address);
  }
  bool take(uint64_t address) {
    std::lock_guard lock(mutex);
    return addresses.erase(address);
  }

private:
  std::mutex mutex;
  DenseSet<uint64_t> addresses;
};

// In large blocks of the device library's heap small ones find their block's start by its
// alignment. 0 where there is no memory.
uint64_t giveMemory(uint64_t bytes) {
  const uint64_t alignment = std::clamp<uint64_t>(PowerOf2Ceil(bytes), 4096, 2 << 20);
  auto made = Machine::instance().memory.allocateZeroed(bytes, MemoryKind::Device, alignment);
  if (!made) {
    consumeError(made.takeError());
    return 0;
  }
  const auto address = reinterpret_cast<uint64_t>(*made);
  GivenMemory::instance().add(address);
  return address;
}

} // namespace

// A packet's words are copies.
void HostCalls::answer(const Packet &packet, Payload &payload) {
  for (uint64_t lanes = packet.activeLanes; lanes; lanes &= lanes - 1) {
    uint64_t (&slot)[8] = payload[countr_zero(lanes)];
    uint64_t values[8];
    for (unsigned i = 0; i < 8; ++i)
      values[i] = load(slot[i]);
    answerLane(packet.service, values);
    std::atomic_ref(slot[0]).store(values[0], std::memory_order_relaxed);
  }
}

void HostCalls::answerLane(uint32_t service, uint64_t (&values)[8]) {
  switch (service) {
  case kPrintf:
    if (Error error = messages.receive(values))
      fail(toString(std::move(error)));
    return;
  case kDeviceMemory: { // an address or a size of 0: frees
    const uint64_t address = values[0], bytes = values[1];
    values[0] = 0;
    if (!address && bytes)
      values[0] = giveMemory(bytes);
    else if (address && GivenMemory::instance().take(address))
      consumeError(Machine::instance().memory.free(reinterpret_cast<void *>(address)));
    else if (address)
      fail("a kernel asked the host to free 0x" + Twine::utohexstr(address) +
           ", which it has not been given");
    return;
  }
  default:
    fail("a kernel asked the host for service " + Twine(service) +
         ", expected 2 (printf) or 3 (memory)");
  }
}

} // namespace rubia::emulator::hip
