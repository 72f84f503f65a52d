// SPDX-License-Identifier: Apache-2.0
// Options of the compiler of PTX in the driver: which values are refused, and what is given back.
#include "tests/driver-sequences/Sequence.h"
#include <cstring>

namespace sequences {
namespace {

const char *kText = ".version 7.0\n.target sm_80\n.address_size 64\n"
                    ".visible .entry k() .maxntid 128, 1, 1 { ret; }\n";

int load(unsigned count, int *options, void **values) {
  Pointer module = kNone;
  return quiet("cuModuleLoadDataEx", &module, static_cast<const void *>(kText), count, options,
               values);
}

void one(int option, uintptr_t before) {
  void *value = reinterpret_cast<void *>(before);
  int code = load(1, &option, &value);
  if (option == 2) // a float, in the value
    say("option %d: %d, %s", option, code, value ? "written" : "0");
  else
    say("option %d of %zd: %d, %zd", option, ssize_t(before), code,
        reinterpret_cast<ssize_t>(value));
}

SEQUENCE(jit_option_wall_time) {
  Setup s;
  one(2, 0);
}

SEQUENCE(jit_options_of_one_value) {
  Setup s;
  for (uintptr_t registers : {0, 1, 16, 255, 256, 1000})
    one(0, registers);
  for (uintptr_t level : {0, 4, 5, 100})
    one(7, level);
  one(8, 0);
  one(9, 90);
  for (uintptr_t fallback : {0, 1, 2})
    one(10, fallback);
  for (int option : {11, 12, 13})
    for (uintptr_t flag : {0, 1, 2})
      one(option, flag);
  for (uintptr_t mode : {0, 1, 2, 3})
    one(14, mode);
}

SEQUENCE(jit_options_that_are_none) {
  Setup s;
  for (int option : {-1, 34, 35, 36, 40, 77, 1000})
    one(option, 0);
}

SEQUENCE(jit_option_verbose) {
  Setup s;
  for (uintptr_t isVerbose : {0, 1}) {
    char errors[4096] = "", information[4096] = "";
    int options[] = {5, 6, 3, 4, 12};
    void *values[] = {errors, reinterpret_cast<void *>(sizeof(errors)), information,
                      reinterpret_cast<void *>(sizeof(information)),
                      reinterpret_cast<void *>(isVerbose)};
    int code = load(5, options, values);
    say("verbose %zu: %d, information %s, names the kernel %d, errors %s", size_t(isVerbose), code,
        information[0] ? "written" : "empty", strstr(information, "'k'") != nullptr,
        errors[0] ? "written" : "empty");
  }
}

SEQUENCE(jit_logs_that_are_short) {
  Setup s;
  const std::string text = std::string(kText) + "nonsense\n";
  for (size_t room : {0, 1, 2, 5, 40}) {
    char errors[64];
    memset(errors, 'x', sizeof(errors));
    int options[] = {5, 6};
    void *values[] = {errors, reinterpret_cast<void *>(room)};
    Pointer module = kNone;
    int code = quiet("cuModuleLoadDataEx", &module, static_cast<const void *>(text.c_str()), 2u,
                     &options[0], &values[0]);
    const char *end = static_cast<const char *>(memchr(errors, 0, sizeof(errors)));
    say("room %zu: %d, size %zu, ends at %zd, behind it %s", room, code,
        reinterpret_cast<size_t>(values[1]), end ? end - errors : ssize_t(-1),
        errors[room] == 'x' ? "untouched" : "written");
  }
}

SEQUENCE(jit_log_without_its_size) {
  Setup s;
  char errors[64] = "";
  int buffer = 5, size = 6;
  void *value = errors, *room = reinterpret_cast<void *>(sizeof(errors));
  say("a buffer alone: %d", load(1, &buffer, &value));
  say("a size alone: %d", load(1, &size, &room));
  int both[] = {5, 6};
  void *values[] = {nullptr, room};
  say("no buffer: %d", load(2, both, values));
  say("no options: %d", load(1, nullptr, values));
  say("no values: %d", load(1, both, nullptr));
}

SEQUENCE(jit_options_of_a_link) {
  Setup s;
  int options[] = {1, 2, 12};
  void *values[] = {reinterpret_cast<void *>(256), kNone, reinterpret_cast<void *>(1)};
  Pointer state = kNone, image = kNone;
  size_t size = 0;
  cu("cuLinkCreate_v2", 3u, &options[0], &values[0], &state);
  cu("cuLinkAddData_v2", state, 1, const_cast<char *>(kText), strlen(kText) + 1, "name", 0u,
     static_cast<int *>(nullptr), static_cast<void **>(nullptr));
  say("added: threads %zu, time %s", reinterpret_cast<size_t>(values[0]),
      values[1] ? "written" : "0");
  cu("cuLinkComplete", state, &image, &size);
  say("complete: threads %zu, time %s", reinterpret_cast<size_t>(values[0]),
      values[1] ? "written" : "0");
}

} // namespace
} // namespace sequences
