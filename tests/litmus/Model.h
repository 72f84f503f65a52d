// SPDX-License-Identifier: Apache-2.0
// Litmus tests as data, and what the PTX memory model allows them to show.
//
// A test is written as
//
//   "st.weak x 1; st.release y 1 | ld.acquire y; ld.weak x"
//
// threads between bars, their operations between semicolons. `allowedOutcomes` enumerates candidate
// executions (which write each read sees, the coherence order of each location, the order of the
// fence.sc) and keeps those that satisfy the axioms of PTX ISA: memory-consistency-model, so that
// nobody has to say what is forbidden.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace rubia::litmus {

enum class Scope : uint8_t { Cta, Gpu, Sys };

struct Operation {
  /// Await: a loop of loads until one returns `value`.
  enum Kind : uint8_t { Load, Await, Store, Exchange, Add, Fence, Barrier } kind = Load;
  bool strong = false, isVolatile = false, membar = false;
  bool acquires = false, releases = false;
  bool sequential = false; // fence.sc, membar
  Scope scope = Scope::Gpu;
  char location = 0;
  uint32_t value = 0; // stored, exchanged, added or awaited
  int result = -1;    // index of the outcome's value, of what reads
  /// A vector of 16 bytes, all of whose words are the same. PTX's model has an access for each
  /// word; Rubia promises that they are one (docs/architecture.md), and so they are here. What a
  /// read finds in the last word is an outcome's value too.
  bool isVector = false;
  int lastWord = -1; // its index
};

struct Test {
  std::string name;
  std::vector<std::vector<Operation>> threads;
  /// The CTA of each thread.
  std::vector<unsigned> cta;
  /// CTAs may be on different devices.
  bool severalDevices = false;
  /// All threads are of one warp, where they wait for each other in turns.
  bool isOneWarp = false;
  unsigned results = 0;  // values that are read
  std::string locations; // in order of appearance; x, y, z, w are global, s, t shared

  bool isShared(char location) const { return location == 's' || location == 't'; }
  bool isStrong(char location) const; // some strong operation uses it
};

/// `layout` has a letter for the CTA of each thread ("AAB"). Operations without a scope of their
/// own get `scope`. Empty if the text is malformed.
std::optional<Test> parseTest(const std::string &name, const std::string &text, Scope scope,
                              const std::string &layout, bool severalDevices);

/// What reads returned, in order of the text, then the final value of each location.
using Outcome = std::vector<uint32_t>;
std::set<Outcome> allowedOutcomes(const Test &test);
std::string toString(const Outcome &outcome);

} // namespace rubia::litmus
