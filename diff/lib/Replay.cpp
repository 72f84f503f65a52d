// SPDX-License-Identifier: Apache-2.0
#include "diff/Replay.h"
#include "diff/Images.h"
#include "diff/lib/DriverApi.h"
#include "diff/lib/Placement.h"
#include "diff/lib/ReplayedTensorMaps.h"
#include "diff/lib/ReplayedTextures.h"
#include "diff/lib/TextOfPtx.h"
#include "diff/lib/TextureSites.h"
#include "ptx-frontend/Parser.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>
#include <fcntl.h>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::capsule {
namespace {

constexpr int kMaxDynamicSharedAttribute = 8, kNonPortableClusterAttribute = 14,
              kAttributeCooperative = 2, kAttributeCluster = 4;
constexpr uint64_t kAlignment = 256; // of what cuMemAlloc gives

/// What a launch could not be replayed for: a status of the driver, and where.
struct Refusal {
  int status = 0;
  std::string text;
};

class Replayer {
public:
  using Instrument = Expected<InstrumentedPtx> (*)(StringRef ptx, StringRef kernel);
  /// `output`: null to locate, by what `instrument` makes of the PTX.
  Replayer(const Capsule &capsule, CapsuleOutput *output, DriverApi api, const std::string &ptx,
           std::optional<Noise> noise, Instrument instrument = nullptr)
      : capsule(capsule), output(output), api(std::move(api)), placement(this->api),
        textures(this->api), otherPtx(ptx), noise(noise), instrument(instrument) {}
  Error writeEnvironment();
  /// False: nothing can be done with the device behind this launch.
  Expected<bool> replay(const Launch &launch);
  Error finish();
  Error runInstrumented(const Launch &launch, const LocateRequest &request,
                        function_ref<int(uint64_t variable, uint64_t region)> begin,
                        function_ref<int(uint64_t variable)> end, const char *name);
  Expected<std::vector<Writer>> locate(const Launch &launch, const LocateRequest &request);
  Expected<WriterMap> locateAll(const Launch &launch, const LocateRequest &request);
  Expected<TouchedPages> touched(const Launch &launch);
  Expected<std::vector<uint8_t>> trace(const Launch &launch, const TraceOf &of);

private:
  struct TraceMemory;
  Expected<TraceMemory> traceMemory(const TraceOf &of, ArrayRef<uint8_t> bytes);
  struct Place { // where a region is now
    uint64_t address = 0, allocation = 0;
    std::vector<uint8_t> bytes; // before, at their captured addresses
  };
  struct LoadedModule {
    void *handle = nullptr;
    struct Pointer { // in a variable's initial contents
      std::string variable;
      uint64_t offset = 0, value = 0;
    };
    std::vector<Pointer> functionPointers;
    /// Into constant memory. Elsewhere such a place is a small number, so no other word is one.
    std::vector<Pointer> constantPointers;
    KernelStores stores; // of the kernel, where a launch has textures
  };
  Expected<Refusal> load(const Launch &launch, void *&function);
  Expected<Refusal> loadInstrumented(const Launch &launch, std::string ptx, LoadedModule &loaded);
  Refusal loadText(const char *text, void *&handle) const;
  void findPointers(const std::string &ptx, LoadedModule &loaded) const;
  /// Those into constant memory: ours or, `isBack`, the recorded ones where ours still are.
  void changeConstantPointers(size_t region, const Region &of, MutableArrayRef<uint8_t> bytes,
                              bool isBack) const;
  int setNoise(const LoadedModule &loaded) const;
  Refusal place(const Region &region, Place &place);
  Expected<Refusal> prepare(const Launch &launch);
  Expected<Refusal> prepareTextures(const Launch &launch, const Relocation &relocation);
  Refusal setTable(const char *variable, ArrayRef<uint8_t> entries, size_t entryBytes);
  std::vector<uint8_t> laidOut(const Launch &launch, void *function,
                               ArrayRef<uint8_t> recorded) const;
  Refusal run(const Launch &launch, void *function);
  Error readBack(const Launch &launch, Launch &result);
  void release();
  Refusal refused(int status, const Twine &what) const {
    return status ? Refusal{status, (what + ": " + api.nameOf(status)).str()} : Refusal();
  }

