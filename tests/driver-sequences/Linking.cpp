// SPDX-License-Identifier: Apache-2.0
// cuLink*: several inputs become one image; and what cannot be linked.
#include "tests/driver-sequences/Sequence.h"
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace sequences {
namespace {

constexpr int kPtx = 1, kFatbin = 2, kObject = 3, kLibrary = 4;

std::string unit(const std::string &body) {
  return ".version 7.0\n.target sm_80\n.address_size 64\n" + body;
}

const std::string kCaller = R"(.extern .func (.reg .u32 r) triple(.reg .u32 x);
.extern .global .align 4 .u32 counter;
.visible .entry main(.param .u64 out)
{
  .reg .b32 %r<4>;
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [out];
  ld.global.u32 %r1, [counter];
  call (%r2), triple, (%r1);
  st.global.u32 [%d1], %r2;
  ret;
}
)";
const std::string kCallee = R"(.visible .global .align 4 .u32 counter = 14;
.visible .func (.reg .u32 r) triple(.reg .u32 x)
{
  mul.lo.u32 r, x, 3;
  ret;
}
)";

struct Link {
  char errors[4096] = "", information[4096] = "";
  void *values[4] = {errors, reinterpret_cast<void *>(sizeof(errors)), information,
                     reinterpret_cast<void *>(sizeof(information))};
  int options[4] = {5, 6, 3, 4};
  Pointer state = kNone, image = kNone;
  size_t size = 0;

  Link() { cu("cuLinkCreate_v2", 4u, &options[0], &values[0], &state); }

  int add(const char *what, std::string text, int type = kPtx) {
    int code = quiet("cuLinkAddData_v2", state, type, Pointer(text.data()), text.size() + 1, what,
                     0u, static_cast<int *>(nullptr), static_cast<void **>(nullptr));
    say("%s: cuLinkAddData_v2 %d, error log %s", what, code, errors[0] ? "written" : "empty");
    errors[0] = 0;
    return code;
  }

  int complete() {
    image = kNone;
    int code = cu("cuLinkComplete", state, &image, &size);
    say("image %s, size %s, error log %s", image ? "set" : "null", size ? "set" : "0",
        errors[0] ? "written" : "empty");
    errors[0] = 0;
    return code;
  }

  /// Runs kernel `main` of the image: the word that it stores.
  void run(const Setup &s, const char *name = "main") {
    Pointer module = kNone, function = kNone;
    if (!image)
      return;
    int loaded = quiet("cuModuleLoadData", &module, static_cast<const void *>(image));
    int found = loaded ? -2 : quiet("cuModuleGetFunction", &function, module, name);
    if (found) {
      say("%s: load %d, find %d", name, loaded, found);
      return;
    }
    Pointer memory = s.memory;
    void *values[] = {&memory};
    int launched = quiet("cuLaunchKernel", function, 1u, 1u, 1u, 1u, 1u, 1u, 0u, kNone, &values[0],
                         static_cast<void **>(nullptr));
    say("%s: launch %d", name, launched);
    sayMemory(name, s.memory);
  }
};

// A kernel that stores what a function of no arguments gives.
std::string callerOf(const std::string &function, const std::string &kernel = "main") {
  return ".visible .entry " + kernel +
         "(.param .u64 out)\n{\n.reg .b32 %r<2>;\n.reg .b64 %d<2>;\nld.param.u64 %d1, [out];\n"
         "call (%r1), " +
         function + ";\nst.global.u32 [%d1], %r1;\nret;\n}\n";
}
std::string functionOf(const std::string &linkage, const std::string &name, int value) {
  return linkage + " .func (.reg .u32 r) " + name + "()\n{\nmov.u32 r, " + std::to_string(value) +
         ";\nret;\n}\n";
}
std::string externOf(const std::string &name) {
  return ".extern .func (.reg .u32 r) " + name + "();\n";
}

SEQUENCE(link_one) {
  Setup s;
  Link link;
  link.add("one", unit(functionOf(".visible", "f", 5) + callerOf("f")));
  link.complete();
  link.run(s);
  cu("cuLinkDestroy", link.state);
}

SEQUENCE(link_two) {
  Setup s;
  Link link;
  link.add("caller", unit(kCaller));
  link.add("callee", unit(kCallee));
  link.complete();
  link.run(s);
  Pointer again = kNone;
  size_t size = 0;
  cu("cuLinkComplete", link.state, &again, &size);
  say("the same image %d", again == link.image);
  link.add("later", unit(functionOf(".visible", "g", 5)));
}

