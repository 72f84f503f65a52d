#include "tests/litmus/Redundant.h"
#include "llvm/ADT/StringRef.h"

using namespace llvm;

namespace rubia::litmus {

namespace {
/// A kind that begins and ends so, on targets whose name begins so.
struct Reason {
  StringRef arch, begin, end, text;
};
constexpr StringLiteral kAtomicInL2 =
    "an atomic is performed in the L2 or beyond; only the system scope says beyond";
constexpr StringLiteral kStoreToL2 =
    "a store goes to the L2 before storecnt counts it as done, whatever its scope";
constexpr StringLiteral kSharedL0 =
    "sc0 is for tgsplit execution; else the waves of a workgroup share an L0";
constexpr StringLiteral kNoSystem = "no instruction tells the system from the agent";
const Reason kReasons[] = {
    {"gfx12", "global_atomic_", " for 17", kAtomicInL2},
    {"gfx12", "global_atomic_", " for 9", kAtomicInL2},
    {"gfx12", "global_store_", " with policy 0 for 16", kStoreToL2},
    {"gfx12", "global_store_", " with policy 0 for 8", kStoreToL2},
    {"gfx12", "s_wait_loadcnt_dscnt", " without loads",
     "a fence waits for loads also where only LDS operations come before it"},
    {"gfx90a", "buffer_wbl2", " for 17", "gfx90a's buffer_wbl2 has no levels"},
    {"gfx942", "global_", " with policy 0 for 1", kSharedL0},
    {"gfx950", "global_", " with policy 0 for 1", kSharedL0},
    {"gfx9", "", " of scope singlethread for workgroup", kSharedL0},
    {"gfx", "store", " of scope workgroup for agent", kStoreToL2},
    {"gfx10", "", " of scope agent for system", kNoSystem},
    {"gfx11", "", " of scope agent for system", kNoSystem},
    {"gfx90a", "store", " of scope agent for system", kNoSystem},
    {"gfx1", "fence acquire for seq_cst", "", "an acquiring fence waits for stores too"},
    {"gfx1", "no fence release of scope system", "", "not of the tests: it precedes a trap"},
    {"gfx9", "no fence acquire of scope workgroup", "",
     "vector memory operations of a compute unit reach the L0 in the order of issue"},
};
} // namespace

std::string reasonOf(const std::string &arch, const std::string &kind) {
  const StringRef text = kind;
  for (const Reason &reason : kReasons)
    if (StringRef(arch).starts_with(reason.arch) && text.starts_with(reason.begin) &&
        text.ends_with(reason.end))
      return reason.text.str();
  return "";
}

} // namespace rubia::litmus