  const Capsule &capsule;
  CapsuleOutput *output;
  DriverApi api;
  Placement placement;
  ReplayedTextures textures;
  ReplacedTensorMaps tensorMaps;
  const std::string &otherPtx;
  const std::optional<Noise> noise;
  const Instrument instrument;
  InstrumentedPtx instrumented; // of the launch that is located
  /// By image; also by kernel, if the PTX is changed for each, and by whether its textures are
  /// read between texels.
  std::map<std::tuple<Digest, std::string, bool>, LoadedModule> modules;
  const LoadedModule *module = nullptr; // of the launch
  std::vector<Place> places;
  std::vector<Relocation::Move> moves;
  Launch::Moved moved;
  std::vector<uint64_t> tables; // memory of such, for the launch
  uint64_t count = 0;
};

} // namespace

Error Replayer::writeEnvironment() {
  Environment here;
  here.device = api.deviceName;
  here.driverVersion = unsigned(api.version);
  here.computeCapability = unsigned(api.capability);
  here.multiprocessors = unsigned(api.multiprocessors);
  here.isJitForced = true;                            // it is given PTX
  here.hasNoImages = capsule.environment.hasNoImages; // but for those that were given
  return output->add(RecordType::Environment, toJson(here));
}

Error Replayer::finish() {
  return output->add(RecordType::End, toJson(Counts{count, count, 0, 0, 0}));
}

Expected<Refusal> Replayer::load(const Launch &launch, void *&function) {
  const bool isOfKernel = noise || !launch.textures.empty();
  LoadedModule &loaded = modules[{launch.images.front(), isOfKernel ? launch.kernel : std::string(),
                                  noise && launch.isFiltered()}];
  if (!loaded.handle) {
    Expected<ReplayImage> image = replayImage(capsule, launch);
    if (!image)
      return Refusal{-1, toString(image.takeError())};
    const std::string &ptx = otherPtx.empty() ? image->ptx : otherPtx;
    if (!launch.textures.empty())
      if (Error error = storesOf(ptx, launch.kernel).moveInto(loaded.stores))
        return Refusal{-1, toString(std::move(error))};
    Expected<Refusal> refusal = loadInstrumented(launch, ptx, loaded);
    if (!refusal || refusal->status) {
      loaded.handle = nullptr;
      return refusal;
    }
    findPointers(ptx, loaded);
    if (const int status = noise ? setNoise(loaded) : 0)
      return refused(status, "the noise cannot be set");
  }
  module = &loaded;
  return refused(api.cuModuleGetFunction(&function, loaded.handle, launch.kernel.c_str()),
                 "the kernel cannot be had");
}

/// The PTX with all that is put into it.
Expected<Refusal> Replayer::loadInstrumented(const Launch &launch, std::string ptx,
                                             LoadedModule &loaded) {
  if (instrument) { // before handles are translated: the reference has the same code then
    Expected<InstrumentedPtx> changed = instrument(ptx, launch.kernel);
    if (!changed)
      return changed.takeError();
    instrumented = std::move(*changed);
    ptx = instrumented.text;
  }
  if (loaded.stores.areHandlesInMemory)
    if (Error error = translateHandles(ptx, launch.kernel).moveInto(ptx))
      return Refusal{-1, toString(std::move(error))};
  if (noise) {
    Expected<PerturbedPtx> perturbed = perturb(ptx, launch.kernel, launch.isFiltered());
    if (!perturbed)
      return Refusal{-1, toString(perturbed.takeError())};
    return loadText(perturbed->text.c_str(), loaded.handle);
  }
  return loadText(ptx.c_str(), loaded.handle);
}

// A driver refuses PTX for newer devices than its own, whatever instructions it has. With the
// device's own target it looks at those.
Refusal Replayer::loadText(const char *text, void *&handle) const {
  int status = api.cuModuleLoadData(&handle, text);
  const std::string lowered = status ? withTarget(text, unsigned(api.capability)) : std::string();
  if (lowered.empty())
    return refused(status, "its module cannot be loaded");
  status = api.cuModuleLoadData(&handle, lowered.c_str());
  return refused(status, "its module cannot be loaded, for the device's own target neither");
}

