// SPDX-License-Identifier: Apache-2.0
// Every shard reads all files, so images and what is wrong with files are in each report; kernels
// are in one. A shard that was run again has two reports: what was compiled first is in the cache
// then, so that the first word on a kernel counts.
#include "tools/PrecompileMerge.h"
#include "input/File.h"
#include "tools/Commands.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <map>
#include <nlohmann/json.hpp>
#include <set>

using namespace llvm;
using nlohmann::ordered_json;

namespace rubia::tools {

constexpr uint64_t kMaxReportBytes = uint64_t(1) << 30;

namespace {

class Merge {
public:
  Error add(const std::string &file);
  Expected<ordered_json> finish();

private:
  Error addParts(const std::string &file, const ordered_json &report);
  void addKernel(const ordered_json &kernel);
  Error addShard(const std::string &file, StringRef shard);

  ordered_json archs;
  unsigned shards = 0;
  std::set<unsigned> known;
  std::map<std::string, ordered_json> images, problems, kernels; // by what makes them one
  uint64_t files = 0, pending = 0;
  double seconds = 0;
  std::string interrupted;
};

Error Merge::addShard(const std::string &file, StringRef shard) {
  unsigned index = 1, count = 1;
  const auto [first, second] = shard.split('/');
  if (!shard.empty() && (first.getAsInteger(10, index) || second.getAsInteger(10, count)))
    return createStringError(file + ": '" + shard + "' is no shard");
  if (shards != 0 && shards != count)
    return createStringError(file + ": of " + Twine(count) + " shards, the others are of " +
                             Twine(shards));
  shards = count;
  known.insert(index);
  return Error::success();
}

/// What failed in one run may have been compiled in another.
void Merge::addKernel(const ordered_json &kernel) {
  const std::string key = ordered_json{kernel.at("image"), kernel.at("capability"),
                                       kernel.at("kernel"), kernel.at("arch")}
                              .dump();
  const bool hasFailed = kernel.at("status") == "failed";
  auto [found, fresh] = kernels.try_emplace(key, kernel);
  if (!fresh && !hasFailed && found->second.at("status") == "failed")
    found->second = kernel;
}

Error Merge::addParts(const std::string &file, const ordered_json &report) {
  if (archs.is_null())
    archs = report.at("archs");
  if (archs != report.at("archs"))
    return createStringError(file + ": for other targets than the reports before it");
  if (Error error = addShard(file, report.value("shard", "")))
    return error;
  const ordered_json &summary = report.at("summary");
  files = std::max(files, summary.at("files").get<uint64_t>());
  seconds += summary.at("seconds").get<double>();
  pending += summary.value("pending_units", uint64_t(0));
  interrupted = summary.value("interrupted", interrupted);
  for (const ordered_json &image : report.at("images"))
    images.try_emplace(image.at("digest").dump() + image.at("capability").dump(), image);
  for (const ordered_json &problem : report.at("problems"))
    problems.try_emplace(problem.dump(), problem);
  for (const ordered_json &kernel : report.at("kernels"))
    addKernel(kernel);
  return Error::success();
}

Error Merge::add(const std::string &file) {
  auto text = input::readFile(file, kMaxReportBytes);
  if (!text)
    return text.takeError();
  const ordered_json report = ordered_json::parse((*text)->getBuffer(), nullptr, false);
  if (!report.is_object() || report.value("version", ordered_json()) != 1)
    return createStringError(file + ": no report of `rubia precompile --report FILE.json`");
  try {
    return addParts(file, report);
  } catch (const ordered_json::exception &error) {
    return createStringError(file + ": " + error.what());
  }
}

Expected<ordered_json> Merge::finish() {
  std::string missing;
  for (unsigned i = 1; i <= shards; ++i)
    if (!known.count(i))
      missing += (missing.empty() ? "" : ", ") + std::to_string(i);
  if (!missing.empty())
    return createStringError("no report of shard " + missing + " of " + std::to_string(shards));
  auto count = [&](const char *status) {
    return count_if(kernels, [&](const auto &one) { return one.second["status"] == status; });
  };
  auto listOf = [](const std::map<std::string, ordered_json> &parts) {
    ordered_json list = ordered_json::array();
    for (const auto &[key, part] : parts)
      list.push_back(part);
    return list;
  };
  const size_t failures = size_t(count("failed")) + problems.size();
  const int status = failures == 0                                 ? kDone
                     : failures < kernels.size() + problems.size() ? kPartlyFailed
                                                                   : kFailed;
  ordered_json merged{{"version", 1}, {"archs", archs}};
  merged["summary"] = {{"files", files},
                       {"images", images.size()},
                       {"kernels", kernels.size()},
                       {"compiled", count("compiled")},
                       {"cached", count("cached")},
                       {"failed", count("failed")},
                       {"problems", problems.size()},
                       {"seconds", seconds},
                       {"exit_status", status}};
  if (!interrupted.empty()) {
    merged["summary"]["interrupted"] = interrupted;
    merged["summary"]["pending_units"] = pending;
  }
  merged["problems"] = listOf(problems);
  merged["images"] = listOf(images);
  merged["kernels"] = listOf(kernels);
  return merged;
}

} // namespace

Expected<ordered_json> mergeReports(ArrayRef<std::string> files) {
  Merge merge;
  for (const std::string &file : files)
    if (Error error = merge.add(file))
      return std::move(error);
  return merge.finish();
}

} // namespace rubia::tools
