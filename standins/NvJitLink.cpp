// SPDX-License-Identifier: Apache-2.0
// libnvJitLink: PTX, fatbins and cubins of the stand-ins are linked by our linker. LTO-IR, whose
// form is NVIDIA's own, becomes PTX by the real library, where there is one. docs/standins.md.
#include "fatbin/Container.h"
#include "fatbin/Cubin.h"
#include "fatbin/Embedded.h"
#include "input/File.h"
#include "ptx-frontend/Linker.h"
#include "ptx-frontend/Parser.h"
#include "ptx-frontend/RegisterLimit.h"
#include "standins/Assembler.h"
#include "standins/lib/RealLibrary.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>
#include <mutex>

using namespace llvm;

#define STRING(X) #X
#define NAME_OF(Major) "libnvJitLink.so." STRING(Major)

namespace rubia::standins {
namespace {

// nvJitLinkResult; the codes are those that the library of CUDA 13.0 gives.
enum Result : int {
  kSuccess = 0,
  kUnrecognizedOption = 1,
  kMissingArch = 2,
  kInvalidInput = 3,
  kPtxCompile = 4,
  kNvvmCompile = 5,
  kInternal = 6,
  kUnrecognizedInput = 8,
  kNullInput = 10,
  kIncompatibleOptions = 11,
  kIncorrectInputType = 12,
  kUnrecognizedArch = 16,
  kLtoNotEnabled = 18,
};

// nvJitLinkInputType
enum InputType : int {
  kCubin = 1,
  kPtx = 2,
  kLtoIr = 3,
  kFatbin = 4,
  kObject = 5,
  kLibrary = 6,
  kIndex = 7,
  kAny = 10,
};

StringRef nameOf(InputType type) {
  switch (type) {
  case kCubin:
    return "NVJITLINK_INPUT_CUBIN";
  case kPtx:
    return "NVJITLINK_INPUT_PTX";
  case kLtoIr:
    return "NVJITLINK_INPUT_LTOIR";
  case kFatbin:
    return "NVJITLINK_INPUT_FATBIN";
  case kObject:
    return "NVJITLINK_INPUT_OBJECT";
  case kLibrary:
    return "NVJITLINK_INPUT_LIBRARY";
  case kIndex:
    return "NVJITLINK_INPUT_INDEX";
  case kAny:
    return "NVJITLINK_INPUT_ANY";
  }
  return "";
}

RealLibrary &realLibrary() {
  static auto &library = *new RealLibrary(
      NAME_OF(RUBIA_CUDA_MAJOR), "of the CUDA toolkit, libnvjitlink of NVIDIA's repositories, "
                                 "nvidia-nvjitlink from the Python package index");
  return library;
}

/// LTO-IR in whatever form the program has it.
struct LtoInput {
  InputType type;
  std::string bytes, name;
};

struct Link {
  std::mutex mutex;
  AssemblerOptions assembler;
  std::vector<std::string> ltoOptions; // for the real library
  bool hasLto = false, givesPtx = false;
  std::vector<ptx::LinkInput> units;
  std::vector<LtoInput> ltoInputs;
  std::string errors, information, ptx;
  std::vector<uint8_t> cubin;
  bool isComplete = false;
  Result lost = kSuccess; // of an input that NVIDIA's library would have taken