int Replayer::setNoise(const LoadedModule &loaded) const {
  uint64_t variable = 0;
  size_t size = 0;
  if (int status = api.cuModuleGetGlobal_v2(&variable, &size, loaded.handle, kNoiseVariable))
    return status;
  return api.cuMemcpyHtoD_v2(variable, &*noise, sizeof(*noise));
}

// Before anything else is written to its variables.
void Replayer::findPointers(const std::string &ptx, LoadedModule &loaded) const {
  const ptx::ParseResult parsed = ptx::parse("capsule", ptx);
  if (!parsed.usable)
    return;
  for (const ptx::Variable *variable : parsed.module.variables)
    for (const ptx::Relocation &relocation : variable->relocations) {
      uint64_t address = 0, value = 0;
      size_t size = 0;
      const bool isConstant = relocation.variable && !relocation.generic &&
                              relocation.variable->space == ptx::StateSpace::Const;
      if ((relocation.function || isConstant) && relocation.width == 8 &&
          !api.cuModuleGetGlobal_v2(&address, &size, loaded.handle, variable->name.str().c_str()) &&
          !api.cuMemcpyDtoH_v2(&value, address + relocation.offset, sizeof(value)))
        (isConstant ? loaded.constantPointers : loaded.functionPointers)
            .push_back({variable->name.str(), relocation.offset, value});
    }
}

void Replayer::changeConstantPointers(size_t region, const Region &of,
                                      MutableArrayRef<uint8_t> bytes, bool isBack) const {
  for (const LoadedModule::Pointer &pointer : module->constantPointers) {
    if (pointer.variable != of.name || pointer.offset + sizeof(uint64_t) > bytes.size())
      continue;
    uint8_t *word = bytes.data() + pointer.offset;
    const uint64_t recorded =
        support::endian::read64le(places[region].bytes.data() + pointer.offset);
    constexpr uint64_t kMost = uint64_t(1)
                               << 20; // elsewhere than on NVIDIA's driver it is an address
    if (recorded >= kMost)
      continue;
    if (!isBack)
      support::endian::write64le(word, pointer.value);
    else if (support::endian::read64le(word) == pointer.value)
      support::endian::write64le(word, recorded);
  }
}

/// Where a region is to be: a variable of the module, at its captured address, or anywhere.
Refusal Replayer::place(const Region &region, Place &place) {
  size_t size = 0;
  const bool isVariable =
      !region.name.empty() &&
      !api.cuModuleGetGlobal_v2(&place.address, &size, module->handle, region.name.c_str());
  if (isVariable && size != region.bytes)
    return {-1, "variable '" + region.name + "' has another size"};
  if (!isVariable && placement.holds(region)) {
    place.address = region.address;
  } else if (!isVariable) {
    const uint64_t shift = region.address % kAlignment;
    // A pointer to its end is no pointer to what comes behind it.
    const uint64_t bytes = region.bytes + shift + kAlignment;
    if (int status = api.cuMemAlloc_v2(&place.allocation, bytes))
      return refused(status, "no memory");
    place.address = place.allocation + shift;
  }
  if (place.address != region.address)
    moves.push_back({region.address, place.address, region.bytes});
  // A function's address is known by where the module's initial contents have it.
  for (const LoadedModule::Pointer &pointer : module->functionPointers)
    if (isVariable && pointer.variable == region.name && pointer.offset + 8 <= region.bytes)
      if (const uint64_t was = support::endian::read64le(place.bytes.data() + pointer.offset))
        moves.push_back({was, pointer.value, 0});
  return Refusal();
}

/// Entries for a variable of the module (diff/lib/TextureSites.h).
Refusal Replayer::setTable(const char *variable, ArrayRef<uint8_t> entries, size_t entryBytes) {
  uint64_t place = 0, memory = 0;
  size_t size = 0;
  int status = api.cuModuleGetGlobal_v2(&place, &size, module->handle, variable);
  if (!status && !entries.empty()) {
    status = api.cuMemAlloc_v2(&memory, entries.size());
    if (!status) {
      tables.push_back(memory);
      status = api.cuMemcpyHtoD_v2(memory, entries.data(), entries.size());
    }
  }
  uint8_t table[kTableBytes];
  support::endian::write64le(table, entries.size() / entryBytes);
  support::endian::write64le(table + 8, memory);
  if (!status)
    status = api.cuMemcpyHtoD_v2(place, table, sizeof(table));
  return refused(status, "a table of textures cannot be set");
}

