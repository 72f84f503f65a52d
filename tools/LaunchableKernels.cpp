// SPDX-License-Identifier: Apache-2.0
#include "tools/LaunchableKernels.h"
#include "codegen/Codegen.h"
#include "tools/CodeObjects.h"
#include "tools/Sources.h"
#include "tools/inspect/KernelNames.h"

using namespace llvm;

namespace rubia::runtime {
int hipModuleLoadData(void **module, const void *image);
int hipModuleUnload(void *module);
int hipModuleGetFunction(void **function, void *module, const char *name);
int hipModuleLaunchKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                          unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                          void *stream, void **parameters, void **extra);
} // namespace rubia::runtime

namespace rubia::tools {

namespace {
Error failure(const Twine &message) { return createStringError(message); }

Error noKernel(const std::string &path, const std::string &entry, const std::string &known) {
  if (entry.empty())
    return failure("--entry is needed: " + path + " has" +
                   (known.empty() ? " no kernels" : ":" + known));
  return failure(path + " has no kernel '" + entry + "'" +
                 (known.empty() ? "" : "; it has:" + known));
}

// Modules of one file, loaded when a kernel of theirs is first launched.
class PtxKernels {
public:
  PtxKernels(const runtime::Hip &hip, runtime::Compiler &compiler, std::string path,
             SourceFile file, unsigned capability)
      : hip(hip), compiler(compiler), path(std::move(path)), file(std::move(file)),
        capability(capability), modules(this->file.sources.size()) {}
  ~PtxKernels() {
    modules.clear();
    services.release(hip);
  }
  Expected<LaunchableKernel> find(const std::string &entry);

private:
  Expected<runtime::LoadedModule *> module(size_t source);

  const runtime::Hip &hip;
  runtime::Compiler &compiler;
  std::string path;
  SourceFile file;
  unsigned capability;
  runtime::DeviceServices services;
  std::vector<std::unique_ptr<runtime::LoadedModule>> modules;
};

Expected<runtime::LoadedModule *> PtxKernels::module(size_t source) {
  if (!modules[source]) {
    if (const std::string &refused = file.sources[source].refused; !refused.empty())
      return failure(file.sources[source].place + ": " + refused);
    auto loaded = runtime::LoadedModule::load(
        hip, runtime::ModuleImage::view(file.sources[source].bytes, capability), services,
        compiler);
    if (!loaded)
      return failure(file.sources[source].place + ": " + toString(loaded.takeError()));
    modules[source] = std::move(*loaded);
  }
  return modules[source].get();
}

LaunchableKernel launchable(runtime::LoadedModule &module, runtime::DeviceServices &services,
                            const runtime::Manifest::Kernel &kernel) {
  LaunchableKernel result;
  result.name = kernel.name;
  for (const runtime::Manifest::Parameter &parameter : kernel.parameters)
    result.parameters.push_back({uint32_t(parameter.offset), uint32_t(parameter.size)});
  result.parameterBytes = kernel.parameterBytes;
  result.launch = [&module, &kernel](const runtime::LaunchShape &shape, ArrayRef<uint8_t> bytes) {
    return module.launch(kernel, shape, bytes, nullptr);
  };
  result.finish = [&module, &services] {
    services.print(runtime::DeviceServices::kEverything);
    std::optional<runtime::LoadedModule::Trap> trap = module.takeTrap();
    return trap ? failure(trap->text) : Error::success();
  };
  return result;
}

Expected<LaunchableKernel> PtxKernels::find(const std::string &entry) {
  std::vector<std::string> known;
  std::vector<std::pair<runtime::LoadedModule *, const runtime::Manifest::Kernel *>> kernels;
  for (size_t i = 0; i < modules.size(); ++i) {
    Expected<runtime::LoadedModule *> m = module(i);
    if (!m) {
      if (modules.size() == 1)
        return m.takeError();
      consumeError(m.takeError()); // another module may have the kernel
      continue;
    }
    const runtime::Manifest &manifest = (*m)->manifest();
    if (entry.empty() && modules.size() == 1 && manifest.kernels.size() == 1)
      return launchable(**m, services, manifest.kernels.front());
    if (const runtime::Manifest::Kernel *kernel = manifest.kernel(entry))
      return launchable(**m, services, *kernel);
    for (const runtime::Manifest::Kernel &kernel : manifest.kernels) {
      known.push_back(kernel.name);
      kernels.emplace_back(*m, &kernel);
    }
  }
  Expected<std::string> name = findKernel(entry, known);
  if (!name)
    return name.takeError();
  for (const auto &[module, kernel] : kernels)
    if (kernel->name == *name && !name->empty())
      return launchable(*module, services, *kernel);
  return noKernel(path, entry, listOfKernels(known));
}

} // namespace

Expected<std::string> oneKernel(const std::string &path, const std::string &entry,
                                ArrayRef<std::string> names) {
  if (entry.empty() && names.size() == 1)
    return names.front();
  Expected<std::string> found = findKernel(entry, names);
  if (found && found->empty())
    return noKernel(path, entry, listOfKernels(names));
  return found;
}

namespace {

template <class Kernels> std::vector<std::string> namesOf(const Kernels &kernels) {
  std::vector<std::string> names;
  for (const auto &kernel : kernels)
    names.push_back(kernel.name);
  return names;
}

// A code object that `rubia compile` has made.
class OwnKernels {
public:
  OwnKernels(std::string path) : path(std::move(path)) {}
  ~OwnKernels() {
    module.reset();
    if (hip)
      services.release(*hip);
  }
  Error load(const runtime::Hip &onto, runtime::Compiler &compiler, ArrayRef<uint8_t> bytes) {
    hip = &onto;
    auto loaded = runtime::LoadedModule::loadCodeObject(
        onto, std::make_shared<const std::vector<uint8_t>>(bytes.begin(), bytes.end()), services,
        compiler);
    if (!loaded)
      return failure(path + ": " + toString(loaded.takeError()));
    module = std::move(*loaded);
    return Error::success();
  }
  Expected<LaunchableKernel> find(const std::string &entry) {
    const runtime::Manifest &manifest = module->manifest();
    Expected<std::string> name = oneKernel(path, entry, namesOf(manifest.kernels));
    if (!name)
      return name.takeError();
    return launchable(*module, services, *manifest.kernel(*name));
  }

private:
  std::string path;
  const runtime::Hip *hip = nullptr;
  runtime::DeviceServices services;
  std::unique_ptr<runtime::LoadedModule> module;
};

// A code object that HIP has loaded.
class CodeObjectKernels {
public:
  CodeObjectKernels(const runtime::Hip &hip, std::string path, CodeObjectFile file)
      : hip(hip), path(std::move(path)), file(std::move(file)) {}
  ~CodeObjectKernels() {
    if (module)
      hip.call<runtime::hipModuleUnload>(module);
  }
  Error choose();
  Error load() {
    return check(image->place, hip.call<runtime::hipModuleLoadData>(&module, image->bytes.data()));
  }
  ArrayRef<uint8_t> bytes() const { return image->bytes; }
  Expected<LaunchableKernel> find(const std::string &entry);

private:
  Error check(const Twine &what, int error) const {
    return error ? failure(what + ": " + hip.hipGetErrorString(error)) : Error::success();
  }

