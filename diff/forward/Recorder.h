// SPDX-License-Identifier: Apache-2.0
// Launches -> records. A launch that is recorded runs alone: the device is idle before its memory
// is read, and again before it is read once more.
#pragma once

#include "diff/forward/Allocations.h"
#include "diff/forward/Calls.h"
#include "diff/forward/CapsuleWriter.h"
#include "diff/forward/DeviceReader.h"
#include "diff/forward/Graphs.h"
#include "diff/forward/Images.h"
#include "diff/forward/Options.h"
#include "diff/forward/TensorMaps.h"
#include "diff/forward/Textures.h"
#include <pthread.h>
#include <unistd.h>

namespace rubia::forward {

struct Launch {
  Handle function;
  unsigned grid[3], block[3];
  unsigned sharedBytes;
  Handle stream;
  void **values, **extra;
  const LaunchAttribute *attributes = nullptr;
  unsigned attributeCount = 0;
  bool isCooperative = false;
  bool perThread = false; // by a function whose default stream is the calling thread's
  struct InGraph {
    uint64_t launch, node; // launches of graphs from 0, nodes in the order in which they ran
  };
  const InGraph *inGraph = nullptr; // a node of a graph that was taken apart
};

/// Whether work is not run now, but goes into a graph.
bool isCaptured(Handle stream, bool perThread);

class Recorder {
public:
  /// Never destroyed: the driver is called after exit handlers have run.
  static Recorder &get();

  Recorder();
  /// At the program's end: writes the last record and says on stderr what was recorded.
  void finish();

  /// `call` is the driver's function with its arguments.
  template <class Call> int launch(const Launch &launch, Call call) {
    if (!begin(launch))
      return call();
    const int result = call();
    end(launch, result);
    return result;
  }
  /// A launch of a graph in which there is a kernel to record is taken apart into its nodes.
  template <class Call>
  int launchGraph(Handle executable, Handle stream, bool perThread, Call call) {
    GraphParts parts;
    return takeApart(executable, stream, perThread, parts) ? launchParts(parts, stream, perThread)
                                                           : call();
  }
  /// Of hooks, which hold the lock.
  void graphMade(Handle executable, Handle graph);
  void kernelOfGraphChanged(GraphNode &node);
  /// `stream` is captured from now on. The lock is held since before the driver was told.
  void captureBegins(Handle stream);
  /// After the driver has ended a capture or refused to.
  void captureEnds(Handle stream, bool perThread);
  void streamDestroyed(Handle stream);

  /// Loads an image: `load` gives what it is told to the driver, and the driver's status back. With
  /// jit-ptx that is PTX for this device, where the program's is for a newer one. `owner`: where
  /// the driver puts the module or library.
  template <class Load> int load(const void *given, Handle *owner, bool isLibrary, Load load) {
    if (char *lowered = loweredFor(given)) {
      if (const int status = load(lowered))
        tellRefused(lowered, status);
      else
        return imageLoaded(*owner, isLibrary, lowered);
    }
    const int status = load(given);
    return status ? status : imageLoaded(*owner, isLibrary, given);
  }
  /// With jit-ptx: whether a file has an image that is for a newer device. It is read into `image`.
  bool isFileForNewer(const char *path, Bytes &image) const;
  /// The driver had no kernel of that name.
  void tellMissing(const char *kernel, int status) const;
  const Options &wanted() const { return options; }

  /// A call has ended that is logged.
  void called(const DriverFunction &function, const CallFrame &frame);
  CallLog calls; // has a lock of its own: it is taken while a launch is recorded

  /// The rest of what hooks know. They hold the lock.
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  Allocations allocations;
  ExecutableGraphs graphs;
  Images images;
  Textures textures;
  TensorMaps tensorMaps;

private:
  struct GraphPart {
    SingleNode single;
    KernelNode kernel; // of a kernel that is known
    Handle clone;
    bool isKernel;
  };
  struct GraphParts {
    Array<GraphPart> nodes;
    uint64_t launch = 0;
  };
  struct Region { // what a launch reaches
    Allocation memory;
    Digest before, after;
  };
  struct Parameter {
    size_t offset, size;
  };
  struct Counter { // launches of a kernel
    const char *name;
    bool isChosen; // by its name
    uint64_t seen, recorded;
  };

