// SPDX-License-Identifier: Apache-2.0
// One write(2) a line, to a file that is opened for appending: lines of several processes do not
// mix.
#include "runtime/device/KernelRecord.h"
#include "input/Writing.h"
#include "runtime/base/Log.h"
#include "settings/Settings.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>
#include <set>
#include <zstd.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting recordKernels;
} // namespace rubia::settings::Id

namespace rubia::runtime {

namespace {
class Recorder {
public:
  explicit Recorder(std::string name) : path(std::move(name)) {
    if (!path.empty())
      if (std::error_code error; !(file = input::KeptFile::append(path, error)))
        stop(error);
  }
  void record(const ModuleImage &image, const Manifest &manifest, uint32_t unit,
              const settings::Code &code);

private:
  void write(json::Object line);
  void stop(std::error_code error) {
    log(LogLevel::Error, path + ": " + error.message() + "; no kernels are recorded");
    file = nullptr;
  }

  const std::string path;
  std::unique_ptr<input::KeptFile> file;
  std::mutex mutex;
  std::set<std::pair<Digest, unsigned>> images;
  std::set<std::tuple<Digest, unsigned, uint32_t>> units;
};

void Recorder::write(json::Object line) {
  std::string text;
  raw_string_ostream(text) << json::Value(std::move(line)) << "\n";
  if (!file)
    return;
  *file << text;
  if (std::error_code error = file->takeError())
    stop(error);
}

std::string compressed(ArrayRef<uint8_t> bytes) {
  std::vector<char> buffer(ZSTD_compressBound(bytes.size()));
  const size_t size = ZSTD_compress(buffer.data(), buffer.size(), bytes.data(), bytes.size(), 3);
  if (ZSTD_isError(size)) // with a buffer of that size: no memory
    reportFatalInternalError(ZSTD_getErrorName(size));
  buffer.resize(size);
  return encodeBase64(buffer);
}

void Recorder::record(const ModuleImage &image, const Manifest &manifest, uint32_t unit,
                      const settings::Code &code) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!file || !units.emplace(image.digest, image.computeCapability, unit).second)
    return;
  json::Array kernels;
  for (const Manifest::Kernel &kernel : manifest.kernels)
    if (kernel.unit == unit)
      kernels.push_back(json::fixUTF8(kernel.name));
  if (kernels.empty())
    return;
  const std::string digest = toHex(image.digest, /*LowerCase=*/true);
  if (images.emplace(image.digest, image.computeCapability).second)
    write(json::Object{{"version", 1},
                       {"image", digest},
                       {"compute_capability", image.computeCapability},
                       {"size", int64_t(image.bytes.size())},
                       {"zstd_base64", compressed(image.bytes)}});
  json::Object options;
  for (const auto &[name, value] : code.keyFields())
    options[name] = value;
  write(json::Object{{"version", 1},
                     {"image", digest},
                     {"compute_capability", image.computeCapability},
                     {"kernels", std::move(kernels)},
                     {"code", std::move(options)}});
}
} // namespace

void recordUnit(const ModuleImage &image, const Manifest &manifest, uint32_t unit,
                const settings::Code &code) {
  // Never freed: programs launch after their static destructors have run.
  static auto &recorder = *new Recorder(settings::Settings().text(settings::Id::recordKernels));
  recorder.record(image, manifest, unit, code);
}

} // namespace rubia::runtime
