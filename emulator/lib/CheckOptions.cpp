// RUBIA_EMULATOR_CHECK, RUBIA_EMULATOR_SEED and RUBIA_EMULATOR_BOUNDS.
#include "emulator/Emulator.h"
#include <cstdlib>

using namespace llvm;

namespace rubia::emulator {

/// Turns on what one word asks for. Returns false if there is no such check.
static bool turnOn(StringRef word, Checks &checks) {
  if (word == "order")
    checks.order = OrderCheck();
  else if (word == "memory")
    checks.memory = true;
  else if (word == "races")
    checks.races = true;
  else if (word == "uninitialised")
    checks.uninitialised = true;
  else if (word == "barriers")
    checks.barriers = true;
  else if (word == "all")
    checks.memory = checks.races = checks.uninitialised = checks.barriers = true;
  else
    return word.empty();
  return true;
}

Expected<Checks> parseChecks(StringRef words, StringRef seed) {
  Checks checks;
  while (!words.empty()) {
    auto [word, rest] = words.split(',');
    words = rest;
    if (!turnOn(word.trim(), checks))
      return createStringError("RUBIA_EMULATOR_CHECK names an unknown check, '" + word.trim() +
                               "'; there are: memory, races, uninitialised, barriers, all, order");
  }
  if (checks.order && (checks.memory || checks.races || checks.uninitialised || checks.barriers))
    return createStringError("RUBIA_EMULATOR_CHECK: order performs memory operations late and "
                             "cannot be combined with other checks");
  if (seed.empty())
    return checks;
  uint64_t number = 0;
  if (seed.trim().getAsInteger(0, number))
    return createStringError("RUBIA_EMULATOR_SEED is not a number: " + seed);
  checks.seed = number;
  if (checks.order)
    checks.order->seed = number;
  return checks;
}

static StringRef variable(const char *name) {
  const char *value = secure_getenv(name);
  return value ? value : "";
}

Expected<Bounds> parseBounds(StringRef words) {
  Bounds bounds;
  while (!words.empty()) {
    auto [word, rest] = words.split(',');
    words = rest;
    word = word.trim();
    if (word == "pages")
      bounds.pages = true;
    else if (word == "lds")
      bounds.lds = true;
    else if (!word.empty())
      return createStringError("RUBIA_EMULATOR_BOUNDS names '" + word + "'; there are: pages, lds");
  }
  return bounds;
}

Expected<Bounds> boundsFromEnvironment() { return parseBounds(variable("RUBIA_EMULATOR_BOUNDS")); }

Expected<Checks> checksFromEnvironment() {
  return parseChecks(variable("RUBIA_EMULATOR_CHECK"), variable("RUBIA_EMULATOR_SEED"));
}

} // namespace rubia::emulator
