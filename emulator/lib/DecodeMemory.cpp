// FLAT, GLOBAL, SCRATCH, DS and MUBUF.
#include "emulator/lib/AtomicSemantics.h"
#include "emulator/lib/ControlFlow.h"
#include "emulator/lib/Decoder.h"
#include "emulator/lib/Instructions.h"

using namespace llvm;

namespace rubia::emulator {

/// Cache maintenance: everything is coherent here, so only the order matters.
static void fence(Wave &, const MicroOp &) { std::atomic_thread_fence(std::memory_order_seq_cst); }

static bool isCacheOperation(StringRef name) {
  static constexpr StringLiteral kNames[] = {
      "BUFFER_GL0_INV", "BUFFER_GL1_INV", "BUFFER_WBL2", "BUFFER_INV", "BUFFER_WBINVL1_VOL",
      "BUFFER_WBINVL1", "BUFFER_INVL2",   "GLOBAL_INV",  "GLOBAL_WB",  "GLOBAL_WBINV"};
  return is_contained(kNames, name);
}

Refusal Decoder::decodeFlat(StringRef prefix) {
  MicroOp op = start();
  if (isCacheOperation(name)) {
    op.handler = fence;
    emit(op);
    return {};
  }
  StringRef action = name.substr(prefix.size());
  const bool isScratch = prefix == "SCRATCH_", isAtomic = action.starts_with("ATOMIC_");
  if (isAtomic)
    op.handler = findMemory(prefix == "FLAT_" ? kFlatAtomics : kGlobalAtomics, action);
  else
    op.handler = findMemory(isScratch           ? kScratchMemory
                            : prefix == "FLAT_" ? kFlatMemory
                                                : kGlobalMemory,
                            action);
  if (!op.handler || (isAtomic && isScratch))
    return "no semantics for " + name.str();

  uint32_t offset = 0;
  if (int vaddr = index(OperandName::vaddr); vaddr >= 0) {
    if (Refusal refusal = vectorRegister(unsigned(vaddr), offset); !refusal.empty())
      return refusal;
    op.kind[0] = OperandKind::Vector;
    op.source[0] = offset;
  }
  if (int saddr = index(OperandName::saddr);
      saddr >= 0 && registerAt(unsigned(saddr)).kind != RegisterOperand::Null) {
    if (Refusal refusal = scalarSource(op, 1, unsigned(saddr)); !refusal.empty())
      return refusal;
    if (!isScratch && op.kind[1] != OperandKind::Scalar)
      return "unsupported base register";
  }
  if (int vdata = index(OperandName::vdata); vdata >= 0) {
    if (Refusal refusal = vectorRegister(unsigned(vdata), offset); !refusal.empty())
      return refusal;
    op.kind[2] = OperandKind::Vector;
    op.source[2] = offset;
  }
  if (int vdst = index(OperandName::vdst); vdst >= 0) {
    if (Refusal refusal = vectorRegister(unsigned(vdst), op.result); !refusal.empty())
      return refusal;
    op.data = isAtomic ? kAtomicReturns : 0;
  }
  // LLVM leaves the field as it is encoded; its width differs per generation.
  const unsigned major = target.generation().major;
  const unsigned bits = major >= 12 ? 24 : major == 10 ? 12 : 13;
  op.immediate = int32_t(SignExtend64(uint64_t(immediate(OperandName::offset)), bits));
  emit(op);
  return {};
}

Refusal Decoder::decodeLocal() {
  if (name == "DS_NOP")
    return {};
  std::string key = name.str();
  const size_t strided = key.find("2ST64");
  const bool st64 = strided != std::string::npos;
  if (st64)
    key.erase(strided + 1, 4);
  MicroOp op = start();
  op.handler = findMemory(kLocalMemory, key);
  if (!op.handler)
    return "no semantics for " + name.str();
  if (immediate(OperandName::gds) != 0)
    return "GDS is not supported";

  static constexpr std::pair<OperandName, unsigned> kOperands[] = {
      {OperandName::addr, 0}, {OperandName::data0, 2}, {OperandName::data1, 3}};
  for (auto [operand, i] : kOperands)
    if (int at = index(operand); at >= 0) {
      uint32_t offset;
      if (Refusal refusal = vectorRegister(unsigned(at), offset); !refusal.empty())
        return refusal;
      op.kind[i] = OperandKind::Vector;
      op.source[i] = offset;
    }
  if (int vdst = index(OperandName::vdst); vdst >= 0) {
    if (Refusal refusal = vectorRegister(unsigned(vdst), op.result); !refusal.empty())
      return refusal;
    op.data = kAtomicReturns;
  }
  if (index(OperandName::offset0) >= 0) {
    const unsigned element = key.ends_with("B64") ? 8 : 4;
    const unsigned scale = element * (st64 ? 64 : 1);
    uint32_t first = uint8_t(immediate(OperandName::offset0)) * scale;
    uint32_t second = uint8_t(immediate(OperandName::offset1)) * scale;
    if (first > 0xffff || second > 0xffff) {
      // 255 * 8 * 64 does not fit 16 bits; no LDS is that large either.
      return "offset beyond LDS";
    }
    op.immediate = int32_t(first | second << 16);
  } else {
    op.immediate = int32_t(uint16_t(immediate(OperandName::offset)));
  }
  if (name == "DS_SWIZZLE_B32" && uint32_t(op.immediate) >= 0xe000)
    return "FFT mode of ds_swizzle is not supported";
  emit(op);
  return {};
}

Refusal Decoder::decodeBuffer() {
  MicroOp op = start();
  if (isCacheOperation(name)) {
    op.handler = fence;
    emit(op);
    return {};
  }
  StringRef action = name;
  action.consume_front("BUFFER_");
  op.handler = findMemory(kBufferMemory, action);
  const int resource = index(OperandName::srsrc), offset = index(OperandName::soffset),
            data = index(OperandName::vdata);
  if (!op.handler || resource < 0 || data < 0)
    return "no semantics for " + name.str();
  const StringRef full = target.fullName(inst->getOpcode());
  const bool both = full.contains("_BOTHEN");
  op.data = (both || full.contains("_OFFEN") ? kBufferOffset : 0) |
            (both || full.contains("_IDXEN") ? kBufferIndex : 0);
  uint32_t registerOffset;
  if (int vaddr = index(OperandName::vaddr); vaddr >= 0) {
    if (Refusal refusal = vectorRegister(unsigned(vaddr), registerOffset); !refusal.empty())
      return refusal;
    op.kind[0] = OperandKind::Vector;
    op.source[0] = registerOffset;
  }
  if (offset >= 0)
    if (Refusal refusal = scalarSource(op, 1, unsigned(offset)); !refusal.empty())
      return refusal;
  if (Refusal refusal = vectorRegister(unsigned(data), op.result); !refusal.empty())
    return refusal;
  op.source[2] = op.result; // a store's data
  if (registerAt(unsigned(resource)).kind != RegisterOperand::Scalar)
    return "unsupported buffer resource";
  op.source[3] = registerAt(unsigned(resource)).index;
  op.immediate = int32_t(immediate(OperandName::offset));
  emit(op);
  return {};
}

Handler findMemory(const MemoryTable &table, StringRef name) {
  for (size_t i = 0; i < table.count; ++i)
    if (name == table.rows[i].name)
      return table.rows[i].handler;
  return nullptr;
}

} // namespace rubia::emulator
