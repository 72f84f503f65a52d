// SPDX-License-Identifier: Apache-2.0
// cuLink*: programs that make PTX at run time (Numba, NVRTC users) pass it through the linker
// before they load it, and cuDNN's engines are linked from several parts. What comes out is a
// bundle of the inputs: the compile worker links them when the image is loaded, and once before,
// when an input is added, to tell what is wrong with it.
#include "fatbin/Container.h"
#include "fatbin/Cubin.h"
#include "fatbin/Embedded.h"
#include "input/File.h"
#include "runtime/compiler/Compiler.h"
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/JitOptions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <chrono>
#include <map>
#include <memory>
#include <mutex>

using namespace llvm;

namespace rubia::runtime::cuda {

// CUjitInputType
enum InputType : int {
  kCubinInput,
  kPtxInput,
  kFatbinInput,
  kObjectInput,
  kLibraryInput,
  kNvvmInput,
  kInputTypeCount
};

struct LinkState {
  struct Part {
    std::string name;
    std::vector<uint8_t> bytes;
    bool isLibrary = false;
  };

  /// Of the program's arrays only the values live as long as the state.
  LinkState(unsigned count, const int *options, void **values, unsigned capability)
      : options(options, options + count), log{count, this->options.data(), values},
        capability(capability) {
    log.keepCapacities();
  }

