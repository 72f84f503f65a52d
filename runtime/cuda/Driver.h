// SPDX-License-Identifier: Apache-2.0
// The state of the driver: devices, contexts and the calling thread, and the frame that every entry
// point runs in.
//
// All of it is leaked on purpose. cudart calls cuLibraryUnload and its kin from the program's own
// exit handlers, after the static destructors of this library have run.
#pragma once

#include "runtime/base/Log.h"
#include "runtime/base/Timeline.h"
#include "runtime/base/TracedCall.h"
#include "runtime/cuda/Gates.h"
#include "runtime/cuda/PendingLaunches.h"
#include "runtime/cuda/Types.h"
#include "runtime/cuda/memory/WordPool.h"
#include "runtime/device/DeviceServices.h"
#include "runtime/device/FoundDevices.h"
#include "llvm/ADT/Twine.h"
#include <array>
#include <atomic>
#include <cfenv>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace rubia::runtime::cuda {

struct Device;

inline constexpr int kLimitCount = 10; // CUlimit

/// Values that libraries keep in a context, keyed by an address of theirs; the destructor runs when
/// the context goes.
using LocalDestructor = void (*)(Context *context, void *key, void *value);

struct Context {
  Context(Device &device, bool primary, unsigned flags);

  Device &device;
  const bool primary;
  const uint64_t id;
  std::atomic<unsigned> flags;
  std::atomic<unsigned> attached = 0;                 // by cuCtxAttach
  std::atomic<int> cacheConfig = 0, sharedConfig = 0; // CUfunc_cache, CUsharedconfig: hints

  /// A fault on the device: every later call returns it, until the context is destroyed or reset.
  std::atomic<Result> sticky = kSuccess;

  /// The value of device.resets that its handles of HIP's are from.
  std::atomic<unsigned> resets;

  /// Of a primary context: whether it is retained. Calls ask without the mutex.
  std::atomic<bool> alive = true;

  std::recursive_mutex mutex; // guards what follows
  unsigned references = 0;    // primary
  std::array<size_t, kLimitCount> limits;
  struct Local {
    void *value;
    LocalDestructor destructor;
  };
  std::map<void *, Local> locals;
  std::set<Context *> peers;             // whose memory its kernels may access
  std::vector<void *> idleThreadStreams; // of threads that have ended
  void *collector =
      nullptr;             // HIP's stream, behind what is recorded or awaited of the whole context
  void *awaited = nullptr; // HIP's event, for which streams that are made later wait
  std::unordered_map<Stream *, void *> workspaces; // of cooperative launches, per stream

  /// Guards `modules` and their managed variables. Who reports a fault takes it whatever else the
  /// thread holds: so only tables of handles are looked at with it.
  std::mutex modulesMutex;
  std::set<Module *> modules;

  DeviceServices services;                                        // printf, malloc; guards itself
  PendingLaunches pending;                                        // guards itself
  Gates gates;                                                    // guards itself
  std::shared_ptr<WordPool> words = std::make_shared<WordPool>(); // guards itself

  /// Maps a HIP status; remembers it if it is a fault of the device.
  Result check(int hipError);
  /// The same after a call that says that work is done: looks at trap records too.
  Result checkCompleted(int hipError);
  /// The same after a synchronising call: prints what kernels have printed first. `ended`: as for
  /// DeviceServices::print.
  Result checkSynchronized(int hipError, uint64_t ended = 0);
  /// Waits for a HIP stream, or asks whether it is done, or waits for the device: launches that are
  /// over then are no longer looked after.
  Result synchronizeStream(void *hipStream);
  Result queryStream(void *hipStream);
  Result synchronizeDevice(uint64_t ended = 0);
  /// Drops everything that belongs to the context.
  void tearDown();
  /// Its handles of HIP's died with a reset of the device, or die as the process ends: they may
  /// only be forgotten.
  bool hasLostDevice() const;
  /// It has no such handles any more. Needs `mutex`.
  void adoptDevice();

private:
  void resetDevice();
  Result checkOwn(int hipError); // what checkCompleted() does of this context alone
  Result checkOtherDevices();
  void spreadFault(); // the device's own fault, to all contexts
  void resetLimits();
};

struct Device : FoundDevice {
  explicit Device(FoundDevice found) : FoundDevice(std::move(found)) {}

  int ordinal = 0; // as the program counts
  std::unique_ptr<Context> primary;
  /// Held while the primary context ends, so that who retains it meanwhile gets the next one.
  std::recursive_mutex primaryMutex;
  std::atomic<MemoryPool *> pool = nullptr; // the current one
  std::atomic<unsigned> resets = 0;         // how often hipDeviceReset took all handles with it
  std::atomic<bool> isFaulty = false;       // since the last of these a kernel of it has failed

  int attribute(int attribute, unsigned capability) const;
  /// Static and dynamic shared memory that a CTA can have, wherever it lies: what programs are
  /// told, and at least that of capability 8.9.
  static int maxSharedPerBlock();
  int ldsPerBlock() const;
};

/// HIP's status as the driver API knows it.
Result fromHip(int hipError);

