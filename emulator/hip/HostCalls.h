// Calls of the host by kernels: what printf, a failed assertion and the heap of HIP's device
// library come down to (ROCm's device libraries, __ockl_hostcall_internal).
//
// A wave takes a packet from a stack of free ones, fills in what it wants, pushes the packet on the
// stack of ready ones, and waits until the packet's control word says that the answer is there. A
// thread of the host serves that stack for as long as the kernel runs.
#pragma once

#include "emulator/hip/DeviceMemory.h"
#include "emulator/hip/PrintfMessages.h"
#include <thread>

namespace rubia::emulator {

class HostCalls {
public:
  // For a launch of at most `waves` waves at a time: each has a packet, as waves that find none do
  // not wait for one.
  static llvm::Expected<std::unique_ptr<HostCalls>> start(uint64_t waves);
  ~HostCalls();
  void finish(); // after the kernel: everything has been answered

  uint64_t buffer() const { return memory.address(); } // of the hidden argument hostcall_buffer
  // What a kernel asked for that is not there, or success.
  llvm::Error takeError() { return std::move(trouble); }

private:
  struct Buffer;
  struct Packet;
  using Payload = uint64_t[64][8]; // by lane

  explicit HostCalls(DeviceMemory memory);
  void serve();
  bool serveReady();
  void answer(Packet &packet, Payload &payload);

  DeviceMemory memory;
  PrintfMessages messages;
  llvm::Error trouble = llvm::Error::success();
  std::atomic<bool> over{false};
  std::thread thread;
};

} // namespace rubia::emulator
