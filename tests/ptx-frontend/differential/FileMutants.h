// SPDX-License-Identifier: Apache-2.0
// Real PTX files and broken variants of them: lines lost, doubled, exchanged and taken from another
// file; tokens lost and exchanged; names that clash or mean nothing; other dialects. What a parser
// meets when files are cut, concatenated or written by broken tools, and what single instructions
// cannot show: declarations, labels, scopes, functions.
#pragma once

#include "Cases.h"

namespace rubia::test {

struct PtxFile {
  std::string name, text;
};

/// The PTX texts in `paths` (libraries, programs, .ptx files) of at most `maxBytes`.
llvm::Expected<std::vector<PtxFile>> readPtx(llvm::ArrayRef<std::string> paths, size_t maxBytes);

/// The files themselves and `mutants` variants, without verdicts.
std::vector<Case> makeFileCases(llvm::ArrayRef<PtxFile> files, unsigned mutants, uint64_t seed);

/// Both verdicts.
llvm::Error judgeFiles(Ptxas &ptxas, std::vector<Case> &cases);

} // namespace rubia::test
