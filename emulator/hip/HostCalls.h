// SPDX-License-Identifier: Apache-2.0
// Calls of the host by kernels: what printf, a failed assertion and the heap of HIP's device
// library come down to (ROCm's device libraries, __ockl_hostcall_internal).
//
// A wave takes a packet from a stack of free ones, fills in what it wants, pushes the packet on the
// stack of ready ones, and waits until the packet's control word says that the answer is there. A
// thread of the host serves that stack for as long as the kernel runs.
//
// All of it lies in memory that kernels write, and may hold anything at any time. So where the
// packets are and how many is the host's own knowledge, whatever is looked at twice is copied
// first, and kernels may free only what they were given here.
#pragma once

#include "emulator/hip/DeviceMemory.h"
#include "emulator/hip/PrintfMessages.h"
#include "llvm/ADT/Twine.h"
#include <thread>

namespace rubia::emulator::hip {

class HostCalls {
public:
  /// For a launch of at most `waves` waves at a time: each has a packet, as waves that find none do
  /// not wait for one.
  static llvm::Expected<std::unique_ptr<HostCalls>> start(uint64_t waves);
  ~HostCalls();
  void finish(); // after the kernel: everything has been answered

  uint64_t buffer() const { return memory.address(); } // of the hidden argument hostcall_buffer
  /// What a kernel asked for that is not there, the first of it, or success.
  llvm::Error takeError();

private:
  struct Buffer;
  struct Packet;
  using Payload = uint64_t[64][8]; // by lane

  HostCalls(DeviceMemory memory, uint64_t count);
  Packet *packets() const;
  Payload *payloads() const;
  void serve();
  bool serveReady();
  std::vector<uint64_t> walk(uint64_t number);
  void answer(const Packet &packet, Payload &payload);
  void answerLane(uint32_t service, uint64_t (&values)[8]);
  void fail(const llvm::Twine &what);

  DeviceMemory memory;
  uint64_t count; // of packets, a power of two
  PrintfMessages messages;
  std::string problem; // empty: none
  std::atomic<bool> over{false};
  std::thread thread;
};

} // namespace rubia::emulator::hip
