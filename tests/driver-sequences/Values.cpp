// SPDX-License-Identifier: Apache-2.0
// Values that calls take and refuse: names and versions of functions, attributes of launches,
// windows of memory, lengths, addresses that nobody knows, handles of libraries.
#include "tests/driver-sequences/Sequence.h"

namespace sequences {
namespace {

const Pointer kUntouched = Pointer(uintptr_t(7));

SEQUENCE(entry_points_that_there_are_not) {
  Plain s;
  struct {
    const char *what, *name;
    int version;
    uint64_t flags;
  } asked[] = {{"one that there is", "cuMemAlloc", 12000, 0},
               {"nowhere", "cuNoSuch", 12000, 0},
               {"without a name", "", 12000, 0},
               {"before it was", "cuMemAlloc", 1000, 0},
               {"of the driver's version", "cuMemAlloc", 13000, 0},
               {"of a newer version", "cuMemAlloc", 13001, 0},
               {"nowhere, of a newer version", "cuNoSuch", 99999, 0},
               {"for the legacy stream", "cuStreamQuery", 12000, 1},
               {"for threads", "cuStreamQuery", 12000, 2},
               {"for both", "cuStreamQuery", 12000, 3},
               {"with other flags", "cuStreamQuery", 12000, 4}};
  auto told = [](Pointer function) {
    return function == kUntouched ? "untouched" : function ? "found" : "null";
  };
  for (const auto &row : asked) {
    Pointer function = kUntouched;
    int status = 77;
    int code = quiet("cuGetProcAddress_v2", row.name, &function, row.version, row.flags, &status);
    say("%s: %d, %s, status %d", row.what, code, told(function), status);
    function = kUntouched;
    code = quiet("cuGetProcAddress_v2", row.name, &function, row.version, row.flags,
                 static_cast<int *>(nullptr));
    say("  without a status: %d, %s", code, told(function));
    function = kUntouched;
    code = quiet("cuGetProcAddress", row.name, &function, row.version, row.flags);
    say("  the first version: %d, %s", code, told(function));
  }
  Pointer streams[4] = {};
  for (uint64_t flags = 0; flags < 4; ++flags)
    quiet("cuGetProcAddress_v2", "cuStreamQuery", &streams[flags], 12000, flags,
          static_cast<int *>(nullptr));
  say("1 as 0: %d, 2 as 0: %d, 3 as 2: %d", streams[1] == streams[0], streams[2] == streams[0],
      streams[3] == streams[2]);
}

} // namespace
} // namespace sequences