// Textures of memory need to know where it is, not what it has.
Expected<Refusal> Replayer::prepareTextures(const Launch &launch, const Relocation &relocation) {
  if (module->stores.texture.empty())
    return Refusal(); // there are none, or another kernel of its module uses them
  Expected<std::string> wrong = textures.make(capsule, launch, module->handle, relocation);
  if (!wrong)
    return wrong.takeError();
  if (!wrong->empty())
    return Refusal{-1, *wrong};
  if (module->stores.areHandlesInMemory)
    if (Refusal refusal = setTable(kHandlesVariable, textures.handleTable(), kHandleEntryBytes);
        refusal.status)
      return refusal;
  if (!noise || !launch.isFiltered())
    return Refusal();
  std::vector<FilterEntry> entries;
  wrong = textures.makeFilters(capsule, launch, entries);
  if (!wrong)
    return wrong.takeError();
  if (!wrong->empty())
    return Refusal{-1, *wrong};
  const ArrayRef bytes(reinterpret_cast<const uint8_t *>(entries.data()),
                       entries.size() * sizeof(FilterEntry));
  return setTable(kFiltersVariable, bytes, sizeof(FilterEntry));
}

// Gives each region its place and its contents.
Expected<Refusal> Replayer::prepare(const Launch &launch) {
  std::vector<const Region *> placed;
  for (const Region &region : launch.memory)
    if (region.name.empty())
      placed.push_back(&region);
  placement.reserve(placed);
  for (size_t i = 0; i < launch.memory.size(); ++i) {
    const Region &region = launch.memory[i];
    Expected<std::vector<uint8_t>> bytes = capsule.contents(region, region.before);
    if (!bytes)
      return bytes.takeError();
    places.emplace_back().bytes = std::move(*bytes);
    if (Refusal refusal = place(region, places.back()); refusal.status)
      return refusal;
    if (places.back().address != region.address)
      moved.regions.push_back(i);
  }
  const Relocation relocation(moves);
  if (std::string wrong = encodeTensorMaps(launch, api, relocation, tensorMaps); !wrong.empty())
    return Refusal{-1, std::move(wrong)};
  Expected<Refusal> refusal = prepareTextures(launch, relocation);
  if (!refusal || refusal->status)
    return refusal;
  for (size_t i = 0; i < places.size(); ++i) {
    std::vector<uint8_t> bytes = places[i].bytes;
    relocation.apply(bytes, [&](size_t offset) {
      if (!moved.words++)
        std::tie(moved.region, moved.offset) = std::pair(i, offset);
    });
    changeConstantPointers(i, launch.memory[i], bytes, false);
    tensorMaps.change(bytes, places[i].bytes);
    if (int status = api.cuMemcpyHtoD_v2(places[i].address, bytes.data(), bytes.size()))
      return refused(status, "memory cannot be written");
  }
  return Refusal();
}

/// Drivers lay parameters out differently: NVIDIA's aligns addresses in its constant bank, which
/// does not begin at a multiple of 64. Where the numbers or sizes differ, nothing is changed.
std::vector<uint8_t> Replayer::laidOut(const Launch &launch, void *function,
                                       ArrayRef<uint8_t> recorded) const {
  std::vector<uint8_t> ours;
  size_t count = 0, offset = 0, size = 0;
  for (; api.cuFuncGetParamInfo && !api.cuFuncGetParamInfo(function, count, &offset, &size);
       ++count) {
    if (count == launch.layout.size() || size != launch.layout[count].bytes)
      return recorded.vec();
    ours.resize(offset + size);
    copy(recorded.slice(launch.layout[count].offset, size), ours.begin() + offset);
  }
  return count && count == launch.layout.size() ? ours : recorded.vec();
}

