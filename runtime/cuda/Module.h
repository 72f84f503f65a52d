// SPDX-License-Identifier: Apache-2.0
// Modules, libraries and functions. A library is an image that belongs to no context; each context
// that uses it gets a module of it. A CUkernel is a Function of a library, a CUfunction one of a
// module, and every entry point takes either.
#pragma once

#include "runtime/cuda/Driver.h"
#include "runtime/device/LoadedModule.h"
#include "llvm/ADT/StringMap.h"

namespace rubia::runtime::cuda {

struct Library : std::enable_shared_from_this<Library> {
  Result error = kSuccess; // of the image: who asks for something of the library is told
  ModuleImage image;
  std::shared_ptr<const Manifest> manifest;
  std::mutex mutex;
  std::map<Context *, Module *> modules;
  llvm::StringMap<std::unique_ptr<Function>> functions; // CUkernels
  bool isUnloaded = false;                              // it has no functions and modules any more
};

/// Kept by its handle until it is unloaded, and by calls that use it. Its functions go with it.
struct Module : std::enable_shared_from_this<Module> {
  Module(Context &context, std::shared_ptr<Library> library, std::unique_ptr<LoadedModule> loaded)
      : context(&context), library(std::move(library)), loaded(std::move(loaded)) {}

  Context *context;
  const std::shared_ptr<Library> library; // null: made by cuModuleLoad*
  /// Shared with those who look at its trap record while another thread unloads it.
  std::shared_ptr<LoadedModule> loaded;
  std::mutex mutex;
  llvm::StringMap<std::unique_ptr<Function>> functions;
  bool isUnloaded = false; // it has no functions any more
  /// Managed variables that the program knows the address of, and their sizes. Guarded by the
  /// context's modulesMutex.
  std::map<const char *, size_t> managedVariables;
};

struct Function {
  Function(Module *module, Library *library, const Manifest &manifest,
           const Manifest::Kernel &kernel)
      : id(nextId()), module(module), library(library), manifest(manifest), kernel(kernel) {}

  const uint64_t id; // of no other function, ever

  Module *module;   // or
  Library *library; // a CUkernel
  const Manifest &manifest;
  const Manifest::Kernel &kernel;

  /// What the program set, per device: the maximum of dynamic shared memory, hints.
  struct Settings {
    int maxDynamicSharedBytes = -1; // not set
    int carveout = -1;
    int clusterScheduling = 0;
    uint32_t requiredCluster[3] = {0, 0, 0};
    bool nonPortableCluster = false;
  };
  std::mutex mutex;
  std::map<int, Settings> settings;

  Settings settingsFor(const Device &device);

private:
  static uint64_t nextId();
};

Context *contextOf(Module *module);     // null: not live
Context *contextOf(Function *function); // null: not live, or of no context
bool isLive(Function *function);

/// A function in a context: the module that it runs in, loaded if need be, and kept for the call.
struct Bound {
  Result error;
  Module *module;
};
Bound bind(Context &context, Function *function);
/// Runs `body` in the context that a module's function is of, whichever is current.
Result inContextOf(Function *function, Context &current,
                   llvm::function_ref<Result(Context &context)> body);

/// All of a context whose kernels are done.
void unloadModulesOf(Context &context);

/// Maps and logs an error of loading, compiling or launching.
Result report(Context &context, llvm::Error error);

/// The largest dynamic shared memory that a launch may ask for.
int maxDynamicShared(const Device &device, Function &function);

/// Loads images on behalf of the caller at `returnAddress`; for the export tables too.
Result loadModule(Context &context, Module **out, const void *image, const void *returnAddress);

/// What the first trapping thread of a module left behind, logged: kAssert, kLaunchFailed, or
/// kSuccess.
Result takeTrap(LoadedModule &module);

} // namespace rubia::runtime::cuda
