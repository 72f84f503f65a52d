// SPDX-License-Identifier: Apache-2.0
// What becomes of programs: the verdict on a file, and totals of many.
#include "tools/inspect/Inspection.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <map>
#include <set>

using namespace llvm;
using nlohmann::ordered_json;

namespace rubia::tools {

namespace {
// What becomes of a program, as far as its file tells; docs/inspect.md has the words.
struct Verdict {
  std::string word, text;
  int status;
};

Verdict verdictOn(const ordered_json &file) {
  unsigned working = 0, failing = 0, lost = unsigned(file["problems"].size());
  for (const ordered_json &module : file["modules"]) {
    lost += module.contains("problem");
    if (module.contains("kernels"))
      for (const ordered_json &kernel : module["kernels"])
        ++(kernel["works"].get<bool>() ? working : failing);
  }
  std::string missing;
  for (const ordered_json &call : file["missing"]) {
    const auto function = call["function"].get<std::string>(),
               driver = call["driver"].get<std::string>();
    missing += (missing.empty() ? "" : ", ") + function +
               (driver == function ? "" : " (that needs " + driver + ")");
  }
  const std::string calls = "the program calls what is missing: " + missing;
  const unsigned all = working + failing;
  if (!working && failing + lost)
    return {"no",
            failing ? "none of " + std::to_string(failing) + " kernels can be compiled"
                    : "none of its modules can be loaded",
            kFailed};
  if (failing + lost) {
    std::string text;
    if (failing)
      text = std::to_string(failing) + " of " + std::to_string(all) + " kernels cannot be compiled";
    if (lost)
      text +=
          (text.empty() ? "" : ", ") + std::to_string(lost) + " modules or images cannot be used";
    return {"partly", text + (missing.empty() ? "" : "; " + calls), kPartlyFailed};
  }
  if (!missing.empty())
    return {"calls-missing", (all ? "the kernels compile; " : "") + calls, kPartlyFailed};
  if (!all)
    return {"no-kernels", "there is nothing to compile", kDone};
  std::string text =
      all == 1 ? "its kernel compiles" : "its " + std::to_string(all) + " kernels compile";
  if (!file["calls_are_known"].get<bool>())
    text += "; what it calls of the CUDA runtime cannot be told";
  return {"works", std::move(text), kDone};
}

// Without what differs from kernel to kernel: the file, the line, the kernel's name.
std::string generalReason(StringRef reason, StringRef kernel) {
  StringRef line = reason.split('\n').first;
  if (size_t at = line.find("error: "); at != StringRef::npos)
    line = line.drop_front(at + strlen("error: "));
  std::string text = line.str();
  for (const std::string &name : {"'" + kernel.str() + "'", kernel.str()})
    for (size_t at; !name.empty() && (at = text.find(name)) != std::string::npos;)
      text.replace(at, name.size(), "KERNEL");
  return text;
}

// Of an image that cannot be used, without its place.
std::string reasonOfModule(StringRef problem, StringRef place) {
  problem.consume_front(place);
  problem.consume_front(": ");
  return generalReason(problem, "");
}

struct Reason {
  unsigned kernels = 0, modules = 0;
  std::set<std::string> files;
};

ordered_json listOf(const std::map<std::string, Reason> &reasons) {
  std::vector<std::pair<std::string, Reason>> sorted(reasons.begin(), reasons.end());
  llvm::sort(sorted, [](const auto &a, const auto &b) {
    const unsigned first = a.second.kernels + a.second.modules,
                   second = b.second.kernels + b.second.modules;
    return first != second ? first > second : a.first < b.first;
  });
  ordered_json list = ordered_json::array();
  for (const auto &[text, reason] : sorted)
    list.push_back({{"reason", text},
                    {"kernels", reason.kernels},
                    {"modules", reason.modules},
                    {"files", reason.files.size()}});
  return list;
}
} // namespace

int judge(ordered_json &entry) {
  const Verdict verdict = verdictOn(entry);
  entry["verdict"] = verdict.word;
  entry["reason"] = verdict.text;
  return verdict.status;
}

ordered_json totalsOf(const ordered_json &entries, unsigned filesSeen) {
  unsigned working = 0, failing = 0, codeObjects = 0;
  std::map<std::string, unsigned> verdicts;
  std::map<std::string, Reason> reasons;
  std::map<std::string, unsigned> libraries;
  for (const ordered_json &entry : entries) {
    const auto file = entry["file"].get<std::string>();
    if (entry.contains("code_objects")) {
      codeObjects += entry["code_objects"].size();
      continue;
    }
    ++verdicts[entry["verdict"].get<std::string>()];
    for (const ordered_json &library : entry["libraries"])
      ++libraries[library.get<std::string>()];
    for (const ordered_json &module : entry["modules"]) {
      if (module.contains("problem")) {
        Reason &reason = reasons[reasonOfModule(module["problem"].get<std::string>(),
                                                module["place"].get<std::string>())];
        ++reason.modules;
        reason.files.insert(file);
      }
      if (!module.contains("kernels"))
        continue;
      for (const ordered_json &kernel : module["kernels"]) {
        if (kernel["works"].get<bool>()) {
          ++working;
          continue;
        }
        ++failing;
        Reason &reason = reasons[generalReason(kernel["reason"].get<std::string>(),
                                               kernel["name"].get<std::string>())];
        ++reason.kernels;
        reason.files.insert(file);
      }
    }
  }
  ordered_json byLibrary = ordered_json::array();
  for (const auto &[name, files] : libraries)
    byLibrary.push_back({{"library", name}, {"files", files}});
  return {{"files_seen", filesSeen},     {"files_with_kernels", entries.size()},
          {"code_objects", codeObjects}, {"kernels", working + failing},
          {"working_kernels", working},  {"verdicts", verdicts},
          {"reasons", listOf(reasons)},  {"libraries", std::move(byLibrary)}};
}

} // namespace rubia::tools
