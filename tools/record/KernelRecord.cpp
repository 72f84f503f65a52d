// SPDX-License-Identifier: Apache-2.0
#include "tools/record/KernelRecord.h"
#include "fatbin/File.h"
#include "input/BoundedJson.h"
#include "input/File.h"
#include "settings/Settings.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Base64.h"
#include <map>
#include <zstd.h>

using namespace llvm;

namespace rubia::tools {

namespace {
constexpr uint64_t kMaxFileBytes = uint64_t(16) << 30;

using Key = std::pair<std::string, unsigned>; // digest in hex, compute capability

Error wrong(const Twine &what) { return createStringError(what); }

Expected<runtime::ModuleImage> imageOf(const json::Object &line, unsigned capability) {
  const auto text = line.getString("zstd_base64");
  const int64_t size = line.getInteger("size").value_or(-1);
  if (!text || size <= 0 || uint64_t(size) > fatbin::kMaxFileBytes)
    return wrong("an image without its bytes");
  std::vector<char> compressed;
  if (Error error = decodeBase64(*text, compressed))
    return std::move(error);
  std::vector<uint8_t> bytes(static_cast<size_t>(size));
  const size_t found =
      ZSTD_decompress(bytes.data(), bytes.size(), compressed.data(), compressed.size());
  if (ZSTD_isError(found) || found != bytes.size())
    return wrong("the bytes of an image are damaged");
  return runtime::ModuleImage(std::move(bytes), capability);
}

Expected<settings::Code> codeOf(const json::Object &line) {
  const json::Object *fields = line.getObject("code");
  settings::Settings settings;
  for (const settings::Row &row : settings::rows()) {
    if (row.key.empty())
      continue;
    const auto value = fields ? fields->getString(row.key) : std::nullopt;
    if (!value)
      return wrong("no '" + row.key + "' in the code's options");
    settings.set(row.id, *value);
    if (Error error = settings.check(row.id))
      return std::move(error);
  }
  return settings.code();
}

class Reader {
public:
  Error read(StringRef text);
  KernelRecord record;

private:
  std::map<Key, size_t> images;
};

Error Reader::read(StringRef text) {
  Expected<json::Value> value = input::parseBoundedJson(text);
  if (!value)
    return value.takeError();
  const json::Object *line = value->getAsObject();
  if (!line || line->getInteger("version") != 1)
    return wrong("no record of kernels, or one of another version");
  const auto digest = line->getString("image");
  const auto capability = line->getInteger("compute_capability");
  if (!digest || !capability || *capability < 0 || *capability > 1000)
    return wrong("no image is named");
  const Key key{digest->str(), unsigned(*capability)};
  if (!line->get("kernels")) {
    if (images.contains(key))
      return Error::success(); // of another process
    Expected<runtime::ModuleImage> image = imageOf(*line, key.second);
    if (!image)
      return image.takeError();
    if (toHex(image->digest, true) != key.first)
      return wrong("the bytes of an image are not those of its digest");
    images[key] = record.images.size();
    record.images.push_back({std::move(*image), {}});
    return Error::success();
  }
  const auto image = images.find(key);
  if (image == images.end())
    return wrong("kernels whose image is not in front of them");
  RecordedKernels kernels;
  const json::Array *names = line->getArray("kernels");
  for (size_t i = 0; names && i < names->size(); ++i) {
    const auto name = (*names)[i].getAsString();
    if (!name)
      return wrong("a kernel without a name");
    kernels.names.push_back(name->str());
  }
  if (kernels.names.empty())
    return wrong("no kernels are named");
  Expected<settings::Code> code = codeOf(*line);
  if (!code)
    return code.takeError();
  kernels.code = *code;
  record.images[image->second].kernels.push_back(std::move(kernels));
  return Error::success();
}
} // namespace

Expected<KernelRecord> readKernelRecord(const std::string &path) {
  auto file = input::readFile(path, kMaxFileBytes);
  if (!file)
    return file.takeError();
  Reader reader;
  unsigned number = 0;
  for (StringRef rest = (*file)->getBuffer(); !rest.empty();) {
    ++number;
    const auto [line, after] = rest.split('\n');
    rest = after;
    if (Error error = line.empty() ? Error::success() : reader.read(line))
      return createStringError(path + ":" + Twine(number) + ": " + toString(std::move(error)));
  }
  if (none_of(reader.record.images, [](const auto &image) { return !image.kernels.empty(); }))
    return createStringError(path + ": no kernels are recorded in it");
  return std::move(reader.record);
}

} // namespace rubia::tools
