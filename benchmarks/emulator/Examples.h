// SPDX-License-Identifier: Apache-2.0
// The CUDA programs in examples/ on the emulator, launch by launch.
#pragma once

/// Runs every built example for a wave32 and a wave64 processor and prints, for each, how many lane
/// operations its launches execute a second on one core, and the geometric mean.
void runExamples();
