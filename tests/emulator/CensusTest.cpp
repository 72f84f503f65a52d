// SPDX-License-Identifier: Apache-2.0
// Every instruction that LLVM can encode for a target has a row of semantics, or is out of scope
// for a reason that is written down. That is a matter of decoding, with one choice of operands
// (Census.h): what a row computes, and what modifiers do, is for the tests of the rows.
//
// With RUBIA_TEST_CENSUS=FOLDER the test also writes what is refused to FOLDER/missing-TARGET.txt.
#include "tests/emulator/Census.h"
#include "emulator/lib/decode/Decoder.h"
#include "emulator/lib/decode/OutOfScope.h"
#include "tests/emulator/Targets.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <map>
#include <set>

using namespace llvm;

namespace rubia::emulator::test {
namespace {

struct Refused {
  EncodableInstruction instruction;
  std::string key; // our name, or LLVM's where we have none
  std::string reason;
};

struct Families {
  std::map<std::string, std::set<std::string>> names; // by family
  std::vector<Refused> refused;
};

/// Once for each target.
const Families &takeCensus(const TargetCase &wanted) {
  static std::map<std::string, Families> taken;
  auto [place, isNew] = taken.try_emplace(wanted.name());
  Families &result = place->second;
  if (!isNew)
    return result;
  auto target = emulator::Target::create(wanted.cpu, wanted.waveSize);
  if (!target) {
    ADD_FAILURE() << toString(target.takeError());
    return result;
  }
  Program program;
  Decoder decoder(**target, program, wanted.waveSize);
  for (EncodableInstruction &one : encodableInstructions(wanted.cpu, wanted.waveSize)) {
    const std::string key = one.name.empty() ? one.fullName : one.name;
    result.names[one.family].insert(key);
    MCInst inst;
    const uint64_t size = (*target)->disassemble(inst, one.bytes, 0);
    Diagnostic diagnostic = decoder.decode(inst, 0, 0, size);
    if (!diagnostic.empty())
      result.refused.push_back({std::move(one), key, diagnostic});
  }
  return result;
}

void write(const std::string &folder, const TargetCase &target, const Families &families) {
  std::error_code error;
  raw_fd_ostream os(folder + "/missing-" + target.name() + ".txt", error);
  if (error) {
    ADD_FAILURE() << folder << ": " << error.message();
    return;
  }
  for (const auto &[family, names] : families.names) {
    std::map<std::string, std::string> lines;
    for (const Refused &one : families.refused)
      if (one.instruction.family == family && !findOutOfScope(one.key, one.instruction.fullName))
        lines[one.key] =
            one.instruction.fullName + " | " + one.instruction.text + " | " + one.reason;
    os << "== " << family << ": " << names.size() << " encodable, " << lines.size() << " missing\n";
    for (auto &[name, line] : lines)
      os << name << " | " << line << "\n";
  }
}

class Census : public testing::TestWithParam<TargetCase> {};

TEST_P(Census, WhatCanBeEncodedIsExecutedOrOutOfScope) {
  const Families &families = takeCensus(GetParam());
  // LLVM has well over a thousand for each; far fewer would mean that the enumeration broke.
  size_t count = 0;
  for (const auto &[family, names] : families.names)
    count += names.size();
  EXPECT_GT(count, 1000u);
  for (const Refused &one : families.refused)
    EXPECT_TRUE(findOutOfScope(one.key, one.instruction.fullName))
        << one.instruction.fullName << ": " << one.instruction.text << ": " << one.reason;
  if (const char *folder = getenv("RUBIA_TEST_CENSUS"))
    write(folder, GetParam(), families);
}

INSTANTIATE_TEST_SUITE_P(Targets, Census, testing::ValuesIn(kTargetCases), nameOf);

TEST(OutOfScopeInstructions, AreRefusedOnSomeTarget) {
  std::set<std::string> refused;
  // One of each generation.
  std::map<targets::Generation, const char *> names;
  for (const targets::Target &row : targets::all())
    names.try_emplace(row.generation, row.name.data());
  for (const auto &[generation, name] : names)
    for (const TargetCase &target : casesOf({name}))
      for (const Refused &one : takeCensus(target).refused)
        if (const OutOfScope *row = findOutOfScope(one.key, one.instruction.fullName))
          refused.insert(row->name.str());
  for (size_t i = 0; i < kOutOfScope.count; ++i)
    EXPECT_TRUE(refused.count(kOutOfScope.rows[i].name.str()))
        << kOutOfScope.rows[i].name.str() << " is executed, or no target has it";
}

} // namespace
} // namespace rubia::emulator::test
