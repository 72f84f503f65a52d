// SPDX-License-Identifier: Apache-2.0
// rubia replay, rubia diff: the launches of a capsule on targets, and what differs.
#include "diff/Compare.h"
#include "tools/Commands.h"
#include "tools/OutputFile.h"
#include "tools/diff/DiffCommands.h"
#include "tools/diff/DiffOptions.h"
#include "tools/diff/DiffReport.h"
#include "tools/diff/Excerpts.h"
#include "tools/diff/Explain.h"
#include "tools/diff/Permitted.h"
#include "tools/diff/PerturbedRuns.h"
#include "tools/diff/Reduce.h"
#include "tools/diff/ReferenceReplay.h"
#include "tools/diff/ReplayTargets.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting arch, device;
} // namespace rubia::settings::Id

namespace rubia::tools {
namespace {

using capsule::Capsule;
using capsule::Launch;
using capsule::Verdict;

using Chooser = std::function<bool(const Launch &)>;

std::vector<std::string> targetNames(const DiffOptions &options) {
  return options.archs.empty() ? std::vector<std::string>{""} : options.archs;
}

Expected<ReplayTarget> targetOf(const std::string &name, const DiffOptions &options) {
  ReplayTarget base{options.library.empty() ? "replay" : options.library, options.settings, false,
                    options.library};
  if (options.device == "nvidia") {
    if (!name.empty() || !options.library.empty())
      return createStringError("--device nvidia goes with neither --arch nor --library");
    return parseTarget("nvidia", base);
  }
  return name.empty() ? Expected<ReplayTarget>(std::move(base)) : parseTarget(name, base);
}

/// An error of the command, which says nothing of the launches.
int failAsError(Error error) {
  fail(std::move(error));
  return kUsage;
}

Error checkAnyChosen(const Capsule &capsule, const Chooser &isWanted) {
  if (any_of(capsule.launches, isWanted))
    return Error::success();
  return createStringError(capsule.launches.empty() ? "the capsule has no launch"
                                                    : "the capsule has no launch of such a kernel");
}

/// A type or a shape of what no launch has is a mistake of the user.
Error checkViews(const Capsule &capsule, const Chooser &isWanted, const DiffOptions &options) {
  for (const capsule::View &view : options.bounds.views) {
    const bool isUsed = any_of(capsule.launches, [&](const Launch &launch) {
      return isWanted(launch) && any_of(launch.memory, [&](const capsule::Region &region) {
               return capsule::isViewOf(view, launch, region);
             });
    });
    if (!isUsed)
      return createStringError("--type, --shape: no launch has memory of parameter or variable '" +
                               view.of + "'");
    if (view.columns && options.html.empty())
      return createStringError("--shape is for the page: it needs --html");
  }
  return Error::success();
}

/// The results of all launches on one target against those of another run; null: as recorded.
Expected<DiffReport::Target> compareAll(const Capsule &capsule, const Replayed *expected,
                                        const Replayed &got, const std::string &name,
                                        const DiffOptions &options, const Chooser &isWanted) {
  DiffReport::Target target;
  target.name = name;
  for (const Launch &launch : capsule.launches) {
    if (!isWanted(launch))
      continue;
    const Replayed::Found one = expected ? expected->find(launch.ordinal)
                                         : Replayed::Found{&capsule, &launch},
                          other = got.find(launch.ordinal);
    if (!one.launch || !other.launch)
      return createStringError("launch " + Twine(launch.ordinal) + " is not in both");
    Expected<capsule::LaunchResult> result =
        capsule::compareLaunches({capsule, launch}, {*one.capsule, *one.launch},
                                 {*other.capsule, *other.launch}, options.bounds);
    if (!result)
      return result.takeError();
    target.launches.push_back(std::move(*result));
  }
  return target;
}

/// For the page: the code around the store, and who wrote the first element that differs in each
/// part of the pictures.
void describe(const Capsule &capsule, const ReplayTarget &on, const DiffOptions &options,
              const capsule::LocateRequest &request, capsule::BufferResult &buffer) {
  constexpr uint64_t kMost = uint64_t(1) << 26; // four times as much is written
  const Launch &launch = capsule.launches[request.launch];
  Expected<std::vector<capsule::Excerpt>> code =
      excerptsAt(capsule, launch, buffer.writer->site, on, options.work);
  if (code)
    buffer.code = std::move(*code);
  else
    messages() << "rubia: the page has no code: " << toString(code.takeError()) << "\n";
  if (launch.memory[request.region].bytes > kMost)
    return;
  Expected<capsule::WriterMap> map = locateAllOn(options.work, on, request);
  if (!map) {
    messages() << "rubia: the page has no threads: " << toString(map.takeError()) << "\n";
    return;
  }
  std::copy(std::begin(launch.grid), std::end(launch.grid), map->grid);
  std::copy(std::begin(launch.block), std::end(launch.block), map->block);
  for (auto *parts : {&buffer.stretchParts, &buffer.cellParts})
    for (capsule::BufferResult::Part &part : *parts)
      part.writer = map->at(part.element * buffer.elementBytes);
}

/// Names the store that wrote the first element that differs, for the first launches that differ:
/// each takes a replay of its own. What cannot be located is left out, with a message.
void locateAll(const Capsule &capsule, const ReplayTarget &on, const DiffOptions &options,
               DiffReport::Target &target) {
  unsigned left = 3;
  for (capsule::LaunchResult &result : target.launches)
    for (capsule::BufferResult &buffer : result.buffers) {
      const bool isLookedAt = buffer.verdict == Verdict::Different ||
                              (options.explain && buffer.verdict == Verdict::Undecided);
      if (!isLookedAt || !buffer.first || !left || options.noLocate ||
          buffer.region >= result.launch->memory.size()) // arrays are written by other instructions
        continue;
      --left;
      capsule::LocateRequest request;
      request.launch = size_t(result.launch - capsule.launches.data());
      request.region = buffer.region;
      // The first byte that differs: others may write the rest of the element.
      request.offset = buffer.first->index * buffer.elementBytes +
                       unsigned(countr_zero(buffer.first->expected ^ buffer.first->got)) / 8;
      Expected<std::optional<capsule::Writer>> writer = locateOn(options.work, on, request);
      if (writer) {
        buffer.writer = *writer;
        if (*writer && !options.html.empty())
          describe(capsule, on, options, request, buffer);
      } else
        messages() << "rubia: the store is not located: " << toString(writer.takeError()) << "\n";
    }
}

/// Bounds that the user gave are the last word.
void decide(const Capsule &capsule, const PerturbedRuns &runs, const DiffOptions &options,
            DiffReport::Target &target) {
  const bool canTell = runs.expected || !capsule.environment.hasNoResults;
  if (canTell && !options.bounds.ulps && !options.bounds.relative)
    decideByPerturbing(capsule, runs, target.launches);
}

/// Looks for what is undefined in the first launches that differ: a replay of its own for each, on
/// the emulator.
void checkAll(const Capsule &capsule, const Replayed &got, const ReplayTarget &on,
              const DiffOptions &options, DiffReport::Target &target) {
  unsigned left = 16;
  if (on.isReference || !hasOrders(on)) // the reference has one order
    return;
  for (capsule::LaunchResult &result : target.launches) {
    // Threads that race may load anything, but what is made of equal operands is not up to them.
    if (result.verdict != Verdict::Different || result.isComputed || !left || options.noLocate)
      continue;
    --left;
    Expected<std::optional<Undefined>> found =
        undefinedIn(capsule, got, options.work, on, result.launch->ordinal);
    if (!found) {
      messages() << "rubia: races are not looked for: " << toString(found.takeError()) << "\n";
    } else if (*found) {
      result.verdict = (*found)->isRace ? Verdict::Race : Verdict::Unwritten;
      result.reason = (*found)->what;
    }
  }
}

/// Where more is found out of what a target computed: that target; for the reference, which only
/// computes, the processor that the settings choose.
ReplayTarget lookedAtOn(ReplayTarget target) {
  target.isReference = false;
  return target;
}

/// The first launches that are wrong, and then those that are undecided.
std::vector<uint64_t> explainedOf(ArrayRef<capsule::LaunchResult> launches) {
  constexpr size_t kMost = 3;
  std::vector<uint64_t> ordinals;
  for (bool isUndecided : {false, true})
    for (const capsule::LaunchResult &result : launches)
      if (ordinals.size() < kMost && (isUndecided ? result.verdict == Verdict::Undecided
                                                  : result.verdict >= Verdict::Different))
        ordinals.push_back(result.launch->ordinal);
  return ordinals;
}

/// Asks a third one about launches that differ or fail: the reference, or a processor about that.
/// Threads that wrote what differs are followed.
Error explainAll(const Capsule &capsule, const Replayed &got, const ReplayTarget &on,
                 const DiffOptions &options, const Chooser &isWanted, ReferenceRuns &reference,
                 DiffReport::Target &target) {
  DiffOptions asked = options;
  asked.work.ordinals = explainedOf(target.launches);
  if (asked.work.ordinals.empty())
    return Error::success();
  const auto isAsked = [&](const Launch &launch) {
    return isWanted(launch) && is_contained(asked.work.ordinals, launch.ordinal);
  };
  ReplayTarget third = lookedAtOn(on);
  if (on.isReference)
    third.name = third.settings.text(settings::Id::arch).empty()
                     ? "Rubia"
                     : std::string(third.settings.text(settings::Id::arch));
  else if (Error error =
               parseTarget("reference", ReplayTarget{"", options.settings}).moveInto(third))
    return error;
  Expected<Replayed> thirdRun = Replayed::run(asked.work, capsule, third);
  if (!thirdRun)
    return thirdRun.takeError();
  const ReplayTarget looked = lookedAtOn(on);
  const auto compared = [&](const Replayed *expected,
                            const Replayed &other) -> Expected<DiffReport::Target> {
    Expected<DiffReport::Target> found =
        compareAll(capsule, expected, other, third.name, asked, isAsked);
    if (found)
      decide(capsule,
             {expected, other, asked.work, looked, asked.perturbed, on.isReference, reference},
             asked, *found);
    return found;
  };
  Expected<DiffReport::Target> withRecorded = compared(nullptr, *thirdRun);
  if (!withRecorded)
    return withRecorded.takeError();
  Expected<DiffReport::Target> withTarget = compared(&*thirdRun, got);
  if (!withTarget)
    return withTarget.takeError();
  const Voters voters{on, third};
  for (auto [a, b] : zip_equal(withRecorded->launches, withTarget->launches)) {
    capsule::LaunchResult &result =
        *find_if(target.launches, [&, launch = a.launch](const capsule::LaunchResult &other) {
          return other.launch == launch;
        });
    Vote vote = voteOf(a, b, voters);
    result.explanation.push_back(std::move(vote.text));
    result.wrong = vote.wrong;
    if (options.noLocate)
      continue;
    // What is undecided differs from the reference anyway.
    const bool isUndecided = result.verdict == Verdict::Undecided;
    const Replayed *right = isUndecided ? nullptr : &*thirdRun;
    const auto differs = [&](const ReplayTarget &other) -> Expected<bool> {
      DiffOptions one = asked;
      one.work.ordinals = {result.launch->ordinal};
      constexpr unsigned kSeconds = 20; // one that never ends takes as long with each setting
      if (StringRef(result.reason).contains(kNotEnded))
        one.work.timeout = std::min(one.work.timeout ? one.work.timeout : kSeconds, kSeconds);
      Expected<Replayed> again = Replayed::run(one.work, capsule, other);
      if (!again)
        return again.takeError();
      Expected<DiffReport::Target> found =
          compareAll(capsule, right, *again, other.name, one, [&](const Launch &launch) {
            return launch.ordinal == result.launch->ordinal;
          });
      if (!found)
        return found.takeError();
      decide(capsule, {right, *again, one.work, looked, one.perturbed, on.isReference, reference},
             one, *found);
      const Verdict verdict = found->launches.front().verdict;
      if (verdict == Verdict::Unsupported || (verdict == Verdict::Undecided && !isUndecided))
        return createStringError("it cannot be told");
      return verdict >= Verdict::Undecided;
    };
    if (Error error = explain(capsule, asked.work, voters, differs, result))
      result.explanation.push_back("the thread cannot be followed: " + toString(std::move(error)));
    // No instruction of the kernel may do that.
    if (result.isComputed && isUndecided && !result.isOfNans)
      result.verdict = Verdict::Different;
    if (result.instruction && !options.html.empty())
      if (Error error = excerptsAt(capsule, *result.launch, *result.instruction, looked, asked.work)
                            .moveInto(result.explained))
        messages() << "rubia: the page lacks the code: " << toString(std::move(error)) << "\n";
  }
  return Error::success();
}

/// The first launch that differs, made small.
void reduceFirst(const Capsule &capsule, const ReplayTarget &on, const DiffOptions &options,
                 DiffReport::Target &target) {
  const auto found = find_if(target.launches, [](const capsule::LaunchResult &result) {
    return result.verdict == Verdict::Different;
  });
  if (found == target.launches.end())
    return;
  Expected<Reduced> reduced = reduce(capsule, *found->launch, options.work, on, options.reduced);
  found->explanation.push_back(
      reduced ? ("reduced to " + Twine(reduced->lines) + " lines of PTX, " + Twine(reduced->ctas) +
                 " CTAs and " + Twine(reduced->bytes) + " bytes, by " + Twine(reduced->attempts) +
                 " attempts: " + options.reduced + "/run.sh")
                    .str()
              : "it cannot be reduced: " + toString(reduced.takeError()));
}

int statusOf(Verdict verdict) {
  switch (verdict) {
  case Verdict::Equal:
  case Verdict::Within:
  case Verdict::Recordings:
    return kDone;
  case Verdict::Undecided:
  case Verdict::OtherImage:
  case Verdict::Unsupported:
    return kPartlyFailed;
  case Verdict::Different:
  case Verdict::Race:
  case Verdict::Unwritten:
  case Verdict::Failed:
    return kFailed;
  }
  return kFailed;
}

Expected<Replayed> openAgain(const std::string &path) {
  Expected<Capsule> capsule = Capsule::open(path);
  if (!capsule)
    return capsule.takeError();
  return Replayed::of(std::move(*capsule));
}

Expected<std::vector<Replayed>> openRecordings(const DiffOptions &options) {
  std::vector<Replayed> all;
  for (const std::string &path : options.recordings) {
    Expected<Replayed> one = openAgain(path);
    if (!one)
      return one.takeError();
    all.push_back(std::move(*one));
  }
  return all;
}

Error compareBetween(const Capsule &capsule, const DiffOptions &options, const Chooser &isWanted,
                     DiffReport &report) {
  const auto [first, second] = StringRef(options.between).split(',');
  if (first.empty() || second.empty() || second.contains(','))
    return createStringError("--between: expected two targets, 'X,Y'");
  if (options.archs.size() > 1)
    return createStringError("--between takes one --arch, which both targets begin with");
  Expected<ReplayTarget> base = targetOf(targetNames(options).front(), options);
  if (!base)
    return base.takeError();
  Expected<ReplayTarget> x = parseTarget(first, *base), y = parseTarget(second, *base);
  if (!x || !y)
    return joinErrors(x ? Error::success() : x.takeError(), y ? Error::success() : y.takeError());
  Expected<Replayed> a = Replayed::run(options.work, capsule, *x);
  if (!a)
    return a.takeError();
  Expected<Replayed> b = Replayed::run(options.work, capsule, *y);
  if (!b)
    return b.takeError();
  Expected<DiffReport::Target> target =
      compareAll(capsule, &*a, *b, first.str() + " and " + second.str(), options, isWanted);
  if (!target)
    return target.takeError();
  const ReplayTarget on = lookedAtOn(*y);
  ReferenceRuns reference;
  decide(
      capsule,
      {&*a, *b, options.work, on, options.perturbed, x->isReference || y->isReference, reference},
      options, *target);
  locateAll(capsule, on, options, *target);
  checkAll(capsule, *b, *y, options, *target);
  report.targets.push_back(std::move(*target));
  return Error::success();
}

Error compareTargets(const Capsule &capsule, const DiffOptions &options, const Chooser &isWanted,
                     DiffReport &report) {
  ReferenceRuns reference;
  for (const std::string &name :
       options.against.empty() ? targetNames(options) : std::vector{options.against}) {
    const bool isReplay = options.against.empty();
    Expected<ReplayTarget> on = isReplay ? targetOf(name, options) : ReplayTarget{name, {}, false};
    if (!on)
      return on.takeError();
    Expected<Replayed> got =
        isReplay ? Replayed::run(options.work, capsule, *on) : openAgain(options.against);
    if (!got)
      return got.takeError();
    Expected<DiffReport::Target> target =
        compareAll(capsule, nullptr, *got, on->name, options, isWanted);
    if (!target)
      return target.takeError();
    if (isReplay) {
      const ReplayTarget looked = lookedAtOn(*on);
      decide(capsule,
             {nullptr, *got, options.work, looked, options.perturbed, on->isReference, reference},
             options, *target);
      Expected<std::vector<Replayed>> recordings = openRecordings(options);
      if (!recordings)
        return recordings.takeError();
      if (!recordings->empty())
        decideByRecordings(capsule, *got, *recordings, target->launches);
      if (!on->isReference) // which gives the bits of NVIDIA's NaNs, and fuses as is recorded
        if (Error error = checkPermitted(capsule, *on, options.work, options.bounds,
                                         options.explain, target->launches))
          return error;
      locateAll(capsule, looked, options, *target);
      if (options.explain)
        if (Error error = explainAll(capsule, *got, *on, options, isWanted, reference, *target))
          return error;
      checkAll(capsule, *got, *on, options, *target);
      if (!options.reduced.empty() && !on->isReference)
        reduceFirst(capsule, *on, options, *target);
    }
    report.targets.push_back(std::move(*target));
  }
  return Error::success();
}

int diff(const DiffOptions &options) {
  Expected<Chooser> isWanted = options.work.chooser();
  if (!isWanted)
    return failAsError(isWanted.takeError());
  Expected<Capsule> capsule = options.work.open();
  if (!capsule)
    return failAsError(capsule.takeError());
  if (Error error = checkAnyChosen(*capsule, *isWanted))
    return failAsError(std::move(error));
  if (Error error = checkViews(*capsule, *isWanted, options))
    return failAsError(std::move(error));
  DiffReport report;
  report.capsule = options.work.path;
  report.recordedOn = capsule->environment.device;
  report.recorded = capsule->environment;
  if (Error error = options.between.empty() ? compareTargets(*capsule, options, *isWanted, report)
                                            : compareBetween(*capsule, options, *isWanted, report))
    return failAsError(std::move(error));
  report.writeText(printed(), options.all);
  const std::pair<const std::string &, void (DiffReport::*)(raw_ostream &) const> files[] = {
      {options.json, &DiffReport::writeJson},
      {options.junit, &DiffReport::writeJUnit},
      {options.html, &DiffReport::writeHtml},
  };
  for (const auto &[file, write] : files)
    if (!file.empty())
      if (Error error = writeFile(file, [&](raw_ostream &os) { (report.*write)(os); }))
        return failAsError(std::move(error));
  return statusOf(report.verdict());
}

int replay(const DiffOptions &options) {
  Expected<Chooser> isWanted = options.work.chooser();
  if (!isWanted)
    return failAsError(isWanted.takeError());
  Expected<Capsule> capsule = options.work.open();
  if (!capsule)
    return failAsError(capsule.takeError());
  if (Error error = checkAnyChosen(*capsule, *isWanted))
    return failAsError(std::move(error));
  int status = kDone;
  for (const std::string &name : targetNames(options)) {
    Expected<ReplayTarget> target = targetOf(name, options);
    if (!target)
      return failAsError(target.takeError());
    Expected<Replayed> got = Replayed::run(options.work, *capsule, *target);
    if (!got)
      return failAsError(got.takeError());
    size_t replayed = 0, all = 0;
    for (const Launch &launch : capsule->launches) {
      if (!(*isWanted)(launch))
        continue;
      ++all;
      const Replayed::Found found = got->find(launch.ordinal);
      if (found.launch && found.launch->problem.empty()) {
        ++replayed;
        if (const std::string moved = textOf(found.launch->moved); !moved.empty())
          printed() << target->name << ": " << titleOf(launch) << ": " << moved << "\n";
        continue;
      }
      const bool hasFailed = found.launch && !found.launch->status;
      status = hasFailed || status == kFailed ? kFailed : kPartlyFailed;
      printed() << target->name << ": launch " << launch.ordinal << " " << launch.kernel << ": "
                << (hasFailed ? "failed" : "unsupported") << ": "
                << (found.launch ? found.launch->problem : "not replayed") << "\n";
    }
    printed() << target->name << ": " << replayed << " of " << all << " launches replayed\n";
  }
  return status;
}

void addCommon(CLI::App &command, DiffOptions &options) {
  command.add_option("file", options.work.path, "the capsule")->required();
  command.add_option("--kernel", options.work.kernel,
                     "only launches of kernels whose names match this regular expression");
  command.add_option("--launch", options.work.ordinals,
                     "only the launch of this number, as the report has it");
  command.add_option(
      "--images", options.work.images,
      "a file with images that the capsule does not have: a program, a library, PTX");
  command.add_option("--ptx", options.work.ptx,
                     "a file with PTX to run in the place of the recorded one");
  command
      .add_option("--timeout", options.work.timeout,
                  "seconds that a launch may take; 0: any number")
      ->capture_default_str();
  command.add_option("--library", options.library,
                     "the libcuda.so.1 to replay through; default: Rubia's");
}

void addTargets(CLI::App &command, DiffOptions &options) {
  command
      .add_option("--arch", options.archs,
                  "targets, each with code options behind it if need be: "
                  "gfx1100,gfx942;nan=canonical; `reference`: PTX executed on the host")
      ->delimiter(',');
  command
      .add_option_function<std::string>(
          "--device",
          [&options](const std::string &device) {
            options.device = device;
            if (device != "nvidia")
              options.settings.set(settings::Id::device, device);
          },
          "where kernels run: auto, hip, emulator, or nvidia: through NVIDIA's driver, in the "
          "place "
          "where it usually is")
      ->check(CLI::IsMember({"auto", "hip", "emulator", "nvidia"}))
      ->default_str("auto");
  addCodeOptions(command, options.settings);
}

} // namespace

void addReplay(CLI::App &app, int &status) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App *command = app.add_subcommand("replay", "Run the launches of a capsule");
  addCommon(*command, *options);
  addTargets(*command, *options);
  command->callback([options, &status] { status = replay(*options); });

