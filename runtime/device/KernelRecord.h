// SPDX-License-Identifier: Apache-2.0
// RUBIA_RECORD_KERNELS: which kernels a program launches, with all that is needed to compile them
// for other targets, without the program. docs/precompile.md has the format.
#pragma once

#include "runtime/cache/Manifest.h"
#include "runtime/compiler/ModuleImage.h"
#include "settings/Code.h"

namespace rubia::runtime {

/// Appends the kernels of a unit to the file, and their image before the first unit of it; each
/// once in a process. Does nothing where no file is named. A failure is logged, once, and ends the
/// recording.
void recordUnit(const ModuleImage &image, const Manifest &manifest, uint32_t unit,
                const settings::Code &code);

} // namespace rubia::runtime
