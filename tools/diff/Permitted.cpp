// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/Permitted.h"
#include "diff/Fusion.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting contract, nan;
} // namespace rubia::settings::Id
namespace rubia::settings::ContractMode {
extern const Word Never;
} // namespace rubia::settings::ContractMode
namespace rubia::settings::NanMode {
extern const Word Canonical;
} // namespace rubia::settings::NanMode

namespace rubia::tools {

using capsule::Capsule;
using capsule::Launch;
using capsule::LaunchResult;
using capsule::Verdict;

namespace {

/// Another of the results that PTX permits.
struct Permitted {
  settings::Setting setting;
  const char *value;
  const char *reason; // of launches that are equal then
};

bool hasFreeSums(const Capsule &capsule, const ReplayWork &asked, const Launch &launch) {
  Expected<std::string> text = asked.textOf(capsule, launch);
  Expected<capsule::FusiblePtx> ptx =
      text ? capsule::FusiblePtx::open(*text, launch.kernel) : text.takeError();
  if (ptx)
    return !ptx->sums().empty();
  consumeError(ptx.takeError()); // the launch stays different
  return false;
}

/// Launches that differ are replayed once more with the setting, and undecided if they are equal.
Error check(const Permitted &permitted, const Capsule &capsule, const ReplayTarget &on,
            const ReplayWork &asked, const capsule::Bounds &bounds, bool isOfUndecided,
            std::vector<LaunchResult> &results) {
  ReplayWork work = asked;
  work.ordinals.clear();
  for (const LaunchResult &result : results)
    if ((result.verdict == Verdict::Different ||
         (isOfUndecided && result.verdict == Verdict::Undecided && result.openMaps.empty())) &&
        (permitted.setting != settings::Id::contract ||
         hasFreeSums(capsule, asked, *result.launch)))
      work.ordinals.push_back(result.launch->ordinal);
  if (work.ordinals.empty())
    return Error::success();
  ReplayTarget other = on;
  other.settings.set(permitted.setting, permitted.value);
  Expected<Replayed> got = Replayed::run(work, capsule, other);
  if (!got)
    return got.takeError();
  for (LaunchResult &result : results) {
    if (!is_contained(work.ordinals, result.launch->ordinal))
      continue;
    const Launch &launch = *result.launch;
    const Replayed::Found found = got->find(launch.ordinal);
    if (!found.launch)
      continue;
    Expected<LaunchResult> again = capsule::compareLaunches(
        {capsule, launch}, {capsule, launch}, {*found.capsule, *found.launch}, bounds);
    if (!again)
      return again.takeError();
    if (again->verdict > Verdict::Within)
      continue;
    result.verdict = Verdict::Undecided;
    result.reason = permitted.reason;
    result.isOfNans = permitted.setting == settings::Id::nan;
    for (capsule::BufferResult &buffer : result.buffers)
      if (buffer.verdict == Verdict::Different)
        buffer.verdict = Verdict::Undecided;
  }
  return Error::success();
}

} // namespace

Error checkPermitted(const Capsule &capsule, const ReplayTarget &on, const ReplayWork &work,
                     const capsule::Bounds &bounds, bool isOfUndecided,
                     std::vector<LaunchResult> &results) {
  if (!on.library.empty())
    return Error::success();
  if (!on.settings.is(settings::NanMode::Canonical))
    if (Error error = check({settings::Id::nan, "canonical",
                             "it computes with the bits of NaNs: with --nan canonical it is equal"},
                            capsule, on, work, bounds, isOfUndecided, results))
      return error;
  const bool isFused = !on.settings.is(settings::ContractMode::Never);
  return check({settings::Id::contract, isFused ? "never" : "nvidia",
                isFused ? "products and sums are fused, as PTX permits: with --contract never it "
                          "is equal"
                        : "products and sums are not fused, as PTX permits: with --contract nvidia "
                          "it is equal"},
               capsule, on, work, bounds, isOfUndecided, results);
}

} // namespace rubia::tools
