// SPDX-License-Identifier: Apache-2.0
// Linking is done on the text: symbols are resolved by what the parser knows of each unit, and then
// the statements of all units are written one behind the other, without those that lost. PTX wants
// declarations before uses, which a symbol of a later unit would not be; so prototypes of all
// functions come first, then variables, declared before where an initialiser needs one that comes
// later, then bodies.
#include "ptx-frontend/Linker.h"
#include "ptx-frontend/DriverFunctions.h"
#include "ptx-frontend/Parser.h"
#include "ptx-frontend/lib/GridSync.h"
#include "ptx-frontend/lib/Parser.h"
#include "ptx-frontend/lib/TypeNames.h"
#include "ptx-frontend/lib/UnitText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include <functional>
#include <set>

using namespace llvm;

namespace rubia::ptx {

char LinkError::ID = 0;
void LinkError::log(raw_ostream &os) const { os << kPrefix << message; }
std::error_code LinkError::convertToErrorCode() const { return inconvertibleErrorCode(); }

namespace {

constexpr StringLiteral kNothing = ".version 7.0\n.target sm_50\n.address_size 64\n";

struct Unit {
  unsigned input;
  StringRef name;
  bool isLibrary;
  ParseResult parsed;
  UnitText text;
  StringMap<const Variable *> variables; // at module scope

  /// Null where its statement is in error: the diagnostics tell.
  const Variable *variable(StringRef name) const { return variables.lookup(name); }
};

/// Where a symbol is defined or declared.
struct Place {
  size_t unit;
  const Statement *statement;
};

/// What the units say of a name that they share.
struct Symbol {
  std::vector<Place> places;
  Place chosen{0, nullptr}; // its definition; none if it is only declared
};

class Linker {
public:
  explicit Linker(LinkOptions options) : options(options) {}
  Error add(const LinkInput &input);
  bool declares(ArrayRef<StringRef> names) const; // what no unit so far defines
  Expected<Linked> run();

private:
  bool isShared(const Statement &statement) const { return statement.linkage != Linkage::Internal; }
  bool isAlias(const Unit &unit, StringRef name) const {
    const Function *function = unit.parsed.module.function(name);
    return function && function->aliasOf;
  }
  bool isDefinition(const Unit &unit, const Statement &statement) const;
  void leaveOutLibraries();
  Error haveTargetInCommon() const;
  void collect();
  void renameLocals();
  Error choose(StringRef name, Symbol &symbol);
  Error agree(StringRef name, const Symbol &symbol);
  bool isDropped(const Statement &statement) const;

  std::string header() const;
  bool hasPrototype(const Unit &unit, const Statement &statement) const;
  std::string prototype(const Unit &unit, const Statement &statement) const;
  void print(StringRef text);
  void print(const Unit &unit, size_t token, const Twine &text);
  void printFiles();
  void printPrototypes();
  void printVariables();
  void printBodies();

