// SPDX-License-Identifier: Apache-2.0
// Code objects as files: relocations, generic targets, offload bundles (AMDGPUUsage "Code Object",
// "Generic Processors"; Clang Offload Bundler).
#include "emulator/OffloadBundle.h"
#include "tests/Targets.h"
#include "tests/emulator/Fixture.h"
#include "tests/emulator/Targets.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/OffloadBundle.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <random>

using namespace rubia::emulator;
using namespace rubia::emulator::test;

namespace {

class AbiObject : public EmulatorTest {};
class AbiObjectOf : public AbiObject, public testing::WithParamInterface<TargetCase> {};

// A table of functions is filled by R_AMDGPU_RELATIVE64.
TEST_P(AbiObjectOf, FunctionTablesAreRelocated) {
  load(compile(R"(
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
int add(int a, int b) { return a + b; }
int subtract(int a, int b) { return a - b; }
typedef int (*operation)(int, int);
constant operation table[2] = {add, subtract};
kernel void k(global int *out, int which) { out[0] = table[which](40, 2); })",
               GetParam().cpu, "-O1 -Wno-everything"));
  ASSERT_TRUE(code);
  int *out = allocate<int>(1);
  expectRun("k", {1}, {1}, Arguments().add(out).add(0));
  EXPECT_EQ(*out, 42);
  expectRun("k", {1}, {1}, Arguments().add(out).add(1));
  EXPECT_EQ(*out, 38);
}

INSTANTIATE_TEST_SUITE_P(Targets, AbiObjectOf, testing::ValuesIn(kTargetCases), nameOf);

const char *const kOne = "kernel void k(global int *out) { out[0] = VALUE; }";

std::vector<uint8_t> kernelThatWrites(int value, const char *target) {
  return compile(kOne, target, "-O1 -DVALUE=" + std::to_string(value));
}

TEST_F(AbiObject, GenericTargetsRun) {
  for (const char *target :
       rubia::test::targetsWhere([](const auto &row) { return row.isGeneric(); })) {
    load(kernelThatWrites(7, target));
    ASSERT_TRUE(code);
    EXPECT_EQ(code->target(), target);
    int *out = allocate<int>(1);
    *out = 0;
    expectRun("k", {1}, {1}, Arguments().add(out));
    EXPECT_EQ(*out, 7) << target;
  }
}

std::string bundle(const std::vector<std::pair<std::string, std::vector<uint8_t>>> &entries) {
  std::string header = "__CLANG_OFFLOAD_BUNDLE__", contents;
  auto number = [&](uint64_t value) {
    header.append(reinterpret_cast<const char *>(&value), sizeof(value));
  };
  number(entries.size());
  size_t size = header.size();
  for (const auto &[id, bytes] : entries)
    size += 24 + id.size();
  for (const auto &[id, bytes] : entries) {
    number(size + contents.size());
    number(bytes.size());
    number(id.size());
    header += id;
    contents.append(bytes.begin(), bytes.end());
  }
  return header + contents;
}

TEST_F(AbiObject, BundlesAreSearchedForTheProcessor) {
  const std::string prefix = "hipv4-amdgcn-amd-amdhsa--";
  const std::string file = bundle({{"host-x86_64-unknown-linux-gnu-", {}},
                                   {prefix + "gfx11-generic", kernelThatWrites(1, "gfx11-generic")},
                                   {prefix + "gfx1100", kernelThatWrites(2, "gfx1100")},
                                   {prefix + "gfx90a:xnack-", kernelThatWrites(3, "gfx90a")}});
  auto valueFor = [&](llvm::StringRef bytes, const char *arch) {
    auto object = selectCodeObject(llvm::arrayRefFromStringRef(bytes), arch);
    if (!object) {
      ADD_FAILURE() << llvm::toString(object.takeError());
      return 0;
    }
    load(*object);
    int *out = allocate<int>(1);
    expectRun("k", {1}, {1}, Arguments().add(out));
    return *out;
  };
  EXPECT_EQ(valueFor(file, "gfx1100"), 2); // rather than the generic one before it
  EXPECT_EQ(valueFor(file, "gfx1101"), 1);
  EXPECT_EQ(valueFor(file, "gfx90a"), 3);
  auto none = selectCodeObject(llvm::arrayRefFromStringRef(file), "gfx942");
  ASSERT_FALSE(bool(none));
  EXPECT_EQ(llvm::toString(none.takeError()), "the offload bundle has no code object for gfx942, "
                                              "only for gfx11-generic, gfx1100, gfx90a:xnack-");

  ASSERT_TRUE(llvm::compression::zstd::isAvailable());
  auto plain = llvm::MemoryBuffer::getMemBuffer(file, "", false);
  auto compressed = llvm::object::CompressedOffloadBundle::compress(
      llvm::compression::Params(llvm::compression::Format::Zstd), *plain, 3);
  ASSERT_TRUE(bool(compressed)) << llvm::toString(compressed.takeError());
  EXPECT_EQ((*compressed)->getBuffer().take_front(4), "CCOB");
  EXPECT_EQ(valueFor((*compressed)->getBuffer(), "gfx1100"), 2);
}

