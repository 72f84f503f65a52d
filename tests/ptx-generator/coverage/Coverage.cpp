// SPDX-License-Identifier: Apache-2.0
// Writes docs/coverage.md: what becomes of every row of the instruction table. "Lowered": legal
// instances of it go through lowering without an error. "Equal to hardware": its recorded cases.
//   ptx_coverage            to standard output
//   ptx_coverage --check FILE   status 1 if FILE is out of date
// A row has many spellings; all of them are lowered, or a fixed sample where they are too many.

#include "lowering/LaterBodies.h"
#include "ptx-frontend/Parser.h"
#include "ptx-frontend/lib/Spellings.h"
#include "tests/golden/GoldenFile.h"
#include "tests/ptx-generator/InstructionGenerator.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace rubia;
using namespace rubia::test;
using llvm::ArrayRef;
using llvm::StringRef;

namespace {

constexpr unsigned kMaxSpellings = 24;
using Modifiers = std::vector<std::string>;

// All choices of modifiers of a row, until there are more than `most`.
void addSpellings(ArrayRef<ptx::ModifierSlot> slots, Modifiers &chosen, size_t most,
                  std::vector<Modifiers> &all) {
  if (all.size() > most)
    return;
  if (slots.empty()) {
    all.push_back(chosen);
    return;
  }
  if (slots.front().optional)
    addSpellings(slots.drop_front(), chosen, most, all);
  for (unsigned i = 1; i < ptx::modifierCount(); ++i) {
    if (!slots.front().choices.contains(ptx::Modifier(i)))
      continue;
    chosen.push_back(ptx::textOf(ptx::Modifier(i)).str());
    addSpellings(slots.drop_front(), chosen, most, all);
    chosen.pop_back();
  }
}

bool isLowered(const Instance &instance) {
  ptx::ParseResult result = ptx::parse("row", moduleWith(instance.dialect, instance.text()));
  if (result.hasErrors())
    return false;
  for (const lowering::Unit &unit : lowering::partition(result.module)) {
    llvm::LLVMContext context;
    lowering::LaterBodies later; // which nobody asks for
    llvm::Expected<std::unique_ptr<llvm::Module>> module =
        lowering::lower(result.module, unit, {}, context, later);
    if (!module) {
      llvm::consumeError(module.takeError());
      return false;
    }
  }
  return true;
}

// A spelling is lowered if one of a few instances is: some operands are refused by the verifier.
bool isLowered(const ptx::Form &form, const Modifiers &modifiers, Random &random) {
  for (unsigned attempt = 0; attempt < 16; ++attempt)
    if (std::optional<Instance> instance = generate(form, modifiers, random);
        instance && isLowered(*instance))
      return true;
  return false;
}

struct Lowered {
  unsigned spellings = 0, lowered = 0;
  StringRef word() const { return lowered == 0 ? "no" : lowered < spellings ? "partly" : "yes"; }
};

Lowered lower(const ptx::Form &form) {
  Lowered result;
  if (!form.lowered)
    return result;
  Random random(1);
  std::vector<Modifiers> all;
  Modifiers chosen;
  addSpellings(form.modifiers(), chosen, kMaxSpellings, all);
  if (all.size() > kMaxSpellings) { // a sample
    all.clear();
    while (all.size() < kMaxSpellings)
      all.push_back(generate(form, random).modifiers);
  }
  for (const Modifiers &modifiers : all) {
    if (!generate(form, modifiers, random)) // both or none of a pair
      continue;
    ++result.spellings;
    result.lowered += isLowered(form, modifiers, random);
  }
  return result;
}

// What was compared with recorded results of hardware: tests/golden/data/results.tsv, a line
// "mnemonic TAB equal" or another word a case.
class Hardware {
public:
  explicit Hardware(const golden::GoldenFile &file) : device(file.device) {
    for (const golden::GoldenCase &golden : file.cases)
      if (const ptx::Form *form = formOf(golden.test.mnemonic))
        forms[form].recorded = true;
    auto results = llvm::MemoryBuffer::getFile(RUBIA_GOLDEN "/results.tsv");
    if (!results)
      return; // nothing was compared yet
    llvm::SmallVector<StringRef> lines;
    (*results)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
    for (StringRef line : lines) {
      auto [mnemonic, verdict] = line.split('\t');
      if (const ptx::Form *form = formOf(mnemonic)) {
        forms[form].compared = true;
        forms[form].allEqual &= verdict == "equal";
      }
    }
  }

