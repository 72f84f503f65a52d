// SPDX-License-Identifier: Apache-2.0
// Launches. What is wrong with a launch is found before it reaches HIP, and every attribute of
// cuLaunchKernelEx is honoured, documented as having no effect, or refused.
#include "lowering/Abi.h"
#include "runtime/cuda/LaunchHints.h"
#include "runtime/cuda/Memory.h"
#include "runtime/cuda/Occupancy.h"
#include "runtime/cuda/graph/Capture.h"
#include "runtime/device/Clusters.h"
#include <cstring>

using namespace llvm;

namespace rubia::runtime {
int hipMemsetD32Async(void *to, int value, size_t count, void *stream);
} // namespace rubia::runtime

namespace rubia::runtime::cuda {

static Result checkShape(const Device &device, Function &function, const LaunchShape &shape) {
  auto refuse = [&](const Twine &why) {
    return fail(kInvalidValue, "launch of '" + function.kernel.name + "': " + why);
  };
  uint64_t threads = uint64_t(shape.block[0]) * shape.block[1] * shape.block[2];
  if (!threads || !shape.grid[0] || !shape.grid[1] || !shape.grid[2])
    return refuse("an empty grid or block");
  if (threads > 1024 || shape.block[0] > 1024 || shape.block[1] > 1024 || shape.block[2] > 64)
    return refuse("a block of " + Twine(shape.block[0]) + " x " + Twine(shape.block[1]) + " x " +
                  Twine(shape.block[2]) + " threads");
  if (shape.grid[0] > 0x7fffffff || shape.grid[1] > 65535 || shape.grid[2] > 65535)
    return refuse("a grid of " + Twine(shape.grid[0]) + " x " + Twine(shape.grid[1]) + " x " +
                  Twine(shape.grid[2]) + " blocks");
  int limit = maxDynamicShared(device, function);
  if (shape.dynamicSharedBytes > unsigned(limit))
    return refuse(Twine(shape.dynamicSharedBytes) + " bytes of dynamic shared memory, at most " +
                  Twine(limit) + " (see cudaFuncAttributeMaxDynamicSharedMemorySize)");
  return kSuccess;
}

static bool isGiven(const uint32_t (&cluster)[3]) { return cluster[0] || cluster[1] || cluster[2]; }

static Result refuseCluster(const Manifest::Kernel &kernel, const std::array<uint32_t, 3> &cluster,
                            const Twine &why) {
  return fail(kInvalidClusterSize, "launch of '" + kernel.name + "' with clusters of " +
                                       Twine(cluster[0]) + " x " + Twine(cluster[1]) + " x " +
                                       Twine(cluster[2]) + " CTAs: " + why);
}

Result takeCluster(const Device &device, Function &function, LaunchShape &shape) {
  const Function::Settings settings = function.settingsFor(device);
  const auto &set = settings.requiredCluster;
  if (!isGiven(set))
    return kSuccess;
  if (isGiven(shape.cluster) && !llvm::equal(shape.cluster, set))
    return refuseCluster(function.kernel, clusterOf(function.kernel, shape),
                         "the launch gives others than are set for the function");
  llvm::copy(set, shape.cluster);
  return kSuccess;
}

Result checkCluster(const Manifest::Kernel &kernel, const LaunchShape &shape, uint64_t most) {
  const std::array<uint32_t, 3> cluster = clusterOf(kernel, shape);
  if (isGiven(shape.cluster)) {
    for (unsigned i = 0; i < 3; ++i) {
      if (!shape.cluster[i])
        return refuseCluster(kernel, cluster, "a part of the size is 0");
      if (shape.cluster[i] != cluster[i])
        return refuseCluster(kernel, cluster, "the launch gives others than the kernel requires");
    }
  } else if (kernel.explicitCluster && !kernel.requiredCluster[0]) {
    return refuseCluster(kernel, cluster, "the kernel requires that the launch gives their size");
  }
  const std::string why = whyNoClusters(kernel, shape, most);
  return why.empty() ? kSuccess : refuseCluster(kernel, cluster, why);
}

uint32_t mostClusterCtas(const Device &device, Function &function) {
  return function.settingsFor(device).nonPortableCluster ? abi::kMaxClusterCtas
                                                         : abi::kMaxPortableClusterCtas;
}

// The parameter buffer, from either of the two ways to pass it. `extra` is a list of keys and
// values: 1 a buffer, 2 a pointer to its size, 0 the end.
static Result gather(Function &function, void *const *values, void *const *extra,
                     std::vector<uint8_t> &out) {
  const Manifest::Kernel &kernel = function.kernel;
  if (values && extra)
    return kInvalidValue;
  if (!extra) {
    if (!values && !kernel.parameters.empty())
      return fail(kInvalidValue, "launch of '" + kernel.name + "': no parameters given");
    out = LoadedModule::pack(kernel, values);
    return kSuccess;
  }
  const void *buffer = nullptr;
  size_t size = 0;
  for (; *extra; extra += 2) {
    if (extra[0] == reinterpret_cast<void *>(1))
      buffer = extra[1];
    else if (extra[0] == reinterpret_cast<void *>(2))
      size = *static_cast<const size_t *>(extra[1]);
    else
      return kInvalidValue;
  }
  if (!buffer && kernel.parameterBytes)
    return fail(kInvalidValue, "launch of '" + kernel.name + "': no buffer of parameters");
  if (size > kernel.parameterBytes)
    return fail(kLaunchOutOfResources, "launch of '" + kernel.name + "': " + Twine(size) +
                                           " bytes of parameters, it has " +
                                           Twine(kernel.parameterBytes));
  // What a short one lacks is 0, as on NVIDIA's driver.
  const auto *bytes = static_cast<const uint8_t *>(buffer);
  out.assign(kernel.parameterBytes, 0);
  std::copy_n(bytes, size, out.begin());
  return kSuccess;
}

// grid.sync() counts arriving CTAs in a word at offset 4 of a workspace, which starts as zero.
// Launches of one stream run one after the other, so a stream needs one.
static constexpr size_t kWorkspaceBytes = 64;

static Result prepareWorkspace(Context &context, Stream *key, void *hipStream, uint64_t &out) {
  std::lock_guard<std::recursive_mutex> lock(context.mutex);
  void *&workspace = context.workspaces[key];
  if (!workspace)
    if (Result result = allocateDevice(context, &workspace, kWorkspaceBytes))
      return result;
  out = reinterpret_cast<uint64_t>(workspace);
  return context.check(hip().call<hipMemsetD32Async>(workspace, 0, kWorkspaceBytes / 4, hipStream));
}

Result makeKernel(Context &context, Function *function, const LaunchShape &shape,
                  void *const *values, void *const *extra, bool isCooperative,
                  KernelOperation &operation) {
  operation.function = function;
  operation.id = isLive(function) ? function->id : 0;
  operation.isKernelHandle = isLive(function) && function->library;
  operation.shape = shape;
  operation.isBuffer = extra;
  operation.isCooperative = isCooperative;
  if (isCooperative) {
    LaunchAttribute attribute{};
    attribute.id = kLaunchCooperative;
    attribute.flag = true;
    operation.attributes[kLaunchCooperative] = attribute;
  }
  if (Result result = checkKernel(context, operation))
    return result;
  return gather(*function, values, extra, operation.parameters);
}

Result checkKernel(Context &context, const KernelOperation &operation) {
  if (!operation.isLive())
    return kInvalidHandle;
  Bound bound = bind(context, operation.function);
  if (bound.error == kInvalidContext) // a kernel of another context than the stream's
    return kInvalidHandle;
  if (bound.error)
    return bound.error;
  if (Result result = checkShape(context.device, *operation.function, operation.shape))
    return result;
  const Manifest::Kernel &kernel = operation.function->kernel;
  if (isGiven(operation.shape.cluster) || kernel.requiredCluster[0] || kernel.explicitCluster)
    if (Result result = checkCluster(kernel, operation.shape,
                                     mostClusterCtas(context.device, *operation.function)))
      return result;
  return operation.isCooperative
             ? checkCooperative(context, *bound.module, *operation.function, operation.shape)
             : kSuccess;
}

Result executeKernel(Context &context, const KernelOperation &operation, const Place &place) {
  if (!operation.isLive())
    return kInvalidHandle;
  Bound bound = bind(context, operation.function);
  if (bound.error)
    return bound.error;
  LaunchShape shape = operation.shape;
  shape.isInBody = place.isInBody;
  if (operation.isCooperative)
    if (Result result =
            prepareWorkspace(context, place.workspace, place.hipStream, shape.gridWorkspace))
      return result;
  context.pending.add(bound.module->loaded, place.awaited);
  if (Error error = bound.module->loaded->launch(operation.function->kernel, shape,
                                                 operation.parameters, place.hipStream))
    return report(context, std::move(error));
  return kSuccess;
}

static Result launch(Context &context, Function *function, LaunchShape shape, Stream *stream,
                     void *const *values, void *const *extra, bool cooperative,
                     ArrayRef<LaunchAttribute> attributes = {}) {
  return onStream(context, stream, [&](Context &context, void *hipStream) -> Result {
    KernelOperation operation;
    Result result = isLive(function) ? takeCluster(context.device, *function, shape) : kSuccess;
    if (!result)
      result = makeKernel(context, function, shape, values, extra, cooperative, operation);
    if (result) {
      invalidateCapture(hipStream);
      return result;
    }
    if (isCaptured(hipStream))
      for (const LaunchAttribute &attribute : attributes)
        operation.attributes[attribute.id] = attribute;
    return submit(context, std::move(operation), stream, hipStream);
  });
}

static LaunchShape shapeOf(const unsigned (&grid)[3], const unsigned (&block)[3],
                           unsigned sharedBytes) {
  LaunchShape shape;
  memcpy(shape.grid, grid, sizeof(shape.grid));
  memcpy(shape.block, block, sizeof(shape.block));
  shape.dynamicSharedBytes = sharedBytes;
  return shape;
}

// What the attributes of a launch ask for beyond the launch itself.
struct LaunchOptions {
  bool cooperative = false;
  uint32_t cluster[3] = {0, 0, 0}; // not given
  uint32_t preferred[3] = {0, 0, 0};
  SmallVector<Event *, 2> recordAfter;
};

static Result readAttribute(const LaunchAttribute &attribute, LaunchOptions &options) {
  auto refuse = [&](const char *what) {
    return fail(kNotSupported, Twine("cuLaunchKernelEx: ") + what + " is not supported");
  };
  switch (attribute.id) {
  case kLaunchIgnore:
    return kSuccess;
  // Permissions and hints: a launch that does not make use of them is right.
  case kLaunchAccessPolicyWindow:
  case kLaunchProgrammaticStreamSerialization:
  case kLaunchPriority:
  case kLaunchMemSyncDomainMap:
  case kLaunchMemSyncDomain:
  case kLaunchPreferredSharedMemoryCarveout:
  case kLaunchNvlinkUtilCentricScheduling:
    return isValidHint(attribute.id, attribute.bytes) ? kSuccess : kInvalidValue;
  case kLaunchClusterSchedulingPolicy: // nodes take any value
    return attribute.flag >= 0 && attribute.flag <= 2 ? kSuccess : kInvalidValue;
  case kLaunchSynchronizationPolicy: // for streams only
    return kInvalidValue;
  case kLaunchCooperative:
    options.cooperative = attribute.flag;
    return kSuccess;
  case kLaunchClusterDimension:
  case kLaunchPreferredClusterDimension: { // the other size is as good
    const bool isPreferred = attribute.id == kLaunchPreferredClusterDimension;
    const uint32_t size[] = {attribute.cluster.x, attribute.cluster.y, attribute.cluster.z};
    llvm::copy(size, isPreferred ? options.preferred : options.cluster);
    return kSuccess;
  }
  // Both events may come later than asked for, and then come after the whole kernel.
  case kLaunchProgrammaticEvent:
  case kLaunchCompletionEvent:
    if (!isLive(attribute.event))
      return kInvalidHandle;
    if (!(attribute.event->flags & kWithoutTiming) || attribute.event->isInterprocess())
      return kNotSupported; // as on an H200
    options.recordAfter.push_back(attribute.event);
    return kSuccess;
  case kLaunchDeviceUpdatableKernelNode:
    return attribute.flag ? refuse("a kernel node that the device may update") : kSuccess;
  }
  return fail(kInvalidValue, "cuLaunchKernelEx: no attribute " + Twine(int(attribute.id)));
}

// A preferred size holds whole clusters, and the grid whole ones of it. All zeroes ask for none.
static bool isValidPreference(const LaunchOptions &options, const unsigned (&grid)[3]) {
  if (!any_of(options.preferred, [](uint32_t n) { return n; }) || !options.cluster[0])
    return true;
  for (unsigned i = 0; i < 3; ++i)
    if (!options.preferred[i] || !options.cluster[i] || options.preferred[i] % options.cluster[i] ||
        grid[i] % options.preferred[i])
      return false;
  return true;
}

static Result launchEx(Context &context, const LaunchConfig *config, Function *function,
                       void *const *values, void *const *extra) {
  if (!config || (config->attributeCount && !config->attributes))
    return kInvalidValue;
  LaunchOptions options;
  for (unsigned i = 0; i < config->attributeCount; ++i)
    if (Result result = readAttribute(config->attributes[i], options))
      return result;
  if (!isValidPreference(options, config->grid))
    return fail(kInvalidClusterSize, "cuLaunchKernelEx: the preferred size of clusters holds no "
                                     "whole clusters, or the grid no whole ones of it");
  LaunchShape shape = shapeOf(config->grid, config->block, config->sharedBytes);
  llvm::copy(options.cluster, shape.cluster);
  if (Result result =
          launch(context, function, shape, config->stream, values, extra, options.cooperative,
                 ArrayRef(config->attributes, config->attributeCount)))
    return result;
  for (Event *event : options.recordAfter) {
    Result result = onStream(context, config->stream, [&](Context &context, void *hipStream) {
      return record(context, event, hipStream);
    });
    if (result)
      return result;
  }
  return kSuccess;
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuLaunchKernel(Function *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                      unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                      Stream *stream, void **values, void **extra) {
  return callOn(RUBIA_CALL(function, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes,
                           stream, values, extra),
                stream, [&](Context &context) {
                  return launch(
                      context, function,
                      shapeOf({gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes), stream,
                      values, extra, false);
                });
}

Result cuLaunchCooperativeKernel(Function *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                                 unsigned blockX, unsigned blockY, unsigned blockZ,
                                 unsigned sharedBytes, Stream *stream, void **values) {
  return callOn(RUBIA_CALL(function, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes,
                           stream, values),
                stream, [&](Context &context) {
                  return launch(
                      context, function,
                      shapeOf({gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes), stream,
                      values, nullptr, true);
                });
}

Result cuLaunchKernelEx(const LaunchConfig *config, Function *function, void **values,
                        void **extra) {
  return callOn(
      RUBIA_CALL(config, function, values, extra), config ? config->stream : nullptr,
      [&](Context &context) { return launchEx(context, config, function, values, extra); });
}

// Each launch is cooperative on its own device: no barrier spans several.
Result cuLaunchCooperativeKernelMultiDevice(CooperativeLaunch *launches, unsigned count,
                                            unsigned flags) {
  return callIn(RUBIA_CALL(launches, count, flags), [&](Context &context) -> Result {
    if (!launches || !count || flags > 3) // NO_PRE_LAUNCH_SYNC, NO_POST_LAUNCH_SYNC
      return kInvalidValue;
    if (count > 1) {
      std::set<Device *> devices;
      for (const CooperativeLaunch &one : ArrayRef(launches, count)) {
        HipStream stream = hipStream(context, one.stream);
        if (stream.error || !devices.insert(&stream.owner->device).second)
          return kInvalidValue;
      }
      return fail(kNotSupported, "a cooperative launch on more than one device");
    }
    const CooperativeLaunch &one = *launches;
    if (!one.stream || one.stream == kLegacyStream)
      return kInvalidHandle;
    return launch(context, one.function, shapeOf(one.grid, one.block, one.sharedBytes), one.stream,
                  one.values, nullptr, true);
  });
}

} // extern "C"
