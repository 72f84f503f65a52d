// SPDX-License-Identifier: Apache-2.0
// Occupancy is HIP's answer for the code object; a kernel that is not compiled yet is compiled for
// it.
#include "runtime/cuda/Occupancy.h"
#include "lowering/Abi.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <climits>

using namespace llvm;

namespace rubia::runtime::cuda {

// Programs compute the same from the attributes: no more CTAs than these allow.
static int withinAttributes(const Device &device, size_t sharedBytes, int threads, int blocks) {
  const unsigned capability = capabilityForFile(""); // of programs
  auto attribute = [&](int id) { return device.attribute(id, capability); };
  constexpr int kThreadsPerMultiprocessor = 39, kSharedPerMultiprocessor = 81,
                kBlocksPerMultiprocessor = 106, kReservedShared = 111;
  blocks = std::min({blocks, attribute(kBlocksPerMultiprocessor),
                     attribute(kThreadsPerMultiprocessor) / int(llvm::alignTo(threads, 32))});
  const size_t shared = sharedBytes + attribute(kReservedShared);
  if (shared)
    blocks = int(std::min<size_t>(blocks, attribute(kSharedPerMultiprocessor) / shared));
  return std::max(blocks, 0);
}

// CTAs per multiprocessor. Of a kernel that cannot be compiled it is the error of its launch, and
// `blocks` stays as it is.
static Result blocksPerMultiprocessor(Context &current, Function *function, int threads,
                                      size_t sharedBytes, int *blocks, bool inClusters = false) {
  if (threads <= 0)
    return kInvalidValue;
  return inContextOf(function, current, [&](Context &context) -> Result {
    Bound bound = bind(context, function);
    if (bound.error)
      return bound.error;
    if (threads > 1024 || sharedBytes > unsigned(maxDynamicShared(context.device, *function)))
      return *blocks = 0, kSuccess;
    // What the kernel declares of its blocks does not count, on NVIDIA's GPUs neither. The code is
    // for no larger ones: of those there is room as for the largest, within the attributes.
    const auto most = uint32_t(std::min<uint64_t>(threads, function->kernel.mostThreads()));
    Expected<int> resident = bound.module->loaded->residentCtas(function->kernel, most,
                                                                uint32_t(sharedBytes), inClusters);
    if (!resident)
      return report(context, resident.takeError());
    *blocks = withinAttributes(context.device, function->kernel.staticSharedBytes + sharedBytes,
                               threads, *resident);
    return kSuccess;
  });
}

Result checkCooperative(Context &context, Module &module, Function &function,
                        const LaunchShape &shape) {
  if (!hip().has<hipModuleLaunchCooperativeKernel>())
    return fail(kNotSupported, hip().path + " has no cooperative launches");
  uint64_t threads = uint64_t(shape.block[0]) * shape.block[1] * shape.block[2];
  const uint64_t cluster = ctasOf(clusterOf(function.kernel, shape));
  Expected<int> perMultiprocessor = module.loaded->residentCtas(
      function.kernel, uint32_t(threads), shape.dynamicSharedBytes, cluster > 1);
  if (!perMultiprocessor)
    return report(context, perMultiprocessor.takeError());
  const int within =
      withinAttributes(context.device, function.kernel.staticSharedBytes + shape.dynamicSharedBytes,
                       int(threads), *perMultiprocessor);
  Expected<uint64_t> clusters = DeviceServices::clustersAtOnce(
      hip(), cluster,
      uint64_t(within) *
          hip().attribute(HipAttribute::MultiprocessorCount, context.device.hipDevice));
  if (!clusters)
    return report(context, clusters.takeError());
  const uint64_t room = *clusters * cluster;
  uint64_t blocks = uint64_t(shape.grid[0]) * shape.grid[1] * shape.grid[2];
  if (blocks > room)
    return fail(kCooperativeLaunchTooLarge, "cooperative launch of '" + function.kernel.name +
                                                "': " + Twine(blocks) + " CTAs, room for " +
                                                Twine(room));
  return kSuccess;
}

static LaunchShape shapeOf(const LaunchConfig &config) {
  LaunchShape shape;
  llvm::copy(config.grid, shape.grid);
  llvm::copy(config.block, shape.block);
  shape.dynamicSharedBytes = config.sharedBytes;
  for (unsigned i = 0; i < config.attributeCount; ++i)
    if (const LaunchAttribute &attribute = config.attributes[i];
        attribute.id == kLaunchClusterDimension) {
      shape.cluster[0] = attribute.cluster.x;
      shape.cluster[1] = attribute.cluster.y;
      shape.cluster[2] = attribute.cluster.z;
    }
  return shape;
}

// CTAs that run at once on the device, if `inClusters` in clusters of several.
static Result ctasInClusters(Context &context, Function *function, const LaunchConfig &config,
                             bool inClusters, int &ctas) {
  const uint64_t threads = llvm::SaturatingMultiply<uint64_t>(
      uint64_t(config.block[0]) * config.block[1], config.block[2]);
  if (Result result =
          blocksPerMultiprocessor(context, function, int(std::min<uint64_t>(threads, INT_MAX)),
                                  config.sharedBytes, &ctas, inClusters))
    return result;
  ctas *= hip().attribute(HipAttribute::MultiprocessorCount, context.device.hipDevice);
  return kSuccess;
}

// The block size with the most threads in flight; of equals the larger one.
static Result bestBlockSize(Context &context, int *gridSize, int *blockSize, Function *function,
                            DynamicShared sharedFor, size_t sharedBytes, int limit) {
  if (!gridSize || !blockSize || limit < 0)
    return kInvalidValue;
  if (!isLive(function))
    return kInvalidHandle;
  int most = int(function->kernel.mostThreads());
  if (limit > 0)
    most = std::min(most, limit);
  int bestThreads = 0, bestBlocks = 0, bestSize = 0;
  for (int size = most; size > 0; size = (size - 1) / 32 * 32) {
    int blocks = 0;
    size_t shared = sharedFor ? sharedFor(size) : sharedBytes;
    if (Result result = blocksPerMultiprocessor(context, function, size, shared, &blocks))
      return result;
    if (blocks * size > bestThreads) {
      bestThreads = blocks * size;
      bestBlocks = blocks;
      bestSize = size;
    }
  }
  *blockSize = bestSize;
  *gridSize =
      bestBlocks * hip().attribute(HipAttribute::MultiprocessorCount, context.device.hipDevice);
  return kSuccess;
}

} // namespace rubia::runtime::cuda

