// SPDX-License-Identifier: Apache-2.0
// What `replay`, `diff` and the processes that they start are told.
#pragma once

#include "diff/Compare.h"
#include "settings/Settings.h"
#include "tools/diff/ReplayTargets.h"
#include <CLI/CLI.hpp>

namespace rubia::tools {

struct DiffOptions {
  ReplayWork work;
  std::string output, json, junit, html, between, against;
  std::vector<std::string> archs;
  settings::Settings settings;
  std::string library, device;
  size_t from = 0;
  unsigned perturbed = 8;
  std::vector<std::string> recordings; // further ones, of the same launches
  std::vector<uint64_t> locate;        // launch, region, offset; CTA: in its shared memory
  std::vector<uint64_t> writers;       // launch, region
  std::vector<uint64_t> trace;         // launch, CTA, thread
  std::string given;                   // a file with open results for it
  std::string reduced;                 // a folder for the first launch that differs, made small
  std::string messages;                // where stderr goes
  bool givenLoads = false;             // what is loaded too
  bool isFailing = false;              // the launch that is traced
  bool all = false, noLocate = false, touched = false, onReference = false, explain = false;
  capsule::Bounds bounds;
};

/// Words that only the process for a target has.
void addReplayHere(CLI::App &worker, DiffOptions &options);
/// In the process for a target.
int replayHere(const DiffOptions &options);

} // namespace rubia::tools
