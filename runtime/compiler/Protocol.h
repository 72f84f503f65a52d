// SPDX-License-Identifier: Apache-2.0
// How libcuda, the supervisor and the compile processes talk: messages over Unix sockets of one
// machine and one build. A request carries three descriptors: the image (a memfd), the socket that
// the answer goes to, so that nobody has to sort answers, and a client that waits hears at once
// when the other end dies; and an eventfd that the supervisor adds to as long as the request makes
// progress.
#pragma once

#include "runtime/base/FileDescriptor.h"
#include "runtime/compiler/Compiler.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace rubia::runtime::protocol {

enum class Want : uint32_t { Manifest, CodeObject };

/// What became of asking the remote cache.
enum class Remote : uint32_t { NotAsked, Hit, Absent, Refused, Failed, Paused };

struct Request {
  Want want = Want::Manifest;
  uint32_t computeCapability = 0;
  uint32_t unit = 0;
  bool ahead = false;      // nobody waits for it yet
  bool prioritize = false; // not a request: what was asked for ahead is needed now; no descriptors
  bool mayCompile = true;  // false: from the remote cache or not at all
  settings::Code code;
  Digest digest{};
  char arch[64] = {};
  Remote remote = Remote::NotAsked; // set by the supervisor: for the answer
};

std::pair<FileDescriptor, FileDescriptor> socketPair(); // empty on failure
/// A file of these bytes that nobody can change. Empty on failure, with errno set.
FileDescriptor memoryFile(llvm::ArrayRef<uint8_t> bytes);

struct Descriptors {
  FileDescriptor image, reply, pulse;
};
/// One request with its descriptors, or without if image is none. False: the other end is gone.
bool send(int socket, const Request &request, const Descriptors &descriptors);
/// False: end of the connection, or something that is no request.
bool receive(int socket, Request &request, Descriptors &descriptors);

/// A byte with a descriptor, or without if `fd` is negative.
bool sendByte(int socket, char byte, int fd);
bool receiveByte(int socket, char &byte, FileDescriptor &fd);

/// The answer: a result, the text of an error of the image or kernel, the text of a problem of the
/// system, the same of one that compiling again cannot mend (Forbidden), or how the compile process
/// ended that had the request: it crashed; it ran out of memory, was killed or never began
/// (Killed), for which the kernel is perhaps not to blame; it took too long, or was killed twice
/// (Limited), which holds for this process and its limits only. It carries its digest, so that one
/// which broke off and was followed by another is not taken for a whole one.
enum class Outcome : uint32_t {
  Result = 1,
  Refused = 2,
  Problem = 3,
  Crashed = 4,
  Absent = 5,
  Killed = 6,
  Limited = 7,
  Forbidden = 8
};
struct Answer {
  Outcome outcome = Outcome::Problem;
  std::vector<uint8_t> bytes;
  uint64_t peakBytes = 0; // resident memory of the compile process; 0: not known
  Remote remote = Remote::NotAsked;
};
bool sendAnswer(int socket, Outcome outcome, llvm::ArrayRef<uint8_t> bytes, uint64_t peakBytes = 0,
                Remote remote = Remote::NotAsked);
/// Problem, with a text, if the connection broke.
Answer receiveAnswer(int socket);
/// The same, when it comes; calls `goesOn` as often as `pulse`, an eventfd, was written to. The end
/// of the connection alone does not tell that nobody answers any more: a child that the program has
/// forked in between may hold the other end. So `isGone` is asked every second.
Answer awaitAnswer(int reply, int pulse, llvm::function_ref<void()> goesOn,
                   llvm::function_ref<bool()> isGone);

} // namespace rubia::runtime::protocol
