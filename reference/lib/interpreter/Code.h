// SPDX-License-Identifier: Apache-2.0
// What a function is decoded into: operands are rows, labels are indices, and each instruction is
// one call of a function for all lanes of a warp.
//
// A row holds one register of all lanes, 64 bits each; bits beyond the register's width are zero.
// .b128 registers have two rows. The first rows of a frame are its CC.CF and what `_` is written
// to. Immediates and addresses are constant rows, special registers are rows of the warp.
#pragma once

#include "ptx-frontend/Module.h"
#include "reference/Reference.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Allocator.h"
#include <deque>
#include <memory>
#include <vector>

namespace rubia::reference::interpreter {

inline constexpr unsigned kLanes = 32;
using Lanes = uint32_t; // a bit for each lane

class Warp;
struct Micro;
using Execute = void (*)(Warp &, const Micro &);

inline constexpr uint32_t kCarryRow = 0, kSinkRow = 1, kFirstRegisterRow = 3;
inline constexpr uint32_t kNoRow = ~0u;

constexpr uint64_t maskOf(unsigned bits) { return bits >= 64 ? ~0ull : (1ull << bits) - 1; }

/// Where a state space lies in generic addresses. Other addresses are global.
inline constexpr uint64_t kSharedWindow = 0x0f00'0000'0000'0000,
                          kLocalWindow = 0x0f10'0000'0000'0000,
                          kParamWindow = 0x0f20'0000'0000'0000,
                          kFunctionWindow = 0x0f30'0000'0000'0000;
inline constexpr uint64_t kWindowMask = 0xfff0'0000'0000'0000;

struct Source {
  enum class Base : uint8_t { Frame, Constant, Special } base = Base::Constant;
  bool negated = false;      // a predicate, written with a `!`
  bool frameAddress = false; // plus the beginning of the frame's memory
  uint32_t row = 0;
  int32_t offset = 0; // of an address operand
};

struct Destination {
  uint32_t row = kSinkRow;
  uint64_t mask = ~0ull; // of the register's width
};

/// What the loop over instructions has to do.
enum class Flow : uint8_t {
  Straight, // nothing
  Control,  // changes paths; gets the lanes whose guard holds, or is not called if there are none
  Meets     // waits for the members of a mask: source `meets`
};

struct Micro {
  Execute execute = nullptr;
  const ptx::Instruction *instruction = nullptr;
  llvm::ArrayRef<Source> sources;
  llvm::ArrayRef<Destination> destinations;
  Flow flow = Flow::Straight;
  bool guardNegated = false;
  uint32_t guardRow = kNoRow;
  uint32_t target = 0; // of a branch; of a meeting, the source with the mask
  uint64_t detail = 0; // what the family needs
  const void *data = nullptr;
};

struct FunctionCode {
  const ptx::Function *function = nullptr;
  std::vector<Micro> micros; // in the order in which paths are preferred (Order.h)
  uint32_t rows = 0;         // of a frame
  uint32_t bytes = 0;        // of a frame's memory: .local and .param variables
  llvm::DenseMap<const ptx::Variable *, uint32_t> offsets; // in a frame's memory
  std::vector<uint32_t> registerRows;                      // by RegisterId
};

/// A special register that the code reads.
struct UsedSpecial {
  ptx::SpecialRegister special;
  unsigned component;
};

/// A call through a register or by name.
struct CallData {
  const FunctionCode *callee = nullptr; // null: indirect, source 0 is the address
  /// Of each argument and result: where it lies in the caller, and whether that is a register.
  struct Value {
    Source source;         // an argument in a register, or a constant
    Destination to;        // a result in a register
    bool inMemory = false; // at `offset` of the caller's frame
    uint32_t offset = 0;
    unsigned bytes = 0; // of a value in memory
    unsigned rows = 1;  // of one in a register
  };
  std::vector<Value> arguments, results;
};

/// A kernel and all that it can reach, decoded; constant rows are shared.
struct KernelCode {
  const FunctionCode *kernel = nullptr;
  std::deque<FunctionCode> functions;
  llvm::DenseMap<const ptx::Function *, const FunctionCode *> byFunction;
  std::vector<uint64_t> constants; // rows
  std::vector<UsedSpecial> specials;
  llvm::DenseMap<const ptx::Variable *, uint32_t> sharedOffsets;
  uint32_t staticSharedBytes = 0;
  llvm::DenseMap<const ptx::Variable *, uint32_t> parameterOffsets; // of the kernel
  llvm::BumpPtrAllocator arena;
  std::deque<Reference> references; // of scalar instructions
  std::deque<CallData> calls;
  std::deque<std::vector<uint32_t>> targets; // of brx.idx
  std::vector<std::shared_ptr<void>> kept;

  /// What an instruction's `data` points to; it lives as long as the code.
  template <typename T> T &keep() {
    auto made = std::make_shared<T>();
    kept.push_back(made);
    return *made;
  }
};

/// Addresses of the module's variables, for all kernels.
using GlobalAddresses = llvm::DenseMap<const ptx::Variable *, uint64_t>;

/// Decodes a kernel and what it reaches. What is not supported becomes an instruction that ends the
/// launch with an error.
std::unique_ptr<KernelCode> decodeKernel(const ptx::Module &module, const ptx::Function &kernel,
                                         const GlobalAddresses &globals);

} // namespace rubia::reference::interpreter
