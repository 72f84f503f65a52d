// RUBIA_EMULATOR_CHECK and RUBIA_EMULATOR_SEED.
#include "emulator/Emulator.h"
#include <cstdlib>

using namespace llvm;

namespace rubia::emulator {

Expected<Checks> parseChecks(StringRef words, StringRef seed) {
  Checks checks;
  while (!words.empty()) {
    auto [word, rest] = words.split(',');
    words = rest;
    if (word.trim() == "order")
      checks.order = OrderCheck();
    else if (!word.trim().empty())
      return createStringError("RUBIA_EMULATOR_CHECK names an unknown check, '" + word.trim() +
                               "'; there is: order");
  }
  if (seed.empty())
    return checks;
  uint64_t number = 0;
  if (seed.trim().getAsInteger(0, number))
    return createStringError("RUBIA_EMULATOR_SEED is not a number: " + seed);
  if (checks.order)
    checks.order->seed = number;
  return checks;
}

static StringRef variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

Expected<Checks> checksFromEnvironment() {
  return parseChecks(variable("RUBIA_EMULATOR_CHECK"), variable("RUBIA_EMULATOR_SEED"));
}

} // namespace rubia::emulator
