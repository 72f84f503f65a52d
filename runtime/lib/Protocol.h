// How libcuda, the supervisor and the compile processes talk: messages over Unix sockets of one
// machine and one build. A request carries two descriptors: the image (a memfd) and the socket that
// the answer goes to, so that nobody has to sort answers, and a client that waits hears at once
// when the other end dies.
#pragma once

#include "runtime/Compiler.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace rubia::runtime::protocol {

enum class Want : uint32_t { Manifest, CodeObject };

struct Request {
  Want want = Want::Manifest;
  uint32_t computeCapability = 0;
  uint32_t unit = 0;
  CompileOptions options;
  Digest digest{};
  char arch[64] = {};
};

// A descriptor that closes itself.
class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd(fd) {}
  Descriptor(Descriptor &&other) : fd(other.release()) {}
  Descriptor &operator=(Descriptor &&other);
  ~Descriptor();
  int get() const { return fd; }
  int release();
  explicit operator bool() const { return fd >= 0; }

private:
  int fd = -1;
};

std::pair<Descriptor, Descriptor> socketPair(); // empty on failure
Descriptor memoryFile(llvm::ArrayRef<uint8_t> bytes);

// One request with its two descriptors. False: the other end is gone.
bool send(int socket, const Request &request, int image, int reply);
// False: end of the connection, or something that is no request.
bool receive(int socket, Request &request, Descriptor &image, Descriptor &reply);

// The answer: a result, the text of an error of the image or kernel, the text of system trouble, or
// how the compile process ended that had the request.
// It carries its digest, so that one which broke off and was followed by another is not taken for a
// whole one.
enum class Outcome : uint32_t { Result = 1, Refused = 2, Trouble = 3, Crashed = 4 };
struct Answer {
  Outcome outcome = Outcome::Trouble;
  std::vector<uint8_t> bytes;
  uint64_t peakBytes = 0; // resident memory of the compile process; 0: not known
};
bool sendAnswer(int socket, Outcome outcome, llvm::ArrayRef<uint8_t> bytes, uint64_t peakBytes = 0);
// Trouble, with a text, if the connection broke.
Answer receiveAnswer(int socket);

// All `size` bytes, or false.
bool readAll(int fd, void *data, size_t size);
bool writeAll(int fd, const void *data, size_t size);

} // namespace rubia::runtime::protocol
