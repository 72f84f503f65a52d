// SPDX-License-Identifier: Apache-2.0
// Runs the cases on the interpreter of reference/, without a driver.
#pragma once

#include "ptx-frontend/Parser.h"
#include "reference/Interpreter.h"
#include "tests/golden/textures/Runner.h"

namespace rubia::golden {

class ReferenceTextureRunner {
public:
  /// Throws std::runtime_error.
  ReferenceTextureRunner();
  /// As of TextureRunner; `error` says why the interpreter failed.
  TextureOutcome run(const TextureCase &c, unsigned count, std::string &error);
  TextureOutcome run(const SurfaceCase &c, std::string &error);

private:
  ptx::ParseResult parsed;
  std::unique_ptr<reference::Interpreter> interpreter;
};

} // namespace rubia::golden
