// SPDX-License-Identifier: Apache-2.0
// Copies and fills. A copy on the legacy default stream is HIP's synchronous one; on any other it
// is an asynchronous one, which a synchronous entry point waits for.
#include "runtime/cuda/Context.h"
#include "runtime/cuda/Memory.h"
#include "runtime/cuda/graph/Capture.h"
#include "runtime/cuda/memory/PeerAccess.h"
#include "runtime/cuda/texture/Arrays.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace rubia::runtime {
int hipMemcpy(void *to, const void *from, size_t bytes, int kind);
int hipMemsetD8Async(void *to, unsigned char value, size_t count, void *stream);
int hipMemsetD16Async(void *to, unsigned short value, size_t count, void *stream);
int hipMemsetD32Async(void *to, int value, size_t count, void *stream);
int hipMemcpy2DAsync(void *to, size_t toPitch, const void *from, size_t fromPitch, size_t width,
                     size_t height, int kind, void *stream);
} // namespace rubia::runtime

namespace rubia::runtime::cuda {

CopyOperation copyOf(void *to, const void *from, size_t bytes, int kind) {
  CopyOperation operation{{}, kind};
  auto side = [](CopySide3D &side, void *pointer, bool isHost) {
    side.type = isHost ? kMemoryHost : kMemoryDevice;
    (isHost ? side.host : side.device) = pointer;
  };
  Copy3D &copy = operation.copy;
  side(copy.to, to, kind == kHipMemcpyDeviceToHost || kind == kHipMemcpyHostToHost);
  side(copy.from, const_cast<void *>(from),
       kind == kHipMemcpyHostToDevice || kind == kHipMemcpyHostToHost);
  if (kind == kHipMemcpyDefault)
    copy.to.type = copy.from.type = kMemoryUnified;
  copy.widthInBytes = bytes;
  copy.height = copy.depth = 1;
  return operation;
}

static Result checkBoth(Context &context, const void *to, const void *from) {
  const Result result = checkCopied(context, to);
  return result ? result : checkCopied(context, from);
}

Result copySync(const TracedCall &entry, void *to, const void *from, size_t bytes, int kind,
                Stream *stream, bool isChecked) {
  return callIn(entry, [&](Context &context) {
    return onStream(context, stream, [&](Context &context, void *hipStream) -> Result {
      if (!bytes)
        return kSuccess;
      if (isCaptured(hipStream))
        return refuseCapture(hipStream);
      if (Result result = checkLegacyStream(context, hipStream))
        return result;
      if (Result result = isChecked ? kSuccess : checkBoth(context, to, from))
        return result;
      if (!hipStream)
        return context.checkSynchronized(hip().call<hipMemcpy>(to, from, bytes, kind));
      if (Result result =
              context.check(hip().call<hipMemcpyAsync>(to, from, bytes, kind, hipStream)))
        return result;
      return context.synchronizeStream(hipStream);
    });
  });
}

// Managed memory and variables of modules are the device's too.
static bool isOfTheHost(Context &context, const void *pointer) {
  std::optional<Allocation> found = lookUp(context, pointer);
  return !found || found->kind == AllocationKind::Host || found->kind == AllocationKind::Registered;
}

// A copy from the host's memory to the host's own is done when its call returns, pinned or not.
static Result finishWithinHost(Context &context, const void *to, const void *from,
                               void *hipStream) {
  return !isCaptured(hipStream) && isOfTheHost(context, to) && isOfTheHost(context, from)
             ? context.synchronizeStream(hipStream)
             : kSuccess;
}

Result copyAsync(const TracedCall &entry, void *to, const void *from, size_t bytes, int kind,
                 Stream *stream, bool isChecked) {
  return callOn(entry, stream, [&](Context &context) {
    return onStream(context, stream, [&](Context &context, void *hipStream) -> Result {
      if (!bytes)
        return kSuccess;
      if (Result result = isChecked ? kSuccess : checkBoth(context, to, from))
        return result;
      if (Result result = submit(context, copyOf(to, from, bytes, kind), stream, hipStream))
        return result;
      return finishWithinHost(context, to, from, hipStream);
    });
  });
}

// One side of a strided copy, its handle resolved. In an array rows lie in columns of
// abi::kColumnBytes (lowering/Texture.h).
struct Side {
  char *base;          // of an array: of its first slice
  size_t pitch, slice; // bytes between rows, between slices
  size_t x = 0;        // bytes, in an array
  size_t column = 0;   // bytes between columns of an array that has several
  bool isArray = false;

