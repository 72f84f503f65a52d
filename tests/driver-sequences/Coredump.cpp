// SPDX-License-Identifier: Apache-2.0
// What is set and asked of core dumps, and the file that a fault leaves.
#include "tests/driver-sequences/Sequence.h"
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace sequences {
namespace {

enum Setting { kOnException = 1, kTriggerHost, kLightweight, kUserTrigger, kFile, kPipe, kFlags };

void ask(const char *function) {
  for (int id = 0; id <= 8; ++id) {
    char value[1024];
    memset(value, 0x55, sizeof(value));
    const bool isText = id == kFile || id == kPipe;
    size_t size = isText ? sizeof(value) : id == kFlags ? 4 : 1;
    const int code = quiet(function, id, Pointer(value), &size);
    if (code || isText)
      say("  %d: %d, %s", id, code, code ? "" : value[0] ? "a text" : "empty");
    else
      say("  %d: %d, %d, size %zu", id, code,
          id == kFlags ? *reinterpret_cast<int *>(value) : value[0], size);
  }
}

SEQUENCE(core_dumps_asked) {
  Plain s;
  say("of the context");
  ask("cuCoredumpGetAttribute");
  say("of all");
  ask("cuCoredumpGetAttributeGlobal");
  bool value = false;
  size_t size = 0;
  cu("cuCoredumpGetAttribute", int(kOnException), Pointer(&value), &size);
  say("size %zu", size);
  size = 8;
  cu("cuCoredumpGetAttribute", int(kOnException), Pointer(&value), &size);
  say("size %zu", size);
  cu("cuCoredumpGetAttribute", int(kOnException), kNone, &size);
  cu("cuCoredumpGetAttribute", int(kOnException), Pointer(&value), static_cast<size_t *>(nullptr));
  char name[4] = "xxx";
  size = 4;
  cu("cuCoredumpGetAttribute", int(kFile), Pointer(name), &size);
}

SEQUENCE(core_dumps_set) {
  Plain s;
  auto set = [](const char *function, int id, const void *value, size_t bytes) {
    size_t size = bytes;
    say("%s %d of %zu bytes: %d", function, id, bytes, quiet(function, id, Pointer(value), &size));
  };
  const bool yes = true;
  const int number = 7;
  for (const char *function : {"cuCoredumpSetAttribute", "cuCoredumpSetAttributeGlobal"})
    for (int id : {0, 1, 2, 3, 5, 7, 8}) {
      if (id == kFile)
        set(function, id, "/tmp/core_of_a_sequence", 24);
      else if (id == kFlags)
        set(function, id, &number, 4);
      else
        set(function, id, &yes, 1);
    }
  say("of the context");
  ask("cuCoredumpGetAttribute");
  say("of all");
  ask("cuCoredumpGetAttributeGlobal");
  set("cuCoredumpSetAttribute", kOnException, &yes, 4);
  set("cuCoredumpSetAttribute", kOnException, &yes, 0);
  set("cuCoredumpSetAttribute", kOnException, nullptr, 1);
  size_t *none = nullptr;
  cu("cuCoredumpSetAttribute", int(kOnException), Pointer(&yes), none);
}

SEQUENCE(core_dumps_set_before_a_context) {
  const bool yes = true;
  size_t size = 1;
  cu("cuCoredumpSetAttributeGlobal", int(kLightweight), Pointer(&yes), &size);
  cu("cuInit", 0u);
  size = 1;
  cu("cuCoredumpSetAttributeGlobal", int(kLightweight), Pointer(&yes), &size);
  size = 1;
  cu("cuCoredumpSetAttribute", int(kLightweight), Pointer(&yes), &size);
  Pointer context = kNone;
  cu("cuCtxCreate_v2", &context, 0u, 0);
  bool value = false;
  size = 1;
  cu("cuCoredumpGetAttribute", int(kLightweight), Pointer(&value), &size);
  say("%d", value);
}

SEQUENCE(core_dump_of_a_fault) {
  const std::string name = "/tmp/sequence_" + std::to_string(getpid()) + ".core";
  const bool yes = true, no = false;
  size_t one = 1, length = name.size() + 1;
  cu("cuInit", 0u);
  cu("cuCoredumpSetAttributeGlobal", int(kOnException), Pointer(&yes), &one);
  cu("cuCoredumpSetAttributeGlobal", int(kTriggerHost), Pointer(&no), &one);
  cu("cuCoredumpSetAttributeGlobal", int(kLightweight), Pointer(&yes), &one);
  cu("cuCoredumpSetAttributeGlobal", int(kFile), Pointer(name.c_str()), &length);
  Setup s;
  say("launch %d", launchAdd(s, s.stream, Pointer(uintptr_t(0x7000'0000'0000)), 1));
  cu("cuStreamSynchronize", s.stream);
  struct stat status{};
  const bool isThere = stat(name.c_str(), &status) == 0;
  say("file %d, with bytes %d", isThere, status.st_size > 0);
  unlink(name.c_str());
}

} // namespace
} // namespace sequences
