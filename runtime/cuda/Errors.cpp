// SPDX-License-Identifier: Apache-2.0
// Status codes to names and texts.
#include "runtime/cuda/Types.h"

namespace rubia::runtime::cuda {

namespace {
struct Texts {
  const char *name = nullptr, *text = nullptr;
};
} // namespace

static Texts textsOf(Result result) {
  switch (result) { // each name of Types.h has a row
#define CUDA_RESULT(Name, ApiName, Text)                                                           \
  case k##Name:                                                                                    \
    return {#ApiName, Text};
#define CUDA_OTHER_RESULT(Code, ApiName, Text)
#include "runtime/cuda/Errors.def"
#undef CUDA_RESULT
#undef CUDA_OTHER_RESULT
  }
  switch (int(result)) {
#define CUDA_RESULT(Name, ApiName, Text)
#define CUDA_OTHER_RESULT(Code, ApiName, Text)                                                     \
  case Code:                                                                                       \
    return {#ApiName, Text};
#include "runtime/cuda/Errors.def"
  }
  return {};
}

const char *nameOf(Result result) { return textsOf(result).name; }
const char *textOf(Result result) { return textsOf(result).text; }

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuGetErrorName(Result error, const char **name) {
  if (!name)
    return kInvalidValue;
  *name = nameOf(error);
  return *name ? kSuccess : kInvalidValue;
}

Result cuGetErrorString(Result error, const char **text) {
  if (!text)
    return kInvalidValue;
  *text = textOf(error);
  return *text ? kSuccess : kInvalidValue;
}

} // extern "C"
