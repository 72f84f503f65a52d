// SPDX-License-Identifier: Apache-2.0
// Recursive descent with one token of lookahead, one function per directive. An error is reported
// where it is found; the statement is skipped, the function it is in becomes invalid, and parsing
// goes on. Nothing recurses without a bound: scopes have a stack, constant expressions and nested
// initialisers a depth limit.
#pragma once

#include "ptx-frontend/Parser.h"
#include "ptx-frontend/lib/DiagnosticLog.h"
#include "ptx-frontend/lib/Lexer.h"
#include "ptx-frontend/lib/Names.h"
#include "ptx-frontend/lib/Spellings.h"
#include "ptx-frontend/lib/Storage.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/Twine.h"
#include <optional>

namespace rubia::ptx {

/// The value of a constant expression. PTX ISA: constants.
struct Constant {
  bool isFloat = false;
  bool isSingle = false;   // 0f: bits are single bits, else double bits
  bool isUnsigned = false; // .u64, else .s64
  uint64_t bits = 0;
};

class ModuleParser {
public:
  ModuleParser(ParseResult &result);
  void run();

private:
  ParseResult &result;
  DiagnosticLog diagnostics;
  Module &module;
  Module::Storage &storage;
  llvm::StringRef text;
  Lexer lexer;
  NameTable names;
  PrefixCache prefixes;
  SpellingCache spellings;
  Token token;              // the lookahead
  uint32_t previousEnd = 0; // of the token before it

  // ---------- Tokens and errors (Parser.cpp)
  void advance() {
    previousEnd = token.end();
    token = lexer.next();
  }
  bool at(Token::Kind kind) const { return token.kind == kind; }
  bool take(Token::Kind kind) {
    if (!at(kind))
      return false;
    advance();
    return true;
  }
  /// Drops the lookahead and `c`, if that stands right behind it: `c` needs no token then.
  bool takeBehind(char c) {
    if (!lexer.take(c))
      return false;
    previousEnd = lexer.position();
    token = c == ',' ? lexer.nextOperand() : lexer.next();
    return true;
  }
  /// The text of a token; nothing is copied.
  llvm::StringRef spell(Token t) const { return text.substr(t.offset, t.length); }
  bool atWarpSize() const { return token.length == 7 && spell(token) == "WARP_SZ"; }
  std::string found() const; // "'add.u32'", "end of file"
  bool expect(Token::Kind kind, llvm::StringRef what);
  /// All report and return false.
  bool error(uint32_t place, const llvm::Twine &message, bool unsupported = false);
  void warning(uint32_t place, const llvm::Twine &message);
  bool errorHere(const llvm::Twine &message) { return error(token.offset, message); }
  bool expectedHere(const llvm::Twine &what);
  bool endStatement(llvm::StringRef after);
  void skipStatement();
  void skipBraces();
  void skipToTopLevel();

  // ---------- Module statements (Parser.cpp)
  bool parseHeader();
  bool parseVersion();
  bool isOfNewerVersion() const; // than the table
  bool parseTarget();
  bool parseFurtherTarget();
  void parseTopLevel();
  bool parseTopLevelStatement();
  bool parseAddressSize();
  bool parsePragma(uint32_t instruction);
  bool parseFile();
  bool parseSection();
  bool parseSectionStatement();
  bool parseAlias();
  Linkage parseLinkage();
  Directive directive() const;
  void finish();

  // ---------- Functions (Functions.cpp)
  bool parseFunction(bool isKernel, Linkage linkage);
  bool parseFunctionHeader(Function &fn, uint32_t place);
  bool parseParameterList(llvm::SmallVectorImpl<const Variable *> &parameters, Function *fn,
                          bool isKernel);
  bool parseAttributes(Function &fn);
  bool endDeclaration(bool isKernel);
  bool parseTriple(uint32_t (&values)[3]);
  bool parseCount(uint32_t &value);
  void parseBody(Function &fn);
  void finishBody(Function &fn);

