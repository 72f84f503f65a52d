// SPDX-License-Identifier: Apache-2.0
// Whole compilations: every target and both linkers, and what the code object says about itself.
#include "tests/Targets.h"
#include "tests/codegen/ModuleFromText.h"
#include "llvm/Object/ELFObjectFile.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

constexpr const char *kSaxpy = R"(
target triple = "amdgcn-amd-amdhsa"
@__rubia_module_table = protected addrspace(1) externally_initialized global [4 x i64] zeroinitializer, align 16
define amdgpu_kernel void @saxpy(ptr addrspace(1) %x, ptr addrspace(1) %y, float %a, i32 %n) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %inside = icmp ult i32 %i, %n
  br i1 %inside, label %work, label %done
work:
  %px = getelementptr float, ptr addrspace(1) %x, i32 %i
  %py = getelementptr float, ptr addrspace(1) %y, i32 %i
  %vx = load float, ptr addrspace(1) %px
  %vy = load float, ptr addrspace(1) %py
  %m = fmul float %a, %vx
  %s = fadd float %m, %vy
  store float %s, ptr addrspace(1) %py
  br label %done
done:
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
)";

object::ELF64LEFile elfOf(const CodeObject &object) {
  return cantFail(object::ELF64LEFile::create(
      StringRef(reinterpret_cast<const char *>(object.bytes.data()), object.bytes.size())));
}

class EveryTarget : public testing::TestWithParam<const char *> {};

TEST_P(EveryTarget, Compiles) {
  for (unsigned level = 0; level <= 3; ++level) {
    ModuleSource source;
    Options options = optionsFor(GetParam());
    options.optLevel = level;
    CodeObject object = source.mustCompile(kSaxpy, options);
    ASSERT_EQ(object.kernels.size(), 1u);
    EXPECT_EQ(object.kernels[0].name, "saxpy");
    EXPECT_EQ(object.kernels[0].waveSize, rubia::test::rowOf(GetParam()).waveSize());
    // 24 bytes of arguments, then the 256 of AMDGPUUsage "Code Object V5 Kernel Argument Metadata
    // Map" if anything may use them.
    EXPECT_EQ(object.kernels[0].kernargBytes, level == 0 ? 280u : 24u);
    const auto &header = elfOf(object).getHeader();
    EXPECT_EQ(header.e_type, ELF::ET_DYN);
    EXPECT_EQ(header.e_ident[ELF::EI_OSABI], ELF::ELFOSABI_AMDGPU_HSA);
    EXPECT_EQ(header.e_ident[ELF::EI_ABIVERSION], rubia::test::rowOf(GetParam()).isGeneric()
                                                      ? ELF::ELFABIVERSION_AMDGPU_HSA_V6
                                                      : ELF::ELFABIVERSION_AMDGPU_HSA_V5);
  }
}

std::vector<const char *> targetsAndAnId() {
  std::vector<const char *> names = rubia::test::allTargets();
  names.push_back("gfx90a:sramecc+:xnack-");
  return names;
}

INSTANTIATE_TEST_SUITE_P(Compile, EveryTarget, testing::ValuesIn(targetsAndAnId()),
                         [](const auto &info) { return rubia::test::identifier(info.param); });

TEST(Compile, TargetIdReachesTheElfFlags) {
  ModuleSource source;
  CodeObject object = source.mustCompile(kSaxpy, optionsFor("gfx90a:sramecc+:xnack-"));
  uint32_t flags = elfOf(object).getHeader().e_flags;
  EXPECT_EQ(flags & ELF::EF_AMDGPU_MACH, unsigned(ELF::EF_AMDGPU_MACH_AMDGCN_GFX90A));
  EXPECT_EQ(flags & ELF::EF_AMDGPU_FEATURE_XNACK_V4, unsigned(ELF::EF_AMDGPU_FEATURE_XNACK_OFF_V4));
  EXPECT_EQ(flags & ELF::EF_AMDGPU_FEATURE_SRAMECC_V4,
            unsigned(ELF::EF_AMDGPU_FEATURE_SRAMECC_ON_V4));
}

TEST(Compile, SameModuleSameBytes) {
  for (const char *arch : {"gfx1100", "gfx90a", "gfx1201"}) {
    ModuleSource first, second;
    EXPECT_EQ(first.mustCompile(kSaxpy, optionsFor(arch)).bytes,
              second.mustCompile(kSaxpy, optionsFor(arch)).bytes);
  }
}

