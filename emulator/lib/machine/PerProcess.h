// SPDX-License-Identifier: Apache-2.0
// What a process has one of, also after a fork.
#pragma once

#include <atomic>
#include <pthread.h>

namespace rubia::emulator {

/// The `T` of this process. Never destroyed: launches may go on while the process ends. A forked
/// child has a fresh one, since a thread that it does not have may have held a lock of the old one.
template <class T> T &perProcess() {
  static std::atomic<T *> instance = [] {
    ::pthread_atfork(nullptr, nullptr, [] { instance.store(new T); });
    return new T;
  }();
  return *instance.load();
}

} // namespace rubia::emulator
