// SPDX-License-Identifier: Apache-2.0
// Contexts. HIP has one context per device in all but name, so ours share the device: a context
// here is the unit of error state, module state, thread stacks and local storage.
#include "runtime/cuda/Context.h"
#include "runtime/cuda/Coredump.h"
#include "runtime/cuda/HandleTable.h"
#include "runtime/cuda/Module.h"
#include "runtime/cuda/graph/Capture.h"
#include "runtime/cuda/memory/PeerAccess.h"
#include "runtime/cuda/texture/Arrays.h"
#include "runtime/device/AtomicLocks.h"
#include "runtime/device/ClusterLaunches.h"
#include <pthread.h>
#include <unordered_map>

namespace rubia::runtime {
int hipDeviceSynchronize();
int hipStreamQuery(void *stream);
int hipDeviceReset();
} // namespace rubia::runtime

namespace rubia::runtime::cuda {

static uint64_t nextId() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

Context::Context(Device &device, bool primary, unsigned flags)
    : device(device), primary(primary), id(nextId()), flags(flags), resets(device.resets.load()) {
  resetLimits();
  services.pointsToHost = pointsToPinned;
}

void Context::resetLimits() {
  // CU_LIMIT_STACK_SIZE, PRINTF_FIFO_SIZE, MALLOC_HEAP_SIZE, DEV_RUNTIME_SYNC_DEPTH,
  // DEV_RUNTIME_PENDING_LAUNCH_COUNT, MAX_L2_FETCH_GRANULARITY, the rest 0: CUDA's defaults.
  // cuBLASLt takes another path unless SHMEM_SIZE and CIG_ENABLED are 0.
  limits = {1024, DeviceServices::kDefaultRing, DeviceServices::kDefaultHeap, 2, 2048, 64};
}

static bool isDeviceFault(int error) {
  switch (error) {
  case kIllegalAddress:
  case kLaunchTimeout:
  case kAssert:
  case kHardwareStackError:
  case kIllegalInstruction:
  case kMisalignedAddress:
  case kInvalidAddressSpace:
  case kInvalidPc:
  case kLaunchFailed:
  case kEccUncorrectable:
    return true;
  }
  return false;
}

// HIP's numbers are CUDA's driver numbers wherever both have the error; what follows are those that
// only runtime APIs have.
Result fromHip(int error) {
  switch (error) {
  case 9:  // hipErrorInvalidConfiguration
  case 12: // hipErrorInvalidPitchValue
  case 13: // hipErrorInvalidSymbol
  case 17: // hipErrorInvalidDevicePointer
  case 21: // hipErrorInvalidMemcpyDirection
  case 52: // hipErrorMissingConfiguration
    return kInvalidValue;
  case 53: // hipErrorPriorLaunchFailure
    return kLaunchFailed;
  case 98: // hipErrorInvalidDeviceFunction
    return kInvalidHandle;
  case 1052: // hipErrorRuntimeMemory
    return kOutOfMemory;
  }
  return nameOf(Result(error)) ? Result(error) : kUnknown;
}

static HandleTable<Context> &contexts = HandleTable<Context>::leaked();

Result Context::check(int hipError) {
  Result result = fromHip(hipError);
  Result none = kSuccess;
  if (!isDeviceFault(result) || !sticky.compare_exchange_strong(none, result))
    return result;
  log(LogLevel::Error, llvm::Twine("device ") + llvm::Twine(device.ordinal) + ": " +
                           textOf(result) + "; later calls return the same error");
  std::vector<std::shared_ptr<LoadedModule>> suspects;
  {
    std::lock_guard<std::mutex> lock(modulesMutex);
    for (Module *module : modules)
      suspects.push_back(module->loaded);
  }
  // This logs which thread it was. HIP knows one kind of trap; what the kernel refused says more.
  for (const auto &module : suspects)
    if (Result trap = takeTrap(*module); trap && result == kLaunchFailed) {
      result = trap;
      sticky = trap;
    }
  dumpFault(*this, result);
  spreadFault();
  return result;
}

// Nothing here may wait: another stream's work may be waiting for what the caller does next.
Result Context::checkSynchronized(int hipError, uint64_t ended) {
  services.print(isDeviceFault(fromHip(hipError)) ? DeviceServices::kEverything : ended);
  return checkCompleted(hipError);
}

Result Context::checkCompleted(int hipError) {
  const Result result = checkOwn(hipError);
  return !result && theDriver.load()->hasGraphsAcrossDevices ? checkOtherDevices() : result;
}

// Asks HIP and the trap records of the other devices; a fault of one is every context's.
Result Context::checkOtherDevices() {
  constexpr int kNotReady = 600; // hipErrorNotReady
  std::vector<Context *> others;
  contexts.forEach([&](Context *other) {
    if (&other->device != &device && other->alive)
      others.push_back(other); // never freed
  });
  for (Context *other : others) {
    if (other->hasLostDevice())
      continue;
    const Result result = runIn(*other, *this, [&] {
      const int error = hip().call<hipStreamQuery>(nullptr);
      return other->checkOwn(error == kNotReady ? 0 : error);
    });
    if (result)
      return result;
  }
  return kSuccess;
}

Result Context::checkOwn(int hipError) {
  if (Result result = check(hipError))
    return result; // also: not ready
  for (const auto &module : pending.modules())
    if (Result trap = takeTrap(*module)) {
      Result none = kSuccess;
      if (sticky.compare_exchange_strong(none, trap)) {
        dumpFault(*this, trap);
        spreadFault();
      }
    }
  return sticky;
}

Result Context::synchronizeStream(void *hipStream) {
  const uint64_t last = pending.last();
  Result result = checkSynchronized(hip().call<hipStreamSynchronize>(hipStream));
  if (!result)
    pending.endStream(hipStream, last);
  return result;
}

Result Context::queryStream(void *hipStream) {
  const uint64_t last = pending.last();
  Result result = checkCompleted(hip().call<hipStreamQuery>(hipStream));
  if (!result)
    pending.endStream(hipStream, last);
  return result;
}

Result Context::synchronizeDevice(uint64_t ended) {
  const uint64_t last = pending.last();
  Result result = checkSynchronized(hip().call<hipDeviceSynchronize>(), ended);
  if (!result)
    pending.endDevice(last);
  return result;
}

bool Context::hasLostDevice() const { return isExiting() || resets != device.resets; }

void Context::adoptDevice() {
  if (resets.exchange(device.resets) != device.resets)
    idleThreadStreams.clear();
}

void Context::tearDown() {
  decltype(locals) values;
  {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    values.swap(locals);
  }
  for (auto &[key, local] : values)
    if (local.destructor)
      local.destructor(this, key, local.value);

  forgetPeer(*this);
  forgetCapturesOf(*this); // takes locks that come before the next one
  gates.awaitAll(*this);   // its threads may need the next one
  std::lock_guard<std::recursive_mutex> lock(mutex);
  if (!isExiting() && !theDriver.load()->hip->call<hipSetDevice>(device.hipDevice))
    (void)hip().call<hipDeviceSynchronize>(); // whatever it says: the context ends here
  if (!hasLostDevice())                       // else the ring is gone
    services.print(DeviceServices::kEverything);
  for (Context *peer : std::exchange(peers, {}))
    if (Result result = hasLostDevice() ? kSuccess : endAccess(device, peer->device))
      warnOfAccess(peer->device, result);
  unloadModulesOf(*this);
  pending.clear();
  destroyStreamsAndEvents(*this);
  releaseTextures(*this);
  freeAllocations(*this);
  workspaces.clear(); // freed as allocations
  gates.release(hip(), hasLostDevice());
  forgetDumpSettings(*this);
  words->release(hip(), hasLostDevice());
  if (hasLostDevice())
    services.forget();
  else
    services.release(hip());
  if (device.isFaulty && !hasLostDevice())
    resetDevice();
  adoptDevice();
  resetLimits();
  alive = false; // no fault reaches it any more
  sticky = kSuccess;
}

// Contexts that were destroyed: other threads may still have them on their stacks.
static std::mutex &destroyedMutex = *new std::mutex;
static std::vector<Context *> &destroyed = *new std::vector<Context *>;

// After a fault HIP's own device state has to go too, and with it what other contexts have on the
// device: the fault was theirs as well.
void Context::resetDevice() {
  if (!hip().has<hipDeviceReset>())
    return;
  int error = hip().call<hipSetDevice>(device.hipDevice);
  if (!error)
    error = hip().call<hipDeviceReset>();
  if (error) {
    log(LogLevel::Warning, llvm::Twine("hipDeviceReset: ") + hip().hipGetErrorString(error));
    return;
  }
  ++device.resets;
  device.isFaulty = false;
  AtomicLocks::forgetDevice(device.hipDevice);
  forgetClusterLaunches(device.hipDevice);
  forgetAccess(device);
  forgetPooled(device);
  contexts.forEach([&](Context *other) {
    if (Result none = kSuccess; other != this && &other->device == &device && other->alive)
      other->sticky.compare_exchange_strong(none, sticky);
  });
}

// On NVIDIA's driver a fault is the process's: what its other contexts have is lost too, on other
// devices as well.
void Context::spreadFault() {
  device.isFaulty = true;
  contexts.forEach([&](Context *other) {
    if (Result none = kSuccess; other != this && other->alive)
      other->sticky.compare_exchange_strong(none, sticky);
  });
}

// The table owns no context: calls of other threads may use one whenever it ends.
void registerContext(Context *context) {
  contexts.add(std::shared_ptr<Context>(std::shared_ptr<void>(), context));
}

void unregisterContext(Context *context) {
  if (!contexts.remove(context))
    return;
  std::lock_guard<std::mutex> lock(destroyedMutex);
  destroyed.push_back(context);
}

bool isContext(Context *context) { return contexts.contains(context); }

void forEachContext(llvm::function_ref<void(Context *)> visit) { contexts.forEach(visit); }

// Thread state is reached by a plain pointer, which stays valid while thread_local destructors and
// exit handlers run; a pthread key frees it when a thread ends.
static void endThread(void *pointer) {
  std::unique_ptr<ThreadState> state(static_cast<ThreadState *>(pointer));
  for (auto [context, stream] : state->streams)
    if (isContext(context) && stream.hip) {
      forgetCapturedStream(stream.hip);
      std::lock_guard<std::recursive_mutex> lock(context->mutex);
      if (stream.resets == context->resets)
        context->idleThreadStreams.push_back(stream.hip);
    }
}

ThreadState &thread() {
  static thread_local ThreadState *state = nullptr;
  static const pthread_key_t key = [] {
    pthread_key_t created;
    // Without a key (a process may have 1024) the state of ended threads is leaked.
    return pthread_key_create(&created,
                              [](void *pointer) {
                                state = nullptr;
                                endThread(pointer);
                              })
               ? pthread_key_t(-1)
               : created;
  }();
  if (!state) {
    state = new ThreadState;
    if (key != pthread_key_t(-1))
      pthread_setspecific(key, state);
  }
  return *state;
}

void CallFrame::enter() {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state.cancelState);
  state.hasTraps = fegetexcept() != 0;
  if (state.hasTraps)
    std::feholdexcept(&state.environment);
}

