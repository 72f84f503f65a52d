// The index over all instruction tables, one for each instruction set of the host.
#include "emulator/lib/Instructions.h"
#include "llvm/ADT/StringMap.h"

namespace rubia::emulator {

#define VECTOR_ALU_TABLE(name) extern const SemanticsTable name;
namespace baseline {
#include "emulator/lib/VectorAluTables.def"
}
namespace avx2 {
#include "emulator/lib/VectorAluTables.def"
}
#undef VECTOR_ALU_TABLE

using Index = llvm::StringMap<const Semantics *>;

static Index makeIndex(std::initializer_list<SemanticsTable> tables) {
  Index index;
  for (SemanticsTable table : tables)
    for (size_t i = 0; i < table.count; ++i)
      index[table.rows[i].name] = &table.rows[i];
  return index;
}

bool hasAvx2() {
  static const bool present = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                              __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi") &&
                              __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt");
  return present;
}

const Semantics *findVectorAlu(llvm::StringRef name, llvm::StringRef isa) {
#define VECTOR_ALU_TABLE(name) baseline::name,
  static const Index plain = makeIndex({
#include "emulator/lib/VectorAluTables.def"
  });
#undef VECTOR_ALU_TABLE
#define VECTOR_ALU_TABLE(name) avx2::name,
  static const Index wide = makeIndex({
#include "emulator/lib/VectorAluTables.def"
  });
#undef VECTOR_ALU_TABLE
  return (isa == "avx2" ? wide : plain).lookup(name);
}

const Semantics *findVectorAlu(llvm::StringRef name) {
  return findVectorAlu(name, hasAvx2() ? "avx2" : "baseline");
}

} // namespace rubia::emulator
