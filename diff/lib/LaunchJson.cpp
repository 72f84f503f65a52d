// SPDX-License-Identifier: Apache-2.0
#include "diff/lib/LaunchJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>

using namespace llvm;

namespace rubia::capsule {
namespace {

constexpr StringLiteral kLeftOut = "left_out", kImages = "images", kResults = "results",
                        kLibraryCapability = "library_capability", kCommandLine = "command_line";
constexpr size_t kMaxParameterBytes = 65536; // CUDA has 32764
constexpr size_t kAttributeBytes = 64;
constexpr uint64_t kMaxLaunchBytes = uint64_t(1) << 34; // in all of its allocations
/// Beyond any address, and far enough from the end that sums do not wrap.
constexpr uint64_t kMaxAddress = uint64_t(1) << 62;

Error invalid(const Twine &key) {
  return createStringError("the record has an invalid or no \"" + key + "\"");
}

/// Members of an object, taken one by one; the first that is missing or of another kind is the
/// error.
class Reader {
public:
  explicit Reader(const json::Value &value) : object(value.getAsObject()) {
    if (!object)
      wrong = "{}";
  }
  Error take() { return wrong.empty() ? Error::success() : invalid(wrong); }
  void refuse(StringRef key) {
    if (wrong.empty())
      wrong = key.str();
  }

