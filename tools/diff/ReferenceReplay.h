// SPDX-License-Identifier: Apache-2.0
// The launches of a capsule by the interpreter of reference/: the target `reference`. Memory lies
// at the addresses that it had, so nothing is moved.
#pragma once

#include "diff/Replay.h"

namespace rubia::tools {

/// From now on the process has so many seconds of processor time until it ends as by SIGALRM. So a
/// busy machine changes no verdict. 0: as many as it needs.
void limitOwnTime(unsigned seconds);

/// As capsule::replay; of the options, `library` means nothing here. A launch that the
/// interpreter does not support has a `status` and a `problem`; under `noise` one that reads
/// textures between texels is such.
llvm::Expected<size_t> replayOnReference(const capsule::Capsule &capsule,
                                         capsule::CapsuleOutput &output,
                                         const capsule::ReplayOptions &options);

/// As capsule::trace. The results of `given`, of a run elsewhere, are taken where they are open.
llvm::Expected<std::vector<uint8_t>> traceOnReference(const capsule::Capsule &capsule,
                                                      const capsule::TraceOf &of,
                                                      const std::string &ptx,
                                                      llvm::MutableArrayRef<uint8_t> given);

/// As capsule::locate.
llvm::Expected<std::vector<capsule::Writer>>
locateOnReference(const capsule::Capsule &capsule, const capsule::LocateRequest &request,
                  const std::string &ptx);

} // namespace rubia::tools
