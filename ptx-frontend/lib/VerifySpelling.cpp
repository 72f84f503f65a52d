// What can be said of an instruction's spelling alone, and is decided once a module: whether the
// module's .version and .target have it, and how wide its vectors are.

#include "ptx-frontend/lib/Verifier.h"

using llvm::StringRef;
using llvm::Twine;

namespace rubia::ptx {

bool Verifier::checkSpelling() {
  if (lastRejected == spelling) {
    fn.valid = false;
    return false;
  }
  if (checkVersion() && checkVectorWidth() && checkSpaces()) {
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
  const Form &row = *spelling->row;
  if (module.mapF64ToF32 && llvm::is_contained(spelling->modifiers, Mod::F64) &&
      inst->op() != Op::Ld && inst->op() != Op::St && inst->op() != Op::Mov)
    error(inst->place, "unsupported: '" + Twine(spelling->text) + "' under map_f64_to_f32",
          /*unsupported=*/true);
  if (version < spelling->version)
    return spellingError("needs PTX " + textOf(spelling->version) + ", the module is of version " +
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

// PTX ISA: data-movement-and-conversion-instructions-ld: 256 bits are for .global only.
bool Verifier::checkVectorWidth() {
  if (inst->op() != Op::Ld && inst->op() != Op::St)
    return true;
  unsigned bits = spelling->vectorWidth() * sizeInBits(spelling->type());
  if (bits <= 128)
    return true;
  if (bits > 256)
    return spellingError("has a vector of " + Twine(bits) + " bits, the most is 256");
  StateSpace space = spelling->space();
  if (space != StateSpace::None && space != StateSpace::Global)
    return spellingError("has a vector of 256 bits, which only .global has");
  if (version < Version{8, 8})
    return spellingError("has a vector of 256 bits and needs PTX 8.8, the module is of version " +
                         textOf(version));
  if (module.sm < 100)
    return spellingError("has a vector of 256 bits and needs sm_100, the module is for " +
                         nameOfTarget(module.sm, module.smVariant));
  return true;
}

// PTX ISA: cache-eviction-priority-hints: the second level caches .global only.
bool Verifier::checkSpaces() {
  if (inst->op() != Op::Atom && inst->op() != Op::Red && inst->op() != Op::Ld &&
      inst->op() != Op::St)
    return true;
  StateSpace space = spelling->space();
  bool hasHint = spelling->has(Mod::L2CacheHint), prefetches = false;
  for (Mod mod : spelling->modifiers)
    prefetches |= mod == Mod::L264B || mod == Mod::L2128B || mod == Mod::L2256B;
  if ((hasHint || prefetches) && space != StateSpace::None && space != StateSpace::Global)
    return spellingError("has a modifier of the second-level cache, which only .global has");
  return true;
}

} // namespace rubia::ptx
