// SPDX-License-Identifier: Apache-2.0
// FLAT, GLOBAL, SCRATCH, DS and MUBUF.
#include "emulator/lib/decode/Decoder.h"
#include "emulator/lib/decode/Instructions.h"
#include "emulator/lib/machine/WaveFunctions.h"
#include "emulator/lib/memory/AtomicSemantics.h"
#include "emulator/lib/memory/ImageOperation.h"
#include "emulator/lib/scalar/ControlFlow.h"
#include "emulator/lib/vector/VectorMemory.h"

using namespace llvm;

namespace rubia::emulator {

Handler findMemory(const MemoryTable &table, StringRef name) {
  for (size_t i = 0; i < table.count; ++i)
    if (name == table.rows[i].name)
      return table.rows[i].handler;
  return nullptr;
}

static Handler findIn(std::initializer_list<const MemoryTable *> tables, StringRef name) {
  for (const MemoryTable *table : tables)
    if (Handler handler = findMemory(*table, name))
      return handler;
  return nullptr;
}

namespace {
struct FastTables {
  MemoryTable memory, lanes;
};
} // namespace

/// Those for this machine.
static const FastTables &fastTables() {
#if defined(__x86_64__) && !defined(RUBIA_ONE_VECTOR_TABLE)
  static const FastTables tables =
      hostIsa() == HostIsa::Avx512 ? FastTables{avx512::kVectorMemory, avx512::kVectorLanes}
      : hostIsa() == HostIsa::Avx2 ? FastTables{avx2::kVectorMemory, avx2::kVectorLanes}
                                   : FastTables{baseline::kVectorMemory, baseline::kVectorLanes};
#else
  static const FastTables tables = {baseline::kVectorMemory, baseline::kVectorLanes};
#endif
  return tables;
}

Handler findFast(StringRef name) {
  return findIn({&fastTables().memory, &fastTables().lanes}, name);
}

bool isWavewise(const MicroOp &op) {
  const MemoryTable &lanes = fastTables().lanes;
  return op.detail && (op.handler == callWaveFunction ||
                       any_of(ArrayRef(lanes.rows, lanes.count), [&](const MemorySemantics &row) {
                         return row.handler == op.handler;
                       }));
}

/// Gives an operation the fast handler of the instruction, if it has one.
static void speedUp(MicroOp &op, StringRef name) {
  if (Handler fast = findFast(name)) {
    op.slowPath = op.handler;
    op.handler = fast;
  }
}

/// Cache maintenance: everything is coherent here, so only the order matters.
static void fence(Wave &w, const MicroOp &op) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  RUBIA_NEXT(w, op);
}

/// The invalidation after a load that acquires. A wave that comes to it again and again within a
/// few instructions, with the same scalars, waits for somebody else, and gives way. `kOrders`:
/// other host threads may be meant.
template <bool kOrders> static void acquire(Wave &w, const MicroOp &op) {
  constexpr int64_t kShortLoop = 32;
  if constexpr (kOrders)
    std::atomic_thread_fence(std::memory_order_seq_cst);
  Poll &poll = w.group->poll;
  const bool isHere = poll.wave == &w && poll.at == &op && poll.from == w.from &&
                      (poll.yielded || poll.left - w.left <= kShortLoop);
  const bool again =
      isHere && poll.known && std::equal(std::begin(w.scalars), std::end(w.scalars), poll.scalars);
  if (again)
    w.halt(WaveStatus::Yielded);
  else if (isHere)
    std::copy(std::begin(w.scalars), std::end(w.scalars), poll.scalars);
  poll.wave = &w;
  poll.at = &op;
  poll.from = w.from;
  poll.left = w.left;
  poll.yielded = again;
  poll.known = isHere;
  if (!again)
    RUBIA_NEXT(w, op);
}

/// Null: the instruction is none that maintains caches.
static Handler cacheOperation(StringRef name) {
  static constexpr StringLiteral kLastOfAcquire[] = {"BUFFER_INV", "BUFFER_WBINVL1_VOL",
                                                     "BUFFER_WBINVL1", "GLOBAL_INV"};
  static constexpr StringLiteral kOthers[] = {"BUFFER_GL1_INV", "BUFFER_WBL2", "BUFFER_INVL2",
                                              "GLOBAL_WB", "GLOBAL_WBINV"};
  // By itself it is of the workgroup's scope; BUFFER_GL1_INV comes before it for wider ones.
  if (name == "BUFFER_GL0_INV")
    return acquire<false>;
  if (is_contained(kLastOfAcquire, name))
    return acquire<true>;
  return is_contained(kOthers, name) ? fence : nullptr;
}

/// Source `i` from a vector register operand, if the instruction has it.
Diagnostic Decoder::vectorSource(MicroOp &op, unsigned i, OperandName operand) {
  const int at = index(operand);
  if (at < 0)
    return {};
  uint32_t offset = 0;
  if (Diagnostic diagnostic = vectorRegister(unsigned(at), offset); !diagnostic.empty())
    return diagnostic;
  op.kind[i] = OperandKind::Vector;
  op.source[i] = offset;
  return {};
}

