// SPDX-License-Identifier: Apache-2.0
// rubia replay-here: in the process for a target, which has its settings in the environment.
#include "diff/Replay.h"
#include "tools/Commands.h"
#include "tools/OutputFile.h"
#include "tools/diff/DiffOptions.h"
#include "tools/diff/ReferenceReplay.h"
#include "llvm/ADT/StringExtras.h"
#include <unistd.h>

using namespace llvm;

namespace rubia::tools {

using capsule::Capsule;
using capsule::Launch;

namespace {

/// The text of a file; empty for no file.
Expected<std::string> readPtx(const std::string &path) {
  if (path.empty())
    return "";
  auto text = input::readFile(path, capsule::kMaxImageBytes);
  if (!text)
    return text.takeError();
  return (*text)->getBuffer().str();
}

int locateHere(const DiffOptions &options, const Capsule &capsule) {
  Expected<std::string> ptx = readPtx(options.work.ptx);
  if (!ptx)
    return fail(ptx.takeError());
  const auto &at = options.locate;
  const capsule::LocateRequest request{
      at[0], at[1], at[2], at.size() > 3 ? std::optional(uint32_t(at[3])) : std::nullopt};
  if (request.launch >= capsule.launches.size())
    return fail("there is no such launch");
  Expected<std::vector<capsule::Writer>> writers =
      options.onReference ? locateOnReference(capsule, request, *ptx)
                          : capsule::locate(capsule, request, options.library, *ptx);
  if (!writers)
    return fail(writers.takeError());
  json::Array all;
  for (const capsule::Writer &writer : *writers)
    all.push_back(toJson(writer));
  if (Error error =
          writeFile(options.output, [&](raw_ostream &os) { os << json::Value(std::move(all)); }))
    return fail(std::move(error));
  return kDone;
}

int locateAllHere(const DiffOptions &options, const Capsule &capsule) {
  Expected<std::string> ptx = readPtx(options.work.ptx);
  if (!ptx)
    return fail(ptx.takeError());
  Expected<capsule::WriterMap> map = capsule::locateAll(
      capsule, {options.writers[0], options.writers[1], 0}, options.library, *ptx);
  if (!map)
    return fail(map.takeError());
  if (Error error = writeWriters(*map, options.output))
    return fail(std::move(error));
  return kDone;
}

int traceHere(const DiffOptions &options, const Capsule &capsule) {
  const capsule::TraceOf of{
      size_t(options.trace[0]),   uint32_t(options.trace[1]),
      uint32_t(options.trace[2]), options.givenLoads ? capsule::Given::Loads : capsule::Given::Open,
      options.isFailing,          options.output};
  if (of.launch >= capsule.launches.size())
    return fail("there is no such launch");
  Expected<std::string> ptx = readPtx(options.work.ptx);
  if (!ptx)
    return fail(ptx.takeError());
  Expected<std::vector<uint8_t>> trace = std::vector<uint8_t>();
  if (options.onReference) {
    limitOwnTime(options.work.timeout);
    auto given = input::readFile(options.given, UINT64_MAX);
    if (!given)
      return fail(given.takeError());
    std::vector<uint8_t> bytes((*given)->getBuffer().bytes_begin(),
                               (*given)->getBuffer().bytes_end());
    bytes.resize(capsule::kTraceBytes);
    trace = traceOnReference(capsule, of, *ptx, bytes);
    limitOwnTime(0);
  } else {
    alarm(options.work.timeout);
    trace = capsule::trace(capsule, of, options.library, *ptx);
    alarm(0);
  }
  if (!trace)
    return fail(trace.takeError());
  if (options.isFailing) // it lies there
    return kDone;
  if (Error error = writeFile(options.output, toStringRef(*trace)))
    return fail(std::move(error));
  return kDone;
}

} // namespace

int replayHere(const DiffOptions &options) {
  if (!options.messages.empty() && !freopen(options.messages.c_str(), "w", stderr))
    return kFailed;
  auto isWanted = options.work.chooser();
  if (!isWanted)
    return fail(isWanted.takeError());
  Expected<Capsule> capsule = options.work.open();
  if (!capsule)
    return fail(capsule.takeError());
  if (options.onReference && (!options.writers.empty() || options.touched))
    return fail("the target `reference` does not watch all stores");
  if (!options.trace.empty())
    return traceHere(options, *capsule);
  if (!options.locate.empty())
    return locateHere(options, *capsule);
  if (!options.writers.empty())
    return locateAllHere(options, *capsule);
  if (options.touched) {
    if (Error error = writeTouched(*capsule, options.work, options.library, options.output))
      return fail(std::move(error));
    return kDone;
  }
  constexpr int kFast = 1;
  Expected<capsule::CapsuleOutput> output = capsule::CapsuleOutput::create(options.output, kFast);
  if (!output)
    return fail(output.takeError());
  capsule::ReplayOptions replaying;
  replaying.library = options.library;
  if (Error error = readPtx(options.work.ptx).moveInto(replaying.ptx))
    return fail(std::move(error));
  replaying.from = options.from;
  replaying.isWanted = *isWanted;
  replaying.timeout = options.work.timeout;
  if (options.work.noise)
    replaying.noise = capsule::Noise::ofRun(*options.work.noise);
  replaying.isPlain = options.work.isPlain;
  Expected<size_t> done = options.onReference ? replayOnReference(*capsule, *output, replaying)
                                              : capsule::replay(*capsule, *output, replaying);
  if (!done)
    return fail(done.takeError());
  if (Error error = output->finish())
    return fail(std::move(error));
  return kDone;
}

void addReplayHere(CLI::App &worker, DiffOptions &options) {
  worker.add_option("-o", options.output)->required();
  worker.add_option("--from", options.from);
  worker.add_option("--locate", options.locate)->expected(3, 4);
  worker.add_option("--writers", options.writers)->expected(2);
  worker.add_option("--trace", options.trace)->expected(3);
  worker.add_option("--given", options.given);
  worker.add_flag("--given-loads", options.givenLoads);
  worker.add_flag("--failing", options.isFailing);
  worker.add_flag("--touched", options.touched);
  worker.add_flag("--reference", options.onReference);
  worker.add_option("--noise", options.work.noise);
  worker.add_flag("--plain", options.work.isPlain);
  worker.add_option("--messages", options.messages);
}

} // namespace rubia::tools
