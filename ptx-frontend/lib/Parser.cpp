// SPDX-License-Identifier: Apache-2.0
// The module level: header, directives, recovery.

#include "ptx-frontend/lib/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <tuple>

using llvm::StringRef;
using llvm::Twine;

namespace rubia::ptx {

using Kind = Token::Kind;

ParseResult parse(std::string name, std::string text) {
  ParseResult result;
  result.module.name = std::move(name);
  while (!text.empty() && text.back() == '\0') // containers pad with NULs
    text.pop_back();
  if (StringRef rest = StringRef(text).rtrim(); rest.ends_with("\x1a")) // DOS
    text.resize(rest.size() - 1);
  result.module.text = std::make_shared<const std::string>(std::move(text));
  ModuleParser(result).run();
  return result;
}

bool ParseResult::hasErrors() const {
  for (const Diagnostic &diagnostic : diagnostics)
    if (diagnostic.severity == Severity::Error)
      return true;
  return false;
}

ModuleParser::ModuleParser(ParseResult &result)
    : result(result), diagnostics(result.diagnostics), module(result.module),
      storage(*result.module.storage), text(*result.module.text), lexer(text),
      names(text, text.size() / 512), operands(storage.arena) {
  // A module of N characters can use at most N registers and a few times as many bytes of data.
  registerBudget = (1u << 20) + text.size();
  initializerBudget = (64u << 20) + 8 * uint64_t(text.size());
}

void ModuleParser::run() {
  if (text.size() >= (1ull << 32) - 16) {
    error(0, "the text is longer than 4 GiB");
    return;
  }
  token = lexer.next();
  result.usable = parseHeader();
  if (result.usable)
    parseTopLevel();
  finish();
}

// ---------- Tokens and errors

std::string ModuleParser::found() const {
  switch (token.kind) {
  case Kind::End:
    return "end of file";
  case Kind::UnterminatedComment:
    return "a comment without end";
  case Kind::UnterminatedString:
    return "a string without end";
  case Kind::Preprocessor:
    return "a preprocessor line";
  case Kind::Invalid:
    if (token.length == 1 && !llvm::isPrint(spell(token)[0]))
      return "character " + llvm::utohexstr(uint8_t(spell(token)[0]), /*LowerCase=*/true, 2);
    for (auto [prefix, digits] : {std::pair("0f", 8), {"0d", 16}})
      if (spell(token).starts_with_insensitive(prefix))
        return ("'" + spell(token).take_front(60) + "', where " + prefix + " takes " +
                Twine(digits) + " hexadecimal digits")
            .str();
    break;
  default:
    break;
  }
  return ("'" + spell(token).take_front(60) + "'").str();
}

bool ModuleParser::error(uint32_t place, const Twine &message, bool unsupported) {
  if (current)
    current->valid = false;
  diagnostics.add(Severity::Error, place, current ? current->name : StringRef(), message,
                  unsupported);
  return false;
}

void ModuleParser::warning(uint32_t place, const Twine &message) {
  diagnostics.add(Severity::Warning, place, "", message, /*unsupported=*/false);
}

bool ModuleParser::expectedHere(const Twine &what) {
  return errorHere("expected " + what + ", found " + found());
}

bool ModuleParser::expect(Kind kind, StringRef what) {
  if (take(kind))
    return true;
  return expectedHere(what);
}

// The `;` of a statement. Where it is missing at the end of a line, the next line is a statement of
// its own: it is not skipped.
bool ModuleParser::endStatement(StringRef after) {
  if (take(Kind::Semicolon))
    return true;
  bool nextLine = token.startsLine || at(Kind::RightBrace) || at(Kind::End);
  error(nextLine ? previousEnd : token.offset,
        "expected ';' after " + after + ", found " + found());
  return nextLine;
}

// After an error inside a statement: to its `;`, or before the `}` that ends its block.
void ModuleParser::skipStatement() {
  while (!at(Kind::End)) {
    if (at(Kind::Semicolon) && braces == 0)
      break;
    if (at(Kind::RightBrace)) {
      if (braces == 0)
        return;
      --braces;
    } else if (at(Kind::LeftBrace)) {
      ++braces;
    } else if (at(Kind::Semicolon)) { // `{` was never closed
      break;
    }
    advance();
  }
  braces = 0;
  take(Kind::Semicolon);
}

// At a `{`: past the matching `}`.
void ModuleParser::skipBraces() {
  uint64_t open = 0;
  do {
    if (at(Kind::LeftBrace))
      ++open;
    else if (at(Kind::RightBrace))
      --open;
    advance();
  } while (open && !at(Kind::End));
}

// After an error at module level: past the statement's `;` or body, or before a directive that
// starts a line.
void ModuleParser::skipToTopLevel() {
  bool first = true;
  while (!at(Kind::End)) {
    if (take(Kind::Semicolon))
      return;
    if (at(Kind::LeftBrace)) {
      skipBraces();
      if (braces)
        continue;
      take(Kind::Semicolon);
      return;
    }
    braces -= braces && at(Kind::RightBrace); // of an initialiser
    if (!first && at(Kind::Dot) && token.startsLine)
      switch (directive()) {
      case Directive::Visible:
      case Directive::Extern:
      case Directive::Weak:
      case Directive::Common:
      case Directive::Entry:
      case Directive::Func:
      case Directive::Global:
      case Directive::Const:
      case Directive::Shared:
      case Directive::File:
      case Directive::Section:
        return;
      default: // may be inside the broken statement
        break;
      }
    first = false;
    advance();
  }
}

Directive ModuleParser::directive() const {
  if (!at(Kind::Dot))
    return Directive::None;
  Name *name = names.find(spell(token));
  return name ? name->directive : Directive::None;
}

// ---------- Header. PTX ISA: ptx-module-directives

bool ModuleParser::parseHeader() {
  // Debug information and pragmas cannot come before it; blanks and comments can.
  if (directive() != Directive::Version)
    return expectedHere("'.version'");
  if (!parseVersion())
    return false;
  if (directive() != Directive::Target)
    return expectedHere("'.target'");
  return parseTarget();
}

// The table has all of the first, and some instructions of those up to the second.
static constexpr std::pair<unsigned, unsigned> kNewestWholeVersion{9, 1}, kNewestVersion{9, 3};

bool ModuleParser::isOfNewerVersion() const {
  return std::pair(module.versionMajor, module.versionMinor) > kNewestWholeVersion;
}

bool ModuleParser::parseVersion() {
  advance();
  // "8.3" is lexed as a float, which is fine: it is read as text.
  StringRef version = spell(token);
  auto [major, minor] = version.split('.');
  if (!at(Kind::Float) || major.getAsInteger(10, module.versionMajor) ||
      minor.getAsInteger(10, module.versionMinor) || module.versionMajor < 1 ||
      module.versionMajor > 99 || module.versionMinor > 9)
    return expectedHere("a version such as 8.0");
  if (std::pair(module.versionMajor, module.versionMinor) > kNewestVersion)
    warning(token.offset, "PTX " + Twine(version) + " is newer than " +
                              Twine(kNewestVersion.first) + "." + Twine(kNewestVersion.second) +
                              ", the newest version that is known");
  advance();
  return true;
}

// The first version that has the target; 0.0 for one that Targets.def does not have.
static Version firstVersionOf(unsigned sm, char variant) {
#define PTX_TARGET(Sm, Variant, Major, Minor)                                                      \
  if (sm == Sm && variant == Variant)                                                              \
    return {Major, Minor};
#include "ptx-frontend/Targets.def"
  return {};
}

bool ModuleParser::parseTarget() {
  advance();
  uint32_t mapPlace = 0, targetPlace = 0;
  do {
    StringRef name = spell(token);
    uint32_t place = token.offset;
    if (!expect(Kind::Word, "a target such as sm_80"))
      return false;
    if (name.consume_front("sm_") || name.consume_front("compute_")) {
      targetPlace = place;
      if (name.ends_with("a") || name.ends_with("f")) {
        module.smVariant = name.back();
        name = name.drop_back();
      }
      if (name.getAsInteger(10, module.sm) || module.sm < 10 || module.sm > 999)
        return error(place, "expected a target such as sm_80, found '" + Twine(name) + "'");
    } else if (name == "texmode_independent") {
      module.texmodeIndependent = true;
    } else if (name == "debug") {
      module.debug = true;
    } else if (name == "map_f64_to_f32") {
      module.mapF64ToF32 = true;
      mapPlace = place;
    } else if (name != "texmode_unified") {
      return error(place, "unknown target '" + Twine(name) + "'");
    }
  } while (take(Kind::Comma));
  if (module.sm == 0)
    return error(previousEnd, "expected a target such as sm_80");
  Version first = firstVersionOf(module.sm, module.smVariant);
  if (Version{uint8_t(module.versionMajor), uint8_t(module.versionMinor)} < first)
    return error(targetPlace, "the target needs PTX " + Twine(unsigned(first.major)) + "." +
                                  Twine(unsigned(first.minor)));
  if (module.mapF64ToF32 && module.sm >= 13) // which has .f64
    return error(mapPlace, "'map_f64_to_f32' is for targets before sm_13");
  return true;
}

// ---------- Statements

void ModuleParser::parseTopLevel() {
  if (directive() == Directive::AddressSize && !parseAddressSize())
    skipToTopLevel();
  while (!at(Kind::End)) {
    current = nullptr;
    braces = 0;
    if (!parseTopLevelStatement()) {
      current = nullptr;
      skipToTopLevel();
    }
  }
  current = nullptr;
}

Linkage ModuleParser::parseLinkage() {
  Linkage linkage = Linkage::Internal;
  switch (directive()) {
  case Directive::Visible:
    linkage = Linkage::Visible;
    break;
  case Directive::Extern:
    linkage = Linkage::Extern;
    break;
  case Directive::Weak:
    linkage = Linkage::Weak;
    break;
  case Directive::Common:
    linkage = Linkage::Common;
    break;
  default: // the statement itself
    return linkage;
  }
  advance();
  return linkage;
}

bool ModuleParser::parseTopLevelStatement() {
  uint32_t start = token.offset;
  Linkage linkage = parseLinkage();
  if (linkage != Linkage::Internal && parseLinkage() != Linkage::Internal)
    return error(start, "a declaration has one linkage directive");
  bool isKernel = directive() == Directive::Entry;
  switch (directive()) {
  case Directive::Entry:
  case Directive::Func:
    if (linkage == Linkage::Common)
      return error(start, "'.common' is for variables in '.global'");
    advance();
    return parseFunction(isKernel, linkage);
  case Directive::Global:
  case Directive::Const:
  case Directive::Shared:
  case Directive::Local:
    return parseVariables(linkage);
  case Directive::Reg:
    return error(token.offset, "unsupported: registers of the module", /*unsupported=*/true);
  case Directive::Tex:
    return parseVariables(linkage);
  case Directive::Param:
    return error(token.offset, "unsupported: parameters of the module", /*unsupported=*/true);
  default: // no linkage can stand before the others
    if (token.offset != start)
      return expectedHere("a variable or function");
    break;
  }
  switch (directive()) {
  case Directive::File:
    return parseFile();
  case Directive::Section:
    return parseSection();
  case Directive::Pragma:
    return parsePragma(kNone);
  case Directive::Alias:
    return parseAlias();
  case Directive::Loc: // LLVM writes one before a function
    return parseLoc();
  case Directive::Target:
    return parseFurtherTarget();
  case Directive::Version:
  case Directive::AddressSize:
    return errorHere(found() + " stands only once, at the beginning of the module");
  default: // nothing else begins a statement
    return expectedHere("a directive");
  }
}

// PTX ISA: ptx-module-directives-target: a later `.target` changes the features that are allowed.
// The newest of all targets holds for the whole module here.
bool ModuleParser::parseFurtherTarget() {
  uint32_t place = token.offset;
  unsigned sm = module.sm;
  char variant = module.smVariant;
  if (!parseTarget())
    return false;
  if ((module.sm < 20) != (sm < 20)) // .f32 means .ftz.f32 before
    return error(place, "unsupported: '.target' changes between sm_1x and later targets",
                 /*unsupported=*/true);
  if (module.sm < sm || (module.sm == sm && variant)) {
    module.sm = sm;
    module.smVariant = variant;
  }
  return true;
}

bool ModuleParser::parseAddressSize() {
  advance();
  uint32_t place = token.offset;
  int64_t size;
  if (!parseInteger(size))
    return false;
  if (size != 32 && size != 64)
    return error(place, "the address size is 32 or 64");
  module.addressSize = unsigned(size);
  return true;
}

// Pragmas are hints: none changes what a program does. PTX ISA: pragma-strings.
bool ModuleParser::parsePragma(uint32_t instruction) {
  advance();
  do {
    Token string = token;
    if (!expect(Kind::String, "a pragma string"))
      return false;
    StringRef hint = spell(string).drop_front().drop_back();
    if (current)
      pragmas.push_back({hint, instruction});
    else
      module.pragmas.push_back(hint);
  } while (take(Kind::Comma));
  return endStatement("pragma");
}

// PTX ISA: debugging-directives-file.
bool ModuleParser::parseFile() {
  advance();
  int64_t number;
  uint32_t place = token.offset;
  if (!parseInteger(number))
    return false;
  if (number < 0 || number > UINT32_MAX)
    return error(place, "file number out of range");
  Token path = token;
  if (!expect(Kind::String, "a file name"))
    return false;
  SourceFile file{uint32_t(number), spell(path).drop_front().drop_back(), {}, {}};
  for (std::optional<uint64_t> *field : {&file.modified, &file.size})
    if (int64_t value; take(Kind::Comma)) {
      if (!parseInteger(value))
        return false;
      *field = uint64_t(value);
    }
  module.files.push_back(file);
  return true;
}

// DWARF data has no effect on the code. PTX ISA: debugging-directives-section.
bool ModuleParser::parseSection() {
  advance();
  Token name = token;
  if (!expect(Kind::Dot, "the name of a section, such as .debug_info"))
    return false;
  uint32_t begin = token.end();
  if (!expect(Kind::LeftBrace, "'{'"))
    return false;
  while (!at(Kind::RightBrace))
    if (!parseSectionStatement())
      return false;
  module.sections.push_back({spell(name), text.slice(begin, token.offset)});
  advance();
  return true;
}

// `label:`, `.b8 1, 2`, `.b32 label+4`, `.b64 label-label`, `.b32 .debug_info`
bool ModuleParser::parseSectionStatement() {
  if (take(Kind::Word))
    return expect(Kind::Colon, "':' after a label");
  Name *name = at(Kind::Dot) ? names.find(spell(token)) : nullptr;
  Type type = name ? typeOf(name->mod) : Type::None;
  if (type != Type::B8 && type != Type::B16 && type != Type::B32 && type != Type::B64)
    return expectedHere("'.b8', '.b16', '.b32', '.b64', a label or '}'");
  advance();
  do {
    if (take(Kind::Minus) || at(Kind::Integer)) {
      if (!expect(Kind::Integer, "a number"))
        return false;
      continue;
    }
    bool isLabel = at(Kind::Word);
    if (!isLabel && !at(Kind::Dot))
      return expectedHere("a number, a label or a section");
    advance();
    if (take(Kind::Plus)) {
      if (!expect(Kind::Integer, "a number"))
        return false;
    } else if (isLabel && take(Kind::Minus) && !expect(Kind::Word, "a label")) {
      return false;
    }
  } while (take(Kind::Comma));
  return true;
}

// PTX ISA: kernel-and-function-directives-alias.
bool ModuleParser::parseAlias() {
  advance();
  Token alias = token;
  if (!expect(Kind::Word, "a function") || !expect(Kind::Comma, "','"))
    return false;
  Token target = token;
  if (!expect(Kind::Word, "a function"))
    return false;
  auto functionNamed = [&](Token word) -> Function * {
    Name *name = names.find(spell(word));
    if (name && name->symbol.kind == Symbol::Kind::Function)
      return name->symbol.function;
    error(word.offset, "undeclared function '" + spell(word) + "'");
    return nullptr;
  };
  Function *from = functionNamed(alias), *to = functionNamed(target);
  if (!from || !to)
    return false;
  for (auto [fn, word] : {std::pair(from, alias), {to, target}})
    if (fn->isKernel)
      return error(word.offset, "kernel '" + Twine(fn->name) + "' cannot be part of an alias");
  if (from->hasBody)
    return error(alias.offset, "alias '" + Twine(from->name) + "' has a body");
  if (from->aliasOf)
    return error(alias.offset, "'" + Twine(from->name) + "' is an alias already");
  if (!sameSignature(from->results, to->results) ||
      !sameSignature(from->parameters, to->parameters))
    return error(alias.offset, "alias '" + Twine(from->name) + "' and '" + Twine(to->name) +
                                   "' have different parameters");
  // No chains, and so no circles.
  if (from == to || aliasTargets.contains(from))
    return error(alias.offset, "'" + Twine(from->name) + "' has an alias already");
  from->aliasOf = to->aliasOf ? to->aliasOf : to;
  aliasTargets.insert(from->aliasOf);
  return endStatement("alias");
}

// ---------- After the last token

void ModuleParser::finish() {
  for (const Function *fn : module.functions) {
    auto &function = const_cast<Function &>(*fn);
    if (function.hasBody)
      verify(module, function, diagnostics);
    if (!function.valid) {
      function.body = {};
      function.labels = {};
      function.pragmas = {};
    }
  }

  // Lines and columns of all diagnostics in one pass over the text.
  std::sort(result.diagnostics.begin(), result.diagnostics.end(), [](const auto &a, const auto &b) {
    return std::tie(a.place, a.message) < std::tie(b.place, b.message);
  });
  const char *at = text.begin(), *lineStart = at;
  uint32_t line = 1;
  for (Diagnostic &diagnostic : result.diagnostics) {
    const char *place = text.begin() + std::min<size_t>(diagnostic.place, text.size());
    while (const void *newline = at < place ? memchr(at, '\n', size_t(place - at)) : nullptr) {
      at = lineStart = static_cast<const char *>(newline) + 1;
      ++line;
    }
    diagnostic.line = line;
    diagnostic.column = uint32_t(place - lineStart) + 1;
  }
}

} // namespace rubia::ptx
