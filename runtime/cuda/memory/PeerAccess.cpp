// SPDX-License-Identifier: Apache-2.0
// CUDA Driver API: "Peer Context Memory Access", and what is asked of pairs of devices.
#include "runtime/cuda/memory/PeerAccess.h"
#include "runtime/cuda/Context.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

namespace rubia::runtime {
int hipDeviceCanAccessPeer(int *can, int device, int peer);
int hipDeviceEnablePeerAccess(int peer, unsigned flags);
int hipDeviceDisablePeerAccess(int peer);
} // namespace rubia::runtime

namespace rubia::runtime::cuda {

static Result canAccess(const Device &device, const Device &peer, int &can) {
  can = 0;
  return &device == &peer || !hip().has<hipDeviceCanAccessPeer>() ||
                 !hip().has<hipDeviceEnablePeerAccess>()
             ? kSuccess
             : fromHip(hip().call<hipDeviceCanAccessPeer>(&can, device.hipDevice, peer.hipDevice));
}

static std::mutex &mutex = *new std::mutex;
using Pair = std::pair<const Device *, const Device *>; // user and owner
static std::map<Pair, unsigned> &users = *new std::map<Pair, unsigned>;

// HIP speaks of its current device, which need not be that of the current context.
static int onDevice(const Device &device, llvm::function_ref<int()> body) {
  int before = 0;
  if (int error = hip().call<hipGetDevice>(&before))
    return error;
  if (int error = hip().call<hipSetDevice>(device.hipDevice))
    return error;
  const int error = body();
  const int back = hip().call<hipSetDevice>(before);
  return error ? error : back;
}

Result allowAccess(const Device &user, const Device &owner) {
  constexpr int kAlreadyEnabled = 704; // hipErrorPeerAccessAlreadyEnabled: by others than Rubia
  int can = 0;
  if (Result result = canAccess(user, owner, can))
    return result;
  if (!can)
    return kPeerAccessUnsupported;
  std::lock_guard<std::mutex> lock(mutex);
  unsigned &count = users[{&user, &owner}];
  const int error = count ? 0 : onDevice(user, [&] {
    return hip().call<hipDeviceEnablePeerAccess>(owner.hipDevice, 0);
  });
  if (error && error != kAlreadyEnabled)
    return fromHip(error);
  ++count;
  return kSuccess;
}

static Result disable(const Device &user, const Device &owner) {
  constexpr int kNotEnabled = 705; // hipErrorPeerAccessNotEnabled: by others, or after a reset
  if (!hip().has<hipDeviceDisablePeerAccess>())
    return kSuccess;
  const int error =
      onDevice(user, [&] { return hip().call<hipDeviceDisablePeerAccess>(owner.hipDevice); });
  return error == kNotEnabled ? kSuccess : fromHip(error);
}

void warnOfAccess(const Device &owner, Result result) {
  log(LogLevel::Warning,
      llvm::Twine("access to device ") + llvm::Twine(owner.ordinal) + ": " + textOf(result));
}

Result endAccess(const Device &user, const Device &owner) {
  std::lock_guard<std::mutex> lock(mutex);
  unsigned &count = users[{&user, &owner}];
  return !count || --count ? kSuccess : disable(user, owner);
}

// Whether a reset takes the access away is not written down: afterwards it is gone in any case.
void forgetAccess(const Device &user) {
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto &[pair, count] : users)
    if (pair.first == &user && count)
      if (Result result = disable(user, *pair.second))
        warnOfAccess(*pair.second, result);
  std::erase_if(users, [&](const auto &entry) { return entry.first.first == &user; });
}

bool mayAccess(Context &context, const Allocation &allocation) {
  switch (allocation.kind) {
  case AllocationKind::Host:
  case AllocationKind::Registered:
  case AllocationKind::Managed:
    return true;
  case AllocationKind::Mapped:
    return allocation.isOnHost || mappedAccess(allocation.base, context.device.ordinal);
  case AllocationKind::Pool:
    return allows(*allocation.pool, context.device);
  case AllocationKind::Graph:
    if (graphAccess(allocation.base, context.device))
      return true;
    break;
  case AllocationKind::Device:
  case AllocationKind::Opened:
  case AllocationKind::External:
    break;
  }
  const Device *owner = &allocation.context->device;
  if (owner == &context.device)
    return true;
  std::lock_guard<std::recursive_mutex> lock(context.mutex);
  return llvm::any_of(context.peers, [&](Context *peer) { return &peer->device == owner; });
}

static bool hasSeveralDevices() {
  return theDriver.load(std::memory_order_relaxed)->devices.size() > 1;
}

Result checkAccess(Context &context, const void *pointer) {
  if (!hasSeveralDevices())
    return kSuccess;
  std::optional<Allocation> found = findAllocation(pointer);
  return !found || mayAccess(context, *found) ? kSuccess : kInvalidValue;
}

