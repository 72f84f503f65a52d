// SPDX-License-Identifier: Apache-2.0
// Threads that a program knows nothing of take none of its signals: its handlers may count on the
// threads that it has, and a signal that all of these block waits for sigwait(). What a thread
// brings upon itself stays: programs have handlers for it, also where we call their functions.
#pragma once

#include <csignal>
#include <pthread.h>

namespace rubia::emulator {

/// While it lives, threads that this one starts take no signals from outside.
class NewThreadsTakeNoSignals {
public:
  NewThreadsTakeNoSignals() {
    sigset_t outside;
    sigfillset(&outside);
    for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
      sigdelset(&outside, own);
    pthread_sigmask(SIG_BLOCK, &outside, &before);
  }
  ~NewThreadsTakeNoSignals() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  NewThreadsTakeNoSignals(const NewThreadsTakeNoSignals &) = delete;
  NewThreadsTakeNoSignals &operator=(const NewThreadsTakeNoSignals &) = delete;

private:
  sigset_t before;
};

} // namespace rubia::emulator
