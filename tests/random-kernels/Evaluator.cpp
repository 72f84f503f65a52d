// SPDX-License-Identifier: Apache-2.0
#include "Evaluator.h"
#include "reference/Reference.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <bit>
#include <cstring>
#include <map>

using namespace llvm;

namespace rubia::random_kernels {
namespace {

using Active = std::vector<bool>;

uint64_t maskOf(unsigned bits) { return bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1; }

class Evaluator {
public:
  Evaluator(const Kernel &kernel, raw_ostream *trace, unsigned traced);
  Expected<std::vector<uint8_t>> run();

private:
  // The registers of the kernel or of a function, [kind][index * threads + thread].
  struct Frame {
    std::array<std::vector<uint64_t>, kKindCount> values;
  };
  // Inside a loop: threads that have left it.
  struct Loop {
    Active left;
  };

  uint64_t &at(Register reg, unsigned thread);
  uint64_t read(const Operand &operand, unsigned thread);
  void write(Register reg, unsigned thread, uint64_t bits);
  bool holds(const Statement &statement, unsigned thread);
  Active guarded(const Statement &statement, const Active &active);

  void execute(const std::vector<Statement> &statements, Active active);
  void execute(const Statement &statement, Active &active);
  void scalar(const Statement &statement, unsigned thread);
  bool carries(const Statement &statement, unsigned thread);
  void special(const Statement &statement, unsigned thread);
  uint8_t *place(const Address &address, unsigned thread);
  void load(const Statement &statement, unsigned thread);
  void store(const Statement &statement, unsigned thread);
  void atomic(const Statement &statement, unsigned thread);
  void reduce(const Statement &statement, unsigned thread);
  void barrier(const Statement &statement, const Active &active);
  void warp(const Statement &statement, const Active &active);
  void warpOf(const Statement &statement, const std::vector<unsigned> &members);
  void loop(const Statement &statement, const Active &active);
  void call(const Statement &statement, const Active &active);
  void tell(const Statement &statement, const Active &active);

