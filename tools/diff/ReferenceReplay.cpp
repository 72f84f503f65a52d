// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/ReferenceReplay.h"
#include "diff/Fusion.h"
#include "diff/Images.h"
#include "diff/Perturbation.h"
#include "diff/TensorMaps.h"
#include "ptx-frontend/Parser.h"
#include "reference/Interpreter.h"
#include "reference/TensorMap.h"
#include "tools/diff/ReferenceTextures.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include <csignal>
#include <ctime>
#include <sys/time.h>

using namespace llvm;

namespace rubia::tools {

using capsule::Capsule;
using capsule::CapsuleOutput;
using capsule::Launch;
using capsule::Region;
using runtime::Digest;

namespace {

/// As the interpreter lays parameters out; as they were recorded where their number is another.
std::vector<uint8_t> laidOut(const Launch &launch, const ptx::Module &module,
                             ArrayRef<uint8_t> recorded) {
  const ptx::Function *function = module.function(launch.kernel);
  const std::vector<uint32_t> offsets =
      function ? reference::parameterLayout(*function) : std::vector<uint32_t>();
  if (offsets.size() != launch.layout.size() + 1)
    return recorded.vec();
  std::vector<uint8_t> ours(offsets.back());
  for (auto [offset, parameter] : zip(offsets, launch.layout)) {
    if (offset + parameter.bytes > ours.size())
      return recorded.vec();
    copy(recorded.slice(parameter.offset, parameter.bytes), ours.begin() + offset);
  }
  return ours;
}

bool isClusterOfSeveral(ArrayRef<uint8_t> attribute) {
  uint64_t ctas = 1;
  for (unsigned i = 0; i < 3; ++i)
    ctas *= std::max(support::endian::read32le(attribute.data() + 4 * i), 1u);
  return ctas > 1;
}

/// The launch's own problem, not one of the capsule; empty: it ran. `variables`: more of `ptx`.
/// `memory`: more than the launch's.
std::string execute(const Launch &launch, const std::string &ptx, RegionContents &contents,
                    RegionContents &arrays, std::vector<reference::PlacedVariable> variables,
                    std::vector<reference::MemoryRange> memory = {},
                    reference::Movement movement = {}) {
  if (const std::string why = launch.whyNotReplayable(); !why.empty())
    return why;
  ptx::ParseResult parsed = ptx::parse("ptx", ptx);
  if (!parsed.usable)
    return "the PTX cannot be read";
  capsule::ReplacedTensorMaps maps;
  for (const capsule::TensorMap &recorded : launch.tensorMaps) {
    auto map = capsule::tensorMapOf(recorded.arguments);
    if (!map)
      return toString(map.takeError());
    maps.add(recorded, {reinterpret_cast<const uint8_t *>(&*map), sizeof(*map)});
  }
  const RegionContents before = launch.tensorMaps.empty() ? RegionContents() : contents;
  for (auto [region, bytes] : zip(contents, before))
    maps.change(region, bytes);
  std::vector<uint8_t> parameters = launch.parameters;
  maps.change(parameters, launch.parameters);
  for (auto [region, bytes] : zip_equal(launch.memory, contents)) {
    const reference::MemoryRange range{region.address, bytes};
    if (region.kind == "variable")
      variables.push_back({region.name, range});
    else
      memory.push_back(range);
  }
  auto interpreter = reference::Interpreter::create(parsed.module, variables);
  if (!interpreter)
    return toString(interpreter.takeError());
  for (const reference::MemoryRange &range : memory)
    (*interpreter)->addMemory(range);
  for (const capsule::Texture &recorded : launch.textures) {
    auto texture = textureOf(launch, recorded, contents, arrays);
    if (!texture)
      return toString(texture.takeError());
    if (Error error = (*interpreter)->addTexture(std::move(*texture)))
      return toString(std::move(error));
  }
  for (const capsule::Launch::Attribute &attribute : launch.attributes)
    if (constexpr int kAttributeCluster = 4;
        attribute.id == kAttributeCluster && isClusterOfSeveral(attribute.value))
      return "a cluster of several CTAs";
  reference::Launch once;
  once.kernel = launch.kernel;
  std::copy_n(launch.grid, 3, once.grid.begin());
  std::copy_n(launch.block, 3, once.block.begin());
  once.dynamicSharedBytes = launch.sharedBytes;
  parameters = laidOut(launch, parsed.module, parameters);
  once.parameters = parameters;
  once.cooperative = launch.isCooperative;
  once.movement = movement;
  const std::string problem = toString((*interpreter)->launch(once).takeError());
  for (auto [region, bytes] : zip(contents, before))
    maps.changeBack(region, bytes);
  return problem;
}

/// Of a launch.
struct Memory {
  RegionContents regions, arrays;
};

class Replayer {
public:
  Replayer(const Capsule &capsule, CapsuleOutput &output, const capsule::ReplayOptions &options)
      : capsule(capsule), output(output), otherPtx(options.ptx), noise(options.noise),
        isPlain(options.isPlain || options.noise), timeout(options.timeout) {}
  Error writeEnvironment();
  Error replay(const Launch &launch);
  uint64_t count = 0;

private:
  Expected<std::string> textOf(const Launch &launch);
  Expected<std::string> perturbedTextOf(const Launch &launch);
  Expected<uint64_t> bytesApart(const Launch &launch, const Memory &memory) const;
  Error runNearest(const Launch &launch, const std::string &text, const Memory &before,
                   Memory &memory, Launch &result) const;

