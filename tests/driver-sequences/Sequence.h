// SPDX-License-Identifier: Apache-2.0
// Short programs that call the driver API and write down what they get: codes, values, data and the
// order of effects. Each runs in a process of its own. A program knows no header of NVIDIA's, so
// the same file records on an NVIDIA GPU and is compared on the emulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sequences {

/// Adds a line to the record.
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);

/// The address of a function of libcuda.so.1; null if there is none.
void *symbol(const char *name);

/// What a function gives that exists nowhere.
inline constexpr int kMissing = -1;

/// Calls a function without a line in the record. The arguments have the parameters' types: nothing
/// is converted.
template <class... Arguments> int quiet(const char *name, Arguments... arguments) {
  void *function = symbol(name);
  return function ? reinterpret_cast<int (*)(Arguments...)>(function)(arguments...) : kMissing;
}

/// Calls a function and writes its name and code down.
template <class... Arguments> int cu(const char *name, Arguments... arguments) {
  int code = quiet(name, arguments...);
  say("%s %d", name, code);
  return code;
}

/// Handles are written by names that the program gives them.
void *named(void *handle, const char *name);
const char *nameOf(const void *handle); // "null", or "?" for one without a name

using Pointer = void *;
inline constexpr Pointer kNone = nullptr;

// Structures of the API, as CUDA lays them out.

struct KernelParameters { // CUDA_KERNEL_NODE_PARAMS_v2; v1 ends before `kernel`
  Pointer function;
  unsigned grid[3], block[3], sharedBytes;
  void **values;
  void **extra;
  Pointer kernel, context;
};
struct FillParameters { // CUDA_MEMSET_NODE_PARAMS
  Pointer to;
  size_t pitch;
  unsigned value, elementBytes;
  size_t width, height;
};
struct HostParameters {
  void (*function)(void *);
  Pointer data;
};
struct CopySide {
  size_t x, y, z, lod;
  int type; // 1 host, 2 device
  Pointer host, device, array, reserved;
  size_t pitch, height;
};
struct CopyParameters { // CUDA_MEMCPY3D
  CopySide from, to;
  size_t width, height, depth;
};
struct AllocationParameters {
  int allocationType, handleTypes, locationType, locationId;
  Pointer security;
  size_t maxSize;
  unsigned char reserved[56];
  const void *access;
  size_t accessCount, bytes;
  Pointer address;
};
struct EdgeData {
  unsigned char fromPort, toPort, type, reserved[5];
};
struct NodeParameters { // CUgraphNodeParams
  int type, reserved0[3];
  union {
    long long words[29];
    KernelParameters kernel;
    struct {
      int flags, reserved;
      Pointer context;
      CopyParameters copy;
    } memcpy;
    struct {
      FillParameters fill;
      Pointer context;
    } memset;
    HostParameters host;
    struct {
      Pointer graph;
      int ownership;
    } child;
    Pointer event;
    AllocationParameters allocation;
    struct {
      uint64_t handle;
      int type;
      unsigned size;
      Pointer *graphs;
      Pointer context;
    } conditional;
  };
  long long reserved2;
};
static_assert(sizeof(NodeParameters) == 256);
struct InstantiateParameters {
  uint64_t flags;
  Pointer stream, errorNode;
  int result;
};
struct UpdateResult {
  int result;
  Pointer errorNode, errorFromNode;
};

// What most programs begin with.

/// A context of a device, two streams and some memory.
struct Plain {
  Pointer context = nullptr, stream = nullptr, other = nullptr;
  Pointer memory = nullptr, memory2 = nullptr; // 64 words each, zero
  int *host = nullptr;                         // 64 words, pinned, zero
  explicit Plain(int device = 0);
};
/// The same with the kernels below.
struct Setup : Plain {
  Pointer module = nullptr;
  Pointer set = nullptr, add = nullptr, copyAdd = nullptr, twice = nullptr;
  explicit Setup(int device = 0);
};

inline Pointer at(Pointer memory, size_t bytes) { return static_cast<char *>(memory) + bytes; }

/// One launch of `add` with one block of 64 threads: memory[i] += value.
int launchAdd(const Setup &s, Pointer stream, Pointer memory, int value);

/// Of graphs: parameters of one launch; they point into what is static here.
KernelParameters addParameters(const Setup &s, Pointer memory, int value);
CopyParameters copyParameters(int toType, Pointer to, int fromType, Pointer from, size_t bytes);
FillParameters fillParameters(Pointer to, unsigned value, unsigned elementBytes, size_t width,
                              size_t height = 1, size_t pitch = 0);

/// Writes down words 0, 1 and 63 of device memory, after all work is done.
void sayMemory(const char *what, Pointer memory);
/// Writes down the nodes of a graph with types, and its edges.
void sayGraph(const char *what, Pointer graph);
void sayCapture(Pointer stream); // its status

Pointer makeGraph();
Pointer instantiate(Pointer graph); // and writes it down
/// The code of a launch whose work begins once it has returned: a fault of the work cannot be the
/// launch's.
int launchFirst(Pointer executable, Pointer stream);

struct Sequence {
  const char *name;
  void (*body)();
};
std::vector<Sequence> &all();
struct Registration {
  Registration(const char *name, void (*body)()) { all().push_back({name, body}); }
};

#define SEQUENCE(Name)                                                                             \
  static void Name();                                                                              \
  static const Registration registrationOf##Name(#Name, Name);                                     \
  static void Name()

} // namespace sequences
