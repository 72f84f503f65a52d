// SPDX-License-Identifier: Apache-2.0
// Kernels that use what CUDA's driver gives to device code: printf, malloc, free, assert, traps.
// Compiled to PTX by clang; Program.cpp launches them.
#include <stdint.h>

#define KERNEL extern "C" __attribute__((nvptx_kernel, used)) void
#define SHARED __attribute__((address_space(3)))
#define CONSTANT __attribute__((address_space(4)))

extern "C" int vprintf(const char *format, void *arguments);
extern "C" void *malloc(uint64_t size);
extern "C" void free(void *);
extern "C" void __assertfail(const char *message, const char *file, unsigned line,
                             const char *function, uint64_t charSize);

static unsigned threadInCta() { return __nvvm_read_ptx_sreg_tid_x(); }
static unsigned threadInGrid() {
  return __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + threadInCta();
}

// The arguments of one call, as nvcc lays them out: each at its natural alignment, in order.
template <class... T> struct Arguments;
template <> struct Arguments<> {};
template <class T> struct Arguments<T> {
  T first;
};
template <class T, class U> struct Arguments<T, U> {
  T a;
  U b;
};
template <class T, class U, class V> struct Arguments<T, U, V> {
  T a;
  U b;
  V c;
};
template <class T, class U, class V, class W> struct Arguments<T, U, V, W> {
  T a;
  U b;
  V c;
  W d;
};

template <class... T> static int print(const char *format, T... values) {
  Arguments<T...> arguments{values...};
  if constexpr (sizeof...(T) == 0)
    return vprintf(format, nullptr);
  else
    return vprintf(format, &arguments);
}

// ---------- printf

KERNEL lines() {
  static const char *const names[] = {"alpha", "beta", "", "a longer name than the field"};
  unsigned n = threadInGrid();
  struct {
    unsigned thread;
    int letter;
    const char *name;
    int decimal;
    unsigned hexadecimal, octal;
    double fixed, scientific, general;
    int64_t wide;
  } arguments = {n,
                 int('a' + n % 26),
                 names[n % 4],
                 int(n * 2654435761u),
                 n * 40503u,
                 n,
                 (n - 500.0) / 7,
                 n * 1.25e-3 * n * n,
                 1.0 / (1 + n),
                 int64_t(n) * -123456789012345};
  vprintf("%04u %c|%-8s|%+d|%x|%#o|%10.3f|%e|%g|%lld\n", &arguments);
}

struct Many {
  int values[40];
  Many() {
    for (int i = 0; i < 40; ++i)
      values[i] = i;
  }
};

