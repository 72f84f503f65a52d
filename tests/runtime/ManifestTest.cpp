// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Manifest.h"
#include <gtest/gtest.h>

using namespace rubia::runtime;

static Manifest sample() {
  Manifest m;
  m.ptxMajor = 8;
  m.ptxMinor = 4;
  m.sm = 80;
  m.unitCount = 2;
  Manifest::Kernel k;
  k.name = "first";
  k.unit = 1;
  k.parameters = {{0, 8, 8}, {8, 4, 4}};
  k.parameterBytes = 12;
  k.maxThreads[0] = 256;
  k.staticSharedBytes = 4096;
  m.kernels.push_back(k);
  Manifest::Kernel broken;
  broken.name = "broken";
  broken.error = "k.ptx:3:1: error: no\n";
  m.kernels.push_back(broken);
  Manifest::Variable g;
  g.name = "g";
  g.visible = true;
  g.size = 4;
  g.alignment = 4;
  g.initialized = true;
  m.blob = {1, 2, 3, 4};
  m.variables.push_back(g);
  Manifest::Variable p;
  p.name = "p";
  p.size = 8;
  p.alignment = 8;
  p.initialized = true;
  p.blobOffset = 4;
  p.relocations.push_back({0, 8, 0, -2});
  m.blob.resize(12);
  m.variables.push_back(p);
  m.diagnostics = {"k.ptx:3:1: error: no\n"};
  return m;
}

TEST(Manifest, ComesBackAsItWas) {
  Manifest before = sample();
  llvm::Expected<Manifest> after = Manifest::deserialize(before.serialize());
  ASSERT_TRUE(bool(after)) << llvm::toString(after.takeError());
  EXPECT_EQ(after->serialize(), before.serialize());
  ASSERT_NE(after->kernel("first"), nullptr);
  EXPECT_EQ(after->kernel("first")->parameters[1].offset, 8u);
  EXPECT_EQ(after->kernel("first")->maxThreads[0], 256u);
  EXPECT_EQ(after->kernel("broken")->error, "k.ptx:3:1: error: no\n");
  EXPECT_EQ(after->variable("p")->relocations[0].addend, -2);
  EXPECT_EQ(after->blob, before.blob);
  EXPECT_EQ(after->kernel("second"), nullptr);
}

static std::vector<uint8_t> withJson(const std::string &json) {
  std::vector<uint8_t> bytes{'R', 'U', 'B', 'I', 'A', 'M', 'F', '1'};
  for (unsigned i = 0; i < 8; ++i)
    bytes.push_back(uint8_t(uint64_t(json.size()) >> 8 * i));
  bytes.insert(bytes.end(), json.begin(), json.end());
  return bytes;
}

static bool isRefused(const std::vector<uint8_t> &bytes) {
  llvm::Expected<Manifest> manifest = Manifest::deserialize(bytes);
  if (manifest)
    return false;
  llvm::consumeError(manifest.takeError());
  return true;
}

TEST(Manifest, RefusesJsonThatIsNestedTooDeep) {
  for (size_t depth : {65, 60'000, 10'000'000}) {
    EXPECT_TRUE(isRefused(withJson(std::string(depth, '['))));
    std::string objects;
    for (size_t i = 0; i < depth; ++i)
      objects += "{\"a\":";
    EXPECT_TRUE(isRefused(withJson(objects)));
  }
  // Brackets in strings are none.
  Manifest manifest = sample();
  manifest.kernels[1].error = std::string(1000, '[') + "\"\\" + std::string(1000, '{');
  llvm::Expected<Manifest> after = Manifest::deserialize(manifest.serialize());
  ASSERT_TRUE(bool(after)) << llvm::toString(after.takeError());
  EXPECT_EQ(after->kernels[1].error, manifest.kernels[1].error);
}

// So much is copied from the program at a launch.
TEST(Manifest, RefusesMoreParametersThanCudaPasses) {
  Manifest manifest = sample();
  manifest.kernels[0].parameters = {{0, 32764, 4}};
  manifest.kernels[0].parameterBytes = 32764;
  EXPECT_FALSE(isRefused(manifest.serialize()));
  manifest.kernels[0].parameters = {{0, 32768, 4}};
  manifest.kernels[0].parameterBytes = 32768;
  EXPECT_TRUE(isRefused(manifest.serialize()));
}

TEST(Manifest, RefusesEveryTruncation) {
  std::vector<uint8_t> bytes = sample().serialize();
  for (size_t size = 0; size < bytes.size(); ++size) {
    llvm::Expected<Manifest> m = Manifest::deserialize(llvm::ArrayRef(bytes).take_front(size));
    EXPECT_FALSE(bool(m)) << size;
    if (!m)
      llvm::consumeError(m.takeError());
  }
}

TEST(Manifest, RefusesIndexesOutOfRange) {
  auto refused = [](auto change) {
    Manifest m = sample();
    change(m);
    llvm::Expected<Manifest> result = Manifest::deserialize(m.serialize());
    if (result)
      return false;
    llvm::consumeError(result.takeError());
    return true;
  };
  EXPECT_FALSE(refused([](Manifest &) {}));
  EXPECT_TRUE(refused([](Manifest &m) { m.kernels[0].unit = 2; }));
  EXPECT_TRUE(refused([](Manifest &m) { m.kernels[0].parameters[1].size = 5; }));
  EXPECT_TRUE(refused([](Manifest &m) { m.variables[1].relocations[0].variable = 2; }));
  EXPECT_TRUE(refused([](Manifest &m) { m.variables[1].relocations[0].offset = 1; }));
  EXPECT_TRUE(refused([](Manifest &m) { m.variables[1].relocations[0].width = 3; }));
  EXPECT_TRUE(refused([](Manifest &m) { m.variables[1].blobOffset = 5; }));
  EXPECT_TRUE(refused([](Manifest &m) { m.variables[0].alignment = 3; }));
  // Counts and sizes that wrap in somebody's sums.
  EXPECT_TRUE(refused([](Manifest &m) { m.unitCount = 0x40000000; }));
  EXPECT_TRUE(refused([](Manifest &m) { m.unitCount = 3; }));
  EXPECT_TRUE(refused([](Manifest &m) { m.kernels[0].parameterBytes = ~0u; }));
  auto makeHuge = [](Manifest::Variable &variable) {
    variable.initialized = false;
    variable.relocations.clear();
    variable.size = uint64_t(3) << 46;
  };
  EXPECT_FALSE(refused([&](Manifest &m) { makeHuge(m.variables[0]); }));
  EXPECT_TRUE(refused([&](Manifest &m) {
    makeHuge(m.variables[0]);
    makeHuge(m.variables[1]);
  }));
  EXPECT_TRUE(refused([&](Manifest &m) {
    makeHuge(m.variables[0]);
    m.variables[0].size = ~uint64_t(0);
  }));
}
