// SPDX-License-Identifier: Apache-2.0
// Ranges of managed memory. Where it lies is the system's business: hints are checked, remembered
// for who asks, and not needed.
#include "runtime/cuda/Memory.h"
#include "runtime/cuda/graph/Capture.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include <cstring>

using namespace llvm;

namespace rubia::runtime::cuda {

namespace {

enum Advise { // CUmem_advise
  kSetReadMostly = 1,
  kUnsetReadMostly,
  kSetPreferredLocation,
  kUnsetPreferredLocation,
  kSetAccessedBy,
  kUnsetAccessedBy,
};
enum RangeAttribute { // CUmem_range_attribute
  kReadMostly = 1,
  kPreferredLocation,
  kAccessedBy,
  kLastPrefetchLocation,
  kPreferredLocationType,
  kPreferredLocationId,
  kLastPrefetchLocationType,
  kLastPrefetchLocationId,
};
constexpr int kNowhere = 0, kOnDevice = 1, kOnHost = 2, kOnHostNode = 3,
              kOnNearestNode = 4; // CUmemLocationType
constexpr int kCpuDevice = -1, kInvalidDeviceNumber = -2;

struct Advice {
  bool isReadMostly = false;
  MemoryLocation preferred = {kNowhere, 0}, prefetched = {kNowhere, 0};
  std::vector<int> accessedBy; // devices, -1 for the host
};

// The pieces of an allocation, by their offsets: each goes on to the next.
using Pieces = std::map<size_t, Advice>;
std::mutex &mutex = *new std::mutex;
// By the allocation's id; variables, which have none, by their place.
using Key = std::pair<uint64_t, char *>;
std::map<Key, Pieces> &advices = *new std::map<Key, Pieces>;

// Managed memory that holds all of the bytes, or variables, which may be managed ones.
std::optional<Allocation> managed(Context &context, const void *pointer, size_t bytes) {
  std::optional<Allocation> found = lookUp(context, pointer);
  if (!found || (found->id && found->kind != AllocationKind::Managed) || !bytes ||
      bytes > found->size - (static_cast<const char *>(pointer) - found->base))
    return std::nullopt;
  return found;
}

// The pieces from the first that has the offset on, split at both ends. With the mutex held.
void forEachPiece(const Allocation &allocation, const void *pointer, size_t bytes,
                  function_ref<void(Advice &)> visit) {
  Pieces &pieces = advices[{allocation.id, allocation.id ? nullptr : allocation.base}];
  const size_t begin = static_cast<const char *>(pointer) - allocation.base, end = begin + bytes;
  pieces.try_emplace(0);
  for (size_t at : {begin, end})
    if (at < allocation.size && !pieces.contains(at))
      pieces[at] = std::prev(pieces.upper_bound(at))->second;
  for (auto piece = pieces.find(begin); piece != pieces.end() && piece->first < end; ++piece)
    visit(piece->second);
}

bool isPlace(const MemoryLocation &place) {
  return place.type == kOnHost || (place.type == kOnDevice && deviceAt(place.id));
}
// The host's memory at a NUMA node. A machine without nodes has the first.
bool isHostNode(const MemoryLocation &place) {
  if (place.type != kOnHostNode)
    return place.type == kOnNearestNode;
  return !place.id ||
         (place.id > 0 && sys::fs::exists("/sys/devices/system/node/node" + Twine(place.id)));
}
int deviceNumber(const MemoryLocation &place) {
  return place.type == kOnDevice  ? place.id
         : place.type == kNowhere ? kInvalidDeviceNumber
                                  : kCpuDevice;
}
MemoryLocation placeOf(int device) {
  return device == kCpuDevice ? MemoryLocation{kOnHost, 0} : MemoryLocation{kOnDevice, device};
}

void apply(Advice &advice, int what, const MemoryLocation &place) {
  switch (what) {
  case kSetReadMostly:
  case kUnsetReadMostly:
    advice.isReadMostly = what == kSetReadMostly;
    break;
  case kSetPreferredLocation:
    advice.preferred = place;
    break;
  case kUnsetPreferredLocation:
    advice.preferred = {kNowhere, 0};
    break;
  case kSetAccessedBy:
    if (!is_contained(advice.accessedBy, deviceNumber(place)))
      advice.accessedBy.push_back(deviceNumber(place));
    break;
  case kUnsetAccessedBy:
    erase(advice.accessedBy, deviceNumber(place));
    break;
  }
}

Result advise(const TracedCall &entry, void *pointer, size_t bytes, int what,
              const MemoryLocation &place) {
  return callIn(entry, [&](Context &context) -> Result {
    const bool needsPlace = what >= kSetPreferredLocation && what != kUnsetPreferredLocation;
    if (what < kSetReadMostly || what > kUnsetAccessedBy || place.type == kNowhere)
      return kInvalidValue;
    std::optional<Allocation> found = managed(context, pointer, bytes);
    if (!found)
      return kInvalidValue;
    // As on an H200: a node may be preferred, and is not remembered.
    const bool prefersNode = what == kSetPreferredLocation && isHostNode(place);
    if (needsPlace && !prefersNode && !isPlace(place))
      return kInvalidDevice;
    if (Result result = checkUnsafe())
      return result;
    std::lock_guard<std::mutex> lock(mutex);
    if (!prefersNode)
      forEachPiece(*found, pointer, bytes, [&](Advice &advice) { apply(advice, what, place); });
    return kSuccess;
  });
}

// One number of what all pieces of the range have in common, or what stands for none.
int common(const Allocation &allocation, const void *pointer, size_t bytes, int attribute) {
  auto of = [&](const Advice &advice) {
    switch (attribute) {
    case kReadMostly:
      return int(advice.isReadMostly);
    case kPreferredLocation:
      return deviceNumber(advice.preferred);
    case kLastPrefetchLocation:
      return deviceNumber(advice.prefetched);
    case kPreferredLocationType:
      return advice.preferred.type;
    case kPreferredLocationId:
      return deviceNumber(advice.preferred);
    case kLastPrefetchLocationType:
      return advice.prefetched.type;
    default:
      return isHostNode(advice.prefetched) ? advice.prefetched.id : deviceNumber(advice.prefetched);
    }
  };
  const Advice none;
  std::optional<int> value;
  bool isCommon = true;
  forEachPiece(allocation, pointer, bytes, [&](Advice &advice) {
    isCommon &= !value || *value == of(advice);
    value = of(advice);
  });
  return isCommon ? *value : of(none);
}

Result rangeAttribute(Context &context, void *out, size_t bytesOut, int attribute,
                      const void *pointer, size_t bytes) {
  if (!out || attribute < kReadMostly || attribute > kLastPrefetchLocationId || !bytesOut ||
      bytesOut % sizeof(int) || (attribute != kAccessedBy && bytesOut != sizeof(int)))
    return kInvalidValue;
  std::optional<Allocation> found = managed(context, pointer, bytes);
  if (!found)
    return kInvalidValue;
  std::lock_guard<std::mutex> lock(mutex);
  if (attribute != kAccessedBy) {
    const int value = common(*found, pointer, bytes, attribute);
    memcpy(out, &value, sizeof(value));
    return kSuccess;
  }
  // Devices that all pieces have; what is left of the list stays invalid.
  std::optional<std::vector<int>> all;
  forEachPiece(*found, pointer, bytes, [&](Advice &advice) {
    if (!all)
      all = advice.accessedBy;
    else
      erase_if(*all, [&](int device) { return !is_contained(advice.accessedBy, device); });
  });
  std::vector<int> list(bytesOut / sizeof(int), kInvalidDeviceNumber);
  for (size_t i = 0; i < std::min(list.size(), all->size()); ++i)
    list[i] = (*all)[i];
  memcpy(out, list.data(), bytesOut);
  return kSuccess;
}

// Whatever memory it is of, and whatever device it goes to: neither is looked at in a capture.
Result prefetch(Context &context, void *pointer, size_t bytes, const MemoryLocation &place,
                Stream *stream) {
  if (place.type != kOnDevice && place.type != kOnHost && !isHostNode(place))
    return kInvalidValue;
  return onStream(context, stream, [&](Context &context, void *hipStream) -> Result {
    if (isCaptured(hipStream))
      return refuseCapture(hipStream);
    std::optional<Allocation> found = managed(context, pointer, bytes);
    if (!found)
      return kInvalidValue;
    if (!isPlace(place) && !isHostNode(place))
      return kInvalidDevice;
    if (Result result = checkLegacyStream(context, hipStream))
      return result;
    std::lock_guard<std::mutex> lock(mutex);
    forEachPiece(*found, pointer, bytes, [&](Advice &advice) { advice.prefetched = place; });
    return kSuccess;
  });
}

// What a batch names: ranges, and with `places` where each goes.
struct Batch {
  ArrayRef<void *> pointers;
  ArrayRef<size_t> sizes;
  ArrayRef<MemoryLocation> places;
  ArrayRef<size_t> starts; // the range from which a place counts
};

Result checkBatch(const Batch &batch, bool hasPlaces, uint64_t flags, Stream *stream) {
  if (batch.pointers.empty() || !batch.pointers.data() || !batch.sizes.data() || flags || !stream ||
      stream == kLegacyStream)
    return kInvalidValue;
  if (hasPlaces && (batch.places.empty() || !batch.places.data() || !batch.starts.data() ||
                    batch.places.size() > batch.pointers.size()))
    return kInvalidValue;
  for (size_t i = 0; i < batch.starts.size(); ++i)
    if (i ? batch.starts[i] <= batch.starts[i - 1] : batch.starts[i] != 0)
      return kInvalidValue;
  for (const MemoryLocation &place : batch.places)
    if (!isPlace(place))
      return kInvalidValue;
  return kSuccess;
}

// What is discarded may be anything afterwards, also what it was.
Result runBatch(const TracedCall &entry, const Batch &batch, bool hasPlaces, uint64_t flags,
                Stream *stream) {
  return callIn(entry, [&](Context &context) -> Result {
    if (Result result = checkBatch(batch, hasPlaces, flags, stream))
      return result;
    const Result refused = onStream(
        context, stream, [](Context &, void *hipStream) { return refuseCapture(hipStream); });
    if (refused)
      return refused;
    for (auto [pointer, size] : zip_equal(batch.pointers, batch.sizes))
      if (!managed(context, pointer, size))
        return kInvalidValue;
    size_t place = 0;
    for (size_t i = 0; hasPlaces && i < batch.pointers.size(); ++i) {
      if (place + 1 < batch.starts.size() && batch.starts[place + 1] == i)
        ++place;
      if (Result result =
              prefetch(context, batch.pointers[i], batch.sizes[i], batch.places[place], stream))
        return result;
    }
    return kSuccess;
  });
}

Stream *mine(Stream *stream) { return stream ? stream : kPerThreadStream; }

} // namespace

void forgetAdvice(uint64_t allocation) {
  std::lock_guard<std::mutex> lock(mutex);
  advices.erase({allocation, nullptr});
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuMemAdvise_v2(void *pointer, size_t bytes, int advice, MemoryLocation place) {
  const Result result =
      advise(RUBIA_CALL(pointer, bytes, advice, place), pointer, bytes, advice, place);
  return result == kInvalidDevice ? kInvalidValue : result; // a place, not a device
}
Result cuMemAdvise(void *pointer, size_t bytes, int advice, int device) {
  return advise(RUBIA_CALL(pointer, bytes, advice, device), pointer, bytes, advice,
                placeOf(device));
}

Result cuMemPrefetchAsync_v2(void *pointer, size_t bytes, MemoryLocation place, unsigned flags,
                             Stream *stream) {
  return callIn(RUBIA_CALL(pointer, bytes, place, flags, stream), [&](Context &context) {
    return flags ? kInvalidValue : prefetch(context, pointer, bytes, place, stream);
  });
}
Result cuMemPrefetchAsync(void *pointer, size_t bytes, int device, Stream *stream) {
  return callIn(RUBIA_CALL(pointer, bytes, device, stream), [&](Context &context) {
    return prefetch(context, pointer, bytes, placeOf(device), stream);
  });
}

Result cuMemRangeGetAttribute(void *out, size_t bytesOut, int attribute, void *pointer,
                              size_t bytes) {
  return callIn(RUBIA_CALL(out, bytesOut, attribute, pointer, bytes), [&](Context &context) {
    return rangeAttribute(context, out, bytesOut, attribute, pointer, bytes);
  });
}
Result cuMemRangeGetAttributes(void **out, size_t *sizes, int *attributes, size_t count,
                               void *pointer, size_t bytes) {
  return callIn(
      RUBIA_CALL(out, sizes, attributes, count, pointer, bytes), [&](Context &context) -> Result {
        if (!out || !sizes || !attributes || !count)
          return kInvalidValue;
        for (size_t i = 0; i < count; ++i)
          if (Result result =
                  rangeAttribute(context, out[i], sizes[i], attributes[i], pointer, bytes))
            return result;
        return kSuccess;
      });
}

Result cuMemPrefetchBatchAsync(void **pointers, size_t *sizes, size_t count, MemoryLocation *places,
                               size_t *starts, size_t placeCount, unsigned long long flags,
                               Stream *stream) {
  return runBatch(RUBIA_CALL(pointers, sizes, count, places, starts, placeCount, flags, stream),
                  {{pointers, count}, {sizes, count}, {places, placeCount}, {starts, placeCount}},
                  true, flags, stream);
}
Result cuMemDiscardAndPrefetchBatchAsync(void **pointers, size_t *sizes, size_t count,
                                         MemoryLocation *places, size_t *starts, size_t placeCount,
                                         unsigned long long flags, Stream *stream) {
  return runBatch(RUBIA_CALL(pointers, sizes, count, places, starts, placeCount, flags, stream),
                  {{pointers, count}, {sizes, count}, {places, placeCount}, {starts, placeCount}},
                  true, flags, stream);
}
Result cuMemDiscardBatchAsync(void **pointers, size_t *sizes, size_t count,
                              unsigned long long flags, Stream *stream) {
  return runBatch(RUBIA_CALL(pointers, sizes, count, flags, stream),
                  {{pointers, count}, {sizes, count}, {}, {}}, false, flags, stream);
}
Result cuMemPrefetchBatchAsync_ptsz(void **pointers, size_t *sizes, size_t count,
                                    MemoryLocation *places, size_t *starts, size_t placeCount,
                                    unsigned long long flags, Stream *stream) {
  return cuMemPrefetchBatchAsync(pointers, sizes, count, places, starts, placeCount, flags,
                                 mine(stream));
}
Result cuMemDiscardAndPrefetchBatchAsync_ptsz(void **pointers, size_t *sizes, size_t count,
                                              MemoryLocation *places, size_t *starts,
                                              size_t placeCount, unsigned long long flags,
                                              Stream *stream) {
  return cuMemDiscardAndPrefetchBatchAsync(pointers, sizes, count, places, starts, placeCount,
                                           flags, mine(stream));
}
Result cuMemDiscardBatchAsync_ptsz(void **pointers, size_t *sizes, size_t count,
                                   unsigned long long flags, Stream *stream) {
  return cuMemDiscardBatchAsync(pointers, sizes, count, flags, mine(stream));
}

} // extern "C"
