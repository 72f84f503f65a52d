// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rubia::runtime {

/// Answers the calls that the filter refuses, which arrive as SIGSYS: see SystemCallFilter.h. False
/// with errno set: no handler can be set.
bool answerRefusedCalls();

} // namespace rubia::runtime
