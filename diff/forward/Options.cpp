// SPDX-License-Identifier: Apache-2.0
#include "diff/forward/Options.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace rubia::forward {

static bool readNumber(const char *text, uint64_t &out) {
  uint64_t value = 0;
  if (!*text)
    return false;
  for (; *text; ++text) {
    if (*text < '0' || *text > '9' || value > (UINT64_MAX - 9) / 10)
      return false;
    value = value * 10 + uint64_t(*text - '0');
  }
  out = value;
  return true;
}

// "%p" stands for the process: of a program that forks, each writes its own.
static char *withProcess(char *path) {
  char *place = strstr(path, "%p");
  if (!place)
    return path;
  const size_t size = strlen(path) + 24;
  auto *whole = static_cast<char *>(malloc(size));
  if (whole)
    snprintf(whole, size, "%.*s%ld%s", int(place - path), path, long(getpid()), place + 2);
  return whole;
}

static const char *readOption(Options &options, const char *key, char *value) {
  const auto is = [key](const char *name) { return !strcmp(key, name); };
  const auto number = [value](uint64_t &out, const char *problem) {
    return readNumber(value, out) && out ? nullptr : problem;
  };
  if (is("output"))
    return options.output = withProcess(value), nullptr;
  if (is("driver"))
    return options.driver = value, nullptr;
  const auto flag = [value](bool &out, const char *problem) {
    out = !strcmp(value, "1");
    return out || !strcmp(value, "0") ? nullptr : problem;
  };
  if (is("calls"))
    return flag(options.calls, "RUBIA_CAPTURE: calls= is not 0 or 1");
  if (is("jit-ptx"))
    return flag(options.jitPtx, "RUBIA_CAPTURE: jit-ptx= is not 0 or 1");
  if (is("library-capability"))
    return flag(options.libraryCapability, "RUBIA_CAPTURE: library-capability= is not 0 or 1");
  if (is("command-line"))
    return flag(options.commandLine, "RUBIA_CAPTURE: command-line= is not 0 or 1");
  if (is("kernel")) {
    options.hasKernels = true;
    return regcomp(&options.kernels, value, REG_EXTENDED | REG_NOSUB)
               ? "RUBIA_CAPTURE: kernel= is no regular expression"
               : nullptr;
  }
  if (is("first"))
    return number(options.first, "RUBIA_CAPTURE: first= is no number above 0");
  if (is("every"))
    return number(options.every, "RUBIA_CAPTURE: every= is no number above 0");
  if (is("max-bytes"))
    return number(options.maxBytes, "RUBIA_CAPTURE: max-bytes= is no number above 0");
  if (is("timeout"))
    return number(options.timeoutSeconds, "RUBIA_CAPTURE: timeout= is no number above 0");
  return "RUBIA_CAPTURE: an unknown key (known: output, driver, kernel, first, every, max-bytes, "
         "timeout, calls, jit-ptx, library-capability, command-line)";
}

const char *readOptions(Options &options) {
  const char *variable = getenv("RUBIA_CAPTURE");
  char *line = variable ? strdup(variable) : nullptr; // never freed: the options point into it
  unsetenv("RUBIA_CAPTURE");
  while (line && *line) {
    char *next = strchr(line, '\n');
    if (next)
      *next++ = 0;
    if (char *equals = strchr(line, '=')) {
      *equals = 0;
      if (const char *problem = readOption(options, line, equals + 1))
        return problem;
    } else if (*line) {
      return "RUBIA_CAPTURE: a line without =";
    }
    line = next;
  }
  return nullptr;
}

} // namespace rubia::forward