SEQUENCE(link_two_the_other_way_round) {
  Setup s;
  Link link;
  link.add("callee", unit(kCallee));
  link.add("caller", unit(kCaller));
  link.complete();
  link.run(s);
}

SEQUENCE(link_unresolved) {
  Setup s;
  Link link;
  link.add("caller", unit(kCaller));
  link.complete();
  link.run(s);
}

SEQUENCE(link_unresolved_that_nobody_calls) {
  Setup s;
  Link link;
  link.add("one", unit(externOf("nowhere") + functionOf(".visible", "f", 5) + callerOf("f")));
  link.complete();
  link.run(s);
}

SEQUENCE(link_defined_twice) {
  Setup s;
  Link link;
  link.add("one", unit(functionOf(".visible", "f", 5) + callerOf("f")));
  link.add("two", unit(functionOf(".visible", "f", 6)));
  link.complete();
  link.run(s);
}

SEQUENCE(link_kernel_defined_twice) {
  Setup s;
  Link link;
  link.add("one", unit(".visible .entry main() { ret; }\n"));
  link.add("two", unit(".visible .entry main() { ret; }\n"));
  link.complete();
}

SEQUENCE(link_variable_defined_twice) {
  Setup s;
  Link link;
  link.add("one", unit(kCallee + kCaller.substr(kCaller.find(".visible .entry"))));
  link.add("two", unit(".visible .global .align 4 .u32 counter = 1;\n"));
  link.complete();
  link.run(s);
}

SEQUENCE(link_weak_and_strong) {
  Setup s;
  for (bool isFirst : {true, false}) {
    Link link;
    std::string weak = unit(functionOf(".weak", "f", 5) + callerOf("f"));
    std::string strong = unit(functionOf(".visible", "f", 6));
    link.add("first", isFirst ? weak : strong);
    link.add("second", isFirst ? strong : weak);
    link.complete();
    link.run(s);
  }
}

SEQUENCE(link_weak_twice) {
  Setup s;
  Link link;
  link.add("first", unit(functionOf(".weak", "f", 5) + callerOf("f")));
  link.add("second", unit(functionOf(".weak", "f", 6) + callerOf("f", "other")));
  link.complete();
  link.run(s);
  link.run(s, "other");
}

SEQUENCE(link_local_names) {
  Setup s;
  Link link;
  link.add("first", unit(functionOf("", "f", 5) + callerOf("f")));
  link.add("second", unit(functionOf("", "f", 6) + callerOf("f", "other")));
  link.complete();
  link.run(s);
  link.run(s, "other");
}

// Kernels without .visible: which of them has the name.
SEQUENCE(link_kernels_of_one_name_that_are_not_visible) {
  Setup s;
  for (bool isVisible : {false, true}) {
    Link link;
    auto kernel = [&](int value, bool isThis) {
      std::string text = functionOf("", "f", value) + callerOf("f");
      return isThis ? text : text.erase(text.find(".visible "), 9);
    };
    link.add("first", unit(kernel(5, false)));
    link.add("second", unit(kernel(6, isVisible)));
    link.complete();
    link.run(s);
  }
}

