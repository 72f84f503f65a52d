// SPDX-License-Identifier: Apache-2.0
// The index over all instruction tables, one for each instruction set of the host.
#include "emulator/lib/decode/Instructions.h"
#include "emulator/Emulator.h"
#include "emulator/lib/machine/Semantics.h"
#include "settings/Settings.h"
#include "llvm/ADT/StringMap.h"
#include <algorithm>
#include <cstdlib>

namespace rubia::settings::Id {
extern const Setting emulatorIsa;
} // namespace rubia::settings::Id
namespace rubia::settings::EmulatorIsa {
extern const Word Avx2, Baseline;
} // namespace rubia::settings::EmulatorIsa

namespace rubia::emulator {

#define VECTOR_ALU_TABLE(name) extern const SemanticsTable name;
namespace baseline {
#include "emulator/lib/vector/VectorAluTables.def"
}
// Elsewhere there is one set of tables, in the host's own vectors.
#if defined(__x86_64__) && !defined(RUBIA_ONE_VECTOR_TABLE)
namespace avx2 {
#include "emulator/lib/vector/VectorAluTables.def"
}
namespace avx512 {
#include "emulator/lib/vector/VectorAluTables.def"
}
#endif
#undef VECTOR_ALU_TABLE

using Index = llvm::StringMap<const Semantics *>;

static Index makeIndex(std::initializer_list<SemanticsTable> tables) {
  Index index;
  for (SemanticsTable table : tables)
    for (size_t i = 0; i < table.count; ++i)
      index[table.rows[i].name] = &table.rows[i];
  return index;
}

static HostIsa findHostIsa() {
#if defined(__x86_64__) && !defined(RUBIA_ONE_VECTOR_TABLE)
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi") &&
              __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt");
  bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx512 ? HostIsa::Avx512 : avx2 ? HostIsa::Avx2 : HostIsa::Baseline;
#else
  return HostIsa::Baseline;
#endif
}

llvm::Error checkHostIsa() { return hostSettings().check(settings::Id::emulatorIsa); }

HostIsa hostIsa() {
  static const HostIsa isa = [] {
    // Loading a code object tells what makes no sense.
    const settings::Word most = hostSettings().word(settings::Id::emulatorIsa);
    return most == settings::EmulatorIsa::Baseline ? HostIsa::Baseline
           : most == settings::EmulatorIsa::Avx2   ? std::min(findHostIsa(), HostIsa::Avx2)
                                                   : findHostIsa();
  }();
  return isa;
}

const Semantics *findVectorAlu(llvm::StringRef name, HostIsa isa) {
  switch (isa) {
  case HostIsa::Baseline: {
#define VECTOR_ALU_TABLE(name) baseline::name,
    static const Index index = makeIndex({
#include "emulator/lib/vector/VectorAluTables.def"
    });
#undef VECTOR_ALU_TABLE
    return index.lookup(name);
  }
#if defined(__x86_64__) && !defined(RUBIA_ONE_VECTOR_TABLE)
  case HostIsa::Avx2: {
#define VECTOR_ALU_TABLE(name) avx2::name,
    static const Index index = makeIndex({
#include "emulator/lib/vector/VectorAluTables.def"
    });
#undef VECTOR_ALU_TABLE
    return index.lookup(name);
  }
  case HostIsa::Avx512: {
#define VECTOR_ALU_TABLE(name) avx512::name,
    static const Index index = makeIndex({
#include "emulator/lib/vector/VectorAluTables.def"
    });
#undef VECTOR_ALU_TABLE
    return index.lookup(name);
  }
#else
  case HostIsa::Avx2:
  case HostIsa::Avx512:
    break;
#endif
  }
  return nullptr;
}

const Semantics *findVectorAlu(llvm::StringRef name) { return findVectorAlu(name, hostIsa()); }

Exactness exactnessOf(llvm::StringRef name) {
  const Semantics *row = findVectorAlu(name);
  return row ? exactnessOf(row->flags) : Exactness::Exact;
}

} // namespace rubia::emulator