CallFrame::~CallFrame() {
  while (state.kept.size() > before) {
    std::shared_ptr<const void> last = std::move(state.kept.back());
    state.kept.pop_back(); // first: its end may look for others
  }
  if (--state.frames)
    return;
  if (state.hasTraps)
    std::fesetenv(&state.environment);
  pthread_setcancelstate(state.cancelState, nullptr);
}

void keepForCall(std::shared_ptr<const void> object) {
  ThreadState &state = thread();
  const bool isOwned = object.use_count(); // contexts are not
  if (state.frames && isOwned && (state.kept.empty() || state.kept.back() != object))
    state.kept.push_back(std::move(object));
}

// Handles of green contexts, and what they stand for. Few programs have any: the others do not
// look.
static std::atomic<unsigned> greenCount = 0;
static std::mutex &greenMutex = *new std::mutex;
static auto &greenHandles = *new std::unordered_map<const Context *, Context *>;

static Context *primaryOf(Context *handle) {
  if (!greenCount)
    return handle;
  std::lock_guard<std::mutex> lock(greenMutex);
  auto found = greenHandles.find(handle);
  return found == greenHandles.end() ? handle : found->second;
}

Context *makeGreenHandle(Context &primary) {
  auto *handle = new Context(primary.device, false, primary.flags);
  handle->alive = false; // it has no work, and no fault of its own
  std::lock_guard<std::mutex> lock(greenMutex);
  greenHandles.emplace(handle, &primary);
  ++greenCount;
  registerContext(handle);
  return handle;
}