Refusal Replayer::run(const Launch &launch, void *function) {
  std::vector<uint8_t> parameters = launch.parameters;
  Relocation(moves).apply(parameters);
  textures.change(parameters, launch, module->stores);
  tensorMaps.change(parameters, launch.parameters);
  parameters = laidOut(launch, function, parameters);
  std::vector<DriverAttribute> attributes;
  for (const Launch::Attribute &attribute : launch.attributes)
    if (attribute.id == kAttributeCluster) {
      DriverAttribute &copy = attributes.emplace_back(DriverAttribute{attribute.id, 0, {}});
      std::copy(attribute.value.begin(), attribute.value.end(), copy.value);
      // A launch that was allowed there is here; where not, the launch is refused.
      (void)api.cuFuncSetAttribute(function, kNonPortableClusterAttribute, 1);
    }
  if (launch.isCooperative)
    attributes.push_back({kAttributeCooperative, 0, {1}});
  constexpr uint32_t kWithoutOptIn = 48 << 10;
  if (launch.sharedBytes > kWithoutOptIn)
    if (int status =
            api.cuFuncSetAttribute(function, kMaxDynamicSharedAttribute, int(launch.sharedBytes)))
      return refused(status, "dynamic shared memory");
  DriverLaunch config{};
  std::copy(std::begin(launch.grid), std::end(launch.grid), config.grid);
  std::copy(std::begin(launch.block), std::end(launch.block), config.block);
  config.sharedBytes = launch.sharedBytes;
  config.attributes = attributes.data();
  config.attributeCount = unsigned(attributes.size());
  size_t size = parameters.size();
  void *extra[] = {reinterpret_cast<void *>(1), parameters.data(), reinterpret_cast<void *>(2),
                   &size, nullptr};
  return refused(api.cuLaunchKernelEx(&config, function, nullptr, extra), "the launch is refused");
}

Error Replayer::readBack(const Launch &launch, Launch &result) {
  const Relocation back = Relocation(moves).reversed();
  for (size_t i = 0; i < places.size(); ++i) {
    std::vector<uint8_t> bytes(launch.memory[i].bytes);
    if (int status = api.cuMemcpyDtoH_v2(bytes.data(), places[i].address, bytes.size()))
      return createStringError("memory cannot be read: " + api.nameOf(status));
    changeConstantPointers(i, launch.memory[i], bytes, true);
    tensorMaps.changeBack(bytes, places[i].bytes); // while they have our addresses
    back.apply(bytes);
    if (Error error = output->addMemory(bytes).moveInto(result.memory[i].after.emplace()))
      return error;
  }
  for (size_t i = 0; i < launch.arrays.size(); ++i) {
    ArrayRegion &array = result.arrays[i];
    array.after = array.before;
    if (module->stores.texture.empty())
      continue;
    Expected<std::vector<uint8_t>> bytes = textures.read(launch, i);
    if (!bytes)
      return bytes.takeError();
    if (Error error = output->addMemory(*bytes).moveInto(*array.after))
      return error;
  }
  return Error::success();
}

void Replayer::release() {
  for (const Place &place : places)
    if (place.allocation)
      api.cuMemFree_v2(place.allocation);
  for (uint64_t table : tables)
    api.cuMemFree_v2(table);
  tables.clear();
  places.clear();
  moves.clear();
  moved = Launch::Moved();
  textures.release();
  placement.release();
}

Expected<bool> Replayer::replay(const Launch &launch) {
  Launch result = launch;
  for (Region *region : result.regions())
    region->after.reset();
  bool isAlive = true;
  Refusal refusal;
  if (const std::string why = launch.whyNotReplayable(); !why.empty())
    refusal = {-1, why};
  void *function = nullptr;
  const auto step = [&](auto &&next) -> Error {
    if (refusal.status)
      return Error::success();
    Expected<Refusal> got = next();
    if (!got)
      return got.takeError();
    refusal = *got;
    return Error::success();
  };
  if (Error error = step([&] { return load(launch, function); }))
    return std::move(error);
  if (Error error = step([&] { return prepare(launch); }))
    return std::move(error);
  if (Error error = step([&]() -> Expected<Refusal> { return run(launch, function); }))
    return std::move(error);
  if (refusal.status) {
    result.status = std::max(refusal.status, 1);
    result.problem = refusal.text;
  } else if (int status = api.cuCtxSynchronize()) {
    result.problem = "it failed on the device: " + api.nameOf(status);
    isAlive = false;
  } else if (Error error = readBack(launch, result)) {
    return std::move(error);
  }
  for (size_t i = 0; i < places.size(); ++i)
    if (Expected<Digest> map = output->addMemory(places[i].bytes); !map)
      return map.takeError();
  for (const ArrayRegion &array : launch.arrays) {
    Expected<std::vector<uint8_t>> bytes = capsule.contents(array, array.before);
    if (!bytes)
      return bytes.takeError();
    if (Expected<Digest> map = output->addMemory(*bytes); !map)
      return map.takeError();
  }
  result.moved = moved;
  if (isAlive)
    release();
  for (const Digest &digest : launch.images) {
    Expected<std::vector<uint8_t>> image = capsule.image(digest);
    if (!image && capsule.environment.hasNoImages) {
      consumeError(image.takeError()); // load() says it
      continue;
    }
    if (!image)
      return image.takeError();
    if (Expected<Digest> added = output->add(RecordType::Image, ArrayRef(*image)); !added)
      return added.takeError();
  }
  ++count;
  if (Error error = output->add(RecordType::Launch, toJson(result)))
    return std::move(error);
  return isAlive;
}

