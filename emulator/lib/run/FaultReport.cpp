// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/run/FaultReport.h"
#include "emulator/lib/decode/Disassembly.h"
#include "emulator/lib/memory/ImageProblem.h"
#include "emulator/lib/memory/ReadOnlyRanges.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cstring>

using namespace llvm;

namespace rubia::emulator {

char Fault::ID;

StringRef toString(Fault::Kind kind) {
  switch (kind) {
  case Fault::OutOfBounds:
    return "access outside of any allocation";
  case Fault::UseAfterFree:
    return "access to freed memory";
  case Fault::Misaligned:
    return "misaligned access";
  case Fault::Trap:
    return "trap";
  case Fault::BarrierDivergence:
    return "divergent barrier";
  case Fault::Deadlock:
    return "no progress";
  case Fault::IllegalInstruction:
    return "illegal instruction or register";
  case Fault::LdsOutOfBounds:
    return "LDS access beyond the workgroup's allocation";
  case Fault::ScratchOverflow:
    return "scratch access beyond the lane's allocation";
  case Fault::UnwaitedRegister:
    return "register used before a wait for the memory operation that fills it";
  case Fault::DataRace:
    return "data race";
  case Fault::Uninitialised:
    return "use of a value that was never written";
  case Fault::AtomicOnHostMemory:
    return "atomic that GPUs drop in memory of the host";
  case Fault::WarpHazard:
    return "hazard within a warp";
  case Fault::InvalidMask:
    return "invalid membermask";
  case Fault::ImageResource:
    return "image resource that cannot be used";
  }
  return "";
}

StringRef wordOf(Fault::Kind kind) {
  switch (kind) {
  case Fault::OutOfBounds:
    return "out-of-bounds";
  case Fault::UseAfterFree:
    return "use-after-free";
  case Fault::Misaligned:
    return "misaligned";
  case Fault::Trap:
    return "trap";
  case Fault::BarrierDivergence:
    return "divergent-barrier";
  case Fault::Deadlock:
    return "no-progress";
  case Fault::IllegalInstruction:
    return "illegal-instruction";
  case Fault::LdsOutOfBounds:
    return "shared-out-of-bounds";
  case Fault::ScratchOverflow:
    return "stack-overflow";
  case Fault::UnwaitedRegister:
    return "unwaited-register";
  case Fault::DataRace:
    return "data-race";
  case Fault::Uninitialised:
    return "uninitialised";
  case Fault::AtomicOnHostMemory:
    return "dropped-atomic";
  case Fault::WarpHazard:
    return "warp-hazard";
  case Fault::InvalidMask:
    return "invalid-mask";
  case Fault::ImageResource:
    return "image-resource";
  }
  return "";
}

std::string triple(const Dim3 &id) {
  return "(" + std::to_string(id.x) + "," + std::to_string(id.y) + "," + std::to_string(id.z) + ")";
}

std::error_code Fault::convertToErrorCode() const { return inconvertibleErrorCode(); }

void Fault::log(raw_ostream &os) const {
  os << "kernel " << kernel << ": " << toString(kind);
  if (accessSize)
    os << ": " << (isWrite ? "write" : "read") << " of " << accessSize << " bytes at 0x"
       << utohexstr(address, true);
  os << ", workgroup " << triple(workgroup) << " thread " << triple(thread) << ", pc 0x"
     << utohexstr(pc, true);
  if (!disassembly.empty())
    os << ": " << disassembly;
  if (!source.empty())
    os << " [" << source << "]";
  if (!detail.empty())
    os << "; " << detail;
}

static Fault::Kind publicKind(FaultKind kind) {
  switch (kind) {
  case FaultKind::OutOfBounds:
    return Fault::OutOfBounds;
  case FaultKind::UseAfterFree:
    return Fault::UseAfterFree;
  case FaultKind::Misaligned:
    return Fault::Misaligned;
  case FaultKind::Trap:
    return Fault::Trap;
  case FaultKind::BarrierDivergence:
    return Fault::BarrierDivergence;
  case FaultKind::Deadlock:
    return Fault::Deadlock;
  case FaultKind::IllegalInstruction:
    return Fault::IllegalInstruction;
  case FaultKind::LdsOutOfBounds:
    return Fault::LdsOutOfBounds;
  case FaultKind::ScratchOverflow:
    return Fault::ScratchOverflow;
  case FaultKind::UnwaitedRegister:
    return Fault::UnwaitedRegister;
  case FaultKind::DataRace:
    return Fault::DataRace;
  case FaultKind::Uninitialised:
    return Fault::Uninitialised;
  case FaultKind::AtomicOnHostMemory:
    return Fault::AtomicOnHostMemory;
  case FaultKind::WarpHazard:
    return Fault::WarpHazard;
  case FaultKind::InvalidMask:
    return Fault::InvalidMask;
  case FaultKind::ImageResource:
    return Fault::ImageResource;
  }
  return Fault::IllegalInstruction;
}

static std::string describe(const Allocation &allocation) {
  return std::to_string(allocation.size) + " bytes at 0x" + utohexstr(allocation.address, true);
}

/// Where a bad address lies with respect to the allocations.
static std::string describePlace(const Fault &fault, const Memory &memory, DeviceSet device) {
  if (std::optional<Allocation> inside = memory.lookup(fault.address)) {
    if (!(inside->devices & device))
      return "this device has no access to the allocation of " + describe(*inside) +
             ", which is another one's";
    if (fault.kind == Fault::AtomicOnHostMemory)
      return "the allocation of " + describe(*inside) + " is the host's";
    if (isReadOnly(memory, fault.address, device))
      return "the allocation of " + describe(*inside) + " may only be read";
    return "the access ends " + std::to_string(fault.address + fault.accessSize - inside->end()) +
           " bytes beyond the allocation of " + describe(*inside);
  }
  if (std::optional<Allocation> freed = memory.findFreed(fault.address))
    return "an allocation of " + describe(*freed) + " was there until it was freed";
  std::optional<Allocation> near = memory.nearest(fault.address);
  if (!near)
    return "there are no allocations";
  if (fault.address >= near->end())
    return std::to_string(fault.address - near->end()) +
           " bytes after the end of the nearest allocation of " + describe(*near);
  return std::to_string(near->address - fault.address) +
         " bytes before the nearest allocation of " + describe(*near);
}

static std::string disassemblyAt(const Program &program, uint32_t pc) {
  std::optional<DisassembledInstruction> found = disassembleAt(program, pc);
  return found ? found->text : "";
}

std::string describePlace(const Program &program, uint32_t pc) {
  std::string text = "pc 0x" + utohexstr(pc, true);
  if (std::string instruction = disassemblyAt(program, pc); !instruction.empty())
    text += ": " + instruction;
  if (std::string source = program.lines ? program.lines->at(pc) : ""; !source.empty())
    text += " [" + source + "]";
  return text;
}

/// Of Rubia's half-filled form, the workgroup that is dispatched is a row of waves; the block of
/// the CUDA program lies in the last kernel argument, abi::LaunchArguments, which begins with it.
Dim3 blockOfThreads(const Launch &launch, const Program &program) {
  constexpr size_t kLaunchArguments = 64;
  const size_t end = launch.kernel->explicitKernargSize;
  if (program.threadsPerWave == program.waveSize || end < kLaunchArguments ||
      end > launch.kernarg.size())
    return launch.block;
  uint32_t ntid[3];
  std::memcpy(ntid, launch.kernarg.data() + end - kLaunchArguments, sizeof(ntid));
  const Dim3 block{ntid[0], ntid[1], ntid[2]};
  const bool isSmall = std::max({block.x, block.y, block.z}) <= kMaxWorkgroupSize;
  const uint64_t threads = isSmall ? block.count() : 0;
  const uint64_t waves = (threads + program.threadsPerWave - 1) / program.threadsPerWave;
  return threads && waves * program.waveSize == launch.block.count() ? block : launch.block;
}

Dim3 threadOf(const Launch &launch, const Program &program, unsigned wave, unsigned lane) {
  const uint64_t flat = uint64_t(wave) * program.threadsPerWave + lane;
  const Dim3 block = blockOfThreads(launch, program);
  return {uint32_t(flat % block.x), uint32_t(flat / block.x % block.y),
          uint32_t(flat / block.x / block.y)};
}

WavePlace placeOf(const Launch &launch, const Program &program, Dim3 thread) {
  const Dim3 block = blockOfThreads(launch, program);
  const uint64_t flat = thread.x + uint64_t(block.x) * (thread.y + uint64_t(block.y) * thread.z);
  return {unsigned(flat / program.threadsPerWave), unsigned(flat % program.threadsPerWave)};
}

std::unique_ptr<Fault> describeFault(const FaultRecord &record, const Launch &launch,
                                     const Program &program, const Memory &memory, Dim3 workgroup) {
  auto fault = std::make_unique<Fault>();
  fault->kind = publicKind(record.kind);
  fault->severity = record.isWarning ? Fault::Severity::Warning : Fault::Severity::Error;
  fault->kernel = launch.kernel->name;
  fault->workgroup = workgroup;
  fault->thread = threadOf(launch, program, record.wave, record.lane);
  fault->pc = record.pc;
  fault->address = record.address;
  fault->accessSize = record.size;
  fault->isWrite = record.isWrite;
  fault->disassembly = disassemblyAt(program, record.pc);
  fault->source = program.lines ? program.lines->at(record.pc) : "";
  if (fault->kind == Fault::OutOfBounds) {
    if (!memory.lookup(fault->address) && memory.findFreed(fault->address))
      fault->kind = Fault::UseAfterFree;
    fault->detail = describePlace(*fault, memory, setOf(launch.device));
  }
  if (fault->kind == Fault::AtomicOnHostMemory)
    fault->detail = describePlace(*fault, memory, setOf(launch.device));
  if (auto why = program.refused.find(record.pc);
      fault->kind == Fault::IllegalInstruction && why != program.refused.end())
    fault->detail = why->second;
  if (fault->kind == Fault::InvalidMask)
    fault->detail = "the thread is not in its own membermask, or threads in it have another one";
  if (fault->kind == Fault::ImageResource) {
    fault->detail = textOf(ImageProblem(record.address));
    fault->address = 0;
  }
  if (fault->kind == Fault::LdsOutOfBounds)
    fault->detail = "the workgroup has " +
                    std::to_string(launch.kernel->ldsBytes + launch.dynamicLdsBytes) + " bytes";
  return fault;
}

} // namespace rubia::emulator
