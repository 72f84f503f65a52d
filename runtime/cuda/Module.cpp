// SPDX-License-Identifier: Apache-2.0
// Loading images, and the modules and libraries made of them. Nothing is compiled here: names,
// layouts and variables come from the manifest.
#include "runtime/cuda/Module.h"
#include "fatbin/Container.h"
#include "input/File.h"
#include "runtime/cuda/Context.h"
#include "runtime/cuda/HandleTable.h"
#include "runtime/cuda/JitOptions.h"
#include "runtime/cuda/graph/Capture.h"
#include "runtime/cuda/texture/Records.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <chrono>

using namespace llvm;

namespace rubia::runtime::cuda {

static HandleTable<Module> &modules = HandleTable<Module>::leaked();
static HandleTable<Library> &libraries = HandleTable<Library>::leaked();
static HandleTable<Function> &functions = HandleTable<Function>::leaked();

uint64_t Function::nextId() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

Context *contextOf(Module *module) { return modules.contains(module) ? module->context : nullptr; }

Context *contextOf(Function *function) {
  return isLive(function) && function->module ? function->module->context : nullptr;
}

bool isLive(Function *function) { return functions.contains(function); }

// Maps an error of loading, compiling or launching; `otherwise`: what it is if it does not say. The
// context may be null where HIP is not involved.
static Result describe(Context *context, Error error, Result fallback, std::string &text) {
  Result result = fallback;
  handleAllErrors(
      std::move(error),
      [&](const LaunchError &e) {
        text = e.message;
        switch (e.kind) {
        case LaunchError::Kind::NotFound:
          result = kNotFound;
          break;
        case LaunchError::Kind::CannotCompile:
          result = kInvalidPtx;
          break;
        case LaunchError::Kind::InvalidShape:
          result = kInvalidValue;
          break;
        case LaunchError::Kind::TooManyThreads:
          result = kLaunchOutOfResources;
          break;
        case LaunchError::Kind::InvalidCluster:
          result = kInvalidClusterSize;
          break;
        case LaunchError::Kind::ClusterInBody:
          result = kNotSupported;
          break;
        case LaunchError::Kind::OutOfResources:
          result = kOutOfMemory;
          break;
        case LaunchError::Kind::System:
          result = kOperatingSystem;
          break;
        case LaunchError::Kind::Hip:
          if (context)
            result = context->check(e.hipError);
          break;
        }
      },
      [&](const CompilerProblem &e) {
        text = e.message;
        result = kOperatingSystem;
      },
      [&](const ErrorInfoBase &e) { text = e.message(); });
  return result;
}

Result report(Context &context, Error error) {
  std::string text;
  Result result = describe(&context, std::move(error), kUnknown, text);
  // A program that asks whether a name exists is told by the result alone.
  log(result == kNotFound ? LogLevel::Info : LogLevel::Error, text);
  return result;
}

// An image as loaded: its bytes, or why not.
struct LoadedImage {
  std::vector<uint8_t> bytes;
  Result error = kSuccess;
  std::string text;
  LogLevel level = LogLevel::Error; // at which an error is logged
};

static LoadedImage choose(ArrayRef<fatbin::RawImage> images) {
  fatbin::ModuleChoice choice = fatbin::chooseModule(images);
  switch (choice.kind) {
  case fatbin::ModuleChoice::Kind::Chosen:
    return {choice.bytes.vec(), kSuccess, ""};
  case fatbin::ModuleChoice::Kind::Malformed:
    return {{}, kInvalidImage, std::move(choice.text)};
  case fatbin::ModuleChoice::Kind::NoPtx:
    return {{}, kNoBinaryForGpu, std::move(choice.text)};
  case fatbin::ModuleChoice::Kind::Linked:
    for (const std::string &unit : choice.leftOut)
      log(LogLevel::Error, "left out of a program's linked code: " + unit);
    return {std::move(choice.bundle), kSuccess, ""};
  }
  llvm_unreachable("ModuleChoice::Kind");
}

// What the program points to; its headers say how far it goes.
static LoadedImage readImage(const void *pointer) {
  auto images = fatbin::rawImages(pointer);
  if (!images)
    return {{}, kInvalidImage, toString(images.takeError())};
  return choose(*images);
}

// Only what is needed: of a container as much as its header says, whatever follows it.
static Expected<std::unique_ptr<MemoryBuffer>> readImageFile(const char *path) {
  Expected<input::File> file = input::File::open(path);
  if (!file)
    return file.takeError();
  const uint64_t headerBytes = std::min<uint64_t>(file->size(), fatbin::kContainerHeaderBytes);
  auto header = file->read(0, headerBytes, headerBytes);
  if (!header)
    return header.takeError();
  if (std::optional<uint64_t> claimed =
          fatbin::claimedContainerSize(arrayRefFromStringRef((*header)->getBuffer())))
    return file->read(0, std::min(*claimed, file->size()), fatbin::kMaxPayloadBytes);
  return file->readAll(fatbin::kMaxPayloadBytes);
}

static LoadedImage readFile(const char *path) {
  auto file = readImageFile(path);
  if (!file) {
    std::error_code code;
    std::string text;
    handleAllErrors(file.takeError(), [&](const ErrorInfoBase &e) {
      code = e.convertToErrorCode();
      text = e.message();
    });
    const bool isThere = code == std::errc::not_supported || code == std::errc::file_too_large;
    const bool isAbsent =
        code == std::errc::no_such_file_or_directory || code == std::errc::not_a_directory;
    // Programs probe for files that they keep compiled kernels in: the code says enough.
    return {{},
            isThere ? kInvalidImage : kFileNotFound,
            std::move(text),
            isAbsent ? LogLevel::Info : LogLevel::Error};
  }
  fatbin::RawImage image;
  image.bytes = arrayRefFromStringRef((*file)->getBuffer());
  if (fatbin::startsWithContainer(image.bytes)) {
    Expected<uint64_t> size = fatbin::containerSize(image.bytes);
    if (!size)
      return {{}, kInvalidImage, path + (": " + toString(size.takeError()))};
    image.bytes = image.bytes.take_front(*size);
  }
  LoadedImage result = choose(image);
  if (result.error)
    result.text = path + (": " + result.text);
  return result;
}

// Kernels that cannot be compiled are their own launches' matter, but text of which nothing is left
// is no module.
static bool isNothing(const Manifest &manifest) {
  return manifest.kernels.empty() && manifest.variables.empty() && !manifest.invalid.empty();
}

static std::string joined(const std::vector<std::string> &lines) {
  std::string text;
  for (const std::string &line : lines)
    text += line + "\n";
  return text;
}

// What NVIDIA's driver refuses when it loads the text. What is only not supported waits for its
// launch; so does what a version of PTX may have that is newer than ours.
static Result checkText(const Manifest &manifest) {
  if (manifest.ptxMajor > 9)
    return kUnsupportedPtxVersion;
  const bool isKnown = manifest.ptxMajor < 9 || !manifest.ptxMinor; // up to 9.0
  return isNothing(manifest) || (isKnown && !manifest.invalid.empty()) ? kInvalidPtx : kSuccess;
}

static Result loadInto(Context &context, Library *library, ModuleImage image, Module **out,
                       std::string &text) {
  context.services.print(/*ended=*/0); // as CUDA does
  Expected<std::unique_ptr<LoadedModule>> loaded =
      LoadedModule::load(hip(), std::move(image), context.services);
  if (!loaded)
    return describe(&context, loaded.takeError(), kInvalidPtx, text);
  text = joined((*loaded)->manifest().diagnostics);
  if (Result result = checkText((*loaded)->manifest()))
    return result;
  auto made = std::make_shared<Module>(context, library ? library->shared_from_this() : nullptr,
                                       std::move(*loaded));
  keepForCall(made);
  Module *module = modules.add(std::move(made));
  {
    std::lock_guard<std::mutex> lock(context.modulesMutex);
    context.modules.insert(module);
  }
  *out = module;
  return kSuccess;
}

// What the options say of the code is a part of the image from here on.
static LoadedImage withOptions(LoadedImage read, JitOptions &options) {
  const unsigned limit = options.registerLimit();
  if (read.error || !limit)
    return read;
  Expected<std::vector<uint8_t>> limited = fatbin::withRegisterLimit(read.bytes, limit);
  if (!limited)
    return {{}, kInvalidImage, toString(limited.takeError())};
  read.bytes = std::move(*limited);
  return read;
}

static Result load(Context &context, Module **out, LoadedImage read, const void *caller,
                   JitOptions options) {
  const auto begin = std::chrono::steady_clock::now();
  read = withOptions(std::move(read), options);
  if (read.error) {
    options.writeError(read.text, read.error);
    return fail(read.error, read.text, read.level);
  }
  std::string text;
  const Result result =
      loadInto(context, nullptr, {std::move(read.bytes), capabilityFor(caller)}, out, text);
  const std::chrono::duration<float, std::milli> time = std::chrono::steady_clock::now() - begin;
  options.writeTime(time.count());
  if (result) {
    options.writeError(text, result);
    return fail(result, text);
  }
  options.writeInfo(text);
  return kSuccess;
}

static Result load(Context &context, Module **out, const void *image, const void *caller,
                   JitOptions options) {
  return out && image && options.areValid() ? load(context, out, readImage(image), caller, options)
                                            : kInvalidValue;
}

Result loadModule(Context &context, Module **out, const void *image, const void *returnAddress) {
  return load(context, out, image, returnAddress, {});
}

// What is wrong with an image, and what is to be said of it.
static Result readLibrary(Library &library, LoadedImage read, const void *caller,
                          std::string &text) {
  library.manifest = std::make_shared<const Manifest>();
  text = std::move(read.text);
  if (read.error)
    return read.error;
  library.image = {std::move(read.bytes), capabilityFor(caller)};
  auto manifest = Compiler::instance().manifest(library.image);
  if (!manifest)
    return describe(nullptr, manifest.takeError(), kInvalidPtx, text);
  library.manifest = std::move(*manifest);
  text = joined(library.manifest->diagnostics);
  return checkText(*library.manifest);
}

// No context is needed, only a device: the manifest does not depend on it. `isLazy`: as with
// NVIDIA's driver an image in memory that is no good is an error for who asks for its kernels. That
// the compiler cannot be started is none of the image: the program may try again.
static Result loadLibrary(Library **library, LoadedImage read, const void *caller,
                          JitOptions options, bool isLazy) {
  if (!options.areValid())
    return kInvalidValue;
  auto made = std::make_shared<Library>();
  std::string text;
  const LogLevel level = read.level;
  made->error = readLibrary(*made, withOptions(std::move(read), options), caller, text);
  if (made->error) {
    options.writeError(text, made->error);
    (void)fail(made->error, text, level);
    if (!isLazy || made->error == kOperatingSystem)
      return made->error;
  } else {
    options.writeInfo(text);
  }
  *library = libraries.add(std::move(made));
  return kSuccess;
}

// Nobody finds its functions any more, and nobody makes new ones.
template <class Owner> static void endFunctions(Owner &owner) {
  std::lock_guard<std::mutex> lock(owner.mutex);
  owner.isUnloaded = true;
  for (auto &entry : owner.functions)
    functions.remove(entry.second.get());
}

// A module that has left the table. It ends when the last call that uses it returns.
static void endModule(Module &module) {
  Context &context = *module.context;
  if (!context.hasLostDevice()) // else the ring is gone
    context.services.print(/*ended=*/0);
  {
    std::lock_guard<std::mutex> lock(context.modulesMutex);
    context.modules.erase(&module);
  }
  if (module.library) {
    std::lock_guard<std::mutex> lock(module.library->mutex);
    auto found = module.library->modules.find(&context);
    if (found != module.library->modules.end() && found->second == &module)
      module.library->modules.erase(found);
  }
  releaseReferences(module);
  endFunctions(module);
  if (context.hasLostDevice())
    new std::shared_ptr<LoadedModule>(module.loaded); // leaked: nothing of it can be given back
}

void unloadModulesOf(Context &context) {
  std::vector<std::shared_ptr<Module>> loaded;
  {
    std::lock_guard<std::mutex> lock(context.modulesMutex);
    for (Module *module : std::exchange(context.modules, {}))
      if (std::shared_ptr<Module> taken = modules.remove(module)) // else another thread unloads it
        loaded.push_back(std::move(taken));
  }
  for (const std::shared_ptr<Module> &module : loaded)
    endModule(*module);
}

/// Waits for a context's kernels on its device, which becomes the current one: what they print and
/// how they ended must be known before their module is gone. A fault is remembered for the
/// program's next call.
static void finishKernels(Context &context) {
  if (context.hasLostDevice())
    return;
  (void)hip().call<hipSetDevice>(context.device.hipDevice);
  (void)context.synchronizeDevice();
}

Result takeTrap(LoadedModule &module) {
  std::optional<LoadedModule::Trap> trap = module.takeTrap();
  if (!trap)
    return kSuccess;
  // An assertion has its own words on stderr, which CUDA's programs know.
  const bool isAssertion = trap->reason == abi::TrapReason::Assertion;
  log(isAssertion ? LogLevel::Info : LogLevel::Error, trap->text);
  switch (trap->reason) {
  case abi::TrapReason::Assertion:
    return kAssert;
  case abi::TrapReason::IllegalInstruction:
    return kIllegalInstruction;
  case abi::TrapReason::MisalignedAddress:
    return kMisalignedAddress;
  case abi::TrapReason::SurfaceAccess:
    return kIllegalAddress;
  default:
    return kLaunchFailed;
  }
}

// The module of a library in a context.
static Bound moduleOf(Context &context, Library *library) {
  if (library->error)
    return {library->error, nullptr};
  // Not one that another thread unloads.
  auto loadedIn = [&]() -> Module * {
    auto found = library->modules.find(&context);
    return found != library->modules.end() && modules.contains(found->second) ? found->second
                                                                              : nullptr;
  };
  {
    std::lock_guard<std::mutex> lock(library->mutex);
    if (Module *found = loadedIn())
      return {kSuccess, found};
  }
  Module *module = nullptr;
  std::string text;
  if (Result result = loadInto(context, library, library->image, &module, text))
    return {fail(result, text), nullptr};
  std::unique_lock<std::mutex> lock(library->mutex);
  const bool isUnloaded = library->isUnloaded;
  Module *other = loadedIn();
  if (!isUnloaded && !other)
    library->modules[&context] = module;
  lock.unlock();
  if (!isUnloaded && !other)
    return {kSuccess, module};
  if (const std::shared_ptr<Module> removed = modules.remove(module)) // another was faster
    endModule(*removed);
  return {isUnloaded ? kInvalidHandle : kSuccess, other};
}

Bound bind(Context &context, Function *function) {
  if (!isLive(function))
    return {kInvalidHandle, nullptr};
  if (function->library)
    return moduleOf(context, function->library);
  if (function->module->context != &context)
    return {kInvalidContext, nullptr};
  return {kSuccess, function->module};
}

Result inContextOf(Function *function, Context &current,
                   llvm::function_ref<Result(Context &context)> body) {
  Context *owner = contextOf(function);
  return runIn(owner ? *owner : current, current, [&] { return body(owner ? *owner : current); });
}

template <class Owner>
static Function *functionOf(Owner &owner, const Manifest &manifest, StringRef name, Module *module,
                            Library *library) {
  std::lock_guard<std::mutex> lock(owner.mutex);
  const Manifest::Kernel *kernel = manifest.kernel(name);
  if (!kernel || owner.isUnloaded)
    return nullptr;
  std::unique_ptr<Function> &function = owner.functions[name];
  if (!function) {
    function = std::make_unique<Function>(module, library, manifest, *kernel);
    functions.add({owner.shared_from_this(), function.get()}); // who has it keeps its owner
  }
  return function.get();
}

static Function *kernelIn(Library &library, StringRef name) {
  return functionOf(library, *library.manifest, name, nullptr, &library);
}

// Of a library's module it is the kernel, which cuKernelGetFunction gives too.
static Function *functionIn(Module &module, StringRef name) {
  if (module.library)
    return kernelIn(*module.library, name);
  return functionOf(module, module.loaded->manifest(), name, &module, nullptr);
}

static Result globalIn(Context &context, Module &module, void **address, size_t *bytes,
                       const char *name) {
  const Manifest::Variable *variable = module.loaded->manifest().variable(name);
  if (variable && variable->reference != Manifest::Reference::None)
    return kNotFound;
  Expected<LoadedModule::Global> global = module.loaded->global(name);
  if (!global)
    return report(context, global.takeError());
  if (variable && variable->managed) {
    std::lock_guard<std::mutex> lock(context.modulesMutex);
    module.managedVariables[static_cast<const char *>(global->address)] = global->size;
  }
  if (address)
    *address = global->address;
  if (bytes)
    *bytes = global->size;
  return kSuccess;
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuModuleLoadData(Module **module, const void *image) {
  const void *caller = __builtin_return_address(0);
  return callIn(RUBIA_CALL(module, image),
                [&](Context &context) { return load(context, module, image, caller, {}); });
}

Result cuModuleLoadDataEx(Module **module, const void *image, unsigned count, int *options,
                          void **values) {
  const void *caller = __builtin_return_address(0);
  return callIn(RUBIA_CALL(module, image, count, options, values), [&](Context &context) {
    return load(context, module, image, caller, {count, options, values});
  });
}

Result cuModuleLoadFatBinary(Module **module, const void *image) {
  const void *caller = __builtin_return_address(0);
  return callIn(RUBIA_CALL(module, image),
                [&](Context &context) { return load(context, module, image, caller, {}); });
}

Result cuModuleLoad(Module **module, const char *path) {
  const void *caller = __builtin_return_address(0);
  return callIn(RUBIA_CALL(module, path), [&](Context &context) {
    return module && path ? load(context, module, readFile(path), caller, {}) : kInvalidValue;
  });
}

Result cuModuleUnload(Module *module) {
  return callToRelease(RUBIA_CALL(module), module, [&](Context &current) {
    if (!modules.contains(module))
      return kInvalidHandle;
    if (Result result = checkUnsafe())
      return result;
    if (module->library)
      return kNotPermitted;
    const std::shared_ptr<Module> removed = modules.remove(module);
    if (!removed) // by another thread, meanwhile
      return kInvalidHandle;
    finishKernels(*module->context);
    endModule(*module);
    (void)hip().call<hipSetDevice>(current.device.hipDevice);
    return kSuccess;
  });
}

Result cuModuleGetFunction(Function **function, Module *module, const char *name) {
  return callOn(RUBIA_CALL(function, module, name), module, [&](Context &) {
    if (!function || !name || !*name)
      return kInvalidValue;
    if (!modules.contains(module))
      return kInvalidHandle;
    *function = functionIn(*module, name);
    return *function ? kSuccess : modules.contains(module) ? kNotFound : kInvalidHandle;
  });
}

Result cuModuleGetFunctionCount(unsigned *count, Module *module) {
  return callOn(RUBIA_CALL(count, module), module, [&](Context &) {
    if (!modules.contains(module))
      return kInvalidHandle;
    return count ? (*count = module->loaded->manifest().kernels.size(), kSuccess) : kInvalidValue;
  });
}

Result cuModuleEnumerateFunctions(Function **out, unsigned count, Module *module) {
  return callOn(RUBIA_CALL(out, count, module), module, [&](Context &) {
    if (!modules.contains(module))
      return kInvalidHandle;
    const auto &kernels = module->loaded->manifest().kernels;
    for (unsigned i = 0; out && i < count && i < kernels.size(); ++i)
      out[i] = functionIn(*module, kernels[i].name);
    return out ? kSuccess : kInvalidValue;
  });
}

Result cuModuleGetGlobal_v2(void **address, size_t *bytes, Module *module, const char *name) {
  return callOn(RUBIA_CALL(address, bytes, module, name), module, [&](Context &context) {
    if (!name || (!address && !bytes))
      return kInvalidValue;
    if (!modules.contains(module))
      return kInvalidHandle;
    return runIn(*module->context, context,
                 [&] { return globalIn(*module->context, *module, address, bytes, name); });
  });
}

Result cuModuleGetTexRef(TextureReference **out, Module *module, const char *name) {
  return callOn(RUBIA_CALL(out, module, name), module, [&](Context &context) {
    if (!out || !name)
      return kInvalidValue;
    if (!modules.contains(module))
      return kInvalidHandle;
    return runIn(*module->context, context, [&] { return textureReferenceOf(module, name, out); });
  });
}

Result cuModuleGetSurfRef(SurfaceReference **out, Module *module, const char *name) {
  return callOn(RUBIA_CALL(out, module, name), module, [&](Context &context) {
    if (!out || !name)
      return kInvalidValue;
    if (!modules.contains(module))
      return kInvalidHandle;
    return runIn(*module->context, context, [&] { return surfaceReferenceOf(module, name, out); });
  });
}

Result cuLibraryLoadData(Library **library, const void *code, int *jitOptions, void **jitValues,
                         unsigned jitCount, int *, void **, unsigned) {
  const void *caller = __builtin_return_address(0);
  return call(RUBIA_CALL(library, code, jitOptions, jitValues, jitCount), [&] {
    return library && code
               ? loadLibrary(library, readImage(code), caller, {jitCount, jitOptions, jitValues},
                             /*isLazy=*/true)
               : kInvalidValue;
  });
}

Result cuLibraryLoadFromFile(Library **library, const char *path, int *jitOptions, void **jitValues,
                             unsigned jitCount, int *, void **, unsigned) {
  const void *caller = __builtin_return_address(0);
  return call(RUBIA_CALL(library, path, jitOptions, jitValues, jitCount), [&] {
    return library && path
               ? loadLibrary(library, readFile(path), caller, {jitCount, jitOptions, jitValues},
                             /*isLazy=*/false)
               : kInvalidValue;
  });
}

Result cuLibraryUnload(Library *library) {
  if (isExiting())
    return kSuccess;
  return call(RUBIA_CALL(library), [&] {
    if (!libraries.contains(library))
      return kInvalidHandle;
    if (Result result = checkUnsafe())
      return result;
    const std::shared_ptr<Library> removed = libraries.remove(library);
    if (!removed) // by another thread, meanwhile
      return kInvalidHandle;
    endFunctions(*library);
    std::vector<std::shared_ptr<Module>> loaded;
    {
      std::lock_guard<std::mutex> lock(library->mutex);
      for (auto [context, module] : std::exchange(library->modules, {}))
        if (std::shared_ptr<Module> taken = modules.remove(module)) // else its context ends
          loaded.push_back(std::move(taken));
    }
    for (const std::shared_ptr<Module> &module : loaded) {
      finishKernels(*module->context);
      endModule(*module); // logs what fails
    }
    if (Context *current = currentContext())
      (void)hip().call<hipSetDevice>(current->device.hipDevice);
    return kSuccess;
  });
}

Result cuLibraryGetKernel(Function **kernel, Library *library, const char *name) {
  return call(RUBIA_CALL(kernel, library, name), [&] {
    if (!kernel || !name)
      return kInvalidValue;
    if (!libraries.contains(library))
      return kInvalidHandle;
    if (library->error)
      return library->error;
    *kernel = kernelIn(*library, name);
    return *kernel ? kSuccess : libraries.contains(library) ? kNotFound : kInvalidHandle;
  });
}

Result cuLibraryGetKernelCount(unsigned *count, Library *library) {
  return call(RUBIA_CALL(count, library), [&] {
    if (!libraries.contains(library))
      return kInvalidHandle;
    if (library->error)
      return library->error;
    return count ? (*count = library->manifest->kernels.size(), kSuccess) : kInvalidValue;
  });
}

Result cuLibraryEnumerateKernels(Function **out, unsigned count, Library *library) {
  return call(RUBIA_CALL(out, count, library), [&] {
    if (!libraries.contains(library))
      return kInvalidHandle;
    if (library->error)
      return library->error;
    const auto &kernels = library->manifest->kernels;
    for (unsigned i = 0; out && i < count && i < kernels.size(); ++i)
      out[i] = kernelIn(*library, kernels[i].name);
    return out ? kSuccess : kInvalidValue;
  });
}

Result cuLibraryGetModule(Module **module, Library *library) {
  return callIn(RUBIA_CALL(module, library), [&](Context &context) {
    if (!module)
      return kInvalidValue;
    if (!libraries.contains(library))
      return kInvalidHandle;
    Bound bound = moduleOf(context, library);
    *module = bound.module;
    return bound.error;
  });
}

Result cuLibraryGetGlobal(void **address, size_t *bytes, Library *library, const char *name) {
  return callIn(RUBIA_CALL(address, bytes, library, name), [&](Context &context) {
    if (!name)
      return kInvalidValue;
    if (!libraries.contains(library))
      return kInvalidHandle;
    Bound bound = moduleOf(context, library);
    return bound.error ? bound.error : globalIn(context, *bound.module, address, bytes, name);
  });
}

// cudart asks while it starts, before it has made a context current; managed memory is the same in
// all of them, so device 0's primary context stands in.
Result cuLibraryGetManaged(void **address, size_t *bytes, Library *library, const char *name) {
  return call(RUBIA_CALL(address, bytes, library, name), [&]() -> Result {
    if (!name)
      return kInvalidValue;
    if (!libraries.contains(library))
      return kInvalidHandle;
    if (library->error)
      return library->error;
    const Manifest::Variable *variable = library->manifest->variable(name);
    if (!variable || !variable->managed)
      return kNotFound;
    Context *context = currentContext();
    if (!context)
      context = theDriver.load()->devices[0]->primary.get();
    if (int error = hip().call<hipSetDevice>(context->device.hipDevice))
      return context->check(error);
    Bound bound = moduleOf(*context, library);
    return bound.error ? bound.error : globalIn(*context, *bound.module, address, bytes, name);
  });
}

} // extern "C"
