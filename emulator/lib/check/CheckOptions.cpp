// SPDX-License-Identifier: Apache-2.0
// What is set, as the options of launches.
#include "emulator/Emulator.h"
#include "settings/Settings.h"

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting emulatorBounds, emulatorCheck, emulatorSeed;
} // namespace rubia::settings::Id
namespace rubia::settings::EmulatorBound {
extern const Word Lds, Pages;
} // namespace rubia::settings::EmulatorBound
namespace rubia::settings::EmulatorCheck {
extern const Word All, Barriers, Leaks, Memory, Order, Races, Uninitialised, Warps;
} // namespace rubia::settings::EmulatorCheck

namespace rubia::emulator {

namespace EmulatorBound = settings::EmulatorBound;
namespace EmulatorCheck = settings::EmulatorCheck;
namespace Id = settings::Id;

// Never freed: programs call us after their static destructors have run.
static settings::Settings &host() {
  static auto &settings = *new settings::Settings;
  return settings;
}

const settings::Settings &hostSettings() { return host(); }
void setHostSettings(settings::Settings settings) { host() = std::move(settings); }

Expected<Checks> checksOf(const settings::Settings &settings) {
  for (settings::Setting id : {Id::emulatorCheck, Id::emulatorSeed})
    if (Error error = settings.check(id))
      return std::move(error);
  const settings::WordSet words = settings.words(Id::emulatorCheck);
  auto isOn = [&](settings::Word word) { return words.has(word) || words.has(EmulatorCheck::All); };
  Checks checks;
  checks.memory = isOn(EmulatorCheck::Memory);
  checks.races = isOn(EmulatorCheck::Races);
  checks.uninitialised = isOn(EmulatorCheck::Uninitialised);
  checks.barriers = isOn(EmulatorCheck::Barriers);
  checks.warps = isOn(EmulatorCheck::Warps);
  if (words.has(EmulatorCheck::Order))
    checks.order = OrderCheck();
  if (checks.order && (checks.any() || words.has(EmulatorCheck::Leaks)))
    return createStringError("RUBIA_EMULATOR_CHECK: order performs memory operations late and "
                             "cannot be combined with other checks");
  if (!settings.isUsable(Id::emulatorSeed))
    return checks;
  checks.seed = settings.number(Id::emulatorSeed);
  if (checks.order)
    checks.order->seed = checks.seed;
  return checks;
}

Expected<Bounds> boundsOf(const settings::Settings &settings) {
  if (Error error = settings.check(Id::emulatorBounds))
    return std::move(error);
  const settings::WordSet words = settings.words(Id::emulatorBounds);
  Bounds bounds;
  bounds.pages = words.has(EmulatorBound::Pages);
  bounds.lds = words.has(EmulatorBound::Lds);
  return bounds;
}

} // namespace rubia::emulator
