// SPDX-License-Identifier: Apache-2.0
#include "tests/litmus/Placement.h"
#include "targets/Generation.h"
#include <algorithm>
#include <tuple>

namespace rubia::targets::Fact {
extern const GenerationFact hasDies;
} // namespace rubia::targets::Fact

namespace rubia::litmus {

bool Placement::operator<(const Placement &o) const {
  return std::tie(hasL1, modelsL2, severalL2, fine, unit, l1, l2) <
         std::tie(o.hasL1, o.modelsL2, o.severalL2, o.fine, o.unit, o.l1, o.l2);
}

namespace {

/// docs/emulator-order.md "Caches".
struct Topology {
  unsigned unitsPerArray = 3, arraysPerL2 = 1, l2s = 1;
};

/// Numbers in order of appearance.
class Renumbering {
public:
  uint8_t operator()(unsigned from) {
    auto found = std::find(seen.begin(), seen.end(), from);
    if (found == seen.end())
      found = seen.insert(seen.end(), from);
    return uint8_t(found - seen.begin());
  }

private:
  std::vector<unsigned> seen;
};

Placement renumbered(Placement placement, const std::vector<unsigned> &units,
                     const Topology &topology) {
  Renumbering unit, l1, l2;
  for (size_t i = 0; i < units.size(); ++i) {
    const uint8_t u = placement.unit[i] = unit(units[i]);
    // Without an L1, one for each unit that nothing is kept in.
    const uint8_t a = placement.l1[u] = placement.hasL1 ? l1(units[i] / topology.unitsPerArray) : u;
    placement.l2[a] =
        placement.modelsL2 ? l2(units[i] / topology.unitsPerArray / topology.arraysPerL2) : 0;
  }
  return placement;
}

} // namespace

bool controlsL2(const targets::Target &target) {
  switch (target.generation) {
  case targets::Generation::Gcn5:
  case targets::Generation::Cdna1:
    return false;
  case targets::Generation::Cdna2:
  case targets::Generation::Cdna3:
  case targets::Generation::Cdna4:
  case targets::Generation::Rdna1:
  case targets::Generation::Rdna2:
  case targets::Generation::Rdna3:
  case targets::Generation::Rdna35:
  case targets::Generation::Rdna4:
    return true;
  }
  return true;
}

std::vector<Placement> placementsOf(const Test &test, const MachineProgram &program) {
  const targets::Target &target = *targets::find(program.arch);
  const bool isGfx9 = target.isa == 9;
  const unsigned agents = test.severalDevices ? 2 : 1;
  const unsigned ctas = *std::max_element(test.cta.begin(), test.cta.end()) + 1;
  std::set<Placement> placements;
  for (unsigned dies = 1; dies <= (targets::Fact::hasDies(target) ? 2u : 1u); ++dies)
    for (bool fine : {false, true}) {
      if (fine ? !test.severalDevices
               : test.severalDevices && target.cachePolicy == targets::CachePolicy::Glc)
        continue;
      Placement placement;
      placement.fine = fine;
      placement.allFine = fine && !controlsL2(target);
      placement.hasL1 = !isGfx9;
      placement.severalL2 = dies > 1;
      placement.modelsL2 = dies > 1 || (agents > 1 && (isGfx9 || target.isa == 12));
      Topology topology;
      if (!isGfx9)
        topology = {4, 2, 1};
      topology.l2s = placement.modelsL2 ? agents * dies : 1;
      const unsigned units = topology.unitsPerArray * topology.arraysPerL2 * topology.l2s;
      // Each CTA on some unit, each of its threads there or, if it is spread, on the one beside it.
      std::vector<unsigned> home(ctas);
      for (bool more = true; more;) {
        for (unsigned beside = 0; beside < (program.spread ? 1u << test.cta.size() : 1u);
             ++beside) {
          std::vector<unsigned> at;
          for (size_t i = 0; i < test.cta.size(); ++i)
            at.push_back(home[test.cta[i]] ^ (beside >> i & 1));
          placements.insert(renumbered(placement, at, topology));
        }
        more = false;
        for (unsigned &unit : home) {
          more = ++unit < units;
          if (more)
            break;
          unit = 0;
        }
      }
    }
  // Those that share least first: most goes wrong there.
  return {placements.rbegin(), placements.rend()};
}

} // namespace rubia::litmus