  Result fail(Result result, const Twine &text) {
    errors += text.str() + "\n";
    return result;
  }
};

bool isWithoutEffect(StringRef option) {
  static constexpr StringLiteral kAlone[] = {"-time",     "-g",
                                             "-lineinfo", "-optimize-unused-variables",
                                             "-no-cache", "-device-stack-protector"};
  static constexpr StringLiteral kBeginnings[] = {"-O",
                                                  "-ftz=",
                                                  "-prec-div=",
                                                  "-prec-sqrt=",
                                                  "-fma=",
                                                  "-kernels-used=",
                                                  "-variables-used=",
                                                  "-Xptxas=",
                                                  "-Xnvvm=",
                                                  "-split-compile=",
                                                  "-split-compile-extended=",
                                                  "-jump-table-density="};
  return is_contained(kAlone, option) ||
         any_of(kBeginnings, [&](StringRef begin) { return option.starts_with(begin); });
}

// Those about floating point are for LTO-IR, which the real library compiles.
Result readOption(Link &link, StringRef option) {
  if (StringRef arch = option; arch.consume_front("-arch=")) {
    const std::optional<Target> target = targetNamed(arch);
    if (!target)
      return link.fail(kUnrecognizedArch,
                       "ERROR NVJITLINK_ERROR_UNRECOGNIZED_ARCH: unrecognized architecture (" +
                           arch + ")");
    link.assembler.target = *target;
    return kSuccess;
  }
  if (option == "-lto")
    return link.hasLto = true, kSuccess;
  if (option == "-ptx")
    return link.givesPtx = true, kSuccess;
  if (option == "-verbose")
    link.assembler.isVerbose = true;
  else if (StringRef limit = option; limit.consume_front("-maxrregcount=")) {
    if (limit.getAsInteger(0, link.assembler.registerLimit))
      return link.fail(kUnrecognizedOption, "unrecognized option: " + option);
  } else if (!isWithoutEffect(option))
    return link.fail(kUnrecognizedOption, "unrecognized option: " + option);
  if (option.ends_with("fmad=false") && option.starts_with("-Xptxas="))
    link.assembler.mayFuse = false;
  link.ltoOptions.push_back(option.str());
  return kSuccess;
}

Result readOptions(Link &link, ArrayRef<const char *> options) {
  for (const char *option : options) {
    if (!option)
      return kNullInput;
    if (Result result = readOption(link, option))
      return result;
  }
  if (!link.assembler.target.sm)
    return kMissingArch;
  if (link.givesPtx && !link.hasLto)
    return link.fail(kIncompatibleOptions, "ERROR: -ptx requires -lto");
  if (link.assembler.target.isVirtual && !link.givesPtx)
    return link.fail(kIncompatibleOptions, "ERROR: virtual arch requires -ptx");
  return kSuccess;
}

Result addPtx(Link &link, StringRef text, StringRef name, bool isLibrary) {
  text = text.take_until([](char c) { return !c; });
  AssemblerOptions checking = link.assembler;
  checking.isRelocatable = true;
  checking.isVerbose = false;
  const Assembled checked = assemble("application ptx input", text, checking);
  if (checked.hasFailed)
    return link.fail(kPtxCompile,
                     checked.log + "ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (" + name + ")");
  link.information += checked.log;
  link.units.push_back({name.str(), text.str(), isLibrary});
  return kSuccess;
}

Result addLtoIr(Link &link, InputType type, StringRef bytes, StringRef name) {
  if (!link.hasLto)
    return link.fail(kLtoNotEnabled, "ERROR: LTO-IR requires -lto (" + name + ")");
  link.ltoInputs.push_back({type, bytes.str(), name.str()});
  return kSuccess;
}

// NVIDIA's GPUs run what is for an earlier minor version of theirs.
bool hasMachineCodeFor(ArrayRef<fatbin::Image> images, unsigned sm) {
  return any_of(images, [&](const fatbin::Image &image) {
    return image.kind == fatbin::ImageKind::Cubin && image.sm / 10 == sm / 10 && image.sm <= sm;
  });
}

// A container, or a cubin. With -lto its LTO-IR is what counts, as it is for the real library.
Result addImage(Link &link, StringRef bytes, StringRef name, bool isLibrary) {
  Expected<std::vector<fatbin::Image>> images = fatbin::readImages(arrayRefFromStringRef(bytes));
  if (!images)
    return link.fail(kInvalidInput, "ERROR: '" + name + "': " + toString(images.takeError()));
  if (link.hasLto && any_of(*images, [](const fatbin::Image &image) {
        return image.kind == fatbin::ImageKind::LtoIr;
      }))
    return addLtoIr(link, kFatbin, bytes, name);
  const fatbin::Image *chosen = fatbin::selectPtx(*images, link.assembler.target.sm);
  if (!chosen)
    return link.fail(link.lost = kInvalidInput,
                     "ERROR: '" + name + "': " + fatbin::describe(*images) +
                         "; code for NVIDIA's GPUs (SASS) cannot be linked, PTX is needed");
  Expected<std::string> text = fatbin::payload(*chosen);
  if (!text)
    return link.fail(kInvalidInput, "ERROR: '" + name + "': " + toString(text.takeError()));
  // Some libraries have machine code for all architectures and PTX for the last alone.
  if (hasMachineCodeFor(*images, link.assembler.target.sm))
    link.assembler.takenSm = std::max(link.assembler.takenSm, chosen->sm);
  const std::string limited =
      ptx::limitRegisters(std::move(*text), ptx::registerLimitOf(chosen->options));
  return addPtx(link, limited, name, isLibrary);
}

// Containers of an object file or an archive. What has no code at all is what nvcc writes beside.
Result addContainers(Link &link, StringRef bytes, StringRef name, bool isLibrary) {
  for (ArrayRef<uint8_t> container : fatbin::embeddedContainers(arrayRefFromStringRef(bytes))) {
    Expected<std::vector<fatbin::Image>> images = fatbin::readImages(container);
    if (images && images->empty())
      continue;
    consumeError(images.takeError()); // addImage() tells
    if (Result result = addImage(link, toStringRef(container), name, isLibrary))
      return result;
  }
  return kSuccess;
}

InputType kindOf(StringRef bytes) {
  const ArrayRef<uint8_t> raw = arrayRefFromStringRef(bytes);
  if (fatbin::startsWithContainer(raw))
    return kFatbin;
  if (fatbin::startsWithPtx(raw))
    return kPtx;
  if (bytes.starts_with("!<arch>\n"))
    return kLibrary;
  if (bytes.size() > 20 && bytes.starts_with("\x7f"
                                             "ELF"))
    return uint8_t(bytes[18]) == 190 && !bytes[19] ? kCubin : kObject;
  return kLtoIr;
}

Result add(Link &link, int number, StringRef bytes, StringRef name) {
  if (link.isComplete)
    return kInternal;
  if (number < kCubin || (number > kLibrary && number != kAny))
    return link.fail(kIncorrectInputType, "unsupported input type: " + name);
  const InputType found = kindOf(bytes), type = number == kAny ? found : InputType(number);
  if (found != type)
    return link.fail(kIncorrectInputType,
                     "ERROR 1: bad input: does not match type " + nameOf(type) + " (" + name + ")");
  switch (type) {
  case kPtx:
    return addPtx(link, bytes, name, false);
  case kCubin:
  case kFatbin:
    return addImage(link, bytes, name, false);
  case kObject:
  case kLibrary:
    return addContainers(link, bytes, name, type == kLibrary);
  case kLtoIr:
    return addLtoIr(link, type, bytes, name);
  case kIndex:
  case kAny:
    break;
  }
  return kIncorrectInputType;
}

// What the real library makes of LTO-IR.
class LtoCompiler {
public:
  LtoCompiler(Link &link) : link(link) {}
  ~LtoCompiler() {
    if (real)
      call<int(void **)>("nvJitLinkDestroy")(&real);
  }

