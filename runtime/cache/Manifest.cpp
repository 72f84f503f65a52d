// SPDX-License-Identifier: Apache-2.0
// Manifest <-> bytes: magic, size of the JSON text, JSON text, blob.
#include "runtime/cache/Manifest.h"
#include "input/BoundedJson.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rubia::runtime {

static constexpr StringRef kMagic = "RUBIAMF1";
// Far above what can be launched or allocated, far below where sums wrap.
static constexpr uint64_t kMaxVariableBytes = uint64_t(1) << 48;

uint64_t Manifest::Kernel::mostThreads() const {
  uint64_t most = 1024;
  for (const auto *bound : {&requiredThreads, &maxThreads})
    if (const auto &n = *bound; n[0])
      most = std::min(most, uint64_t(n[0]) * std::max(1u, n[1]) * std::max(1u, n[2]));
  return most;
}

const Manifest::Kernel *Manifest::kernel(StringRef name) const {
  for (const Kernel &k : kernels)
    if (k.name == name)
      return &k;
  return nullptr;
}

const Manifest::Variable *Manifest::variable(StringRef name) const {
  for (const Variable &v : variables)
    if (v.name == name)
      return &v;
  return nullptr;
}

static json::Array toJson(const uint32_t (&v)[3]) { return json::Array{v[0], v[1], v[2]}; }

static json::Value toJson(const Manifest::Kernel &k) {
  json::Array parameters;
  for (const Manifest::Parameter &p : k.parameters)
    parameters.push_back(json::Array{p.offset, p.size, p.alignment});
  return json::Object{{"name", k.name},
                      {"unit", k.unit},
                      {"parameters", std::move(parameters)},
                      {"parameterBytes", k.parameterBytes},
                      {"maxThreads", toJson(k.maxThreads)},
                      {"requiredThreads", toJson(k.requiredThreads)},
                      {"requiredCluster", toJson(k.requiredCluster)},
                      {"maxClusterRank", k.maxClusterRank},
                      {"explicitCluster", k.explicitCluster},
                      {"staticSharedBytes", k.staticSharedBytes},
                      {"error", k.error}};
}

static json::Value toJson(const Manifest::Variable &v) {
  json::Array relocations;
  for (const Manifest::Relocation &r : v.relocations)
    relocations.push_back(
        json::Array{r.offset, r.width, r.variable, r.addend, r.isFunction ? 1 : 0});
  return json::Object{{"name", v.name},
                      {"constant", v.constant},
                      {"managed", v.managed},
                      {"visible", v.visible},
                      {"reference", uint8_t(v.reference)},
                      {"size", v.size},
                      {"alignment", v.alignment},
                      {"initialized", v.initialized},
                      {"blobOffset", v.blobOffset},
                      {"relocations", std::move(relocations)}};
}

std::vector<uint8_t> Manifest::serialize() const {
  json::Array kernelList, variableList;
  for (const Kernel &k : kernels)
    kernelList.push_back(toJson(k));
  for (const Variable &v : variables)
    variableList.push_back(toJson(v));
  json::Object root{{"ptx", json::Array{ptxMajor, ptxMinor}},
                    {"sm", sm},
                    {"units", unitCount},
                    {"functions", json::Array(functions)},
                    {"functionUnit", functionUnit},
                    {"kernels", std::move(kernelList)},
                    {"variables", std::move(variableList)},
                    {"diagnostics", json::Array(diagnostics)},
                    {"invalid", json::Array(invalid)},
                    {"unresolved", json::Array(unresolved)}};
  std::string text;
  raw_string_ostream(text) << json::Value(std::move(root));

  std::vector<uint8_t> bytes(kMagic.begin(), kMagic.end());
  bytes.resize(kMagic.size() + 8);
  support::endian::write64le(bytes.data() + kMagic.size(), text.size());
  bytes.insert(bytes.end(), text.begin(), text.end());
  bytes.insert(bytes.end(), blob.begin(), blob.end());
  return bytes;
}

