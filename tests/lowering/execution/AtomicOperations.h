// SPDX-License-Identifier: Apache-2.0
// The operations of atom and red for tests: every one on every type and width, with what it
// computes, and PTX text that executes one of them.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace rubia::lowering::test {

using Wide = unsigned __int128;

/// What an element is made of, for the arithmetic and for the comparison of NaNs.
enum class Format { Integer, F16, BF16, F32, F64 };
unsigned bitsOf(Format format);

using Reference = Wide (*)(Wide old, Wide b, Wide c, unsigned bits);

struct Operation {
  const char *name, *type; // "add.noftz.v2", "f16"
  unsigned bits;           // of an element of the PTX type
  unsigned count;          // of elements
  Format format;
  Reference reference; // of integers; floats have theirs by name
  unsigned sources = 1;
  bool hasShared = true, hasRed = true;

  bool adds() const;
  /// What all elements together become. `flushes`: f32 outside of shared memory.
  Wide apply(Wide old, Wide b, Wide c, bool flushes) const;
  /// The part of the value that is updated at once: an element.
  unsigned atomicBits() const;
};

Wide masked(Wide value, unsigned bits);
/// Bit for bit, but all NaNs are equal.
bool equal(Wide x, Wide y, Format format, unsigned bits);
/// Edge values of the elements and random ones, in all 128 bits.
Wide anyValue(const Operation &operation, std::mt19937_64 &random);
std::string show(Wide value);

/// One instruction of a test.
struct Step {
  enum class Place { Global, Shared, GenericGlobal, GenericShared };

  const Operation *operation;
  Place place;
  bool isRed;
  std::string semantics, scope;

  bool inShared() const { return place == Place::Shared || place == Place::GenericShared; }
  std::string text() const; // "atom.acquire.gpu.global.add.u32"

  /// PTX that loads the sources from [base+16] and [base+32], that executes it on [address], and
  /// that stores what it returned to [base+48].
  std::string load(const std::string &base) const;
  std::string execute(const std::string &address) const;
  std::string store(const std::string &base) const;
};

/// All operations in all places; semantics and scopes take turns, .sys is there for every
/// operation.
std::vector<Step> allSteps();
/// A half of them, chosen at random but the same every time; that of an odd number is the other
/// half. All of them where RUBIA_TEST_LONG is set.
std::vector<Step> sampledSteps(size_t half);

/// The registers that load() and the others use.
inline constexpr const char *kStepRegisters =
    ".reg .b16 %h<40>; .reg .b32 %r<40>; .reg .b64 %d<40>; .reg .b128 %q<40>;\n";

} // namespace rubia::lowering::test
