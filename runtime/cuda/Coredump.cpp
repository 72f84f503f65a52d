// SPDX-License-Identifier: Apache-2.0
// Core dumps of devices. CUDA Driver API: "Coredump Attributes Control API". No debugger of
// NVIDIA's can read the state of an AMD GPU, so the file is a text: the fault, and what the log
// says of it (which kernel, thread and line).
#include "runtime/cuda/Coredump.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <cstring>
#include <ctime>
#include <optional>
#include <unistd.h>

namespace rubia::runtime::cuda {

std::string rememberedLog(); // Logs.cpp

namespace {

enum Setting { kOnException = 1, kTriggerHost, kLightweight, kUserTrigger, kFile, kPipe, kFlags };

/// All that CU_COREDUMP_LIGHTWEIGHT leaves out: code, global, shared and local memory, constants.
constexpr int kLightweightFlags = 0x2f;

struct Settings {
  bool onException = false, triggerHost = true, userTrigger = false;
  std::string file, pipe;
  int flags = 0; // CUCoredumpGenerationFlags
};

struct Store {
  std::mutex mutex;
  Settings global;
  std::map<Context *, Settings> own; // of contexts that have set some
};
Store &store() {
  static auto *all = new Store;
  return *all;
}

bool isOfAllOnly(int setting) { return setting == kUserTrigger || setting == kPipe; }

std::string *textOf(Settings &settings, int setting) {
  return setting == kFile ? &settings.file : setting == kPipe ? &settings.pipe : nullptr;
}
std::optional<bool> flagOf(const Settings &settings, int setting) {
  switch (setting) {
  case kOnException:
    return settings.onException;
  case kTriggerHost:
    return settings.triggerHost;
  case kLightweight:
    return (settings.flags & kLightweightFlags) == kLightweightFlags;
  case kUserTrigger:
    return settings.userTrigger;
  }
  return std::nullopt;
}
void setFlag(Settings &settings, int setting, bool value) {
  switch (setting) {
  case kOnException:
    settings.onException = value;
    break;
  case kTriggerHost:
    settings.triggerHost = value;
    break;
  case kLightweight:
    settings.flags =
        value ? settings.flags | kLightweightFlags : settings.flags & ~kLightweightFlags;
    break;
  case kUserTrigger:
    settings.userTrigger = value;
    break;
  }
}

Result get(Settings &settings, int setting, void *value, size_t *size) {
  if (!size)
    return kInvalidValue;
  if (const std::string *text = textOf(settings, setting)) {
    if (value && *size) {
      const size_t copied = std::min(text->size(), *size - 1);
      memcpy(value, text->data(), copied);
      static_cast<char *>(value)[copied] = 0;
    }
    *size = text->size() + 1;
    return kSuccess;
  }
  const std::optional<bool> flag = flagOf(settings, setting);
  if (!flag && setting != kFlags)
    return kInvalidValue;
  const size_t bytes = flag ? sizeof(bool) : sizeof(int);
  if (!value) {
    *size = bytes;
    return kSuccess;
  }
  if (*size != bytes)
    return kInvalidValue;
  flag ? memcpy(value, &*flag, bytes) : memcpy(value, &settings.flags, bytes);
  return kSuccess;
}

Result set(Settings &settings, int setting, const void *value, const size_t *size) {
  if (!size)
    return kInvalidValue;
  if (setting == kPipe)
    return fail(kNotSupported, "a core dump that is asked for by a pipe");
  if (std::string *text = textOf(settings, setting)) {
    if (value)
      text->assign(static_cast<const char *>(value),
                   strnlen(static_cast<const char *>(value), *size));
    return kSuccess;
  }
  const std::optional<bool> flag = flagOf(settings, setting);
  if ((!flag && setting != kFlags) || *size != (flag ? sizeof(bool) : sizeof(int)))
    return kInvalidValue;
  if (!value)
    return kSuccess;
  if (setting == kUserTrigger && *static_cast<const bool *>(value))
    return fail(kNotSupported, "a core dump that is asked for by a pipe");
  flag ? setFlag(settings, setting, *static_cast<const bool *>(value))
       : void(memcpy(&settings.flags, value, sizeof(int)));
  return kSuccess;
}

Settings settingsOf(Context &context) {
  std::lock_guard<std::mutex> lock(store().mutex);
  auto found = store().own.find(&context);
  return found == store().own.end() ? store().global : found->second;
}

std::string hostName() {
  char name[256] = "";
  return gethostname(name, sizeof(name) - 1) ? "unknown" : name;
}

/// CUDA's default, and %h, %p and %t in a name.
std::string fileName(std::string name) {
  if (name.empty())
    name = "core_%t_%h_%p.nvcudmp";
  std::string made;
  for (size_t i = 0; i < name.size(); ++i) {
    const char what = name[i] == '%' && i + 1 < name.size() ? name[i + 1] : 0;
    if (what == 'h')
      made += hostName();
    else if (what == 'p')
      made += std::to_string(getpid());
    else if (what == 't')
      made += std::to_string(time(nullptr));
    else
      made += name[i];
    i += what == 'h' || what == 'p' || what == 't';
  }
  return made;
}

Result ofContext(const TracedCall &entry, int setting,
                 llvm::function_ref<Result(Settings &)> body) {
  return callIn(entry, [&](Context &context) -> Result {
    if (isOfAllOnly(setting))
      return kInvalidValue;
    std::lock_guard<std::mutex> lock(store().mutex);
    return body(store().own.try_emplace(&context, store().global).first->second);
  });
}

// Before cuInit too.
Result ofAll(llvm::function_ref<Result(Settings &)> body) {
  std::lock_guard<std::mutex> lock(store().mutex);
  return body(store().global);
}

} // namespace

void forgetDumpSettings(Context &context) {
  std::lock_guard<std::mutex> lock(store().mutex);
  store().own.erase(&context);
}

void dumpFault(Context &context, Result fault) {
  const Settings settings = settingsOf(context);
  if (!settings.onException)
    return;
  const std::string name = fileName(settings.file);
  std::error_code error;
  llvm::raw_fd_ostream out(name, error, llvm::sys::fs::OF_Text);
  if (!error) {
    out << "Rubia: a fault of device " << context.device.ordinal << " (" << context.device.name
        << "), process " << getpid() << '\n'
        << nameOf(fault) << ": " << textOf(fault) << '\n'
        << rememberedLog();
    out.close();
    error = out.error();
    out.clear_error();
  }
  log(LogLevel::Error, error ? llvm::Twine("core dump: ") + name + ": " + error.message()
                             : llvm::Twine("core dump: ") + name);
  if (settings.triggerHost) {
    signal(SIGABRT, SIG_DFL);
    raise(SIGABRT); // the host's core: CU_COREDUMP_TRIGGER_HOST
  }
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuCoredumpGetAttribute(int setting, void *value, size_t *size) {
  return ofContext(RUBIA_CALL(setting, value, size), setting,
                   [&](auto &settings) { return get(settings, setting, value, size); });
}
Result cuCoredumpGetAttributeGlobal(int setting, void *value, size_t *size) {
  return ofAll([&](auto &settings) { return get(settings, setting, value, size); });
}
Result cuCoredumpSetAttribute(int setting, void *value, size_t *size) {
  return ofContext(RUBIA_CALL(setting, value, size), setting,
                   [&](auto &settings) { return set(settings, setting, value, size); });
}
Result cuCoredumpSetAttributeGlobal(int setting, void *value, size_t *size) {
  return ofAll([&](auto &settings) { return set(settings, setting, value, size); });
}

} // extern "C"