  std::mutex mutex; // guards what follows: one call at a time
  std::vector<int> options;
  JitOptions log;
  unsigned capability; // as the caller is told
  std::vector<Part> parts;
  Result failed = kSuccess; // of an input that the program is not without
  bool isComplete = false;
  std::vector<uint8_t> image;
};

// A state that is destroyed lives until the calls of other threads on it have returned.
static std::mutex &statesMutex = *new std::mutex;
static auto &states = *new std::map<LinkState *, std::shared_ptr<LinkState>>;

template <class Body> static Result withState(LinkState *handle, Body body) {
  std::shared_ptr<LinkState> state;
  {
    std::lock_guard<std::mutex> lock(statesMutex);
    if (auto found = states.find(handle); found != states.end())
      state = found->second;
  }
  if (!state)
    return kInvalidHandle;
  std::lock_guard<std::mutex> lock(state->mutex);
  return body(*state);
}

// What ptx::LinkError's texts begin with: libcuda knows the worker by its texts alone.
static constexpr StringLiteral kCannotBeLinked = "cannot be linked: ";

static std::vector<uint8_t> bundleOf(LinkState &state, ArrayRef<LinkState::Part> parts) {
  std::vector<fatbin::BundlePart> all;
  all.reserve(parts.size());
  for (const LinkState::Part &part : parts)
    all.push_back({part.name, part.bytes, part.isLibrary, state.log.registerLimit()});
  return fatbin::makeBundle(all);
}

// Inputs are checked with all that came before, so that two definitions of a name are the second
// one's error, as on an H100: up to so many bytes. Beyond, who adds many would wait for each input
// longer than for the one before; such errors come from cuLinkComplete() then.
static constexpr size_t kMaxBytesCheckedTogether = 1 << 20;

static size_t bytesOf(ArrayRef<LinkState::Part> parts) {
  size_t bytes = 0;
  for (const LinkState::Part &part : parts)
    bytes += part.bytes.size();
  return bytes;
}

static Result refuse(LinkState &state, Result result, const Twine &why) {
  std::string text = ("cuLink: " + why).str();
  state.log.writeError(text, result);
  return fail(result, text);
}

// What is wrong with the parts: two definitions of a name cannot be taken back, text that is no PTX
// can be left out.
static Result check(LinkState &state, ArrayRef<LinkState::Part> parts,
                    std::shared_ptr<const Manifest> &manifest) {
  const auto begin = std::chrono::steady_clock::now();
  auto found = Compiler::instance().manifest({bundleOf(state, parts), state.capability});
  const std::chrono::duration<float, std::milli> time = std::chrono::steady_clock::now() - begin;
  state.log.writeTime(time.count());
  if (!found) {
    bool isSystem = false;
    std::string text;
    handleAllErrors(
        found.takeError(),
        [&](const CompilerProblem &problem) {
          isSystem = true;
          text = problem.message;
        },
        [&](const ErrorInfoBase &error) { text = error.message(); });
    if (isSystem)
      return refuse(state, kOperatingSystem, text);
    if (StringRef(text).starts_with(kCannotBeLinked))
      return refuse(state, state.failed = kInvalidSource, text);
    return refuse(state, kInvalidPtx, text);
  }
  manifest = *found;
  if (manifest->invalid.empty())
    return kSuccess;
  return refuse(state, kInvalidPtx, join(manifest->invalid, "\n"));
}

// All of `added`, or none of them.
static Result addParts(LinkState &state, std::vector<LinkState::Part> added) {
  const size_t before = state.parts.size();
  llvm::append_range(state.parts, std::move(added));
  std::shared_ptr<const Manifest> manifest;
  const ArrayRef<LinkState::Part> all = state.parts;
  const bool isTogether = bytesOf(all) <= kMaxBytesCheckedTogether;
  Result result = check(state, isTogether ? all : all.drop_front(before), manifest);
  if (result)
    state.parts.resize(before);
  return result;
}

static Result addImage(LinkState &state, ArrayRef<uint8_t> bytes, StringRef name) {
  Expected<std::vector<fatbin::Image>> images = fatbin::readImages(bytes);
  if (!images)
    return refuse(state, state.failed = kInvalidImage,
                  "'" + name + "': " + toString(images.takeError()));
  if (!fatbin::selectPtx(*images, state.capability))
    return refuse(state, state.failed = kNoBinaryForGpu,
                  "'" + name + "': " + fatbin::describe(*images));
  return addParts(state, {{name.str(), bytes.vec()}});
}

// An object file or an archive. Of the latter only what is needed is linked. A container without
// PTX is what nvcc writes beside the kernels.
static Result addFile(LinkState &state, ArrayRef<uint8_t> bytes, StringRef name, bool isLibrary) {
  std::vector<LinkState::Part> added;
  std::string others; // what was found instead
  for (ArrayRef<uint8_t> container : fatbin::embeddedContainers(bytes)) {
    Expected<std::vector<fatbin::Image>> images = fatbin::readImages(container);
    if (!images)
      return refuse(state, state.failed = kInvalidImage,
                    "'" + name + "': " + toString(images.takeError()));
    if (fatbin::selectPtx(*images, state.capability))
      added.push_back({name.str(), container.vec(), isLibrary});
    else if (!images->empty())
      others = fatbin::describe(*images);
  }
  if (!added.empty())
    return addParts(state, std::move(added));
  if (!others.empty())
    return refuse(state, state.failed = kNoBinaryForGpu, "'" + name + "': " + others);
  const StringRef text = toStringRef(bytes);
  if (text.starts_with("!<arch>\n") || text.starts_with("\x7f"
                                                        "ELF"))
    return kSuccess; // of the host
  return refuse(state, state.failed = kInvalidImage, "'" + name + "': no object file or archive");
}

static Result add(LinkState &state, int type, StringRef text, StringRef name) {
  if (state.isComplete)
    return kInvalidValue;
  ArrayRef<uint8_t> bytes = arrayRefFromStringRef(text);
  const bool isText = fatbin::startsWithPtx(bytes);
  switch (InputType(type)) {
  case kPtxInput:
    return addImage(state, arrayRefFromStringRef(text.rtrim('\0')), name);
  case kFatbinInput:
  case kObjectInput:
  case kLibraryInput:
    if (isText)
      return addImage(state, arrayRefFromStringRef(text.rtrim('\0')), name);
    return type == kFatbinInput || fatbin::startsWithContainer(bytes)
               ? addImage(state, bytes, name)
               : addFile(state, bytes, name, type == kLibraryInput);
  case kCubinInput:
    if (fatbin::ptxInCubin(bytes))
      return addImage(state, bytes, name);
    return refuse(state, state.failed = kInvalidImage,
                  "'" + name + "': code for NVIDIA's GPUs (SASS) cannot be linked, PTX is needed");
  case kNvvmInput:
    return refuse(state, state.failed = kNotSupported,
                  "'" + name + "': LTO-IR is linked by NVIDIA's nvJitLink only");
  case kInputTypeCount:
    break;
  }
  return kInvalidValue;
}

static Result complete(LinkState &state, void **image, size_t *size) {
  if (state.failed)
    return state.failed;
  std::shared_ptr<const Manifest> manifest;
  if (Result result = check(state, state.parts, manifest))
    return result;
  if (!manifest->unresolved.empty())
    return refuse(state, kInvalidSource,
                  "unresolved external symbols: " + join(manifest->unresolved, ", "));
  state.image = bundleOf(state, state.parts);
  state.isComplete = true;
  *image = state.image.data();
  if (size)
    *size = state.image.size();
  state.log.writeInfo(join(manifest->diagnostics, "\n"));
  return kSuccess;
}

static Result create(const TracedCall &entry, unsigned count, int *options, void **values,
                     LinkState **out, const void *caller) {
  return callIn(entry, [&](Context &) {
    if (!out || !JitOptions{count, options, values}.areValid())
      return kInvalidValue;
    auto state = std::make_shared<LinkState>(count, options, values, capabilityFor(caller));
    std::lock_guard<std::mutex> lock(statesMutex);
    *out = state.get();
    states[*out] = std::move(state);
    return kSuccess;
  });
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuLinkCreate_v2(unsigned count, int *options, void **values, LinkState **out) {
  return create(RUBIA_CALL(count, options, values, out), count, options, values, out,
                __builtin_return_address(0));
}
Result cuLinkCreate(unsigned count, int *options, void **values, LinkState **out) {
  return create(RUBIA_CALL(count, options, values, out), count, options, values, out,
                __builtin_return_address(0));
}

Result cuLinkAddData_v2(LinkState *state, int type, void *data, size_t size, const char *name,
                        unsigned count, int *options, void **values) {
  return callIn(RUBIA_CALL(state, type, data, size, name, count, options, values), [&](Context &) {
    return withState(state, [&](LinkState &state) {
      if (!data || !size || !JitOptions{count, options, values}.areValid())
        return kInvalidValue;
      const auto *text = static_cast<const char *>(data);
      // CUDA reads PTX up to its NUL, whatever size it is told.
      return add(state, type, StringRef(text, type == kPtxInput ? strnlen(text, size) : size),
                 name ? name : "");
    });
  });
}
Result cuLinkAddData(LinkState *state, int type, void *data, size_t size, const char *name,
                     unsigned count, int *options, void **values) {
  return cuLinkAddData_v2(state, type, data, size, name, count, options, values);
}

Result cuLinkAddFile_v2(LinkState *state, int type, const char *path, unsigned count, int *options,
                        void **values) {
  return callIn(RUBIA_CALL(state, type, path, count, options, values), [&](Context &) {
    return withState(state, [&](LinkState &state) {
      if (!path || !JitOptions{count, options, values}.areValid())
        return kInvalidValue;
      auto file = rubia::input::readFile(path, rubia::fatbin::kMaxPayloadBytes);
      if (!file) {
        const std::error_code code = errorToErrorCode(file.takeError());
        const bool isThere = code == std::errc::not_supported || code == std::errc::file_too_large;
        return fail(isThere ? kInvalidImage : kInvalidValue,
                    Twine(path) + ": " +
                        (isThere ? "not a regular file of at most 1 GiB" : code.message()));
      }
      return add(state, type, (*file)->getBuffer(), path);
    });
  });
}
Result cuLinkAddFile(LinkState *state, int type, const char *path, unsigned count, int *options,
                     void **values) {
  return cuLinkAddFile_v2(state, type, path, count, options, values);
}

// The image lives as long as the state.
Result cuLinkComplete(LinkState *state, void **image, size_t *size) {
  return callIn(RUBIA_CALL(state, image, size), [&](Context &) {
    return withState(state, [&](LinkState &state) {
      if (state.isComplete)
        return kInvalidHandle;
      return image ? complete(state, image, size) : kInvalidValue;
    });
  });
}

Result cuLinkDestroy(LinkState *state) {
  return callToRelease(RUBIA_CALL(state), [&](Context &) {
    std::lock_guard<std::mutex> lock(statesMutex);
    return states.erase(state) ? kSuccess : kInvalidHandle;
  });
}

} // extern "C"
