// SPDX-License-Identifier: Apache-2.0
// The system calls of a compile process, as a seccomp filter: what is not listed is refused. A
// refused call fails with EPERM, and a line on stderr names it. It does not end the process: so a C
// library that tries a newer call first falls back as it would on an older kernel, and costs a
// line, not every compilation. Nothing becomes possible by trying again.
//
// No call that takes a path is listed. lld is told "/proc/self/fd/N" for files that are open
// already (codegen/lib/Link.cpp): such calls are answered by duplicating N.
#pragma once

namespace rubia::runtime {

/// For the calling thread, which must be the only one, and all that it starts. False with errno
/// set: the kernel has no such filters, or does not permit them.
bool filterSystemCalls();

} // namespace rubia::runtime
