// SPDX-License-Identifier: Apache-2.0
// Random programs of driver calls, and a model of what CUDA's driver answers. Each walk is a short
// program of one thread with objects of its own: which calls it makes follows from its number. The
// library is opened by path, so that the same program asks an NVIDIA GPU whether the model is
// right.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace walks {

using Pointer = void *;

/// The address of a function of the library; ends the program if there is none.
void *symbol(const char *name);

template <class... Arguments> int call(const char *name, Arguments... arguments) {
  return reinterpret_cast<int (*)(Arguments...)>(symbol(name))(arguments...);
}

// CUresult
enum Code : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kInvalidPtx = 218,
  kInvalidHandle = 400,
  kIllegalState = 401,
  kNotFound = 500,
  kNotReady = 600,
  kAlreadyRegistered = 712,
  kNotRegistered = 713,
  kCaptureUnsupported = 900,
};

/// SplitMix64.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t x = state += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
  }
  /// 0 to `count` - 1.
  size_t below(size_t count) { return size_t(next() % count); }
  bool isOneIn(size_t count) { return below(count) == 0; }
  template <class T> T pick(std::initializer_list<T> all) { return all.begin()[below(all.size())]; }

private:
  uint64_t state;
};

/// Objects that any thread ends, and uses while others end them.
struct Ending {
  using Place = std::atomic<Pointer>; // null: there is none yet
  static constexpr size_t kPlaces = 2;
  Place modules[kPlaces], libraries[kPlaces], contexts[kPlaces], arrays[kPlaces], pools[kPlaces];
};

/// What all walks of a process share.
struct World {
  Pointer context;
  int devices;
  /// No other thread walks: handles and addresses that are gone are nobody else's.
  bool isAlone;
  /// Pointers that are no handles may be passed, which NVIDIA's driver reads, and whatever else it
  /// crashes of or takes seconds for.
  bool passesWildHandles;
  /// All threads use them.
  static constexpr size_t streamCount = 3, eventCount = 3;
  Pointer streams[streamCount], events[eventCount];
  Ending *ending; // null: no thread uses what another one ends
};

/// Walks, and gives what was not as the model says, a line each; empty if all was.
std::string walk(const World &world, uint64_t seed, unsigned calls);

/// Ends what is left of `world.ending`; gives the same.
std::string endShared(const World &world);

} // namespace walks