  const Capsule &capsule;
  CapsuleOutput &output;
  const std::string &otherPtx;
  std::optional<capsule::Noise> noise;
  const bool isPlain;
  const unsigned timeout;
};

Error Replayer::writeEnvironment() {
  capsule::Environment here = capsule.environment;
  here.device = "reference";
  here.isJitForced = true; // it is given PTX
  here.hasNoResults = false;
  return output.add(capsule::RecordType::Environment, toJson(here));
}

Expected<std::string> Replayer::textOf(const Launch &launch) {
  if (!otherPtx.empty())
    return otherPtx;
  Expected<capsule::ReplayImage> image = replayImage(capsule, launch);
  if (!image)
    return image.takeError();
  return image->ptx;
}

Expected<std::string> Replayer::perturbedTextOf(const Launch &launch) {
  Expected<std::string> text = textOf(launch);
  if (!text)
    return text;
  Expected<capsule::PerturbedPtx> perturbed = capsule::perturb(
      *text, launch.kernel, launch.isFiltered(), capsule::FilterMover::Interpreter);
  return perturbed ? Expected<std::string>(std::move(perturbed->text)) : perturbed.takeError();
}

/// From what is recorded.
Expected<uint64_t> Replayer::bytesApart(const Launch &launch, const Memory &memory) const {
  uint64_t count = 0;
  const std::vector<const Region *> regions = launch.regions();
  for (size_t i = 0; i < regions.size(); ++i) {
    Expected<std::vector<uint8_t>> recorded = capsule.contents(*regions[i], *regions[i]->after);
    if (!recorded)
      return recorded.takeError();
    const size_t arrays = launch.memory.size();
    const std::vector<uint8_t> &ours = i < arrays ? memory.regions[i] : memory.arrays[i - arrays];
    for (const auto &[a, b] : zip(ours, *recorded))
      count += a != b;
  }
  return count;
}

/// Runs the launch, and where it differs from what is recorded, once more for other choices of sums
/// that are fused: as the recorded side may do.
Error Replayer::runNearest(const Launch &launch, const std::string &text, const Memory &before,
                           Memory &memory, Launch &result) const {
  constexpr unsigned kMostRuns = 200, kSeconds = 20;
  const std::clock_t begin = std::clock();
  result.problem = execute(launch, text, memory.regions, memory.arrays, {});
  const double took = double(std::clock() - begin + 1) / CLOCKS_PER_SEC;
  const bool isRecorded =
      all_of(launch.regions(), [](const Region *region) { return region->after; });
  if (!result.problem.empty() || isPlain || capsule.environment.hasNoResults || !isRecorded)
    return Error::success();
  Expected<uint64_t> plain = bytesApart(launch, memory);
  if (!plain || !*plain)
    return plain.takeError();
  Expected<capsule::FusiblePtx> ptx = capsule::FusiblePtx::open(text, launch.kernel);
  if (!ptx) // what is plain is permitted
    return consumeError(ptx.takeError()), Error::success();
  result.fusion.sums = ptx->sums().size();
  if (ptx->sums().empty())
    return Error::success();
  const unsigned seconds = timeout ? std::min(kSeconds, timeout / 2) : kSeconds;
  const auto run = [&](StringRef fused, Memory &into) -> Error {
    into = before;
    const std::string problem = execute(launch, fused.str(), into.regions, into.arrays, {});
    return problem.empty() ? Error::success() : createStringError(problem);
  };
  Memory other;
  Expected<capsule::NearestFusion> nearest =
      capsule::nearestFusion(*ptx, *plain, unsigned(std::min(seconds / took, double(kMostRuns))),
                             [&](StringRef fused) -> Expected<uint64_t> {
                               if (Error error = run(fused, other))
                                 return std::move(error);
                               return bytesApart(launch, other);
                             });
  if (!nearest)
    return nearest.takeError();
  result.fusion.runs = nearest->runs;
  result.fusion.fused = nearest->fused();
  if (!nearest->fused())
    return Error::success();
  Expected<std::string> fused = ptx->fused(nearest->choices);
  return fused ? run(*fused, memory) : fused.takeError();
}

Error Replayer::replay(const Launch &launch) {
  Launch result = launch;
  for (Region *region : result.regions())
    region->after.reset();
  Memory before;
  for (const Region &region : launch.memory) {
    Expected<std::vector<uint8_t>> bytes = capsule.contents(region, region.before);
    if (!bytes)
      return bytes.takeError();
    if (Expected<Digest> map = output.addMemory(*bytes); !map)
      return map.takeError();
    before.regions.push_back(std::move(*bytes));
  }
  for (const capsule::ArrayRegion &array : launch.arrays) {
    Expected<std::vector<uint8_t>> bytes = capsule.contents(array, array.before);
    if (!bytes)
      return bytes.takeError();
    if (Expected<Digest> map = output.addMemory(*bytes); !map)
      return map.takeError();
    before.arrays.push_back(std::move(*bytes));
  }
  Memory memory = before;
  std::vector<reference::PlacedVariable> variables;
  if (noise)
    variables.push_back({capsule::kNoiseVariable,
                         {reinterpret_cast<uint64_t>(&*noise),
                          {reinterpret_cast<uint8_t *>(&*noise), sizeof(*noise)}}});
  Expected<std::string> text = noise ? perturbedTextOf(launch) : textOf(launch);
  if (!text)
    result.problem = toString(text.takeError());
  else if (noise)
    result.problem = execute(launch, *text, memory.regions, memory.arrays, std::move(variables), {},
                             {noise->seed, noise->scale, noise->bias});
  else if (Error error = runNearest(launch, *text, before, memory, result))
    return error;
  if (StringRef(result.problem).contains("unsupported") || !launch.whyNotReplayable().empty())
    result.status = std::max(result.status, 1);
  if (result.problem.empty()) {
    for (auto [region, bytes] : zip_equal(result.memory, memory.regions))
      if (Error error = output.addMemory(bytes).moveInto(region.after.emplace()))
        return error;
    for (auto [array, bytes] : zip_equal(result.arrays, memory.arrays))
      if (Error error = output.addMemory(bytes).moveInto(array.after.emplace()))
        return error;
  }
  for (const Digest &digest : launch.images) {
    Expected<std::vector<uint8_t>> image = capsule.image(digest);
    if (!image && capsule.environment.hasNoImages) {
      consumeError(image.takeError()); // run() says it
      continue;
    }
    if (!image)
      return image.takeError();
    if (Expected<Digest> added = output.add(capsule::RecordType::Image, ArrayRef(*image)); !added)
      return added.takeError();
  }
  ++count;
  return output.add(capsule::RecordType::Launch, toJson(result));
}

} // namespace

namespace {
/// A launch with instrumented PTX, and the contents of its memory before it.
struct Instrumented {
  const Launch &launch;
  std::string ptx;
  RegionContents memory = {}, arrays = {};
  std::vector<reference::MemoryRange> more = {}; // memory of ours

