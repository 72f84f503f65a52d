// SPDX-License-Identifier: Apache-2.0
// Random and damaged instruction streams, and code objects that hold them. Stream NUMBER of a seed
// is always the same.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace rubia::fuzz {

using Random = std::mt19937_64;
using Bytes = std::vector<uint8_t>;

constexpr unsigned kBodyWords = 64;    // of a stream, at most
constexpr unsigned kBatchWords = 2048; // of the streams of one code object

struct Processor {
  std::string name;
  unsigned major = 0;
  Bytes open, sized, batch; // kernels around a body of marks; without .size, with it, and with room
                            // for many streams, of which an argument chooses one
  size_t openAt = 0, sizedAt = 0, batchAt = 0;
  std::vector<uint32_t> sound; // what clang makes of ordinary kernels

  bool isSound() const { return openAt && sizedAt && batchAt && !sound.empty(); }
};

/// Compiles and assembles what the streams of a processor need. Not sound if clang made nothing.
Processor prepare(const std::string &name);

std::vector<uint32_t> makeStream(const Processor &processor, Random &random);

/// A code object that holds one stream, and the s_nop behind it.
Bytes objectOf(const Processor &processor, llvm::ArrayRef<uint32_t> stream, bool sized);

/// Streams of one code object, of which a launch executes one.
class Batch {
public:
  explicit Batch(const Processor &processor);

  /// Where the stream begins, for the kernel's last argument. False: there is no room left.
  bool add(llvm::ArrayRef<uint32_t> stream, uint32_t &offset);
  /// No more streams: the code object.
  const Bytes &finish();

private:
  Bytes object;
  size_t at;
  uint32_t end; // s_endpgm
  unsigned words = 0;
};

} // namespace rubia::fuzz
