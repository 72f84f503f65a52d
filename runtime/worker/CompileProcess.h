// What the supervisor and its compile processes agree on.
#pragma once

namespace rubia::runtime {

// Serves requests from `socket` until it closes or kUnitsPerProcess are done; the exit status of
// the process.
int runCompileProcess(int socket);

// Bytes that a compile process writes to its supervisor after an answer.
inline constexpr char kDone = 'd';
inline constexpr char kDoneAndLeaving = 'l';

// Exit status after a fatal error of LLVM whose text has been sent to the client.
inline constexpr int kFatalErrorTold = 70;

// LLVM keeps memory and state between compilations: start afresh now and then.
inline constexpr unsigned kUnitsPerProcess = 256;

} // namespace rubia::runtime
