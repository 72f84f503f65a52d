// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What is compiled next has code of `rubia diff` in it.
extern bool isWatched;
