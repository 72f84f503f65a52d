// SPDX-License-Identifier: Apache-2.0
// Every planted bug is reported in its thread and line; its mended twin is not.
#include "settings/Settings.h"
#include "tests/emulator-checks/Launcher.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting emulatorCheck;
} // namespace rubia::settings::Id

namespace rubia::emulator::test {
namespace {

constexpr const char *kFiles[] = {"memory",   "races", "asynchronous", "uninitialised",
                                  "barriers", "warps", "heap",         "global"};

/// The check that is to find what is planted in a file.
const char *checkOf(StringRef file) {
  if (file == "asynchronous")
    return "races";
  return file == "heap" ? "memory" : file == "global" ? "uninitialised" : file.data();
}

std::vector<Case> casesOf(const std::string &file) {
  auto text = MemoryBuffer::getFile(std::string(RUBIA_KERNELS "/") + file + ".cu");
  EXPECT_TRUE(bool(text));
  if (!text)
    return {};
  Expected<std::vector<Case>> cases = readCases((*text)->getBuffer().str());
  if (!cases)
    ADD_FAILURE() << file << ": " << toString(cases.takeError());
  return cases ? std::move(*cases) : std::vector<Case>();
}

std::string nameOf(Fault::Kind kind) {
  switch (kind) {
  case Fault::OutOfBounds:
    return "OutOfBounds";
  case Fault::UseAfterFree:
    return "UseAfterFree";
  case Fault::Misaligned:
    return "Misaligned";
  case Fault::Trap:
    return "Trap";
  case Fault::BarrierDivergence:
    return "BarrierDivergence";
  case Fault::Deadlock:
    return "Deadlock";
  case Fault::IllegalInstruction:
    return "IllegalInstruction";
  case Fault::LdsOutOfBounds:
    return "LdsOutOfBounds";
  case Fault::ScratchOverflow:
    return "ScratchOverflow";
  case Fault::UnwaitedRegister:
    return "UnwaitedRegister";
  case Fault::DataRace:
    return "DataRace";
  case Fault::Uninitialised:
    return "Uninitialised";
  case Fault::AtomicOnHostMemory:
    return "AtomicOnHostMemory";
  case Fault::ImageResource:
    return "ImageResource";
  case Fault::WarpHazard:
    return "WarpHazard";
  case Fault::InvalidMask:
    return "InvalidMask";
  }
  return "";
}

std::string triple(const Dim3 &id) {
  return "(" + std::to_string(id.x) + "," + std::to_string(id.y) + "," + std::to_string(id.z) + ")";
}

/// Whether `source`, and then text, is this line of the kernel's file: "races.cu:12" or
/// "/path/races.cu:12".
bool isLine(StringRef source, const std::string &file, unsigned line) {
  return source.contains(file + ".cu:" + std::to_string(line) + "]") ||
         source.ends_with(file + ".cu:" + std::to_string(line)) ||
         source.contains(file + ".cu:" + std::to_string(line) + ",") ||
         source.contains(file + ".cu:" + std::to_string(line) + " ");
}

void expectReport(const Fault &fault, const Case &test, const std::string &file) {
  const std::string text = fault.message();
  EXPECT_EQ(nameOf(fault.kind), test.fault) << text;
  ASSERT_FALSE(test.marks.empty());
  EXPECT_FALSE(fault.disassembly.empty()) << text;
  EXPECT_EQ(fault.kernel, test.kernel);
  if (test.address)
    EXPECT_EQ(fault.address, *test.address) << text;
  auto isMarked = [&](const Mark &mark, const std::string &thread, StringRef source) {
    return (mark.thread.empty() || mark.thread == thread) && isLine(source, file, mark.line);
  };
  const std::string thread = triple(fault.thread);
  if (!hasTwoPlaces(test)) {
    EXPECT_TRUE(isMarked(test.marks[0], thread, fault.source)) << text;
    return;
  }
  ASSERT_EQ(test.marks.size(), 2u);
  const StringRef other = StringRef(fault.detail).split("thread ").second;
  const std::string otherThread = (other.split(')').first + ")").str();
  auto isPair = [&](const Mark &first, const Mark &second) {
    return isMarked(first, thread, fault.source) && isMarked(second, otherThread, other);
  };
  EXPECT_TRUE(isPair(test.marks[0], test.marks[1]) || isPair(test.marks[1], test.marks[0])) << text;
}

void expectWarning(StringRef warnings, const Case &test, const std::string &file) {
  EXPECT_TRUE(isLine(warnings, file, test.marks[0].line)) << warnings.str();
  EXPECT_TRUE(test.marks[0].thread.empty() || warnings.contains("thread " + test.marks[0].thread))
      << warnings.str();
}

class EmulatorChecks : public testing::TestWithParam<std::tuple<const char *, const char *>> {};

TEST_P(EmulatorChecks, ReportPlantedBugs) {
  const auto [file, arch] = GetParam();
  const std::vector<Case> cases = casesOf(file);
  const Checks checks =
      cantFail(checksOf(settings::Settings().set(settings::Id::emulatorCheck, checkOf(file))));
  const std::string path = std::string(RUBIA_PTX "/") + file;
  const auto outcomes = runAll(path + ".planted.ptx", cases, arch, checks);
  for (const auto &[kernel, outcome] : outcomes)
    EXPECT_EQ(outcome.error, "") << kernel;
  for (const Case &test : cases) {
    SCOPED_TRACE(test.kernel);
    const auto found = outcomes.find(test.kernel);
    ASSERT_TRUE(found != outcomes.end());
    if (test.fault == "Warning")
      expectWarning(found->second.warnings, test, file);
    else if (found->second.fault)
      expectReport(*found->second.fault, test, file);
    else
      ADD_FAILURE() << "no fault";
  }
}

TEST_P(EmulatorChecks, ReportNothingOnceTheyAreMended) {
  const auto [file, arch] = GetParam();
  const std::vector<Case> cases = casesOf(file);
  const Checks checks =
      cantFail(checksOf(settings::Settings().set(settings::Id::emulatorCheck, "all")));
  const std::string path = std::string(RUBIA_PTX "/") + file;
  const auto outcomes = runAll(path + ".mended.ptx", cases, arch, checks);
  EXPECT_EQ(outcomes.size(), cases.size());
  for (const auto &[kernel, outcome] : outcomes) {
    EXPECT_EQ(outcome.error, "") << kernel;
    EXPECT_EQ(outcome.warnings, "") << kernel;
    if (outcome.fault)
      ADD_FAILURE() << outcome.fault->message();
  }
}

std::string nameOfParameters(const testing::TestParamInfo<EmulatorChecks::ParamType> &info) {
  return std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
}
INSTANTIATE_TEST_SUITE_P(All, EmulatorChecks,
                         testing::Combine(testing::ValuesIn(kFiles),
                                          testing::Values("gfx1100", "gfx942")),
                         nameOfParameters);
// Scalar loads of bytes, and barriers that are signalled and waited for.
INSTANTIATE_TEST_SUITE_P(Gfx12, EmulatorChecks,
                         testing::Combine(testing::Values("warps", "global"),
                                          testing::Values("gfx1201")),
                         nameOfParameters);

TEST(EmulatorCheckCases, RefuseWordsTheyDoNotKnow) {
  auto isRead = [](const std::string &words, const std::string &mark) {
    Expected<std::vector<Case>> cases =
        readCases("// CASE " + words + "\nKERNEL one(unsigned *) {\n  a = b; // BUG" + mark + "\n");
    if (cases)
      return true;
    consumeError(cases.takeError());
    return false;
  };
  EXPECT_TRUE(isRead("fault=DataRace block=32", " thread=(5,0,0)"));
  EXPECT_TRUE(isRead("fault=DataRace", " thread=(5,0,0) twice"));
  EXPECT_TRUE(isRead("fault=Deadlock", " waits"));
  EXPECT_FALSE(isRead("fault=DataRace blck=32", " thread=(5,0,0)"));
  EXPECT_FALSE(isRead("fault=DataRace block=many", " thread=(5,0,0)"));
  EXPECT_FALSE(isRead("block=32", " thread=(5,0,0)"));
  EXPECT_FALSE(isRead("fault=DataRace", ""));
  EXPECT_FALSE(isRead("fault=DataRace", " thrread=(5,0,0)"));
  EXPECT_FALSE(isRead("fault=DataRace", " thread=5"));
  EXPECT_FALSE(isRead("fault=DataRace", " thread=(5,0,0) twise"));
}

TEST(EmulatorCheckCases, AreAtLeastAHundred) {
  size_t count = 0;
  for (const char *file : kFiles)
    count += casesOf(file).size();
  EXPECT_GE(count, 100u);
}

} // namespace
} // namespace rubia::emulator::test
