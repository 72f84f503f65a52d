// RUBIA_EMULATOR_STATS=FILE: what every launch executed, one line of JSON each, appended to FILE.
#pragma once

#include "emulator/Emulator.h"

namespace rubia::emulator {

bool statisticsAreWanted();

/// A file that cannot be written is reported on stderr: the launch itself is done.
void writeStatistics(const Kernel &kernel, const Statistics &statistics);

} // namespace rubia::emulator
