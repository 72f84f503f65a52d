// SPDX-License-Identifier: Apache-2.0
// Fences: membar, fence and its proxies.
#include "Lowered.h"
#include "gmock/gmock.h"

using namespace rubia::lowering;
using namespace rubia::lowering::test;
using testing::HasSubstr;
using testing::Not;

TEST(LoweringMembar, IsASequentiallyConsistentFence) {
  EXPECT_TRUE(hasInOrder(irOf("membar.cta; membar.gl; membar.sys;"),
                         {"fence syncscope(\"workgroup\") seq_cst",
                          "fence syncscope(\"agent\") seq_cst", "fence seq_cst"}));
}

// Each word of the memory model in both places where it can stand.
TEST(LoweringFence, SemanticsAndScope) {
  const std::pair<const char *, const char *> kSemantics[] = {
      {"", "acq_rel"},         {".sc", "seq_cst"},      {".acq_rel", "acq_rel"},
      {".acquire", "acquire"}, {".release", "release"},
  };
  const std::pair<const char *, const char *> kScopes[] = {
      {".cta", "syncscope(\"workgroup\") "},
      {".cluster", "syncscope(\"agent\") "},
      {".gpu", "syncscope(\"agent\") "},
      {".sys", ""},
  };
  for (auto [semantics, ordering] : kSemantics)
    for (auto [scope, syncScope] : kScopes) {
      std::string ptx = std::string("fence") + semantics + scope + ";";
      EXPECT_THAT(irOf(ptx), HasSubstr(std::string("fence ") + syncScope + ordering + ",")) << ptx;
    }
}

TEST(LoweringFence, Proxies) {
  for (auto [ptx, fence] : std::initializer_list<std::pair<const char *, const char *>>{
           {"fence.proxy.alias;", "fence acq_rel,"},
           {"membar.proxy.alias;", "fence acq_rel,"},
           {"fence.proxy.async;", "fence syncscope(\"workgroup\") acq_rel,"},
           {"fence.proxy.async.shared::cta;", "fence syncscope(\"workgroup\") acq_rel,"},
           {"fence.proxy.tensormap::generic.release.gpu;", "fence syncscope(\"agent\") release,"},
           {"fence.proxy.tensormap::generic.acquire.sys [%rd0], 128;", "fence acquire,"},
           {"fence.mbarrier_init.release.cluster;", "fence syncscope(\"agent\") release,"},
           {"fence.acquire.sync_restrict::shared::cluster.cluster;",
            "fence syncscope(\"agent\") acquire,"},
       })
    EXPECT_THAT(irOf(ptx), HasSubstr(fence)) << ptx;
}