Diagnostic Decoder::decodeFlat(StringRef prefix) {
  MicroOp op = start();
  if (Handler handler = cacheOperation(name)) {
    op.handler = handler;
    emit(op);
    return {};
  }
  const StringRef action = name.substr(prefix.size());
  if (prefix == "GLOBAL_")
    op.handler = findIn(
        {&kGlobalMemory, &kGlobalAtomics, &kGlobalToLds, &kGlobalBlocks, &kGlobalByThread}, action);
  else if (prefix == "SCRATCH_")
    op.handler = findIn({&kScratchMemory, &kScratchToLds, &kScratchBlocks}, action);
  else
    op.handler = findIn({&kFlatMemory, &kFlatAtomics}, action);
  if (!op.handler)
    return "no semantics for " + name.str();

  if (Diagnostic diagnostic = vectorSource(op, 0, OperandName::vaddr); !diagnostic.empty())
    return diagnostic;
  if (Diagnostic diagnostic = vectorSource(op, 2, OperandName::vdata); !diagnostic.empty())
    return diagnostic;
  if (int saddr = index(OperandName::saddr);
      saddr >= 0 && registerAt(unsigned(saddr)).kind != RegisterOperand::Null) {
    if (Diagnostic diagnostic = scalarSource(op, 1, unsigned(saddr)); !diagnostic.empty())
      return diagnostic;
    if (prefix != "SCRATCH_" && op.kind[1] != OperandKind::Scalar)
      return "unsupported base register";
  }
  if (int vdst = index(OperandName::vdst); vdst >= 0) {
    if (Diagnostic diagnostic = vectorRegister(unsigned(vdst), op.result); !diagnostic.empty())
      return diagnostic;
    op.data = kAtomicReturns;
  }
  // LLVM leaves the field as it is encoded; its width differs per generation. FLAT ignores the sign
  // before gfx12.
  const unsigned major = target.row().isa;
  const unsigned bits = major >= 12 ? 24 : major == 10 ? 12 : 13;
  const uint64_t offset = uint64_t(immediate(OperandName::offset));
  op.immediate = prefix == "FLAT_" && major < 12
                     ? int32_t(offset & maskTrailingOnes<uint64_t>(bits - 1))
                     : int32_t(SignExtend64(offset, bits));
  speedUp(op, name);
  emit(op);
  return {};
}

Diagnostic Decoder::decodeLocal() {
  if (name == "DS_NOP")
    return {};
  std::string key = name.str();
  const size_t strided = key.find("2ST64");
  const bool st64 = strided != std::string::npos;
  if (st64)
    key.erase(strided + 1, 4);
  MicroOp op = start();
  op.handler = findIn({&kLocalMemory, &kLocalAtomics, &kLocalLanes, &kWaveSync}, key);
  if (!op.handler)
    return "no semantics for " + name.str();
  if (immediate(OperandName::gds) != 0)
    return "GDS is not supported";

  static constexpr std::pair<OperandName, unsigned> kOperands[] = {
      {OperandName::addr, 0}, {OperandName::data0, 2}, {OperandName::data1, 3}};
  for (auto [operand, i] : kOperands)
    if (Diagnostic diagnostic = vectorSource(op, i, operand); !diagnostic.empty())
      return diagnostic;
  if (int vdst = index(OperandName::vdst); vdst >= 0) {
    if (Diagnostic diagnostic = vectorRegister(unsigned(vdst), op.result); !diagnostic.empty())
      return diagnostic;
    op.data = kAtomicReturns;
  }
  if (index(OperandName::offset0) >= 0) {
    op.immediate = int32_t(uint8_t(immediate(OperandName::offset0)) |
                           uint8_t(immediate(OperandName::offset1)) << 16);
    op.registers = uint8_t((StringRef(key).ends_with("B64") ? 3 : 2) + (st64 ? 6 : 0));
  } else {
    op.immediate = int32_t(uint16_t(immediate(OperandName::offset)));
  }
  speedUp(op, key);
  emit(op);
  return {};
}

Diagnostic Decoder::decodeBuffer() {
  MicroOp op = start();
  if (Handler handler = cacheOperation(name)) {
    op.handler = handler;
    emit(op);
    return {};
  }
  std::string action = name.str();
  action.erase(0, StringRef("BUFFER_").size());
  if (StringRef(action).starts_with("LOAD_") && StringRef(action).ends_with("_LDS")) {
    action.resize(action.size() - 4);
    action.insert(StringRef("LOAD_").size(), "LDS_");
  }
  op.handler = findIn({&kBufferMemory, &kBufferAtomics, &kBufferToLds, &kBufferFormats}, action);
  const int resource = index(OperandName::srsrc), offset = index(OperandName::soffset),
            data = index(OperandName::vdata);
  if (!op.handler || resource < 0)
    return "no semantics for " + name.str();
  const StringRef full = target.fullName(inst->getOpcode());
  const bool both = full.contains("_BOTHEN");
  op.data = (both || full.contains("_OFFEN") ? kBufferOffset : 0) |
            (both || full.contains("_IDXEN") ? kBufferIndex : 0) |
            (full.contains("_RTN") ? kAtomicReturns : 0);
  if (Diagnostic diagnostic = vectorSource(op, 0, OperandName::vaddr); !diagnostic.empty())
    return diagnostic;
  if (offset >= 0)
    if (Diagnostic diagnostic = scalarSource(op, 1, unsigned(offset)); !diagnostic.empty())
      return diagnostic;
  if (data >= 0) // loaded, stored, or both in an atomic
    if (Diagnostic diagnostic = vectorRegister(unsigned(data), op.result); !diagnostic.empty())
      return diagnostic;
  op.source[2] = op.result;
  if (registerAt(unsigned(resource)).kind != RegisterOperand::Scalar)
    return "unsupported buffer resource";
  op.source[3] = registerAt(unsigned(resource)).index;
  op.immediate = int32_t(immediate(OperandName::offset));
  emit(op);
  return {};
}

} // namespace rubia::emulator