  static Expected<Instrumented> of(const Capsule &capsule, size_t index, const std::string &ptx);
  /// An error: the launch does.
  Error run(const std::string &text, std::vector<reference::PlacedVariable> variables) {
    const std::string problem = execute(launch, text, memory, arrays, std::move(variables), more);
    return problem.empty() ? Error::success() : createStringError(problem);
  }
};
} // namespace

Expected<Instrumented> Instrumented::of(const Capsule &capsule, size_t index,
                                        const std::string &ptx) {
  Instrumented one{capsule.launches[index], ptx};
  for (const Region *region : one.launch.regions())
    if (Error error =
            capsule.contents(*region, region->before)
                .moveInto((one.memory.size() < one.launch.memory.size() ? one.memory : one.arrays)
                              .emplace_back()))
      return std::move(error);
  if (!ptx.empty())
    return one;
  Expected<capsule::ReplayImage> image = replayImage(capsule, one.launch);
  if (!image)
    return image.takeError();
  one.ptx = std::move(image->ptx);
  return one;
}

static reference::MemoryRange rangeOf(MutableArrayRef<uint8_t> bytes) {
  return {reinterpret_cast<uint64_t>(bytes.data()), bytes};
}

Expected<std::vector<uint8_t>> traceOnReference(const Capsule &capsule, const capsule::TraceOf &of,
                                                const std::string &ptx,
                                                MutableArrayRef<uint8_t> given) {
  Expected<Instrumented> one = Instrumented::of(capsule, of.launch, ptx);
  if (!one)
    return one.takeError();
  Expected<capsule::TracedPtx> traced =
      capsule::instrumentTrace(one->ptx, one->launch.kernel, of.given);
  if (!traced)
    return traced.takeError();
  std::vector<uint8_t> trace = capsule::traceRequest(of.cta, of.thread);
  uint64_t addresses[] = {reinterpret_cast<uint64_t>(trace.data()),
                          reinterpret_cast<uint64_t>(given.data())};
  const auto at = [&](unsigned i) {
    return rangeOf({reinterpret_cast<uint8_t *>(&addresses[i]), sizeof(addresses[i])});
  };
  one->more = {rangeOf(trace), rangeOf(given)};
  if (Error error = one->run(
          traced->text, {{capsule::kTraceVariable, at(0)}, {capsule::kGivenVariable, at(1)}})) {
    std::string problem = toString(std::move(error));
    if (StringRef(problem).contains("unsupported"))
      return createStringError(problem);
    support::endian::write32le(trace.data() + capsule::kTraceFailed, 1); // where it ends
  }
  return trace;
}

Expected<std::vector<capsule::Writer>> locateOnReference(const Capsule &capsule,
                                                         const capsule::LocateRequest &request,
                                                         const std::string &ptx) {
  Expected<Instrumented> one = Instrumented::of(capsule, request.launch, ptx);
  if (!one)
    return one.takeError();
  if (!request.sharedOf && request.region >= one->launch.memory.size())
    return createStringError("there is no such byte");
  Expected<capsule::InstrumentedPtx> watched =
      capsule::instrumentStores(one->ptx, one->launch.kernel);
  if (!watched)
    return watched.takeError();
  std::vector<uint8_t> watch = capsule::watchRequest(
      request, request.sharedOf ? 0 : one->launch.memory[request.region].address);
  if (Error error = one->run(watched->text, {{capsule::kWatchVariable, rangeOf(watch)}}))
    return std::move(error);
  return capsule::writersOf(watch, *watched);
}

void limitOwnTime(unsigned seconds) {
  std::signal(SIGPROF, [](int) { std::raise(SIGALRM); });
  itimerval limit{};
  limit.it_value.tv_sec = seconds;
  setitimer(ITIMER_PROF, &limit, nullptr);
}

Expected<size_t> replayOnReference(const Capsule &capsule, CapsuleOutput &output,
                                   const capsule::ReplayOptions &options) {
  Replayer replayer(capsule, output, options);
  if (Error error = replayer.writeEnvironment())
    return std::move(error);
  for (size_t i = options.from; i < capsule.launches.size(); ++i) {
    if (!options.isWanted(capsule.launches[i]))
      continue;
    limitOwnTime(options.timeout);
    Error error = replayer.replay(capsule.launches[i]);
    limitOwnTime(0);
    if (error)
      return std::move(error);
  }
  capsule::Counts counts;
  counts.launches = counts.recorded = replayer.count;
  if (Error error = output.add(capsule::RecordType::End, toJson(counts)))
    return std::move(error);
  return capsule.launches.size();
}

} // namespace rubia::tools
