// SPDX-License-Identifier: Apache-2.0
// Which instructions may give other results on another processor, for the same inputs.
#pragma once

#include "ptx-frontend/Module.h"

namespace rubia::capsule {

bool hasFloat(const ptx::Spelling &spelling);
/// What it writes to memory is the sum of floating-point numbers, or exchanged, in an order that is
/// open.
bool isMemoryInexact(const ptx::Spelling &spelling);
/// Its result may be another one.
bool isInexact(const ptx::Instruction &instruction);
/// It writes or returns what depends on the order of threads.
bool isOfOrder(const ptx::Spelling &spelling);
/// It reads a texture between texels, if the texture's filter is linear.
bool mayFilter(const ptx::Spelling &spelling);
/// The processor's own: no two have the same.
bool isOwn(ptx::SpecialRegister special);

} // namespace rubia::capsule