/// Runs an instrumented launch: its module has a variable that says what to look for.
Error Replayer::runInstrumented(const Launch &launch, const LocateRequest &request,
                                function_ref<int(uint64_t variable, uint64_t region)> begin,
                                function_ref<int(uint64_t variable)> end, const char *name) {
  if (request.region >= launch.memory.size() ||
      request.offset >= launch.memory[request.region].bytes)
    return createStringError("there is no such byte");
  const auto problem = [](const Refusal &refusal) { return createStringError(refusal.text); };
  void *function = nullptr;
  Expected<Refusal> refusal = load(launch, function);
  if (refusal && !refusal->status)
    refusal = prepare(launch);
  if (!refusal)
    return refusal.takeError();
  if (refusal->status)
    return problem(*refusal);
  uint64_t variable = 0;
  size_t size = 0;
  int status = api.cuModuleGetGlobal_v2(&variable, &size, module->handle, name);
  if (!status)
    status = begin(variable, places[request.region].address);
  if (status)
    return problem(refused(status, "the watch cannot be set"));
  if (const Refusal ran = run(launch, function); ran.status)
    return problem(ran);
  status = api.cuCtxSynchronize();
  if (!status)
    status = end(variable);
  return status ? problem(refused(status, "it failed on the device")) : Error::success();
}

std::vector<uint8_t> watchRequest(const LocateRequest &request, uint64_t region) {
  std::vector<uint8_t> watch(kWatchBytes);
  support::endian::write64le(watch.data(), (request.sharedOf ? 0 : region) + request.offset);
  support::endian::write32le(watch.data() + 12, request.sharedOf ? *request.sharedOf + 1 : 0);
  return watch;
}

Expected<std::vector<Writer>> Replayer::locate(const Launch &launch, const LocateRequest &request) {
  std::vector<uint8_t> watch;
  const auto begin = [&](uint64_t variable, uint64_t region) {
    watch = watchRequest(request, region);
    return api.cuMemcpyHtoD_v2(variable, watch.data(), watch.size());
  };
  const auto end = [&](uint64_t variable) {
    return api.cuMemcpyDtoH_v2(watch.data(), variable, watch.size());
  };
  LocateRequest at = request;
  if (request.sharedOf)
    at.region = at.offset = 0;
  if (Error error = runInstrumented(launch, at, begin, end, kWatchVariable))
    return std::move(error);
  return writersOf(watch, instrumented);
}

Expected<WriterMap> Replayer::locateAll(const Launch &launch, const LocateRequest &request) {
  WriterMap map;
  uint64_t writers = 0;
  const auto begin = [&](uint64_t variable, uint64_t region) {
    const uint64_t bytes = launch.memory[request.region].bytes;
    map.words.resize((bytes / kWordBytes + kWordsBehind) * kWriterBytes);
    if (int status = api.cuMemAlloc_v2(&writers, map.words.size()))
      return status;
    if (int status = api.cuMemcpyHtoD_v2(writers, map.words.data(), map.words.size()))
      return status;
    uint8_t fields[kWritersBytes];
    support::endian::write64le(fields, region);
    support::endian::write64le(fields + 8, bytes);
    support::endian::write64le(fields + 16, writers);
    return api.cuMemcpyHtoD_v2(variable, fields, sizeof(fields));
  };
  const auto end = [&](uint64_t) {
    return api.cuMemcpyDtoH_v2(map.words.data(), writers, map.words.size());
  };
  if (Error error = runInstrumented(launch, request, begin, end, kWritersVariable))
    return std::move(error);
  map.sites = instrumented.sites;
  std::copy(std::begin(launch.grid), std::end(launch.grid), map.grid);
  std::copy(std::begin(launch.block), std::end(launch.block), map.block);
  return map;
}

