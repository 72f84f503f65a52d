// SPDX-License-Identifier: Apache-2.0
// What sets AMD's processors apart, as far as Rubia has to know it: the rows of Targets.def and
// Facts.def. What
// LLVM alone has to know (which instructions to select, which hazards to avoid) is in LLVM's own
// tables.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace rubia::targets {

enum class Generation : uint8_t; // Generation.h has the names

enum class Accumulators : uint8_t { None, Own, Shared };

/// The bits of a memory instruction that say how far it must reach. AMDGPUUsage "Memory Model".
enum class CachePolicy : uint8_t {
  Glc,    ///< past the compute unit's cache
  ScBits, ///< sc0 and sc1: wave, workgroup, agent, system
  GlcDlc, ///< past the compute unit's cache, past the shader array's
  Scope   ///< a field of its own
};

/// The hardware registers that name the compute unit of a wave.
enum class HardwareId : uint8_t {
  Id7,   ///< HW_ID, seven bits
  Id8,   ///< HW_ID, eight bits
  IdXcc, ///< HW_ID, seven bits, and XCC_ID
  Id1    ///< HW_ID1
};

/// How a matrix unit adds products of f16 and smaller formats, of xf32 too.
enum class ProductSum : uint8_t {
  InOrder,  ///< nobody has published how
  Pairwise, ///< two products at a time
  Aligned   ///< aligned to the largest, and truncated
};

enum class Matrix : uint8_t { NoMatrix, Mfma, MfmaScaled, Wmma, WmmaPacked };

/// The formats of 8-bit floating point: none, those without infinities and -0 (FNUZ), or OCP's.
enum class Float8 : uint8_t { None8, Fnuz, Ocp };

/// How much of the tests runs on a target.
enum class Tests : uint8_t { Default, Whole, Sampled };

struct Version {
  unsigned major = 0, minor = 0, stepping = 0;
};

struct Target {
  llvm::StringLiteral name; ///< "gfx1100"
  Generation generation;
  Version version;
  unsigned vgprsPerSimd; ///< for each lane of a wave32, or of a wave64 where there is no other
  Float8 float8;
  bool hasDot2;
  /// Loads of 16 bits clear the other half of their register.
  bool loadsOf16BitsClear;
  llvm::StringLiteral generic; ///< the target whose code runs on it too, or ""
  Tests tests;
  llvm::StringLiteral product;

  // Of its generation: each MEMBER of Facts.def.
  unsigned isa;
  bool hasWave32;
  Accumulators accumulators;
  CachePolicy cachePolicy;
  bool atomicsReachHost;
  HardwareId hardwareId;
  Matrix matrix;
  ProductSum productSum;

  bool isGeneric() const { return name.ends_with("-generic"); }
  /// Of kernels that ask for nothing else.
  unsigned waveSize() const { return hasWave32 ? 32 : 64; }
  /// What a wave's vector registers are rounded up to. A wave64 has half of what a wave32 has,
  /// where there are both.
  unsigned vgprAllocation(unsigned lanes) const;
  bool hasMfma() const { return matrix == Matrix::Mfma || matrix == Matrix::MfmaScaled; }
};

/// A FACT of Facts.def: a number, or whether something is so, for each generation.
///
/// No header has the names, so a new row compiles the table again and nothing else. A file that
/// asks for facts declares those:
///   namespace rubia::targets::Fact {
///   extern const GenerationFact hasDies, maxLdsBytes;
///   } // namespace rubia::targets::Fact
/// and reads Fact::hasDies(target). A name without a row does not link.
class GenerationFact {
public:
  constexpr explicit GenerationFact(const uint32_t *values) : values(values) {}
  uint32_t operator()(const Target &target) const { return values[size_t(target.generation)]; }

private:
  const uint32_t *values; // by generation
};

/// All rows.
llvm::ArrayRef<Target> all();

/// The row of a processor or target ID ("gfx90a:xnack-"), or null.
const Target *find(llvm::StringRef target);

/// What commands take if nobody says otherwise.
const Target &byDefault();

llvm::StringRef nameOf(Generation generation);

/// "gfx1100, gfx1101, ...": the names of all rows.
std::string listOfNames();

/// Why a processor without a row is refused: an error message that names the generic target of its
/// family, whose code runs on it, if there is one.
std::string messageForUnknown(llvm::StringRef target);

/// The devices that the emulator has by a list of names ("gfx1100,gfx942"); empty: byDefault().
/// An error: there is no row of a name.
llvm::Expected<llvm::SmallVector<const Target *>> emulatedDevices(llvm::StringRef list);
/// "AMD Radeon RX 7900 XTX (emulated by Rubia)".
std::string nameOfEmulated(const Target &target);

/// Whether code for `target`, which may be generic ("gfx11-generic") or name features
/// ("gfx90a:xnack-"), runs on the processor `arch`.
bool runsOn(llvm::StringRef target, llvm::StringRef arch);

} // namespace rubia::targets
