// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/Bisect.h"
#include "runtime/worker/Pipeline.h"
#include "targets/Target.h"
#include "tools/OutputFile.h"
#include "tools/diff/StandAlone.h"
#include "tools/diff/TemporaryFolder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting arch, atomics, contract, flush, mma, nan, optimise, shared, warpForm;
} // namespace rubia::settings::Id

namespace rubia::tools {
namespace {

struct Step {
  const settings::Setting &id;
  const char *value;
};
// What is watched has the first two.
constexpr Step kSteps[] = {
    {settings::Id::contract, "never"},       {settings::Id::nan, "canonical"},
    {settings::Id::flush, "nvidia"},         {settings::Id::mma, "h100"},
    {settings::Id::warpForm, "half-filled"}, {settings::Id::warpForm, "packed"},
    {settings::Id::shared, "device"},        {settings::Id::atomics, "1"},
    {settings::Id::optimise, "0"},
};

struct Pass {
  unsigned number = 0;
  std::string name, on;
};

struct Compiled {
  std::vector<uint8_t> object;
  Pass pass; // the one that was asked for; 0: the last
};

Expected<Compiled> compileWith(const std::string &ptx, const std::string &kernel,
                               const ReplayTarget &target, std::optional<unsigned> passes,
                               unsigned asked) {
  Expected<runtime::PtxImage> image = runtime::PtxImage::fromText("capsule", ptx);
  if (!image)
    return image.takeError();
  Compiled made;
  runtime::PipelineOptions options;
  const std::string archs(target.settings.text(settings::Id::arch));
  const StringRef first = StringRef(archs).split(',').first;
  options.codegen.arch = (first.empty() ? targets::byDefault().name : first).str();
  options.code = target.settings.code();
  options.codegen.passLimit = passes;
  options.codegen.onPass = [&](unsigned number, StringRef name, StringRef on) {
    if (!asked || number == asked)
      made.pass = {number, name.str(), on.str()};
  };
  for (const lowering::Unit &unit : image->units())
    if (any_of(unit.kernels, [&](const ptx::Function *one) { return one->name == kernel; })) {
      Expected<codegen::CodeObject> object = image->compile(unit, options);
      if (!object)
        return object.takeError();
      made.object = std::move(object->bytes);
      return made;
    }
  return createStringError("the PTX has no kernel '" + kernel + "'");
}

/// Runs the launch with so many passes, and compares what it leaves with what it leaves without.
class PassSearch {
public:
  PassSearch(StandAlone one, StandAloneRunner runner, std::string kernel,
             const ReplayTarget &target)
      : one(std::move(one)), runner(std::move(runner)), kernel(std::move(kernel)), target(target) {}
  Expected<std::string> run();

private:
  Error execute(unsigned passes, StringRef suffix);
  Expected<bool> differs(unsigned passes);

  StandAlone one;
  StandAloneRunner runner;
  std::string kernel;
  const ReplayTarget &target;
};

Error PassSearch::execute(unsigned passes, StringRef suffix) {
  Expected<Compiled> compiled = compileWith(one.ptx, kernel, target, passes, 0);
  if (!compiled)
    return compiled.takeError();
  if (Error error = writeFile(runner.path() + "/kernel.co", toStringRef(compiled->object)))
    return error;
  Expected<int> status = runner.run(one, "kernel.co", suffix, target.settings, false);
  if (!status)
    return status.takeError();
  return *status ? createStringError("it does not run by itself with " + Twine(passes) + " passes")
                 : Error::success();
}

Expected<bool> PassSearch::differs(unsigned passes) {
  if (Error error = execute(passes, "got"))
    return std::move(error);
  Expected<bool> areEqual = runner.areEqual(one, "expected", "got");
  return areEqual ? Expected<bool>(!*areEqual) : areEqual.takeError();
}

Expected<std::string> PassSearch::run() {
  if (Error error = runner.write(one))
    return std::move(error);
  Expected<Compiled> whole = compileWith(one.ptx, kernel, target, std::nullopt, 0);
  if (!whole)
    return whole.takeError();
  if (Error error = execute(0, "expected"))
    return std::move(error);
  unsigned sound = 0, wrong = whole->pass.number;
  Expected<bool> isThere = differs(wrong);
  if (!isThere)
    return isThere.takeError();
  if (!*isThere)
    return formatv("none of the {0} passes of LLVM that can be left out changes it", wrong).str();
  while (wrong - sound > 1) {
    const unsigned middle = sound + (wrong - sound) / 2;
    isThere = differs(middle);
    if (!isThere)
      return isThere.takeError();
    (*isThere ? wrong : sound) = middle;
  }
  Expected<Compiled> found = compileWith(one.ptx, kernel, target, std::nullopt, wrong);
  if (!found)
    return found.takeError();
  return formatv("LLVM's pass {0} of {1} changes it: {2} on {3}", wrong, whole->pass.number,
                 found->pass.name, found->pass.on)
      .str();
}

} // namespace

/// By the launch alone, without the capsule.
static Expected<std::string> passOf(const capsule::Capsule &capsule, const capsule::Launch &launch,
                                    const ReplayWork &work, const ReplayTarget &target) {
  TemporaryFolder folder;
  if (folder.problem)
    return createStringError("no temporary folder: " + folder.problem.message());
  Expected<StandAlone> one = StandAlone::of(capsule, launch, work);
  if (!one)
    return one.takeError();
  Expected<StandAloneRunner> runner = StandAloneRunner::open(folder.path.str().str(), launch);
  if (!runner)
    return runner.takeError();
  return PassSearch(std::move(*one), std::move(*runner), launch.kernel, target).run();
}

Expected<std::vector<std::string>>
bisectCompiler(const capsule::Capsule &capsule, const capsule::Launch &launch,
               const ReplayWork &work, const ReplayTarget &target, const DiffersOn &differs) {
  std::vector<std::string> lines;
  bool isOfOptimiser = false;
  for (const Step &step : kSteps) {
    ReplayTarget other = target;
    other.settings.set(step.id, step.value);
    if (other.settings.code() == target.settings.code())
      continue;
    Expected<bool> isThere = differs(other);
    if (!isThere) { // not every kernel can be compiled so
      consumeError(isThere.takeError());
      continue;
    }
    if (*isThere)
      continue;
    lines.push_back(
        formatv("  with {0}={1} it does not differ", settings::rowOf(step.id).key, step.value));
    isOfOptimiser |= step.id == settings::Id::optimise;
  }
  if (lines.empty())
    lines.push_back("  it differs however it is compiled");
  if (!isOfOptimiser)
    return lines;
  Expected<std::string> pass = passOf(capsule, launch, work, target);
  lines.push_back(
      "  " + (pass ? *pass : "LLVM's passes are not looked at: " + toString(pass.takeError())));
  return lines;
}

} // namespace rubia::tools