  Result compile(std::string &ptx) {
    if (Error error = realLibrary().open())
      return link.fail(kNvvmCompile, "ERROR: " + toString(std::move(error)));
    if (Result result = create())
      return result;
    for (const LtoInput &input : link.ltoInputs)
      if (int result =
              call<int(void *, int, const void *, size_t, const char *)>("nvJitLinkAddData")(
                  real, input.type, input.bytes.data(), input.bytes.size(), input.name.c_str()))
        return failed(result);
    if (int result = call<int(void *)>("nvJitLinkComplete")(real))
      return failed(result);
    size_t size = 0;
    if (int result = call<int(void *, size_t *)>("nvJitLinkGetLinkedPtxSize")(real, &size))
      return failed(result);
    ptx.assign(size, '\0');
    if (int result = call<int(void *, char *)>("nvJitLinkGetLinkedPtx")(real, ptx.data()))
      return failed(result);
    ptx.resize(strnlen(ptx.data(), size));
    return kSuccess;
  }

private:
  template <class Function> Function *call(const char *name) {
    return realLibrary().function<Function>(name);
  }

  // For the architecture that is asked for, or the newest before it that the library knows.
  Result create() {
    std::vector<std::string> archs = {link.assembler.target.name()};
#define PTX_TARGET(Sm, Variant, Major, Minor)                                                      \
  if (Sm < link.assembler.target.sm)                                                               \
    archs.insert(archs.begin() + 1, "sm_" #Sm);
#include "ptx-frontend/Targets.def"
    int result = kUnrecognizedArch;
    for (size_t i = 0; i < archs.size(); ++i) {
      std::vector<std::string> options = link.ltoOptions;
      options.insert(options.end(), {"-arch=" + archs[i], "-lto", "-ptx"});
      std::vector<const char *> words;
      words.reserve(options.size());
      for (const std::string &option : options)
        words.push_back(option.c_str());
      real = nullptr;
      result = call<int(void **, uint32_t, const char *const *)>("nvJitLinkCreate")(
          &real, words.size(), words.data());
      const bool isUnknown = result == kUnrecognizedArch || result == kUnrecognizedArch + 1;
      if (!isUnknown)
        return result ? failed(result) : kSuccess;
      if (real)
        call<int(void **)>("nvJitLinkDestroy")(&real);
      real = nullptr;
    }
    return link.fail(Result(result),
                     "ERROR: NVIDIA's " NAME_OF(RUBIA_CUDA_MAJOR) " knows neither " +
                         archs.front() + " nor an architecture before it");
  }

  Result failed(int result) {
    size_t size = 0;
    std::string log;
    if (real && !call<int(void *, size_t *)>("nvJitLinkGetErrorLogSize")(real, &size) && size) {
      log.assign(size + 1, '\0');
      call<int(void *, char *)>("nvJitLinkGetErrorLog")(real, log.data());
    }
    return link.fail(Result(result), StringRef(log).rtrim(StringRef("\0\n", 2)));
  }

  Link &link;
  void *real = nullptr;
};

Result complete(Link &link) {
  if (link.isComplete)
    return kInternal;
  link.isComplete = true;
  if (link.lost)
    return link.lost;
  if (link.givesPtx && !link.units.empty())
    return link.fail(kIncorrectInputType, "ERROR: -ptx requires that all inputs have LTOIR");
  if (!link.ltoInputs.empty()) {
    std::string text;
    if (Result result = LtoCompiler(link).compile(text))
      return result;
    if (link.givesPtx)
      return link.ptx = ptx::limitRegisters(std::move(text), link.assembler.registerLimit),
             kSuccess;
    link.units.push_back({"LTO", std::move(text)});
  }
  Expected<ptx::Linked> linked = ptx::linkUnits(link.units, {.takesFirst = true});
  if (!linked)
    return link.fail(kInternal, "error   : " + toString(linked.takeError()) + "\nERROR 9: finish");
  for (const std::string &ignored : linked->ignored)
    link.information += "warning : " + ignored + ": the first is taken\n";
  const ptx::ParseResult parsed = ptx::parse("linked", linked->text);
  if (std::vector<std::string> missing = ptx::unresolved(parsed.module); !missing.empty())
    return link.fail(kInternal, "error   : Undefined reference to '" +
                                    join(missing, "'\nerror   : Undefined reference to '") +
                                    "'\nERROR 9: finish");
  // Units that are right one by one are right together, but for their targets.
  AssemblerOptions options = link.assembler;
  options.hasWarnings = false; // of the inputs they were told
  Assembled made = assemble("linked", linked->text, options);
  if (made.hasFailed)
    return link.fail(kInternal, made.log + "ERROR 9: finish");
  link.information += made.log;
  link.cubin = std::move(made.cubin);
  return kSuccess;
}

// The size includes the NUL of texts.
Result copyText(const std::string &text, char *out) {
  if (!out)
    return kNullInput;
  std::copy_n(text.c_str(), text.size() + (text.empty() ? 0 : 1), out);
  return kSuccess;
}
Result sizeOfText(const std::string &text, size_t *size) {
  if (!size)
    return kNullInput;
  *size = text.empty() ? 0 : text.size() + 1;
  return kSuccess;
}

template <class Body> Result with(Link *link, Body body) {
  if (!link)
    return kNullInput;
  std::lock_guard<std::mutex> lock(link->mutex);
  return body(*link);
}

} // namespace
} // namespace rubia::standins

using namespace rubia::standins;

// The functions, and each under the name of every version of the library that it is to stand for.
#if RUBIA_CUDA_MAJOR == 12
#define VERSIONS(X, Name)                                                                          \
  X(Name, 12_0)                                                                                    \
  X(Name, 12_1)                                                                                    \
  X(Name, 12_2)                                                                                    \
  X(Name, 12_3) X(Name, 12_4) X(Name, 12_5) X(Name, 12_6) X(Name, 12_7) X(Name, 12_8) X(Name, 12_9)
#else
#define VERSIONS(X, Name) X(Name, 13_0) X(Name, 13_1) X(Name, 13_2) X(Name, 13_3) X(Name, 13_4)
#endif
#define ALIAS(Name, Version)                                                                       \
  extern "C" decltype(nvJitLink##Name) __nvJitLink##Name##_##Version                               \
      __attribute__((alias("nvJitLink" #Name), visibility("default")));
#define FUNCTION(Name, Parameters)                                                                 \
  extern "C" __attribute__((visibility("default"))) Result nvJitLink##Name Parameters;             \
  VERSIONS(ALIAS, Name)                                                                            \
  Result nvJitLink##Name Parameters

FUNCTION(Create, (Link * *handle, uint32_t count, const char *const *options)) {
  if (!handle || (count && !options))
    return kNullInput;
  auto *link = new Link;
  *handle = link; // also of what failed: it has the log
  return readOptions(*link, ArrayRef(options, count));
}
FUNCTION(Destroy, (Link * *handle)) {
  if (!handle || !*handle)
    return kNullInput;
  delete *handle;
  *handle = nullptr;
  return kSuccess;
}
FUNCTION(AddData, (Link * handle, int type, const void *data, size_t size, const char *name)) {
  return with(handle, [&](Link &link) {
    return data ? add(link, type, StringRef(static_cast<const char *>(data), size),
                      name ? name : "<data>")
                : kNullInput;
  });
}
FUNCTION(AddFile, (Link * handle, int type, const char *path)) {
  return with(handle, [&](Link &link) -> Result {
    if (!path)
      return kNullInput;
    auto file = rubia::input::readFile(path, rubia::fatbin::kMaxPayloadBytes);
    if (!file)
      return link.fail(kInvalidInput, "ERROR: " + toString(file.takeError()));
    return add(link, type, (*file)->getBuffer(), path);
  });
}
FUNCTION(Complete, (Link * handle)) { return with(handle, complete); }
FUNCTION(GetLinkedCubinSize, (Link * handle, size_t *size)) {
  return with(handle, [&](Link &link) {
    if (link.cubin.empty())
      return kInternal;
    return size ? (*size = link.cubin.size(), kSuccess) : kNullInput;
  });
}
FUNCTION(GetLinkedCubin, (Link * handle, void *cubin)) {
  return with(handle, [&](Link &link) {
    if (link.cubin.empty())
      return kInternal;
    return cubin ? (memcpy(cubin, link.cubin.data(), link.cubin.size()), kSuccess) : kNullInput;
  });
}
FUNCTION(GetLinkedPtxSize, (Link * handle, size_t *size)) {
  return with(handle, [&](Link &link) {
    return link.givesPtx ? link.ptx.empty() ? kInternal : sizeOfText(link.ptx, size)
                         : kInvalidInput;
  });
}
FUNCTION(GetLinkedPtx, (Link * handle, char *text)) {
  return with(handle, [&](Link &link) {
    return link.givesPtx ? link.ptx.empty() ? kInternal : copyText(link.ptx, text) : kInvalidInput;
  });
}
FUNCTION(GetErrorLogSize, (Link * handle, size_t *size)) {
  return with(handle, [&](Link &link) { return sizeOfText(link.errors, size); });
}
FUNCTION(GetErrorLog, (Link * handle, char *text)) {
  return with(handle, [&](Link &link) { return copyText(link.errors, text); });
}
FUNCTION(GetInfoLogSize, (Link * handle, size_t *size)) {
  return with(handle, [&](Link &link) { return sizeOfText(link.information, size); });
}
FUNCTION(GetInfoLog, (Link * handle, char *text)) {
  return with(handle, [&](Link &link) { return copyText(link.information, text); });
}

extern "C" __attribute__((visibility("default"))) Result nvJitLinkVersion(unsigned *major,
                                                                          unsigned *minor) {
  if (!major || !minor)
    return kNullInput;
  *major = RUBIA_CUDA_MAJOR;
  *minor = RUBIA_CUDA_MAJOR == 12 ? 9 : 0;
  return kSuccess;
}
