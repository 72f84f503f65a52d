// SPDX-License-Identifier: Apache-2.0
#include "diff/lib/ReplayedTensorMaps.h"
#include "llvm/Support/Endian.h"

using namespace llvm;

namespace rubia::capsule {

std::string encodeTensorMaps(const Launch &launch, const DriverApi &api,
                             const Relocation &relocation, ReplacedTensorMaps &maps) {
  maps.clear();
  if (launch.tensorMaps.empty())
    return "";
  if (!api.hasTensorMaps)
    return "the driver has no tensor maps";
  for (const TensorMap &map : launch.tensorMaps) {
    const TensorMapArguments &with = map.arguments;
    uint8_t address[sizeof(uint64_t)];
    support::endian::write64le(address, with.address);
    relocation.apply(address);
    auto *memory = reinterpret_cast<void *>(support::endian::read64le(address));
    alignas(64) uint8_t ours[kTensorMapBytes] = {};
    const int status =
        with.isIm2col
            ? api.cuTensorMapEncodeIm2col(ours, with.type, with.rank, memory, with.sizes,
                                          with.strides, with.lower, with.upper, with.channels,
                                          with.pixels, with.elementStrides, with.interleave,
                                          with.swizzle, with.promotion, with.fill)
            : api.cuTensorMapEncodeTiled(ours, with.type, with.rank, memory, with.sizes,
                                         with.strides, with.box, with.elementStrides,
                                         with.interleave, with.swizzle, with.promotion, with.fill);
    if (status)
      return "a tensor map cannot be encoded: " + api.nameOf(status);
    maps.add(map, ours);
  }
  return "";
}

} // namespace rubia::capsule
