// SPDX-License-Identifier: Apache-2.0
// ld and st. PTX ISA: data-movement-and-conversion-instructions-ld, -ld-global-nc, -st.
//
// A weak access is one LLVM load or store of the whole vector: PTX demands that it is aligned to
// its size. Any other one is whole too, up to 16 bytes. PTX calls the elements of a vector separate
// accesses (vector-data-types), but NVIDIA's hardware performs them at once, and programs rely on
// that: a value with its flag, as decoupled look-back publishes them. Cache and eviction modifiers
// are hints, apart from .cv and .cs; prefetch sizes too.
#include "lowering/lib/frame/UnitLowering.h"
#include "lowering/lib/instructions/Atomics.h"

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Ldu;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier Cs, Cv, Lu, Mmio, Nc, Sys, Volatile, Weak, Wt;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

namespace {

// How one access behaves.
struct Access {
  Type *element;
  unsigned count;
  unsigned elementBytes;
  ptx::Modifier semantics = ptx::Mod::Weak, scope = ptx::Mod::Sys;
  bool isVolatile = false;
  bool nonTemporal = false;
  bool invariant = false;

  unsigned bytes() const { return count * elementBytes; }
  bool isAtomic() const { return semantics != ptx::Mod::Weak; }
};

Access accessOf(FunctionLowering &fn, const ptx::Spelling &spelling, unsigned addressSpace) {
  ptx::Type type = spelling.type(0);
  Access access;
  access.elementBytes = ptx::sizeInBits(type) / 8;
  access.element = fn.intType(access.elementBytes * 8);
  access.count = std::max(spelling.vectorWidth(), 1u);

  ptx::Modifier semantics = spelling.first(ptx::ModCategory::Semantics);
  ptx::Modifier cache = spelling.first(ptx::ModCategory::Cache);
  // .volatile and .mmio are .relaxed.sys; .cv fetches again, which is the same, and .wt writes
  // through. Memory of one thread (AS 5) and memory that does not change (AS 4) need no atomics.
  access.isVolatile = semantics == ptx::Mod::Volatile || cache == ptx::Mod::Cv ||
                      cache == ptx::Mod::Wt || spelling.has(ptx::Mod::Mmio);
  bool isWeak = semantics == ptx::Mod::None || semantics == ptx::Mod::Weak;
  if (addressSpace != kConstantSpace && addressSpace != kPrivateSpace &&
      (access.isVolatile || !isWeak)) {
    access.semantics = isWeak ? ptx::Mod::Volatile : semantics;
    if (!access.isVolatile)
      access.scope = spelling.first(ptx::ModCategory::Scope);
  }
  // Streaming data: evict first.
  access.nonTemporal = cache == ptx::Mod::Cs || cache == ptx::Mod::Lu;
  access.invariant =
      addressSpace == kConstantSpace || spelling.has(ptx::Mod::Nc) || spelling.op == ptx::Op::Ldu;
  return access;
}

MDNode *emptyNode(FunctionLowering &fn) { return MDNode::get(fn.context(), {}); }

void annotate(FunctionLowering &fn, const Access &access, Instruction *memory) {
  if (access.nonTemporal)
    memory->setMetadata(
        LLVMContext::MD_nontemporal,
        MDNode::get(fn.context(), ConstantAsMetadata::get(fn.builder().getInt32(1))));
  if (access.invariant && isa<LoadInst>(memory))
    memory->setMetadata(LLVMContext::MD_invariant_load, emptyNode(fn));
}

// What is accessed at once: elements that follow each other, up to 16 bytes.
struct Piece {
  unsigned first, count; // of the elements
  unsigned bytes;
  Value *place;

  // What the access moves.
  Type *type(IRBuilder<> &b) const {
    return bytes == kWholeBytes ? wholeType(b) : b.getIntNTy(bytes * 8);
  }
};

// Builds an atomic access to each piece. One of up to 8 bytes has the semantics itself.
void atomically(FunctionLowering &fn, const Access &access, Value *pointer,
                function_ref<void(const Piece &, AtomicOrdering)> build) {
  IRBuilder<> &b = fn.builder();
  const unsigned bytes = std::min(access.bytes(), kWholeBytes);
  const unsigned count = bytes / access.elementBytes;
  if (bytes == access.bytes() && bytes < kWholeBytes)
    return build({0, count, bytes, pointer}, orderingOf(access.semantics));
  withSemantics(fn, access.semantics, access.scope, [&]() -> Value * {
    for (unsigned first = 0; first < access.count; first += count)
      build({first, count, bytes,
             b.CreateConstGEP1_64(b.getInt8Ty(), pointer, first * access.elementBytes)},
            AtomicOrdering::Monotonic);
    return nullptr;
  });
}

// The elements of a vector or a number of the same size, and back.
void takeApart(IRBuilder<> &b, Value *whole, Type *element, unsigned count,
               SmallVectorImpl<Value *> &elements) {
  if (count == 1) {
    elements.push_back(b.CreateBitCast(whole, element));
    return;
  }
  Value *vector = b.CreateBitCast(whole, FixedVectorType::get(element, count));
  for (unsigned i = 0; i < count; ++i)
    elements.push_back(b.CreateExtractElement(vector, i));
}
Value *putTogether(IRBuilder<> &b, ArrayRef<Value *> elements) {
  if (elements.size() == 1)
    return elements[0];
  Value *vector = PoisonValue::get(FixedVectorType::get(elements[0]->getType(), elements.size()));
  for (auto [i, value] : enumerate(elements))
    vector = b.CreateInsertElement(vector, value, i);
  return vector;
}

} // namespace