// Prints line `which`; there is none if the result stays as it was.
KERNEL conversions(int *results, int which) {
  int n = 0;
#define LINE(...)                                                                                  \
  do {                                                                                             \
    if (n++ == which)                                                                              \
      results[0] = print(__VA_ARGS__);                                                             \
  } while (false)
  const double nan = __builtin_nan(""), inf = __builtin_inf();
  LINE("no arguments\n");
  LINE("%d|%i|%u\n", -5, 2147483647, 4294967295u);
  LINE("%o|%x|%X|%#x\n", 511, 48879, 48879, 48879);
  LINE("%5d|%-5d|%05d|%+d\n", 42, 42, 42, 42);
  LINE("% d|%5.3d|%-8.4d|%.0d\n", 42, 7, -7, 0);
  LINE("%c|%5c|%-5c|\n", int('x'), int('y'), int('z'));
  LINE("%s|%10s|%-10s|%.2s\n", "text", "text", "text", "text");
  LINE("%f|%F|%.0f|%#.0f\n", 3.14159265, 2.5, 2.5, 2.5);
  LINE("%e|%E|%.2e|%12.4e\n", 12345.678, 12345.678, -0.0, 1e-300);
  LINE("%g|%G|%#g|%.10g\n", 0.0001, 1e-10, 1.0, 1.0 / 3);
  LINE("%a|%A|%.2a\n", 1.0, 0.1, 3.999);
  LINE("%f|%F|%e|%G\n", nan, nan, inf, -inf);
  LINE("%8.2f|%-8g|%08f\n", nan, inf, -inf);
  LINE("%p|%p|%20p\n", (void *)0x1234, (void *)0, (void *)~0ull);
  LINE("%lld|%llu|%llx\n", int64_t(1ull << 63), ~0ull, 0x123456789abcdefull);
  LINE("%ld|%lu|%lx\n", int64_t(1ull << 40), ~0ull, 0x123456789abcdefull);
  LINE("%hd|%hu|%hx\n", 70000, 70000, 70000);
  LINE("%hhd|%hhu|%hhx\n", 300, 300, 300);
  LINE("%zu|%zd|%zx\n", ~0ull, int64_t(-3), 255ull);
  LINE("%jd|%td|%ju\n", int64_t(-3), int64_t(-4), 5ull);
  LINE("%lf|%le|%lg\n", 1.5, 1.5, 1.5);
  LINE("%%|%5%|%-%|\n");
  LINE("null string: %s|%10s|%.2s\n", (const char *)0, (const char *)0, (const char *)0);
  LINE("%d %d\n", 1, 2);
  LINE("percent at the end %d %", 9);
  LINE("\n");
  LINE("unknown %k|%d\n", 11, 22);
  LINE("unknown %y%d|%d\n", 11, 22, 33);
  LINE("star %*d|%d\n", 8, 42, 77);
  LINE("star %-*d|%d\n", 8, 42, 77);
  LINE("precision star %.*f|%d\n", 2, 3.14159, 77);
  LINE("%Lf|%d\n", 2.5, 5);
  LINE("%lc|%d\n", int('w'), 5);
  LINE("%m|%d\n", 5, 6);
  LINE("%1$d|%d\n", 5, 6);
  LINE("%'d|%d\n", 1234567, 7);
  LINE("%Id|%d\n", 7, 8);
  LINE("%qd|%d\n", int64_t(5), 6);
  LINE("%llhd|%d\n", int64_t(5), 6);
  LINE("%hlld|%d\n", int64_t(5), 6);
  LINE("%-05d|%+ d|%0-5d|\n", 5, 6, 7);
  LINE("%5|%d\n", 5);
  LINE("%.d|%.f|%.s|\n", 5, 2.5, "text");
  LINE("%.-5d|%5.d|%d\n", 5, 6, 7);
  LINE("%b|%B|%d\n", 5, 6, 7);
  LINE("%D|%U|%O\n", 5, 6, 7);
  LINE("%.500f|\n", 1.0 / 3);
  LINE("%.30e|%.30g|%.25f\n", 0.1, 0.1, 1e22);
  LINE("bytes \x01\x7f\x80\xff %c|%c\n", 0x80, 300);
  LINE("zero %c|\n", 0);
  LINE("\033[31mred\033[0m\ttab\\n\n");
  LINE("%s", "");
  LINE("");
  LINE("%5000d|\n", 5);
  LINE("%ls|%d\n", "narrow", 5);
  LINE("%lls|%d\n", "text", 6);
  LINE("%hs|%d\n", "text", 6);
  LINE("%S|%d\n", "narrow", 5);
  LINE("%C|%d\n", int('w'), 5);
  LINE("n %n|%d\n", (void *)results, 5);
  LINE((const char *)nullptr);
  LINE("32: %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d "
       "%d %d %d\n",
       Many());
  LINE("33: %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d "
       "%d %d %d %d\n",
       Many());
  LINE("40: %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d "
       "%d %d %d %d %d %d %d %d %d %d %d\n",
       Many());
}

__attribute__((address_space(1))) char globalText[16] = "global text";
__attribute__((address_space(1))) char changingText[16] = "before";
__attribute__((address_space(1))) char changingFormat[16] = "first %d\n";
CONSTANT const char constantText[16] = "constant text";

KERNEL strings(int *results, const char *buffer) {
  int n = 0;
  auto note = [&](int result) { results[n++] = result; };
  static SHARED char sharedText[16];
  char local[16] = "local text";
  asm volatile("" : : "l"(local) : "memory");
  sharedText[0] = 's';
  sharedText[1] = 'h';
  sharedText[2] = 0;
  note(print("%s|%s|%s\n", (const char *)globalText, (const char *)constantText,
             (const char *)sharedText));
  note(print("buffer %s\n", buffer));
  note(print("%s\n", (const char *)local));
  asm volatile("" : : "l"(local) : "memory");
  *(volatile char *)local = 'X';
  note(print("%s\n", (const char *)changingText));
  *(volatile char *)(char *)changingText = 'X';
  note(print((const char *)changingFormat, 1));
  *(volatile char *)(char *)changingFormat = 'X';
  char format[16] = "format %d\n";
  asm volatile("" : : "l"(format) : "memory");
  note(print((const char *)format, 2));
  *(volatile char *)format = 'X';
  note(-99);
}

KERNEL longString(int *results, const char *text) { results[0] = print("%s\n", text); }

KERNEL longLines(int *results, unsigned count) {
  int least = 1000, most = -1000;
  for (unsigned i = 0; i < count; ++i) {
    int result = print("line %u\n", i);
    least = result < least ? result : least;
    most = result > most ? result : most;
  }
  results[0] = least;
  results[1] = most;
}

KERNEL say(unsigned number) { print("kernel says %u\n", number); }