void endGreenHandle(Context *handle) {
  unregisterContext(handle);
  std::lock_guard<std::mutex> lock(greenMutex);
  greenHandles.erase(handle);
  --greenCount;
}

Context *contextNamed(Context *handle) { return isContext(handle) ? primaryOf(handle) : nullptr; }

Context *currentHandle() {
  auto &stack = thread().stack;
  return stack.empty() ? nullptr : stack.back();
}

Context *currentContext() { return primaryOf(currentHandle()); }

Result enter(Context &context) {
  if (!isContext(&context) || !context.alive)
    return kContextIsDestroyed;
  if (Result sticky = context.sticky)
    return sticky;
  return fromHip(hip().call<hipSetDevice>(context.device.hipDevice));
}

Result runIn(Context &owner, Context &current, llvm::function_ref<Result()> body) {
  if (&owner == &current)
    return body();
  if (Result result = enter(owner))
    return result;
  Result result = body();
  Result back = current.check(hip().call<hipSetDevice>(current.device.hipDevice));
  return result ? result : back;
}

// Of the contexts that are there: a fault is the process's until they have all ended.
static Result standingFault() {
  Result fault = kSuccess;
  contexts.forEach([&](Context *context) {
    if (context->alive && !fault)
      fault = context->sticky;
  });
  return fault;
}