SEQUENCE(link_variables_that_point_to_each_other) {
  Setup s;
  Link link;
  link.add("first", unit(".extern .global .u64 b[2];\n.visible .global .u64 a[2] = {b, 1};\n"));
  link.add("second", unit(R"(.extern .global .u64 a[2];
.visible .global .u64 b[2] = {a, 2};
.visible .entry main(.param .u64 out)
{
  .reg .b64 %d<5>;
  ld.param.u64 %d1, [out];
  ld.global.u64 %d2, [a];
  ld.global.u64 %d3, [%d2+8];
  st.global.u32 [%d1], %d3;
  ld.global.u64 %d2, [b];
  ld.global.u64 %d3, [%d2+8];
  st.global.u32 [%d1+4], %d3;
  ret;
}
)"));
  link.complete();
  link.run(s);
}

SEQUENCE(link_text_that_lacks_a_declaration) {
  Setup s;
  Link link;
  link.add("callee", unit(functionOf(".visible", "f", 5)));
  link.add("caller", unit(callerOf("f")));
  link.complete();
}

// Shuffles without .sync ended with sm_70.
SEQUENCE(link_withdrawn_instructions) {
  Setup s;
  Link link;
  link.add("old", ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry old()\n{\n"
                  ".reg .b32 r;\nshfl.up.b32 r, r, 1, 0;\nret;\n}\n");
  link.add("new", unit(functionOf("", "f", 5) + callerOf("f")));
  link.complete();
  link.run(s);
}

SEQUENCE(link_several_variables_in_one_declaration) {
  Setup s;
  Link link;
  link.add("first", unit(".visible .global .u32 a = 1, b = 2;\n"));
  link.add("second", unit(R"(.extern .global .u32 a, b;
.visible .entry main(.param .u64 out)
{
  .reg .b64 %d<5>;
  .reg .b32 %r<5>;
  ld.param.u64 %d1, [out];
  ld.global.u32 %r1, [a];
  ld.global.u32 %r2, [b];
  st.global.u32 [%d1], %r1;
  st.global.u32 [%d1+4], %r2;
  ret;
}
)"));
  link.complete();
  link.run(s);
}

SEQUENCE(link_options_of_an_input) {
  Setup s;
  std::string text = unit(".visible .entry k() { ret; }\n");
  auto add = [&](const char *what, unsigned count, int *options, void **values) {
    Link link;
    int code = quiet("cuLinkAddData_v2", link.state, kPtx, Pointer(text.data()), text.size() + 1,
                     what, count, options, values);
    say("%s: cuLinkAddData_v2 %d", what, code);
    link.complete();
    cu("cuLinkDestroy", link.state);
  };
  int none[] = {77}, registers[] = {0}, buffer[] = {5};
  void *zero[] = {nullptr}, *many[] = {reinterpret_cast<void *>(uintptr_t(64))};
  add("no arrays", 3, nullptr, nullptr);
  add("no values", 1, registers, nullptr);
  add("no such option", 1, none, zero);
  add("no registers", 1, registers, zero);
  add("registers", 1, registers, many);
  add("a log without its size", 1, buffer, many);
}

SEQUENCE(link_local_and_visible) {
  Setup s;
  Link link;
  link.add("first", unit(functionOf("", "f", 5) + callerOf("f")));
  link.add("second", unit(functionOf(".visible", "f", 6)));
  link.add("third", unit(externOf("f") + callerOf("f", "other")));
  link.complete();
  link.run(s);
  link.run(s, "other");
}

SEQUENCE(link_common) {
  Setup s;
  auto reader = [](const std::string &kernel) {
    return ".visible .entry " + kernel +
           "(.param .u64 out)\n{\n.reg .b32 %r<4>;\n.reg .b64 %d<2>;\nld.param.u64 %d1, [out];\n"
           "ld.global.u32 %r1, [shared_by_all];\nadd.u32 %r2, %r1, 1;\nst.global.u32 "
           "[shared_by_all], %r2;\nst.global.u32 [%d1], %r1;\nret;\n}\n";
  };
  Link link;
  link.add("first", unit(".common .global .align 4 .b8 shared_by_all[4];\n" + reader("main")));
  link.add("second", unit(".common .global .align 4 .b8 shared_by_all[4];\n" + reader("other")));
  link.complete();
  if (!link.image)
    return;
  Pointer module = kNone, a = kNone, b = kNone, memory = s.memory;
  void *values[] = {&memory};
  cu("cuModuleLoadData", &module, static_cast<const void *>(link.image));
  quiet("cuModuleGetFunction", &a, module, "main");
  quiet("cuModuleGetFunction", &b, module, "other");
  for (Pointer function : {a, b})
    quiet("cuLaunchKernel", function, 1u, 1u, 1u, 1u, 1u, 1u, 0u, kNone, &values[0],
          static_cast<void **>(nullptr));
  sayMemory("one variable", s.memory);
}

SEQUENCE(link_weak_variables) {
  Setup s;
  for (const char *second : {".weak .global .align 4 .u32 counter = 2;\n",
                             ".visible .global .align 4 .u32 counter = 3;\n"}) {
    Link link;
    link.add("first", unit(".weak .global .align 4 .u32 counter = 1;\n" +
                           kCallee.substr(kCallee.find(".visible .func")) +
                           kCaller.substr(kCaller.find(".visible .entry"))));
    link.add("second", unit(second));
    link.complete();
    link.run(s);
  }
}

SEQUENCE(link_of_another_size) {
  Setup s;
  Link link;
  link.add("first", unit(kCaller));
  link.add("second", unit(".visible .global .align 8 .u64 counter = 14;\n" +
                          kCallee.substr(kCallee.find(".visible .func"))));
  link.complete();
  link.run(s);
}

SEQUENCE(link_of_another_type) {
  Setup s;
  Link link;
  link.add("first", unit(kCaller));
  link.add("second", unit(".visible .global .align 4 .u32 counter = 14;\n"
                          ".visible .func triple(.reg .u64 x)\n{\nret;\n}\n"));
  link.complete();
  link.run(s);
}

SEQUENCE(link_initialised_with_an_address) {
  Setup s;
  Link link;
  link.add("first", unit(".extern .global .align 4 .u32 counter;\n.visible .global .align 8 .u64 "
                         "table[1] = {counter};\n"
                         ".visible .entry main(.param .u64 out)\n{\n.reg .b32 %r<2>;\n.reg .b64 "
                         "%d<3>;\nld.param.u64 %d1, [out];\nld.global.u64 %d2, [table];\nld.u32 "
                         "%r1, [%d2];\nst.global.u32 [%d1], %r1;\nret;\n}\n"));
  link.add("second", unit(kCallee));
  link.complete();
  link.run(s);
}

SEQUENCE(link_versions_and_targets) {
  Setup s;
  Link link;
  std::string newer = unit(kCallee);
  newer.replace(newer.find("7.0"), 3, "8.0");
  newer.replace(newer.find("sm_80"), 5, "sm_90");
  link.add("caller", unit(kCaller));
  link.add("callee", newer);
  link.complete();
  link.run(s);
}

SEQUENCE(link_of_invalid_text) {
  Setup s;
  Link link;
  link.add("fine", unit(functionOf(".visible", "f", 5) + callerOf("f")));
  link.add("invalid", unit("nonsense\n"));
  link.complete();
  link.run(s);
}

SEQUENCE(link_of_no_input) {
  Setup s;
  Link link;
  link.complete();
}

SEQUENCE(link_of_wrong_inputs) {
  Setup s;
  Link link;
  link.add("nothing", "");
  link.add("fine as a fatbin", unit(kCallee), kFatbin);
  link.add("fine as a cubin", unit(kCallee), 0);
  link.add("fine as an object", unit(kCallee), kObject);
  link.add("fine as a library", unit(kCallee), kLibrary);
  link.add("type 77", unit(kCallee), 77);
  cu("cuLinkAddData_v2", link.state, kPtx, kNone, size_t(10), "null", 0u,
     static_cast<int *>(nullptr), static_cast<void **>(nullptr));
  link.complete();
}

SEQUENCE(link_of_files) {
  Setup s;
  Link link;
  const std::string path = "/tmp/driver-sequences-" + std::to_string(getpid()) + ".ptx";
  FILE *file = fopen(path.c_str(), "w");
  fputs(unit(kCallee).c_str(), file);
  fclose(file);
  auto add = [&](const char *what, const char *path) {
    int code = quiet("cuLinkAddFile_v2", link.state, kPtx, path, 0u, static_cast<int *>(nullptr),
                     static_cast<void **>(nullptr));
    say("%s: cuLinkAddFile_v2 %d", what, code);
  };
  add("a file", path.c_str());
  unlink(path.c_str());
  link.add("caller", unit(kCaller));
  link.complete();
  link.run(s);
  add("no file", "/nowhere/file.ptx");
  add("null", nullptr);
}

SEQUENCE(link_first_versions) {
  Setup s;
  Pointer state = kNone, image = kNone;
  size_t size = 0;
  cu("cuLinkCreate", 0u, static_cast<int *>(nullptr), static_cast<void **>(nullptr), &state);
  std::string text = unit(kCallee + kCaller.substr(kCaller.find(".visible .entry")));
  cu("cuLinkAddData", state, kPtx, Pointer(text.data()), text.size() + 1, "name", 0u,
     static_cast<int *>(nullptr), static_cast<void **>(nullptr));
  cu("cuLinkComplete", state, &image, &size);
  say("image %s", image ? "set" : "null");
  cu("cuLinkDestroy", state);
}

SEQUENCE(link_of_null) {
  Setup s;
  Pointer state = kNone;
  cu("cuLinkCreate_v2", 0u, static_cast<int *>(nullptr), static_cast<void **>(nullptr),
     static_cast<Pointer *>(nullptr));
  cu("cuLinkCreate_v2", 1u, static_cast<int *>(nullptr), static_cast<void **>(nullptr), &state);
  cu("cuLinkDestroy", kNone);
  cu("cuLinkComplete", kNone, static_cast<Pointer *>(nullptr), static_cast<size_t *>(nullptr));
}

SEQUENCE(link_options) {
  Setup s;
  int options[] = {0, 2, 4, 6, 7, 9, 11, 12, 77};
  for (int option : options) {
    Pointer state = kNone;
    void *value = reinterpret_cast<void *>(1);
    int code = quiet("cuLinkCreate_v2", 1u, &option, &value, &state);
    say("option %d: %d", option, code);
  }
}

} // namespace
} // namespace sequences