TEST(Compile, ResourcesAreThoseOfTheKernel) {
  ModuleSource source;
  CodeObject object = source.mustCompile(R"(
@lds = internal addrspace(3) global [300 x float] poison, align 4
define amdgpu_kernel void @uses(ptr addrspace(1) %out, i32 %i) #0 {
  %stack = alloca [100 x i32], align 4, addrspace(5)
  %slot = getelementptr [100 x i32], ptr addrspace(5) %stack, i32 0, i32 %i
  store volatile i32 7, ptr addrspace(5) %slot
  %element = getelementptr [300 x float], ptr addrspace(3) @lds, i32 0, i32 %i
  store volatile float 1.0, ptr addrspace(3) %element
  ret void
}
define amdgpu_kernel void @usesNothing() #1 {
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="1,256" }
attributes #1 = { "amdgpu-flat-work-group-size"="1,64" }
)");
  ASSERT_EQ(object.kernels.size(), 2u);
  const KernelResources &uses = object.kernels[0], &nothing = object.kernels[1];
  EXPECT_EQ(uses.name, "uses");
  EXPECT_EQ(uses.ldsBytes, 1200u);
  EXPECT_GE(uses.scratchBytes, 400u);
  EXPECT_LT(uses.scratchBytes, 480u);
  EXPECT_EQ(uses.kernargBytes, 12u);
  EXPECT_EQ(uses.maxWorkgroupSize, 256u);
  EXPECT_GT(uses.vgprs, 0u);
  EXPECT_GT(uses.sgprs, 0u);
  EXPECT_FALSE(uses.usesDynamicStack);
  EXPECT_EQ(nothing.name, "usesNothing");
  EXPECT_EQ(nothing.ldsBytes, 0u);
  EXPECT_EQ(nothing.scratchBytes, 0u);
  EXPECT_EQ(nothing.maxWorkgroupSize, 64u);
}

TEST(Compile, CountsSpillsAndAccumulatorRegisters) {
  ModuleSource source;
  // 40 values are live at once; the kernel may use 24 registers.
  std::string text = "define amdgpu_kernel void @spill(ptr addrspace(1) %p) #0 {\n"
                     "  %i = call i32 @llvm.amdgcn.workitem.id.x()\n"
                     "  %q = getelementptr i32, ptr addrspace(1) %p, i32 %i\n";
  for (int i = 0; i < 40; ++i)
    text += "  %v" + std::to_string(i) + " = load volatile i32, ptr addrspace(1) %q\n";
  for (int i = 0; i < 40; ++i)
    text += "  store volatile i32 %v" + std::to_string(i) + ", ptr addrspace(1) %q\n";
  text += "  ret void\n}\ndeclare i32 @llvm.amdgcn.workitem.id.x()\n";
  CodeObject onRdna = source.mustCompile(text + "attributes #0 = { \"amdgpu-num-vgpr\"=\"24\" }\n");
  ASSERT_EQ(onRdna.kernels.size(), 1u);
  EXPECT_LE(onRdna.kernels[0].vgprs, 24u);
  EXPECT_GT(onRdna.kernels[0].vgprSpills, 0u);
  EXPECT_GT(onRdna.kernels[0].scratchBytes, 0u);

  CodeObject onCdna = source.mustCompile(R"(
define amdgpu_kernel void @accumulate() {
  call void asm sideeffect "v_accvgpr_write_b32 a9, 0", "~{a9}"()
  ret void
})",
                                         optionsFor("gfx90a"));
  ASSERT_EQ(onCdna.kernels.size(), 1u);
  EXPECT_EQ(onCdna.kernels[0].agprs, 10u);
}

// On RDNA 3 the blocks behind a trap stayed as selection leaves them (docs/errata.md, E32): the
// second trap, and the addition, which is a pseudo instruction of two.
TEST(Compile, BlocksBehindATrap) {
  for (const char *arch : rubia::test::testTargets()) {
    ModuleSource source;
    CodeObject object = source.mustCompile(R"(
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %p, i64 %n) {
  %one = icmp eq i64 %n, 1
  br i1 %one, label %first, label %past
first:
  store i32 1, ptr addrspace(1) %p
  call void @llvm.trap()
  unreachable
past:
  %two = icmp eq i64 %n, 2
  br i1 %two, label %second, label %over
second:
  store i32 2, ptr addrspace(1) %p
  call void @llvm.trap()
  unreachable
over:
  %sum = add i64 %n, 81985529216486895
  store i64 %sum, ptr addrspace(1) %p
  ret void
}
)",
                                           optionsFor(arch));
    EXPECT_EQ(object.kernels.size(), 1u) << arch;
  }
}

