// SPDX-License-Identifier: Apache-2.0
// cuLink*: programs that make PTX at run time (Numba, NVRTC users) pass it through the linker
// before they load it. One PTX text needs no linking: the image that comes out is the text. Several
// would have to be linked with each other, and are refused.
#include "fatbin/Container.h"
#include "input/File.h"
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/HandleTable.h"
#include "runtime/cuda/JitOptions.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace rubia::runtime::cuda {

struct LinkState {
  std::string image; // NUL-terminated by being a string
  std::string from;  // the input's name
  JitOptions log;
};

static HandleTable<LinkState> &states = HandleTable<LinkState>::leaked();

// CUjitInputType: 0 cubin, 1 PTX, 2 fatbin, 3 object, 4 library, 5 NVVM.
static constexpr int kPtxInput = 1;

static Result add(LinkState *state, int type, StringRef bytes, StringRef name) {
  auto refuse = [&](Result result, const Twine &why) {
    std::string text = ("cuLink: '" + name + "': " + why).str();
    state->log.writeError(text);
    return fail(result, text);
  };
  if (type == 4 && name.contains("cudadevrt"))
    return kSuccess; // searched for names only: a kernel that needs one says so when it is compiled
  if (type != kPtxInput)
    return refuse(kNotSupported, "only PTX can be linked, not input of type " + Twine(type));
  if (!state->image.empty())
    return refuse(kNotSupported, "linking with '" + state->from + "' is not supported");
  state->image = bytes.rtrim('\0').str();
  state->from = name.str();
  return kSuccess;
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuLinkCreate_v2(unsigned count, int *options, void **values, LinkState **out) {
  return callIn(__func__, [&](Context &) {
    if (!out)
      return kInvalidValue;
    auto *state = new LinkState{{}, {}, {count, options, values}};
    states.add(state);
    *out = state;
    return kSuccess;
  });
}

Result cuLinkAddData_v2(LinkState *state, int type, void *data, size_t size, const char *name,
                        unsigned, int *, void **) {
  return callIn(__func__, [&](Context &) {
    if (!states.contains(state))
      return kInvalidHandle;
    if (!data || !size)
      return kInvalidValue;
    const auto *text = static_cast<const char *>(data);
    // CUDA reads PTX up to its NUL, whatever size it is told.
    return add(state, type, StringRef(text, type == kPtxInput ? strnlen(text, size) : size),
               name ? name : "");
  });
}

Result cuLinkAddFile_v2(LinkState *state, int type, const char *path, unsigned, int *, void **) {
  return callIn(__func__, [&](Context &) {
    if (!states.contains(state))
      return kInvalidHandle;
    if (!path)
      return kInvalidValue;
    auto file = rubia::input::readFile(path, rubia::fatbin::kMaxPayloadBytes);
    if (!file) {
      const std::error_code code = errorToErrorCode(file.takeError());
      const bool isThere = code == std::errc::not_supported || code == std::errc::file_too_large;
      return fail(isThere ? kInvalidImage : kFileNotFound,
                  Twine(path) + ": " +
                      (isThere ? "not a regular file of at most 1 GiB" : code.message()));
    }
    return add(state, type, (*file)->getBuffer(), path);
  });
}

// The image lives as long as the state.
Result cuLinkComplete(LinkState *state, void **image, size_t *size) {
  return callIn(__func__, [&](Context &) {
    if (!states.contains(state))
      return kInvalidHandle;
    if (!image || state->image.empty())
      return kInvalidValue;
    *image = state->image.data();
    if (size)
      *size = state->image.size() + 1;
    state->log.writeInfo("");
    return kSuccess;
  });
}

Result cuLinkDestroy(LinkState *state) {
  return callToRelease(__func__, [&](Context &) {
    if (!states.remove(state))
      return kInvalidHandle;
    delete state;
    return kSuccess;
  });
}

} // extern "C"