// ld{.weak|.volatile|.relaxed.scope|.acquire.scope}{.space}{.cop}{.vec}.type d, [a]
Expected<Value *> lowerLd(FunctionLowering &fn, const ptx::Instruction &inst) {
  const ptx::Spelling &spelling = *inst.spelling;
  IRBuilder<> &b = fn.builder();
  Value *pointer = fn.pointer(inst.operands[1], spelling.space());
  if (!pointer)
    return nullptr;
  unsigned addressSpace = pointer->getType()->getPointerAddressSpace();
  Access access = accessOf(fn, spelling, addressSpace);
  auto destinations = fn.elementsOf(inst.operands[0], access.count);
  if (destinations.size() != access.count)
    return fn.malformed(inst, "as many destinations as elements are needed");

  // Memory of this thread or CTA that was never written must be any value, not undefined behaviour;
  // LLVM may learn of any pointer that it points there.
  auto defined = [&](LoadInst *load) -> Value * {
    bool maybeUnwritten =
        addressSpace == kPrivateSpace || addressSpace == kSharedSpace || addressSpace == kFlatSpace;
    return maybeUnwritten ? b.CreateFreeze(load) : load;
  };
  SmallVector<Value *, 8> values;
  if (access.isAtomic()) {
    atomically(fn, access, pointer, [&](const Piece &piece, AtomicOrdering ordering) {
      Value *whole;
      if (access.elementBytes == kWholeBytes) {
        whole = updateWide(fn, piece.place, access.scope, [](Value *) { return nullptr; });
      } else if (piece.bytes == kWholeBytes) {
        whole = loadWhole(fn, piece.place, access.scope);
      } else {
        LoadInst *load =
            b.CreateAlignedLoad(piece.type(b), piece.place, Align(piece.bytes), access.isVolatile);
        load->setAtomic(ordering, syncScopeOf(fn.context(), access.scope));
        whole = defined(load);
      }
      takeApart(b, whole, access.element, piece.count, values);
    });
  } else {
    Type *type =
        access.count == 1 ? access.element : FixedVectorType::get(access.element, access.count);
    LoadInst *load = b.CreateAlignedLoad(type, pointer, Align(access.bytes()), access.isVolatile);
    annotate(fn, access, load);
    takeApart(b, defined(load), access.element, access.count, values);
  }
  for (auto [destination, value] : zip_equal(destinations, values))
    fn.write(destination, value, spelling.type(0));
  return nullptr;
}

// ldu{.global}{.vec}.type d, [a]: read-only memory, the same address in all threads of a warp.
Expected<Value *> lowerLdu(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lowerLd(fn, inst);
}

// st{.weak|.volatile|.relaxed.scope|.release.scope}{.space}{.cop}{.vec}.type [a], b
Expected<Value *> lowerSt(FunctionLowering &fn, const ptx::Instruction &inst) {
  const ptx::Spelling &spelling = *inst.spelling;
  IRBuilder<> &b = fn.builder();
  Value *pointer = fn.pointer(inst.operands[0], spelling.space());
  if (!pointer)
    return nullptr;
  unsigned addressSpace = pointer->getType()->getPointerAddressSpace();
  if (addressSpace == kConstantSpace)
    return fn.malformed(inst, "this memory cannot be written");
  Access access = accessOf(fn, spelling, addressSpace);
  auto sources = fn.elementsOf(inst.operands[1], access.count);
  if (sources.size() != access.count)
    return fn.malformed(inst, "as many sources as elements are needed");

  SmallVector<Value *, 8> values;
  for (const ptx::Operand &source : sources)
    values.push_back(b.CreateBitCast(fn.read(source, spelling.type(0)), access.element));
  if (access.isAtomic()) {
    atomically(fn, access, pointer, [&](const Piece &piece, AtomicOrdering ordering) {
      if (access.elementBytes == kWholeBytes) {
        updateWide(fn, piece.place, access.scope, [&](Value *) { return values[piece.first]; });
        return;
      }
      Value *whole = b.CreateBitCast(
          putTogether(b, ArrayRef(values).slice(piece.first, piece.count)), piece.type(b));
      if (piece.bytes == kWholeBytes)
        storeWhole(fn, whole, piece.place, access.scope);
      else
        b.CreateAlignedStore(whole, piece.place, Align(piece.bytes), access.isVolatile)
            ->setAtomic(ordering, syncScopeOf(fn.context(), access.scope));
    });
    return nullptr;
  }
  annotate(fn, access,
           b.CreateAlignedStore(putTogether(b, values), pointer, Align(access.bytes()),
                                access.isVolatile));
  return nullptr;
}

// st.bulk{.weak}{.shared::cta} [a], size, 0
Expected<Value *> lowerStBulk(FunctionLowering &fn, const ptx::Instruction &inst) {
  Value *pointer = fn.pointer(inst.operands[0], inst.spelling->space());
  if (!pointer)
    return nullptr;
  fn.builder().CreateMemSet(pointer, fn.builder().getInt8(0),
                            fn.read(inst.operands[1], ptx::Type::U64), Align(8));
  return nullptr;
}

} // namespace rubia::lowering
