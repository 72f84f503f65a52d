// SPDX-License-Identifier: Apache-2.0
// Every function of the API is exported, so that a program that links against it starts. Those that
// are not implemented say so once in the log and return CUDA_ERROR_NOT_SUPPORTED.
#include "runtime/cuda/EntryPoints.h"
#include "runtime/base/RunSummary.h"
#include "runtime/cuda/Driver.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;

namespace rubia::runtime::cuda {

static Result notSupported(const char *name) {
  logOnce(LogLevel::Error, Twine(name) + " is not supported");
  summary::callUnsupported(name);
  return kNotSupported;
}

// Weak: an implementation elsewhere takes its place.
#define CUDA_FUNCTION(Symbol, Name, Introduced, PerThread)                                         \
  extern "C" __attribute__((weak)) Result Symbol() { return notSupported(#Symbol); }
#include "runtime/cuda/Functions.def"
#undef CUDA_FUNCTION

static StringMap<SmallVector<EntryPoint, 3>> &makeTable() {
  auto &table = *new StringMap<SmallVector<EntryPoint, 3>>;
  static constexpr struct {
    const char *name;
    Result (*function)();
    int introduced;
    bool perThread;
  } kRows[] = {
#define CUDA_FUNCTION(Symbol, Name, Introduced, PerThread) {#Name, &Symbol, Introduced, PerThread},
#include "runtime/cuda/Functions.def"
#undef CUDA_FUNCTION
  };
  for (const auto &row : kRows)
    table[row.name].push_back(
        {reinterpret_cast<void *>(row.function), row.introduced, row.perThread});
  return table;
}

ArrayRef<EntryPoint> entryPoints(StringRef name) {
  static const auto &table = makeTable();
  auto found = table.find(name);
  return found == table.end() ? ArrayRef<EntryPoint>() : ArrayRef(found->second);
}

} // namespace rubia::runtime::cuda
