// SPDX-License-Identifier: Apache-2.0
#include "emulator/hip/PrintfBuffer.h"
#include "emulator/hip/Api.h"
#include "emulator/hip/PrintfMessages.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using support::endian::read32le;
using support::endian::read64le;

namespace rubia::emulator::hip {

// Two words, how much is taken and how much there is, then the records: a control word (bit 0:
// stderr, bit 1: the format is one of the code object's, above them the record's size in bytes),
// the format's number or its text, and the arguments.
constexpr uint32_t kHeaderBytes = 8, kBufferBytes = 4 << 20;

Expected<std::unique_ptr<PrintfBuffer>> PrintfBuffer::make(const Kernel &kernel) {
  std::map<uint64_t, std::string> formats;
  // "0:0:<number>,<format>"; OpenCL's begin with a number and the sizes of arguments.
  for (StringRef entry : *kernel.printfFormats) {
    uint64_t number;
    StringRef rest = entry;
    if (!rest.consume_front("0:0:") || rest.split(',').first.getAsInteger(16, number))
      return createStringError("kernel " + kernel.name + " prints as OpenCL does, which HIP's " +
                               "run-time library does not read: '" + entry + "'");
    formats[number] = rest.split(',').second.str();
  }
  auto memory = DeviceMemory::zeroed(kBufferBytes);
  if (!memory)
    return memory.takeError();
  memory->as<uint32_t>()[1] = kBufferBytes;
  return std::unique_ptr<PrintfBuffer>(new PrintfBuffer(std::move(*memory), std::move(formats)));
}

// Words of eight bytes, which are aligned to four.
static std::vector<uint64_t> wordsOf(ArrayRef<uint8_t> bytes) {
  std::vector<uint64_t> words;
  for (; bytes.size() >= 8; bytes = bytes.drop_front(8))
    words.push_back(read64le(bytes.data()));
  return words;
}

Error PrintfBuffer::print() {
  const auto *base = memory.as<uint8_t>();
  const uint64_t taken = read32le(base);
  const uint64_t room = kBufferBytes - kHeaderBytes;
  ArrayRef<uint8_t> rest(base + kHeaderBytes, std::min(taken, room));
  while (rest.size() >= 4) {
    const uint32_t control = read32le(rest.data());
    const size_t size = control >> 2;
    if (size < 4 || size > rest.size())
      break; // a thread that found no place counted all the same, or left without filling its own
    std::vector<uint64_t> words = wordsOf(rest.take_front(size).drop_front(4));
    rest = rest.drop_front(size);
    const bool toStderr = control & 1;
    if (!(control & 2)) {
      printMessage(toStderr, formatPrintf(words));
      continue;
    }
    auto format = words.empty() ? formats.end() : formats.find(words.front());
    if (format == formats.end())
      return createStringError("a kernel printed with a format that its code object does not have");
    printMessage(toStderr, formatPrintf(format->second, ArrayRef(words).drop_front()));
  }
  if (taken > room || !rest.empty())
    complain("kernels printed more than the buffer of " + Twine(kBufferBytes) +
             " bytes holds, or ended while they did: the rest is lost");
  return Error::success();
}

} // namespace rubia::emulator::hip
