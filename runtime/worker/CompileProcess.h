// SPDX-License-Identifier: Apache-2.0
// What the supervisor and its compile processes agree on.
#pragma once

namespace rubia::runtime {

/// Serves requests from `socket` until it closes or kUnitsPerProcess are done; the exit status of
/// the process.
int runCompileProcess(int socket);

/// Bytes that a compile process writes to its supervisor, the first four with a memory file: what
/// the kernel refused it of its sandbox; the name of what it is about to compile; a file for people
/// (Dumps.h), which the supervisor writes before it answers with the same byte; the cache entry of
/// the result, before the answer, if results are stored remotely. And without one: a part of a
/// large unit is done, after which the next may take as long as a unit; and the answer is given.
inline constexpr char kUnconfined = 'u';
inline constexpr char kAbout = 'a';
inline constexpr char kDump = 'p';
inline constexpr char kEntry = 'e';
inline constexpr char kPartDone = 't';
inline constexpr char kDone = 'd';
inline constexpr char kDoneAndLeaving = 'l';

/// Exit status after a fatal error of LLVM whose text has been sent to the client.
inline constexpr int kFatalErrorTold = 70;
inline constexpr int kOutOfMemory = 71;

/// So often a compile process is believed that it gets on with a unit: it may have fallen to it.
inline constexpr unsigned kMaxPartsDone = 64;

/// LLVM keeps memory and state between compilations: start afresh now and then.
inline constexpr unsigned kUnitsPerProcess = 256;

} // namespace rubia::runtime
