// SPDX-License-Identifier: Apache-2.0
#include "tests/litmus/Model.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>

using namespace llvm;

namespace rubia::litmus {

bool Test::isStrong(char location) const {
  for (const auto &thread : threads)
    for (const Operation &operation : thread)
      if (operation.location == location && operation.strong)
        return true;
  return false;
}

// Text.

static bool parseWord(StringRef word, Operation &operation) {
  using Kind = Operation::Kind;
  if (word == "ld")
    operation.kind = Kind::Load;
  else if (word == "await")
    operation.kind = Kind::Await;
  else if (word == "st")
    operation.kind = Kind::Store;
  else if (word == "exch" || word == "add") {
    operation.kind = word == "add" ? Kind::Add : Kind::Exchange;
    operation.strong = true;
  } else if (word == "fence" || word == "membar") {
    operation.kind = Kind::Fence;
    operation.strong = operation.acquires = operation.releases = true;
    operation.membar = operation.sequential = word == "membar";
  } else if (word == "bar")
    operation.kind = Kind::Barrier;
  else if (word == "weak")
    operation.strong = false;
  else if (word == "relaxed")
    operation.strong = true;
  else if (word == "volatile") {
    operation.strong = operation.isVolatile = true;
    operation.scope = Scope::Sys;
  } else if (word == "acquire")
    operation.strong = operation.acquires = true;
  else if (word == "release")
    operation.strong = operation.releases = true;
  else if (word == "acq_rel")
    operation.strong = operation.acquires = operation.releases = true;
  else if (word == "v4")
    operation.isVector = true;
  else if (word == "sc")
    operation.sequential = true;
  else if (word == "cta")
    operation.scope = Scope::Cta;
  else if (word == "gpu" || word == "gl")
    operation.scope = Scope::Gpu;
  else if (word == "sys")
    operation.scope = Scope::Sys;
  else
    return false;
  return true;
}

std::optional<Test> parseTest(const std::string &name, const std::string &text, Scope scope,
                              const std::string &layout, bool severalDevices) {
  Test test;
  test.name = name;
  test.severalDevices = severalDevices;
  SmallVector<StringRef> threads;
  StringRef(text).split(threads, '|');
  if (threads.size() != layout.size())
    return std::nullopt;
  for (size_t i = 0; i < threads.size(); ++i) {
    test.cta.push_back(unsigned(layout[i] - 'A'));
    auto &operations = test.threads.emplace_back();
    SmallVector<StringRef> texts;
    threads[i].split(texts, ';');
    for (StringRef one : texts) {
      SmallVector<StringRef> words, parts;
      one.trim().split(words, ' ');
      words[0].split(parts, '.');
      Operation operation;
      operation.scope = scope;
      for (StringRef part : parts)
        if (!parseWord(part, operation))
          return std::nullopt;
      if (words.size() > 1) {
        operation.location = words[1][0];
        if (test.locations.find(operation.location) == std::string::npos)
          test.locations += operation.location;
      }
      if (words.size() > 2 && words[2].getAsInteger(10, operation.value))
        return std::nullopt;
      const bool reads = operation.kind == Operation::Load ||
                         operation.kind == Operation::Exchange || operation.kind == Operation::Add;
      if (reads)
        operation.result = int(test.results++);
      if (reads && operation.isVector)
        operation.lastWord = int(test.results++);
      operations.push_back(operation);
    }
  }
  return test;
}

std::string toString(const Outcome &outcome) {
  std::string text;
  for (uint32_t value : outcome)
    text += (text.empty() ? "" : " ") + std::to_string(value);
  return text;
}

// Axioms.

namespace {

constexpr unsigned kMaxEvents = 32;

/// A relation over events, row by row.
struct Relation {
  uint32_t row[kMaxEvents] = {};
  bool has(unsigned a, unsigned b) const { return row[a] >> b & 1; }
  void add(unsigned a, unsigned b) { row[a] |= 1u << b; }
  void close(unsigned count) {
    for (unsigned k = 0; k < count; ++k)
      for (unsigned i = 0; i < count; ++i)
        if (has(i, k))
          row[i] |= row[k];
  }
  bool isIrreflexive(unsigned count) const {
    for (unsigned i = 0; i < count; ++i)
      if (has(i, i))
        return false;
    return true;
  }
};

struct EventNode {
  const Operation *operation = nullptr; // null: the initial write of `location`
  int thread = -1;
  char location = 0;
  bool reads = false, writes = false; // memory
  bool arrives = false, departs = false;
  unsigned barrier = 0; // which of the thread's
  int partner = -1;     // of a read that is part of an atomic: its write
  bool isFence() const { return operation && operation->kind == Operation::Fence; }
};

class Executions {
public:
  explicit Executions(const Test &test);
  std::set<Outcome> enumerate();

private:
  bool includes(const EventNode &a, const EventNode &b) const;
  bool morallyStrong(unsigned a, unsigned b) const;
  void chooseReads(unsigned next);
  void chooseCoherence(size_t location);
  void chooseFences();
  bool computeValues();
  bool isConsistent() const;
  Relation observation() const;
  Relation synchronizes(const Relation &observed) const;
  void record();

