// SPDX-License-Identifier: Apache-2.0
// Status codes to names and texts.
#include "runtime/cuda/Types.h"

namespace rubia::runtime::cuda {

const char *nameOf(Result result) {
  switch (result) {
#define CUDA_RESULT(Name, Code, ApiName, Text)                                                     \
  case k##Name:                                                                                    \
    return #ApiName;
#include "runtime/cuda/Errors.def"
#undef CUDA_RESULT
  }
  return nullptr;
}

const char *textOf(Result result) {
  switch (result) {
#define CUDA_RESULT(Name, Code, ApiName, Text)                                                     \
  case k##Name:                                                                                    \
    return Text;
#include "runtime/cuda/Errors.def"
#undef CUDA_RESULT
  }
  return nullptr;
}

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