/// Memory for the buffer of a trace.
struct Replayer::TraceMemory {
  uint64_t address = 0;
  uint8_t *mapped = nullptr; // of a file; null: it lies on the device
};

Expected<Replayer::TraceMemory> Replayer::traceMemory(const TraceOf &of, ArrayRef<uint8_t> bytes) {
  const auto problem = [&](int status) {
    return createStringError("no memory for the trace: " + api.nameOf(status));
  };
  TraceMemory memory;
  if (!of.isFailing) {
    int status = api.cuMemAlloc_v2(&memory.address, bytes.size());
    if (!status)
      status = api.cuMemcpyHtoD_v2(memory.address, bytes.data(), bytes.size());
    return status ? Expected<TraceMemory>(problem(status)) : memory;
  }
  if (!api.cuMemHostRegister_v2 || !api.cuMemHostGetDevicePointer_v2)
    return createStringError("the driver has no memory that outlives a launch that fails");
  const int file = open(of.file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, off_t(bytes.size())))
    return createStringError(errnoAsErrorCode(), of.file);
  void *place = mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (place == MAP_FAILED)
    return createStringError(errnoAsErrorCode(), of.file);
  memory.mapped = static_cast<uint8_t *>(place);
  copy(bytes, memory.mapped);
  constexpr unsigned kDeviceMap = 2;
  int status = api.cuMemHostRegister_v2(place, bytes.size(), kDeviceMap);
  if (!status)
    status = api.cuMemHostGetDevicePointer_v2(&memory.address, place, 0);
  return status ? Expected<TraceMemory>(problem(status)) : memory;
}

Expected<std::vector<uint8_t>> Replayer::trace(const Launch &launch, const TraceOf &of) {
  if (launch.memory.empty())
    return createStringError("it has no memory");
  std::vector<uint8_t> bytes = traceRequest(of.cta, of.thread);
  if (of.isFailing)
    markUnwritten(bytes);
  Expected<TraceMemory> memory = traceMemory(of, bytes);
  if (!memory)
    return memory.takeError();
  const auto begin = [&](uint64_t variable, uint64_t) {
    return api.cuMemcpyHtoD_v2(variable, &memory->address, sizeof(memory->address));
  };
  const auto end = [&](uint64_t) {
    return memory->mapped ? 0 : api.cuMemcpyDtoH_v2(bytes.data(), memory->address, bytes.size());
  };
  Error error = runInstrumented(launch, {of.launch, 0, 0}, begin, end, kTraceVariable);
  if (!memory->mapped)
    return error ? Expected<std::vector<uint8_t>>(std::move(error)) : bytes;
  if (error) {
    consumeError(std::move(error)); // as was known
    support::endian::write32le(memory->mapped + kTraceFailed, 1);
  }
  return std::vector<uint8_t>(memory->mapped, memory->mapped + bytes.size());
}

static Expected<InstrumentedPtx> instrumentResults(StringRef ptx, StringRef kernel) {
  Expected<TracedPtx> traced = instrumentTrace(ptx, kernel, Given::Nothing);
  if (!traced)
    return traced.takeError();
  return InstrumentedPtx{std::move(traced->text), {}};
}

static Expected<InstrumentedPtx> instrumentPages(StringRef ptx, StringRef kernel) {
  static_assert(isPowerOf2_32(kPageBytes));
  return instrumentTouches(ptx, kernel, Log2_32(kPageBytes));
}