  const Test &test;
  std::vector<EventNode> events;
  unsigned count = 0;
  Relation program;
  std::vector<unsigned> reads;
  std::vector<unsigned> fences; // fence.sc
  // The candidate.
  std::vector<int> source;                      // of each read: a write
  std::vector<std::vector<unsigned>> coherence; // per location, oldest first
  std::vector<unsigned> fenceOrder;
  std::vector<uint32_t> values;
  std::set<Outcome> outcomes;
};

Executions::Executions(const Test &test) : test(test) {
  for (char location : test.locations) {
    EventNode initial;
    initial.location = location;
    initial.writes = true;
    events.push_back(initial);
  }
  for (size_t i = 0; i < test.threads.size(); ++i) {
    unsigned barriers = 0;
    const unsigned first = unsigned(events.size());
    for (const Operation &operation : test.threads[i]) {
      EventNode event;
      event.operation = &operation;
      event.thread = int(i);
      event.location = operation.location;
      switch (operation.kind) {
      case Operation::Load:
      case Operation::Await:
        event.reads = true;
        break;
      case Operation::Store:
        event.writes = true;
        break;
      case Operation::Exchange:
      case Operation::Add:
        event.reads = true;
        event.partner = int(events.size()) + 1;
        events.push_back(event);
        event.reads = false;
        event.partner = -1;
        event.writes = true;
        break;
      case Operation::Barrier:
        event.barrier = barriers++;
        event.arrives = true;
        events.push_back(event);
        event.arrives = false;
        event.departs = true;
        break;
      case Operation::Fence:
        break;
      }
      events.push_back(event);
    }
    for (unsigned a = first; a < events.size(); ++a)
      for (unsigned b = a + 1; b < events.size(); ++b)
        program.add(a, b);
  }
  count = unsigned(events.size());
  for (unsigned i = 0; i < count; ++i) {
    if (events[i].reads)
      reads.push_back(i);
    if (events[i].isFence() && events[i].operation->sequential)
      fences.push_back(i);
  }
  source.assign(count, -1);
}

/// Whether the scope of `a` includes the thread of `b`.
bool Executions::includes(const EventNode &a, const EventNode &b) const {
  const bool sameCta = test.cta[size_t(a.thread)] == test.cta[size_t(b.thread)];
  switch (a.operation->scope) {
  case Scope::Cta:
    return sameCta;
  case Scope::Gpu:
    return sameCta || !test.severalDevices;
  case Scope::Sys:
    return true;
  }
  return false;
}

/// PTX ISA: "Morally Strong Operations". Initial writes are strong and of every scope.
bool Executions::morallyStrong(unsigned a, unsigned b) const {
  const EventNode &x = events[a], &y = events[b];
  if (x.location && y.location && x.location != y.location)
    return false;
  if (!x.operation || !y.operation || x.thread == y.thread)
    return true;
  return x.operation->strong && y.operation->strong && includes(x, y) && includes(y, x);
}

Relation Executions::observation() const {
  Relation observed;
  for (unsigned read : reads)
    if (morallyStrong(unsigned(source[read]), read) && events[unsigned(source[read])].operation)
      observed.add(unsigned(source[read]), read);
  Relation extended = observed; // W to Z's read, from Z's write on
  for (unsigned read : reads)
    if (events[read].partner >= 0)
      extended.add(read, unsigned(events[read].partner));
  extended.close(count);
  for (unsigned a = 0; a < count; ++a)
    for (unsigned b = 0; b < count; ++b)
      if (events[a].writes && events[b].reads && extended.has(a, b))
        observed.add(a, b);
  return observed;
}

/// PTX ISA: "Release and Acquire Patterns", "Synchronizing Operations". A pattern is given by its
/// first (last) operation and the write (read) that is observed.
Relation Executions::synchronizes(const Relation &observed) const {
  std::vector<std::pair<unsigned, unsigned>> releases, acquires;
  for (unsigned a = 0; a < count; ++a) {
    const Operation *first = events[a].operation;
    if (!first)
      continue;
    for (unsigned b = 0; b < count; ++b) {
      const Operation *second = events[b].operation;
      const bool follows = a == b || program.has(a, b);
      if (!second || !follows)
        continue;
      if (events[b].writes && second->strong && first->releases &&
          (events[a].isFence() || (events[a].writes && events[a].location == events[b].location)))
        releases.emplace_back(a, b);
      if (events[a].reads && first->strong && second->acquires &&
          (events[b].isFence() || (events[b].reads && events[a].location == events[b].location)))
        acquires.emplace_back(b, a);
    }
  }
  Relation sync;
  for (auto [first, write] : releases)
    for (auto [last, read] : acquires)
      if (observed.has(write, read) && events[first].thread != events[last].thread) {
        // The two ends have no common location unless both are accesses to it.
        const EventNode &x = events[first], &y = events[last];
        if (includes(x, y) && includes(y, x))
          sync.add(first, last);
      }
  for (size_t i = 0; i < fenceOrder.size(); ++i)
    for (size_t j = i + 1; j < fenceOrder.size(); ++j)
      if (morallyStrong(fenceOrder[i], fenceOrder[j]))
        sync.add(fenceOrder[i], fenceOrder[j]);
  for (unsigned a = 0; a < count; ++a)
    for (unsigned b = 0; b < count; ++b)
      if (events[a].arrives && events[b].departs && events[a].barrier == events[b].barrier &&
          test.cta[size_t(events[a].thread)] == test.cta[size_t(events[b].thread)])
        sync.add(a, b);
  return sync;
}

bool Executions::isConsistent() const {
  const Relation observed = observation();
  Relation causality = synchronizes(observed);
  for (unsigned a = 0; a < count; ++a)
    causality.row[a] |= program.row[a];
  causality.close(count); // base causality
  const Relation base = causality;
  for (unsigned a = 0; a < count; ++a)
    for (unsigned z = 0; z < count; ++z)
      if (observed.has(a, z))
        causality.row[a] |= base.row[z];
  for (unsigned a = 0; a < test.locations.size(); ++a) // initial writes
    for (unsigned b = unsigned(test.locations.size()); b < count; ++b)
      causality.add(a, b);
  if (!causality.isIrreflexive(count))
    return false;
  // Fence-SC.
  for (size_t i = 0; i < fenceOrder.size(); ++i)
    for (size_t j = i + 1; j < fenceOrder.size(); ++j)
      if (morallyStrong(fenceOrder[i], fenceOrder[j]) &&
          causality.has(fenceOrder[j], fenceOrder[i]))
        return false;
  // Coherence: of writes that are not related by it, either may be the older.
  Relation older;
  for (const auto &order : coherence)
    for (size_t i = 0; i < order.size(); ++i)
      for (size_t j = i + 1; j < order.size(); ++j) {
        if (causality.has(order[j], order[i]))
          return false;
        if (morallyStrong(order[i], order[j]) || causality.has(order[i], order[j]))
          older.add(order[i], order[j]);
      }
  older.close(count);
  Relation fromRead;
  for (unsigned read : reads)
    for (unsigned write = 0; write < count; ++write)
      if (older.has(unsigned(source[read]), write))
        fromRead.add(read, write);
  for (unsigned read : reads) {
    const unsigned from = unsigned(source[read]);
    // Causality: nothing from the future, nothing older than what comes before.
    if (causality.has(read, from))
      return false;
    for (unsigned write = 0; write < count; ++write)
      if (events[write].writes && fromRead.has(read, write) && causality.has(write, read))
        return false;
    // Atomicity.
    if (events[read].partner >= 0)
      for (unsigned write = 0; write < count; ++write)
        if (events[write].writes && fromRead.has(read, write) &&
            older.has(write, unsigned(events[read].partner)) && morallyStrong(write, read))
          return false;
  }
  // SC-per-location.
  Relation communication;
  for (unsigned a = 0; a < count; ++a)
    for (unsigned b = 0; b < count; ++b) {
      const bool related =
          older.has(a, b) || fromRead.has(a, b) || (events[b].reads && source[b] == int(a)) ||
          (program.has(a, b) && events[a].location && events[a].location == events[b].location);
      if (related && morallyStrong(a, b))
        communication.add(a, b);
    }
  communication.close(count);
  return communication.isIrreflexive(count);
}

/// The values of all writes. False if a value would come out of thin air.
bool Executions::computeValues() {
  values.assign(count, 0);
  std::vector<bool> known(count);
  for (unsigned round = 0; round <= count; ++round) {
    bool all = true;
    for (unsigned i = 0; i < count; ++i) {
      const EventNode &event = events[i];
      if (known[i])
        continue;
      if (event.reads) {
        if ((known[i] = known[unsigned(source[i])]))
          values[i] = values[unsigned(source[i])];
      } else if (event.writes && event.operation && event.operation->kind == Operation::Add) {
        if ((known[i] = known[i - 1]))
          values[i] = values[i - 1] + event.operation->value;
      } else {
        known[i] = true;
        values[i] = event.operation ? event.operation->value : 0;
      }
      all &= known[i];
    }
    if (all)
      return true;
  }
  return false;
}

void Executions::record() {
  Outcome outcome(test.results);
  for (unsigned read : reads)
    if (events[read].operation->kind == Operation::Await &&
        values[read] != events[read].operation->value)
      return; // its last load is not this one
  for (unsigned read : reads)
    if (events[read].operation->kind != Operation::Await)
      for (int result : {events[read].operation->result, events[read].operation->lastWord})
        if (result >= 0)
          outcome[size_t(result)] = values[read];
  for (const auto &order : coherence)
    outcome.push_back(values[order.back()]);
  outcomes.insert(outcome);
}

void Executions::chooseFences() {
  fenceOrder = fences;
  std::sort(fenceOrder.begin(), fenceOrder.end());
  do
    if (isConsistent()) {
      record();
      return; // other orders show the same
    }
  while (std::next_permutation(fenceOrder.begin(), fenceOrder.end()));
}

void Executions::chooseCoherence(size_t location) {
  if (location == test.locations.size()) {
    if (computeValues())
      chooseFences();
    return;
  }
  std::vector<unsigned> order;
  for (unsigned i = unsigned(test.locations.size()); i < count; ++i)
    if (events[i].writes && events[i].location == test.locations[location])
      order.push_back(i);
  do {
    coherence[location] = order;
    coherence[location].insert(coherence[location].begin(), unsigned(location));
    chooseCoherence(location + 1);
  } while (std::next_permutation(order.begin(), order.end()));
}

void Executions::chooseReads(unsigned next) {
  if (next == reads.size()) {
    coherence.resize(test.locations.size());
    chooseCoherence(0);
    return;
  }
  const unsigned read = reads[next];
  for (unsigned write = 0; write < count; ++write)
    if (events[write].writes && events[write].location == events[read].location &&
        int(write) != events[read].partner) {
      source[read] = int(write);
      chooseReads(next + 1);
    }
}

std::set<Outcome> Executions::enumerate() {
  chooseReads(0);
  return std::move(outcomes);
}

} // namespace

std::set<Outcome> allowedOutcomes(const Test &test) { return Executions(test).enumerate(); }

} // namespace rubia::litmus