  const runtime::Hip &hip;
  std::string path;
  CodeObjectFile file;
  const CodeObjectImage *image = nullptr;
  void *module = nullptr;
};

Error CodeObjectKernels::choose() {
  int device = 0;
  if (Error error = check("hipGetDevice", hip.call<runtime::hipGetDevice>(&device)))
    return error;
  Expected<std::string> arch = hip.archName(device);
  if (!arch)
    return arch.takeError();
  Expected<const CodeObjectImage *> selected = selectImage(file, StringRef(*arch).split(':').first);
  if (!selected)
    return selected.takeError();
  image = *selected;
  return Error::success();
}

Expected<LaunchableKernel> CodeObjectKernels::find(const std::string &entry) {
  Expected<std::string> name = oneKernel(path, entry, namesOf(image->info.kernels));
  if (!name)
    return name.takeError();
  const emulator::KernelInfo *found =
      &*find_if(image->info.kernels, [&](const auto &kernel) { return kernel.name == *name; });
  LaunchableKernel result;
  result.name = found->name;
  result.parameterBytes = found->explicitKernargSize;
  for (const emulator::KernelArgument &argument : found->arguments)
    if (!argument.isHidden())
      result.parameters.push_back({argument.offset, argument.size});
  void *function = nullptr;
  if (Error error = check("hipModuleGetFunction", hip.call<runtime::hipModuleGetFunction>(
                                                      &function, module, found->name.c_str())))
    return std::move(error);
  result.launch = [this, function](const runtime::LaunchShape &shape, ArrayRef<uint8_t> bytes) {
    size_t size = bytes.size();
    void *extra[] = {runtime::kHipLaunchParamBufferPointer, const_cast<uint8_t *>(bytes.data()),
                     runtime::kHipLaunchParamBufferSize, &size, runtime::kHipLaunchParamEnd};
    return check("hipModuleLaunchKernel", hip.call<runtime::hipModuleLaunchKernel>(
                                              function, shape.grid[0], shape.grid[1], shape.grid[2],
                                              shape.block[0], shape.block[1], shape.block[2],
                                              shape.dynamicSharedBytes, nullptr, nullptr, extra));
  };
  result.finish = [] { return Error::success(); };
  return result;
}
} // namespace

Expected<KernelFinder> openPtxKernels(const runtime::Hip &hip, const std::string &path,
                                      const settings::Settings &settings) {
  Expected<unsigned> capability = computeCapability();
  if (!capability)
    return capability.takeError();
  Expected<SourceFile> file = openSources(path);
  if (!file)
    return file.takeError();
  if (file->sources.size() > 1)
    llvm::erase_if(file->sources, [](const Source &s) { return !s.hasPtx() && !s.hasKernels(); });
  const unsigned told = capabilityOf(*file, path, *capability);
  auto &compiler = runtime::Compiler::create(runtime::KernelCache::from(settings), settings);
  auto kernels = std::make_shared<PtxKernels>(hip, compiler, path, std::move(*file), told);
  return [kernels](const std::string &entry) { return kernels->find(entry); };
}

Expected<KernelFinder> openCodeObjectKernels(const runtime::Hip &hip, const std::string &path,
                                             const settings::Settings &settings) {
  Expected<CodeObjectFile> file = openCodeObjects(path);
  if (!file)
    return file.takeError();
  auto kernels = std::make_shared<CodeObjectKernels>(hip, path, std::move(*file));
  if (Error error = kernels->choose())
    return std::move(error);
  if (Expected<std::string> metadata = codegen::readMetadata(kernels->bytes())) {
    auto &compiler = runtime::Compiler::create(runtime::KernelCache::from(settings), settings);
    auto own = std::make_shared<OwnKernels>(path);
    if (Error error = own->load(hip, compiler, kernels->bytes()))
      return std::move(error);
    return [own](const std::string &entry) { return own->find(entry); };
  } else {
    consumeError(metadata.takeError()); // somebody else's
  }
  if (Error error = kernels->load())
    return std::move(error);
  return [kernels](const std::string &entry) { return kernels->find(entry); };
}

} // namespace rubia::tools