  const LinkOptions options;
  std::vector<std::unique_ptr<Unit>> units;
  StringMap<Symbol> symbols; // those that units share
  StringSet<> addressed;     // new words of initialisers: kernels are among them
  Linked result;
  unsigned line = 1; // that is written next
};

bool Linker::isDefinition(const Unit &unit, const Statement &statement) const {
  if (statement.linkage == Linkage::Extern)
    return false;
  return statement.kind == Statement::Kind::Variable || statement.hasBody ||
         isAlias(unit, statement.name);
}

Error Linker::add(const LinkInput &input) {
  const auto number = unsigned(result.inputs.size());
  result.inputs.push_back(input.name);
  auto unit = std::make_unique<Unit>(
      Unit{number, input.name, input.isLibrary, parse(input.name, input.text), {}, {}});
  if (!unit->parsed.usable) {
    std::string all;
    for (const Diagnostic &d : unit->parsed.diagnostics)
      all += (all.empty() ? "" : "\n") + format(d, input.name, input.text);
    return createStringError(inconvertibleErrorCode(), all.empty() ? "malformed PTX" : all);
  }
  const Module &m = unit->parsed.module;
  if (m.versionMajor < 3 || m.sm < 20) // without a rounding or .ftz they mean something else
    return createStringError(inconvertibleErrorCode(),
                             input.name + ": PTX before version 3.0 or for sm_1x cannot be linked");
  Expected<UnitText> text = UnitText::scan(*unit->parsed.module.text);
  if (!text)
    return createStringError(inconvertibleErrorCode(),
                             input.name + ":" + toString(text.takeError()));
  unit->text = std::move(*text);
  for (const Variable *variable : unit->parsed.module.variables)
    unit->variables[variable->name] = variable;
  units.push_back(std::move(unit));
  return Error::success();
}

bool Linker::declares(ArrayRef<StringRef> names) const {
  bool found = false;
  for (const auto &unit : units)
    for (const Statement &statement : unit->text.statements)
      if (is_contained(names, statement.name)) {
        if (isDefinition(*unit, statement))
          return false;
        found = true;
      }
  return found;
}

// Units of archives that nobody needs. As a linker does, one after the other is taken that defines
// what is only declared so far, or kernels that are visible: the host calls those. libcudadevrt's
// are not.
void Linker::leaveOutLibraries() {
  StringSet<> defined, declared;
  auto take = [&](const Unit &unit) {
    for (const Statement &statement : unit.text.statements)
      if (!statement.name.empty() && isShared(statement))
        (isDefinition(unit, statement) ? defined : declared).insert(statement.name);
  };
  std::vector<const Unit *> open;
  for (const auto &unit : units)
    if (unit->isLibrary)
      open.push_back(unit.get());
    else
      take(*unit);
  auto isHosts = [](const Statement &statement) {
    return statement.isKernel && statement.linkage != Linkage::Internal;
  };
  auto isNeeded = [&](const Unit *unit) {
    return any_of(unit->text.statements, [&](const Statement &statement) {
      return !statement.name.empty() && isShared(statement) && isDefinition(*unit, statement) &&
             (declared.contains(statement.name) || isHosts(statement)) &&
             !defined.contains(statement.name);
    });
  };
  for (auto found = find_if(open, isNeeded); found != open.end(); found = find_if(open, isNeeded)) {
    take(**found);
    open.erase(found);
  }
  erase_if(units, [&](const auto &unit) { return is_contained(open, unit.get()); });
}

void Linker::collect() {
  for (size_t u = 0; u < units.size(); ++u)
    for (const Statement &statement : units[u]->text.statements)
      if ((statement.kind == Statement::Kind::Function ||
           statement.kind == Statement::Kind::Variable) &&
          isShared(statement))
        symbols[statement.name].places.push_back({u, &statement});
}

// A name of one unit's own gets a number where another unit has it too. No range of registers has
// such a name, since these end with a digit. A kernel keeps its name, by which the host calls it,
// unless units share it or one before has it.
void Linker::renameLocals() {
  StringMap<size_t> owners; // units that have a symbol of this name, at module scope
  for (auto &unit : units) {
    StringSet<> seen;
    for (const Statement &statement : unit->text.statements)
      if (!statement.name.empty() && seen.insert(statement.name).second)
        ++owners[statement.name];
  }
  StringSet<> kept;
  for (size_t u = 0; u < units.size(); ++u) {
    UnitText &text = units[u]->text;
    StringSet<> keptHere;
    for (const Statement &statement : text.statements) {
      if ((statement.kind != Statement::Kind::Function &&
           statement.kind != Statement::Kind::Variable) ||
          isShared(statement) || owners[statement.name] < 2)
        continue;
      if (statement.isKernel && !symbols.contains(statement.name) &&
          (keptHere.contains(statement.name) || !kept.contains(statement.name))) {
        kept.insert(statement.name);
        keptHere.insert(statement.name);
        continue;
      }
      std::string name = (statement.name + "$unit" + Twine(u) + "$").str();
      while (owners.contains(name))
        name += "$";
      text.renamed[statement.name] = name;
    }
  }
}

// The definition that counts: the strong one, else the first weak one, else the largest common one.
Error Linker::choose(StringRef name, Symbol &symbol) {
  auto rank = [](const Statement &statement) {
    return statement.linkage == Linkage::Common ? 1 : statement.linkage == Linkage::Weak ? 2 : 3;
  };
  auto sizeOf = [&](const Place &place) {
    const Variable *variable = units[place.unit]->variable(name);
    return variable ? variable->sizeInBytes : 0;
  };
  for (const Place &place : symbol.places) {
    if (!isDefinition(*units[place.unit], *place.statement))
      continue;
    Place &chosen = symbol.chosen;
    const int ours = rank(*place.statement), best = chosen.statement ? rank(*chosen.statement) : 0;
    if (ours == 3 && best == 3) {
      const std::string text = "multiple definition of '" + name.str() + "', in '" +
                               units[chosen.unit]->name.str() + "' and in '" +
                               units[place.unit]->name.str() + "'";
      if (!options.takesFirst)
        return make_error<LinkError>(text);
      result.ignored.push_back(text);
    }
    if (ours > best || (ours == 1 && best == 1 && sizeOf(place) > sizeOf(chosen)))
      chosen = place;
  }
  return Error::success();
}

// Whether all units mean the same by a name.
Error Linker::agree(StringRef name, const Symbol &symbol) {
  const Place &reference = symbol.chosen.statement ? symbol.chosen : symbol.places.front();
  auto differs = [&](const Place &place, const char *what) {
    return make_error<LinkError>("'" + name.str() + "' has another " + what + " in '" +
                                 units[place.unit]->name.str() + "' than in '" +
                                 units[reference.unit]->name.str() + "'");
  };
  for (const Place &place : symbol.places) {
    if (place.statement->kind != reference.statement->kind ||
        place.statement->isKernel != reference.statement->isKernel)
      return differs(place, "kind");
    if (place.statement->kind == Statement::Kind::Variable) {
      const Variable *a = units[place.unit]->variable(name);
      const Variable *b = units[reference.unit]->variable(name);
      if (!a || !b)
        continue;
      if (a->space != b->space)
        return differs(place, "state space");
      const bool fits = place.statement->linkage == Linkage::Common
                            ? a->sizeInBytes <= b->sizeInBytes // it gives way
                            : a->sizeInBytes == b->sizeInBytes;
      if (!a->incomplete && !b->incomplete && !fits)
        return differs(place, "size");
      continue;
    }
    const Function *a = units[place.unit]->parsed.module.function(name);
    const Function *b = units[reference.unit]->parsed.module.function(name);
    if (a && b &&
        (!sameSignature(a->results, b->results) || !sameSignature(a->parameters, b->parameters)))
      return differs(place, "signature");
  }
  return Error::success();
}

// Of a shared symbol only the chosen definition stays.
bool Linker::isDropped(const Statement &statement) const {
  if (!isShared(statement))
    return false;
  const Symbol &symbol = symbols.find(statement.name)->second;
  if (symbol.chosen.statement)
    return &statement != symbol.chosen.statement;
  // Declarations: one of them, of arrays of unknown size the one with the largest alignment.
  const Place *kept = nullptr;
  uint32_t most = 0;
  for (const Place &place : symbol.places) {
    const Variable *variable = units[place.unit]->variable(statement.name);
    const uint32_t alignment = variable ? variable->alignment : 0;
    if (!kept || alignment > most) {
      kept = &place;
      most = alignment;
    }
  }
  return &statement != kept->statement;
}

// The unit for the newest target.
const Unit &newestOf(ArrayRef<std::unique_ptr<Unit>> units) {
  return **llvm::max_element(units, [](const auto &a, const auto &b) {
    return a->parsed.module.sm < b->parsed.module.sm;
  });
}

// PTX ISA: ptx-module-directives-target: what is for sm_90a runs on that alone, for sm_100f on its
// family.
Error Linker::haveTargetInCommon() const {
  auto name = [](const Module &m) {
    return "sm_" + std::to_string(m.sm) + (m.smVariant ? std::string(1, m.smVariant) : "");
  };
  const Unit &newest = newestOf(units);
  const unsigned sm = newest.parsed.module.sm;
  for (const auto &unit : units) {
    const Module &m = unit->parsed.module;
    if ((m.smVariant == 'a' && m.sm != sm) || (m.smVariant == 'f' && m.sm / 10 != sm / 10))
      return make_error<LinkError>("'" + unit->name.str() + "' is for " + name(m) + " and '" +
                                   newest.name.str() + "' for " + name(newest.parsed.module) +
                                   ": no GPU is both");
  }
  return Error::success();
}

std::string Linker::header() const {
  auto version = [](const Module &m) { return std::pair(m.versionMajor, m.versionMinor); };
  std::pair<unsigned, unsigned> newest = {0, 0};
  bool isOwn = false, isOfFamily = false, isIndependent = false, isDebug = false;
  for (const auto &unit : units) {
    const Module &m = unit->parsed.module;
    newest = std::max(newest, version(m));
    isOwn |= m.smVariant == 'a';
    isOfFamily |= m.smVariant == 'f';
    isIndependent |= m.texmodeIndependent;
    isDebug |= m.debug;
  }
  std::string text = (".version " + Twine(newest.first) + "." + Twine(newest.second) +
                      "\n.target sm_" + Twine(newestOf(units).parsed.module.sm))
                         .str();
  text += isOwn ? "a" : isOfFamily ? "f" : "";
  text += isIndependent ? ", texmode_independent" : "";
  text += isDebug ? ", debug" : "";
  text += "\n.address_size " + std::to_string(units.front()->parsed.module.addressSize) + "\n";
  return text + ".pragma \"" + kLinkedPragma.str() + "\";\n";
}

void Linker::print(StringRef text) {
  result.text += text;
  line += unsigned(text.count('\n'));
}

// In a line of its own, which is that of the token.
void Linker::print(const Unit &unit, size_t token, const Twine &text) {
  result.origins.push_back({line, unit.input, unit.text.lineOf(token)});
  print((text + "\n").str());
}

std::string Linker::prototype(const Unit &unit, const Statement &statement) const {
  return wordOf(statement.linkage).str() +
         unit.text.print(statement.declaration, statement.signature) +
         (statement.isNoReturn ? " .noreturn;" : ";");
}

// Of kernels those that are declared anywhere, or that an initialiser may name: their addresses are
// taken.
bool Linker::hasPrototype(const Unit &unit, const Statement &statement) const {
  if (statement.kind != Statement::Kind::Function || isDropped(statement))
    return false;
  if (!statement.isKernel || !statement.hasBody ||
      addressed.contains(unit.text.newName(statement.name)))
    return true;
  auto symbol = symbols.find(statement.name);
  return isShared(statement) && any_of(symbol->second.places, [](const Place &place) {
           return !place.statement->hasBody;
         });
}

void Linker::printPrototypes() {
  for (const auto &unit : units) {
    StringSet<> own; // local functions that have one
    for (const Statement &statement : unit->text.statements)
      if (hasPrototype(*unit, statement) &&
          (isShared(statement) || own.insert(statement.name).second))
        print(*unit, statement.declaration, prototype(*unit, statement));
  }
}

// In the order of the units. What an initialiser names and comes later is a definition that units
// share: it is declared before.
void Linker::printVariables() {
  struct Entry {
    const Unit *unit;
    const Statement *statement;
    bool isDeclared = false;
  };
  std::vector<Entry> entries;
  StringMap<size_t> byName; // as written
  for (const auto &unit : units)
    for (const Statement &statement : unit->text.statements)
      if (statement.kind == Statement::Kind::Variable && !isDropped(statement)) {
        byName[unit->text.newName(statement.name)] = entries.size();
        entries.push_back({unit.get(), &statement});
      }
  for (Entry &entry : entries) {
    entry.isDeclared = true;
    entry.unit->text.forEachWord(*entry.statement, [&](StringRef word) {
      auto found = byName.find(entry.unit->text.newName(word));
      if (found == byName.end() || entries[found->second].isDeclared)
        return;
      Entry &later = entries[found->second];
      later.isDeclared = true;
      print(*later.unit, later.statement->declarator,
            ".extern " + later.unit->text.printVariable(*later.statement, false));
    });
    print(*entry.unit, entry.statement->declarator,
          wordOf(entry.statement->linkage) +
              entry.unit->text.printVariable(*entry.statement, true));
  }
}

void Linker::printBodies() {
  for (const auto &unit : units)
    for (const Statement &statement : unit->text.statements)
      if (statement.hasBody && !isDropped(statement))
        print(*unit, statement.first, unit->text.print(statement.first, statement.last));
  for (const auto &unit : units)
    for (const Statement &statement : unit->text.statements)
      if (statement.kind == Statement::Kind::Alias) {
        auto symbol = symbols.find(statement.name);
        const bool isChosen = symbol == symbols.end() || !symbol->second.chosen.statement ||
                              units[symbol->second.chosen.unit] == unit;
        if (isChosen)
          print(*unit, statement.first, unit->text.print(statement.first, statement.last));
      }
}

// Numbers of files, which each unit counts from 1, and pragmas.
void Linker::printFiles() {
  unsigned nextFile = 0;
  for (const auto &unit : units) {
    unit->text.firstFile = nextFile;
    for (const SourceFile &file : unit->parsed.module.files) {
      print((".file " + Twine(unit->text.firstFile + file.number) + " \"" + file.path + "\"\n")
                .str());
      nextFile = std::max(nextFile, unit->text.firstFile + file.number + 1);
    }
    for (const Statement &statement : unit->text.statements)
      if (statement.kind == Statement::Kind::Pragma)
        print(*unit, statement.first, unit->text.print(statement.first, statement.last));
  }
}

Expected<Linked> Linker::run() {
  leaveOutLibraries();
  if (units.empty()) {
    result.text = kNothing;
    return std::move(result);
  }
  if (any_of(units, [&](const auto &unit) {
        return unit->parsed.module.addressSize != units.front()->parsed.module.addressSize;
      }))
    return make_error<LinkError>("units with addresses of different sizes");
  if (Error error = haveTargetInCommon())
    return std::move(error);
  collect();
  for (auto &entry : symbols) {
    if (Error error = choose(entry.first(), entry.second))
      return std::move(error);
    if (Error error = agree(entry.first(), entry.second))
      return std::move(error);
  }
  renameLocals();
  for (const auto &unit : units) {
    for (const Diagnostic &diagnostic : unit->parsed.diagnostics)
      result.diagnostics.push_back(
          {unit->input, diagnostic,
           format(diagnostic, unit->name, StringRef(*unit->parsed.module.text))});
    for (const Statement &statement : unit->text.statements)
      if (statement.kind == Statement::Kind::Variable)
        unit->text.forEachWord(statement,
                               [&](StringRef word) { addressed.insert(unit->text.newName(word)); });
  }
  print(header());
  printFiles();
  printPrototypes();
  printVariables();
  printBodies();
  return std::move(result);
}

} // namespace

Expected<Linked> linkUnits(ArrayRef<LinkInput> inputs, LinkOptions options) {
  Linker linker(options);
  for (const LinkInput &input : inputs)
    if (Error error = linker.add(input))
      return std::move(error);
  if (linker.declares({kGridHandle, kGridSync}))
    if (Error error = linker.add({"grid.sync()", kGridSyncUnit.str(), /*isLibrary=*/true}))
      return std::move(error);
  return linker.run();
}

Expected<std::string> link(ArrayRef<LinkInput> inputs) {
  Expected<Linked> linked = linkUnits(inputs);
  if (!linked)
    return linked.takeError();
  return std::move(linked->text);
}

std::optional<std::pair<unsigned, Diagnostic>> Linked::origin(const Diagnostic &diagnostic) const {
  auto behind = llvm::upper_bound(origins, diagnostic.line,
                                  [](unsigned line, const LinkOrigin &o) { return line < o.line; });
  if (!diagnostic.line || behind == origins.begin())
    return std::nullopt;
  const LinkOrigin &found = *std::prev(behind);
  Diagnostic own = diagnostic;
  own.line = found.unitLine + (diagnostic.line - found.line);
  return std::pair(found.input, std::move(own));
}

std::vector<std::string> unresolved(const Module &module) {
  std::set<StringRef> named;
  auto note = [&](const Variable *v, const Function *f) {
    if (v && !v->function && v->linkage == Linkage::Extern && v->space != StateSpace::Shared)
      named.insert(v->name);
    if (f && !f->isKernel && !f->hasBody && !f->aliasOf && !isDriverFunction(f->name) &&
        !isUnsupportedDriverFunction(f->name))
      named.insert(f->name);
  };
  std::function<void(ArrayRef<Operand>)> visit = [&](ArrayRef<Operand> operands) {
    for (const Operand &operand : operands) {
      note(operand.variable(), operand.function());
      visit(operand.elements());
    }
  };
  for (const Function *function : module.functions)
    for (const Instruction &instruction : function->body)
      visit(instruction.operands);
  for (const Variable *variable : module.variables)
    for (const Relocation &r : variable->relocations)
      note(r.variable, r.function);
  return {named.begin(), named.end()};
}

} // namespace rubia::ptx
