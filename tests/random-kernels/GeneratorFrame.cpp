// SPDX-License-Identifier: Apache-2.0
// What stands around the statements of a kernel: inputs, first registers, functions, results.
#include "Generator.h"
#include <algorithm>

namespace rubia::random_kernels {

void Generator::makeInputs() {
  static constexpr uint64_t kIntegers[] = {0,
                                           1,
                                           2,
                                           3,
                                           7,
                                           8,
                                           15,
                                           16,
                                           31,
                                           32,
                                           33,
                                           63,
                                           64,
                                           65,
                                           127,
                                           128,
                                           255,
                                           256,
                                           0x7fff,
                                           0x8000,
                                           0xffff,
                                           0x10000,
                                           0x7fffffff,
                                           0x80000000,
                                           0xffffffff,
                                           0x100000000,
                                           0x7fffffffffffffff,
                                           0x8000000000000000,
                                           0xffffffffffffffff,
                                           0xfffffffffffffffe,
                                           0xbfffffffffffffff,
                                           0x80000000ffffffff,
                                           0xffffffff00000000,
                                           0xffffffff80000000,
                                           0x5555555555555555,
                                           0xaaaaaaaaaaaaaaaa,
                                           0x8080808080808080,
                                           0x7f7f7f7f7f7f7f7f,
                                           0x8000800080008000,
                                           0x7fff7fff7fff7fff};
  auto integer = [&]() -> uint64_t {
    return random.chance(60) ? random.pick(kIntegers) : random.next();
  };
  // A number of a format, of any of its classes; of a middling magnitude most often.
  auto number = [&](unsigned bits, unsigned fraction) -> uint64_t {
    uint64_t hidden = uint64_t(1) << fraction, sign = random.next() << (bits - 1);
    unsigned exponentBits = bits - 1 - fraction;
    uint64_t bias = (uint64_t(1) << (exponentBits - 1)) - 1;
    uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
    uint64_t exponent = bias - 6 + random.below(13), low = random.next() & (hidden - 1);
    switch (random.below(12)) {
    case 0:
      exponent = random.below(2 * bias + 2);
      break;
    case 1:
      exponent = 0;
      low = random.chance(50) ? 0 : low;
      break;
    case 2:
      low = random.chance(50) ? 0 : hidden - 1;
      break;
    case 3:
      exponent = random.chance(50) ? 2 * bias : 2 * bias + 1;
      low = random.chance(70) ? 0 : low;
      break;
    case 4:
      low &= ~uint64_t(0) << (fraction / 2);
      break;
    default:
      break;
    }
    return (sign | exponent << fraction | low) & mask;
  };
  auto word = [&](unsigned slot) -> uint64_t {
    if (slot < 6)
      return integer();
    if (slot < 9)
      return number(32, 23) | number(32, 23) << 32;
    if (slot < 12)
      return number(64, 52);
    uint64_t four = 0;
    for (unsigned i = 0; i < 4; ++i)
      four |= (slot < 14 ? number(16, 10) : number(16, 7)) << (16 * i);
    return four;
  };
  auto append = [&](std::vector<uint8_t> &bytes, uint64_t value) {
    for (unsigned i = 0; i < 8; ++i)
      bytes.push_back(uint8_t(value >> (8 * i)));
  };
  for (unsigned thread = 0; thread < kernel.threads(); ++thread)
    for (unsigned slot = 0; slot < kInputBytes / 8; ++slot)
      append(kernel.input, word(slot));
  for (unsigned slot = 0; slot < kUniformBytes / 8; ++slot)
    append(kernel.input, word(slot * 2));
  for (unsigned slot = 0; slot < kParamBytes / 8; ++slot)
    append(kernel.param, word(slot * 2));
  for (unsigned slot = 0; slot < kConstBytes / 8; ++slot)
    append(kernel.constant, word(slot));
}

// One or two registers of each kind that the family uses: of the thread's input, or the same for
// all threads, so that AMD's scalar instructions compute with them.
void Generator::initialise(const Place &place, bool ofKernel) {
  struct From {
    const char *type;
    unsigned first, count;               // in a thread's input, in bytes and elements
    unsigned uniformFirst, uniformCount; // in what all threads share
  };
  static constexpr From kFrom[] = {
      {"", 0, 0, 0, 0},      {"b16", 0, 24, 0, 12}, {"b32", 0, 12, 0, 6},  {"b64", 0, 6, 0, 3},
      {"b32", 48, 6, 24, 4}, {"b64", 72, 3, 40, 1}, {"b16", 96, 8, 48, 4}, {"b16", 112, 8, 56, 4},
      {"b32", 96, 4, 48, 2}, {"b32", 112, 4, 56, 2}};
  auto loadOf = [&](Kind kind, Space space, unsigned offset) {
    Statement statement;
    statement.what = Statement::What::Load;
    statement.word = kFrom[unsigned(kind)].type;
    statement.selectors = {""};
    statement.address.space = space;
    statement.address.offset = offset;
    statement.destinations = {fresh(kind)};
    Register reg = statement.destinations[0];
    put(place, std::move(statement));
    return reg;
  };
  if (ofKernel) {
    for (unsigned i = 0; i < 2; ++i) {
      Register reg =
          loadOf(Kind::B32, i ? Space::Uniform : Space::Param, 4 * unsigned(random.below(4)));
      frame.uniform.push_back(reg);
      freeze(reg);
    }
    unsigned uniform =
        unsigned(random.pick(std::array{0u, 0u, 0u, 0u, 0u, 30u, 30u, 30u, 100u, 100u}));
    for (unsigned k = 1; k < kKindCount; ++k)
      for (unsigned i = 0; inUse[k] && i < (k < 6 ? 2 : 1); ++i) {
        const From &from = kFrom[k];
        unsigned size = bitsOf(Kind(k)) / 8;
        if (random.chance(uniform))
          loadOf(Kind(k), random.chance(50) ? Space::Param : Space::Uniform,
                 from.uniformFirst + unsigned(random.below(from.uniformCount)) * size);
        else
          loadOf(Kind(k), Space::Input, from.first + unsigned(random.below(from.count)) * size);
      }
  } else {
    Operand any = Operand::of({Kind::B32, 0}); // each function has such a parameter
    if (frame.visible[unsigned(Kind::B16)].empty())
      put(place, "cvt.u16.u32", Kind::B16, {any});
    if (frame.visible[unsigned(Kind::B64)].empty())
      put(place, "mul.wide.s32", Kind::B64, {any, any});
    for (Kind kind : {Kind::F32, Kind::F16x2, Kind::BF16x2})
      if (inUse[unsigned(kind)] && frame.visible[unsigned(kind)].empty())
        put(place, kind == Kind::F32 ? "cvt.rn.f32.s32" : "mov.b32", kind, {any});
    if (inUse[unsigned(Kind::F64)] && frame.visible[unsigned(Kind::F64)].empty())
      put(place, "cvt.rn.f64.s32", Kind::F64, {any});
    for (Kind kind : {Kind::F16, Kind::BF16})
      if (inUse[unsigned(kind)])
        put(place, "mov.b16", kind, {Operand::of(source(Kind::B16))});
  }
  put(place, "setp.lt.s32", Kind::Pred,
      {Operand::of(source(Kind::B32)), Operand::constant(random.chance(50) ? 0 : 64)});
  // No results as such.
  for (unsigned k = 0; k < kKindCount; ++k)
    for (unsigned index : frame.visible[k])
      frame.read.push_back({Kind(k), index});
}

void Generator::makeFunctions() {
  unsigned count = family->call >= 10                  ? 1 + unsigned(random.below(3))
                   : family->call && random.chance(30) ? 1
                                                       : 0;
  inFunction = true;
  for (unsigned i = 0; i < count; ++i) {
    Function function;
    frame = {};
    std::vector<Kind> kinds = {Kind::B32, Kind::B64, Kind::B16};
    for (Kind kind : {Kind::F32, Kind::F64})
      if (inUse[unsigned(kind)])
        kinds.push_back(kind);
    function.parameters = {Kind::B32};
    while (random.chance(55) && function.parameters.size() < 5)
      function.parameters.push_back(random.pick(kinds));
    for (Kind kind : function.parameters)
      show(fresh(kind));
    function.structure = random.chance(30);
    function.results = {random.pick(kinds)};
    if (function.structure)
      function.results.push_back(random.pick(kinds));
    budget = 1000;
    Place place{&function.body};
    initialise(place, false);
    block(5 + unsigned(random.below(20)), place);
    for (Kind kind : function.results)
      function.returned.push_back(source(kind));
    kernel.functions.push_back(std::move(function));
  }
  inFunction = false;
  frame = {};
}

// What was never read, the newest first, and some more.
void Generator::observe(const Place &place) {
  for (unsigned i = 0; i < kCells; ++i)
    if (!kernel.sharedCells.operation[i].empty()) {
      Statement cell;
      cell.what = Statement::What::Cell;
      cell.count = i;
      cell.destinations = {fresh(Kind::B64)};
      put(place, std::move(cell));
    }
  std::vector<Register> chosen;
  for (bool unread : {true, false})
    for (unsigned k = kKindCount; k-- > 0;) {
      const std::vector<unsigned> &all = frame.visible[k];
      unsigned taken = 0;
      for (size_t i = all.size(); i-- > 0 && chosen.size() < (unread ? 16u : 8u);) {
        Register reg{Kind(k), all[i]};
        bool wasRead = std::find(frame.read.begin(), frame.read.end(), reg) != frame.read.end();
        if (wasRead == unread || (!unread && ++taken > 2))
          continue;
        chosen.push_back(reg);
      }
    }
  for (Register reg : chosen) {
    Register result = reg.kind == Kind::Pred
                          ? put(place, "selp.b32", Kind::B32,
                                {Operand::constant(1), Operand::constant(0), Operand::of(reg)})
                          : bits(reg, place);
    Statement statement;
    statement.what = Statement::What::Store;
    statement.word = "b" + std::to_string(bitsOf(result.kind));
    statement.selectors = {""};
    statement.address.space = Space::Output;
    statement.address.offset = 8 * kernel.outputWords++;
    statement.sources = {Operand::of(result)};
    put(place, std::move(statement));
  }
}

Kernel Generator::take() {
  makeInputs();
  makeFunctions();
  int target = 20 + int(random.below(40));
  if (random.chance(30))
    target += int(random.below(130));
  budget = target;
  std::vector<Statement> head, body;
  initialise({&head}, true);
  budget = target;
  Place place{&body};
  place.cta = true;
  place.mask = Operand::constant(0xffffffff);
  place.wholeWarp = true;
  while (budget > 0)
    statement(place);
  observe(place);
  kernel.body = std::move(head);
  fillOwnMemory();
  kernel.body.insert(kernel.body.end(), std::make_move_iterator(body.begin()),
                     std::make_move_iterator(body.end()));
  return std::move(kernel);
}

} // namespace rubia::random_kernels
