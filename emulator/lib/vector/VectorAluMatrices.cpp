// SPDX-License-Identifier: Apache-2.0
// The rows of matrix instructions as Semantics.
#include "emulator/lib/machine/Semantics.h"
#include "emulator/lib/vector/MatrixRows.h"
#include <vector>

namespace rubia::emulator::RUBIA_ISA {

extern const MatrixTable kMatrixRows, kMatrixMfmaRows, kMatrixSparseRows;

static std::vector<Semantics> makeRows() {
  std::vector<Semantics> rows;
  for (const MatrixTable &table : {kMatrixRows, kMatrixMfmaRows, kMatrixSparseRows})
    for (const MatrixRow *row = table.rows; row != table.rows + table.count; ++row) {
      Operation operation;
      operation.function = row->operation.function;
      operation.blocks = row->operation.blocks;
      rows.push_back(
          {row->name, operation, row->exactness == Exactness::UnorderedSum ? kUnorderedSum : 0u});
    }
  return rows;
}
static const std::vector<Semantics> kRows = makeRows();

extern const SemanticsTable kVectorAluMatrices;
const SemanticsTable kVectorAluMatrices = {kRows.data(), kRows.size()};

} // namespace rubia::emulator::RUBIA_ISA