struct Driver {
  const Hip *hip;
  std::vector<std::unique_ptr<Device>> devices;
  /// A graph with nodes of another device than its stream's was launched: who waits for the stream
  /// is told of faults there.
  std::atomic<bool> hasGraphsAcrossDevices = false;
};

/// Null before cuInit.
extern std::atomic<Driver *> theDriver;
inline const Hip &hip() { return *theDriver.load(std::memory_order_relaxed)->hip; }
Device *deviceAt(int ordinal); // null if there is none
Result initialize();

/// kNotInitialized before cuInit and in a forked child; kDeinitialized once exit handlers run.
Result state();
bool isExiting();

/// A thread's default stream.
struct ThreadStream {
  void *hip = nullptr;
  unsigned resets = 0; // as Context::resets
};

/// What the thread has: its stack of contexts, and its default stream per context.
struct ThreadState {
  std::vector<Context *> stack;
  std::unordered_map<Context *, ThreadStream> streams;
  int captureMode = 0; // CUstreamCaptureMode
  bool isInHostFunction = false;
  unsigned frames = 0;
  std::vector<std::shared_ptr<const void>> kept; // for the frames
  int cancelState = 0;                           // outside of all frames, as what follows
  bool hasTraps = false;
  std::fenv_t environment;
};
ThreadState &thread();

/// A call of an entry point, or work of a thread of ours for one. What is looked up by a handle
/// meanwhile stays there until it ends, whatever other threads destroy. The thread is not cancelled
/// in it (pthread_cancel), and floating point does not trap.
class CallFrame {
public:
  CallFrame() : state(thread()), before(state.kept.size()) {
    if (!state.frames++)
      enter();
  }
  ~CallFrame();
  CallFrame(const CallFrame &) = delete;
  CallFrame &operator=(const CallFrame &) = delete;

private:
  void enter();
  ThreadState &state;
  const size_t before;
};
Context *currentContext();        // null: none
bool isContext(Context *context); // alive or the primary context of a device
Result enter(Context &context);   // makes its device HIP's current one
void registerContext(Context *context);
void unregisterContext(Context *context);

/// The compute capability that code at `returnAddress` is told, as 10 * major + minor. NVIDIA's
/// closed libraries are told a major version that they do not know: they then use kernels that they
/// carry as PTX.
unsigned capabilityFor(const void *returnAddress);
unsigned capabilityForFile(llvm::StringRef path);

/// Logs `what` the first time that it is reported.
void logOnce(LogLevel level, const llvm::Twine &what);

/// What is said of a failed call: its name, the code, and the reason if we know it.
Result fail(Result result, const llvm::Twine &reason, LogLevel level = LogLevel::Error);
/// For programs that read the log (cuLogsDumpToMemory).
void remember(const llvm::Twine &reason);
void traceCall(const TracedCall &entry, Result result);

/// The frame of an entry point that functions of a stream may call.
template <class Body> Result callAnywhere(const TracedCall &entry, Body body) {
  const TimelineSpan span("api", entry.name);
  Result result = state();
  if (!result) {
    const CallFrame frame;
    result = body();
  }
  if (result || logs(LogLevel::Debug))
    traceCall(entry, result);
  return result;
}

/// The frame of an entry point that needs no context.
template <class Body> Result call(const TracedCall &entry, Body body) {
  return callAnywhere(entry, [&]() -> Result {
    if (thread().isInHostFunction)
      return kNotPermitted;
    return body();
  });
}

/// As call(), with a device of the program's numbering; kInvalidDevice if there is none.
template <class Body> Result callFor(const TracedCall &entry, int ordinal, Body body) {
  return call(entry, [&]() -> Result {
    Device *device = deviceAt(ordinal);
    return device ? body(*device) : kInvalidDevice;
  });
}

/// The frame of an entry point that works in the current context.
template <class Body> Result callIn(const TracedCall &entry, Body body) {
  return call(entry, [&]() -> Result {
    Context *context = currentContext();
    if (!context)
      return kInvalidContext;
    if (Result result = enter(*context))
      return result;
    return body(*context);
  });
}

/// As callIn(); of a thread that has no current context in that of what the call names. It is
/// looked up by contextOf(), which gives null for what is not live and for a default stream.
template <class Handle, class Body>
Result callOn(const TracedCall &entry, Handle handle, Body body) {
  return call(entry, [&]() -> Result {
    Context *context = currentContext();
    if (!context)
      context = contextOf(handle);
    if (!context)
      return kInvalidContext;
    if (Result result = enter(*context))
      return result;
    return body(*context);
  });
}

/// The frame of an entry point that gives something back (unload, destroy, free): quietly done once
/// the process is ending, when HIP may be gone already.
template <class Body> Result callToRelease(const TracedCall &entry, Body body) {
  if (isExiting())
    return kSuccess;
  return callIn(entry, body);
}
template <class Handle, class Body>
Result callToRelease(const TracedCall &entry, Handle handle, Body body) {
  if (isExiting())
    return kSuccess;
  return callOn(entry, handle, body);
}

} // namespace rubia::runtime::cuda
