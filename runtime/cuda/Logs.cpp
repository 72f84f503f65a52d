// SPDX-License-Identifier: Apache-2.0
// The log that programs read through the API: the reasons of calls that failed, as they stand on
// stderr too.
#include "runtime/cuda/Driver.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>

namespace rubia::runtime::cuda {

struct LogRegistration {
  LogCallback callback;
  void *data;
};

namespace {

constexpr std::string_view kMissing = "(earlier lines are left out)\n";
constexpr size_t kMostEntries = 100; // as CUDA keeps
std::mutex &mutex = *new std::mutex;
std::deque<std::string> &entries = *new std::deque<std::string>; // the latest
unsigned entryCount = 0;                                         // of all that there were
std::set<LogRegistration *> &registrations = *new std::set<LogRegistration *>;

// What came behind the iterator, as lines; null: everything that is kept. With the mutex held.
std::string textBehind(const unsigned *iterator) {
  const unsigned first = entryCount - unsigned(entries.size());
  std::string text;
  for (unsigned i = iterator ? std::max(*iterator, first) : first; i < entryCount; ++i)
    text += entries[i - first] + "\n";
  return text;
}

} // namespace

std::string rememberedLog() {
  std::lock_guard<std::mutex> lock(mutex);
  return textBehind(nullptr);
}

void remember(const llvm::Twine &reason) {
  std::vector<LogRegistration> all;
  std::string text = reason.str();
  {
    std::lock_guard<std::mutex> lock(mutex);
    entries.push_back(text);
    ++entryCount;
    if (entries.size() > kMostEntries)
      entries.pop_front();
    for (const LogRegistration *registration : registrations)
      all.push_back(*registration);
  }
  constexpr int kError = 0; // CU_LOG_LEVEL_ERROR
  for (const LogRegistration &registration : all)
    registration.callback(registration.data, kError, text.data(), text.size());
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuLogsCurrent(unsigned *iterator, unsigned) {
  return call(RUBIA_CALL(iterator), [&] {
    if (!iterator)
      return kInvalidValue;
    std::lock_guard<std::mutex> lock(mutex);
    *iterator = entryCount;
    return kSuccess;
  });
}

Result cuLogsRegisterCallback(LogCallback callback, void *data, LogRegistration **handle) {
  return call(RUBIA_CALL(callback, data, handle), [&] {
    if (!callback)
      return kInvalidValue;
    std::lock_guard<std::mutex> lock(mutex);
    auto *made = new LogRegistration{callback, data};
    registrations.insert(made);
    if (handle)
      *handle = made;
    return kSuccess;
  });
}
Result cuLogsUnregisterCallback(LogRegistration *handle) {
  return call(RUBIA_CALL(handle), [&] {
    std::lock_guard<std::mutex> lock(mutex);
    if (!registrations.erase(handle))
      return kInvalidValue;
    delete handle;
    return kSuccess;
  });
}

// Writes whole lines, the latest that there is room for, and that others are missing; the iterator
// goes on to the end.
Result cuLogsDumpToMemory(unsigned *iterator, char *buffer, size_t *size, unsigned) {
  return call(RUBIA_CALL(iterator, buffer, size), [&] {
    if (!buffer || !size)
      return kInvalidValue;
    std::lock_guard<std::mutex> lock(mutex);
    std::string text = textBehind(iterator);
    if (text.size() > *size && *size < kMissing.size())
      return kInvalidValue;
    if (text.size() > *size) {
      const size_t room = *size - kMissing.size();
      const size_t from = room ? text.find('\n', text.size() - room - 1) + 1 : text.size();
      text = std::string(kMissing) + text.substr(from);
    }
    std::copy(text.begin(), text.end(), buffer);
    *size = text.size();
    if (iterator)
      *iterator = entryCount;
    return kSuccess;
  });
}
Result cuLogsDumpToFile(unsigned *iterator, const char *path, unsigned) {
  return call(RUBIA_CALL(iterator, path), [&]() -> Result {
    if (!path)
      return kInvalidValue;
    std::lock_guard<std::mutex> lock(mutex);
    FILE *file = fopen(path, "w");
    if (!file)
      return kInvalidValue;
    const std::string text = textBehind(iterator);
    const bool isWritten = fwrite(text.data(), 1, text.size(), file) == text.size();
    if (fclose(file) || !isWritten)
      return kOperatingSystem;
    if (iterator)
      *iterator = entryCount;
    return kSuccess;
  });
}

} // extern "C"
