// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/Explain.h"
#include "diff/Images.h"
#include "diff/Stores.h"
#include "input/File.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace rubia::tools {

using capsule::LaunchResult;
using capsule::TraceDifference;
using capsule::TraceSite;
using capsule::Verdict;

std::string textOfVotes(const LaunchResult &recordedAndReference,
                        const LaunchResult &referenceAndTarget, StringRef target) {
  const auto isKnown = [](const LaunchResult &result) {
    return result.verdict <= Verdict::Recordings || result.verdict == Verdict::Different;
  };
  if (recordedAndReference.verdict == Verdict::Unsupported ||
      recordedAndReference.verdict == Verdict::Failed)
    return "no third vote: " + recordedAndReference.reason;
  if (!isKnown(recordedAndReference) || !isKnown(referenceAndTarget))
    return "no third vote: what differs from the reference is undecided";
  const bool asRecorded = recordedAndReference.verdict != Verdict::Different,
             asTarget = referenceAndTarget.verdict != Verdict::Different;
  if (asRecorded && asTarget)
    return "no third vote: the reference is within the bound of both";
  if (asRecorded)
    return (target + " is wrong: the reference is as recorded").str();
  if (asTarget)
    return ("the recorded side is wrong, or ran another program: the reference is as " + target)
        .str();
  return ("the recording, the reference and " + target +
          " all differ: the program may be undefined, or several are wrong")
      .str();
}

static uint32_t linear(const uint32_t (&at)[3], const uint32_t (&in)[3]) {
  return (at[2] * in[1] + at[1]) * in[0] + at[0];
}

static std::string textOf(ptx::Type type, uint64_t bits) {
  const unsigned bytes = type == ptx::Type::Pred ? 1 : ptx::sizeInBits(type) / 8;
  if (ptx::classOf(type) == ptx::TypeClass::Float)
    return capsule::textOf(type, bytes, bits);
  return formatv("{0} (0x{1})", bits, utohexstr(bits, true, 2 * bytes)).str();
}

static std::string placeOf(const TraceSite &site) {
  return formatv("line {0} of the PTX{1}: {2}", site.place.line,
                 site.place.source.empty() ? "" : " (" + site.place.source + ")", site.place.text)
      .str();
}

static std::vector<std::string> textOf(const TraceDifference &found, ArrayRef<TraceSite> sites,
                                       StringRef target) {
  const std::string counts =
      formatv("{0} results of it are equal before that, {1} are open", found.compared, found.open);
  const TraceSite *site = found.site < sites.size() ? &sites[found.site] : nullptr;
  switch (found.kind) {
  case TraceDifference::Kind::None:
    return {formatv("of the thread that wrote it, {0} results are equal, {1} are open: none "
                    "differs while it is watched, without fused operations, and with NVIDIA's bits "
                    "of NaNs",
                    found.compared, found.open)};
  case TraceDifference::Kind::Cut:
    return {formatv("none of the first {0} results of the thread differs", capsule::kTraceMost)};
  case TraceDifference::Kind::Path:
    return {("the thread takes another way on " + target + " than on the reference").str(),
            "  the last instruction on one side: " + placeOf(*site), "  " + counts};
  case TraceDifference::Kind::Value:
    break;
  }
  std::vector<std::string> lines = {
      "the first result that differs, in the thread that wrote it: " + placeOf(*site),
      formatv("  {0}: {1} {2}, reference {3}", site->result, target,
              textOf(site->type, found.first), textOf(site->type, found.second))};
  for (const TraceDifference::Operand &operand : found.operands)
    lines.push_back(
        operand.first == operand.second
            ? formatv("  with {0} = 0x{1}", operand.name, utohexstr(operand.first, true)).str()
            : formatv("  with {0} = 0x{1}, reference 0x{2}: it lies elsewhere", operand.name,
                      utohexstr(operand.first, true), utohexstr(operand.second, true))
                  .str());
  if (site->isLoad)
    lines.push_back("  it loads what another thread, or the host, has written there");
  lines.push_back("  " + counts);
  return lines;
}

Expected<std::vector<std::string>>
firstDifference(const capsule::Capsule &capsule, const capsule::Launch &launch,
                const capsule::Writer &writer, const ReplayWork &work, const ReplayTarget &target,
                const ReplayTarget &reference) {
  std::string ptx;
  if (work.ptx.empty()) {
    Expected<capsule::ReplayImage> image = capsule::replayImage(capsule, launch);
    if (!image)
      return image.takeError();
    ptx = std::move(image->ptx);
  } else {
    auto file = input::readFile(work.ptx, UINT64_MAX);
    if (!file)
      return file.takeError();
    ptx = (*file)->getBuffer().str();
  }
  Expected<capsule::KernelStores> stores = capsule::storesOf(ptx, launch.kernel);
  if (!stores)
    return stores.takeError();
  if (stores->areHandlesInMemory) // the replay changes such PTX, so places are others
    return createStringError("its handles of textures lie in memory");
  Expected<capsule::TracedPtx> traced = capsule::instrumentTrace(ptx, launch.kernel, false);
  if (!traced)
    return traced.takeError();
  const capsule::TraceOf of{size_t(&launch - capsule.launches.data()),
                            linear(writer.cta, launch.grid), linear(writer.thread, launch.block)};
  ReplayTarget watched = target;
  watched.settings.set(settings::Id::contract, "never");
  watched.settings.set(settings::Id::nan, "canonical");
  Expected<std::vector<uint8_t>> here = traceOn(work, watched, of);
  if (!here)
    return here.takeError();
  Expected<std::vector<uint8_t>> there = traceOn(work, reference, of, *here);
  if (!there)
    return there.takeError();
  return textOf(capsule::compareTraces(*here, *there, traced->sites), traced->sites, target.name);
}

} // namespace rubia::tools
