// SPDX-License-Identifier: Apache-2.0
// What lists of cases (Cases.h) are made with.
#pragma once

#include "tests/golden/textures/CaseShapes.h"

namespace rubia::golden {

/// A case of a shape, with the sizes that most have.
TextureCase base(Shape shape);

struct CaseList {
  std::vector<TextureCase> all;
  /// Names the case after what it asks, and `what`.
  void add(TextureCase c, const std::string &what = "");
};

/// The fifth list.
std::vector<TextureCase> sumCases();
/// The sixth list.
std::vector<TextureCase> edgeCases();

} // namespace rubia::golden
