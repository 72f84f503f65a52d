// SPDX-License-Identifier: Apache-2.0
// `rubia launch --reference`: buffers are host memory, and a launch is done when it returns.
#include "reference/Interpreter.h"
#include "tools/Sources.h"
#include "tools/launch/LaunchDevice.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <map>

using namespace llvm;

namespace rubia::tools {
namespace {

class ReferenceDevice : public LaunchDevice {
public:
  Expected<void *> allocate(size_t bytes) override {
    std::vector<uint64_t> words(bytes / 8 + 2); // aligned to 16 bytes, as malloc's memory
    void *address = words.data();
    buffers[address] = {std::move(words), bytes};
    return address;
  }
  void free(void *address) override { buffers.erase(address); }
  Error write(void *to, ArrayRef<uint8_t> bytes) override {
    memcpy(to, bytes.data(), bytes.size());
    return Error::success();
  }
  Error read(MutableArrayRef<uint8_t> bytes, const void *from) override {
    memcpy(bytes.data(), from, bytes.size());
    return Error::success();
  }
  std::string synchronize() override { return ""; }

  void giveTo(reference::Interpreter &interpreter) {
    interpreter.clearMemory();
    for (auto &[address, buffer] : buffers)
      interpreter.addMemory(
          {reinterpret_cast<uint64_t>(address), {static_cast<uint8_t *>(address), buffer.bytes}});
  }

private:
  struct Buffer {
    std::vector<uint64_t> words;
    size_t bytes = 0;
  };
  std::map<void *, Buffer> buffers;
};

struct LoadedSource {
  runtime::PtxImage image;
  std::unique_ptr<reference::Interpreter> interpreter;
};

class Kernels {
public:
  Kernels(std::string path, SourceFile file, ReferenceDevice &device)
      : path(std::move(path)), file(std::move(file)), device(device) {}
  Error load();
  Expected<LaunchableKernel> find(const std::string &entry);

private:
  LaunchableKernel launchable(LoadedSource &source, const ptx::Function &kernel);
  std::string path;
  SourceFile file;
  ReferenceDevice &device;
  std::vector<std::unique_ptr<LoadedSource>> sources;
};

// Of several modules those that can be read: another one may have the kernel.
Error Kernels::load() {
  Expected<unsigned> forPrograms = computeCapability();
  if (!forPrograms)
    return forPrograms.takeError();
  const unsigned capability = capabilityOf(file, path, *forPrograms);
  for (const Source &source : file.sources) {
    Expected<runtime::PtxImage> image = parse(source, capability);
    if (!image) {
      if (file.sources.size() == 1)
        return image.takeError();
      consumeError(image.takeError());
      continue;
    }
    sources.push_back(std::make_unique<LoadedSource>(LoadedSource{std::move(*image), nullptr}));
  }
  return Error::success();
}

LaunchableKernel Kernels::launchable(LoadedSource &source, const ptx::Function &kernel) {
  LaunchableKernel result;
  result.name = kernel.name.str();
  const std::vector<uint32_t> offsets = reference::parameterLayout(kernel);
  for (auto [n, parameter] : enumerate(kernel.parameters))
    result.parameters.push_back({offsets[n], uint32_t(parameter->sizeInBytes)});
  result.parameterBytes = offsets.back();
  result.launch = [this, &source, &kernel](const runtime::LaunchShape &shape,
                                           ArrayRef<uint8_t> bytes) -> Error {
    if (!source.interpreter) {
      auto interpreter = reference::Interpreter::create(source.image.module());
      if (!interpreter)
        return interpreter.takeError();
      source.interpreter = std::move(*interpreter);
    }
    device.giveTo(*source.interpreter);
    reference::Launch launch;
    launch.kernel = kernel.name.str();
    std::copy_n(shape.grid, 3, launch.grid.begin());
    std::copy_n(shape.block, 3, launch.block.begin());
    launch.dynamicSharedBytes = shape.dynamicSharedBytes;
    launch.parameters = bytes;
    auto print = [](StringRef text) { outs() << text; };
    launch.print = print;
    return source.interpreter->launch(launch).takeError();
  };
  result.finish = [] { return Error::success(); };
  return result;
}

Expected<LaunchableKernel> Kernels::find(const std::string &entry) {
  std::vector<std::string> names;
  std::vector<std::pair<LoadedSource *, const ptx::Function *>> kernels;
  for (const auto &source : sources)
    for (const ptx::Function *function : source->image.module().functions)
      if (function->isKernel && function->hasBody) {
        names.push_back(function->name.str());
        kernels.emplace_back(source.get(), function);
      }
  Expected<std::string> name = oneKernel(path, entry, names);
  if (!name)
    return name.takeError();
  const size_t at = size_t(llvm::find(names, *name) - names.begin());
  return launchable(*kernels[at].first, *kernels[at].second);
}

} // namespace

Expected<ReferenceKernels> openReferenceKernels(const std::string &path) {
  Expected<SourceFile> file = openSources(path);
  if (!file)
    return file.takeError();
  auto device = std::make_unique<ReferenceDevice>();
  auto kernels = std::make_shared<Kernels>(path, std::move(*file), *device);
  if (Error error = kernels->load())
    return std::move(error);
  return ReferenceKernels{std::move(device),
                          [kernels](const std::string &entry) { return kernels->find(entry); }};
}

} // namespace rubia::tools
