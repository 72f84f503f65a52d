// SPDX-License-Identifier: Apache-2.0
#include "targets/Generation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <iterator>
#include <optional>

using namespace llvm;

namespace rubia::targets {

static constexpr StringLiteral kGenerationNames[] = {
#define GENERATION(Name, Text) Text,
#include "targets/Generations.def"
#undef GENERATION
};

// A row of Facts.def is a constant with a value for each generation.
namespace values {
using enum Accumulators;
using enum CachePolicy;
using enum HardwareId;
using enum Matrix;
using enum ProductSum;
#define MEMBER(Type, Name, ...)                                                                    \
  constexpr Type Name[] = {__VA_ARGS__};                                                           \
  static_assert(std::size(Name) == std::size(kGenerationNames));
#define FACT(Type, Name, ...) MEMBER(uint32_t, Name, __VA_ARGS__)
#include "targets/Facts.def"
} // namespace values

namespace Fact {
#define FACT(Type, Name, ...) extern const GenerationFact Name(values::Name);
#include "targets/Facts.def"
} // namespace Fact

// Whether 16-bit loads of a target keep what those of its generation clear.
enum class Differs : uint8_t { Same, Keeps };

static constexpr Target make(StringLiteral name, Generation generation, Version version,
                             unsigned vgprsPerSimd, Float8 float8, bool hasDot2, Differs d16,
                             StringLiteral generic, Tests tests, StringLiteral product) {
  return {
      .name = name,
      .generation = generation,
      .version = version,
      .vgprsPerSimd = vgprsPerSimd,
      .float8 = float8,
      .hasDot2 = hasDot2,
      .loadsOf16BitsClear = values::d16ClearsRegister[size_t(generation)] && d16 != Differs::Keeps,
      .generic = generic,
      .tests = tests,
      .product = product,
#define MEMBER(Type, Name, ...) .Name = values::Name[size_t(generation)],
#include "targets/Facts.def"
  };
}

static constexpr Version version(unsigned major, unsigned minor, unsigned stepping) {
  return {major, minor, stepping};
}

namespace rows {
using enum Generation;
using enum Float8;
using enum Differs;
using enum Tests;
constexpr Target kTargets[] = {
#define TARGET(Name, Gen, Number, Vgprs, Float8, Dot2, D16, Generic, Tests, Product)               \
  make(Name, Gen, version Number, Vgprs, Float8, Dot2, D16, Generic, Tests, Product),
#include "targets/Targets.def"
#undef TARGET
};
} // namespace rows

unsigned Target::vgprAllocation(unsigned lanes) const {
  return vgprsPerSimd / Fact::vgprPortionsPerSimd(*this) / (hasWave32 && lanes == 64 ? 2 : 1);
}

ArrayRef<Target> all() { return rows::kTargets; }

const Target *find(StringRef target) {
  target = target.split(':').first;
  const auto *row = find_if(rows::kTargets, [&](const Target &t) { return t.name == target; });
  return row == std::end(rows::kTargets) ? nullptr : row;
}

const Target &byDefault() {
  return *find_if(rows::kTargets, [](const Target &t) { return t.tests == Tests::Default; });
}

StringRef nameOf(Generation generation) { return kGenerationNames[size_t(generation)]; }

std::string listOfNames() {
  std::string names;
  for (const Target &target : rows::kTargets)
    names += (names.empty() ? "" : ", ") + target.name.str();
  return names;
}

/// The version in a name: of gfx90a 9, 0, 10. Generic and other names have none.
static std::optional<Version> versionOf(StringRef name) {
  Version version;
  if (!name.consume_front("gfx") || name.size() < 3 ||
      name.drop_back(2).getAsInteger(10, version.major) ||
      name.take_back(2).take_front().getAsInteger(16, version.minor) ||
      name.take_back().getAsInteger(16, version.stepping))
    return std::nullopt;
  return version;
}

std::string messageForUnknown(StringRef target) {
  const StringRef name = target.split(':').first;
  std::string message = ("'" + name + "' is not in Rubia's table of targets").str();
  const std::optional<Version> version = versionOf(name);
  if (!version)
    return message;
  auto isKin = [&](const Target &row, bool sameMinor) {
    return !row.generic.empty() && row.version.major == version->major &&
           (!sameMinor || row.version.minor == version->minor);
  };
  for (bool sameMinor : {true, false})
    for (const Target &row : rows::kTargets)
      if (isKin(row, sameMinor))
        return message + "; the generic target nearest to it is " + row.generic.str();
  return message;
}

Expected<SmallVector<const Target *>> emulatedDevices(StringRef list) {
  if (list.empty())
    return SmallVector<const Target *>{&byDefault()};
  SmallVector<StringRef> names;
  list.split(names, ',');
  SmallVector<const Target *> devices;
  for (StringRef name : names) {
    const Target *target = name.contains(':') ? nullptr : find(name.trim());
    if (!target)
      return createStringError("RUBIA_ARCH names '" + name + "'; the emulator executes " +
                               listOfNames());
    devices.push_back(target);
  }
  return devices;
}

std::string nameOfEmulated(const Target &target) {
  return (target.product + " (emulated by Rubia)").str();
}

bool runsOn(StringRef target, StringRef arch) {
  target = target.split(':').first;
  if (target == arch.split(':').first)
    return true;
  const Target *row = find(arch);
  return row && row->generic == target;
}

} // namespace rubia::targets
