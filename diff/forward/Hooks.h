// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rubia::forward {

/// Where the driver's answer to cuGetProcAddress is a function of Hooks.def, ours takes its place.
void replaceAnswer(const char *name, void **address);

} // namespace rubia::forward
