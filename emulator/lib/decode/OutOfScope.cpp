// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/decode/OutOfScope.h"
#include <array>
#include <atomic>
#include <cstdint>
#include <iterator>

namespace rubia::emulator {
namespace {

constexpr llvm::StringLiteral kGraphics = "graphics instructions are out of scope";
constexpr llvm::StringLiteral kNoImages =
    "CDNA has no image hardware, and images of GCN 5 are out of scope";
constexpr llvm::StringLiteral kDepth =
    "comparisons with depths, which are graphics, are out of scope";
constexpr llvm::StringLiteral kPacked =
    "texels as they lie in memory, which no compiler loads, are out of scope";
constexpr llvm::StringLiteral kRdna = "_gfx1"; // in the names of gfx10, gfx11 and gfx12
constexpr llvm::StringLiteral kTypedBuffer = "typed buffers, which are graphics, are out of scope";
constexpr llvm::StringLiteral kGlobalDataShare =
    "global data share and its semaphores are out of scope";
constexpr llvm::StringLiteral kTrapHandler = "instructions of trap handlers are out of scope";
constexpr llvm::StringLiteral kFork = "fork and join, which no compiler emits, are out of scope";
constexpr llvm::StringLiteral kTwoPlaces =
    "operations between two places of LDS, which no compiler emits, are out of scope";
constexpr llvm::StringLiteral kUndocumented = "no public document says what this instruction does";

constexpr OutOfScope kRows[] = {
    {"IMAGE_*", kNoImages, "", kRdna},
    {"IMAGE_SAMPLE_C", kDepth},
    {"IMAGE_SAMPLE_C_*", kDepth},
    {"IMAGE_GATHER4_C", kDepth},
    {"IMAGE_GATHER4_C_*", kDepth},
    {"IMAGE_GATHER4H", kGraphics},
    {"IMAGE_GET_LOD", kGraphics},
    {"IMAGE_BVH*", "ray tracing is out of scope"},
    {"IMAGE_MSAA_LOAD*", kGraphics},
    {"IMAGE_LOAD_PCK*", kPacked},
    {"IMAGE_LOAD_MIP_PCK*", kPacked},
    {"IMAGE_STORE_PCK", kPacked},
    {"IMAGE_STORE_MIP_PCK", kPacked},
    {"EXP", kGraphics},
    {"EXP_*", kGraphics},
    {"V_INTERP_*", kGraphics},
    {"LDS_PARAM_LOAD", kGraphics},
    {"DS_PARAM_LOAD", kGraphics},
    {"LDS_DIRECT_LOAD", kGraphics},
    {"DS_DIRECT_LOAD", kGraphics},
    {"DS_BVH_STACK_*", kGraphics},
    {"DS_ADD_GS_REG", kGraphics},
    {"DS_SUB_GS_REG", kGraphics},
    {"S_ENDPGM_ORDERED_PS_DONE", kGraphics},
    {"S_ALLOC_VGPR", "dynamic VGPR allocation, which only graphics uses, is out of scope"},
    {"TBUFFER_*", kTypedBuffer},
    {"BUFFER_LOAD_FORMAT_*", kTypedBuffer, "", kRdna},
    {"BUFFER_STORE_FORMAT_*", kTypedBuffer, "", kRdna},
    {"BUFFER_LOAD_FORMAT_D16_HI_X", kTypedBuffer},
    {"BUFFER_LOAD_FORMAT_X_LDS", kTypedBuffer},
    {"BUFFER_STORE_FORMAT_D16_HI_X", kTypedBuffer},
    {"*_TFE", "accesses that report a texture failure are out of scope"},
    {"BUFFER_STORE_LDS_DWORD",
     "stores from LDS to memory, which no compiler emits, are out of scope"},
    {"DS_GWS_SEMA_*", kGlobalDataShare},
    {"DS_ORDERED_COUNT", kGlobalDataShare},
    {"GLOBAL_ATOMIC_ORDERED_ADD_B64", kGlobalDataShare},
    {"DS_ADD_SRC2_*", kTwoPlaces},
    {"DS_SUB_SRC2_*", kTwoPlaces},
    {"DS_RSUB_SRC2_*", kTwoPlaces},
    {"DS_INC_SRC2_*", kTwoPlaces},
    {"DS_DEC_SRC2_*", kTwoPlaces},
    {"DS_MIN_SRC2_*", kTwoPlaces},
    {"DS_MAX_SRC2_*", kTwoPlaces},
    {"DS_AND_SRC2_*", kTwoPlaces},
    {"DS_OR_SRC2_*", kTwoPlaces},
    {"DS_XOR_SRC2_*", kTwoPlaces},
    {"DS_WRITE_SRC2_*", kTwoPlaces},
    {"S_GET_WAVEID_IN_WORKGROUP", kUndocumented},
    {"S_RFE_*", kTrapHandler},
    {"S_SETKILL", "the debugger's command to kill a wave is out of scope"},
    {"S_CBRANCH_G_FORK", kFork},
    {"S_CBRANCH_I_FORK", kFork},
    {"S_CBRANCH_JOIN", kFork},
    {"V_ILLEGAL", "this encoding stands for an illegal instruction"},
    {"V_SCREEN_PARTITION_4SE_B32", kUndocumented},
    {"GLOBAL_LOAD_TR_*", kUndocumented},
    {"V_MOVREL*", "DPP on relative moves, which no compiler emits, is out of scope", "_dpp"},
    {"V_MFMA_LD_SCALE_B32", "this is only valid as the first half of a scaled MFMA"},
};

} // namespace

bool OutOfScope::matches(llvm::StringRef key, llvm::StringRef fullName) const {
  llvm::StringRef pattern = name;
  const bool hasName = pattern.consume_back("*")    ? key.starts_with(pattern)
                       : pattern.consume_front("*") ? key.ends_with(pattern)
                                                    : key == pattern;
  return hasName && fullName.contains(encoding) && (unless.empty() || !fullName.contains(unless));
}

const OutOfScopeTable kOutOfScope = {kRows, std::size(kRows)};

const OutOfScope *findOutOfScope(llvm::StringRef key, llvm::StringRef fullName) {
  for (const OutOfScope &row : kRows)
    if (row.matches(key, fullName))
      return &row;
  return nullptr;
}

const OutOfScope *findOutOfScope(unsigned opcode, llvm::StringRef key, llvm::StringRef fullName) {
  constexpr uint8_t kUnknown = 0, kNone = 1, kFirst = 2;
  static_assert(std::size(kRows) < UINT8_MAX - kFirst);
  static std::array<std::atomic<uint8_t>, UINT16_MAX + 1> known; // kUnknown
  std::atomic<uint8_t> &one = known[opcode];
  uint8_t found = one.load(std::memory_order_relaxed);
  if (found == kUnknown) {
    const OutOfScope *row = findOutOfScope(key, fullName);
    found = row ? uint8_t(kFirst + (row - kRows)) : kNone;
    one.store(found, std::memory_order_relaxed);
  }
  return found == kNone ? nullptr : &kRows[found - kFirst];
}

} // namespace rubia::emulator
