// SPDX-License-Identifier: Apache-2.0
// Random kernels: what the generator makes, the evaluator executes, and the reducer takes apart.
//
// A kernel is a tree of statements over registers of kinds. A kind is a width and what the bits
// are: a register of a floating-point kind may hold any NaN, so no statement looks at its bits,
// except in kernels whose results depend on NaNs' bits (Kernel::nanBits).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rubia::random_kernels {

enum class Kind : uint8_t { Pred, B16, B32, B64, F32, F64, F16, BF16, F16x2, BF16x2 };
inline constexpr unsigned kKindCount = 10;
constexpr unsigned bitsOf(Kind kind) {
  constexpr unsigned kBits[] = {1, 16, 32, 64, 32, 64, 16, 16, 32, 32};
  return kBits[unsigned(kind)];
}
constexpr bool isFloat(Kind kind) { return kind >= Kind::F32; }

struct Register {
  Kind kind = Kind::B32;
  unsigned index = 0;
  bool operator==(const Register &) const = default;
};

/// A register, or constant bits.
struct Operand {
  std::optional<Register> reg;
  uint64_t bits = 0;
  bool negated = false; // written with a `!`
  static Operand constant(uint64_t bits) { return {std::nullopt, bits, false}; }
  static Operand of(Register reg, bool negated = false) { return {reg, 0, negated}; }
};

/// Where memory is. All but Uniform, Param and Const have a part for each thread.
enum class Space : uint8_t {
  Input,    // global, only read
  Uniform,  // global, only read, the same for all threads
  Param,    // of the kernel
  Const,    // a .const variable
  Global,   // what is left there is compared
  Shared,   // of the thread alone
  Local,    // an array
  Exchange, // shared, read by other threads between barriers
  Output    // results: written once
};
/// Bytes of a thread's part, or of the whole; powers of two.
inline constexpr unsigned kInputBytes = 128, kUniformBytes = 64, kParamBytes = 64;
inline constexpr unsigned kConstBytes = 128, kGlobalBytes = 64, kSharedBytes = 32;
inline constexpr unsigned kLocalBytes = 64, kExchangeBytes = 16;
inline constexpr unsigned kCells = 4; // of 8 bytes, for reductions, in shared and in global memory

struct Address {
  Space space = Space::Global;
  bool generic = false;
  unsigned offset = 0;           // in bytes
  std::optional<Register> index; // offset + (index & indexMask) * scale
  unsigned indexMask = 0, scale = 0;
  /// Exchange: the thread whose part it is.
  enum class Partner : uint8_t { Self, Xor, Next } partner = Partner::Self;
  unsigned distance = 0;
};

struct Statement {
  enum class What : uint8_t {
    Scalar,  // word destinations, sources
    Pack,    // mov of several registers into one
    Unpack,  // and back
    Special, // mov of a special register, named by `word`
    Load,    // `word` has all but the space: "b32", "v2.u16"
    Store,
    Atomic, // on the thread's own memory; word: "add.u32"
    Reduce, // red on cell `count` of Shared or Global; word: "add.u32"
    Cell,   // what is in a shared cell, between barriers
    Barrier,
    Warp,   // shfl, vote, match, redux, activemask, elect; the last source is the mask
    If,     // guard: body, else orElse
    Loop,   // `count` rounds, or as many as sources[0] & 3, plus one
    Leave,  // guard: out of the innermost loop
    Switch, // sources[0] % number of cases
    Call    // function `count`
  };
  What what = What::Scalar;
  std::string word;
  std::vector<std::string> selectors; // of video operands, destination first
  std::vector<Register> destinations;
  std::vector<Operand> sources;
  std::optional<Operand> guard; // with If and Leave, the condition
  Address address;
  unsigned count = 0;
  bool uniform = false; // If, Loop: all threads of the CTA agree
  bool fills = false;   // Store: the first value of memory
  bool voting = false;  // Loop: goes on while any thread of the warp wants to
  std::vector<Statement> body, orElse;
  std::vector<std::vector<Statement>> cases;
};

struct Function {
  std::vector<Kind> parameters, results; // registers 0, 1, ... of their kinds hold the parameters
  std::vector<Register> returned;        // one for each result
  bool structure = false;                // the results are members of one array of bytes
  std::vector<Statement> body;
};

/// The operation of each cell, of all reductions on it: their order does not matter.
struct Cells {
  std::array<std::string, kCells> operation; // "add.u32"; empty: not used
  std::array<uint64_t, kCells> initial = {};
};

struct Kernel {
  uint64_t seed = 0;
  std::string family;
  unsigned grid = 1, block = 64;
  bool nanBits = false;  // results depend on the bits of NaNs
  bool indirect = false; // calls are by addresses in memory: no compiler can inline them
  bool contract = false; // has multiplications and additions without rounding, which may be fused
  std::vector<Function> functions;
  std::vector<Statement> body;
  Cells sharedCells, globalCells;
  std::vector<uint8_t> input, param, constant; // input: per thread, then the uniform part
  unsigned outputWords = 0;                    // 64-bit words of results of a thread

  unsigned threads() const { return grid * block; }
  unsigned globalOffset() const { return 0; } // in the buffer of results
  unsigned cellsOffset() const { return threads() * kGlobalBytes; }
  unsigned outputOffset() const { return cellsOffset() + 8 * kCells; }
  unsigned resultBytes() const { return outputOffset() + threads() * outputWords * 8; }
};

/// The kernel of a seed: always the same.
Kernel generate(uint64_t seed);

/// What the buffer of results holds before the launch.
std::vector<uint8_t> initialResults(const Kernel &kernel);

/// Name of the kernel in its text: "k12".
std::string nameOf(const Kernel &kernel);
/// The kernel and what it needs, without the module's head.
std::string textOf(const Kernel &kernel);
/// The head of a module.
extern const char *const kModuleHead;
/// Of the text, the inputs and the launch.
uint64_t digestOf(const Kernel &kernel);

/// How many statements there are.
unsigned sizeOf(const std::vector<Statement> &statements);

} // namespace rubia::random_kernels