Result createContext(Context **out, unsigned flags, int ordinal) {
  Device *device = deviceAt(ordinal);
  if (!out || (flags & ~kContextFlags) || !isSchedule(flags))
    return kInvalidValue;
  if (!device)
    return kInvalidDevice;
  if (Result fault = standingFault())
    return fault;
  constexpr unsigned kCoredump = 0x20, kUserCoredump = 0x40; // the second is told as the first
  if (flags & kUserCoredump)
    flags = (flags & ~kUserCoredump) | kCoredump;
  Context *context = new Context(*device, false, flags);
  registerContext(context);
  thread().stack.push_back(context);
  *out = context;
  return enter(*context);
}

Result destroyContext(Context *context) {
  if (!context)
    return kInvalidValue;
  if (!isContext(context))
    return kInvalidContext;
  if (context->primary || contextNamed(context) != context)
    return kInvalidContext;
  context->tearDown();
  unregisterContext(context);
  auto &stack = thread().stack;
  if (!stack.empty() && stack.back() == context)
    stack.pop_back();
  return kSuccess;
}

Result retainPrimary(Context **out, int ordinal) {
  Device *device = deviceAt(ordinal);
  if (!device)
    return kInvalidDevice;
  if (!out)
    return kInvalidValue;
  Context &context = *device->primary;
  std::lock_guard<std::recursive_mutex> life(device->primaryMutex);
  std::lock_guard<std::recursive_mutex> lock(context.mutex);
  if (!context.alive)
    if (Result fault = standingFault())
      return fault;
  ++context.references;
  if (!context.alive) {
    context.adoptDevice();
    context.sticky = kSuccess; // of an earlier life
  }
  context.alive = true;
  *out = &context;
  return kSuccess;
}

Result releasePrimary(int ordinal) {
  Device *device = deviceAt(ordinal);
  if (!device)
    return kInvalidDevice;
  Context &context = *device->primary;
  std::lock_guard<std::recursive_mutex> life(device->primaryMutex);
  {
    std::lock_guard<std::recursive_mutex> lock(context.mutex);
    if (!context.references)
      return kInvalidContext;
    if (--context.references)
      return kSuccess;
  }
  if (!isExiting())
    context.tearDown();
  context.flags = 0;
  return kSuccess;
}

Result resetPrimary(int ordinal) {
  Device *device = deviceAt(ordinal);
  if (!device)
    return kInvalidDevice;
  std::lock_guard<std::recursive_mutex> life(device->primaryMutex);
  device->primary->tearDown();
  // References count on: who retained it may use it again.
  std::lock_guard<std::recursive_mutex> lock(device->primary->mutex);
  device->primary->alive = device->primary->references != 0;
  return kSuccess;
}

} // namespace rubia::runtime::cuda
