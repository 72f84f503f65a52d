// SPDX-License-Identifier: Apache-2.0
// Where Rubia lies: the folder of the file that holds this code, be it libcuda.so.1, rubia or a
// test.
#pragma once

#include <string>

namespace rubia::runtime {

/// Absolute, without a slash at the end.
std::string installationFolder();

} // namespace rubia::runtime
