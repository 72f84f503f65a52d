// SPDX-License-Identifier: Apache-2.0
// Vector accesses that are not weak are whole, up to 16 bytes: one instruction in the code, with
// the waits and the cache policy that LLVM gives one word of the same semantics and scope; and one
// access in the emulator.
#include "codegen/Codegen.h"
#include "codegen/lib/Disassembler.h"
#include "codegen/lib/check/FunctionCode.h"
#include "lowering/Lowering.h"
#include "ptx-frontend/Parser.h"
#include "tests/lowering/execution/Execution.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCInst.h"
#include "llvm/Support/Regex.h"

using namespace llvm;
using namespace rubia;
using namespace rubia::lowering::test;

namespace {

// ---------- The code

// What the instructions of a kernel do to memory and to its order, without registers and places.
struct Code {
  std::vector<std::string> order; // "global_load sc1", "s_waitcnt vmcnt(0)", "buffer_inv sc1"
  std::vector<unsigned> dwords;   // of each load and store, in order
};

unsigned dwordsOf(StringRef width) {
  return width.consume_front("dwordx") || width.consume_front("b") ? [&] {
    unsigned number = 0;
    (void)width.getAsInteger(10, number);
    return number >= 32 ? number / 32 : number;
  }()
                                                                   : 1;
}

void note(StringRef text, Code &code) {
  const StringRef mnemonic = text.split(' ').first;
  SmallVector<StringRef> words;
  if (Regex("^(global|flat|ds|buffer)_(load|store|read|write)_(.*)$").match(mnemonic, &words)) {
    std::string line = (words[1] + "_" + words[2]).str();
    SmallVector<StringRef> operands;
    SplitString(text, operands, " ,");
    for (StringRef operand : operands)
      if (is_contained({"glc", "dlc", "slc", "nt", "sc0", "sc1"}, operand) ||
          operand.starts_with("scope:"))
        line += " " + operand.str();
    code.order.push_back(line);
    code.dwords.push_back(dwordsOf(words[3]));
  } else if (Regex("^(s_wait|buffer_|global_)").match(mnemonic)) {
    code.order.push_back(text.str());
  }
}

// The code of a kernel with this body, from its beginning: a store before it has waited for the
// parameter. %p is that, %s an address in shared memory.
Code codeOf(const std::string &body, const char *arch) {
  Code code;
  const std::string text = R"(.version 8.8
.target sm_100
.address_size 64
.visible .entry k(.param .u64 p)
{
.reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .b64 %p; .reg .b32 %s;
.shared .align 16 .b8 s[256];
ld.param.u64 %p, [p];
mov.u32 %s, s;
mov.u32 %r7, %tid.x;
and.b32 %r7, %r7, 96;
add.u32 %s, %s, %r7;
st.volatile.global.u32 [%p+240], %r7;
)" + body + "\n}\n";
  ptx::ParseResult parsed = ptx::parse("test.ptx", text);
  for (const ptx::Diagnostic &diagnostic : parsed.diagnostics)
    ADD_FAILURE() << ptx::format(diagnostic, "test.ptx", text);
  LLVMContext context;
  lowering::Options options;
  options.arch = arch;
  auto module =
      lowering::lower(parsed.module, lowering::partition(parsed.module)[0], options, context);
  if (!module) {
    ADD_FAILURE() << toString(module.takeError());
    return code;
  }
  codegen::Options codegenOptions;
  codegenOptions.arch = arch;
  auto object = codegen::compile(std::move(*module), codegenOptions);
  if (!object) {
    ADD_FAILURE() << toString(object.takeError());
    return code;
  }
  auto program = codegen::readProgramCode(object->bytes);
  auto disassembler = codegen::Disassembler::create(arch, program && program->isWave64);
  if (!program || !disassembler) {
    ADD_FAILURE() << "the code object cannot be read";
    return code;
  }
  for (const codegen::FunctionCode &function : program->functions) {
    MCInst inst;
    uint64_t at = 0, size;
    while (at < function.bytes.size() && // behind the end lies padding
           (size = (*disassembler)->decode(function.bytes.drop_front(at), at, inst)) != 0) {
      const std::string line = StringRef((*disassembler)->print(inst, at)).trim().str();
      if (line == "s_endpgm")
        break;
      note(line, code);
      at += size;
    }
  }
  const auto first =
      llvm::find_if(code.order, [](StringRef line) { return line.starts_with("global_store"); });
  EXPECT_NE(first, code.order.end());
  code.order.erase(code.order.begin(), first == code.order.end() ? first : first + 1);
  code.dwords.erase(code.dwords.begin(), code.dwords.begin() + !code.dwords.empty());
  return code;
}

