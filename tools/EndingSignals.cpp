// SPDX-License-Identifier: Apache-2.0
#include "tools/EndingSignals.h"
#include <csignal>
#include <cstdlib>
#include <thread>

namespace rubia::tools {

static constexpr struct {
  int number;
  const char *name;
} kSignals[] = {{SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}};

static const char *nameOf(int number) {
  for (const auto &signal : kSignals)
    if (signal.number == number)
      return signal.name;
  return "a signal";
}

void reportOnSignals(std::function<void(const char *signal)> report) {
  sigset_t taken;
  sigemptyset(&taken);
  for (const auto &signal : kSignals) {
    struct sigaction now;
    if (sigaction(signal.number, nullptr, &now) == 0 && now.sa_handler != SIG_IGN)
      sigaddset(&taken, signal.number);
  }
  pthread_sigmask(SIG_BLOCK, &taken, nullptr);
  std::thread([taken, report = std::move(report)] {
    int number = 0;
    if (sigwait(&taken, &number))
      return;
    pthread_sigmask(SIG_UNBLOCK, &taken, nullptr); // the next one has its usual effect
    report(nameOf(number));
    raise(number);
    std::_Exit(128 + number); // only if somebody has switched it off meanwhile
  }).detach();
}

} // namespace rubia::tools