Expected<TouchedPages> Replayer::touched(const Launch &launch) {
  TouchedPages pages;
  std::vector<uint64_t> marks(launch.memory.size());
  const auto begin = [&](uint64_t variable, uint64_t) {
    uint8_t table[kTouchedBytes] = {};
    support::endian::write64le(table, launch.memory.size());
    for (size_t i = 0; i < launch.memory.size(); ++i) {
      // An access may begin in the last page and end behind it.
      pages.emplace_back(launch.memory[i].bytes / kPageBytes + 2);
      if (int status = api.cuMemAlloc_v2(&marks[i], pages[i].size()))
        return status;
      if (int status = api.cuMemcpyHtoD_v2(marks[i], pages[i].data(), pages[i].size()))
        return status;
      uint8_t *entry = table + 8 + i * 24;
      support::endian::write64le(entry, places[i].address);
      support::endian::write64le(entry + 8, launch.memory[i].bytes);
      support::endian::write64le(entry + 16, marks[i]);
    }
    return api.cuMemcpyHtoD_v2(variable, table, sizeof(table));
  };
  const auto end = [&](uint64_t) {
    for (size_t i = 0; i < marks.size(); ++i) {
      if (int status = api.cuMemcpyDtoH_v2(pages[i].data(), marks[i], pages[i].size()))
        return status;
      pages[i].resize((launch.memory[i].bytes + kPageBytes - 1) / kPageBytes);
      if (!launch.memory[i].name.empty())
        std::fill(pages[i].begin(), pages[i].end(), 1);
    }
    return 0;
  };
  if (launch.memory.empty() || launch.memory.size() > kTouchedMost)
    return createStringError("it reaches no memory, or too many allocations");
  if (Error error = runInstrumented(launch, {0, 0, 0}, begin, end, kTouchedVariable))
    return std::move(error);
  return pages;
}

Expected<TouchedPages> touchedPages(const Capsule &capsule, const Launch &launch,
                                    const std::string &library) {
  if (const std::string why = launch.whyNotReplayable(); !why.empty())
    return createStringError(why);
  if (!launch.textures.empty() || capsule.bytesOfPages() != kPageBytes)
    return createStringError("what textures touch is not known");
  Expected<DriverApi> api = DriverApi::open(library);
  if (!api)
    return api.takeError();
  return Replayer(capsule, nullptr, std::move(*api), "", std::nullopt, instrumentPages)
      .touched(launch);
}

/// What `look` (a member of Replayer) finds in a run of a launch with instrumented PTX.
template <class Found, class Request>
static Expected<Found> lookAt(const Capsule &capsule, const Request &request,
                              const std::string &library, const std::string &ptx,
                              Replayer::Instrument instrument,
                              Expected<Found> (Replayer::*look)(const Launch &, const Request &)) {
  if (request.launch >= capsule.launches.size())
    return createStringError("there is no such launch");
  const Launch &launch = capsule.launches[request.launch];
  if (const std::string why = launch.whyNotReplayable(); !why.empty())
    return createStringError(why);
  Expected<DriverApi> api = DriverApi::open(library);
  if (!api)
    return api.takeError();
  Replayer replayer(capsule, nullptr, std::move(*api), ptx, std::nullopt, instrument);
  return (replayer.*look)(launch, request);
}

Expected<std::vector<Writer>> locate(const Capsule &capsule, const LocateRequest &request,
                                     const std::string &library, const std::string &ptx) {
  return lookAt(capsule, request, library, ptx, instrumentStores, &Replayer::locate);
}

Expected<WriterMap> locateAll(const Capsule &capsule, const LocateRequest &request,
                              const std::string &library, const std::string &ptx) {
  return lookAt(capsule, request, library, ptx, instrumentWriters, &Replayer::locateAll);
}

Expected<std::vector<uint8_t>> trace(const Capsule &capsule, const TraceOf &of,
                                     const std::string &library, const std::string &ptx) {
  return lookAt(capsule, of, library, ptx, instrumentResults, &Replayer::trace);
}

Expected<size_t> replay(const Capsule &capsule, CapsuleOutput &output,
                        const ReplayOptions &options) {
  Expected<DriverApi> api = DriverApi::open(options.library);
  if (!api)
    return api.takeError();
  Replayer replayer(capsule, &output, std::move(*api), options.ptx, options.noise);
  if (Error error = replayer.writeEnvironment())
    return std::move(error);
  size_t i = options.from;
  for (bool isAlive = true; isAlive && i < capsule.launches.size(); ++i) {
    if (!options.isWanted(capsule.launches[i]))
      continue;
    alarm(options.timeout);
    Expected<bool> alive = replayer.replay(capsule.launches[i]);
    alarm(0);
    if (!alive)
      return alive.takeError();
    isAlive = *alive;
  }
  if (Error error = replayer.finish())
    return std::move(error);
  return i;
}

} // namespace rubia::capsule