struct Vector {
  const char *type, *registers, *word; // the register of one word
  unsigned dwords;
};
const Vector kVectors[] = {
    {"v2.b64", "{%d1, %d2}", "%r1", 4},           {"v2.f64", "{%d1, %d2}", "%r1", 4},
    {"v4.b32", "{%r1, %r2, %r3, %r4}", "%r1", 4}, {"v4.f32", "{%r1, %r2, %r3, %r4}", "%r1", 4},
    {"v2.b32", "{%r1, %r2}", "%r1", 2},           {"v4.b16", "{%h1, %h2, %h3, %h4}", "%r1", 2},
    {"v2.b16", "{%h1, %h2}", "%r1", 1},           {"v4.b8", "{%h1, %h2, %h3, %h4}", "%r1", 1},
};
const char *const kLoads[] = {"volatile",    "relaxed.cta", "relaxed.gpu", "relaxed.sys",
                              "acquire.cta", "acquire.gpu", "acquire.sys"};
const char *const kStores[] = {"volatile",    "relaxed.cta", "relaxed.gpu", "relaxed.sys",
                               "release.cta", "release.gpu", "release.sys"};
const std::pair<const char *, const char *> kSpaces[] = {
    {".global", "[%p]"}, {"", "[%p]"}, {".shared", "[%s]"}};

class WholeAccesses : public testing::TestWithParam<const char *> {
protected:
  void compare(const std::string &instruction, const std::string &word, unsigned dwords) {
    SCOPED_TRACE(instruction);
    const Code code = codeOf(instruction, GetParam()), one = codeOf(word, GetParam());
    EXPECT_EQ(code.order, one.order);
    EXPECT_EQ(code.dwords, std::vector<unsigned>{dwords});
  }
};

// The spaces and semantics take turns among the vectors; those of 16 bytes have all of them.
TEST_P(WholeAccesses, AreOneInstructionAsOneWordIs) {
  unsigned turn = 0;
  for (const Vector &vector : kVectors)
    for (auto [space, address] : kSpaces)
      for (unsigned i = 0; i < std::size(kLoads); ++i) {
        const bool isSample = StringRef(vector.type) == "v2.b64" || ++turn % 7 == 0;
        if (!isSample)
          continue;
        const std::string at = address, type = vector.type, registers = vector.registers;
        compare("ld." + std::string(kLoads[i]) + space + "." + type + " " + registers + ", " + at +
                    ";",
                "ld." + std::string(kLoads[i]) + space + ".b32 %r1, " + at + ";", vector.dwords);
        // In shared memory the fence before 16 bytes does more than the release of a word.
        if (StringRef(space) == ".shared" && StringRef(kStores[i]) == "release.sys")
          continue;
        compare("st." + std::string(kStores[i]) + space + "." + type + " " + at + ", " + registers +
                    ";",
                "st." + std::string(kStores[i]) + space + ".b32 " + at + ", %r1;", vector.dwords);
      }
}

// Elements that nobody uses are loaded all the same, and two accesses stay two.
TEST_P(WholeAccesses, AreNeitherNarrowedNorJoined) {
  EXPECT_EQ(codeOf("ld.relaxed.gpu.global.v4.b32 {%r1, _, _, _}, [%p];"
                   "ld.relaxed.gpu.global.v2.b32 {%r2, _}, [%p+16];"
                   "ld.relaxed.gpu.global.v2.b64 {_, %d1}, [%p];"
                   "add.u32 %r1, %r1, %r2; cvt.u32.u64 %r2, %d1; add.u32 %r1, %r1, %r2;"
                   "st.relaxed.gpu.global.v2.b64 [%p+32], {0, 1};"
                   "st.relaxed.gpu.global.v2.b64 [%p+32], {0, 2};"
                   "st.relaxed.gpu.global.v2.b32 [%p+48], {0, %r1};"
                   "st.relaxed.gpu.global.v2.b32 [%p+56], {0, %r1};",
                   GetParam())
                .dwords,
            (std::vector<unsigned>{4, 2, 4, 4, 4, 2, 2}));
}

