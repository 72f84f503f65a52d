// SPDX-License-Identifier: Apache-2.0
// Instructions that a disassembler remembers are those that it would decode.
#include "codegen/lib/Disassembler.h"
#include "codegen/lib/check/FunctionCode.h"
#include "targets/Target.h"
#include "tests/codegen/ModuleFromText.h"
#include "llvm/MC/MCInst.h"
#include <vector>

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

// Instructions of one to three words, with literals and without.
constexpr StringRef kText = R"(
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.update.dpp.i32(i32, i32, i32, i32, i32, i1)
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n, i64 %m, float %f) {
entry:
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %wide = zext i32 %lane to i64
  br label %loop
loop:
  %i = phi i64 [ %wide, %entry ], [ %next, %loop ]
  %at = getelementptr float, ptr addrspace(1) %p, i64 %i
  %old = load float, ptr addrspace(1) %at
  %scaled = fmul float %old, 0x40091EB860000000
  %sum = fadd float %scaled, %f
  %root = call float @llvm.sqrt.f32(float %sum)
  %quotient = udiv i64 %m, %i
  %number = uitofp i64 %quotient to float
  %both = fdiv float %root, %number
  store float %both, ptr addrspace(1) %at
  %bits = bitcast float %both to i32
  %moved = call i32 @llvm.amdgcn.update.dpp.i32(i32 %n, i32 %bits, i32 273, i32 15, i32 15, i1 false)
  %masked = and i32 %moved, 74565
  %step = zext i32 %masked to i64
  %next = add i64 %i, %step
  %isLess = icmp ult i64 %next, 123456789012345
  br i1 %isLess, label %loop, label %end
end:
  ret void
}
declare float @llvm.sqrt.f32(float)
)";

std::unique_ptr<Disassembler> disassemblerFor(StringRef processor) {
  auto made = Disassembler::create(processor, !rubia::targets::find(processor)->hasWave32);
  EXPECT_TRUE(bool(made));
  return made ? std::move(*made) : nullptr;
}

std::string decoded(const Disassembler &disassembler, ArrayRef<uint8_t> bytes) {
  MCInst inst;
  const uint64_t size = disassembler.decode(bytes, 0, inst);
  return std::to_string(size) + (size ? " " + disassembler.print(inst, 0) : "");
}

// Each has seen one of two programs that begin alike, and is asked about the other.
TEST(Disassembler, RemembersWhatItWouldDecode) {
  for (StringRef processor : {"gfx1100", "gfx942", "gfx1201"}) {
    ModuleSource source;
    const CodeObject object = source.mustCompile(kText, optionsFor(processor.str()));
    Expected<ProgramCode> code = readProgramCode(object.bytes);
    ASSERT_TRUE(bool(code));
    std::unique_ptr<Disassembler> one = disassemblerFor(processor),
                                  other = disassemblerFor(processor);
    ASSERT_TRUE(one && other);
    size_t instructions = 0;
    for (const FunctionCode &function : code->functions)
      for (uint64_t at = 0, size = 0; at + 12 <= function.bytes.size(); at += size) {
        const ArrayRef<uint8_t> here = function.bytes.drop_front(at);
        MCInst inst;
        size = disassemblerFor(processor)->decode(here, 0, inst);
        ASSERT_GT(size, 0u) << processor.str() << " at " << at;
        std::vector<uint8_t> elsewhere = here.take_front(size).vec();
        for (unsigned i = 0; i < 3; ++i) // s_nop 0
          elsewhere.insert(elsewhere.end(), {0x00, 0x00, 0x80, 0xbf});
        const std::string wanted = decoded(*one, here);
        ASSERT_EQ(decoded(*other, elsewhere), wanted) << processor.str() << " at " << at;
        ASSERT_EQ(decoded(*one, elsewhere), wanted) << processor.str() << " at " << at;
        ASSERT_EQ(decoded(*other, here), wanted) << processor.str() << " at " << at;
        ++instructions;
      }
    EXPECT_GT(instructions, 100u) << processor.str();
  }
}

} // namespace
