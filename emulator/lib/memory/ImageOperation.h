// SPDX-License-Identifier: Apache-2.0
// An image instruction as an operation, and what its address registers hold: by name, some numbers
// before the coordinates, the coordinates, and one behind them (RDNA3 ISA "Image Addressing").
//
// Operands: `result` the data registers; the sources hold numbers of registers and the fields of
// the instruction, `immediate` the ImageFlags.
#pragma once

#include "emulator/lib/machine/Addressing.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace rubia::emulator {

/// The instruction's own dimensions, DIM.
enum class ImageDimensions : uint8_t {
  One,
  Two,
  Three,
  Cube,
  OneLayers,
  TwoLayers,
  TwoSamples,
  TwoSamplesLayers
};

enum ImageFlag : uint32_t {
  kImageOffsets = 1 << 0, // packed into a register
  kImageBias = 1 << 1,
  kImageGradients = 1 << 2,
  kImageLevel = 1 << 3,     // an operand behind the coordinates: the level of detail
  kImageLevelZero = 1 << 4, // _LZ
  kImageLevelClamp = 1 << 5,
  kImageHalfAddress = 1 << 6, // A16
  kImageHalfGradients = 1 << 7,
  kImageHalfData = 1 << 8, // D16
  kImageUnnormalized = 1 << 9,
  kImageReturns = 1 << 10, // an atomic
  kImageHasSampler = 1 << 11,
  kImageAtomic = 1 << 12,
  kImageStore = 1 << 13,
};

/// Reads and writes the fields of a MicroOp.
struct ImageOperation {
  static constexpr unsigned kPerSource = 7, kVgprBits = 9; // numbers of registers in a source
  static constexpr unsigned kMostAddresses = 2 * kPerSource;

  const MicroOp &op;

  static void setAddress(MicroOp &op, unsigned i, unsigned vgpr) {
    op.source[i / kPerSource] |= uint64_t(vgpr) << i % kPerSource * kVgprBits;
  }
  static void setFields(MicroOp &op, unsigned mask, unsigned dimensions, unsigned resource,
                        unsigned sampler) {
    op.source[2] = mask | dimensions << 4;
    op.source[3] = resource | sampler << 16;
  }

  bool has(ImageFlag flag) const { return uint32_t(op.immediate) & flag; }
  unsigned mask() const { return op.source[2] & 15 ? op.source[2] & 15 : 1; }
  ImageDimensions dimensions() const { return ImageDimensions(op.source[2] >> 4 & 7); }
  unsigned resource() const { return op.source[3] & 0xffff; }
  unsigned sampler() const { return unsigned(op.source[3] >> 16); }
  /// The offset of a register of addresses in a block.
  uint32_t addressOffset(unsigned i) const {
    return vectorOffset(
        unsigned(op.source[i / kPerSource] >> i % kPerSource * kVgprBits & ((1 << kVgprBits) - 1)));
  }
  uint32_t address(const Wave &w, unsigned i, unsigned lane) const {
    return w.vgpr(addressOffset(i), lane);
  }

  /// Coordinates without layers and faces.
  unsigned extents() const {
    switch (dimensions()) {
    case ImageDimensions::One:
    case ImageDimensions::OneLayers:
      return 1;
    case ImageDimensions::Two:
    case ImageDimensions::Cube:
    case ImageDimensions::TwoLayers:
    case ImageDimensions::TwoSamples:
    case ImageDimensions::TwoSamplesLayers:
      return 2;
    case ImageDimensions::Three:
      return 3;
    }
    return 0;
  }
  bool hasLayers() const {
    return dimensions() == ImageDimensions::Cube || dimensions() == ImageDimensions::OneLayers ||
           dimensions() == ImageDimensions::TwoLayers;
  }
  unsigned coordinates() const { return extents() + hasLayers(); }
  /// Registers of an address.
  unsigned addressRegisters() const;
};

/// What a lane asks for.
struct ImageAddress {
  int offset[3] = {}; // in texels
  float bias = 0, levelClamp = 0;
  float level = 0;
  uint32_t integerLevel = 0;
  float gradient[2][3] = {}; // by x and by y of the screen
  float at[3] = {};
  uint32_t index[3] = {};
  float layer = 0; // or face
  uint32_t layerIndex = 0;

  static ImageAddress read(const Wave &w, const ImageOperation &op, unsigned lane);
};

/// The rows of image instructions, named without IMAGE_; of atomics those of 32 and 64 bits are
/// one.
extern const MemoryTable kImageMemory, kImageAtomics;
/// What all IMAGE_SAMPLE_* and IMAGE_GATHER4_* are, whose names say what addresses hold.
void sampleImage(Wave &w, const MicroOp &op);
void gatherImage(Wave &w, const MicroOp &op);

/// A texel in memory that a lane touches.
struct TouchedTexel {
  unsigned lane;
  uint64_t address;
  unsigned bytes;
  unsigned component; // of IMAGE_GATHER4's result; else 0
};
/// Calls `visit` with the texels that an instruction touches, in the order of lanes; with none
/// where its resource or its sampler is refused.
void visitTexels(const Wave &w, const MicroOp &op,
                 llvm::function_ref<void(const TouchedTexel &)> visit);
/// The bits that a lane's IMAGE_STORE writes; false where its resource is refused.
bool encodeStored(const Wave &w, const MicroOp &op, unsigned lane, uint32_t (&words)[4]);
/// BUFFER_LOAD_FORMAT_* and its kin.
extern const MemoryTable kBufferFormats;

} // namespace rubia::emulator
