// SPDX-License-Identifier: Apache-2.0
// Statements of the generator that are not scalar: memory, atomics, barriers, warps and calls.
#include "Generator.h"
#include <algorithm>

namespace rubia::random_kernels {

namespace {

unsigned bytesOf(Space space) {
  static constexpr unsigned kBytes[] = {kInputBytes, kUniformBytes,  kParamBytes,
                                        kConstBytes, kGlobalBytes,   kSharedBytes,
                                        kLocalBytes, kExchangeBytes, 0};
  return kBytes[unsigned(space)];
}

} // namespace

// ---------- Memory

// Somewhere in the thread's part: at a constant offset, or at one that a register chooses.
Address Generator::address(Space space, unsigned bytes) {
  Address address;
  address.space = space;
  touched[unsigned(space)] = true;
  unsigned slots = bytesOf(space) / bytes;
  unsigned coarse = 0; // the register chooses among groups of 2^coarse slots
  if (space != Space::Param && slots >= 2 && random.chance(50)) {
    while ((slots >> (coarse + 1)) >= 2 && random.chance(40))
      ++coarse;
    address.index = source(Kind::B32);
    address.indexMask = (slots >> coarse) - 1;
    address.scale = bytes << coarse;
    slots = 1u << coarse;
  }
  address.offset = bytes * unsigned(random.below(slots));
  address.generic = space != Space::Param && space != Space::Const && random.chance(15);
  return address;
}

void Generator::memory(const Place &place) {
  constexpr Space kRead[] = {Space::Input, Space::Uniform, Space::Param,
                             Space::Const, Space::Global,  Space::Shared,
                             Space::Local, Space::Global,  Space::Local};
  constexpr Space kWritten[] = {Space::Global, Space::Shared, Space::Local};
  if (random.chance(45))
    store(place, random.pick(kWritten));
  else
    load(place, random.pick(kRead));
}

void Generator::load(const Place &place, Space space) {
  struct Shape {
    const char *type;
    unsigned bytes;
    Kind kind;
  };
  static constexpr Shape kShapes[] = {
      {"u8", 1, Kind::B32},   {"s8", 1, Kind::B32},  {"u8", 1, Kind::B16},  {"s8", 1, Kind::B16},
      {"b16", 2, Kind::B16},  {"u16", 2, Kind::B16}, {"s16", 2, Kind::B32}, {"u16", 2, Kind::B32},
      {"b32", 4, Kind::B32},  {"u32", 4, Kind::B32}, {"s32", 4, Kind::B64}, {"b64", 8, Kind::B64},
      {"u64", 8, Kind::B64},  {"f32", 4, Kind::F32}, {"f64", 8, Kind::F64}, {"b16", 2, Kind::F16},
      {"b32", 4, Kind::F16x2}};
  Shape shape = random.pick(kShapes);
  if (!inUse[unsigned(shape.kind)])
    shape = {"b32", 4, Kind::B32};
  unsigned elements = random.chance(60) ? 1 : random.chance(50) ? 2 : 4;
  while (elements * shape.bytes > 16)
    elements /= 2;
  Statement statement;
  statement.what = Statement::What::Load;
  statement.word = (elements == 1 ? "" : elements == 2 ? "v2." : "v4.") + std::string(shape.type);
  std::string how;
  if (space == Space::Global || space == Space::Shared)
    how = random.oneOf({"", "", "", "", ".volatile", ".relaxed.cta", ".relaxed.gpu"}).str();
  statement.address = address(space, elements * shape.bytes);
  if ((space == Space::Input || space == Space::Uniform) && !statement.address.generic)
    how = random.oneOf({"", ".nc"}).str();
  statement.selectors = {how};
  for (unsigned i = 0; i < elements; ++i)
    statement.destinations.push_back(fresh(shape.kind));
  put(place, std::move(statement));
}

void Generator::store(const Place &place, Space space) {
  struct Shape {
    const char *type;
    unsigned bytes;
    Kind kind;
  };
  static constexpr Shape kShapes[] = {
      {"u8", 1, Kind::B32},  {"b8", 1, Kind::B16},  {"b16", 2, Kind::B16},
      {"u16", 2, Kind::B32}, {"b32", 4, Kind::B32}, {"u32", 4, Kind::B64},
      {"b64", 8, Kind::B64}, {"b32", 4, Kind::B32}, {"s64", 8, Kind::B64}};
  const Shape &shape = random.pick(kShapes);
  unsigned elements = random.chance(60) ? 1 : random.chance(50) ? 2 : 4;
  while (elements * shape.bytes > 16)
    elements /= 2;
  Statement statement;
  statement.what = Statement::What::Store;
  statement.word = (elements == 1 ? "" : elements == 2 ? "v2." : "v4.") + std::string(shape.type);
  statement.selectors = {""};
  if (space != Space::Local)
    statement.selectors = {
        random.oneOf({"", "", "", "", ".volatile", ".relaxed.cta", ".relaxed.gpu"}).str()};
  statement.address = address(space, elements * shape.bytes);
  for (unsigned i = 0; i < elements; ++i)
    statement.sources.push_back(Operand::of(source(shape.kind)));
  if (random.chance(12))
    statement.guard = predicate();
  put(place, std::move(statement));
}

// Shared and local memory has no value at first: the thread's inputs go there.
void Generator::fillOwnMemory() {
  Place place{&kernel.body};
  for (Space space : {Space::Shared, Space::Local}) {
    if (!touched[unsigned(space)])
      continue;
    for (unsigned at = 0; at < bytesOf(space); at += 16) {
      Statement load, store;
      load.what = Statement::What::Load;
      store.what = Statement::What::Store;
      store.fills = true;
      load.word = store.word = "v2.b64";
      load.selectors = store.selectors = {""};
      load.address.space = Space::Input;
      store.address.space = space;
      load.address.offset = store.address.offset = at;
      for (unsigned i = 0; i < 2; ++i) {
        load.destinations.push_back(fresh(Kind::B64));
        store.sources.push_back(Operand::of(load.destinations.back()));
      }
      put(place, std::move(load));
      put(place, std::move(store));
    }
  }
}

void Generator::atomic(const Place &place) {
  if (random.chance(40))
    return reduce(place);
  static constexpr const char *kWords[] = {
      "add.u32", "add.s32", "add.u64",  "min.s32",  "max.u32", "min.u64", "max.s64", "and.b32",
      "or.b32",  "xor.b64", "exch.b32", "exch.b64", "cas.b32", "cas.b64", "inc.u32", "dec.u32"};
  Statement statement;
  statement.what = Statement::What::Atomic;
  statement.word = random.pick(kWords);
  bool wide = llvm::StringRef(statement.word).ends_with("64");
  Kind kind = wide ? Kind::B64 : Kind::B32;
  statement.selectors = {
      random.oneOf({"", ".relaxed.cta", ".acq_rel.gpu", ".relaxed.gpu", ".relaxed.sys"}).str()};
  statement.address = address(random.chance(50) ? Space::Global : Space::Shared, wide ? 8 : 4);
  statement.sources = {Operand::of(source(kind))};
  if (llvm::StringRef(statement.word).starts_with("cas"))
    statement.sources.push_back(Operand::of(source(kind)));
  statement.destinations = {fresh(kind)};
  put(place, std::move(statement));
}

void Generator::reduce(const Place &place) {
  static constexpr const char *kWords[] = {"add.u32", "add.s32", "add.u64", "min.s32", "max.u32",
                                           "min.u64", "max.s64", "and.b32", "or.b32",  "xor.b32",
                                           "and.b64", "or.b64",  "xor.b64"};
  Statement statement;
  statement.what = Statement::What::Reduce;
  bool isShared = random.chance(50);
  statement.address.space = isShared ? Space::Shared : Space::Global;
  statement.count = unsigned(random.below(kCells));
  Cells &cells = isShared ? kernel.sharedCells : kernel.globalCells;
  std::string &operation = cells.operation[statement.count];
  if (operation.empty()) {
    operation = random.pick(kWords);
    cells.initial[statement.count] = random.next();
  }
  statement.word = operation;
  bool wide = llvm::StringRef(operation).ends_with("64");
  statement.selectors = {random.oneOf({"", "", ".relaxed.gpu", ".relaxed.cta"}).str()};
  if (!isShared && statement.selectors[0] == ".relaxed.cta")
    statement.selectors[0] = "";
  statement.sources = {random.chance(20) ? constant(wide ? Kind::B64 : Kind::B32)
                                         : Operand::of(source(wide ? Kind::B64 : Kind::B32))};
  if (random.chance(30))
    statement.guard = predicate();
  put(place, std::move(statement));
}

// ---------- Between threads

void Generator::shared(const Place &place) {
  if (!place.cta)
    return atomic(place);
  switch (random.below(8)) {
  case 0:
  case 1:
    return barrier(place);
  case 2:
  case 3:
    return reduce(place);
  default:
    return exchange(place);
  }
}

void Generator::barrier(const Place &place) {
  Statement statement;
  statement.what = Statement::What::Barrier;
  statement.word = random
                       .oneOf({"bar.sync", "barrier.sync", "bar.red.popc.u32", "bar.red.and.pred",
                               "bar.red.or.pred", "barrier.red.popc.aligned.u32"})
                       .str();
  if (statement.word.find("red") != std::string::npos) {
    statement.sources = {predicate()};
    statement.destinations = {fresh(statement.word.ends_with("pred") ? Kind::Pred : Kind::B32)};
  }
  put(place, std::move(statement));
}

// What another thread stored, between two barriers.
void Generator::exchange(const Place &place) {
  touched[unsigned(Space::Exchange)] = true;
  auto sync = [&] {
    Statement statement;
    statement.what = Statement::What::Barrier;
    statement.word = "bar.sync";
    put(place, std::move(statement));
  };
  sync();
  Statement store;
  store.what = Statement::What::Store;
  store.selectors = {""};
  store.address.space = Space::Exchange;
  unsigned shape = unsigned(random.below(4));
  store.word = std::array{"b64", "v2.b64", "v4.b32", "v2.b32"}[shape];
  for (unsigned i = 0; i < std::array{1u, 2u, 4u, 2u}[shape]; ++i)
    store.sources.push_back(Operand::of(source(shape < 2 ? Kind::B64 : Kind::B32)));
  unsigned stored = std::array{8u, 16u, 16u, 8u}[shape];
  put(place, std::move(store));
  sync();
  unsigned loads = 1 + unsigned(random.below(2));
  for (unsigned i = 0; i < loads; ++i) {
    Statement load;
    load.what = Statement::What::Load;
    load.selectors = {""};
    static constexpr const char *kTypes[] = {"u8", "b32", "b64", "v2.b32", "v4.u16", "s16"};
    static constexpr unsigned kSizes[] = {1, 4, 8, 8, 8, 2};
    unsigned type = unsigned(random.below(6));
    load.word = kTypes[type];
    load.address.space = Space::Exchange;
    load.address.offset = kSizes[type] * unsigned(random.below(stored / kSizes[type]));
    bool power = (kernel.block & (kernel.block - 1)) == 0;
    load.address.partner =
        power && random.chance(50) ? Address::Partner::Xor : Address::Partner::Next;
    load.address.distance = load.address.partner == Address::Partner::Xor
                                ? 1u << random.below(kernel.block == 64 ? 6 : 5)
                                : 1 + unsigned(random.below(kernel.block - 1));
    unsigned count = type == 3 ? 2 : type == 4 ? 4 : 1;
    for (unsigned k = 0; k < count; ++k)
      load.destinations.push_back(fresh(type == 2 ? Kind::B64 : type == 4 ? Kind::B16 : Kind::B32));
    put(place, std::move(load));
  }
}

void Generator::warp(const Place &place) {
  if (!place.mask)
    return anyScalar(place);
  if (random.chance(40))
    return shuffle(place);
  // Few values, so that some are equal.
  auto few = [&](bool wide) {
    return Operand::of(put(place, wide ? "and.b64" : "and.b32", wide ? Kind::B64 : Kind::B32,
                           {Operand::of(source(wide ? Kind::B64 : Kind::B32)),
                            Operand::constant(random.chance(50) ? 3 : 0x11)}));
  };
  Statement statement;
  statement.what = Statement::What::Warp;
  static constexpr const char *kWords[] = {
      "vote.sync.all.pred", "vote.sync.any.pred",   "vote.sync.uni.pred", "vote.sync.ballot.b32",
      "vote.sync.any.pred", "vote.sync.ballot.b32", "match.any.sync.b32", "match.any.sync.b64",
      "match.all.sync.b32", "redux.sync.add.u32",   "redux.sync.min.s32", "redux.sync.max.u32",
      "redux.sync.max.s32", "redux.sync.and.b32",   "redux.sync.or.b32",  "redux.sync.xor.b32",
      "redux.sync.add.s32", "redux.sync.min.u32",   "activemask.b32",     "elect.sync",
      "bar.warp.sync"};
  statement.word = random.pick(kWords);
  llvm::StringRef word = statement.word;
  if (word.starts_with("vote"))
    statement.sources = {predicate()};
  else if (word.starts_with("match"))
    statement.sources = {few(word.ends_with("64"))};
  else if (word.starts_with("redux"))
    statement.sources = {random.chance(30) ? few(false) : Operand::of(source(Kind::B32))};
  statement.sources.push_back(*place.mask);
  if (word != "bar.warp.sync")
    statement.destinations = {fresh(word.ends_with("pred") ? Kind::Pred : Kind::B32)};
  if (word.starts_with("match.all") || word == "elect.sync")
    statement.destinations.push_back(fresh(Kind::Pred));
  put(place, std::move(statement));
}

// Of all lanes any pattern; of some, what the highest of them has.
void Generator::shuffle(const Place &place) {
  Statement statement;
  statement.what = Statement::What::Warp;
  Operand value = Operand::of(source(Kind::B32));
  if (place.wholeWarp) {
    statement.word =
        "shfl.sync." + random.oneOf({"up", "down", "bfly", "idx", "bfly", "down"}).str() + ".b32";
    bool up = statement.word.find("up") != std::string::npos;
    unsigned segment = unsigned(random.pick(std::array{0u, 0u, 0u, 0x10u, 0x18u, 0x1cu}));
    Operand lane = random.chance(75) ? Operand::constant(random.chance(50) ? 1u << random.below(5)
                                                                           : random.below(32))
                                     : Operand::of(source(Kind::B32));
    statement.sources = {value, lane,
                         Operand::constant(segment << 8 | (up                  ? 0
                                                           : random.chance(90) ? 31
                                                                               : 15)),
                         *place.mask};
  } else {
    statement.word = "shfl.sync.idx.b32";
    Register highest = put(place, "bfind.u32", Kind::B32, {*place.mask});
    statement.sources = {value, Operand::of(highest), Operand::constant(31), *place.mask};
  }
  statement.destinations = {fresh(Kind::B32)};
  if (random.chance(40))
    statement.destinations.push_back(fresh(Kind::Pred));
  put(place, std::move(statement));
}

void Generator::call(const Place &place) {
  if (kernel.functions.empty())
    return anyScalar(place);
  Statement statement;
  statement.what = Statement::What::Call;
  statement.count = unsigned(random.below(kernel.functions.size()));
  const Function &function = kernel.functions[statement.count];
  for (Kind kind : function.parameters)
    statement.sources.push_back(Operand::of(source(kind)));
  for (Kind kind : function.results)
    statement.destinations.push_back(fresh(kind));
  put(place, std::move(statement));
}

} // namespace rubia::random_kernels