  struct Page {
    Digest digest;
    uint64_t free; // Allocations::added() when it had no pointer; 0: it is not known
  };
  struct Snapshot { // what an allocation had when it was last read
    DevicePointer address;
    uint64_t bytes;
    uint8_t *copy;
    Array<Page> *pages; // those that have been read
  };

  char *loweredFor(const void *given) const; // null: the driver is to have what was given
  void tellRefused(const char *text, int status) const;
  int imageLoaded(Handle owner, bool isLibrary, const void *image);

  bool begin(const Launch &launch); // true: it is being recorded, and the lock is held
  void end(const Launch &launch, int result);
  void recordingEnds();
  bool takeApart(Handle executable, Handle stream, bool perThread, GraphParts &parts);
  bool isolateAll(const ExecutableGraph &graph, GraphParts &parts);
  int launchParts(GraphParts &parts, Handle stream, bool perThread);
  void releaseAll(GraphParts &parts);
  size_t counterOf(const char *kernel);
  bool isNext(const Counter &counter) const; // its next launch is to be recorded
  bool isWanted(const char *kernel);
  bool startFile();
  void writeCalls();
  void writeEnvironment();
  const char *readParameters(const Launch &launch);
  void findVariables(LoadedImage &image);
  const char *readReachable();
  const char *findTextures();
  void findTensorMaps(const uint8_t *bytes, size_t size);
  void writeTensorMaps(Text &text) const;
  bool readArrays(bool isBefore);
  void writeTextures(Text &text, bool hasResults) const;
  void reach(DevicePointer address);
  bool scan(const uint8_t *bytes, size_t size); // true: it has no pointer
  bool readRegion(const Region &region, bool isBefore, Digest &map);
  Snapshot &snapshotOf(const Allocation &memory);
  const Page &takePage(Snapshot &snapshot, uint64_t offset, const uint8_t *page, size_t size,
                       bool isScanned);
  const char *waitForEnd(const Launch &launch) const;
  struct UsedStream { // one that has had launches
    Handle stream;
    bool perThread;
  };
  void noteStream(Handle stream, bool perThread);
  bool waitForStreams() const; // false: not within the timeout
  void addClusterOfFunction(Text &text, const Launch &launch) const;
  void writeLaunch(const Launch &launch, int result);

  Options options;
  CapsuleWriter writer;
  pid_t owner;
  bool isActive = false, isStarted = false;
  bool isRecording = false; // a launch; read without the lock
  Array<Handle> capturing;  // streams that are being captured
  Array<UsedStream> streams;
  uint64_t launches = 0, recorded = 0, inCapture = 0, graphLaunches = 0, wholeGraphs = 0;
  const char *wholeProblem = nullptr; // why the last of them could not be taken apart
  double seconds = 0;
  Array<Counter> counters;
  Array<Snapshot> snapshots;
  uint64_t snapshotBytes = 0;

  // Of the launch that is being recorded.
  const KnownFunction *function = nullptr;
  LoadedImage *image = nullptr;
  uint64_t ofKernel = 0;
  Bytes parameters;
  DeviceReader reader;
  Array<Parameter> layout;
  Array<Region> regions;
  Array<RecordedTexture> usedTextures;
  Array<RecordedArray> arrays;
  Array<const EncodedTensorMap *> usedTensorMaps;
  uint64_t reachableBytes = 0;
  const char *problem = nullptr;
  double startedAt = 0;
};

/// Holds the recorder's lock.
class Locked {
public:
  Locked() { pthread_mutex_lock(&Recorder::get().lock); }
  ~Locked() { pthread_mutex_unlock(&Recorder::get().lock); }
  Recorder *operator->() const { return &Recorder::get(); }
};

} // namespace rubia::forward
