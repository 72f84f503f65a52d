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
  if (checkVersion() && checkHistory() && checkVectorWidth()) {
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
  if (row.availability.hasRemoved(version, module.sm)) {
    std::string message = "is not available since PTX " + textOf(row.availability.removed);
    if (row.availability.removedSm)
      message += " for sm_" + std::to_string(row.availability.removedSm) + " and later";
    return spellingError(message);
  }
  return true;
}

// What older versions had and newer ones do not.
bool Verifier::checkHistory() {
  const Spelling &s = *spelling;
  auto exact = [&] { return s.first(ModCategory::Rounding) != Mod::None; };
  switch (s.op) {
  case Op::Shfl:
  case Op::Vote:
    if (!s.has(Mod::Sync) && module.sm >= 70 && !(version < Version{6, 4}))
      return spellingError("without '.sync' is not available for sm_70 and later since PTX 6.4");
    return true;
  case Op::FDiv:
  case Op::FRcp:
  case Op::FSqrt:
    if (!exact() && !s.has(Mod::Approx) && !s.has(Mod::Full) && !(version < Version{1, 4}))
      return spellingError("needs a rounding or '.approx' since PTX 1.4");
    return true;
  case Op::FSin:
  case Op::FCos:
  case Op::FLg2:
  case Op::FEx2:
  case Op::FRsqrt:
    if (!s.has(Mod::Approx) && !(version < Version{1, 4}))
      return spellingError("needs '.approx' since PTX 1.4");
    return true;
  case Op::FMad:
    if (!exact() && module.sm >= 20 && !(version < Version{2, 0}))
      return spellingError("needs a rounding for sm_20 and later");
    return true;
  default: // nothing was taken back
    return true;
  }
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

} // namespace rubia::ptx