  char *at(size_t byte, size_t z) const {
    const size_t place = x + byte;
    const size_t inRow =
        column ? place / abi::kColumnBytes * column + place % abi::kColumnBytes : place;
    return base + z * slice + inRow;
  }
  // How many bytes of a row follow each other from this one on.
  size_t run(size_t byte, size_t most) const {
    return column ? std::min<size_t>(most, abi::kColumnBytes - (x + byte) % abi::kColumnBytes)
                  : most;
  }
};

// Adds count * size; false if the sum does not fit.
static bool addTimes(size_t &sum, size_t count, size_t size) {
  size_t product;
  return !__builtin_mul_overflow(count, size, &product) &&
         !__builtin_add_overflow(sum, product, &sum);
}

static Result resolveArray(const CopySide3D &in, size_t width, size_t height, size_t depth,
                           Side &out) {
  auto *array = static_cast<Array *>(in.array);
  if (!array)
    return kInvalidValue;
  if (!isLive(array))
    return kInvalidHandle;
  const abi::TexelGrid &grid = array->grid;
  auto isInside = [](size_t start, size_t count, size_t size) {
    return start <= size && count <= size - start;
  };
  if (in.lod || !isInside(in.xInBytes, width, array->rowBytes()) ||
      !isInside(in.y, height, grid.height) || !isInside(in.z, depth, grid.slices))
    return fail(kInvalidValue, "copy: it does not lie within the array");
  out.isArray = true;
  out.base = reinterpret_cast<char *>(grid.base) + in.z * grid.slicePitch + in.y * grid.rowPitch;
  out.x = in.xInBytes;
  out.pitch = grid.rowPitch;
  out.slice = grid.slicePitch;
  out.column = grid.columnPitch == abi::kColumnBytes ? 0 : grid.columnPitch;
  return kSuccess;
}

static Result resolve(const CopySide3D &in, size_t width, size_t height, size_t depth, Side &out) {
  switch (in.type) {
  case kMemoryHost:
    out.base = static_cast<char *>(in.host);
    break;
  case kMemoryDevice:
  case kMemoryUnified:
    out.base = static_cast<char *>(in.device);
    break;
  case kMemoryArray:
    return resolveArray(in, width, height, depth, out);
  default:
    return kInvalidValue;
  }
  // Without a pitch a row ends with what is copied of it, and so does a slice (an H200).
  size_t rows = in.height;
  if (!rows && __builtin_add_overflow(in.y, height, &rows))
    return kInvalidValue;
  if (__builtin_add_overflow(in.xInBytes, width, &out.pitch))
    return kInvalidValue;
  if (in.pitch)
    out.pitch = in.pitch;
  size_t offset = in.xInBytes;
  // Rows lie within a pitch (an H100), which need not be the first: Dr.Jit copies into parts of a
  // buffer so.
  if (out.pitch < width || (in.pitch && in.xInBytes % in.pitch > in.pitch - width) ||
      rows < height || __builtin_mul_overflow(out.pitch, rows, &out.slice) ||
      !addTimes(offset, in.z, out.slice) || !addTimes(offset, in.y, out.pitch))
    return kInvalidValue;
  size_t end = offset; // that all of the copy can be addressed
  if (width && height && depth &&
      (!addTimes(end, depth - 1, out.slice) || !addTimes(end, height - 1, out.pitch) ||
       !addTimes(end, 1, width)))
    return kInvalidValue;
  out.base += offset;
  return out.base ? kSuccess : kInvalidValue;
}

static Result copyRows(Context &context, char *to, size_t toPitch, const char *from,
                       size_t fromPitch, size_t width, size_t rows, int kind, void *hipStream) {
  if (rows > 1 && hip().has<hipMemcpy2DAsync>())
    return context.check(
        hip().call<hipMemcpy2DAsync>(to, toPitch, from, fromPitch, width, rows, kind, hipStream));
  for (size_t y = 0; y < rows; ++y)
    if (Result result = context.check(hip().call<hipMemcpyAsync>(
            to + y * toPitch, from + y * fromPitch, width, kind, hipStream)))
      return result;
  return kSuccess;
}

// Both sides of a copy. Nothing is copied if an extent is 0.
static Result resolve(const Copy3D &copy, Side &from, Side &to) {
  size_t width = copy.widthInBytes, height = copy.height, depth = copy.depth;
  if (Result result = resolve(copy.from, width, height, depth, from))
    return result;
  return resolve(copy.to, width, height, depth, to);
}

CopyOperation copyOf(const Copy3D &copy) {
  const bool isHost = copy.from.type == kMemoryHost && copy.to.type == kMemoryHost;
  return {copy, isHost ? kHipMemcpyHostToHost : kHipMemcpyDefault};
}

// Piece by piece of what follows itself in the rows of both sides.
static Result copyWithArrays(Context &context, const Copy3D &copy, const Side &from, const Side &to,
                             void *hipStream) {
  for (size_t z = 0; z < copy.depth; ++z)
    for (size_t x = 0; x < copy.widthInBytes;) {
      const size_t bytes = from.run(x, to.run(x, copy.widthInBytes - x));
      if (Result result = copyRows(context, to.at(x, z), to.pitch, from.at(x, z), from.pitch, bytes,
                                   copy.height, kHipMemcpyDefault, hipStream))
        return result;
      x += bytes;
    }
  return kSuccess;
}

Result executeCopy(Context &context, const CopyOperation &operation, void *hipStream) {
  const Copy3D &copy = operation.copy;
  size_t width = copy.widthInBytes, height = copy.height, depth = copy.depth;
  Side from, to;
  auto isPlain = [](const CopySide3D &side) {
    return side.type != kMemoryArray && !side.pitch && !side.y && !side.z;
  };
  if (height == 1 && depth == 1 && isPlain(copy.from) && isPlain(copy.to)) {
    auto place = [](const CopySide3D &side) {
      return static_cast<char *>(side.type == kMemoryHost ? side.host : side.device) +
             side.xInBytes;
    };
    return context.check(hip().call<hipMemcpyAsync>(place(copy.to), place(copy.from), width,
                                                    operation.kind, hipStream));
  }
  if (Result result = resolve(copy, from, to))
    return result;
  if (from.isArray || to.isArray)
    return copyWithArrays(context, copy, from, to, hipStream);
  // Runs of rows without gaps are one copy.
  size_t run = width, rows = height, slices = depth;
  if (to.pitch == width && from.pitch == width) {
    run = width * height;
    rows = 1;
    if (to.slice == run && from.slice == run) {
      run *= depth;
      slices = 1;
    }
  }
  for (size_t z = 0; z < slices; ++z)
    if (Result result =
            copyRows(context, to.base + z * to.slice, to.pitch, from.base + z * from.slice,
                     from.pitch, run, rows, operation.kind, hipStream))
      return result;
  return kSuccess;
}

// Whether the bytes of one side are memory of its type.
static bool isInside(Context &context, const CopySide3D &side, const Side &resolved, size_t width,
                     size_t height, size_t depth) {
  if (resolved.isArray)
    return true;
  size_t bytes = (depth - 1) * resolved.slice + (height - 1) * resolved.pitch + width;
  std::optional<Allocation> found = lookUp(context, resolved.base);
  if (!found)
    return side.type != kMemoryDevice;
  return bytes <= bytesFrom(*found, resolved.base);
}

Result checkCopy(Context &context, const CopyOperation &operation) {
  const Copy3D &copy = operation.copy;
  size_t width = copy.widthInBytes, height = copy.height, depth = copy.depth;
  if (!width || !height || !depth)
    return kInvalidValue;
  Side from, to;
  if (Result result = resolve(copy, from, to))
    return result;
  return isInside(context, copy.from, from, width, height, depth) &&
                 isInside(context, copy.to, to, width, height, depth)
             ? kSuccess
             : kInvalidValue;
}

Result copy3D(const TracedCall &entry, const Copy3D *copy, Stream *stream, bool async,
              bool isBetweenContexts) {
  return callOn(entry, stream, [&](Context &context) -> Result {
    if (!copy)
      return kInvalidValue;
    const size_t width = copy->widthInBytes, height = copy->height, depth = copy->depth;
    if (!width || !height || !depth)
      return kSuccess;
    Side from, to;
    if (Result result = resolve(*copy, from, to))
      return result;
    // Before any of it is copied.
    if (!isInside(context, copy->from, from, width, height, depth) ||
        !isInside(context, copy->to, to, width, height, depth))
      return kInvalidValue;
    return onStream(context, stream, [&](Context &context, void *hipStream) -> Result {
      if (!async && isCaptured(hipStream))
        return refuseCapture(hipStream);
      if (Result result = checkCopied(context, *copy, isBetweenContexts))
        return result;
      if (Result result = submit(context, copyOf(*copy), stream, hipStream))
        return result;
      if (!async)
        return context.synchronizeStream(hipStream);
      return from.isArray || to.isArray ? kSuccess
                                        : finishWithinHost(context, to.base, from.base, hipStream);
    });
  });
}

Result copy2D(const TracedCall &entry, const Copy2D *copy, Stream *stream, bool async) {
  if (!copy)
    return copy3D(entry, nullptr, stream, async);
  auto side = [](const CopySide2D &s) {
    return CopySide3D{s.xInBytes, s.y,     0,       0,       s.type, s.host,
                      s.device,   s.array, nullptr, s.pitch, 0};
  };
  Copy3D wide{side(copy->from), side(copy->to), copy->widthInBytes, copy->height, 1};
  return copy3D(entry, &wide, stream, async);
}

// The driver gives back a fill of memory that the host can see only when it is done: the program
// may read it at once. What is not known here is a variable of a module, perhaps a managed one.
static bool isSeenByHost(const void *pointer) {
  std::optional<Allocation> found = findAllocation(pointer);
  return !found || (found->kind != AllocationKind::Device && found->kind != AllocationKind::Pool &&
                    found->kind != AllocationKind::Graph &&
                    (found->kind != AllocationKind::Mapped || found->isOnHost));
}

// What an empty fill leaves out.
static Result checkRows(const FillNodeParameters &fill) {
  if (reinterpret_cast<uintptr_t>(fill.to) % fill.elementBytes || fill.pitch % fill.elementBytes)
    return kInvalidValue;
  if (!fill.width || !fill.height)
    return kSuccess;
  size_t rowBytes = 0, bytes = 0;
  if (!addTimes(rowBytes, fill.width, fill.elementBytes) ||
      !addTimes(bytes, fill.height - 1, fill.pitch) || !addTimes(bytes, 1, rowBytes) ||
      (fill.height > 1 && fill.pitch < rowBytes))
    return kInvalidValue;
  return kSuccess;
}

Result checkFill(Context &context, const FillNodeParameters &fill) {
  if ((fill.elementBytes != 1 && fill.elementBytes != 2 && fill.elementBytes != 4) || !fill.width ||
      !fill.height)
    return kInvalidValue;
  if (Result result = checkRows(fill))
    return result;
  std::optional<Allocation> found = lookUp(context, fill.to);
  const size_t bytes = (fill.height - 1) * fill.pitch + fill.width * fill.elementBytes;
  return found && bytes <= bytesFrom(*found, fill.to) ? kSuccess : kInvalidValue;
}

Result executeFill(Context &context, const FillOperation &operation, void *hipStream) {
  const FillNodeParameters &fill = operation.fill;
  size_t width = fill.width, height = fill.height;
  if (fill.pitch == width * fill.elementBytes) {
    width *= height;
    height = 1;
  }
  auto fillRow = [&](void *row) {
    switch (fill.elementBytes) {
    case 1:
      return hip().call<hipMemsetD8Async>(row, fill.value, width, hipStream);
    case 2:
      return hip().call<hipMemsetD16Async>(row, fill.value, width, hipStream);
    default:
      return hip().call<hipMemsetD32Async>(row, int(fill.value), width, hipStream);
    }
  };
  for (size_t y = 0; y < height; ++y)
    if (Result result = context.check(fillRow(static_cast<char *>(fill.to) + y * fill.pitch)))
      return result;
  return kSuccess;
}

Result fill(const TracedCall &entry, void *to, size_t pitch, unsigned value, unsigned elementBytes,
            size_t width, size_t height, Stream *stream, bool async) {
  return callOn(entry, stream, [&](Context &context) -> Result {
    const FillNodeParameters fill{to, pitch, value, elementBytes, width, height};
    if (!width || !height) // whatever the address and the pitch
      return kSuccess;
    if (Result result = checkRows(fill))
      return result;
    return onStream(context, stream, [&](Context &context, void *hipStream) -> Result {
      if (!async && isCaptured(hipStream))
        return refuseCapture(hipStream);
      if (Result result = checkAccess(context, to))
        return result;
      if (Result result = submit(context, FillOperation{fill}, stream, hipStream))
        return result;
      return async || !isSeenByHost(to) ? kSuccess : context.synchronizeStream(hipStream);
    });
  });
}

// Whether both sides of a copy between contexts are memory that CUDA knows and the contexts reach.
static Result checkPeers(Context &current, const void *to, Context *toContext, const void *from,
                         Context *fromContext, size_t bytes) {
  if ((toContext && !isContext(toContext)) || (fromContext && !isContext(fromContext)))
    return kInvalidContext;
  auto isKnown = [&](Context *owner, const void *side) {
    Context &context = owner ? *contextNamed(owner) : current;
    std::optional<Allocation> found = lookUp(context, side);
    return found && bytes <= found->size - (static_cast<const char *>(side) - found->base) &&
           !checkCopied(context, side);
  };
  return !bytes || (isKnown(toContext, to) && isKnown(fromContext, from)) ? kSuccess
                                                                          : kInvalidValue;
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuMemcpyHtoD_v2(void *to, const void *from, size_t bytes) {
  return copySync(RUBIA_CALL(to, from, bytes), to, from, bytes, kHipMemcpyHostToDevice, nullptr);
}
Result cuMemcpyDtoH_v2(void *to, void *from, size_t bytes) {
  return copySync(RUBIA_CALL(to, from, bytes), to, from, bytes, kHipMemcpyDeviceToHost, nullptr);
}
Result cuMemcpyDtoD_v2(void *to, void *from, size_t bytes) {
  return copySync(RUBIA_CALL(to, from, bytes), to, from, bytes, kHipMemcpyDeviceToDevice, nullptr);
}
Result cuMemcpy(void *to, void *from, size_t bytes) {
  return copySync(RUBIA_CALL(to, from, bytes), to, from, bytes, kHipMemcpyDefault, nullptr);
}
// Unlike other copies, one between contexts takes no memory of the host that CUDA does not know:
// HIP would read what it takes for the host's. A null context is the current one.
Result cuMemcpyPeer(void *to, Context *toContext, void *from, Context *fromContext, size_t bytes) {
  return callIn(RUBIA_CALL(to, toContext, from, fromContext, bytes),
                [&, name = RUBIA_CALL(to, toContext, from, fromContext, bytes)](Context &context) {
                  Result result = checkPeers(context, to, toContext, from, fromContext, bytes);
                  return result ? result
                                : copySync(name, to, from, bytes, kHipMemcpyDefault, nullptr, true);
                });
}
Result cuMemcpyPeerAsync(void *to, Context *toContext, void *from, Context *fromContext,
                         size_t bytes, Stream *stream) {
  return callIn(
      RUBIA_CALL(to, toContext, from, fromContext, bytes, stream),
      [&, name = RUBIA_CALL(to, toContext, from, fromContext, bytes, stream)](Context &context) {
        const HipStream found = hipStream(context, stream);
        if (!found.error && isCaptured(found.stream)) // unlike other copies, whatever it is
          return refuseCapture(found.stream);
        if (Result result = checkPeers(context, to, toContext, from, fromContext, bytes))
          return result;
        return copyAsync(name, to, from, bytes, kHipMemcpyDefault, stream, true);
      });
}

Result cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t bytes, Stream *stream) {
  return copyAsync(RUBIA_CALL(to, from, bytes, stream), to, from, bytes, kHipMemcpyHostToDevice,
                   stream);
}
Result cuMemcpyDtoHAsync_v2(void *to, void *from, size_t bytes, Stream *stream) {
  return copyAsync(RUBIA_CALL(to, from, bytes, stream), to, from, bytes, kHipMemcpyDeviceToHost,
                   stream);
}
Result cuMemcpyDtoDAsync_v2(void *to, void *from, size_t bytes, Stream *stream) {
  return copyAsync(RUBIA_CALL(to, from, bytes, stream), to, from, bytes, kHipMemcpyDeviceToDevice,
                   stream);
}
Result cuMemcpyAsync(void *to, void *from, size_t bytes, Stream *stream) {
  return copyAsync(RUBIA_CALL(to, from, bytes, stream), to, from, bytes, kHipMemcpyDefault, stream);
}
Result cuMemcpy2D_v2(const Copy2D *copy) { return copy2D(RUBIA_CALL(copy), copy, nullptr, false); }
Result cuMemcpy2DUnaligned_v2(const Copy2D *copy) {
  return copy2D(RUBIA_CALL(copy), copy, nullptr, false);
}
Result cuMemcpy2DAsync_v2(const Copy2D *copy, Stream *stream) {
  return copy2D(RUBIA_CALL(copy, stream), copy, stream, true);
}
Result cuMemcpy3D_v2(const Copy3D *copy) { return copy3D(RUBIA_CALL(copy), copy, nullptr, false); }
Result cuMemcpy3DAsync_v2(const Copy3D *copy, Stream *stream) {
  return copy3D(RUBIA_CALL(copy, stream), copy, stream, true);
}

Result cuMemsetD8_v2(void *to, unsigned char value, size_t count) {
  return fill(RUBIA_CALL(to, value, count), to, 0, value, 1, count, 1, nullptr, false);
}
Result cuMemsetD16_v2(void *to, unsigned short value, size_t count) {
  return fill(RUBIA_CALL(to, value, count), to, 0, value, 2, count, 1, nullptr, false);
}
Result cuMemsetD32_v2(void *to, unsigned value, size_t count) {
  return fill(RUBIA_CALL(to, value, count), to, 0, value, 4, count, 1, nullptr, false);
}
Result cuMemsetD8Async(void *to, unsigned char value, size_t count, Stream *stream) {
  return fill(RUBIA_CALL(to, value, count, stream), to, 0, value, 1, count, 1, stream, true);
}
Result cuMemsetD16Async(void *to, unsigned short value, size_t count, Stream *stream) {
  return fill(RUBIA_CALL(to, value, count, stream), to, 0, value, 2, count, 1, stream, true);
}
Result cuMemsetD32Async(void *to, unsigned value, size_t count, Stream *stream) {
  return fill(RUBIA_CALL(to, value, count, stream), to, 0, value, 4, count, 1, stream, true);
}
Result cuMemsetD2D8_v2(void *to, size_t pitch, unsigned char value, size_t width, size_t height) {
  return fill(RUBIA_CALL(to, pitch, value, width, height), to, pitch, value, 1, width, height,
              nullptr, false);
}
Result cuMemsetD2D16_v2(void *to, size_t pitch, unsigned short value, size_t width, size_t height) {
  return fill(RUBIA_CALL(to, pitch, value, width, height), to, pitch, value, 2, width, height,
              nullptr, false);
}
Result cuMemsetD2D32_v2(void *to, size_t pitch, unsigned value, size_t width, size_t height) {
  return fill(RUBIA_CALL(to, pitch, value, width, height), to, pitch, value, 4, width, height,
              nullptr, false);
}
Result cuMemsetD2D8Async(void *to, size_t pitch, unsigned char value, size_t width, size_t height,
                         Stream *stream) {
  return fill(RUBIA_CALL(to, pitch, value, width, height, stream), to, pitch, value, 1, width,
              height, stream, true);
}
Result cuMemsetD2D16Async(void *to, size_t pitch, unsigned short value, size_t width, size_t height,
                          Stream *stream) {
  return fill(RUBIA_CALL(to, pitch, value, width, height, stream), to, pitch, value, 2, width,
              height, stream, true);
}
Result cuMemsetD2D32Async(void *to, size_t pitch, unsigned value, size_t width, size_t height,
                          Stream *stream) {
  return fill(RUBIA_CALL(to, pitch, value, width, height, stream), to, pitch, value, 4, width,
              height, stream, true);
}

// The contexts lie where other copies have what is reserved. A null one is the current one.
static Result checkPeers(const Copy3D *copy) {
  auto isWrong = [](const CopySide3D &side) {
    return side.reserved && !isContext(static_cast<Context *>(side.reserved));
  };
  return copy && (isWrong(copy->from) || isWrong(copy->to)) ? kInvalidContext : kSuccess;
}
static Result copyPeers(const TracedCall &entry, const Copy3D *copy, Stream *stream, bool async) {
  return callIn(entry, [&](Context &) {
    Result result = checkPeers(copy);
    return result ? result : copy3D(entry, copy, stream, async, true);
  });
}
Result cuMemcpy3DPeer(const Copy3D *copy) {
  return copyPeers(RUBIA_CALL(copy), copy, nullptr, false);
}
Result cuMemcpy3DPeerAsync(const Copy3D *copy, Stream *stream) {
  return copyPeers(RUBIA_CALL(copy, stream), copy, stream, true);
}
Result cuMemcpy3DPeer_ptds(const Copy3D *copy) {
  return copyPeers(RUBIA_CALL(copy), copy, kPerThreadStream, false);
}
Result cuMemcpy3DPeerAsync_ptsz(const Copy3D *copy, Stream *stream) {
  return copyPeers(RUBIA_CALL(copy, stream), copy, stream ? stream : kPerThreadStream, true);
}

} // extern "C"