  CLI::App *worker = app.add_subcommand("replay-here", "");
  worker->group(""); // what `replay` and `diff` start
  auto here = std::make_shared<DiffOptions>();
  addCommon(*worker, *here);
  addReplayHere(*worker, *here);
  worker->callback([here, &status] { status = replayHere(*here); });
}

void addDiff(CLI::App &app, int &status) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App *command = app.add_subcommand(
      "diff", "Run the launches of a capsule and compare what they make of their memory");
  addCommon(*command, *options);
  addTargets(*command, *options);
  command->add_option("--between", options->between,
                      "compare two targets, X,Y, with each other and not with what was recorded: "
                      "gfx1100,gfx942, ieee,h100, or the folders of two versions of Rubia");
  command->add_option("--against", options->against,
                      "compare with what another capsule of the same launches recorded");
  command->add_option_function<uint64_t>(
      "--ulp", [options](uint64_t value) { options->bounds.ulps = value; },
      "floating-point numbers so many steps apart are within the bound");
  command->add_option_function<double>(
      "--relative", [options](double value) { options->bounds.relative = value; },
      "and those whose relative difference is at most this");
  const auto addView = [&](const char *name, auto parse, const char *text) {
    command->add_option_function<std::vector<std::string>>(
        name,
        [options, parse](const std::vector<std::string> &texts) {
          for (const std::string &one : texts) {
            Expected<capsule::View> view = parse(one);
            if (!view)
              throw CLI::ValidationError(toString(view.takeError()));
            options->bounds.views.push_back(std::move(*view));
          }
        },
        text);
  };
  addView("--type", capsule::parseElementType,
          "what an allocation holds: a parameter's number or a variable's name, =, and f16, bf16, "
          "f32, f64, e4m3, e5m2, b8, b16, b32 or b64; default: as the kernel stores it");
  addView("--shape", capsule::parseShape,
          "the same with COLUMNSxROWS: the page shows it in two dimensions");
  command
      ->add_option("--perturbed", options->perturbed,
                   "runs in which inexact instructions move their results, to tell what such a "
                   "difference may be; 0: differences of inexact kernels stay undecided")
      ->capture_default_str()
      ->check([](const std::string &text) -> std::string {
        unsigned runs = 0;
        const bool isGood =
            to_integer(StringRef(text), runs, 10) && (runs == 0 || (runs >= 3 && runs <= 1000));
        return isGood ? "" : "0, or 3 to 1000: each run is judged by the others";
      });
  command
      ->add_option("--recordings", options->recordings,
                   "further recordings of the same launches, three or more: what differs no more "
                   "than they do is within them")
      ->expected(3, 1000)
      ->excludes("--between")
      ->excludes("--against");
  command->add_option("--json", options->json, "a report for programs, into this file or -");
  command->add_option("--junit", options->junit, "a report for CI, into this file or -");
  command->add_option("--html", options->html, "a report to look at, into this file or -");
  command
      ->add_flag(
          "--explain", options->explain,
          "of launches that differ: who is wrong, by a third vote, and the first instruction "
          "whose result differs")
      ->excludes("--between")
      ->excludes("--against");
  command
      ->add_option("--reduce", options->reduced,
                   "a folder for the first launch that differs, made small: PTX, memory, and a "
                   "script that shows it with `rubia launch`")
      ->excludes("--between")
      ->excludes("--against");
  command->add_flag("--no-locate", options->noLocate,
                    "do not look for the stores that wrote what differs, nor for races");
  command->add_flag("--all", options->all, "list launches that are equal too");
  command->callback([options, &status] { status = diff(*options); });
}

} // namespace rubia::tools
