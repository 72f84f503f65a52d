// SPDX-License-Identifier: Apache-2.0
// Every function of the driver API, exported: a jump to the hook of that name, or to the driver's
// function. The registers and the stack go through untouched, which needs no signature.
//
// A call that is logged goes through rubia_log_call, which keeps the arguments, calls with the same
// registers and a copy of the arguments on the stack, and keeps the result.
#include "diff/forward/Driver.h"
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

// Where the function is in every version of glibc for this processor: newer ones have a newer
// symbol beside it.
asm(".symver dlopen, dlopen@GLIBC_2.2.5\n"
    ".symver dlsym, dlsym@GLIBC_2.2.5\n");

extern "C" {

static int missing() { return rubia::forward::kNotSupported; }

#define CUDA_FUNCTION(Symbol, Name, Introduced, PerThread)                                         \
  __attribute__((visibility("hidden"))) void *rubia_driver_##Symbol =                              \
      reinterpret_cast<void *>(&missing);                                                          \
  __attribute__((visibility("hidden"))) rubia::forward::Entry rubia_entry_##Symbol = {             \
      reinterpret_cast<void *>(&missing), reinterpret_cast<void *>(&missing), nullptr};            \
  void Symbol();                                                                                   \
  __attribute__((visibility("hidden"))) void rubia_logged_##Symbol();                              \
  asm(".text\n.globl " #Symbol "\n.type " #Symbol ", @function\n" #Symbol                          \
      ": jmp *rubia_entry_" #Symbol "(%rip)\n.size " #Symbol ", . - " #Symbol "\n"                 \
      ".hidden rubia_logged_" #Symbol "\n.globl rubia_logged_" #Symbol "\nrubia_logged_" #Symbol   \
      ": lea rubia_entry_" #Symbol "(%rip), %r11\njmp rubia_log_call\n");
#include "runtime/cuda/Functions.def"
#undef CUDA_FUNCTION

// r11: the entry. The frame is a CallFrame (Calls.h).
asm(R"(.text
.hidden rubia_call_begins
.hidden rubia_call_ends
.type rubia_log_call, @function
rubia_log_call:
  push %rbp
  mov %rsp, %rbp
  push %rbx
  push %r12
  sub $144, %rsp
  mov %rdi, (%rsp)
  mov %rsi, 8(%rsp)
  mov %rdx, 16(%rsp)
  mov %rcx, 24(%rsp)
  mov %r8, 32(%rsp)
  mov %r9, 40(%rsp)
  movsd %xmm0, 48(%rsp)
  movsd %xmm1, 56(%rsp)
  movsd %xmm2, 64(%rsp)
  movsd %xmm3, 72(%rsp)
  movsd %xmm4, 80(%rsp)
  movsd %xmm5, 88(%rsp)
  movsd %xmm6, 96(%rsp)
  movsd %xmm7, 104(%rsp)
  lea 16(%rbp), %rax
  mov %rax, 112(%rsp)
  mov %r11, %rbx
  mov %rsp, %r12
  mov %rbx, %rdi
  mov %r12, %rsi
  call rubia_call_begins
  mov %rax, %r11
  lea (,%rdx,8), %rax
  sub %rax, %rsp
  mov %rdx, %rcx
  mov 112(%r12), %rsi
  mov %rsp, %rdi
  rep movsq
  mov (%r12), %rdi
  mov 8(%r12), %rsi
  mov 16(%r12), %rdx
  mov 24(%r12), %rcx
  mov 32(%r12), %r8
  mov 40(%r12), %r9
  movsd 48(%r12), %xmm0
  movsd 56(%r12), %xmm1
  movsd 64(%r12), %xmm2
  movsd 72(%r12), %xmm3
  movsd 80(%r12), %xmm4
  movsd 88(%r12), %xmm5
  movsd 96(%r12), %xmm6
  movsd 104(%r12), %xmm7
  call *%r11
  mov %r12, %rsp
  mov %rax, 128(%r12)
  mov %rbx, %rdi
  mov %r12, %rsi
  call rubia_call_ends
  mov 128(%r12), %rax
  lea -16(%rbp), %rsp
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size rubia_log_call, . - rubia_log_call
)");

#define HOOK(Symbol) int hook_##Symbol();
#include "diff/forward/Hooks.def"
#undef HOOK
}

namespace rubia::forward {

static const DriverFunction kFunctions[] = {
#define CUDA_FUNCTION(Symbol, Name, Introduced, PerThread)                                         \
  {#Symbol,                                                                                        \
   #Name,                                                                                          \
   Introduced,                                                                                     \
   PerThread != 0,                                                                                 \
   &rubia_driver_##Symbol,                                                                         \
   &rubia_entry_##Symbol,                                                                          \
   reinterpret_cast<void *>(&Symbol),                                                              \
   reinterpret_cast<void *>(&rubia_logged_##Symbol)},
#include "runtime/cuda/Functions.def"
#undef CUDA_FUNCTION
};

static const struct {
  Entry *entry;
  void *hook;
} kHooks[] = {
#define HOOK(Symbol) {&rubia_entry_##Symbol, reinterpret_cast<void *>(&hook_##Symbol)},
#include "diff/forward/Hooks.def"
#undef HOOK
};

const DriverFunction *driverFunctions(size_t &count) {
  count = sizeof(kFunctions) / sizeof(kFunctions[0]);
  return kFunctions;
}

bool openDriver(const char *path) {
  void *driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!driver)
    return false;
  for (const DriverFunction &function : kFunctions)
    if (void *address = dlsym(driver, function.symbol))
      *function.slot = address;
  return true;
}

bool isMissing(const void *slot) { return slot == reinterpret_cast<const void *>(&missing); }

void connect(bool isLogged) {
  for (const DriverFunction &function : kFunctions)
    *function.entry = {*function.slot, *function.slot, &function};
  for (const auto &hook : kHooks)
    hook.entry->to = hook.entry->target = hook.hook;
  for (const DriverFunction &function : kFunctions)
    if (isLogged)
      function.entry->to = function.logged;
}

} // namespace rubia::forward