  template <class T> void number(StringRef key, T &out, uint64_t most) {
    const json::Value *value = find(key);
    const std::optional<uint64_t> got = value ? value->getAsUINT64() : std::nullopt;
    if (!got || *got > most)
      return refuse(key);
    out = static_cast<T>(*got);
  }
  void boolean(StringRef key, bool &out) {
    const json::Value *value = find(key);
    if (const std::optional<bool> got = value ? value->getAsBoolean() : std::nullopt)
      out = *got;
    else
      refuse(key);
  }
  void text(StringRef key, std::string &out) {
    const json::Value *value = find(key);
    if (const std::optional<StringRef> got = value ? value->getAsString() : std::nullopt)
      out = got->str();
    else
      refuse(key);
  }
  void bytes(StringRef key, std::vector<uint8_t> &out, size_t most) {
    std::string hex, raw;
    text(key, hex);
    if (hex.size() > 2 * most || hex.size() % 2 || !tryGetFromHex(hex, raw))
      return refuse(key);
    out.assign(raw.begin(), raw.end());
  }
  void digest(StringRef key, Digest &out) {
    std::vector<uint8_t> raw;
    bytes(key, raw, kDigestBytes);
    if (raw.size() != out.size())
      return refuse(key);
    std::copy(raw.begin(), raw.end(), out.begin());
  }
  void address(StringRef key, uint64_t &out) {
    std::string written;
    text(key, written);
    StringRef digits = written;
    if (!digits.consume_front("0x") || digits.getAsInteger(16, out) || out > kMaxAddress)
      refuse(key);
  }
  void dimensions(StringRef key, uint32_t (&out)[3]) {
    const json::Array *values = array(key);
    if (!values || values->size() != 3)
      return refuse(key);
    for (unsigned i = 0; i < 3; ++i) {
      const std::optional<uint64_t> one = (*values)[i].getAsUINT64();
      if (!one || *one > UINT32_MAX)
        return refuse(key);
      out[i] = uint32_t(*one);
    }
  }
  const json::Array *array(StringRef key) {
    const json::Value *value = find(key);
    const json::Array *got = value ? value->getAsArray() : nullptr;
    if (!got)
      refuse(key);
    return got;
  }
  bool has(StringRef key) const { return object && object->get(key); }

private:
  const json::Value *find(StringRef key) {
    const json::Value *value = object ? object->get(key) : nullptr;
    if (!value)
      refuse(key);
    return value;
  }
  const json::Object *object;
  std::string wrong;
};

/// Each member of an array, by `read`; its error is the array's.
template <class T, class Read>
void readEach(Reader &reader, StringRef key, std::vector<T> &out, Read read) {
  const json::Array *values = reader.array(key);
  for (const json::Value &value : values ? *values : json::Array())
    if (Error error = read(value, out.emplace_back())) {
      consumeError(std::move(error));
      return reader.refuse(key);
    }
}

Error readRegion(const json::Value &value, Region &out) {
  Reader reader(value);
  reader.address("address", out.address);
  reader.number("bytes", out.bytes, kMaxAddress);
  reader.text("kind", out.kind);
  if (reader.has("name"))
    reader.text("name", out.name);
  reader.digest("before", out.before);
  if (reader.has("after"))
    reader.digest("after", out.after.emplace());
  if (!out.bytes)
    reader.refuse("bytes");
  return reader.take();
}

Error readArray(const json::Value &value, ArrayRegion &out) {
  Reader reader(value);
  reader.number("width", out.width, ArrayRegion::kMaxSize);
  reader.number("height", out.height, ArrayRegion::kMaxSize);
  reader.number("depth", out.depth, ArrayRegion::kMaxSize);
  reader.number("format", out.format, INT32_MAX);
  reader.number("channels", out.channels, 4);
  reader.number("flags", out.flags, UINT32_MAX);
  reader.number("levels", out.levels, ArrayRegion::kMaxLevels);
  reader.number("bytes", out.bytes, kMaxAddress);
  reader.digest("before", out.before);
  if (reader.has("after"))
    reader.digest("after", out.after.emplace());
  if (Error error = reader.take())
    return error;
  out.kind = "array";
  return out.bytes && out.bytes == out.contentBytes() ? Error::success() : invalid("bytes");
}

Error readTexture(const json::Value &value, Texture &out) {
  Reader reader(value);
  const auto structure = [&](StringRef key, std::vector<uint8_t> &bytes, size_t size) {
    reader.bytes(key, bytes, size);
    if (bytes.size() != size)
      reader.refuse(key);
  };
  if (reader.has("name"))
    reader.text("name", out.name);
  else
    reader.address("handle", out.handle);
  reader.boolean("surface", out.isSurface);
  structure("resource", out.resource, Texture::kResourceBytes);
  if (!out.isSurface)
    structure("sampler", out.sampler, Texture::kSamplerBytes);
  if (reader.has("view"))
    structure("view", out.view, Texture::kViewBytes);
  if (reader.has("array"))
    reader.number("array", out.array.emplace(), UINT32_MAX);
  if (Error error = reader.take())
    return error;
  const Texture::Kind kind = out.kind();
  const bool isOfArray = kind == Texture::Kind::Array || kind == Texture::Kind::Mipmapped;
  return kind <= Texture::Kind::Pitched && isOfArray == out.array.has_value() ? Error::success()
                                                                              : invalid("resource");
}

Error readTensorMap(const json::Value &value, TensorMap &out) {
  Reader reader(value);
  std::vector<uint8_t> arguments;
  reader.bytes("bytes", out.bytes, kTensorMapBytes);
  reader.bytes("arguments", arguments, sizeof(out.arguments));
  if (out.bytes.size() != kTensorMapBytes)
    reader.refuse("bytes");
  if (arguments.size() != sizeof(out.arguments))
    reader.refuse("arguments");
  if (Error error = reader.take())
    return error;
  std::memcpy(&out.arguments, arguments.data(), sizeof(out.arguments));
  return out.arguments.rank - 1 < std::size(out.arguments.sizes) ? Error::success()
                                                                 : invalid("arguments");
}

Error readAttribute(const json::Value &value, Launch::Attribute &out) {
  Reader reader(value);
  reader.number("id", out.id, INT32_MAX);
  reader.bytes("value", out.value, kAttributeBytes);
  if (out.value.size() != kAttributeBytes)
    reader.refuse("value");
  return reader.take();
}

Error readParameter(const json::Value &value, Launch::Parameter &out) {
  const json::Array *pair = value.getAsArray();
  const auto number = [&](size_t i) {
    return pair && pair->size() == 2 ? (*pair)[i].getAsUINT64() : std::nullopt;
  };
  const std::optional<uint64_t> offset = number(0), bytes = number(1);
  if (!offset || !bytes || *offset > kMaxParameterBytes || *bytes > kMaxParameterBytes)
    return invalid("layout");
  out = {uint32_t(*offset), uint32_t(*bytes)};
  return Error::success();
}

Error readNamed(const json::Value &value, Call::Named &out) {
  const json::Array *pair = value.getAsArray();
  const std::optional<StringRef> name =
      pair && pair->size() == 2 ? (*pair)[0].getAsString() : std::nullopt;
  if (!name)
    return invalid("arguments");
  out = {name->str(), (*pair)[1]};
  return Error::success();
}

Error readImage(const json::Value &value, Digest &out) {
  const std::optional<StringRef> text = value.getAsString();
  std::string raw;
  if (!text || text->size() != 2 * out.size() || !tryGetFromHex(*text, raw))
    return invalid("images");
  std::copy(raw.begin(), raw.end(), out.begin());
  return Error::success();
}

bool overlap(ArrayRef<Region> regions) {
  std::vector<std::pair<uint64_t, uint64_t>> spans;
  for (const Region &region : regions)
    spans.emplace_back(region.address, region.address + region.bytes);
  sort(spans);
  for (size_t i = 1; i < spans.size(); ++i)
    if (spans[i].first < spans[i - 1].second)
      return true;
  return false;
}

std::string hexOf(ArrayRef<uint8_t> bytes) { return toHex(bytes, true); }

json::Array arrayOf(const uint32_t (&values)[3]) {
  return json::Array{int64_t(values[0]), int64_t(values[1]), int64_t(values[2])};
}

} // namespace

Expected<Environment> environmentOf(const json::Value &value) {
  Environment out;
  Reader reader(value);
  reader.text("device", out.device);
  reader.number("driver_version", out.driverVersion, INT32_MAX);
  reader.number("compute_capability", out.computeCapability, 10000);
  reader.number("multiprocessors", out.multiprocessors, INT32_MAX);
  reader.boolean("ptx_jit_forced", out.isJitForced);
  if (Error error = reader.take())
    return std::move(error);
  const json::Object &object = *value.getAsObject();
  out.hasLibraryCapability = object.getBoolean(kLibraryCapability).value_or(false);
  if (const json::Array *words = object.getArray(kCommandLine))
    for (const json::Value &word : *words)
      out.commandLine.push_back(word.getAsString().value_or("").str());
  if (const json::Array *leftOut = object.getArray(kLeftOut))
    for (const json::Value &what : *leftOut) {
      out.hasNoImages |= what.getAsString() == kImages;
      out.hasNoResults |= what.getAsString() == kResults;
    }
  return out;
}

Expected<Counts> countsOf(const json::Value &value) {
  Counts out;
  Reader reader(value);
  reader.number("launches", out.launches, UINT64_MAX);
  reader.number("recorded", out.recorded, UINT64_MAX);
  reader.number("in_stream_capture", out.inStreamCapture, UINT64_MAX);
  reader.number("graph_launches", out.graphLaunches, UINT64_MAX);
  if (reader.has("whole_graph_launches")) // before there was it, all were launched whole
    reader.number("whole_graph_launches", out.wholeGraphLaunches, UINT64_MAX);
  else
    out.wholeGraphLaunches = out.graphLaunches;
  if (Error error = reader.take())
    return std::move(error);
  out.seconds = value.getAsObject()->getNumber("seconds").value_or(0);
  return out;
}

Expected<Call> callOf(const json::Value &value) {
  Call out;
  Reader reader(value);
  reader.number("call", out.number, UINT64_MAX);
  reader.number("thread", out.thread, UINT64_MAX);
  reader.text("name", out.name);
  readEach(reader, "arguments", out.arguments, readNamed);
  readEach(reader, "written", out.written, readNamed);
  reader.number("result", out.result, INT32_MAX);
  if (Error error = reader.take())
    return std::move(error);
  return out;
}

Expected<Launch> launchOf(const json::Value &value, uint64_t leastOrdinal) {
  Launch out;
  Reader reader(value);
  reader.number("ordinal", out.ordinal, UINT64_MAX);
  reader.number("of_kernel", out.ofKernel, UINT64_MAX);
  reader.text("kernel", out.kernel);
  if (reader.has("graph_launch")) {
    reader.number("graph_launch", out.inGraph.emplace().launch, UINT64_MAX);
    reader.number("graph_node", out.inGraph->node, UINT64_MAX);
  }
  readEach(reader, "images", out.images, readImage);
  reader.number("ptx_version", out.ptxVersion, INT32_MAX);
  reader.number("binary_version", out.binaryVersion, INT32_MAX);
  reader.dimensions("grid", out.grid);
  reader.dimensions("block", out.block);
  reader.number("shared", out.sharedBytes, UINT32_MAX);
  readEach(reader, "attributes", out.attributes, readAttribute);
  reader.boolean("cooperative", out.isCooperative);
  reader.bytes("parameters", out.parameters, kMaxParameterBytes);
  readEach(reader, "layout", out.layout, readParameter);
  readEach(reader, "memory", out.memory, readRegion);
  if (reader.has("textures")) {
    readEach(reader, "arrays", out.arrays, readArray);
    readEach(reader, "textures", out.textures, readTexture);
  }
  if (reader.has("tensor_maps"))
    readEach(reader, "tensor_maps", out.tensorMaps, readTensorMap);
  reader.number("status", out.status, INT32_MAX);
  if (reader.has("moved"))
    readEach(reader, "moved", out.moved.regions, [&](const json::Value &value, uint64_t &region) {
      const std::optional<uint64_t> index = value.getAsUINT64();
      region = index.value_or(0);
      return index && *index < out.memory.size() ? Error::success() : invalid("moved");
    });
  if (reader.has("moved_words")) {
    reader.number("moved_words", out.moved.words, UINT64_MAX);
    reader.number("moved_word_region", out.moved.region, UINT32_MAX);
    reader.number("moved_word_offset", out.moved.offset, kMaxAddress);
  }
  if (reader.has("free_sums")) {
    reader.number("free_sums", out.fusion.sums, UINT32_MAX);
    reader.number("fused_sums", out.fusion.fused, UINT32_MAX);
    reader.number("fusing_runs", out.fusion.runs, UINT32_MAX);
  }
  if (reader.has("untouched_pages"))
    reader.number("untouched_pages", out.untouchedPages, UINT64_MAX);
  if (reader.has("problem"))
    reader.text("problem", out.problem);
  for (const Launch::Parameter &parameter : out.layout)
    if (parameter.offset + parameter.bytes > out.parameters.size())
      reader.refuse("layout");
  if (out.ordinal < leastOrdinal)
    reader.refuse("ordinal");
  uint64_t bytes = 0;
  for (const Region *region : std::as_const(out).regions())
    bytes = std::min(bytes + region->bytes, kMaxAddress);
  if (overlap(out.memory))
    reader.refuse("memory");
  if (bytes > kMaxLaunchBytes && out.problem.empty())
    out.problem = "its allocations have more than 16 GiB";
  if (Error error = reader.take())
    return std::move(error);
  for (const Texture &texture : out.textures)
    if (texture.array &&
        (*texture.array >= out.arrays.size() ||
         (texture.kind() == Texture::Kind::Mipmapped) != (out.arrays[*texture.array].levels > 0)))
      return invalid("array");
  return out;
}

std::string Launch::whyNotReplayable() const {
  if (!problem.empty())
    return problem;
  if (status)
    return "the driver refused the launch with status " + std::to_string(status);
  if (images.empty())
    return "image unknown: its module was loaded in a way that is not seen";
  for (const Region *region : regions())
    if (!region->after)
      return "its memory was not read after it";
  return "";
}

json::Value toJson(const Environment &environment) {
  json::Object out{{"device", environment.device},
                   {"driver_version", environment.driverVersion},
                   {"compute_capability", environment.computeCapability},
                   {"multiprocessors", environment.multiprocessors},
                   {"ptx_jit_forced", environment.isJitForced}};
  if (environment.hasLibraryCapability)
    out[kLibraryCapability] = true;
  if (!environment.commandLine.empty())
    out[kCommandLine] = json::Array(environment.commandLine);
  json::Array leftOut;
  if (environment.hasNoImages)
    leftOut.push_back(kImages);
  if (environment.hasNoResults)
    leftOut.push_back(kResults);
  if (!leftOut.empty())
    out[kLeftOut] = std::move(leftOut);
  return out;
}

json::Value toJson(const Counts &counts) {
  return json::Object{{"launches", counts.launches},
                      {"recorded", counts.recorded},
                      {"in_stream_capture", counts.inStreamCapture},
                      {"graph_launches", counts.graphLaunches},
                      {"whole_graph_launches", counts.wholeGraphLaunches},
                      {"seconds", counts.seconds}};
}

static json::Value toJson(const Region &region) {
  json::Object out{{"address", "0x" + utohexstr(region.address, true)},
                   {"bytes", region.bytes},
                   {"kind", region.kind},
                   {"before", hexOf(region.before)}};
  if (!region.name.empty())
    out["name"] = region.name;
  if (region.after)
    out["after"] = hexOf(*region.after);
  return out;
}

static json::Value toJson(const ArrayRegion &array) {
  json::Object out{
      {"width", array.width},   {"height", array.height},     {"depth", array.depth},
      {"format", array.format}, {"channels", array.channels}, {"flags", array.flags},
      {"levels", array.levels}, {"bytes", array.bytes},       {"before", hexOf(array.before)}};
  if (array.after)
    out["after"] = hexOf(*array.after);
  return out;
}

static json::Value toJson(const Texture &texture) {
  json::Object out{{"surface", texture.isSurface}, {"resource", hexOf(texture.resource)}};
  if (texture.name.empty())
    out["handle"] = "0x" + utohexstr(texture.handle, true);
  else
    out["name"] = texture.name;
  if (!texture.sampler.empty())
    out["sampler"] = hexOf(texture.sampler);
  if (!texture.view.empty())
    out["view"] = hexOf(texture.view);
  if (texture.array)
    out["array"] = *texture.array;
  return out;
}

static json::Value toJson(const TensorMap &map) {
  const auto *arguments = reinterpret_cast<const uint8_t *>(&map.arguments);
  return json::Object{{"bytes", hexOf(map.bytes)},
                      {"arguments", hexOf({arguments, sizeof(map.arguments)})}};
}

json::Value toJson(const Launch &launch) {
  json::Array images, attributes, layout, memory, arrays, textures, tensorMaps;
  for (const TensorMap &map : launch.tensorMaps)
    tensorMaps.push_back(toJson(map));
  for (const ArrayRegion &array : launch.arrays)
    arrays.push_back(toJson(array));
  for (const Texture &texture : launch.textures)
    textures.push_back(toJson(texture));
  for (const Digest &image : launch.images)
    images.push_back(hexOf(image));
  for (const Launch::Attribute &attribute : launch.attributes)
    attributes.push_back(json::Object{{"id", attribute.id}, {"value", hexOf(attribute.value)}});
  for (const Launch::Parameter &parameter : launch.layout)
    layout.push_back(json::Array{int64_t(parameter.offset), int64_t(parameter.bytes)});
  for (const Region &region : launch.memory)
    memory.push_back(toJson(region));
  json::Object out{{"ordinal", launch.ordinal},
                   {"of_kernel", launch.ofKernel},
                   {"kernel", launch.kernel},
                   {"images", std::move(images)},
                   {"ptx_version", launch.ptxVersion},
                   {"binary_version", launch.binaryVersion},
                   {"grid", arrayOf(launch.grid)},
                   {"block", arrayOf(launch.block)},
                   {"shared", launch.sharedBytes},
                   {"attributes", std::move(attributes)},
                   {"cooperative", launch.isCooperative},
                   {"parameters", hexOf(launch.parameters)},
                   {"layout", std::move(layout)},
                   {"memory", std::move(memory)},
                   {"status", launch.status}};
  if (!tensorMaps.empty())
    out["tensor_maps"] = std::move(tensorMaps);
  if (launch.inGraph) {
    out["graph_launch"] = launch.inGraph->launch;
    out["graph_node"] = launch.inGraph->node;
  }
  if (!launch.textures.empty()) {
    out["arrays"] = std::move(arrays);
    out["textures"] = std::move(textures);
  }
  if (!launch.moved.regions.empty()) {
    json::Array regions;
    for (uint64_t region : launch.moved.regions)
      regions.push_back(region);
    out["moved"] = std::move(regions);
  }
  if (launch.moved.words) {
    out["moved_words"] = launch.moved.words;
    out["moved_word_region"] = launch.moved.region;
    out["moved_word_offset"] = launch.moved.offset;
  }
  if (launch.fusion.sums) {
    out["free_sums"] = launch.fusion.sums;
    out["fused_sums"] = launch.fusion.fused;
    out["fusing_runs"] = launch.fusion.runs;
  }
  if (launch.untouchedPages)
    out["untouched_pages"] = launch.untouchedPages;
  if (!launch.problem.empty())
    out["problem"] = launch.problem;
  return out;
}

} // namespace rubia::capsule
