// SPDX-License-Identifier: Apache-2.0
// What can be said of an instruction's spelling alone, and is decided once a module: whether the
// module's .version and .target have it.

#include "ptx-frontend/lib/Verifier.h"

using llvm::StringRef;
using llvm::Twine;

namespace rubia::ptx::Op {
extern const Operation WmmaMma;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier Satfinite;
} // namespace rubia::ptx::Mod

namespace rubia::ptx {

bool Verifier::checkSpelling() {
  if (lastRejected == spelling) {
    fn.valid = false;
    return false;
  }
  if (checkVersion()) {
    spelling->legal = true;
    return true;
  }
  lastRejected = spelling;
  return false;
}

static std::string textOf(Version version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

static std::string nameOfTarget(unsigned sm, char variant) {
  return variant ? "sm_" + std::to_string(sm) + variant : "sm_" + std::to_string(sm);
}

bool Verifier::checkVersion() {
  if (isLinked)
    return true;
  const Form &row = *spelling->row;
  unsigned earlierSm = row.availability.earlierSm;
  Version needed =
      earlierSm && module.sm >= earlierSm ? spelling->earlierVersion : spelling->version;
  if (version < needed)
    return spellingError("needs PTX " + textOf(needed) + ", the module is of version " +
                         textOf(version));
  std::string target = nameOfTarget(module.sm, module.smVariant);
  if (module.sm < spelling->sm)
    return spellingError("needs " + nameOfTarget(spelling->sm, 0) + ", the module is for " +
                         target);
  if (!row.targets.allows(module.sm, module.smVariant)) {
    std::string list;
    for (const Targets::Specific &t :
         llvm::ArrayRef(row.targets.specific, row.targets.specificCount))
      list += (list.empty() ? "" : ", ") + nameOfTarget(t.sm, t.variant);
    return spellingError("needs one of " + list + ", the module is for " + target);
  }
  // PTX ISA: warp-level-matrix-instructions-wmma-mma
  if (inst->op() == Op::WmmaMma && spelling->type(2) == Type::None &&
      spelling->has(Mod::Satfinite) && !(version < Version{6, 5}))
    return spellingError("has '.satfinite', which is not available since PTX 6.5");
  if (row.availability.hasRemoved(version, module.sm)) {
    std::string message = "is not available since PTX " + textOf(row.availability.removed);
    if (row.availability.removedSm)
      message += " for sm_" + std::to_string(row.availability.removedSm) + " and later";
    return spellingError(message);
  }
  return true;
}

} // namespace rubia::ptx