TEST(Compile, SeesADynamicStack) {
  ModuleSource source;
  CodeObject object = source.mustCompile(R"(
define amdgpu_kernel void @caller(ptr %f) {
  call void %f()
  ret void
})");
  ASSERT_EQ(object.kernels.size(), 1u);
  EXPECT_TRUE(object.kernels[0].usesDynamicStack);
}

TEST(Compile, KeepsKernelsAndTheModuleTableInTheDynamicSymbols) {
  ModuleSource source;
  CodeObject object = source.mustCompile(kSaxpy);
  auto file = elfOf(object);
  std::vector<std::string> names;
  for (const auto &section : cantFail(file.sections()))
    if (section.sh_type == ELF::SHT_DYNSYM)
      for (const auto &symbol : cantFail(file.symbols(&section)))
        names.push_back(
            cantFail(symbol.getName(cantFail(file.getStringTableForSymtab(section)))).str());
  for (const char *name : {"saxpy", "saxpy.kd", "__rubia_module_table"})
    EXPECT_TRUE(is_contained(names, name)) << name;
}

TEST(Metadata, ComesBackByteForByte) {
  std::string expected =
      "{\"quote\": \"\\\"\", \"back\": \"\\\\\", \"umlaut\": \"\xc3\xa4\", \"line\": \"a\nb\t\"}";
  for (int i = 0; i < 2000; ++i)
    expected += char(i * 7);
  ModuleSource source;
  for (Backend backend : {Backend::Lld, Backend::Comgr}) {
    auto module = source.parse(kSaxpy);
    auto &context = module->getContext();
    module->getOrInsertNamedMetadata("rubia.metadata")
        ->addOperand(MDNode::get(context, MDString::get(context, expected)));
    Options options = optionsFor("gfx1030");
    options.backend = backend;
    Expected<CodeObject> object = compile(std::move(module), options);
    ASSERT_TRUE(bool(object)) << toString(object.takeError());
    Expected<std::string> found = readMetadata(object->bytes);
    ASSERT_TRUE(bool(found)) << toString(found.takeError());
    EXPECT_EQ(*found, expected);
    for (const auto &section : cantFail(elfOf(*object).sections()))
      if (cantFail(elfOf(*object).getSectionName(section)) == ".rubia.metadata") {
        EXPECT_EQ(section.sh_type, ELF::SHT_PROGBITS);
        EXPECT_EQ(section.sh_flags & ELF::SHF_ALLOC, 0u);
      }
  }
}

TEST(Metadata, IsMissedInForeignFiles) {
  ModuleSource source;
  CodeObject object = source.mustCompile(kSaxpy);
  EXPECT_EQ(toString(readMetadata(object.bytes).takeError()),
            "no section .rubia.metadata: not a code object made by Rubia");
  EXPECT_EQ(toString(readMetadata(ArrayRef<uint8_t>()).takeError()),
            "invalid code object: too short for an ELF header");
  std::vector<uint8_t> text(100, 'x');
  EXPECT_EQ(toString(readMetadata(text).takeError()),
            "invalid code object: not a little-endian 64-bit ELF file");
}

TEST(CodeObjectReader, SurvivesTruncation) {
  ModuleSource source;
  CodeObject object =
      source.mustCompile(std::string(kSaxpy) + "!rubia.metadata = !{!0}\n!0 = !{!\"text\"}\n");
  for (size_t size = 0; size < object.bytes.size(); size += 7) {
    ArrayRef<uint8_t> part = ArrayRef(object.bytes).take_front(size);
    EXPECT_FALSE(errorToBool(readResources(part).takeError()) && size == object.bytes.size());
    consumeError(readMetadata(part).takeError());
  }
}

