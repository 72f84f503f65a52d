// What LLVM can encode for a target, against what the emulator executes.
#include "tests/emulator/Census.h"
#include "emulator/lib/Decoder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace llvm;

namespace rubia::emulator::test {

class Census : public testing::TestWithParam<std::pair<const char *, unsigned>> {};

TEST_P(Census, List) {
  auto [cpu, waveSize] = GetParam();
  auto target = emulator::Target::create(cpu, waveSize);
  ASSERT_TRUE(bool(target)) << toString(target.takeError());
  std::map<std::string, std::map<std::string, std::string>> missing;
  std::map<std::string, std::set<std::string>> all;
  Program program;
  Decoder decoder(**target, program, waveSize);
  for (const EncodableInstruction &one : encodableInstructions(cpu, waveSize)) {
    const std::string name = one.name.empty() ? one.fullName : one.name;
    all[one.family].insert(name);
    MCInst inst;
    uint64_t size = (*target)->disassemble(inst, one.bytes, 0);
    Refusal refusal = decoder.decode(inst, 0, 0, size);
    if (!refusal.empty())
      missing[one.family][name] = one.fullName + " | " + one.text + " | " + refusal;
  }
  if (const char *folder = getenv("RUBIA_CENSUS")) {
    std::error_code error;
    raw_fd_ostream os(std::string(folder) + "/missing-" + cpu +
                          (waveSize == 64 && StringRef(cpu)[3] == '1' ? "-wave64" : "") + ".txt",
                      error);
    for (auto &[family, names] : all) {
      os << "== " << family << ": " << names.size() << " encodable, " << missing[family].size()
         << " missing\n";
      for (auto &[name, why] : missing[family])
        os << name << " | " << why << "\n";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Census,
                         testing::Values(std::pair("gfx1030", 32u), std::pair("gfx1100", 32u),
                                         std::pair("gfx1201", 32u), std::pair("gfx90a", 64u),
                                         std::pair("gfx942", 64u), std::pair("gfx950", 64u)));

} // namespace rubia::emulator::test