Result checkCopied(Context &context, const void *pointer) {
  if (!hasSeveralDevices())
    return kSuccess;
  std::optional<Allocation> found = findAllocation(pointer);
  const bool isRestricted =
      found && (found->kind == AllocationKind::Mapped || found->kind == AllocationKind::Pool);
  return !isRestricted || mayAccess(context, *found) ? kSuccess : kInvalidValue;
}

Result checkCopied(Context &context, const Copy3D &copy, bool isBetweenContexts) {
  auto check = [&](const CopySide3D &side) {
    auto *named = isBetweenContexts ? static_cast<Context *>(side.reserved) : nullptr;
    const void *pointer = side.type == kMemoryHost    ? side.host
                          : side.type == kMemoryArray ? nullptr
                                                      : side.device;
    return checkCopied(named ? *named : context, pointer);
  };
  const Result result = check(copy.to);
  return result ? result : check(copy.from);
}

void forgetPeer(Context &ended) {
  std::vector<Context *> others;
  forEachContext([&](Context *other) {
    if (other != &ended)
      others.push_back(other); // never freed
  });
  for (Context *other : others) {
    std::lock_guard<std::recursive_mutex> lock(other->mutex);
    if (!other->peers.erase(&ended) || other->hasLostDevice())
      continue;
    if (Result result = endAccess(other->device, ended.device))
      warnOfAccess(ended.device, result);
  }
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuDeviceCanAccessPeer(int *can, int device, int peer) {
  return callFor(RUBIA_CALL(can, device, peer), device, [&](Device &found) -> Result {
    if (!deviceAt(peer))
      return kInvalidDevice;
    return can ? canAccess(found, *deviceAt(peer), *can) : kInvalidValue;
  });
}

// No rank, atomics or arrays are promised across a bus.
Result cuDeviceGetP2PAttribute(int *value, int attribute, int device, int peer) {
  return callFor(RUBIA_CALL(value, attribute, device, peer), device, [&](Device &found) -> Result {
    constexpr int kAccessSupported = 2, kLastP2PAttribute = 5;
    if (!deviceAt(peer) || peer == device)
      return kInvalidDevice;
    if (!value || attribute < 1 || attribute > kLastP2PAttribute)
      return kInvalidValue;
    *value = 0;
    return attribute == kAccessSupported ? canAccess(found, *deviceAt(peer), *value) : kSuccess;
  });
}

Result cuCtxEnablePeerAccess(Context *peer, unsigned flags) {
  return callIn(RUBIA_CALL(peer, flags), [&](Context &context) -> Result {
    if (flags)
      return kInvalidValue;
    peer = contextNamed(peer);
    if (!peer)
      return kInvalidContext;
    if (!peer->alive)
      return kContextIsDestroyed;
    std::lock_guard<std::recursive_mutex> lock(context.mutex);
    if (context.peers.contains(peer))
      return kPeerAccessAlreadyEnabled;
    if (Result result = allowAccess(context.device, peer->device))
      return result;
    context.peers.insert(peer);
    return kSuccess;
  });
}

Result cuCtxDisablePeerAccess(Context *peer) {
  return callIn(RUBIA_CALL(peer), [&](Context &context) -> Result {
    peer = contextNamed(peer);
    if (!peer)
      return kInvalidContext;
    if (!peer->alive)
      return kContextIsDestroyed;
    std::lock_guard<std::recursive_mutex> lock(context.mutex);
    return context.peers.erase(peer) ? endAccess(context.device, peer->device)
                                     : kPeerAccessNotEnabled;
  });
}

// Which atomic operations work across a bus depends on the machine, and nobody can be asked: none
// is promised.
static Result noCapabilities(unsigned *capabilities, const int *operations, unsigned count) {
  constexpr int kLastOperation = 12;
  if (!capabilities || !operations || !count)
    return kInvalidValue;
  for (int operation : llvm::ArrayRef(operations, count))
    if (operation < 0 || operation > kLastOperation)
      return kInvalidValue;
  std::fill_n(capabilities, count, 0u);
  return kSuccess;
}
Result cuDeviceGetHostAtomicCapabilities(unsigned *capabilities, const int *operations,
                                         unsigned count, int device) {
  return callFor(RUBIA_CALL(capabilities, operations, count, device), device,
                 [&](Device &) { return noCapabilities(capabilities, operations, count); });
}
Result cuDeviceGetP2PAtomicCapabilities(unsigned *capabilities, const int *operations,
                                        unsigned count, int device, int peer) {
  return callFor(RUBIA_CALL(capabilities, operations, count, device, peer), device, [&](Device &) {
    return peer != device && deviceAt(peer) ? noCapabilities(capabilities, operations, count)
                                            : kInvalidDevice;
  });
}

} // extern "C"