  const std::string device;

  StringRef word(const ptx::Form &form) const {
    Comparison known = forms.lookup(&form);
    return !known.recorded   ? "not recorded"
           : !known.compared ? "recorded"
           : known.allEqual  ? "yes"
                             : "no";
  }
  unsigned recorded() const {
    return llvm::count_if(forms, [](const auto &entry) { return entry.second.recorded; });
  }

private:
  struct Comparison {
    bool recorded = false, compared = false, allEqual = true;
  };
  llvm::DenseMap<const ptx::Form *, Comparison> forms;

  // ".3" at the end of a mnemonic: three sources.
  static const ptx::Form *formOf(StringRef mnemonic) {
    mnemonic.consume_back(".3");
    llvm::BumpPtrAllocator arena;
    const ptx::MatchedSpelling *match = ptx::matchSpelling(mnemonic, arena);
    return match ? match->row : nullptr;
  }
};

std::string coverage(const Hardware &hardware) {
  std::string rows;
  unsigned count = 0, lowered = 0, partly = 0, equal = 0;
  for (const ptx::Form &form : ptx::instructionForms()) {
    StringRef word = lower(form).word(), compared = hardware.word(form);
    ++count;
    lowered += word == "yes";
    partly += word == "partly";
    equal += compared == "yes";
    std::string syntax;
    for (char c : form.syntax())
      syntax += c == '|' ? std::string("\\|") : std::string(1, c);
    rows += "| `" + syntax + "` | " + word.str() + " | " + compared.str() + " |\n";
  }
  return "# Coverage\n\nWritten by `ptx_coverage` from the instruction table. Every form is parsed "
         "and verified.\n\n"
         "**Lowered**: do legal instances of the form become LLVM IR without an error? \"yes\": of "
         "all its spellings;\n\"partly\": of some. Where a form has more than " +
         std::to_string(kMaxSpellings) +
         " spellings, a sample counts. What is lowered is also\nemulated: the emulator has every "
         "instruction that LLVM selects for it (`tests/emulator/CensusTest.cpp`).\n\n"
         "**Equal to hardware**: recorded on an " +
         hardware.device +
         ". \"yes\": Rubia's results on the\nemulator are equal in all recorded cases of the "
         "form. \"recorded\": they have not been compared.\n\n" +
         std::to_string(count) + " forms: " + std::to_string(lowered) + " lowered, " +
         std::to_string(partly) + " partly; " + std::to_string(hardware.recorded()) +
         " recorded on hardware, " + std::to_string(equal) +
         " equal in all cases.\n\n| form | lowered | equal to hardware |\n| --- | --- | --- |\n" +
         rows;
}

} // namespace

int main(int argc, char **argv) {
  auto file = golden::read(RUBIA_GOLDEN "/scalar-sm_90.golden");
  if (!file) {
    llvm::errs() << toString(file.takeError()) << '\n';
    return 1;
  }
  std::string text = coverage(Hardware(*file));
  if (argc < 3) {
    llvm::outs() << text;
    return 0;
  }
  auto old = llvm::MemoryBuffer::getFile(argv[2]);
  if (old && (*old)->getBuffer() == text)
    return 0;
  llvm::errs() << argv[2] << " is out of date: write it with ptx_coverage > " << argv[2] << '\n';
  return 1;
}
