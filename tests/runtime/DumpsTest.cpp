// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/Dumps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace llvm;
using namespace rubia;
using namespace rubia::runtime;

namespace rubia::settings::Id {
extern const Setting dump, dumpDir, worker;
} // namespace rubia::settings::Id
namespace rubia::settings::DumpKind {
extern const Word Asm, Co, Llvm, Ptx;
} // namespace rubia::settings::DumpKind

namespace {

ArrayRef<uint8_t> bytesOf(const std::string &text) { return arrayRefFromStringRef(text); }

protocol::Request requestFor(StringRef arch) {
  protocol::Request request;
  request.want = protocol::Want::CodeObject;
  request.digest = {0x01, 0x23};
  request.unit = 7;
  memcpy(request.arch, arch.data(), arch.size());
  return request;
}

TEST(Dumps, AreHandedOverWhole) {
  for (settings::Word kind : {DumpKind::Ptx, DumpKind::Llvm, DumpKind::Co})
    for (const std::string &contents : {std::string("a\0b", 3), std::string()}) {
      const Dump dump = cantFail(decodeDump(bytesOf(encodeDump({kind, "k", contents}))));
      EXPECT_EQ(dump.kind, kind);
      EXPECT_EQ(dump.kernel, "k");
      EXPECT_EQ(dump.contents, contents);
    }
  EXPECT_EQ(toString(decodeDump({}).takeError()),
            "what a compile process wants to dump is of no known kind");
  EXPECT_EQ(toString(decodeDump(bytesOf("\x05k")).takeError()),
            "what a compile process wants to dump is of no known kind");
}

TEST(Dumps, NamesAreThoseOfFilesInOneFolder) {
  const protocol::Request request = requestFor("gfx1100");
  EXPECT_EQ(nameOfDump({DumpKind::Ptx, "", ""}, request, "key"), "0123000000000000.ptx");
  const std::string name = nameOfDump({DumpKind::Llvm, "saxpy", ""}, request, "key");
  EXPECT_TRUE(StringRef(name).starts_with("0123000000000000.7.saxpy.gfx1100.")) << name;
  EXPECT_TRUE(StringRef(name).ends_with(".ll")) << name;
  EXPECT_NE(name, nameOfDump({DumpKind::Llvm, "saxpy", ""}, request, "another key"));
  // A process that has fallen to what it compiles names what it likes.
  const std::string hostile = "../../etc/passwd\n\x1b[31m" + std::string(1000, 'a');
  const std::string made =
      nameOfDump({DumpKind::Co, hostile, ""}, requestFor("gfx90a:sramecc+:xnack-"), "key");
  EXPECT_EQ(StringRef(made).find_first_of("/\n\x1b:"), StringRef::npos) << made;
  EXPECT_LE(made.size(), 255u);
}

TEST(Dumps, WriteWhatIsAskedForAndNothingElse) {
  SmallString<128> folder;
  ASSERT_FALSE(sys::fs::createUniqueDirectory("rubia-dumps", folder));
  const std::string target = (folder + "/new/folder").str();
  const Dumps dumps(settings::Settings()
                        .set(settings::Id::dump, "asm,co")
                        .set(settings::Id::dumpDir, target)
                        .set(settings::Id::worker, RUBIA_WORKER_PATH));
  EXPECT_TRUE(dumps.any());
  dumps.write(requestFor("gfx1100"), bytesOf(encodeDump({DumpKind::Asm, "k", "s_endpgm"})));
  dumps.write(requestFor("gfx1100"), bytesOf(encodeDump({DumpKind::Llvm, "k", "define"})));
  std::error_code error;
  std::vector<std::string> found;
  for (sys::fs::directory_iterator i(target, error), end; i != end && !error; i.increment(error))
    found.push_back(i->path());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(StringRef(found[0]).ends_with(".s"));
  uint64_t size = 0;
  EXPECT_FALSE(sys::fs::file_size(found[0], size));
  EXPECT_EQ(size, strlen("s_endpgm"));
  (void)sys::fs::remove_directories(folder);
}

TEST(Dumps, AreOffByDefault) { EXPECT_FALSE(Dumps({}).any()); }

} // namespace