using namespace rubia;
using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

// The flag turns off a cache policy that AMD does not have.
Result cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, Function *function,
                                                            int threads, size_t sharedBytes,
                                                            unsigned flags) {
  return callIn(RUBIA_CALL(blocks, function, threads, sharedBytes, flags), [&](Context &context) {
    if (!blocks || flags > 1)
      return kInvalidValue;
    return blocksPerMultiprocessor(context, function, threads, sharedBytes, blocks);
  });
}
Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Function *function, int threads,
                                                   size_t sharedBytes) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads,
                                                              sharedBytes, 0);
}

Result cuOccupancyMaxPotentialBlockSizeWithFlags(int *gridSize, int *blockSize, Function *function,
                                                 DynamicShared sharedFor, size_t sharedBytes,
                                                 int limit, unsigned flags) {
  return callIn(RUBIA_CALL(gridSize, blockSize, function, sharedFor, sharedBytes, limit, flags),
                [&](Context &context) {
                  if (flags > 1)
                    return kInvalidValue;
                  return bestBlockSize(context, gridSize, blockSize, function, sharedFor,
                                       sharedBytes, limit);
                });
}
Result cuOccupancyMaxPotentialBlockSize(int *gridSize, int *blockSize, Function *function,
                                        DynamicShared sharedFor, size_t sharedBytes, int limit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(gridSize, blockSize, function, sharedFor,
                                                   sharedBytes, limit, 0);
}

Result cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, Function *function, int blocks,
                                               int threads) {
  return callIn(RUBIA_CALL(bytes, function, blocks, threads), [&](Context &context) -> Result {
    if (!bytes || blocks <= 0 || threads <= 0 || threads > 1024)
      return kInvalidValue;
    int most = 0;
    if (Result result = blocksPerMultiprocessor(context, function, threads, 0, &most))
      return result;
    if (blocks > most)
      return kInvalidValue;
    // One block alone may have its shared memory in device memory.
    int64_t share =
        (blocks == 1 ? Device::maxSharedPerBlock() : context.device.ldsPerBlock() / blocks) -
        int64_t(function->kernel.staticSharedBytes);
    *bytes = std::clamp<int64_t>(share, 0, maxDynamicShared(context.device, *function));
    return kSuccess;
  });
}

// The largest cluster that the device has room for, a power of two. What the kernel itself bounds
// does not count, on NVIDIA's GPUs neither.
Result cuOccupancyMaxPotentialClusterSize(int *size, Function *function,
                                          const LaunchConfig *config) {
  return callIn(RUBIA_CALL(size, function, config), [&](Context &context) -> Result {
    if (!isLive(function))
      return kInvalidHandle;
    if (!size || !config)
      return kInvalidValue;
    LaunchShape shape = shapeOf(*config);
    if (Result result = takeCluster(context.device, *function, shape))
      return result;
    const uint32_t most = mostClusterCtas(context.device, *function);
    if (Result result = checkCluster(function->kernel, shape, most))
      return result;
    int room = 0;
    if (Result result = ctasInClusters(context, function, *config, true, room))
      return result;
    return *size = int(llvm::bit_floor(std::min(most, uint32_t(room)))), kSuccess;
  });
}

Result cuOccupancyMaxActiveClusters(int *clusters, Function *function, const LaunchConfig *config) {
  return callIn(RUBIA_CALL(clusters, function, config), [&](Context &context) -> Result {
    if (!clusters || !config)
      return kInvalidValue;
    if (!isLive(function))
      return kInvalidHandle;
    LaunchShape shape = shapeOf(*config);
    if (Result result = takeCluster(context.device, *function, shape))
      return result;
    const uint32_t most = mostClusterCtas(context.device, *function);
    // Of more than can be there are none.
    if (Result result =
            checkCluster(function->kernel, shape, most < abi::kMaxClusterCtas ? most : UINT64_MAX))
      return result;
    const uint64_t ctas = ctasOf(clusterOf(function->kernel, shape));
    const bool isGiven = shape.cluster[0] || function->kernel.requiredCluster[0];
    if (!isGiven || ctas > abi::kMaxClusterCtas)
      return *clusters = 0, kSuccess;
    int resident = 0;
    if (Result result = ctasInClusters(context, function, *config, ctas > 1, resident))
      return result;
    Expected<uint64_t> atOnce = DeviceServices::clustersAtOnce(hip(), ctas, uint64_t(resident));
    if (!atOnce)
      return report(context, atOnce.takeError());
    return *clusters = int(*atOnce), kSuccess;
  });
}

} // extern "C"
