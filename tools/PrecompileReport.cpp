// SPDX-License-Identifier: Apache-2.0
#include "tools/PrecompileReport.h"
#include "codegen/Codegen.h"
#include "input/BoundedJson.h"
#include "tools/CodeObjects.h"
#include "tools/Commands.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <nlohmann/json.hpp>

using namespace llvm;
using nlohmann::ordered_json;

namespace rubia::tools {

using Status = KernelReport::Status;

static const char *nameOf(Status status) {
  switch (status) {
  case Status::Compiled:
    return "compiled";
  case Status::Cached:
    return "cached";
  case Status::Failed:
    break;
  }
  return "failed";
}

// docs/architecture.md, "Metadata".
static Error describeWarps(KernelReport &kernel, ArrayRef<uint8_t> codeObject) {
  Expected<std::string> text = codegen::readMetadata(codeObject);
  if (!text)
    return text.takeError();
  Expected<json::Value> root = input::parseBoundedJson(StringRef(*text).rtrim('\0'));
  if (!root)
    return root.takeError();
  const json::Object *object = root->getAsObject();
  const json::Array *kernels = object ? object->getArray("kernels") : nullptr;
  if (kernels)
    for (const json::Value &value : *kernels) {
      const json::Object *k = value.getAsObject();
      if (!k || k->getString("name") != StringRef(kernel.name))
        continue;
      kernel.warpForm = k->getString("warpForm").value_or("").str();
      kernel.warpFormReason = k->getString("warpFormReason").value_or("").str();
      kernel.exactThreads = uint32_t(k->getInteger("exactThreads").value_or(0));
      kernel.maxThreads = k->getInteger("maxThreads").value_or(0);
      return Error::success();
    }
  return createStringError("the code object's metadata lack kernel '" + kernel.name + "'");
}

Error describeCode(KernelReport &kernel, ArrayRef<uint8_t> codeObject) {
  auto resources = codegen::readResources(codeObject);
  if (!resources)
    return resources.takeError();
  auto found = llvm::find_if(*resources, [&](const auto &r) { return r.name == kernel.name; });
  if (found == resources->end())
    return createStringError("the code object lacks kernel '" + kernel.name + "'");
  kernel.vgprs = found->vgprs;
  kernel.agprs = found->agprs;
  kernel.sgprs = found->sgprs;
  kernel.vgprSpills = found->vgprSpills;
  kernel.sgprSpills = found->sgprSpills;
  kernel.ldsBytes = found->ldsBytes;
  kernel.scratchBytes = found->scratchBytes;
  kernel.notes = notesOf(codeObject);
  return describeWarps(kernel, codeObject);
}

size_t PrecompileReport::count(Status status) const {
  return count_if(kernels, [&](const KernelReport &k) { return k.status == status; });
}

int PrecompileReport::exitStatus() const {
  if (!failures())
    return kDone;
  return failures() < kernels.size() + problems.size() ? kPartlyFailed : kFailed;
}

ordered_json toJson(const KernelReport &kernel, const PrecompileImage &image) {
  ordered_json result{
      {"kernel", kernel.name}, {"image", image.place}, {"capability", image.raw.computeCapability},
      {"unit", kernel.unit},   {"arch", kernel.arch},  {"status", nameOf(kernel.status)}};
  if (kernel.seconds != 0 || kernel.memoryBytes) {
    result["seconds"] = kernel.seconds;
    result["memory_bytes"] = kernel.memoryBytes;
  }
  if (kernel.status == Status::Failed) {
    result["reason"] = kernel.reason;
    return result;
  }
  result.update({{"vgprs", kernel.vgprs},
                 {"agprs", kernel.agprs},
                 {"sgprs", kernel.sgprs},
                 {"vgpr_spills", kernel.vgprSpills},
                 {"sgpr_spills", kernel.sgprSpills},
                 {"lds_bytes", kernel.ldsBytes},
                 {"scratch_bytes", kernel.scratchBytes},
                 {"max_threads", kernel.maxThreads},
                 {"warp_form", kernel.warpForm},
                 {"exact_threads", kernel.exactThreads},
                 {"warp_form_reason", kernel.warpFormReason}});
  if (!kernel.notes.empty())
    result["notes"] = kernel.notes;
  return result;
}

std::string dump(const ordered_json &json, int indent) {
  return json.dump(indent, ' ', true, ordered_json::error_handler_t::replace);
}

ordered_json PrecompileReport::json() const {
  ordered_json result{{"version", 1}, {"archs", archs}};
  if (!shard.empty())
    result["shard"] = shard;
  result["summary"] = {{"files", files},
                       {"images", images.size()},
                       {"kernels", kernels.size()},
                       {"compiled", count(Status::Compiled)},
                       {"cached", count(Status::Cached)},
                       {"failed", count(Status::Failed)},
                       {"problems", problems.size()},
                       {"seconds", seconds},
                       {"exit_status", exitStatus()}};
  if (interrupted) {
    result["summary"]["interrupted"] = interrupted;
    result["summary"]["pending_units"] = pending;
  }
  result["problems"] = ordered_json::array();
  for (const InputProblem &p : problems)
    result["problems"].push_back({{"place", p.place}, {"reason", p.reason}});
  result["images"] = ordered_json::array();
  for (const PrecompileImage &image : images)
    result["images"].push_back({{"place", image.place},
                                {"digest", toHex(image.raw.digest, true)},
                                {"capability", image.raw.computeCapability},
                                {"places", image.places}});
  result["kernels"] = ordered_json::array();
  for (const KernelReport &k : kernels)
    result["kernels"].push_back(toJson(k, images[k.image]));
  return result;
}

void PrecompileReport::printTable(raw_ostream &os) const {
  os << "status    arch            time s    MiB  VGPR  SGPR  spill    LDS scratch  warps        "
        "kernel\n";
  for (const KernelReport &k : kernels) {
    os << format("%-9s %-14s %7.2f %6u ", nameOf(k.status), k.arch.c_str(), k.seconds,
                 unsigned(k.memoryBytes >> 20));
    if (k.status == Status::Failed) {
      os << std::string(53, ' ') << k.name << "\n";
      for (StringRef line : split(k.reason, '\n'))
        os << "          " << line << "\n";
      continue;
    }
    os << format("%5u %5u %6u %6u %7u  %-12s ", k.vgprs + k.agprs, k.sgprs,
                 k.vgprSpills + k.sgprSpills, k.ldsBytes, k.scratchBytes, k.warpForm.c_str())
       << k.name << "\n";
    for (const std::string &note : k.notes)
      os << "          note: " << note << "\n";
  }
}

void PrecompileReport::printSummary(raw_ostream &os) const {
  constexpr size_t kMaxReasons = 20;
  for (const InputProblem &p : problems)
    os << "rubia: " << (StringRef(p.reason).starts_with(p.place) ? "" : p.place + ": ") << p.reason
       << "\n";
  std::map<std::string, std::vector<const KernelReport *>> reasons;
  for (const KernelReport &k : kernels)
    if (k.status == Status::Failed)
      reasons[k.reason].push_back(&k);
  size_t shown = 0;
  for (const auto &[reason, failed] : reasons) {
    if (shown++ == kMaxReasons) {
      os << "rubia: " << reasons.size() - kMaxReasons << " more reasons are in the report\n";
      break;
    }
    os << "rubia: kernel '" << failed.front()->name << "' for " << failed.front()->arch << ": "
       << reason;
    if (failed.size() > 1)
      os << " (and " << failed.size() - 1 << " more)";
    os << "\n";
  }
  os << "rubia: " << files << " files, " << images.size() << " images, " << kernels.size()
     << " kernels: " << count(Status::Compiled) << " compiled, " << count(Status::Cached)
     << " in the cache, " << count(Status::Failed) << " failed";
  if (!problems.empty())
    os << "; " << problems.size() << " files or images could not be used";
  if (size_t noted = count_if(kernels, [](const KernelReport &k) { return !k.notes.empty(); }))
    os << "; " << noted << " kernels have notes, which are in the report";
  os << format("; %.1f s\n", seconds);
}

} // namespace rubia::tools