namespace {
template <typename T> bool integer(const json::Value &value, T &out) {
  if (auto i = value.getAsUINT64(); i && *i <= std::numeric_limits<T>::max()) {
    out = T(*i);
    return true;
  }
  return false;
}
template <> bool integer(const json::Value &value, int64_t &out) {
  if (auto i = value.getAsInteger())
    out = *i;
  return bool(value.getAsInteger());
}

template <typename... T> bool tuple(const json::Value &value, T &...out) {
  const json::Array *array = value.getAsArray();
  size_t i = 0;
  return array && array->size() == sizeof...(T) && (integer((*array)[i++], out) && ...);
}

template <typename T> bool field(const json::Object &object, StringRef key, T &out) {
  const json::Value *value = object.get(key);
  return value && integer(*value, out);
}
bool field(const json::Object &object, StringRef key, std::string &out) {
  auto text = object.getString(key);
  if (text)
    out = text->str();
  return bool(text);
}
bool field(const json::Object &object, StringRef key, bool &out) {
  auto flag = object.getBoolean(key);
  out = flag.value_or(false);
  return bool(flag);
}
bool field(const json::Object &object, StringRef key, uint32_t (&out)[3]) {
  const json::Value *value = object.get(key);
  return value && tuple(*value, out[0], out[1], out[2]);
}

bool read(const json::Value &value, Manifest::Kernel &k) {
  const json::Object *object = value.getAsObject();
  if (!object || !field(*object, "name", k.name) || !field(*object, "unit", k.unit) ||
      !field(*object, "parameterBytes", k.parameterBytes) ||
      !field(*object, "maxThreads", k.maxThreads) ||
      !field(*object, "requiredThreads", k.requiredThreads) ||
      !field(*object, "requiredCluster", k.requiredCluster) ||
      !field(*object, "maxClusterRank", k.maxClusterRank) ||
      !field(*object, "explicitCluster", k.explicitCluster) ||
      !field(*object, "staticSharedBytes", k.staticSharedBytes) ||
      !field(*object, "error", k.error) || k.parameterBytes > Manifest::kMaxParameterBytes)
    return false;
  const json::Array *parameters = object->getArray("parameters");
  if (!parameters)
    return false;
  for (const json::Value &p : *parameters) {
    Manifest::Parameter &parameter = k.parameters.emplace_back();
    if (!tuple(p, parameter.offset, parameter.size, parameter.alignment) ||
        uint64_t(parameter.offset) + parameter.size > k.parameterBytes)
      return false;
  }
  return true;
}

bool read(const json::Value &value, Manifest::Variable &v, size_t blobSize) {
  const json::Object *object = value.getAsObject();
  uint8_t reference = 0;
  if (!object || !field(*object, "name", v.name) || !field(*object, "constant", v.constant) ||
      !field(*object, "managed", v.managed) || !field(*object, "visible", v.visible) ||
      !field(*object, "size", v.size) || !field(*object, "alignment", v.alignment) ||
      !field(*object, "initialized", v.initialized) ||
      !field(*object, "blobOffset", v.blobOffset) || !field(*object, "reference", reference) ||
      reference > uint8_t(Manifest::Reference::Surface))
    return false;
  v.reference = Manifest::Reference(reference);
  if (v.alignment == 0 || (v.alignment & (v.alignment - 1)) ||
      (v.initialized && (v.blobOffset > blobSize || v.size > blobSize - v.blobOffset)))
    return false;
  const json::Array *relocations = object->getArray("relocations");
  if (!relocations)
    return false;
  for (const json::Value &r : *relocations) {
    Manifest::Relocation &relocation = v.relocations.emplace_back();
    uint8_t isFunction = 0;
    bool isRead = tuple(r, relocation.offset, relocation.width, relocation.variable,
                        relocation.addend, isFunction);
    relocation.isFunction = isFunction;
    if (!isRead || (relocation.width != 4 && relocation.width != 8) || v.size < relocation.width ||
        relocation.offset > v.size - relocation.width)
      return false;
  }
  return true;
}
} // namespace

Expected<Manifest> Manifest::deserialize(ArrayRef<uint8_t> bytes) {
  auto malformed = [] { return createStringError(inconvertibleErrorCode(), "malformed manifest"); };
  StringRef text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  if (!text.consume_front(kMagic) || text.size() < 8)
    return malformed();
  uint64_t jsonSize = support::endian::read64le(text.data());
  text = text.drop_front(8);
  if (jsonSize > text.size())
    return malformed();
  Manifest m;
  StringRef blob = text.drop_front(jsonSize);
  m.blob.assign(blob.begin(), blob.end());
  Expected<json::Value> root = input::parseBoundedJson(text.take_front(jsonSize));
  if (!root) {
    consumeError(root.takeError());
    return malformed();
  }
  const json::Object *object = root->getAsObject();
  if (!object || !object->get("ptx") || !tuple(*object->get("ptx"), m.ptxMajor, m.ptxMinor) ||
      !field(*object, "sm", m.sm) || !field(*object, "units", m.unitCount) ||
      !field(*object, "functionUnit", m.functionUnit))
    return malformed();
  const json::Array *kernels = object->getArray("kernels");
  const json::Array *variables = object->getArray("variables");
  const json::Array *diagnostics = object->getArray("diagnostics");
  const json::Array *functions = object->getArray("functions");
  if (!kernels || !variables || !diagnostics || !functions)
    return malformed();
  for (const json::Value &f : *functions)
    m.functions.push_back(f.getAsString().value_or("").str());
  if (!m.functions.empty() && m.functionUnit >= m.unitCount)
    return malformed();
  for (const json::Value &k : *kernels)
    if (!read(k, m.kernels.emplace_back()) || m.kernels.back().unit >= m.unitCount)
      return malformed();
  if (m.unitCount > m.kernels.size()) // every unit has a kernel
    return malformed();
  uint64_t variableBytes = 0;
  for (const json::Value &v : *variables) {
    Variable &variable = m.variables.emplace_back();
    if (!read(v, variable, m.blob.size()) || variable.size > kMaxVariableBytes)
      return malformed();
    variableBytes += variable.size + variable.alignment;
    if (variableBytes > kMaxVariableBytes)
      return malformed();
  }
  for (const Variable &v : m.variables)
    for (const Relocation &r : v.relocations)
      if (r.variable >= (r.isFunction ? m.functions.size() : m.variables.size()))
        return malformed();
  for (const json::Value &d : *diagnostics)
    m.diagnostics.push_back(d.getAsString().value_or("").str());
  for (auto [key, list] : {std::pair("invalid", &m.invalid), {"unresolved", &m.unresolved}}) {
    const json::Array *array = object->getArray(key);
    if (!array)
      return malformed();
    for (const json::Value &text : *array)
      list->push_back(text.getAsString().value_or("").str());
  }
  return m;
}

} // namespace rubia::runtime
