// SPDX-License-Identifier: Apache-2.0
#include "diff/forward/Recorder.h"
#include <algorithm>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <new>
#include <sys/syscall.h>

asm(".symver dladdr, dladdr@GLIBC_2.2.5\n");

using namespace rubia::capsule;

namespace rubia::forward {
namespace {

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

/// Whether two paths are one file. It is never opened as the driver of itself.
bool isThisLibrary(const char *path) {
  Dl_info mine;
  if (!dladdr(reinterpret_cast<void *>(&now), &mine))
    return false;
  char *one = realpath(path, nullptr), *other = realpath(mine.dli_fname, nullptr);
  const bool same = one && other && !strcmp(one, other);
  free(one);
  free(other);
  return same;
}

constexpr const char *kUsualPlaces[] = {
    "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
    "/usr/lib64/libcuda.so.1",
    "/usr/local/nvidia/lib64/libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
    "/usr/lib/libcuda.so.1",
};

const char *openAnyDriver(const char *given) {
  if (given)
    return isThisLibrary(given) ? "the driver= of RUBIA_CAPTURE is the forwarding library itself"
           : openDriver(given)  ? nullptr
                                : "the driver's library cannot be opened";
  for (const char *place : kUsualPlaces)
    if (!isThisLibrary(place) && openDriver(place))
      return nullptr;
  return "no driver's libcuda.so.1 in the usual places: name it with driver= in RUBIA_CAPTURE";
}

} // namespace

bool isCaptured(Handle stream, bool perThread) {
  int status = 0; // 0: no; 2: it is, and has become invalid
  const int result = perThread ? DRIVER(cuStreamIsCapturing_ptsz, Handle, int *)(stream, &status)
                               : DRIVER(cuStreamIsCapturing, Handle, int *)(stream, &status);
  return !result && status;
}

Recorder &Recorder::get() {
  alignas(Recorder) static char memory[sizeof(Recorder)];
  static Recorder *recorder = new (memory) Recorder;
  return *recorder;
}

Recorder::Recorder() : owner(getpid()) {
  if (const char *wrong = readOptions(options))
    fprintf(stderr, "rubia capture: error: %s; nothing is recorded\n", wrong);
  else
    isActive = options.output;
  if (isActive && options.jitPtx)
    setenv("CUDA_FORCE_PTX_JIT", "1", 1); // which the driver reads
  if (const char *wrong = openAnyDriver(options.driver))
    fprintf(stderr, "rubia capture: error: %s\n", wrong);
  connect(isActive && options.calls);
}

// The first recorded launch makes the file: a program that launches nothing leaves none.
bool Recorder::startFile() {
  if (isStarted)
    return writer.isOpen();
  isStarted = true;
  if (const char *wrong = writer.open(options.output)) {
    fprintf(stderr, "rubia capture: error: %s: %s\n", options.output, wrong);
    isActive = false;
    return false;
  }
  fprintf(stderr,
          "rubia capture: %s will hold the memory and the kernels of this program as they are\n",
          options.output);
  writeEnvironment();
  return true;
}

static void addCommandLine(Text &text) {
  Bytes words;
  readFile("/proc/self/cmdline", 1 << 20, words);
  words.push(0);
  text.add(",\"command_line\":[");
  const auto *word = reinterpret_cast<const char *>(words.begin());
  const char *end = word + words.size() - 1;
  for (const char *comma = ""; word < end; word += strlen(word) + 1, comma = ",")
    text.add(comma).quoted(word);
  text.add("]");
}

void Recorder::writeEnvironment() {
  int version = 0, device = 0, major = 0, minor = 0, processors = 0;
  char name[256] = "";
  (void)DRIVER(cuDriverGetVersion, int *)(&version);
  (void)DRIVER(cuCtxGetDevice, int *)(&device);
  (void)DRIVER(cuDeviceGetName, char *, int, int)(name, sizeof(name), device);
  (void)DRIVER(cuDeviceGetAttribute, int *, int, int)(&major, 75, device);
  (void)DRIVER(cuDeviceGetAttribute, int *, int, int)(&minor, 76, device);
  (void)DRIVER(cuDeviceGetAttribute, int *, int, int)(&processors, 16, device);
  Text text;
  text.add("{\"device\":").quoted(name);
  text.format(",\"driver_version\":%d,\"compute_capability\":%d,\"multiprocessors\":%d", version,
              major * 10 + minor, processors);
  const char *jit = getenv("CUDA_FORCE_PTX_JIT");
  text.format(",\"ptx_jit_forced\":%s", jit && !strcmp(jit, "1") ? "true" : "false");
  if (options.libraryCapability)
    text.add(",\"library_capability\":true");
  if (options.commandLine)
    addCommandLine(text);
  text.add("}");
  writer.write(RecordType::Environment, text.bytes().begin(), text.bytes().size());
}

void Recorder::called(const DriverFunction &function, const CallFrame &frame) {
  if (owner != getpid())
    return;
  calls.add(function, frame);
  // Whoever records a launch now writes it down: the launch may wait for this thread.
  if (!calls.isLarge() || __atomic_load_n(&isRecording, __ATOMIC_RELAXED))
    return;
  pthread_mutex_lock(&lock);
  writeCalls();
  pthread_mutex_unlock(&lock);
}

void Recorder::writeCalls() {
  Bytes lines;
  if (isActive && options.calls && startFile() && calls.take(lines))
    writer.write(RecordType::Calls, lines.begin(), lines.size());
}

void Recorder::finish() {
  if (owner != getpid())
    return; // a child: another thread of its parent may have had the lock
  pthread_mutex_lock(&lock);
  if (isActive) {
    writeCalls();
    isActive = false;
    if (writer.isOpen()) {
      Text text;
      text.format("{\"launches\":%llu,\"recorded\":%llu,\"in_stream_capture\":%llu,"
                  "\"graph_launches\":%llu,\"whole_graph_launches\":%llu,\"seconds\":%.3f}",
                  static_cast<unsigned long long>(launches),
                  static_cast<unsigned long long>(recorded),
                  static_cast<unsigned long long>(inCapture),
                  static_cast<unsigned long long>(graphLaunches),
                  static_cast<unsigned long long>(wholeGraphs), seconds);
      writer.write(RecordType::End, text.bytes().begin(), text.bytes().size());
    }
    fflush(stdout); // what the program has printed stands in front of what is said of it
    fprintf(stderr, "rubia capture: %llu of %llu launches recorded, %llu bytes, %.2f s\n",
            static_cast<unsigned long long>(recorded), static_cast<unsigned long long>(launches),
            static_cast<unsigned long long>(writer.bytes()), seconds);
    if (inCapture)
      fprintf(stderr, "rubia capture: not recorded: %llu launches into graphs\n",
              static_cast<unsigned long long>(inCapture));
    if (wholeGraphs)
      fprintf(stderr,
              "rubia capture: not recorded: %llu launches of graphs that cannot be taken apart; of "
              "the last: %s\n",
              static_cast<unsigned long long>(wholeGraphs), wholeProblem);
    writer.close();
  }
  pthread_mutex_unlock(&lock);
}

void Recorder::captureBegins(Handle stream) { capturing.push(stream); }

void Recorder::captureEnds(Handle stream, bool perThread) {
  if (isCaptured(stream, perThread))
    return;
  for (size_t i = capturing.size(); i-- > 0;)
    if (capturing[i] == stream)
      capturing.remove(i);
}

void Recorder::streamDestroyed(Handle stream) {
  for (size_t i = capturing.size(); i-- > 0;)
    if (capturing[i] == stream)
      capturing.remove(i);
  for (size_t i = streams.size(); i-- > 0;)
    if (streams[i].stream == stream)
      streams.remove(i);
}

void Recorder::noteStream(Handle stream, bool perThread) {
  for (const UsedStream &one : streams)
    if (one.stream == stream && one.perThread == perThread)
      return;
  streams.push({stream, perThread});
}

size_t Recorder::counterOf(const char *kernel) {
  for (size_t i = 0; i < counters.size(); ++i)
    if (!strcmp(counters[i].name, kernel))
      return i;
  const bool isChosen = !options.hasKernels || !regexec(&options.kernels, kernel, 0, nullptr, 0);
  counters.push({kernel, isChosen, 0, 0}); // names are never freed
  return counters.size() - 1;
}

bool Recorder::isNext(const Counter &counter) const {
  return counter.isChosen && counter.seen % options.every == 0 && counter.recorded < options.first;
}

bool Recorder::isWanted(const char *kernel) {
  Counter &counter = counters[counterOf(kernel)];
  const bool isRecorded = isNext(counter);
  ofKernel = counter.seen++;
  counter.recorded += isRecorded;
  return isRecorded;
}

bool Recorder::begin(const Launch &launch) {
  if (owner != getpid())
    return false;
  pthread_mutex_lock(&lock);
  ++launches;
  noteStream(launch.stream, launch.perThread);
  bool isRecorded = isActive;
  // Reading memory waits for the device, which is forbidden while a stream is captured.
  if (isRecorded && (!capturing.empty() || isCaptured(launch.stream, launch.perThread))) {
    ++inCapture;
    isRecorded = false;
  }
  function = isRecorded ? images.functionOf(launch.function) : nullptr;
  isRecorded = function && isWanted(function->name) && startFile();
  if (!isRecorded) {
    pthread_mutex_unlock(&lock);
    return false;
  }
  startedAt = now();
  __atomic_store_n(&isRecording, true, __ATOMIC_RELAXED);
  image = images.imageOf(function->owner);
  regions.clear();
  usedTextures.clear();
  arrays.clear();
  usedTensorMaps.clear();
  reachableBytes = 0;
  parameters.clear();
  layout.clear();
  if (!waitForStreams()) {
    problem = "launches before it did not end within the timeout: they wait for the host or for it";
    writeLaunch(launch, 0);
    recordingEnds();
    return false;
  }
  problem = DRIVER(cuCtxSynchronize)() ? "the device has failed before" : nullptr;
  if (!problem)
    problem = readParameters(launch);
  if (!problem && image)
    findVariables(*image);
  if (!problem)
    problem = readReachable();
  if (problem) {
    regions.clear();
    usedTextures.clear();
    arrays.clear();
  }
  return true;
}

void Recorder::end(const Launch &launch, int result) {
  if (!result)
    if (const char *wrong = waitForEnd(launch))
      problem = wrong;
  for (Region &region : regions)
    if (!problem && !result && !readRegion(region, false, region.after))
      problem = "memory cannot be read after the launch";
  if (!problem && !result && !readArrays(false))
    problem = "an array cannot be read after the launch";
  reader.release();
  writeLaunch(launch, result);
  recordingEnds();
}

void Recorder::recordingEnds() {
  seconds += now() - startedAt;
  __atomic_store_n(&isRecording, false, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&lock);
}

// Of either way to pass them; the driver knows the layout.
const char *Recorder::readParameters(const Launch &launch) {
  layout.clear();
  parameters.clear();
  size_t offset = 0, size = 0;
  for (size_t i = 0; i < 8192; ++i) {
    const int status = function->isKernel ? DRIVER(cuKernelGetParamInfo, Handle, size_t, size_t *,
                                                   size_t *)(launch.function, i, &offset, &size)
                                          : DRIVER(cuFuncGetParamInfo, Handle, size_t, size_t *,
                                                   size_t *)(launch.function, i, &offset, &size);
    if (status == kInvalidValue)
      break;
    if (status)
      return "the driver does not tell the layout of the parameters";
    layout.push({offset, size});
    if (parameters.size() < offset + size)
      parameters.resize(offset + size);
  }
  const uint8_t *buffer = nullptr;
  size_t bufferBytes = 0;
  for (void **extra = launch.extra; extra && *extra; extra += 2) {
    if (*extra == reinterpret_cast<void *>(1))
      buffer = static_cast<const uint8_t *>(extra[1]);
    else if (*extra == reinterpret_cast<void *>(2))
      bufferBytes = *static_cast<const size_t *>(extra[1]);
  }
  if (!launch.values && bufferBytes < parameters.size())
    return layout.empty() ? nullptr : "parameters are missing";
  for (size_t i = 0; i < layout.size(); ++i) {
    const void *from = launch.values ? launch.values[i] : buffer + layout[i].offset;
    if (!from)
      return "parameters are missing";
    memcpy(parameters.begin() + layout[i].offset, from, layout[i].size);
  }
  return nullptr;
}

void Recorder::reach(DevicePointer address) {
  const Allocation *found = allocations.find(address);
  if (!found)
    return;
  for (const Region &region : regions)
    if (region.memory.address == found->address)
      return;
  // What a context had went with it, unseen.
  constexpr int kMemoryType = 2;
  unsigned type = 0;
  if (found->kind != MemoryKind::Variable &&
      DRIVER(cuPointerGetAttribute, void *, int, DevicePointer)(&type, kMemoryType,
                                                                found->address)) {
    allocations.remove(found->address);
    return;
  }
  regions.push({*found, {}, {}});
  reachableBytes += found->bytes;
}

// Pointers lie at multiples of eight bytes.
bool Recorder::scan(const uint8_t *bytes, size_t size) {
  const Array<Allocation> &all = allocations.all();
  if (all.empty())
    return true;
  bool isFree = true;
  const DevicePointer lowest = all[0].address;
  const uint64_t span = all[all.size() - 1].address + all[all.size() - 1].bytes - lowest;
  for (size_t i = 0; i + 8 <= size; i += 8) {
    DevicePointer word;
    memcpy(&word, bytes + i, 8);
    if (word - lowest < span) {
      isFree = false;
      reach(word);
    }
  }
  return isFree;
}

const char *Recorder::readReachable() {
  scan(parameters.begin(), parameters.size());
  findTensorMaps(parameters.begin(), parameters.size());
  for (const Allocation &one : allocations.all())
    if (one.kind == MemoryKind::Variable &&
        (one.owner == function->owner || (image && one.owner == image->owner)))
      reach(one.address);
  if (const char *wrong = findTextures())
    return wrong;
  for (size_t i = 0; i < regions.size(); ++i) { // grows
    if (reachableBytes > options.maxBytes)
      return "it reaches more memory than --max-bytes";
    Region region = regions[i];
    if (!readRegion(region, true, region.before))
      return "memory cannot be read before the launch";
    regions[i] = region;
    if (const Snapshot &snapshot = snapshotOf(region.memory); snapshot.copy)
      findTensorMaps(snapshot.copy, region.memory.bytes);
  }
  return readArrays(true) ? nullptr : "an array cannot be read before the launch";
}

// Comparing a page with what it was is several times as fast as its digest, and most pages stay as
// they are. The copies have as many bytes as a launch may reach.
Recorder::Snapshot &Recorder::snapshotOf(const Allocation &memory) {
  for (Snapshot &snapshot : snapshots)
    if (snapshot.address == memory.address && snapshot.bytes == memory.bytes)
      return snapshot;
  if (snapshotBytes + memory.bytes > options.maxBytes) {
    for (Snapshot &snapshot : snapshots) {
      free(snapshot.copy);
      snapshot.pages->~Array();
      free(snapshot.pages);
    }
    snapshots.clear();
    snapshotBytes = 0;
  }
  snapshotBytes += memory.bytes;
  // Without a copy, all pages are new.
  return snapshots.push({memory.address, memory.bytes, static_cast<uint8_t *>(malloc(memory.bytes)),
                         new (malloc(sizeof(Array<Page>))) Array<Page>});
}

const Recorder::Page &Recorder::takePage(Snapshot &snapshot, uint64_t offset, const uint8_t *page,
                                         size_t size, bool isScanned) {
  const size_t index = offset / kPageBytes;
  Array<Page> &pages = *snapshot.pages;
  if (index == pages.size()) // they are read in order
    pages.push({writer.write(RecordType::Page, page, size), 0});
  else if (!snapshot.copy || memcmp(snapshot.copy + offset, page, size) != 0)
    pages[index] = {writer.write(RecordType::Page, page, size), 0};
  else if (!isScanned || pages[index].free == allocations.added())
    return pages[index];
  if (snapshot.copy)
    memcpy(snapshot.copy + offset, page, size);
  if (isScanned && scan(page, size))
    pages[index].free = allocations.added();
  return pages[index];
}

bool Recorder::readRegion(const Region &region, bool isBefore, Digest &map) {
  Array<Digest> digests;
  const Allocation memory = region.memory;
  Snapshot &snapshot = snapshotOf(memory);
  const auto take = [&](const uint8_t *bytes, uint64_t offset, size_t size) {
    for (size_t at = 0; at < size; at += kPageBytes)
      digests.push(takePage(snapshot, offset + at, bytes + at,
                            size - at < kPageBytes ? size - at : kPageBytes, isBefore)
                       .digest);
  };
  const bool isRead = memory.kind == MemoryKind::Host
                          ? reader.readHost(memory.address, memory.bytes, take)
                          : reader.read(memory.address, memory.bytes, take);
  if (!isRead)
    return false;
  map = writer.write(RecordType::Map, digests.begin(), digests.size() * sizeof(Digest));
  return true;
}

// Synchronising would never end if a launch waits for the host, or for the one that comes now.
bool Recorder::waitForStreams() const {
  const double deadline = now() + double(options.timeoutSeconds);
  for (const UsedStream &one : streams)
    while ((one.perThread ? DRIVER(cuStreamQuery_ptsz, Handle)(one.stream)
                          : DRIVER(cuStreamQuery, Handle)(one.stream)) == kNotReady) {
      if (now() > deadline)
        return false;
      const timespec pause{0, 50000};
      nanosleep(&pause, nullptr);
    }
  return true;
}

// Polls: a launch that waits for the host, or for a launch that comes after it, would never end.
const char *Recorder::waitForEnd(const Launch &launch) const {
  const double deadline = now() + double(options.timeoutSeconds);
  for (;;) {
    const int status = launch.perThread ? DRIVER(cuStreamQuery_ptsz, Handle)(launch.stream)
                                        : DRIVER(cuStreamQuery, Handle)(launch.stream);
    if (!status)
      return nullptr;
    if (status != kNotReady)
      return "the launch failed on the device";
    if (now() > deadline)
      return "it did not end alone within the timeout: it waits for the host or for another launch";
    const timespec pause{0, 50000};
    nanosleep(&pause, nullptr);
  }
}

} // namespace rubia::forward
