// SPDX-License-Identifier: Apache-2.0
#include "Generator.h"
#include <algorithm>
#include <string_view>

namespace rubia::random_kernels {

namespace {

// Instructions that take no constants.
bool isPacked(const Row &row) {
  const llvm::StringRef word = row.word;
  return word.contains("x2") || word.contains("xorsign") || word.starts_with("copysign") ||
         (row.topic == Topic::Video && !word.starts_with("vmad") &&
          (word.split('.').first.ends_with("2") || word.split('.').first.ends_with("4")));
}

} // namespace

const std::vector<Family> &families() {
  // Topics: arithmetic, division, bits, logic, wide, packed, video, single, double, half, bfloat,
  // slow, convert, compare, select, move, fused, NaN bits.
  static const std::vector<Family> kFamilies = {
      {"integer",
       12,
       {8, 1, 4, 6, 3, 1, 1, 0, 0, 0, 0, 0, 2, 3, 3, 1, 0, 0},
       80,
       6,
       3,
       1,
       0,
       3,
       0,
       0,
       1},
      {"carry",
       10,
       {6, 0, 1, 3, 4, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 1, 0, 0},
       50,
       40,
       3,
       1,
       0,
       3,
       0,
       0,
       1},
      {"bytes",
       8,
       {2, 0, 3, 5, 1, 5, 6, 0, 0, 0, 0, 0, 2, 2, 2, 1, 0, 0},
       80,
       1,
       8,
       4,
       0,
       3,
       0,
       0,
       0},
      {"float",
       12,
       {2, 0, 0, 1, 0, 0, 0, 9, 6, 0, 0, 1, 3, 3, 2, 1, 0, 0},
       90,
       0,
       1,
       2,
       0,
       4,
       0,
       0,
       1},
      {"half",
       8,
       {1, 0, 0, 1, 0, 1, 0, 2, 0, 9, 5, 0, 3, 2, 2, 1, 0, 0},
       85,
       0,
       10,
       2,
       0,
       3,
       0,
       0,
       0},
      {"convert",
       7,
       {2, 0, 0, 1, 1, 0, 0, 2, 2, 1, 1, 0, 12, 2, 1, 1, 0, 0},
       90,
       0,
       4,
       2,
       0,
       2,
       0,
       0,
       0},
      {"memory",
       8,
       {4, 0, 1, 3, 1, 1, 0, 2, 1, 1, 0, 0, 2, 1, 1, 1, 0, 0},
       45,
       2,
       8,
       35,
       6,
       4,
       0,
       0,
       1},
      {"control",
       9,
       {5, 0, 1, 3, 1, 0, 0, 3, 1, 0, 0, 0, 1, 4, 2, 1, 0, 0},
       70,
       2,
       1,
       5,
       1,
       16,
       0,
       0,
       2},
      {"warp",
       7,
       {4, 0, 2, 4, 1, 0, 0, 2, 0, 0, 0, 0, 1, 3, 2, 1, 0, 0},
       60,
       1,
       2,
       2,
       1,
       7,
       25,
       2,
       1},
      {"shared",
       6,
       {4, 0, 1, 3, 1, 1, 0, 2, 0, 1, 0, 0, 1, 2, 2, 1, 0, 0},
       55,
       1,
       3,
       8,
       4,
       7,
       3,
       16,
       0},
      {"call",
       5,
       {5, 0, 1, 3, 1, 0, 0, 3, 2, 1, 0, 0, 2, 2, 2, 1, 0, 0},
       70,
       2,
       3,
       3,
       0,
       5,
       0,
       0,
       14},
      {"all",
       8,
       {4, 1, 2, 3, 2, 1, 1, 3, 2, 2, 1, 1, 3, 2, 2, 1, 0, 0},
       75,
       4,
       4,
       6,
       2,
       5,
       3,
       3,
       3},
      {"fused",
       4,
       {1, 0, 0, 1, 0, 0, 0, 2, 1, 1, 0, 0, 1, 2, 2, 1, 12, 0},
       90,
       0,
       3,
       3,
       0,
       4,
       0,
       0,
       1},
      {"nan",
       4,
       {2, 0, 0, 1, 0, 0, 0, 5, 3, 4, 3, 0, 4, 2, 2, 2, 0, 8},
       85,
       0,
       5,
       3,
       0,
       4,
       0,
       0,
       1},
  };
  return kFamilies;
}

Generator::Generator(uint64_t seed) : random(seed * 0x2545f4914f6cdd1d + 1) {
  kernel.seed = seed;
  unsigned sum = 0;
  for (const Family &one : families())
    sum += one.weight;
  size_t at = random.below(sum);
  for (const Family &one : families()) {
    family = &one;
    if (at < one.weight)
      break;
    at -= one.weight;
  }
  kernel.family = family->name;
  kernel.contract = family->topics[unsigned(Topic::Fused)] != 0;
  kernel.nanBits = family->topics[unsigned(Topic::NanBits)] != 0;
  const std::array<std::array<unsigned, 2>, 6> shapes = {
      {{1, 64}, {1, 64}, {1, 64}, {1, 32}, {1, 96}, {2, 64}}};
  const auto &shape = random.pick(shapes);
  kernel.grid = shape[0];
  kernel.block = shape[1];
  for (Kind kind : {Kind::Pred, Kind::B16, Kind::B32, Kind::B64})
    inUse[unsigned(kind)] = true;
  for (unsigned topic = 0; topic < kTopicCount; ++topic)
    if (family->topics[topic])
      for (const std::vector<Row> &group : rowsOf(Topic(topic)))
        for (const Row &row : group)
          for (char letter : row.destinations + row.sources)
            inUse[unsigned(kindOf(letter))] = true;
}

// ---------- Registers

Register Generator::fresh(Kind kind) { return {kind, frame.count[unsigned(kind)]++}; }

bool Generator::isFrozen(Register reg) const {
  return std::find(frame.frozen.begin(), frame.frozen.end(), reg) != frame.frozen.end();
}

// Half of the time one of the newest.
Register Generator::source(Kind kind) {
  const std::vector<unsigned> &all = frame.visible[unsigned(kind)];
  size_t last = std::min<size_t>(all.size(), 4);
  size_t at = random.chance(55) ? all.size() - 1 - random.below(last) : random.below(all.size());
  Register reg{kind, all[at]};
  frame.read.push_back(reg);
  return reg;
}

std::optional<Register> Generator::old(Kind kind) {
  std::vector<Register> free;
  for (unsigned index : frame.visible[unsigned(kind)])
    if (!isFrozen({kind, index}))
      free.push_back({kind, index});
  if (free.empty())
    return std::nullopt;
  return random.pick(free);
}

// A new register, or, more often where it becomes a phi, one that has a value.
Register Generator::destination(Kind kind, const Place &place) {
  if (random.chance(place.depth ? 45 : 15))
    if (auto reg = old(kind))
      return *reg;
  return fresh(kind);
}

Operand Generator::predicate() { return Operand::of(source(Kind::Pred), random.chance(40)); }

Operand Generator::constant(Kind kind) {
  uint64_t mask = bitsOf(kind) == 64 ? ~uint64_t(0) : (uint64_t(1) << bitsOf(kind)) - 1;
  if (kind == Kind::F32) {
    const uint32_t values[] = {0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x40000000,
                               0x3f000000, 0x3fc00000, 0x4b800000, 0x7f7fffff, 0x00800000,
                               0x00000001, 0x7f800000, 0x42c80000, 0x3eaaaaab, 0x477fe000};
    return Operand::constant(random.chance(70) ? random.pick(values)
                                               : 0x3c000000 + random.below(0x08000000));
  }
  if (kind == Kind::F64) {
    const uint64_t values[] = {0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000,
                               0xbff0000000000000, 0x4000000000000000, 0x3fe0000000000000,
                               0x4330000000000000, 0x7fefffffffffffff, 0x0010000000000000,
                               0x7ff0000000000000, 0x41f0000000000000, 0x3fd5555555555555};
    return Operand::constant(random.chance(70)
                                 ? random.pick(values)
                                 : 0x3f80000000000000 + random.next() % 0x0100000000000000);
  }
  uint64_t value = random.next();
  switch (random.below(6)) {
  case 0:
    value = random.below(9);
    break;
  case 1:
    value = -uint64_t(random.below(9));
    break;
  case 2:
    value = uint64_t(1) << random.below(bitsOf(kind));
    break;
  case 3:
    value = (uint64_t(1) << random.below(bitsOf(kind))) - 1;
    break;
  case 4:
    value = random.below(256);
    break;
  default:
    break;
  }
  return Operand::constant(value & mask);
}

Operand Generator::operand(char letter, const Row &row, unsigned position, bool mayBeConstant,
                           const Place &place) {
  bool isConstant = mayBeConstant && random.chance(22);
  auto masked = [&](uint64_t mask) {
    return Operand::of(put(place, "and.b32", Kind::B32,
                           {Operand::of(source(Kind::B32)), Operand::constant(mask)}));
  };
  switch (letter) {
  case 'q':
    return predicate();
  case 'k':
    return Operand::constant(random.below(256));
  case 's':
    if (random.chance(45))
      return Operand::constant(random.below(row.destinations == "d" ? 64 : 32));
    return random.chance(50) ? masked(random.chance(50) ? 31 : 63) : Operand::of(source(Kind::B32));
  case 't':
    return random.chance(40) ? Operand::constant(random.below(64))
                             : masked(random.chance(50) ? 63 : 255);
  case 'u':
    return random.chance(40)   ? Operand::constant(random.below(32))
           : random.chance(60) ? masked(31)
                               : Operand::of(source(Kind::B32));
  case 'v':
    return random.chance(40)   ? Operand::constant(random.below(33))
           : random.chance(60) ? masked(31)
                               : Operand::of(source(Kind::B32));
  default:
    break;
  }
  Kind kind = kindOf(letter);
  if (isConstant && kind != Kind::Pred && kind < Kind::F16) {
    Operand value = constant(kind);
    if (row.topic == Topic::Division && position == 1 && value.bits == 0)
      value.bits = 7;
    return value;
  }
  return Operand::of(source(kind));
}

// ---------- Statements

void Generator::put(const Place &place, Statement statement) {
  --budget;
  for (Register reg : statement.destinations) {
    auto &all = frame.visible[unsigned(reg.kind)];
    if (std::find(all.begin(), all.end(), reg.index) == all.end())
      show(reg);
    std::erase(frame.read, reg);
  }
  place.out->push_back(std::move(statement));
}

Register Generator::put(const Place &place, std::string word, Kind kind,
                        std::vector<Operand> sources) {
  Statement statement;
  statement.word = std::move(word);
  statement.destinations = {fresh(kind)};
  statement.sources = std::move(sources);
  Register reg = statement.destinations[0];
  put(place, std::move(statement));
  return reg;
}

// NVIDIA's assembler ignores the guard of testp, and a guard of set that does not hold spoils the
// destination: neither gets one.
void Generator::scalar(const Place &place, const Row &row) {
  Statement statement;
  statement.word = row.word;
  size_t count = row.sources.size();
  size_t constantAt = count >= 2 && !isPacked(row) ? random.below(count + 1) : count; // one at most
  if (count == 1 && std::string_view(row.word).starts_with("mov") &&
      kindOf(row.sources[0]) < Kind::F16)
    constantAt = 0;
  for (unsigned i = 0; i < count; ++i)
    statement.sources.push_back(operand(row.sources[i], row, i, i == constantAt, place));
  std::string_view word = row.word;
  bool isVideo = row.topic == Topic::Video;
  if (isVideo)
    videoSelectors(statement, row);
  bool guarded = random.chance(10) && !word.starts_with("testp") && !word.starts_with("set.");
  if (guarded) {
    for (char letter : row.destinations) {
      std::optional<Register> reg = old(kindOf(letter));
      guarded &= reg.has_value() &&
                 std::find(statement.destinations.begin(), statement.destinations.end(), *reg) ==
                     statement.destinations.end();
      if (guarded)
        statement.destinations.push_back(*reg);
    }
    if (guarded)
      statement.guard = predicate();
    else
      statement.destinations.clear();
  }
  if (!guarded)
    for (char letter : row.destinations) {
      Register reg = destination(kindOf(letter), place);
      if (!statement.destinations.empty() && statement.destinations[0] == reg)
        reg = fresh(reg.kind);
      statement.destinations.push_back(reg);
    }
  put(place, std::move(statement));
}

void Generator::videoSelectors(Statement &statement, const Row &row) {
  std::string_view word = row.word;
  size_t opcode = word.find('.');
  char lanes = word[opcode - 1];
  auto pick = [&](std::initializer_list<llvm::StringRef> choices) {
    return random.oneOf(choices).str();
  };
  bool plain = random.chance(30);
  auto sourceSelector = [&] {
    if (plain)
      return std::string();
    if (lanes == '2')
      return pick({"h10", "h01", "h32", "h20", "h13", "h30", "h00"});
    if (lanes == '4')
      return pick({"b3210", "b0123", "b7654", "b5140", "b7162", "b4444", "b2703"});
    return pick({"b0", "b1", "b2", "b3", "h0", "h1", ""});
  };
  std::string destination;
  if (!plain && lanes == '2')
    destination = pick({"h0", "h1", "h10"});
  else if (!plain && lanes == '4')
    destination = pick({"b0", "b3", "b21", "b310", "b3210", "b20"});
  else if (!plain && statement.sources.size() == 2 && random.chance(40)) {
    destination = pick({"b0", "b1", "b2", "b3", "h0", "h1"});
    statement.sources.push_back(Operand::of(source(Kind::B32)));
  }
  statement.selectors = {destination, sourceSelector(), sourceSelector()};
  if (statement.sources.size() == 3)
    statement.selectors.push_back("");
  // A constant has no parts.
  for (unsigned i = 0; i < 2; ++i)
    if (!statement.sources[i].reg)
      statement.sources[i] = Operand::of(source(Kind::B32));
}

void Generator::anyScalar(const Place &place) {
  unsigned sum = 0;
  for (unsigned weight : family->topics)
    sum += weight;
  size_t at = random.below(sum);
  unsigned topic = 0;
  while (at >= family->topics[topic])
    at -= family->topics[topic++];
  scalar(place, random.pick(random.pick(rowsOf(Topic(topic)))));
}

// The condition code lives from one statement to the next: chains are straight-line code, with
// others between.
void Generator::carryChain(const Place &place) {
  unsigned length = 2 + unsigned(random.below(6));
  bool mixed = random.chance(30);
  bool wide = random.chance(50);
  for (unsigned i = 0; i < length; ++i) {
    if (mixed)
      wide = random.chance(50);
    bool first = i == 0, last = i + 1 == length;
    Row row{Topic::Arithmetic, "", wide ? "d" : "r", wide ? "dd" : "rr"};
    const char *type =
        wide ? (random.chance(70) ? ".u64" : ".s64") : (random.chance(70) ? ".u32" : ".s32");
    std::string carry = first ? "" : "c", set = first || (!last && random.chance(90)) ? ".cc" : "";
    switch (random.below(6)) {
    case 0:
    case 1:
      row.word = "add" + carry + set + type;
      break;
    case 2:
    case 3:
      row.word = "sub" + carry + set + type;
      break;
    default:
      row.word = std::string("mad") + carry + (random.chance(60) ? ".lo" : ".hi") + set + type;
      row.sources += row.sources[0];
    }
    Statement statement;
    statement.word = row.word;
    bool zeros = last && random.chance(40); // reads the flag alone
    size_t constantAt = random.below(row.sources.size() + 1);
    for (unsigned k = 0; k < row.sources.size(); ++k)
      statement.sources.push_back(zeros && row.sources.size() == 2
                                      ? Operand::constant(0)
                                      : operand(row.sources[k], row, k, k == constantAt, place));
    Kind kind = wide ? Kind::B64 : Kind::B32;
    std::optional<Register> written = !first && random.chance(8) ? old(kind) : std::nullopt;
    if (written)
      statement.guard = predicate();
    statement.destinations = {written ? *written : destination(kind, place)};
    put(place, std::move(statement));
    while (!last && random.chance(20))
      anyScalar(place);
  }
}

void Generator::pack(const Place &place) {
  struct Shape {
    const char *whole, *parts;
  };
  static constexpr Shape kShapes[] = {{"d", "rr"}, {"r", "hh"}, {"d", "hhhh"}, {"y", "xx"},
                                      {"z", "bb"}, {"d", "rr"}, {"r", "hh"}};
  const Shape &shape = random.pick(kShapes);
  if (!inUse[unsigned(kindOf(shape.whole[0]))] || !inUse[unsigned(kindOf(shape.parts[0]))])
    return;
  Kind whole = kindOf(shape.whole[0]), part = kindOf(shape.parts[0]);
  unsigned count = unsigned(std::string_view(shape.parts).size());
  Statement statement;
  statement.word = bitsOf(whole) == 64 ? "b64" : "b32";
  if (random.chance(50)) {
    statement.what = Statement::What::Pack;
    for (unsigned i = 0; i < count; ++i)
      statement.sources.push_back(Operand::of(source(part)));
    statement.destinations = {destination(whole, place)};
  } else {
    statement.what = Statement::What::Unpack;
    statement.sources = {Operand::of(source(whole))};
    for (unsigned i = 0; i < count; ++i)
      statement.destinations.push_back(fresh(part));
  }
  put(place, std::move(statement));
}

void Generator::special(const Place &place) {
  Statement statement;
  statement.what = Statement::What::Special;
  statement.word =
      random
          .oneOf({"%tid.x", "%laneid", "%ctaid.x", "%ntid.x", "%nctaid.x", "%tid.y", "%lanemask_lt",
                  "%lanemask_le", "%lanemask_eq", "%lanemask_gt", "%lanemask_ge"})
          .str();
  statement.destinations = {fresh(Kind::B32)};
  put(place, std::move(statement));
}

// A NaN becomes a constant, so that its bits do not matter. A packed register becomes two.
Register Generator::bits(Register reg, const Place &place) {
  if (!isFloat(reg.kind))
    return reg;
  frame.read.push_back(reg);
  bool isPacked = reg.kind == Kind::F16x2 || reg.kind == Kind::BF16x2;
  static constexpr const char *kWords[] = {"f32", "f64", "f16", "bf16", "f16x2", "bf16x2"};
  std::string type = kWords[unsigned(reg.kind) - unsigned(Kind::F32)];
  unsigned width = bitsOf(reg.kind);
  Kind integer = width == 16 ? Kind::B16 : width == 32 ? Kind::B32 : Kind::B64;
  if (kernel.nanBits)
    return put(place, "mov.b" + std::to_string(width), integer, {Operand::of(reg)});
  if (!isPacked) {
    Register isNan =
        put(place, "setp.nan." + type, Kind::Pred, {Operand::of(reg), Operand::of(reg)});
    frame.read.push_back(isNan);
    return put(place, "selp.b" + std::to_string(width), integer,
               {Operand::constant(0x1234), Operand::of(reg), Operand::of(isNan)});
  }
  Statement test, halves;
  test.word = "setp.nan." + type;
  test.sources = {Operand::of(reg), Operand::of(reg)};
  test.destinations = {fresh(Kind::Pred), fresh(Kind::Pred)};
  Kind part = reg.kind == Kind::F16x2 ? Kind::F16 : Kind::BF16;
  halves.what = Statement::What::Unpack;
  halves.word = "b32";
  halves.sources = {Operand::of(reg)};
  halves.destinations = {fresh(part), fresh(part)};
  std::vector<Register> flags = test.destinations, parts = halves.destinations;
  put(place, std::move(test));
  put(place, std::move(halves));
  Statement join;
  join.what = Statement::What::Pack;
  join.word = "b32";
  for (unsigned i = 0; i < 2; ++i) {
    for (Register each : {flags[i], parts[i]})
      frame.read.push_back(each);
    join.sources.push_back(Operand::of(
        put(place, "selp.b16", Kind::B16,
            {Operand::constant(0x1234), Operand::of(parts[i]), Operand::of(flags[i])})));
    frame.read.push_back(*join.sources.back().reg);
  }
  join.destinations = {fresh(Kind::B32)};
  Register result = join.destinations[0];
  put(place, std::move(join));
  return result;
}

// ---------- Choice

void Generator::statement(const Place &place) {
  unsigned warpWeight = place.mask ? family->warp : 0;
  unsigned sharedWeight = !inFunction ? family->shared : 0;
  unsigned memoryWeight = inFunction ? 0 : family->memory;
  unsigned atomicWeight = inFunction ? 0 : family->atomic;
  unsigned controlWeight = place.depth < 3 ? family->control : 0;
  unsigned callWeight = inFunction || kernel.functions.empty() ? 0 : family->call;
  const std::pair<unsigned, void (Generator::*)(const Place &)> choices[] = {
      {family->scalar, &Generator::anyScalar}, {family->carry, &Generator::carryChain},
      {family->pack, &Generator::pack},        {memoryWeight, &Generator::memory},
      {atomicWeight, &Generator::atomic},      {controlWeight, &Generator::control},
      {warpWeight, &Generator::warp},          {sharedWeight, &Generator::shared},
      {callWeight, &Generator::call},          {1, &Generator::special},
  };
  unsigned sum = 0;
  for (const auto &choice : choices)
    sum += choice.first;
  size_t at = random.below(sum);
  for (const auto &[weight, make] : choices) {
    if (at < weight)
      return (this->*make)(place);
    at -= weight;
  }
}

void Generator::block(unsigned size, const Place &place) {
  int end = budget - int(size);
  while (budget > end)
    statement(place);
}

// What is made in a scope is not visible behind it.
std::vector<Statement> Generator::scope(unsigned size, Place place) {
  auto visible = frame.visible;
  std::vector<Statement> statements;
  place.out = &statements;
  ++place.depth;
  block(size, place);
  frame.visible = std::move(visible);
  return statements;
}

Kernel generate(uint64_t seed) { return Generator(seed).take(); }

} // namespace rubia::random_kernels
