// SPDX-License-Identifier: Apache-2.0
// The heap of processes that compile.
#pragma once

namespace rubia::runtime {

/// To be called first. LLVM allocates megabytes for each function: kept, they are not mapped and
/// cleared again for the next. The first ones are of huge pages where the kernel has these, as
/// small pages cost a third of a small kernel's compilation.
void keepHeapInHugePages();

} // namespace rubia::runtime
