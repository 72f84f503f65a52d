// SPDX-License-Identifier: Apache-2.0
// Target IDs: the processors are those of targets/Targets.def, their features LLVM's knowledge, the
// syntax is AMDGPUUsage "Target ID".
#include "codegen/lib/TargetId.h"
#include "codegen/Codegen.h"
#include "targets/Target.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/TargetParser.h"
#include <map>

using namespace llvm;

namespace rubia::codegen {

namespace {

Error unknownTarget(const Twine &message) {
  return make_error<CodegenError>(Fault::Unsupported, message.str());
}

/// The candidate that the fewest edits turn `text` into, among equals the one with the longest
/// common beginning; empty if even that one is far off.
std::string nearest(StringRef text, ArrayRef<std::string> candidates) {
  constexpr unsigned kMaxEdits = 2;
  std::string best;
  std::pair<unsigned, size_t> bestRank{kMaxEdits + 1, 0};
  for (const std::string &candidate : candidates) {
    size_t common =
        std::mismatch(text.begin(), text.end(), candidate.begin(), candidate.end()).first -
        text.begin();
    std::pair<unsigned, size_t> rank{text.edit_distance(candidate), candidate.size() - common};
    if (rank < bestRank) {
      best = candidate;
      bestRank = rank;
    }
  }
  return best;
}

std::string suggestion(StringRef text, ArrayRef<std::string> candidates) {
  std::string best = nearest(text.lower(), candidates);
  return best.empty() ? std::string() : ", did you mean '" + best + "'?";
}

Error unknownProcessor(StringRef name) {
  SmallVector<StringRef> processors;
  AMDGPU::fillValidArchListAMDGCN(processors);
  if (is_contained(processors, name)) // LLVM knows it
    return unknownTarget(targets::messageForUnknown(name));
  std::vector<std::string> rows;
  for (const targets::Target &row : targets::all())
    rows.push_back(row.name.str());
  const std::string suggested = suggestion(name, rows);
  return unknownTarget("unknown target '" + name + "'" +
                       (suggested.empty() ? "; `rubia help targets` lists them" : suggested));
}

} // namespace

Expected<TargetId> parseTargetId(StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, ':');
  const targets::Target *row = targets::find(parts[0]);
  if (!row)
    return unknownProcessor(parts[0]);

  AMDGPU::GPUKind kind = AMDGPU::parseArchAMDGCN(parts[0]);
  unsigned attributes = AMDGPU::getArchAttrAMDGCN(kind);
  std::vector<std::string> available;
  if (attributes & AMDGPU::FEATURE_SRAMECC)
    available.push_back("sramecc");
  if (attributes & AMDGPU::FEATURE_XNACK)
    available.push_back("xnack");

  std::map<std::string, char> chosen;
  for (StringRef part : ArrayRef(parts).drop_front()) {
    StringRef name = part.drop_back(part.empty() ? 0 : 1);
    if (!part.ends_with("+") && !part.ends_with("-"))
      return unknownTarget("target feature '" + part + "' of '" + text + "' must end in + or -");
    if (!is_contained(available, name.str()))
      return unknownTarget("target '" + parts[0] + "' has no feature '" + name + "'" +
                           suggestion(name, available));
    if (!chosen.emplace(name.str(), part.back()).second)
      return unknownTarget("target feature '" + name + "' of '" + text + "' is given twice");
  }

  TargetId id;
  id.processor = parts[0].str();
  id.isGeneric = row->isGeneric();
  for (const auto &[name, sign] : chosen)
    id.features += (id.features.empty() ? "" : ",") + (sign + name);
  return id;
}

std::string TargetId::isaName() const {
  std::string name = "amdgcn-amd-amdhsa--" + processor;
  SmallVector<StringRef> parts;
  StringRef(features).split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts)
    name += ":" + part.drop_front().str() + part.front();
  return name;
}

Error validateArch(StringRef arch) { return parseTargetId(arch).takeError(); }

} // namespace rubia::codegen
