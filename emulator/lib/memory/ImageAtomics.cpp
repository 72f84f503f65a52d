// SPDX-License-Identifier: Apache-2.0
// IMAGE_ATOMIC_*: on a texel of 32 or 64 bits, whatever its format (RDNA3 ISA "Image Atomics"). A
// lane outside of the image does nothing, and gets 0.
#include "emulator/lib/memory/AtomicSemantics.h"
#include "emulator/lib/memory/ImageResource.h"

namespace rubia::emulator {
namespace {

template <auto Function> void updateTexels(Wave &w, const MicroOp &op, const ImageResource &image) {
  using T = AtomicParts<Function>::Value;
  const ImageOperation view{op};
  const FloatRules rules = floatRules(w, AtomicParts<Function>::kFloat, false, false);
  for (uint64_t rest = w.exec(); rest; rest &= rest - 1) {
    const auto lane = unsigned(std::countr_zero(rest));
    const unsigned block = lane / kBlockLanes, inBlock = lane % kBlockLanes;
    uint32_t *registers = w.block(block) + op.result;
    const uint64_t address = texelAt(image, view, ImageAddress::read(w, view, lane));
    T old = {};
    if (address) {
      LaneAddresses addresses;
      addresses.at[inBlock] = address;
      if (!checkTexel(w, op, lane, address, sizeof(T), true) ||
          (!isOfBus<Function>() &&
           !checkDeviceMemory(w, op, block, 1u << inBlock, addresses, sizeof(T))))
        return;
      old =
          applyAt<Function, true, T>(reinterpret_cast<void *>(address), rules, registers, inBlock);
    }
    if (view.has(kImageReturns))
      writeRegisters<T>(registers, inBlock, old);
  }
}

/// By the size of texels; there may be none of 64 bits.
template <auto Narrow, auto... Wide> void atomic(Wave &w, const MicroOp &op) {
  if (!w.exec())
    return;
  ImageResource image = ImageResource::read(w, ImageOperation{op});
  const uint32_t bytes = image.layout.texelBytes;
  const unsigned registers = AtomicParts<Narrow>::kOperands * bytes / 4;
  if (image.problem == ImageProblem::None && bytes != 4 && (bytes != 8 || sizeof...(Wide) == 0))
    image.problem = ImageProblem::Format;
  else if (image.problem == ImageProblem::None &&
           ImageOperation{op}.mask() != (1u << registers) - 1)
    image.problem = ImageProblem::Mask;
  if (!checkImage(w, op, image.problem))
    return;
  if (bytes == 4)
    updateTexels<Narrow>(w, op, image);
  else
    (updateTexels<Wide>(w, op, image), ...);
}

constexpr MemorySemantics kRows[] = {
    {"ATOMIC_SWAP", atomic<kSwap<uint32_t>, kSwap<uint64_t>>},
    {"ATOMIC_CMPSWAP", atomic<kCompareSwap<uint32_t>, kCompareSwap<uint64_t>>},
    {"ATOMIC_ADD", atomic<kAdd<uint32_t>, kAdd<uint64_t>>},
    {"ATOMIC_SUB", atomic<kSub<uint32_t>, kSub<uint64_t>>},
    {"ATOMIC_SMIN", atomic<kMin<int32_t>, kMin<int64_t>>},
    {"ATOMIC_UMIN", atomic<kMin<uint32_t>, kMin<uint64_t>>},
    {"ATOMIC_SMAX", atomic<kMax<int32_t>, kMax<int64_t>>},
    {"ATOMIC_UMAX", atomic<kMax<uint32_t>, kMax<uint64_t>>},
    {"ATOMIC_AND", atomic<kAnd<uint32_t>, kAnd<uint64_t>>},
    {"ATOMIC_OR", atomic<kOr<uint32_t>, kOr<uint64_t>>},
    {"ATOMIC_XOR", atomic<kXor<uint32_t>, kXor<uint64_t>>},
    {"ATOMIC_INC", atomic<kInc<uint32_t>, kInc<uint64_t>>},
    {"ATOMIC_DEC", atomic<kDec<uint32_t>, kDec<uint64_t>>},
    {"ATOMIC_FCMPSWAP", atomic<kCompareSwapFloat<float>, kCompareSwapFloat<double>>},
    {"ATOMIC_FMIN", atomic<kMinFloat<float>, kMinFloat<double>>},
    {"ATOMIC_FMAX", atomic<kMaxFloat<float>, kMaxFloat<double>>},
    {"ATOMIC_ADD_FLT", atomic<kAddFloat<float>>},
    {"ATOMIC_MIN_FLT", atomic<kMinFloat<float>>},
    {"ATOMIC_MAX_FLT", atomic<kMaxFloat<float>>},
    {"ATOMIC_PK_ADD_F16", atomic<kAddHalves>},
    {"ATOMIC_PK_ADD_BF16", atomic<kAddBfloats>},
};

} // namespace

const MemoryTable kImageAtomics = table(kRows);

} // namespace rubia::emulator
