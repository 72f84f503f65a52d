// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/debug/CodePlaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/Demangle/Demangle.h"
#include <algorithm>

using namespace llvm;

namespace rubia::emulator {

bool isNamed(StringRef symbol, StringRef wanted) {
  if (symbol == wanted)
    return true;
  const std::string plain = demangle(symbol);
  return plain == wanted || StringRef(plain).split('(').first == wanted;
}

std::optional<size_t> CodePlaces::findPc(uint64_t pc) const {
  const CodeMap &map = code.program->map;
  const MicroOp *found = map.find(map.imageBase + pc);
  if (!found || found->pc != pc)
    return std::nullopt;
  return size_t(found - code.program->operations.data());
}

namespace {

/// Gives rows of a line table to the operations that they cover.
class RowReader {
public:
  RowReader(const Program &program, std::vector<CodePlaces::Place> &places,
            std::vector<bool> &statements, std::vector<std::string> &names)
      : program(program), places(places), statements(statements), names(names) {}

  void read(const DWARFDebugLine::LineTable &table, StringRef folder) {
    files.assign(table.Prologue.FileNames.size() + 1, kUnread);
    for (const DWARFDebugLine::Sequence &sequence : table.Sequences)
      for (unsigned i = sequence.FirstRowIndex; i + 1 < sequence.LastRowIndex; ++i) {
        const DWARFDebugLine::Row &row = table.Rows[i];
        if (row.Line != 0)
          give(row.Address.Address, table.Rows[i + 1].Address.Address,
               {fileOf(table, row.File, folder), row.Line}, row.IsStmt);
        else // what the compiler has added belongs to the line before it
          give(row.Address.Address, table.Rows[i + 1].Address.Address, last, false);
      }
  }

private:
  static constexpr uint32_t kUnread = ~0u;

  uint32_t fileOf(const DWARFDebugLine::LineTable &table, uint64_t number, StringRef folder) {
    if (number >= files.size())
      return 0;
    if (files[number] != kUnread)
      return files[number];
    std::string name;
    if (!table.getFileNameByIndex(number, folder,
                                  DILineInfoSpecifier::FileLineInfoKind::AbsoluteFilePath, name))
      name = "?";
    const auto known = llvm::find(names, name);
    files[number] = uint32_t(known - names.begin());
    if (known == names.end())
      names.push_back(std::move(name));
    return files[number];
  }

  void give(uint64_t begin, uint64_t end, CodePlaces::Place place, bool isStatement) {
    last = place;
    if (place.line == 0)
      return;
    const auto first = llvm::lower_bound(program.operations, begin,
                                         [](const MicroOp &op, uint64_t pc) { return op.pc < pc; });
    for (auto op = first; op != program.operations.end() && op->pc < end; ++op)
      places[size_t(op - program.operations.begin())] = place;
    if (isStatement && first != program.operations.end() && first->pc == begin)
      statements[size_t(first - program.operations.begin())] = true;
  }

  const Program &program;
  std::vector<CodePlaces::Place> &places;
  std::vector<bool> &statements;
  std::vector<std::string> &names;
  std::vector<uint32_t> files; // of the table, by its numbers: indexes of `names`
  CodePlaces::Place last;
};

} // namespace

CodePlaces::CodePlaces(const SteppedProgram &code, const SourceLines *lines)
    : code(code), lines(lines) {
  const Program &program = *code.program;
  if (!lines)
    return;
  places.resize(program.operations.size());
  statements.resize(program.operations.size());
  RowReader reader(program, places, statements, names);
  lines->inspect([&](DWARFContext &context) {
    for (const auto &unit : context.compile_units()) {
      if (const DWARFDebugLine::LineTable *table = context.getLineTableForUnit(unit.get()))
        reader.read(*table, unit->getCompilationDir() ? unit->getCompilationDir() : "");
      for (const DWARFDebugInfoEntry &entry : unit->dies()) {
        const DWARFDie die(unit.get(), &entry);
        if (die.getTag() != dwarf::DW_TAG_subprogram &&
            die.getTag() != dwarf::DW_TAG_inlined_subroutine)
          continue;
        Expected<DWARFAddressRangesVector> ranges = die.getAddressRanges();
        if (!ranges) {
          consumeError(ranges.takeError());
          continue;
        }
        if (ranges->empty())
          continue;
        const auto lowest =
            llvm::min_element(*ranges, [](const DWARFAddressRange &a, const DWARFAddressRange &b) {
              return a.LowPC < b.LowPC;
            });
        const std::optional<size_t> operation = findPc(lowest->LowPC);
        for (const char *name : {die.getShortName(), die.getLinkageName()})
          if (operation && name)
            functions.push_back({name, *operation});
      }
    }
  });
  if (names.empty()) {
    places.clear();
    statements.clear();
  }
}

std::optional<CodePlaces::Place> CodePlaces::placeOf(size_t operation) const {
  if (places.empty() || places[operation].line == 0)
    return std::nullopt;
  return places[operation];
}

/// Whether `wanted` is the path or its last parts.
static bool isPathOf(StringRef path, StringRef wanted) {
  return wanted.empty() || path == wanted ||
         (path.ends_with(wanted) && path.drop_back(wanted.size()).ends_with("/"));
}

CodePlaces::Line CodePlaces::find(StringRef file, unsigned line) const {
  std::vector<bool> isFile;
  for (const std::string &name : names)
    isFile.push_back(isPathOf(name, file));
  Line found;
  for (size_t i = 0; i < places.size(); ++i) {
    const Place &place = places[i];
    if (place.line < line || place.line == 0 || !isFile[place.file] ||
        (!found.operations.empty() && place.line > found.number))
      continue;
    if (i > 0 && places[i - 1] == place)
      continue; // it goes on
    if (found.number != place.line)
      found.operations.clear();
    found.number = place.line;
    found.operations.push_back(i);
  }
  return found;
}

std::vector<size_t> CodePlaces::findFunction(StringRef name) const {
  std::vector<size_t> found;
  for (const Function &function : functions)
    if (isNamed(function.name, name) && !is_contained(found, function.operation))
      found.push_back(function.operation);
  return found;
}

std::string CodePlaces::embeddedText(StringRef file) const {
  std::string text;
  if (!lines)
    return text;
  lines->inspect([&](DWARFContext &context) {
    for (const auto &unit : context.compile_units()) {
      const DWARFDebugLine::LineTable *table = context.getLineTableForUnit(unit.get());
      const char *folder = unit->getCompilationDir();
      for (uint64_t i = 0; table && i < table->Prologue.FileNames.size(); ++i) {
        std::string name;
        if (table->getFileNameByIndex(i, folder ? folder : "",
                                      DILineInfoSpecifier::FileLineInfoKind::AbsoluteFilePath,
                                      name) &&
            name == file)
          if (const char *source = dwarf::toString(table->Prologue.FileNames[i].Source, nullptr))
            text = source;
      }
    }
  });
  return text;
}

} // namespace rubia::emulator