  // ---------- Variables (Variables.cpp, Initializers.cpp)
  struct Declaration {
    StateSpace space = StateSpace::None;
    Linkage linkage = Linkage::Internal;
    Type type = Type::None;
    uint8_t vectorWidth = 1;
    uint64_t alignment = 0;
    bool managed = false;
    UnifiedId unified;
    bool isPointer = false;
    StateSpace pointerSpace = StateSpace::None;
    uint32_t pointerAlignment = 0;
    bool isReg = false;
  };
  bool parseConstantBank();
  bool parseDeclaration(Declaration &declaration);
  bool parseAttributeList(bool &managed, UnifiedId &unified);
  bool parseAlignment(uint64_t &alignment);
  /// One declarator: name, dimensions, initialiser. Null after an error.
  Variable *parseVariable(const Declaration &declaration, bool isParameter);
  bool parseVariables(Linkage linkage);
  bool parseRegisters();
  RegisterId addRegisters(llvm::StringRef name, const Declaration &declaration, uint32_t count,
                          bool isNumbered);
  bool declareRange(Name *name, const Declaration &declaration, uint64_t count, uint32_t place);
  bool parseInitializer(Variable &variable, llvm::ArrayRef<uint64_t> dimensions);
  bool payForInitializer(const Variable &variable, uint64_t bytes, uint32_t place);
  bool parseOpaqueInitializer(Variable &variable);
  bool parseOpaqueFields(uint64_t element, llvm::SmallVectorImpl<OpaqueField> &fields);
  struct InitializerState;
  bool parseInitializerLevel(InitializerState &state, unsigned level, uint64_t begin);
  bool parseNumberElements(InitializerState &state, uint64_t &index, uint64_t end);
  bool storeBits(InitializerState &state, uint64_t index, uint64_t bits, uint32_t place);
  bool parseInitializerElement(InitializerState &state, uint64_t index);
  bool storeConstant(InitializerState &state, uint64_t index, const Constant &value,
                     uint32_t place);
  bool parseAddressElement(InitializerState &state, uint64_t index, uint64_t mask);
  bool parseAddressTerm(Relocation &relocation);
  bool parseAddend(Relocation &relocation);

  // ---------- Constant expressions (ConstantExpressions.cpp)
  bool parseConstant(Constant &value); // integer or float
  bool parseInteger(int64_t &value);   // an integer expression, for sizes and offsets
  bool parseTernary(Constant &value, unsigned depth);
  bool parseBinary(Constant &value, unsigned minPrecedence, unsigned depth);
  bool parseUnary(Constant &value, unsigned depth);
  bool readNumber(Constant &value); // the token stays
  bool parseNumber(Constant &value);

  // ---------- Names (Scopes.cpp)
  struct Resolved {
    const Symbol *symbol = nullptr; // null: a register of a range, or nothing
    RegisterId reg = kNone;
    uint8_t component = 0xff;
  };
  void pushScope();
  void popScope();
  bool declare(Name *name, const Symbol &symbol, uint32_t place);
  /// Nearly all operands: "%r7", where no single register has such a name and hides the range's.
  [[gnu::always_inline]] RegisterId registerOf(Token word) {
    const char *data = text.data() + word.offset;
    if (*data != '%' || !is(data[word.length - 1], kDigit) || hasPlainNumbers ||
        word.length > NumberedWord::kSize || word.end() < NumberedWord::kSize)
      return kNone;
    NumberedWord split = NumberedWord::split(data, word.length);
    Name *name = prefixes.find(split, data, names);
    if (name && split.number < name->range.count)
      return name->range.first + split.number;
    return numbered(name, split.number, nullptr);
  }
  static RegisterId numbered(const Name *name, uint64_t number, uint32_t *depth);
  Resolved resolve(llvm::StringRef word);
  Resolved resolvePlain(llvm::StringRef word);
  bool undeclared(uint32_t place, llvm::StringRef word); // reports, gives false
  std::string nearestName(llvm::StringRef word);         // empty if none is near

  struct UndoSymbol {
    Name *name;
    Symbol old;
  };
  struct UndoRange {
    Name *name;
    RangeSymbol old;
  };
  struct Scope {
    uint32_t id;
    size_t symbols, ranges; // sizes of the logs when it was entered
  };
  std::vector<UndoSymbol> symbolLog;
  std::vector<UndoRange> rangeLog;
  std::vector<Scope> scopes;
  std::vector<uint32_t> scopeParents; // of the current function's scopes, by id
  uint32_t depth() const { return uint32_t(scopes.size()); }
  uint32_t scopeId() const { return scopes.back().id; }

