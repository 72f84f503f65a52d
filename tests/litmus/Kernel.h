// SPDX-License-Identifier: Apache-2.0
// A litmus test as a PTX kernel.
//
// k(.param .u64 results, .param .u64 location0, ...): each thread of the test is a group of 64
// threads of a CTA, so that no two are in one wave, and of these the first 32 each run an instance
// of the test of their own: instance i has every location at byte i * kStride, a line
// of its own, and its results at word i * (number of values of an outcome).
//
// Of a test of one warp, an instance is kLanesOfInstance threads of the only warp.
#pragma once

#include "tests/litmus/Model.h"

namespace rubia::litmus {

constexpr unsigned kInstances = 32;
constexpr unsigned kStride = 64;     // bytes between the locations of two instances
constexpr unsigned kThreadSize = 64; // threads of the CTA that are one thread of the test
constexpr unsigned kLanesOfInstance = 4;

inline unsigned instancesOf(const Test &test) {
  return test.isOneWarp ? kInstances / kLanesOfInstance : kInstances;
}

/// `name` is the kernel's.
std::string kernelOf(const Test &test, const std::string &name);
/// The head of a module of such kernels.
extern const char kModuleHead[];

} // namespace rubia::litmus
