// SPDX-License-Identifier: Apache-2.0
// What surface instructions store: sust.p of words that formats cannot hold, and sured. As with
// textures (Cases.h), all of it follows from the name of a case, and a recording holds results
// only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rubia::golden {

struct SurfaceCase {
  std::string name; // for people; unique. The instruction, then the format
  std::string instruction;
  unsigned dimensions = 2, elements = 1;
  unsigned elementBytes = 4; // of an operand: 4, or 8
  bool countsBytes = false;  // the first coordinate
  int format = 0x20;
  unsigned channels = 1;

  unsigned width() const { return dimensions == 1 ? 256 : dimensions == 2 ? 16 : 8; }
  unsigned height() const { return dimensions == 1 ? 0 : dimensions == 2 ? 16 : 8; }
  unsigned depth() const { return dimensions == 3 ? 4 : 0; }
};

/// In the order of the recording.
const std::vector<SurfaceCase> &surfaceCases();

inline constexpr unsigned kSurfaceThreads = 288; // one for each of 256 texels, and outside

unsigned texelBytes(const SurfaceCase &c);
/// The array's bytes before the launch.
std::vector<uint8_t> bytesBefore(const SurfaceCase &c);
/// For each thread four words of coordinates. No two threads have the same texel.
std::vector<int32_t> coordinatesOf(const SurfaceCase &c);
/// For each thread four words of operands.
std::vector<uint32_t> operandsOf(const SurfaceCase &c);

/// The text of the module with the kernel: k(surface, coordinates, operands).
std::string kernelTextOf(const SurfaceCase &c);

} // namespace rubia::golden