TEST(Comgr, LinksWhatItKnows) {
  ModuleSource source;
  for (const char *arch : {"gfx1030", "gfx90a", "gfx90a:sramecc+:xnack-", "gfx1031"}) {
    Options options = optionsFor(arch);
    options.backend = Backend::Comgr;
    CodeObject object = source.mustCompile(kSaxpy, options);
    ASSERT_EQ(object.kernels.size(), 1u);
    EXPECT_EQ(object.kernels[0].name, "saxpy");
  }
}

TEST(Comgr, NamesWhatItDoesNotKnow) {
  ModuleSource source;
  Options options = optionsFor("gfx950");
  options.backend = Backend::Comgr;
  std::string error = toString(source.compile(kSaxpy, options).takeError());
  EXPECT_NE(error.find("does not know the target 'gfx950'"), std::string::npos) << error;
  options.comgrLibrary = "libnowhere.so";
  error = toString(source.compile(kSaxpy, options).takeError());
  EXPECT_NE(error.find("cannot load comgr: libnowhere.so"), std::string::npos) << error;
}

TEST(Emit, StopsWhereItIsTold) {
  ModuleSource source;
  auto emitted = [&](EmitKind kind) {
    Expected<std::string> text = emit(source.parse(kSaxpy), {}, kind);
    EXPECT_TRUE(bool(text)) << toString(text.takeError());
    return text ? *text : "";
  };
  EXPECT_NE(emitted(EmitKind::Llvm).find("define amdgpu_kernel void @saxpy"), std::string::npos);
  EXPECT_NE(emitted(EmitKind::Assembly).find(".amdhsa_kernel saxpy"), std::string::npos);
  EXPECT_EQ(emitted(EmitKind::Object).substr(0, 4), "\x7f"
                                                    "ELF");
}

// Straight-line strength reduction is quadratic in the length of a block: it alone would take 30 s
// of CPU time for this, everything else takes one. Where it runs, it turns products into sums.
TEST(PassLimits, StrengthReductionLeavesLongBlocksAlone) {
  auto products = [](int count) {
    std::string text = "define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n) {\n";
    for (int i = 1; i <= count; ++i) {
      std::string n = std::to_string(i);
      text += "  %i" + n + " = mul i32 %n, " + n + "\n  %g" + n +
              " = getelementptr float, ptr addrspace(1) %p, i32 %i" + n + "\n  %v" + n +
              " = load volatile float, ptr addrspace(1) %g" + n + "\n  store volatile float %v" +
              n + ", ptr addrspace(1) %g" + n + "\n";
    }
    ModuleSource source;
    Expected<std::string> assembly =
        emit(source.parse(text + "  ret void\n}\n"), {}, EmitKind::Assembly);
    EXPECT_TRUE(bool(assembly));
    return assembly ? StringRef(*assembly).count("s_mul_i32") : 0;
  };
  EXPECT_LT(products(100), 10u);
  EXPECT_GT(products(1000), 800u);
}

// CodeGenPrepare moves a sign to where it is a modifier, and takes the square of a block's length.
// Without it the sign stays an instruction.
TEST(PassLimits, PreparationLeavesLongBlocksWithSignsAlone) {
  auto signs = [](int count) {
    std::string text = R"(
declare float @llvm.fma.f32(float, float, float)
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n) {
entry:
  %x = load volatile float, ptr addrspace(1) %p
  %v0 = load volatile float, ptr addrspace(1) %p
  %negative = fneg float %x
  %isShort = icmp eq i32 %n, 0
  br i1 %isShort, label %short, label %long
short:
  %one = call float @llvm.fma.f32(float %negative, float %v0, float 3.0)
  store volatile float %one, ptr addrspace(1) %p
  ret void
long:
)";
    for (int i = 1; i <= count; ++i)
      text += "  %v" + std::to_string(i) + " = call float @llvm.fma.f32(float %negative, float %v" +
              std::to_string(i - 1) + ", float " + std::to_string(i) + ".0)\n";
    text += "  store volatile float %v" + std::to_string(count) +
            ", ptr addrspace(1) %p\n  ret void\n}\n";
    ModuleSource source;
    Expected<std::string> assembly = emit(source.parse(text), {}, EmitKind::Assembly);
    EXPECT_TRUE(bool(assembly));
    return assembly ? StringRef(*assembly).count("v_xor_b32") : 0;
  };
  EXPECT_EQ(signs(100), 0u);
  EXPECT_EQ(signs(1000), 1u);
}

} // namespace