  const Kernel &kernel;
  raw_ostream *trace;
  unsigned traced;
  unsigned threads = kernel.threads();
  std::vector<Frame> frames; // of the functions; the last is the kernel's
  Frame *frame = nullptr;
  std::vector<bool> carry;
  std::vector<Loop> loops;
  std::vector<uint8_t> results, input, param, constant, shared, local, exchanged, cells;
  std::map<std::string, reference::Reference> references;
  std::string error;
};

Evaluator::Evaluator(const Kernel &kernel, raw_ostream *trace, unsigned traced)
    : kernel(kernel), trace(trace), traced(traced), frames(kernel.functions.size() + 1),
      carry(threads), results(initialResults(kernel)), input(kernel.input), param(kernel.param),
      constant(kernel.constant), shared(threads * kSharedBytes), local(threads * kLocalBytes),
      exchanged(threads * kExchangeBytes), cells(kernel.grid * kCells * 8) {
  for (unsigned cta = 0; cta < kernel.grid; ++cta)
    memcpy(&cells[cta * kCells * 8], kernel.sharedCells.initial.data(), kCells * 8);
}

uint64_t &Evaluator::at(Register reg, unsigned thread) {
  std::vector<uint64_t> &values = frame->values[unsigned(reg.kind)];
  if (values.size() < (reg.index + 1) * threads)
    values.resize((reg.index + 1) * threads);
  return values[reg.index * threads + thread];
}

uint64_t Evaluator::read(const Operand &operand, unsigned thread) {
  return operand.reg ? at(*operand.reg, thread) ^ uint64_t(operand.negated) : operand.bits;
}

void Evaluator::write(Register reg, unsigned thread, uint64_t bits) {
  at(reg, thread) = bits & maskOf(bitsOf(reg.kind));
}

bool Evaluator::holds(const Statement &statement, unsigned thread) {
  return !statement.guard || read(*statement.guard, thread);
}

Active Evaluator::guarded(const Statement &statement, const Active &active) {
  Active some = active;
  for (unsigned t = 0; t < threads; ++t)
    some[t] = some[t] && holds(statement, t);
  return some;
}

// ---------- Scalar instructions

// CC.CF after a subtraction is the carry of a + ~b + 1.
bool Evaluator::carries(const Statement &statement, unsigned thread) {
  SmallVector<StringRef> words;
  StringRef(statement.word).split(words, '.');
  StringRef op = words[0];
  bool sets = is_contained(words, "cc");
  bool reads = is_contained({"addc", "subc", "madc"}, op);
  if (!sets && !reads)
    return false;
  const unsigned bits = StringRef(statement.word).ends_with("64") ? 64 : 32;
  const bool isSigned = words.back()[0] == 's';
  auto source = [&](unsigned i) { return read(statement.sources[i], thread) & maskOf(bits); };
  uint64_t a = source(0), b = source(1);
  if (op.starts_with("mad")) {
    auto wide = [&](uint64_t value) {
      return isSigned ? __int128(bits == 64 ? int64_t(value) : int64_t(int32_t(value)))
                      : __int128(value);
    };
    unsigned __int128 product =
        isSigned ? (unsigned __int128)(wide(a) * wide(b)) : (unsigned __int128)(a)*b;
    a = uint64_t(is_contained(words, "hi") ? product >> bits : product) & maskOf(bits);
    b = source(2);
  }
  bool in = reads && carry[thread];
  if (op.starts_with("sub")) {
    b = ~b & maskOf(bits);
    in = !reads || carry[thread];
  }
  unsigned __int128 sum = (unsigned __int128)(a) + b + in;
  write(statement.destinations[0], thread, uint64_t(sum));
  if (sets)
    carry[thread] = sum >> bits & 1;
  return true;
}

void Evaluator::scalar(const Statement &statement, unsigned thread) {
  StringRef word = statement.word;
  if (carries(statement, thread))
    return;
  if (word.starts_with("mov.")) {
    write(statement.destinations[0], thread, read(statement.sources[0], thread));
    return;
  }
  std::string key = word.str();
  for (const std::string &selector : statement.selectors)
    key += "," + selector;
  auto found = references.find(key);
  if (found == references.end()) {
    auto reference = reference::referenceFor(word, statement.selectors);
    if (!reference) {
      error = toString(reference.takeError());
      return;
    }
    found = references.emplace(key, std::move(*reference)).first;
  }
  reference::ReferenceInputs inputs;
  for (auto [i, operand] : enumerate(statement.sources))
    inputs.source[i] = read(operand, thread);
  reference::ReferenceOutput output = found->second(inputs);
  write(statement.destinations[0], thread, output.bits);
  if (statement.destinations.size() > 1)
    write(statement.destinations[1], thread, output.second);
}

void Evaluator::special(const Statement &statement, unsigned thread) {
  StringRef word = statement.word;
  unsigned tid = thread % kernel.block, lane = tid % 32;
  uint32_t bit = 1u << lane, value = 0;
  if (word == "%tid.x")
    value = tid;
  else if (word == "%laneid")
    value = lane;
  else if (word == "%ctaid.x")
    value = thread / kernel.block;
  else if (word == "%ntid.x")
    value = kernel.block;
  else if (word == "%nctaid.x")
    value = kernel.grid;
  else if (word == "%lanemask_lt")
    value = bit - 1;
  else if (word == "%lanemask_le")
    value = bit | (bit - 1);
  else if (word == "%lanemask_eq")
    value = bit;
  else if (word == "%lanemask_gt")
    value = ~(bit | (bit - 1));
  else if (word == "%lanemask_ge")
    value = ~(bit - 1);
  write(statement.destinations[0], thread, value);
}

// ---------- Memory

uint8_t *Evaluator::place(const Address &address, unsigned thread) {
  size_t offset = address.offset;
  if (address.index)
    offset += (at(*address.index, thread) & address.indexMask) * address.scale;
  unsigned cta = thread / kernel.block, tid = thread % kernel.block;
  switch (address.partner) {
  case Address::Partner::Self:
    break;
  case Address::Partner::Xor:
    tid ^= address.distance;
    break;
  case Address::Partner::Next:
    tid = (tid + address.distance) % kernel.block;
    break;
  }
  switch (address.space) {
  case Space::Input:
    return &input[thread * kInputBytes + offset];
  case Space::Uniform:
    return &input[threads * kInputBytes + offset];
  case Space::Param:
    return &param[offset];
  case Space::Const:
    return &constant[offset];
  case Space::Global:
    return &results[thread * kGlobalBytes + offset];
  case Space::Shared:
    return &shared[thread * kSharedBytes + offset];
  case Space::Local:
    return &local[thread * kLocalBytes + offset];
  case Space::Exchange:
    return &exchanged[(cta * kernel.block + tid) * kExchangeBytes + offset];
  case Space::Output:
    break;
  }
  return &results[kernel.outputOffset() + thread * kernel.outputWords * 8 + offset];
}

StringRef elementOf(StringRef word) { return word.contains('.') ? word.split('.').second : word; }
unsigned elementBytes(StringRef word) {
  unsigned bits = 0;
  elementOf(word).drop_front().getAsInteger(10, bits);
  return bits / 8;
}

void Evaluator::load(const Statement &statement, unsigned thread) {
  const uint8_t *from = place(statement.address, thread);
  unsigned bytes = elementBytes(statement.word);
  for (auto [i, reg] : enumerate(statement.destinations)) {
    uint64_t value = 0;
    memcpy(&value, from + i * bytes, bytes);
    if (elementOf(statement.word).starts_with("s") && bytes < 8 && value >> (8 * bytes - 1) & 1)
      value |= ~maskOf(8 * bytes);
    write(reg, thread, value);
  }
}

void Evaluator::store(const Statement &statement, unsigned thread) {
  uint8_t *to = place(statement.address, thread);
  unsigned bytes = elementBytes(statement.word);
  for (auto [i, operand] : enumerate(statement.sources)) {
    uint64_t value = read(operand, thread);
    memcpy(to + i * bytes, &value, bytes);
  }
}

// What an atomic operation leaves.
uint64_t combined(StringRef word, uint64_t old, uint64_t b, uint64_t c) {
  auto [op, type] = word.split('.');
  const bool wide = type.ends_with("64"), isSigned = type[0] == 's';
  auto less = [&](uint64_t x, uint64_t y) {
    if (!isSigned)
      return x < y;
    return wide ? int64_t(x) < int64_t(y) : int32_t(x) < int32_t(y);
  };
  if (op == "add")
    return old + b;
  if (op == "min")
    return less(b, old) ? b : old;
  if (op == "max")
    return less(old, b) ? b : old;
  if (op == "and")
    return old & b;
  if (op == "or")
    return old | b;
  if (op == "xor")
    return old ^ b;
  if (op == "exch")
    return b;
  if (op == "cas")
    return old == b ? c : old;
  if (op == "inc")
    return old >= b ? 0 : old + 1;
  return old == 0 || old > b ? b : old - 1; // dec
}

void Evaluator::atomic(const Statement &statement, unsigned thread) {
  uint8_t *at = place(statement.address, thread);
  unsigned bytes = StringRef(statement.word).ends_with("64") ? 8 : 4;
  uint64_t old = 0;
  memcpy(&old, at, bytes);
  uint64_t b = read(statement.sources[0], thread);
  uint64_t c = statement.sources.size() > 1 ? read(statement.sources[1], thread) : 0;
  uint64_t result = combined(statement.word, old, b, c);
  memcpy(at, &result, bytes);
  write(statement.destinations[0], thread, old);
}

void Evaluator::reduce(const Statement &statement, unsigned thread) {
  bool isShared = statement.address.space == Space::Shared;
  uint8_t *at =
      isShared ? &cells[thread / kernel.block * kCells * 8] : &results[kernel.cellsOffset()];
  at += 8 * statement.count;
  unsigned bytes = StringRef(statement.word).ends_with("64") ? 8 : 4;
  uint64_t old = 0;
  memcpy(&old, at, bytes);
  uint64_t b = read(statement.sources[0], thread) & maskOf(8 * bytes);
  uint64_t result = combined(statement.word, old, b, 0);
  memcpy(at, &result, bytes);
}

// ---------- Threads together

void Evaluator::barrier(const Statement &statement, const Active &active) {
  if (statement.sources.empty())
    return;
  for (unsigned cta = 0; cta < kernel.grid; ++cta) {
    unsigned count = 0, all = 0;
    for (unsigned t = cta * kernel.block; t < (cta + 1) * kernel.block; ++t)
      if (active[t])
        ++all, count += unsigned(read(statement.sources[0], t));
    StringRef word = statement.word;
    unsigned value = word.contains("popc")  ? count
                     : word.contains("and") ? count == all
                                            : count > 0;
    for (unsigned t = cta * kernel.block; t < (cta + 1) * kernel.block; ++t)
      if (active[t])
        write(statement.destinations[0], t, value);
  }
}

void Evaluator::warp(const Statement &statement, const Active &active) {
  for (unsigned first = 0; first < threads; first += 32) {
    std::vector<unsigned> members;
    for (unsigned t = first; t < first + 32; ++t)
      if (active[t])
        members.push_back(t);
    if (!members.empty())
      warpOf(statement, members);
  }
}

void Evaluator::warpOf(const Statement &statement, const std::vector<unsigned> &members) {
  StringRef word = statement.word;
  uint32_t mask = 0;
  for (unsigned t : members)
    mask |= 1u << (t % 32);
  unsigned first = members[0] & ~31u;
  std::vector<uint64_t> value;
  for (unsigned t : members)
    value.push_back(read(statement.sources[0], t));
  auto give = [&](auto of) {
    std::vector<uint64_t> results;
    for (size_t i = 0; i < members.size(); ++i)
      results.push_back(uint64_t(of(i)));
    for (size_t i = 0; i < members.size(); ++i)
      write(statement.destinations[0], members[i], results[i]);
  };
  auto giveFlag = [&](auto of) {
    if (statement.destinations.size() < 2)
      return;
    for (size_t i = 0; i < members.size(); ++i)
      write(statement.destinations[1], members[i], uint64_t(of(i)));
  };
  if (word == "bar.warp.sync")
    return;
  if (word == "activemask.b32")
    return give([&](size_t) { return mask; });
  if (word == "elect.sync") {
    give([&](size_t) { return unsigned(std::countr_zero(mask)); });
    return giveFlag([&](size_t i) { return i == 0; });
  }
  if (word.starts_with("vote")) {
    uint32_t ballot = 0;
    for (size_t i = 0; i < members.size(); ++i)
      ballot |= uint32_t(value[i]) << (members[i] % 32);
    if (word.contains("ballot"))
      return give([&](size_t) { return ballot; });
    bool all = ballot == mask, any = ballot != 0;
    bool result = word.contains("all") ? all : word.contains("any") ? any : all || !any;
    return give([&](size_t) { return result; });
  }
  if (word.starts_with("match")) {
    auto same = [&](size_t i) {
      uint32_t lanes = 0;
      for (size_t k = 0; k < members.size(); ++k)
        if (value[k] == value[i])
          lanes |= 1u << (members[k] % 32);
      return lanes;
    };
    if (word.contains("any"))
      return give(same);
    bool all = same(0) == mask;
    give([&](size_t) { return all ? mask : 0; });
    return giveFlag([&](size_t) { return all; });
  }
  if (word.starts_with("redux")) {
    std::string operation = word.drop_front(strlen("redux.sync.")).str();
    uint64_t sum = value[0];
    for (size_t i = 1; i < members.size(); ++i)
      sum = combined(operation, sum, value[i], 0);
    return give([&](size_t) { return sum; });
  }
  // shfl. PTX ISA: data-movement-and-conversion-instructions-shfl-sync
  std::vector<uint64_t> results;
  std::vector<bool> inRange;
  for (unsigned t : members) {
    int lane = int(t % 32);
    int b = int(read(statement.sources[1], t) & 31);
    uint32_t c = uint32_t(read(statement.sources[2], t));
    int clamp = int(c & 31), segment = int(c >> 8 & 31);
    int most = (lane & segment) | (clamp & ~segment), least = lane & segment;
    int from;
    bool ok;
    if (word.contains(".up")) {
      from = lane - b;
      ok = from >= most;
    } else {
      from = word.contains(".down")   ? lane + b
             : word.contains(".bfly") ? lane ^ b
                                      : least | (b & ~segment);
      ok = from <= most;
    }
    unsigned source = ok ? first + unsigned(from) : t;
    results.push_back(read(statement.sources[0], source));
    inRange.push_back(ok);
  }
  give([&](size_t i) { return results[i]; });
  giveFlag([&](size_t i) { return inRange[i]; });
}

// ---------- Control

void Evaluator::loop(const Statement &statement, const Active &active) {
  Register counter = statement.destinations[0];
  std::vector<uint64_t> limit(threads, statement.count);
  for (unsigned t = 0; t < threads; ++t) {
    if (!statement.sources.empty())
      limit[t] = (read(statement.sources[0], t) & 3) + 1;
    if (active[t])
      write(counter, t, 0);
  }
  loops.push_back({Active(threads)});
  Active going = active;
  while (is_contained(going, true)) {
    execute(statement.body, going);
    for (unsigned t = 0; t < threads; ++t) {
      going[t] = going[t] && !loops.back().left[t];
      if (going[t])
        write(counter, t, at(counter, t) + 1);
    }
    Active more = going;
    for (unsigned t = 0; t < threads; ++t)
      more[t] = going[t] && at(counter, t) < limit[t];
    if (statement.voting)
      for (unsigned first = 0; first < threads; first += 32) {
        bool any = false;
        for (unsigned t = first; t < first + 32; ++t)
          any |= more[t];
        for (unsigned t = first; t < first + 32; ++t)
          more[t] = going[t] && any;
      }
    going = std::move(more);
  }
  loops.pop_back();
}

void Evaluator::call(const Statement &statement, const Active &active) {
  const Function &function = kernel.functions[statement.count];
  Frame *caller = frame;
  Frame *callee = &frames[statement.count];
  auto in = [&](Frame *which) { frame = which; };
  std::vector<Loop> around;
  std::swap(around, loops);
  for (std::vector<uint64_t> &values : callee->values)
    for (size_t i = 0; i < values.size(); ++i)
      if (active[i % threads])
        values[i] = 0;
  std::array<unsigned, kKindCount> count = {};
  for (auto [i, kind] : enumerate(function.parameters)) {
    Register parameter{kind, count[unsigned(kind)]++};
    for (unsigned t = 0; t < threads; ++t)
      if (active[t]) {
        in(caller);
        uint64_t value = read(statement.sources[i], t);
        in(callee);
        write(parameter, t, value);
      }
  }
  in(callee);
  execute(function.body, active);
  for (auto [i, reg] : enumerate(function.returned))
    for (unsigned t = 0; t < threads; ++t)
      if (active[t]) {
        in(callee);
        uint64_t value = at(reg, t);
        in(caller);
        write(statement.destinations[i], t, value);
      }
  in(caller);
  std::swap(around, loops);
}

void Evaluator::execute(const std::vector<Statement> &statements, Active active) {
  for (const Statement &statement : statements) {
    if (!error.empty())
      return;
    execute(statement, active);
    if (!loops.empty())
      for (unsigned t = 0; t < threads; ++t)
        active[t] = active[t] && !loops.back().left[t];
    if (trace)
      tell(statement, active);
  }
}

void Evaluator::execute(const Statement &statement, Active &active) {
  using What = Statement::What;
  auto each = [&](void (Evaluator::*of)(const Statement &, unsigned)) {
    Active some = guarded(statement, active);
    for (unsigned t = 0; t < threads && error.empty(); ++t)
      if (some[t])
        (this->*of)(statement, t);
  };
  switch (statement.what) {
  case What::Scalar:
    return each(&Evaluator::scalar);
  case What::Pack:
  case What::Unpack:
    for (unsigned t = 0; t < threads; ++t) {
      if (!active[t])
        continue;
      uint64_t all = 0;
      unsigned shift = 0;
      if (statement.what == What::Pack) {
        for (const Operand &operand : statement.sources) {
          all |= read(operand, t) << shift;
          shift += bitsOf(operand.reg->kind);
        }
        write(statement.destinations[0], t, all);
        continue;
      }
      all = read(statement.sources[0], t);
      for (Register reg : statement.destinations) {
        write(reg, t, all >> shift);
        shift += bitsOf(reg.kind);
      }
    }
    return;
  case What::Special:
    return each(&Evaluator::special);
  case What::Load:
    return each(&Evaluator::load);
  case What::Store:
    return each(&Evaluator::store);
  case What::Atomic:
    return each(&Evaluator::atomic);
  case What::Reduce:
    return each(&Evaluator::reduce);
  case What::Cell:
    for (unsigned t = 0; t < threads; ++t) {
      uint64_t value;
      memcpy(&value, &cells[(t / kernel.block * kCells + statement.count) * 8], 8);
      write(statement.destinations[0], t, value);
    }
    return;
  case What::Barrier:
    return barrier(statement, active);
  case What::Warp:
    return warp(statement, active);
  case What::If: {
    Active taken = guarded(statement, active), other = active;
    for (unsigned t = 0; t < threads; ++t)
      other[t] = active[t] && !taken[t];
    execute(statement.body, taken);
    execute(statement.orElse, other);
    return;
  }
  case What::Loop:
    return loop(statement, active);
  case What::Leave:
    for (unsigned t = 0; t < threads; ++t)
      if (active[t] && holds(statement, t))
        loops.back().left[t] = true;
    return;
  case What::Switch: {
    std::vector<Active> chosen(statement.cases.size(), Active(threads));
    for (unsigned t = 0; t < threads; ++t)
      if (active[t])
        chosen[read(statement.sources[0], t) & (statement.cases.size() - 1)][t] = true;
    for (auto [i, body] : enumerate(statement.cases))
      execute(body, chosen[i]);
    return;
  }
  case What::Call:
    return call(statement, active);
  }
}

void Evaluator::tell(const Statement &statement, const Active &active) {
  if (!active[traced])
    return;
  *trace << statement.word;
  for (Register reg : statement.destinations)
    *trace << formatv(" {0}{1}={2:x}", "phrdfexbyz"[unsigned(reg.kind)], reg.index,
                      at(reg, traced));
  *trace << " <-";
  for (const Operand &operand : statement.sources)
    *trace << formatv(" {0:x}", read(operand, traced));
  if (statement.guard)
    *trace << formatv(" if {0}", read(*statement.guard, traced));
  *trace << "\n";
}

Expected<std::vector<uint8_t>> Evaluator::run() {
  frame = &frames.back();
  execute(kernel.body, Active(threads, true));
  if (!error.empty())
    return createStringError(error);
  return results;
}

} // namespace

Expected<std::vector<uint8_t>> evaluate(const Kernel &kernel, raw_ostream *trace, unsigned traced) {
  return Evaluator(kernel, trace, traced).run();
}

} // namespace rubia::random_kernels