  // ---------- Statements and operands (Statements.cpp, Operands.cpp)
  bool parseStatement();
  bool parseBodyDirective();
  bool parseLabel(Token name);
  bool parseCallPrototype(Token name);
  bool parseCallTargets(Token name);
  bool parseBranchTargets(Token name);
  bool parseLoc();
  std::optional<Guard> parseGuard();
  bool parseInstruction(Guard guard);
  const MatchedSpelling *spellingOf(llvm::StringRef word, uint32_t place);
  const MatchedSpelling *findSpelling(llvm::StringRef word, uint32_t place);
  /// `ended`: the `;` behind them was taken too.
  bool parseOperands(const MatchedSpelling &spelling, bool &ended);
  bool parseCallOperands();
  bool parseOperandList(Operand &operand);
  bool parseOperand(Operand &operand, const OperandSlot *slot);
  bool parsePair(Operand &operand);
  bool compute(llvm::StringRef spelling, Type type, llvm::ArrayRef<Operand> sources,
               Operand &result);
  bool parseIndex(Operand &operand);
  bool parseRegisterIndex(Operand &operand, uint64_t width);
  bool parseSum(Operand &operand, const OperandSlot *slot);
  bool parseScalar(Operand &operand);
  bool parseName(Operand &operand);
  bool parseSelected(Operand &operand, llvm::StringRef word);
  bool parseAddress(Operand &operand);
  bool parseOffset(int32_t &offset);
  void setElements(Operand &operand, llvm::ArrayRef<Operand> elements);
  bool parseVector(Operand &operand);
  void refer(LabelId &label, Name *name, uint32_t place);

  struct LabelReference {
    LabelId *target;
    Name *name;
    uint32_t scope, place;
  };
  /// The function that is being parsed.
  Function *current = nullptr;
  uint32_t functionNumber = 0; // counted from 1
  std::vector<Register> registers;
  std::vector<RegisterRange> registerRanges;
  std::vector<Label> labels;
  llvm::DenseMap<std::pair<Name *, uint32_t>, LabelId> labelsByName;
  std::vector<LabelReference> labelReferences;
  std::vector<llvm::MutableArrayRef<LabelId>> targetLists;
  std::vector<Prototype> prototypes;
  std::vector<const Variable *> locals;
  std::vector<Pragma> pragmas;
  std::vector<Instruction> body;
  OperandList operands;
  bool hasPlainNumbers = false; // a "%r3" was declared on its own: see resolvePlain
  bool hasOtherRanges = false;  // of registers, whose names have no '%'
  uint32_t sourceLine = kNone;

  llvm::DenseSet<const Function *> aliasTargets;
  size_t comparisonBudget = 1u << 22; // of names, for nearestName
  uint64_t registerBudget;    // of the module: bounds what `.reg %r<N>` can make us allocate
  uint64_t initializerBudget; // bytes, likewise
  llvm::DenseMap<uint64_t, uint32_t> lastLine; // (file, line) hash -> index into sourceLines
  llvm::StringRef pendingLabel; // the label operand of the instruction that is being parsed
  unsigned operandBits = 0;     // the size of the operand that is being parsed, if it has one
  unsigned braces = 0;          // `{` of the statement that are open, so that skipStatement knows
};

bool sameSignature(llvm::ArrayRef<const Variable *> a, llvm::ArrayRef<const Variable *> b);

/// Type and space checks of every instruction of a function (Verifier.cpp).
void verify(const Module &module, Function &fn, DiagnosticLog &diagnostics);

inline constexpr unsigned kMaxDepth = 64; // of nested expressions and initialisers
/// No variable is larger: sums of sizes and addends cannot overflow.
inline constexpr uint64_t kMaxVariableSize = 1ull << 40;
inline constexpr unsigned kMaxScopes = 100; // a label may be looked up in each

} // namespace rubia::ptx
