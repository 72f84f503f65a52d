// SPDX-License-Identifier: Apache-2.0
// A store is marked by the type that it has for alias analysis (TBAA), which machine instructions
// keep. The type lies in a tree of its own, so that the store may be to anything.
//
// A mark is an s_nop, so that it has an address that no jump comes to by another way (within
// assembly any instruction has that), and an entry
// in a section that is not loaded: the address, a byte for the mark and one for the count. Behind
// them stands, for a copy that is held back and for members, the name of a register, with a zero
// behind it.
#include "lowering/lib/frame/AsyncNotes.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/MDBuilder.h"

using namespace llvm;

namespace rubia::lowering {

void markAsyncStore(Instruction *store) {
  MDBuilder metadata(store->getContext());
  MDNode *type = metadata.createTBAAScalarTypeNode("rubia.async.store",
                                                   metadata.createTBAARoot("rubia.async"));
  store->setMetadata(LLVMContext::MD_tbaa, metadata.createTBAAStructTagNode(type, type, 0));
}

SyncScope::ID scopeOfArrival(LLVMContext &context, SyncScope::ID scope) {
  return context.getOrInsertSyncScopeID((*context.getSyncScopeName(scope) + "-one-as").str());
}

static std::string textOfNote(StringRef label, AsyncMark mark, unsigned count, StringRef more) {
  return ".pushsection .rubia.async,\"\",@progbits\n.quad " + label.str() + "\n.byte " +
         std::to_string(unsigned(mark)) + ", " + std::to_string(std::min(count, 255u)) +
         more.str() + "\n.popsection";
}

static std::string textOfMark(AsyncMark mark, unsigned count, StringRef more) {
  const std::string label = ".Lrubia_async_${:uid}";
  return label + ":\ns_nop 0\n" + textOfNote(label, mark, count, more);
}

std::string asyncMarkText(AsyncMark mark, unsigned count) { return textOfMark(mark, count, ""); }

std::string asyncNoteText(AsyncMark mark) {
  const std::string label = ".Lrubia_async_note_${:uid}";
  return textOfNote(label, mark, 0, "") + "\n" + label + ":\n";
}

void markAsync(IRBuilderBase &builder, AsyncMark mark, unsigned count) {
  auto *type = FunctionType::get(builder.getVoidTy(), false);
  builder.CreateCall(InlineAsm::get(type, asyncMarkText(mark, count), "~{memory}",
                                    /*hasSideEffects=*/true));
}

static void markWithValue(IRBuilderBase &builder, AsyncMark mark, unsigned count, Value *value) {
  auto *type = FunctionType::get(builder.getVoidTy(), {value->getType()}, false);
  const std::string text = textOfMark(mark, count, "\n.asciz \"$0\"");
  builder.CreateCall(InlineAsm::get(type, text, "v,~{memory}", /*hasSideEffects=*/true), value);
}

void markHeldCopy(IRBuilderBase &builder, Value *place, unsigned bytes) {
  markWithValue(builder, AsyncMark::Held, bytes,
                builder.CreatePtrToInt(place, builder.getInt32Ty()));
}

void markPartOfWarp(IRBuilderBase &builder, Value *members) {
  markWithValue(builder, AsyncMark::PartOfWarp, 0, members);
}

} // namespace rubia::lowering