TEST_F(AbiObject, DamagedFilesAreLoadedOrRefused) {
  for (const char *options : {"-O1 -DVALUE=7", "-O1 -DVALUE=7 -c"}) {
    const std::vector<uint8_t> object = compile(kOne, "gfx1100", options);
    std::mt19937 random(3);
    unsigned refused = 0;
    for (unsigned round = 0; round < 300; ++round) {
      std::vector<uint8_t> damaged = object;
      for (unsigned i = 0; i < 1 + round % 8; ++i)
        damaged[random() % damaged.size()] = uint8_t(random());
      if (round % 4 == 0)
        damaged.resize(random() % damaged.size());
      auto loaded = CodeObject::load(damaged, memory);
      if (!loaded) {
        ++refused;
        llvm::consumeError(loaded.takeError());
      }
    }
    EXPECT_GT(refused, 75u) << options; // the shortened ones at least
  }
}

TEST_F(AbiObject, CutBundlesAreRefused) {
  const std::string file = bundle({{"hip-amdgcn-amd-amdhsa--gfx1100", {1, 2, 3, 4}}});
  for (size_t size = 24; size < file.size(); ++size) {
    auto object = selectCodeObject(
        llvm::arrayRefFromStringRef(llvm::StringRef(file).take_front(size)), "gfx1100");
    ASSERT_FALSE(bool(object)) << size;
    EXPECT_EQ(llvm::toString(object.takeError()).find("malformed offload bundle: "), 0u);
  }
}

// What clang -c writes: calls, variables and the global offset table are the loader's to resolve.
TEST_P(AbiObjectOf, RelocatableFilesAreLinkedWhenLoaded) {
  load(compile(R"(
__attribute__((noinline)) static int twice(int a) { return a * 2 + __builtin_amdgcn_workitem_id_x(); }
__attribute__((noinline, visibility("default"))) int add(int a, int b) { return twice(a) + b; }
constant int table[4] = {10, 20, 30, 40};
__attribute__((visibility("default"))) global int counter = 5;
kernel void k(global int *out, int which) {
  counter += 1;
  out[0] = add(table[which & 3], counter);
})",
               GetParam().cpu, "-O1 -Wno-everything -c"));
  ASSERT_TRUE(code);
  int *out = allocate<int>(1);
  expectRun("k", {1}, {1}, Arguments().add(out).add(2));
  EXPECT_EQ(*out, 66);
  expectRun("k", {1}, {1}, Arguments().add(out).add(3));
  EXPECT_EQ(*out, 87);
}

TEST_P(AbiObjectOf, InstructionsOutOfScopeAreRefusedWithAddressTextAndReason) {
  auto object = assemble(R"(
.text
.globl k
.p2align 8
.type k,@function
k:
  s_nop 0
  s_rfe_b64 s[4:5]
  s_endpgm
.Lend:
.size k, .Lend-k
)",
                         GetParam().cpu);
  auto loaded = CodeObject::load(object, memory);
  ASSERT_FALSE(bool(loaded));
  const std::string message = llvm::toString(loaded.takeError());
  EXPECT_NE(message.find("04: s_rfe_b64 s[4:5]: instructions of trap handlers are out of scope"),
            std::string::npos)
      << message;
}

} // namespace
