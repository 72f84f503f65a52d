// SPDX-License-Identifier: Apache-2.0
// PTX text as NVIDIA's libraries carry it, without any of theirs: random instructions in the
// proportions that were counted in 10,526 PTX images of CUDA's libraries, written as nvcc writes
// them.
#pragma once

#include <cstddef>
#include <string>

/// About `bytes` long; the same text on every run.
std::string libraryMix(size_t bytes);
