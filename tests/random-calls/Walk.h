// SPDX-License-Identifier: Apache-2.0
// A walk: objects that live, what the model knows of them, and the calls of each kind.
#pragma once

#include "tests/random-calls/Driver.h"
#include <algorithm>
#include <memory>
#include <vector>

namespace walks {

struct StreamOf {
  Pointer handle;
  unsigned flags;
};

struct EventOf {
  Pointer handle;
  unsigned flags;
  bool isRecorded = false;
};

/// Device memory, with what it has once all work is done.
struct MemoryOf {
  enum class Kind { Device, Managed, Pooled };
  char *address;
  Kind kind;
  std::vector<uint8_t> bytes;
  /// Work on it may be under way on this stream; kNobody: none is.
  size_t stream;
  bool isUsed = false; // by a graph, as long as the walk goes
};

struct ModuleOf {
  Pointer handle, add, variable;
  int mostShared = 49152; // dynamic, of `add`
};

/// A chain of fills and launches.
struct GraphOf {
  Pointer handle, last = nullptr; // the last node
  size_t nodes = 0;
  struct Step {
    MemoryOf *memory;
    size_t from, count; // words
    uint32_t value;
    bool isFill; // else they are increased by it
  };
  std::vector<Step> steps;
};

class Walk {
public:
  Walk(const World &world, uint64_t seed) : world(world), random(seed) {}
  std::string run(unsigned calls);
  void endShared(Ending &all);
  std::string take() { return std::move(findings); }

private:
  static constexpr size_t kNobody = ~size_t(0), kLegacy = kNobody - 1;

  // ---------- Calls (Walk.cpp)
  /// Calls, and notes an answer that is not as expected.
  template <class... Arguments> int expect(int expected, const char *name, Arguments... arguments) {
    ++made;
    const int code = call(name, arguments...);
    if (code != expected)
      note(name, code, expected);
    return code;
  }
  /// The same where there are several answers.
  template <class... Arguments>
  int expectAny(std::initializer_list<int> expected, const char *name, Arguments... arguments) {
    ++made;
    const int code = call(name, arguments...);
    if (std::find(expected.begin(), expected.end(), code) == expected.end())
      note(name, code, *expected.begin());
    return code;
  }
  /// The same where work may still be under way.
  template <class... Arguments> int expectMaybeReady(const char *name, Arguments... arguments) {
    ++made;
    const int code = call(name, arguments...);
    if (code && code != kNotReady)
      note(name, code, kSuccess);
    return code;
  }
  void note(const char *name, int code, int expected);
  void claim(bool isTrue, const char *what);
  /// An address that is no handle, and was none.
  Pointer wild() { return noHandleMemory.get(); }

  // ---------- Memory (Memory.cpp)
  void allocate();
  void release();
  void fill();
  void copy();
  void copyAsync();
  void allocatePooled();
  void hostMemory();
  void registerHost();
  void askPointers();
  void wrongMemory();
  /// Lets what was begun on the memory come before work on stream `stream` (kNobody: the host).
  void order(MemoryOf &memory, size_t stream);
  void read(MemoryOf &memory);
  MemoryOf *anyMemory(); // null: there is none
  void keep(Pointer address, MemoryOf::Kind kind, size_t size, size_t stream);

  // ---------- Streams and events (Streams.cpp)
  void makeStream();
  void endStream();
  void askStream();
  void makeEvent();
  void endEvent();
  void recordEvent();
  void elapsed();
  void hostFunction();
  void wrongStreams();
  size_t anyStream(); // or kLegacy
  Pointer handleOf(size_t stream) const {
    return stream == kLegacy ? nullptr : streams[stream]->handle;
  }

  // ---------- Kernels, graphs, contexts (Kernels.cpp)
  void loadModule();
  void unloadModule();
  void launch();
  void wrongLaunch();
  void askFunction();
  void useLibrary();
  void makeGraph();
  void addNode();
  void runGraph();
  void endGraph();
  void capture();
  void contexts();
  void devices();
  void limits();
  static Pointer text(); // of a module with `add`
  /// A launch of `add` on words of the memory, in `parameters`.
  void prepare(MemoryOf &memory, size_t from, size_t count, uint32_t value);
  void prepareNothing(); // on none
  static void addTo(MemoryOf &memory, size_t from, size_t count, uint32_t value);
  ModuleOf *anyModule();
  void applyTo(const GraphOf::Step &step);

  // ---------- Others.cpp
  void ownContext();
  void words();
  void ownPool();
  void copyRectangle();
  void fillRectangle();
  void link();
  void shared();

  // ---------- What others end (Ending.cpp)
  void ending();
  template <class Make> Pointer inPlaceOf(Ending::Place &place, const char *end, Make make);
  void launchEnding(Pointer function);
  void endingModule(Ending::Place &place);
  void endingLibrary(Ending::Place &place);
  void endingContext(Ending::Place &place, Pointer library);
  void endingArray(Ending::Place &place);
  void endingPool(Ending::Place &place);

  void endAll();

  const World &world;
  Random random;
  std::unique_ptr<uint64_t[]> noHandleMemory{new uint64_t[512]()};
  unsigned made = 0;
  std::string findings;
  std::vector<std::unique_ptr<StreamOf>> streams; // null: it is no more
  std::vector<EventOf> events;
  std::vector<std::unique_ptr<MemoryOf>> memories; // null: it is no more
  std::vector<ModuleOf> modules;
  std::vector<GraphOf> graphs;
  struct Parameters {
    uint64_t address;
    uint32_t count, value;
    void *values[3];
  } parameters;
};

} // namespace walks
