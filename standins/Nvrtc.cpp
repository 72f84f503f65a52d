// SPDX-License-Identifier: Apache-2.0
// libnvrtc: NVIDIA's own compiles to PTX, and where SASS is asked for a cubin of the stand-ins
// comes out. docs/standins.md.
#include "input/Writing.h"
#include "ptx-frontend/RegisterLimit.h"
#include "standins/Assembler.h"
#include "standins/lib/RealLibrary.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>
#include <map>
#include <mutex>

using namespace llvm;

#define STRING(X) #X
#define NAME_OF(Major) "libnvrtc.so." STRING(Major)

namespace rubia::standins {
namespace {

// nvrtcResult
enum Result : int {
  kSuccess = 0,
  kInvalidInput = 3,
  kInvalidProgram = 4,
  kCompilation = 6,
  kInternal = 11,
};

RealLibrary &realLibrary() {
  static auto &library = *new RealLibrary(
      NAME_OF(RUBIA_NVRTC_SOVERSION), "of the CUDA toolkit, cuda-nvrtc of NVIDIA's repositories, "
                                      "nvidia-cuda-nvrtc from the Python package index");
  return library;
}

// Null without the real library: said once, since there is no log to put it into.
void *realFunction(const char *name) {
  Error failure = realLibrary().open();
  if (!failure)
    return realLibrary().symbol(name);
  const std::string text = toString(std::move(failure));
  static const bool isTold = (input::tell("rubia: " + text + "\n"), true);
  (void)isTold;
  return nullptr;
}

template <class... Arguments> Result call(const char *name, Arguments... arguments) {
  auto *function = reinterpret_cast<int (*)(Arguments...)>(realFunction(name));
  return function ? Result(function(arguments...)) : kInternal;
}

/// A program that was compiled for SASS.
struct Sass {
  std::vector<uint8_t> cubin;
  std::string log; // behind the real one
};

struct Programs {
  std::mutex mutex;
  std::map<void *, Sass> sass;
};
Programs &programs() {
  static auto &all = *new Programs; // programs may end after static objects
  return all;
}

void forget(void *program) {
  std::lock_guard<std::mutex> lock(programs().mutex);
  programs().sass.erase(program);
}

/// What `read` makes of a program's SASS; nullopt: it has none of ours.
template <class Read> std::optional<Result> withSass(void *program, Read read) {
  std::lock_guard<std::mutex> lock(programs().mutex);
  auto found = programs().sass.find(program);
  if (found == programs().sass.end())
    return std::nullopt;
  return read(found->second);
}

/// A newer target than the real library knows becomes the newest that it knows.
unsigned knownTo(unsigned sm) {
  int count = 0;
  if (call("nvrtcGetNumSupportedArchs", &count) || count <= 0)
    return sm;
  std::vector<int> archs(count);
  if (call("nvrtcGetSupportedArchs", archs.data()))
    return sm;
  return std::min(sm, unsigned(archs.back()));
}

/// The options of a compilation, with PTX asked for in the place of SASS.
struct Options {
  std::vector<std::string> words;
  std::optional<Target> sass; // that was asked for

  Options(ArrayRef<const char *> given) : words(given.begin(), given.end()) {
    if (any_of(words, [](StringRef word) {
          return is_contained({"-dlto", "--dlink-time-opt", "-optix-ir", "--optix-ir"}, word);
        }))
      return; // no SASS
    for (size_t i = 0; i < words.size(); ++i) {
      StringRef word = words[i];
      if (!word.consume_front("--gpu-architecture") && !word.consume_front("-arch"))
        continue;
      std::string &value = word.empty() && i + 1 < words.size() ? words[i + 1] : words[i];
      const size_t at = &value == &words[i] ? value.find('=') + 1 : 0;
      const std::optional<Target> target = targetNamed(StringRef(value).drop_front(at));
      if (!target || target->isVirtual)
        continue;
      sass = target;
      const unsigned known = knownTo(target->sm);
      value = value.substr(0, at) + "compute_" + std::to_string(known);
      if (target->variant && known == target->sm)
        value += target->variant;
    }
  }
};

Result compile(void *program, int count, const char *const *given) {
  if (count < 0 || (count && !given))
    return call("nvrtcCompileProgram", program, count, given);
  forget(program);
  const Options options(ArrayRef(given, size_t(count)));
  std::vector<const char *> words;
  words.reserve(options.words.size());
  for (const std::string &word : options.words)
    words.push_back(word.c_str());
  const Result result = call("nvrtcCompileProgram", program, count, words.data());
  if (result || !options.sass)
    return result;
  size_t size = 0;
  if (Result failed = call("nvrtcGetPTXSize", program, &size))
    return failed;
  std::string text(size, '\0');
  if (Result failed = call("nvrtcGetPTX", program, text.data()))
    return failed;
  AssemblerOptions assembler;
  assembler.target = *options.sass;
  assembler.registerLimit = ptx::registerLimitOf(join(options.words, " "));
  Assembled made = assemble("<nvrtc>", StringRef(text).rtrim('\0'), assembler);
  std::lock_guard<std::mutex> lock(programs().mutex);
  programs().sass[program] = {std::move(made.cubin), std::move(made.log)};
  return made.hasFailed ? kCompilation : kSuccess;
}

} // namespace
} // namespace rubia::standins

