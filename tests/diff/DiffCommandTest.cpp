// SPDX-License-Identifier: Apache-2.0
// rubia diff on a capsule whose results are not those of its kernel.
#include "SmallCapsule.h"
#include <array>
#include <filesystem>
#include <fstream>

namespace diff_tests {
namespace {

TEST(DiffCommand, NamesElementThreadAndLine) {
  const std::string text = diff(makeCapsule(kWrong), "--arch gfx1100,gfx942");
  for (const char *target : {"gfx1100", "gfx942"})
    expectIn(text, formatv("{0}: launch 0 k: different", target).str());
  expectIn(text, "allocation 0 (parameter 0): 1 of 128 b32 elements differ; element 105: expected "
                 "0x0000abcd, got 0x0000006a\n"
                 "    thread (41,0,0) of CTA (1,0,0) wrote it at line 18 of the PTX: "
                 "st.global.u32 [%d3], %r4;\n");
  expectIn(text, "status 1");
}

TEST(DiffCommand, NamesTheLastOfSeveralStores) {
  const std::string text = diff(makeCapsule(7), "--arch gfx1100");
  expectIn(text, "thread (7,0,0) of CTA (0,0,0) wrote it at line 18 of the PTX: "
                 "st.global.u32 [%d3], %r4; (the last of 2 stores)");
}

TEST(DiffCommand, WritesPageThatNeedsNothingElse) {
  const std::string text = diff(makeCapsule(kWrong), "--arch gfx1100 --html -");
  const StringRef page = StringRef(text).slice(StringRef(text).find("<!doctype html>"),
                                               StringRef(text).find("</html>"));
  for (const char *what :
       {"<strong class=\"bad\">different</strong>",
        "elements 105 to 105: 1; element 105: thread (41,0,0) of CTA (1,0,0), line 18</title>",
        "<span class=\"marked\">18</span><span class=\"marked\">  st.global.u32 [%d3], %r4;</span>",
        "<span class=\"marked\">18</span><span class=\"marked\">global_store_b32 ",
        "thread (41,0,0) of CTA (1,0,0)", "0 of 1 allocations are equal"})
    expectIn(page.str(), what);
  for (const char *what : {"http", "src=", "url(", "@import"})
    EXPECT_FALSE(page.contains(what)) << what;
  for (const char *tag : {"details", "figure", "svg", "table", "p", "h2"})
    EXPECT_EQ(page.count(("<" + Twine(tag) + ">").str()) +
                  page.count(("<" + Twine(tag) + " ").str()),
              page.count(("</" + Twine(tag) + ">").str()))
        << tag;
}

TEST(DiffCommand, TakesTypesAndShapes) {
  const std::string text =
      diff(makeCapsule(kWrong), "--arch gfx1100 --html - --type 0=f16 --shape 0=16x16");
  expectIn(text, "1 of 256 f16 elements differ; element 210");
  expectIn(
      text,
      "<title>columns 2 to 2, rows 13 to 13: 1; element 210: thread (41,0,0) of CTA (1,0,0), ");
  expectIn(diff(makeCapsule(kWrong), "--type 0=float"), "expected f16, bf16, f32");
  for (const char *options : {"--type 1=f16", "--type nosuch=f16", "--html - --shape 1=16x16"}) {
    const std::string unused = diff(makeCapsule(kWrong), options);
    expectIn(unused, "no launch has memory of parameter or variable");
    expectIn(unused, "status 2");
  }
  expectIn(diff(makeCapsule(kWrong), "--shape 0=16x16"), "it needs --html");
}

TEST(DiffCommand, ComparesSomething) {
  const std::string none = diff(makeCapsule(~0u), "--arch gfx1100 --kernel nosuch");
  expectIn(none, "no launch");
  expectIn(none, "status 2");
  std::string text = kKernel;
  text.replace(text.find("  mov.u32 %r1"), 0, "  ret;\n"); // stores nothing
  const std::string empty = diff(makeCapsule(~0u, text, false), "--arch gfx1100");
  expectIn(empty, "unsupported: nothing to compare");
  expectIn(empty, "status 3");
}

TEST(DiffCommand, ErrorsAreNotDifferences) {
  for (const char *options :
       {"--perturbed 1", "--arch gfx12345", "--between gfx1100", "--against /nosuch"})
    expectIn(diff(makeCapsule(~0u), options), "status 2");
}

TEST(DiffCommand, TexturesAreNamed) {
  std::string text = kKernel;
  text.replace(text.find("  mov.u32 %r1"), 0,
               ".reg .f32 %f<5>; .reg .b64 %t;\n  mov.u64 %t, 0;\n"
               "  @%p1 tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%t, {%r1}];\n");
  const std::string result = diff(makeCapsule(kWrong, text), "--arch gfx1100");
  expectIn(result, "unsupported: line 11: tex.1d.v4.f32.s32");
  expectIn(result, "status 3");
}

// Byte 1 of the element differs, and another thread writes it.
TEST(DiffCommand, NamesTheThreadThatWroteTheByte) {
  std::string text = kKernel;
  text.replace(text.find("  ret;"), 0,
               "  bar.sync 0;\n  add.u32 %r3, %r1, 1;\n  setp.eq.u32 %p1, %r1, 10;\n"
               "  @%p1 st.global.u8 [%d1+37], %r3;\n");
  const std::string result = diff(makeCapsule(9, text, true, 10), "--arch gfx1100");
  expectIn(result, "element 9: expected 0x0000000a, got 0x00000b0a");
  expectIn(result, "thread (10,0,0) of CTA");
}

/// Element 105 is 2^0.3, all others are integers, moved by instructions for floating-point numbers.
std::string exponential(StringRef instead = "ex2.approx.ftz.f32 %f2, 0f3e99999a;") {
  std::string text = kKernel;
  const StringRef other = "  @%p1 st.global.u32 [%d3], %r3;\n"; // of integers
  text.erase(text.find(other), other.size());
  const size_t store = text.find("  st.global.u32 [%d3], %r4;");
  text.replace(store, text.find('\n', store) - store,
               (".reg .f32 %f<4>;\n  " + instead +
                "\n  setp.eq.u32 %p1, %r3, 105;\n  mov.b32 %f1, %r4;\n"
                "  selp.f32 %f3, %f2, %f1, %p1;\n  st.global.f32 [%d3], %f3;")
                   .str());
  return text;
}

constexpr uint32_t kExponential = 0x3f9d9624; // correctly rounded

TEST(DiffCommand, DecidesByPerturbedRuns) {
  for (uint32_t expected : {kExponential - 1, kExponential + 1}) {
    const std::string text =
        diff(makeCapsule(kWrong, exponential(), true, expected), "--arch gfx1100,gfx942");
    expectIn(text, "status 0");
  }
  // Far beyond 2 ulp.
  for (uint32_t expected : {kExponential - 2000, kExponential + 2000}) {
    const std::string text =
        diff(makeCapsule(kWrong, exponential(), true, expected), "--arch gfx1100");
    expectIn(text, "gfx1100: launch 0 k: different");
    expectIn(text, "1 of 128 f32 elements differ; element 105");
    expectIn(text, "1 far beyond what 8 perturbed runs changed");
    expectIn(text, "thread (41,0,0) of CTA (1,0,0)");
    expectIn(text, "status 1");
  }
  // An element that no inexact result leads to.
  const std::string exact = diff(makeCapsule(50, exponential(), true, 52), "--arch gfx1100");
  expectIn(exact, "element 50");
  expectIn(exact, "status 1");
}

TEST(DiffCommand, LeavesOpenWhatIsNotPerturbed) {
  const std::string none =
      diff(makeCapsule(kWrong, exponential(), true, kExponential - 1), "--arch gfx1100 "
                                                                       "--perturbed 0");
  expectIn(none, "gfx1100: launch 0 k: undecided: line 18: ex2.approx.ftz.f32");
  expectIn(none, "status 3");
  const std::string ordered = diff(makeCapsule(kWrong,
                                               exponential("mov.f32 %f2, 0f3f9d9624; "
                                                           "red.global.add.f32 [%d3], %f2;"),
                                               true, kExponential - 1),
                                   "--arch gfx1100");
  expectIn(ordered, "undecided: line 18: red.global.add.f32, whose results are not perturbed");
  expectIn(ordered, "status 3");
}

// Whether it is a number of f32 or two of f16, nobody can tell: a NaN may be meant in either way.
TEST(DiffCommand, LeavesBitsOfNaNsOpenWhereTypesAreUnknown) {
  const std::string kernel =
      exponential("mov.f32 %f2, 0f7fc00000; ex2.approx.ftz.f32 %f2, %f2; "
                  "setp.gt.u32 %p1, %r3, 1000; @%p1 st.global.u32 [%d3], %r1;");
  for (const auto &[expected, status] :
       {std::pair(0x7fabcdefu, 3), {0x7e000000u, 3}, {0x3f800000u, 1}, {0x7e001234u, 1}}) {
    const std::string text = diff(makeCapsule(kWrong, kernel, true, expected), "--arch gfx1100");
    expectIn(text, "status " + std::to_string(status));
  }
}

// The sign of a NaN becomes an integer: an H100 gives 0x7fffffff.
TEST(DiffCommand, TellsBitsOfNaNsFromMistakes) {
  std::string kernel = kKernel;
  kernel.replace(kernel.find("  @%p1 st.global"), 0,
                 ".reg .f32 %f<3>;\n  setp.eq.u32 %p1, %r3, 105;\n  mov.f32 %f1, 0fff800001;\n"
                 "  add.f32 %f2, %f1, 0f3f800000;\n  mov.b32 %r3, %f2;\n"
                 "  @%p1 shr.u32 %r4, %r3, 16;\n");
  const std::string nan =
      diff(makeCapsule(kWrong, kernel, true, 0x7fff), "--arch gfx1100 --type 0=b32");
  expectIn(nan, "undecided: it computes with the bits of NaNs: with --nan canonical it is equal");
  expectIn(nan, "status 3");
  const std::string canonical =
      diff(makeCapsule(kWrong, kernel, true, 0x7fff), "--arch gfx1100 --nan canonical");
  expectIn(canonical, "1 equal");
  const std::string other = diff(makeCapsule(kWrong, kernel, true, 0x1234), "--arch gfx1100");
  expectIn(other, "k: different");
  expectIn(other, "status 1");
}

// What ran is judged: the recorded kernel has the exponential alone.
TEST(DiffCommand, JudgesWhatWasReplayed) {
  const std::string path = testing::TempDir() + "rubia-diff-other.ptx";
  std::error_code error;
  raw_fd_ostream(path, error) << exponential(
      "ex2.approx.ftz.f32 %f2, 0f3e99999a; atom.global.add.u32 %r3, [%d1], 0; "
      "mad.lo.u32 %r3, %r2, 64, %r1;");
  const std::string text = diff(makeCapsule(kWrong, exponential(), true, kExponential - 2000),
                                ("--arch gfx1100 --ptx " + path));
  expectIn(text, "atom.global.add.u32, whose results are not perturbed");
  expectIn(text, "status 3");
  unlink(path.c_str());
}

// What thread 0 writes, the others read without a barrier in between.
TEST(DiffCommand, NamesRaces) {
  std::string text = kKernel;
  text.replace(text.find("  @%p1 st.global"), 0,
               ".shared .align 4 .b8 word[4];\n  setp.eq.u32 %p1, %r1, 63;\n"
               "  @%p1 st.shared.u32 [word], %r4;\n  ld.shared.u32 %r4, [word];\n");
  const std::string result = diff(makeCapsule(kWrong, text), "--arch gfx1100");
  expectIn(result, "gfx1100: launch 0 k: race: ");
  expectIn(result, "in LDS; the other is a");
  expectIn(result, "status 1");
  EXPECT_FALSE(
      StringRef(diff(makeCapsule(kWrong, text), "--arch gfx1100 --no-locate")).contains("race"));
}

// Both CTAs store to element 0, with strong stores: no race, but the last one is not always the
// same.
TEST(DiffCommand, NamesResultsThatDependOnTheOrder) {
  std::string text = kKernel;
  text.replace(text.find("  ret;"), 0,
               "  bar.sync 0;\n  setp.eq.u32 %p1, %r1, 0;\n"
               "  @%p1 st.relaxed.gpu.global.u32 [%d1], %r2;\n");
  text.replace(text.find("  st.global.u32 [%d3], %r4;"), 2, "  @!%p1 ");
  text.replace(text.find("  setp.eq.u32 %p1, %r3, 7;"), 26, "  setp.eq.u32 %p1, %r3, 0;");
  const std::string result = diff(makeCapsule(0, text, true, 0xabcd), "--arch gfx1100 --no-locate");
  expectIn(result, "gfx1100: launch 0 k: different");
  const std::string located = diff(makeCapsule(0, text, true, 0xabcd), "--arch gfx1100");
  expectIn(located, "race: in another order of CTAs and threads (RUBIA_EMULATOR_SEED=");
  expectIn(located, "it leaves other bytes in allocation 0");
}

/// Element 0 is the sum of 1 to 1/128, in any order.
std::string sums() {
  std::string text = kKernel;
  const StringRef twice = "  @%p1 st.global.u32 [%d3], %r3;\n";
  text.erase(text.find(twice), twice.size());
  text.replace(text.find("  setp.eq.u32 %p1, %r3, 7;"), 26, "  setp.ne.u32 %p1, %r3, 0;");
  text.replace(text.find("  st.global.u32 [%d3], %r4;"), 27,
               ".reg .f32 %f<3>;\n  mov.b32 %f2, %r4;\n  @%p1 st.global.f32 [%d3], %f2;\n"
               "  cvt.rn.f32.u32 %f1, %r4;\n  rcp.rn.f32 %f1, %f1;\n"
               "  red.global.add.f32 [%d1], %f1;");
  return text;
}
constexpr uint32_t kSum = 0x40addc58; // 5.43315

TEST(DiffCommand, OrdersOfAtomicsAreTried) {
  for (uint32_t other : {kSum - 2, kSum + 2}) {
    const std::string result = diff(makeCapsule(0, sums(), true, other), "--arch gfx1100,gfx942");
    expectIn(result, "gfx942: launch 0 k: within the bound");
    expectIn(result, "status 0");
  }
  const std::string far = diff(makeCapsule(0, sums(), true, kSum + 5000), "--arch gfx1100");
  expectIn(far, "undecided: line 22: red.global.add.f32");
  expectIn(far, "status 3");
}

TEST(DiffCommand, ComparesWithSeveralRecordings) {
  const auto with = [](std::array<int, 3> apart) {
    std::string files;
    std::vector<std::string> names;
    for (int i = 0; i < 3; ++i) {
      const std::string path = makeCapsule(0, sums(), true, uint32_t(kSum + 5000 + apart[i]),
                                           kAddress + (uint64_t(i) << 22));
      const std::string &name = names.emplace_back(path + "." + std::to_string(i));
      rename(path.c_str(), name.c_str());
      files += " '" + name + "'";
    }
    const std::string result = diff(makeCapsule(0, sums(), true, kSum + 5000),
                                    "--arch gfx1100 --json - --recordings" + files);
    for (const std::string &name : names)
      unlink(name.c_str());
    return result;
  };
  const std::string within = with({-1000, -8000, -4900});
  expectIn(within, "gfx1100: launch 0 k: within the recordings: line 22: red.global.add.f32");
  expectIn(within, "times what 3 other recordings differ");
  expectIn(within, "\"recordings\": {");
  expectIn(within, "status 0");
  const std::string beyond = with({-1, 2, 1});
  expectIn(beyond, "undecided: line 22: red.global.add.f32");
  expectIn(beyond, "1 far beyond what 3 other recordings differ");
  expectIn(beyond, "status 3");
}

TEST(DiffCommand, NamesWhatNobodyHasWritten) {
  std::string text = kKernel;
  text.replace(text.find("  @%p1 st.global"), 0,
               ".shared .align 4 .b8 words[512];\n  mov.u32 %r2, words;\n  shl.b32 %r3, %r1, 2;\n"
               "  add.u32 %r2, %r2, %r3;\n  setp.ne.u32 %p1, %r1, 63;\n"
               "  @%p1 st.shared.u32 [%r2], %r4;\n  ld.shared.u32 %r4, [%r2];\n");
  const std::string result = diff(makeCapsule(kWrong, text), "--arch gfx1100");
  expectIn(result, "gfx1100: launch 0 k: unwritten value: read of 4 bytes at 0x");
  expectIn(result, "thread (63,0,0)");
  expectIn(result, "status 1");
}

TEST(DiffCommand, EndsLaunchesThatDoNot) {
  std::string text = kKernel;
  text.replace(text.find("  ret;"), 0, "again: bra again;\n");
  const std::string result = diff(makeCapsule(kWrong, text), "--arch gfx1100 --timeout 1");
  expectIn(result, "gfx1100: launch 0 k: failed: it did not end within 1 s");
  expectIn(result, "status 1");
}

/// Element 0 becomes bits 16 to 47 of the buffer's address, and no pointer to a replay can be told
/// from them.
std::string addressKernel() {
  std::string text = kKernel;
  text.replace(text.find("  ret;"), 0,
               "  shr.u64 %d2, %d1, 16;\n  setp.eq.u32 %p1, %r3, 0;\n"
               "  @%p1 st.global.u32 [%d1], %d2;\n");
  return text;
}

TEST(DiffCommand, ReplaysAtCapturedAddresses) {
  const uint64_t inside = kAddress + (uint64_t(5) << 20) + 512; // of a granule of 2 MiB
  for (const uint64_t address : {kAddress, inside}) {
    const std::string path =
        makeCapsule(0, addressKernel(), true, uint32_t(address >> 16), address);
    EXPECT_EQ(diff(path, "--arch gfx1100"), "gfx1100: 1 launches, 1 equal\nstatus 0");
  }
  // Nobody maps the first page.
  const std::string text =
      diff(makeCapsule(0, addressKernel(), true, 0, 0x1000), "--arch gfx1100 --no-locate --json -");
  expectIn(text, "gfx1100: launch 0 k: different");
  expectIn(text, "\"moved\": {");
  expectIn(text, "status 1");
}

// A word that looks like an address in a buffer that lies elsewhere.
TEST(DiffCommand, NamesWordsThatLookLikeAddresses) {
  const auto withWord = [](uint64_t address) {
    const std::string path = makeCapsule(~0u, kKernel, false, 0, address);
    Capsule old = cantFail(Capsule::open(path));
    CapsuleOutput output = cantFail(CapsuleOutput::create(path));
    cantFail(output.add(RecordType::Environment, toJson(old.environment)));
    Launch launch = old.launches.front();
    cantFail(output.add(RecordType::Image, ArrayRef(cantFail(old.image(launch.images[0])))));
    std::vector<uint8_t> bytes(kThreads * kCtas * 4 + 16);
    for (unsigned i = 0; i < kThreads * kCtas; ++i)
      support::endian::write32le(bytes.data() + i * 4, i + 1);
    support::endian::write64le(bytes.data() + kThreads * kCtas * 4 + 8, address + 40);
    bytes[3] = 1; // differs, so that something is told
    launch.memory.push_back({address, bytes.size(), "device", "", cantFail(output.addMemory(bytes)),
                             cantFail(output.addMemory(bytes))});
    cantFail(output.add(RecordType::Launch, toJson(launch)));
    cantFail(output.finish());
    return path;
  };
  constexpr StringLiteral kTold =
      "  allocations 0 lie at other addresses than recorded; 1 words of memory that look like "
      "addresses in them were changed, the first at byte 520 of allocation 0\n";
  expectIn(diff(withWord(0x1000), "--arch gfx1100 --no-locate"), kTold);
  const std::string path = withWord(0x1000);
  const std::string replayed = rubia("replay '" + path + "' --arch gfx1100");
  expectIn(replayed, "gfx1100: launch 0 k: allocations 0 lie at other addresses than recorded; 1 ");
  expectIn(replayed, "gfx1100: 1 of 1 launches replayed\nstatus 0");
  unlink(path.c_str());
  EXPECT_FALSE(
      StringRef(diff(withWord(kAddress), "--arch gfx1100 --no-locate")).contains("look like"));
}

TEST(DiffCommand, SaysNothingOfEqualLaunches) {
  EXPECT_EQ(diff(makeCapsule(~0u), "--arch gfx1100"), "gfx1100: 1 launches, 1 equal\nstatus 0");
}

/// The same capsule without something.
std::string stripped(const std::string &path, const std::string &options) {
  const std::string result = path + ".stripped";
  expectIn(rubia("capsule strip '" + path + "' " + options + " -o '" + result + "'"), "status 0");
  unlink(path.c_str());
  expectIn(rubia("capsule verify '" + result + "'"), "1 launches, cut short\nstatus 0");
  return result;
}

TEST(StrippedCapsule, IsReplayedWithImagesFromElsewhere) {
  const std::string text = testing::TempDir() + "rubia-image." + std::to_string(getpid());
  const auto save = [&](StringRef ptx) {
    std::error_code error;
    raw_fd_ostream(text, error) << ptx;
  };
  const std::string path = stripped(makeCapsule(kWrong), "--no-images");
  expectIn(rubia("capsule show '" + path + "'"), "without images");
  expectIn(rubia("capsule extract '" + path + "' -o '" + path + ".folder'"),
           "its image is not in the capsule");
  expectIn(rubia("diff '" + path + "' --arch gfx1100"),
           "unsupported: its image is not in the capsule");
  save(kKernel);
  const std::string good = rubia("diff '" + path + "' --arch gfx1100 --images '" + text + "'");
  expectIn(good, "1 of 128 b32 elements differ; element 105");
  expectIn(good, "wrote it at line 18");
  save(StringRef(kKernel).str() + "// another one");
  expectIn(diff(path, "--arch gfx1100 --images '" + text + "'"),
           "no image of the capsule's launches that is not there yet\nstatus 2");
  unlink(text.c_str());
  rmdir((path + ".folder").c_str());
}

TEST(StrippedCapsule, TellsByDigestsWhetherResultsAreEqual) {
  expectIn(diff(stripped(makeCapsule(0, kKernel, true, 1), "--hash-only"), "--arch gfx1100,gfx942"),
           "gfx942: 1 launches, 1 equal\nstatus 0");
  const std::string other = diff(stripped(makeCapsule(kWrong), "--hash-only"), "--arch gfx1100");
  expectIn(other,
           "gfx1100: launch 0 k: different: 1 of 1 pieces of 16384 bytes differ, the first at "
           "byte 0 of its allocation; digests are all that is left of what was recorded\n");
  expectIn(other, "status 1");
}

// What is left of the results are bits that nobody can compare within a bound.
TEST(StrippedCapsule, LeavesInexactResultsOpen) {
  std::string inexact = kKernel;
  const std::string exact = "st.global.u32 [%d3], %r4;\n  ret;";
  inexact.replace(inexact.find(exact), exact.size(),
                  ".reg .f32 %f1; cvt.rn.f32.u32 %f1, %r4; sin.approx.f32 %f1, %f1;"
                  "st.global.f32 [%d3], %f1; ret;");
  const std::string text =
      diff(stripped(makeCapsule(kWrong, inexact), "--hash-only"), "--arch gfx1100 --ulp 2");
  expectIn(text, "gfx1100: launch 0 k: undecided");
  expectIn(text, "status 3");
}

TEST(StrippedCapsule, HoldsNoneOfWhatWasLeftOut) {
  const std::string path =
      stripped(makeCapsule(kWrong, kKernel, true, 0x1badcafe), "--no-images --hash-only");
  Capsule capsule = cantFail(Capsule::open(path));
  EXPECT_TRUE(capsule.environment.hasNoImages && capsule.environment.hasNoResults);
  cantFail(capsule.forEachRecord([](RecordType type, ArrayRef<uint8_t> payload) {
    const StringRef text = toStringRef(payload);
    EXPECT_NE(type, RecordType::Image);
    EXPECT_FALSE(text.contains("\xfe\xca\xad\x1b")) << unsigned(type);
    EXPECT_FALSE(text.contains(".entry")) << unsigned(type);
    return Error::success();
  }));
  expectIn(rubia("capsule split '" + path + "' --kernel k -o '" + path + ".part'"),
           "which stay in this file");
  expectIn(rubia("capsule strip '" + path + "' -o '" + path + ".part'"), "nothing to leave out");
  unlink(path.c_str());
}

} // namespace
} // namespace diff_tests
