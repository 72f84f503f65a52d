// ld and st. PTX ISA: data-movement-and-conversion-instructions-ld, -ld-global-nc, -st.
//
// A weak access is one LLVM load or store of the whole vector: PTX demands that it is aligned to
// its size. Cache and eviction modifiers are hints, apart from .cv and .cs; prefetch sizes too.
#include "lowering/lib/Atomics.h"
#include "lowering/lib/UnitLowering.h"

using namespace llvm;

namespace rubia::lowering {

namespace {

// How one access behaves.
struct Access {
  Type *element;
  unsigned count;
  unsigned elementBytes;
  ptx::Mod semantics = ptx::Mod::Weak, scope = ptx::Mod::Sys;
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

  ptx::Mod semantics = spelling.first(ptx::ModCategory::Semantics);
  ptx::Mod cache = spelling.first(ptx::ModCategory::Cache);
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

// Builds a relaxed access to each element. PTX ISA: vector-data-types (memory consistency): a
// vector access is a set of scalar ones. One scalar has the semantics itself.
void atomically(FunctionLowering &fn, const Access &access, Value *pointer,
                function_ref<void(unsigned, Value *, AtomicOrdering)> element) {
  IRBuilder<> &b = fn.builder();
  if (access.count == 1 && access.elementBytes <= 8)
    return element(0, pointer, orderingOf(access.semantics));
  withSemantics(fn, access.semantics, access.scope, [&]() -> Value * {
    for (unsigned i = 0; i < access.count; ++i)
      element(i, b.CreateConstGEP1_64(b.getInt8Ty(), pointer, i * access.elementBytes),
              AtomicOrdering::Monotonic);
    return nullptr;
  });
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
    atomically(fn, access, pointer, [&](unsigned, Value *place, AtomicOrdering ordering) {
      if (access.elementBytes > 8) {
        values.push_back(updateWide(fn, place, access.scope, [](Value *) { return nullptr; }));
        return;
      }
      LoadInst *load =
          b.CreateAlignedLoad(access.element, place, Align(access.elementBytes), access.isVolatile);
      load->setAtomic(ordering, syncScopeOf(fn.context(), access.scope));
      values.push_back(defined(load));
    });
  } else {
    Type *type =
        access.count == 1 ? access.element : FixedVectorType::get(access.element, access.count);
    LoadInst *load = b.CreateAlignedLoad(type, pointer, Align(access.bytes()), access.isVolatile);
    annotate(fn, access, load);
    Value *loaded = defined(load);
    for (unsigned i = 0; i < access.count; ++i)
      values.push_back(access.count == 1 ? loaded : b.CreateExtractElement(loaded, i));
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
    atomically(fn, access, pointer, [&](unsigned i, Value *place, AtomicOrdering ordering) {
      if (access.elementBytes > 8) {
        updateWide(fn, place, access.scope, [&](Value *) { return values[i]; });
        return;
      }
      b.CreateAlignedStore(values[i], place, Align(access.elementBytes), access.isVolatile)
          ->setAtomic(ordering, syncScopeOf(fn.context(), access.scope));
    });
    return nullptr;
  }
  Value *stored = values[0];
  if (access.count > 1) {
    stored = PoisonValue::get(FixedVectorType::get(access.element, access.count));
    for (auto [i, value] : enumerate(values))
      stored = b.CreateInsertElement(stored, value, i);
  }
  annotate(fn, access,
           b.CreateAlignedStore(stored, pointer, Align(access.bytes()), access.isVolatile));
  return nullptr;
}

// st.async{.mmio}.release.scope{.global}.type [a], b: a store of which nothing says when it is
// done.
Expected<Value *> lowerStAsync(FunctionLowering &fn, const ptx::Instruction &inst) {
  return lowerSt(fn, inst);
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