// 32 bytes are two pieces, each whole. A weak store is one instruction.
TEST_P(WholeAccesses, ThirtyTwoBytesAreTwo) {
  EXPECT_EQ(codeOf("ld.relaxed.gpu.global.v4.b64 {%d1, %d2, %d3, %d4}, [%p];"
                   "st.relaxed.gpu.global.v4.b64 [%p], {%d4, %d3, %d2, %d1};"
                   "st.global.v2.b64 [%p+32], {%d4, %d3};",
                   GetParam())
                .dwords,
            (std::vector<unsigned>{4, 4, 4, 4, 4}));
}

INSTANTIATE_TEST_SUITE_P(Targets, WholeAccesses, testing::ValuesIn(kTargets),
                         [](const auto &info) { return rubia::test::identifier(info.param); });

// ---------- The emulator

// Half of the CTAs write vectors whose parts are all the same number, others read them. The writers
// go on until all readers have seen enough: buffer word 0 counts these. Words 8 to 15 count vectors
// with different parts; the vectors begin at byte 256.
std::string tearing(unsigned bytes, unsigned parts) {
  const std::string width = std::to_string(bytes / parts * 8);
  const std::string vector = "v" + std::to_string(parts) + ".b" + width;
  std::string written = "{%v0", read = "{%v0", compared;
  for (unsigned i = 1; i < parts; ++i) {
    const std::string part = "%v" + std::to_string(i);
    written += ", %v0";
    read += ", " + part;
    compared += "setp.ne.or.b" + width + " %p1, %v0, " + part + ", %p1;\n";
  }
  return executable(".reg .b" + width + " %v<4>;\n" + R"(
    mul.wide.u32 %rd0, %tid, )" +
                        std::to_string(bytes) +
                        R"(;
    add.u64 %rd0, %rd0, %buf;
    mov.u32 %r0, 0;
    mov.u32 %r1, 0;
    mov.u32 %r5, %ctaid.x;
    and.b32 %r2, %r5, 1;
    setp.ne.u32 %p0, %r2, 0;
    @%p0 bra.uni reader;
writer:
    add.u32 %r0, %r0, 1;
    cvt.u)" + width + ".u32 %v0, %r0;\nst.relaxed.gpu.global." +
                        vector + " [%rd0+256], " + written +
                        R"(};
    ld.relaxed.gpu.global.u32 %r2, [%buf];
    setp.eq.u32 %p0, %r2, 0;
    @%p0 bra writer;
    exit;
reader:
    ld.relaxed.gpu.global.)" +
                        vector + " " + read + "}, [%rd0+256];\nsetp.eq.b" + width +
                        " %p0, %v0, 0;\n@%p0 bra reader;\nmore:\nld.relaxed.gpu.global." + vector +
                        " " + read + R"(}, [%rd0+256];
    setp.ne.b32 %p1, 0, 0;
)" + compared + R"(
    @%p1 add.u32 %r1, %r1, 1;
    add.u32 %r0, %r0, 1;
    setp.lt.u32 %p0, %r0, 20000;
    @%p0 bra more;
    red.relaxed.gpu.global.add.u32 [%buf+32], %r1;
    st.relaxed.gpu.global.u32 [%buf], 1;)",
                    "", ".maxntid 32");
}

// Whole rows of threads, parts of one, and one alone: the emulator has code for each.
TEST(WholeAccessesExecution, ReadersSeeNoHalves) {
  const std::pair<unsigned, unsigned> vectors[] = {{8, 2}, {16, 2}, {16, 4}};
  for (auto [bytes, parts] : vectors)
    for (const char *arch : {"gfx1100", "gfx942"})
      for (unsigned threads : {1, 7, 32}) {
        SCOPED_TRACE(std::string(arch) + ", " + std::to_string(bytes) + " bytes in " +
                     std::to_string(parts) + ", " + std::to_string(threads) + " threads");
        Form form;
        form.arch = arch;
        form.packed = isWave64(arch);
        form.grid = {2, 1, 1};
        form.block = {threads, 1, 1};
        form.hostThreads = 2;
        const Outcome outcome =
            run(tearing(bytes, parts), std::vector<uint32_t>(64 + 32 * 4), form);
        ASSERT_FALSE(outcome.words.empty());
        EXPECT_EQ(outcome.words[0], 1u);
        EXPECT_EQ(outcome.words[8], 0u) << "vectors with parts of two";
      }
}

} // namespace
