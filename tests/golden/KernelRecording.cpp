// SPDX-License-Identifier: Apache-2.0
#include "KernelRecording.h"
#include "PackedFile.h"

using namespace llvm;
using nlohmann::json;

namespace rubia::golden {

Error write(const Recording &recording, StringRef path) {
  PackedFile file;
  file.header = {{"device", recording.device}, {"date", recording.date}};
  for (const auto &[name, kernel] : recording.kernels) {
    json sizes = json::array();
    for (const std::vector<uint8_t> &output : kernel.outputs) {
      sizes.push_back(output.size());
      file.blob.append(output.begin(), output.end());
    }
    file.header["kernels"].push_back({{"name", name}, {"digest", kernel.digest}, {"sizes", sizes}});
  }
  return write(file, path);
}

Expected<Recording> readRecording(StringRef path) {
  auto file = readPacked(path);
  if (!file)
    return file.takeError();
  const json &header = file->header;
  if (!header.contains("kernels"))
    return createStringError(path + " has no kernels");
  Recording recording{header["device"], header["date"], {}};
  StringRef rest = file->blob;
  for (const json &entry : header["kernels"]) {
    Recorded &kernel = recording.kernels[entry["name"]];
    kernel.digest = entry["digest"];
    for (size_t size : entry["sizes"]) {
      if (size > rest.size())
        return createStringError(path + " is truncated");
      kernel.outputs.emplace_back(rest.bytes_begin(), rest.bytes_begin() + size);
      rest = rest.drop_front(size);
    }
  }
  return recording;
}

} // namespace rubia::golden