using namespace rubia::standins;

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int nvrtcCompileProgram(void *program, int count, const char *const *options) {
  return compile(program, count, options);
}
EXPORTED int nvrtcDestroyProgram(void **program) {
  if (program)
    forget(*program);
  return call("nvrtcDestroyProgram", program);
}
EXPORTED int nvrtcGetCUBINSize(void *program, size_t *size) {
  auto ours = withSass(program, [&](const Sass &sass) {
    return size ? (*size = sass.cubin.size(), kSuccess) : kInvalidInput;
  });
  return ours ? *ours : call("nvrtcGetCUBINSize", program, size);
}
EXPORTED int nvrtcGetCUBIN(void *program, char *cubin) {
  auto ours = withSass(program, [&](const Sass &sass) {
    return cubin ? (memcpy(cubin, sass.cubin.data(), sass.cubin.size()), kSuccess) : kInvalidInput;
  });
  return ours ? *ours : call("nvrtcGetCUBIN", program, cubin);
}
EXPORTED int nvrtcGetProgramLogSize(void *program, size_t *size) {
  if (Result result = call("nvrtcGetProgramLogSize", program, size))
    return result;
  withSass(program, [&](const Sass &sass) { return *size += sass.log.size(), kSuccess; });
  return kSuccess;
}
EXPORTED int nvrtcGetProgramLog(void *program, char *log) {
  if (Result result = call("nvrtcGetProgramLog", program, log))
    return result;
  withSass(program, [&](const Sass &sass) { return strcat(log, sass.log.c_str()), kSuccess; });
  return kSuccess;
}

// All others as they are: whatever they take, there are at most twelve words of it. What is not
// there in an older library is an internal error.
using Word = uintptr_t;
#define FORWARDED(Name)                                                                            \
  EXPORTED Word Name(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i,       \
                     Word j, Word k, Word l) {                                                     \
    using Function = Word(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word); \
    auto *function = reinterpret_cast<Function *>(realFunction(#Name));                            \
    return function ? function(a, b, c, d, e, f, g, h, i, j, k, l) : Word(kInternal);              \
  }
FORWARDED(nvrtcAddNameExpression)
FORWARDED(nvrtcCreateProgram)
FORWARDED(nvrtcGetLTOIR)
FORWARDED(nvrtcGetLTOIRSize)
FORWARDED(nvrtcGetLoweredName)
FORWARDED(nvrtcGetNVVM)
FORWARDED(nvrtcGetNVVMSize)
FORWARDED(nvrtcGetNumSupportedArchs)
FORWARDED(nvrtcGetOptiXIR)
FORWARDED(nvrtcGetOptiXIRSize)
FORWARDED(nvrtcGetPCHCreateStatus)
FORWARDED(nvrtcGetPCHHeapSize)
FORWARDED(nvrtcGetPCHHeapSizeRequired)
FORWARDED(nvrtcGetPTX)
FORWARDED(nvrtcGetPTXSize)
FORWARDED(nvrtcGetSupportedArchs)
FORWARDED(nvrtcSetFlowCallback)
FORWARDED(nvrtcSetPCHHeapSize)
FORWARDED(nvrtcVersion)
FORWARDED(__nvrtcCPEx) // NOLINT(bugprone-reserved-identifier): the library's name

// Names must be there without the real library too.
EXPORTED const char *nvrtcGetErrorString(int result) {
  using Function = const char *(int);
  if (auto *function = reinterpret_cast<Function *>(realFunction("nvrtcGetErrorString")))
    return function(result);
  return result == kSuccess ? "NVRTC_SUCCESS" : "NVRTC_ERROR: NVIDIA's libnvrtc is not installed";
}
