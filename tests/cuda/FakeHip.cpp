// SPDX-License-Identifier: Apache-2.0
// A HIP library without a device: memory is the host's, streams do their work at once, kernels do
// nothing. It lets the driver API be tested for what it does itself. Calls prefixed with fakeHip
// are for the tests.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <vector>

extern "C" {

struct Fake {
  std::mutex mutex;
  std::map<char *, size_t> allocations;
  std::multimap<size_t, void *> freed; // by size: given out again first
  std::set<void *> dead;               // handles from before a reset: never reused
  std::map<void *, int> streamDevices;
  std::atomic<int> nextError = 0, broken = 0, busy = 0;
  std::atomic<int> launches = 0, streams = 0, synchronizations = 0, deadUses = 0;
  std::atomic<void *> lastStream = nullptr;
  std::vector<std::pair<const uint64_t *, uint64_t>> waits; // for words, until they are met
};
static Fake &fake = *new Fake;
static thread_local int device = 0;

static int deviceCount() {
  const char *text = getenv("FAKE_HIP_DEVICES");
  return text ? atoi(text) : 1;
}

// The error that the next synchronising call or copy reports, as a fault of a kernel would be.
void fakeHipFailNext(int error) { fake.nextError = error; }
int fakeHipLaunches() { return fake.launches; }
int fakeHipStreams() { return fake.streams; }
int fakeHipAllocations() {
  std::lock_guard<std::mutex> lock(fake.mutex);
  return fake.allocations.size();
}
int fakeHipSynchronizations() { return fake.synchronizations; }
int fakeHipDeadUses() { return fake.deadUses; } // of handles that a reset took
void *fakeHipLastStream() { return fake.lastStream; }

static int done() { return fake.nextError.exchange(0); }

// A fault of the device stays until a reset.
void fakeHipBreak(int error) { fake.broken = error; }
int hipDeviceReset() {
  std::lock_guard<std::mutex> lock(fake.mutex);
  for (auto &[pointer, bytes] : fake.allocations)
    fake.dead.insert(pointer);
  for (auto &[stream, itsDevice] : fake.streamDevices)
    fake.dead.insert(stream);
  fake.allocations.clear();
  fake.streamDevices.clear();
  fake.streams = 0;
  return fake.broken = 0, 0;
}
static void *used(void *handle) {
  std::lock_guard<std::mutex> lock(fake.mutex);
  fake.deadUses += fake.dead.count(handle);
  return handle;
}

int hipInit(unsigned) { return 0; }
int hipRuntimeGetVersion(int *version) { return *version = 50221153, 0; }
int hipGetDeviceCount(int *count) { return *count = deviceCount(), 0; }
int hipSetDevice(int d) { return d < 0 || d >= deviceCount() ? 101 : (device = d, 0); }
int hipGetDevice(int *d) { return *d = device, 0; }
int hipDeviceGetName(char *name, int length, int) {
  strncpy(name, "Fake Radeon", length);
  return 0;
}
int hipDeviceTotalMem(size_t *bytes, int) { return *bytes = size_t(8) << 30, 0; }
int hipDeviceGetAttribute(int *value, int, int) { return *value = 65536, 0; }
int hipDeviceGetPCIBusId(char *text, int length, int d) {
  strncpy(text, d ? "0000:0b:00.0" : "0000:0a:00.0", length);
  return 0;
}
int hipGetDeviceProperties(char *properties, int d) {
  if (d < 0 || d >= deviceCount())
    return 101;
  strcpy(properties, "Fake Radeon");
  // FAKE_HIP_ARCH: of the first device.
  const char *arch = getenv("FAKE_HIP_ARCH");
  strcpy(properties + 396, arch && d == 0 ? arch : "gfx1100");
  return 0;
}
int hipDeviceSynchronize() { return fake.broken ? fake.broken.load() : done(); }
int hipMemGetInfo(size_t *free, size_t *total) {
  *free = size_t(7) << 30;
  *total = size_t(8) << 30;
  return 0;
}

static int allocate(void **pointer, size_t bytes) {
  if (fake.broken)
    return fake.broken;
  if (bytes > size_t(8) << 30)
    return 2;
  std::lock_guard<std::mutex> lock(fake.mutex);
  if (auto block = fake.freed.extract(bytes))
    *pointer = block.mapped();
  else
    *pointer = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (!*pointer)
    return 2;
  fake.allocations[static_cast<char *>(*pointer)] = bytes;
  return 0;
}
static int release(void *pointer) {
  used(pointer);
  std::lock_guard<std::mutex> lock(fake.mutex);
  auto found = fake.allocations.find(static_cast<char *>(pointer));
  if (found == fake.allocations.end())
    return 1;
  fake.freed.emplace(found->second, pointer);
  fake.allocations.erase(found);
  return 0;
}
int hipMalloc(void **pointer, size_t bytes) { return allocate(pointer, bytes); }
int hipFree(void *pointer) { return pointer ? release(pointer) : 0; }
int hipHostMalloc(void **pointer, size_t bytes, unsigned) { return allocate(pointer, bytes); }
int hipHostFree(void *pointer) { return release(pointer); }
int hipHostRegister(void *, size_t, unsigned) { return 0; }
int hipHostUnregister(void *) { return 0; }
int hipHostGetDevicePointer(void **out, void *host, unsigned) { return *out = host, 0; }
int hipMallocManaged(void **pointer, size_t bytes, unsigned) { return allocate(pointer, bytes); }
int hipMemGetAddressRange(void **base, size_t *bytes, void *pointer) {
  std::lock_guard<std::mutex> lock(fake.mutex);
  auto after = fake.allocations.upper_bound(static_cast<char *>(pointer));
  if (after == fake.allocations.begin())
    return 1;
  --after;
  if (size_t(static_cast<char *>(pointer) - after->first) >= after->second)
    return 1;
  *base = after->first;
  *bytes = after->second;
  return 0;
}

int hipMemcpyAsync(void *to, const void *from, size_t bytes, int, void *stream) {
  fake.lastStream = stream;
  memmove(to, from, bytes);
  return 0;
}
int hipMemcpy(void *to, const void *from, size_t bytes, int kind) {
  hipMemcpyAsync(to, from, bytes, kind, nullptr);
  return done();
}
int hipMemsetD8Async(void *to, unsigned char value, size_t count, void *stream) {
  fake.lastStream = used(stream);
  memset(to, value, count);
  return 0;
}
int hipMemsetD16Async(void *to, unsigned short value, size_t count, void *stream) {
  fake.lastStream = stream;
  for (size_t i = 0; i < count; ++i)
    static_cast<uint16_t *>(to)[i] = value;
  return 0;
}
int hipMemsetD32Async(void *to, int value, size_t count, void *stream) {
  fake.lastStream = stream;
  for (size_t i = 0; i < count; ++i)
    static_cast<int *>(to)[i] = value;
  return 0;
}
int hipMemsetD8(void *to, unsigned char v, size_t n) { return hipMemsetD8Async(to, v, n, nullptr); }
int hipMemsetD16(void *to, unsigned short v, size_t n) {
  return hipMemsetD16Async(to, v, n, nullptr);
}
int hipMemsetD32(void *to, int v, size_t n) { return hipMemsetD32Async(to, v, n, nullptr); }

int hipStreamCreateWithFlags(void **stream, unsigned) {
  ++fake.streams;
  *stream = malloc(1);
  std::lock_guard<std::mutex> lock(fake.mutex);
  fake.streamDevices[*stream] = device;
  return 0;
}
int hipStreamCreateWithPriority(void **stream, unsigned flags, int) {
  return hipStreamCreateWithFlags(stream, flags);
}
int hipStreamDestroy(void *stream) {
  std::lock_guard<std::mutex> lock(fake.mutex);
  auto found = fake.streamDevices.find(stream);
  if (found == fake.streamDevices.end() || found->second != device) {
    fake.deadUses += fake.dead.count(stream);
    return 400;
  }
  fake.streamDevices.erase(found);
  --fake.streams;
  free(stream);
  return 0;
}
int hipStreamSynchronize(void *stream) {
  fake.lastStream = used(stream);
  ++fake.synchronizations;
  return done();
}
int hipStreamQuery(void *) { return done(); }
// Nothing waits here.
int hipStreamWaitValue32(void *, void *, uint32_t, unsigned, uint32_t) { return 0; }
int hipStreamWaitValue64(void *, void *word, uint64_t value, unsigned, uint64_t) {
  std::lock_guard<std::mutex> lock(fake.mutex);
  fake.waits.push_back({static_cast<const uint64_t *>(word), value});
  return 0;
}
// Whether all words have come to what streams wait for. Their memory is still there.
bool fakeHipWaitsAreMet() {
  std::lock_guard<std::mutex> lock(fake.mutex);
  while (!fake.waits.empty() &&
         __atomic_load_n(fake.waits.back().first, __ATOMIC_ACQUIRE) >= fake.waits.back().second)
    fake.waits.pop_back();
  return fake.waits.empty();
}
int hipStreamWriteValue32(void *, void *word, uint32_t value, unsigned) {
  return __atomic_store_n(static_cast<uint32_t *>(word), value, __ATOMIC_RELEASE), 0;
}
int hipStreamWriteValue64(void *, void *word, uint64_t value, unsigned) {
  return __atomic_store_n(static_cast<uint64_t *>(word), value, __ATOMIC_RELEASE), 0;
}
int hipStreamWaitEvent(void *, void *, unsigned) { return 0; }
// Events that a reset took away are never destroyed: they stay reachable, for the leak checker.
int hipEventCreateWithFlags(void **event, unsigned) {
  static auto *all = new std::set<void *>;
  std::lock_guard<std::mutex> lock(fake.mutex);
  return *event = *all->insert(malloc(1)).first, 0;
}
int hipEventDestroy(void *event) { return event ? 0 : 400; }
int hipEventRecord(void *, void *stream) { return fake.lastStream = stream, 0; }
int hipEventSynchronize(void *) { return done(); }
// Whether all events are of work that goes on.
void fakeHipKeepBusy(int busy) { fake.busy = busy; }
int hipEventQuery(void *) { return fake.busy ? 600 : done(); }
int hipEventElapsedTime(float *ms, void *, void *) { return *ms = 1.5f, 0; }

int hipModuleLoadData(void **module, const void *) { return *module = malloc(1), 0; }
int hipModuleUnload(void *module) { return free(module), 0; }
int hipModuleGetFunction(void **function, void *, const char *) { return *function = &fake, 0; }
int hipModuleGetGlobal(void **, size_t *, void *, const char *) { return 500; }
int hipModuleLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void *stream, void **, void **) {
  ++fake.launches;
  fake.lastStream = stream;
  return 0;
}
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *, int threads, size_t) {
  return *blocks = 2048 / threads, 0;
}
int hipFuncGetAttribute(int *value, int, void *) { return *value = 24, 0; }
int hipLaunchHostFunc(void *, void (*function)(void *), void *data) { return function(data), 0; }
int hipStreamAddCallback(void *stream, void (*function)(void *, int, void *), void *data,
                         unsigned) {
  return function(stream, fake.broken, data), 0;
}
const char *hipGetErrorString(int) { return "an error of the fake HIP library"; }

} // extern "C"