KERNEL sayAndTrap() {
  print("before the trap\n");
  __builtin_trap();
}

// ---------- malloc and free

KERNEL allocateOnce(uint64_t *result, uint64_t size) { result[0] = uint64_t(malloc(size)); }

// As many blocks of `size` bytes as there are: their number, and the alignment of all.
KERNEL allocateAll(uint64_t *result, uint64_t size) {
  uint64_t count = 0, bits = 0;
  void **last = nullptr;
  while (void **block = static_cast<void **>(malloc(size))) {
    bits |= uint64_t(block);
    *block = last;
    last = block;
    ++count;
  }
  uint64_t freed = 0;
  while (last) {
    void **next = static_cast<void **>(*last);
    free(last);
    last = next;
    ++freed;
  }
  result[0] = count;
  result[1] = bits & -bits;
  result[2] = freed;
}

// The largest block that there is, by bisection, to a granularity of 16 bytes.
KERNEL largest(uint64_t *result, uint64_t limit) {
  uint64_t low = 0, high = limit;
  while (high - low > 16) {
    uint64_t middle = (low + high) / 2;
    if (void *block = malloc(middle)) {
      free(block);
      low = middle;
    } else {
      high = middle;
    }
  }
  result[0] = low;
}

KERNEL release(void *block) { free(block); }
KERNEL releaseTwice() {
  void *block = malloc(64);
  free(block);
  free(block);
}
KERNEL releaseWild(void *block) { free(block); }

// Every thread keeps blocks of changing sizes, fills them with its own number and checks them.
// Words of `errors`: blocks that were null, misaligned or overwritten.
KERNEL churn(uint32_t *errors, uint32_t rounds) {
  uint32_t me = threadInGrid(), state = me * 2654435761u + 1;
  uint32_t *blocks[4] = {};
  uint32_t sizes[4] = {};
  uint32_t nulls = 0, misaligned = 0, overwritten = 0;
  auto drop = [&](unsigned slot) {
    for (uint32_t i = 0; blocks[slot] && i < sizes[slot]; ++i)
      overwritten += blocks[slot][i] != me * 4 + slot;
    free(blocks[slot]);
    blocks[slot] = nullptr;
  };
  for (uint32_t round = 0; round < rounds; ++round) {
    state = state * 1664525u + 1013904223u;
    unsigned slot = state >> 30;
    drop(slot);
    sizes[slot] = 1 + (state >> 8) % 48;
    blocks[slot] = static_cast<uint32_t *>(malloc(sizes[slot] * 4));
    if (!blocks[slot])
      ++nulls;
    misaligned += uint64_t(blocks[slot]) % 16 != 0;
    for (uint32_t i = 0; blocks[slot] && i < sizes[slot]; ++i)
      blocks[slot][i] = me * 4 + slot;
  }
  for (unsigned slot = 0; slot < 4; ++slot)
    drop(slot);
  __nvvm_atom_add_gen_i((int *)errors, nulls);
  __nvvm_atom_add_gen_i((int *)errors + 1, misaligned);
  __nvvm_atom_add_gen_i((int *)errors + 2, overwritten);
}

// ---------- assert, trap

KERNEL asserting(unsigned first, unsigned step) {
  if (threadInGrid() % step == first)
    __assertfail("threadInGrid() % step != first", "Kernels.cpp", 42, "void asserting(unsigned)",
                 1);
  print("thread %u goes on\n", threadInGrid());
}
KERNEL assertingNull() { __assertfail(nullptr, nullptr, 7, nullptr, 1); }
KERNEL trapping() { __builtin_trap(); }
KERNEL breaking(int *results) {
  results[0] = 1;
  asm volatile("brkpt;" ::: "memory");
  results[0] = 2;
}

// ---------- functions through pointers

extern "C" __attribute__((noinline, used)) int twice(int x) { return 2 * x; }
extern "C" __attribute__((noinline, used)) int negated(int x) { return -x; }
using Function = int (*)(int);
__attribute__((address_space(1), used)) Function functions[2] = {twice, negated};

KERNEL callThrough(int *result, Function function, int x) { result[0] = function(x); }

// ---------- stack

__attribute__((noinline)) static uint32_t depth(uint32_t n, volatile uint32_t *above) {
  volatile uint32_t mine[16];
  mine[n % 16] = n + above[n % 16 / 2];
  if (n == 0)
    return mine[0];
  return depth(n - 1, mine) + mine[n % 16];
}
KERNEL recurse(uint32_t *results, uint32_t n) {
  volatile uint32_t mine[16];
  for (int i = 0; i < 16; ++i)
    mine[i] = i;
  results[threadInCta()] = depth(n, mine);
}
