// SPDX-License-Identifier: Apache-2.0
// lld as a library. It reads and writes files, and a compile process may have no folder to write
// to: so the input is a file in memory and the output a pipe, both by their names in /proc. What is
// no regular file lld writes in one go, without a temporary beside it. It may end a run with its
// global state broken, after which no other run is possible in this process: canLink() remembers.
#include "codegen/lib/Link.h"
#include "lld/Common/Driver.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <list>
#include <mutex>
#include <sys/mman.h>
#include <system_error>
#include <thread>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace llvm;

namespace rubia::codegen {

namespace {

std::atomic<bool> linkerIsUsable = true;

Error systemError(const Twine &what, std::error_code code) {
  return make_error<CodegenError>(Fault::System, (what + ": " + code.message()).str());
}

std::error_code lastError() { return std::error_code(errno, std::generic_category()); }

class Descriptor {
public:
  explicit Descriptor(int fd = -1) : fd(fd) {}
  Descriptor(const Descriptor &) = delete;
  ~Descriptor() { reset(-1); }
  void reset(int other) {
    if (fd >= 0)
      close(fd);
    fd = other;
  }
  int get() const { return fd; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd); }

private:
  int fd;
};

bool writeAll(int fd, StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    bytes = bytes.drop_front(n);
  }
  return true;
}

// Reads a pipe to its end, while somebody else writes.
class PipeReader {
public:
  // False with errno set: there is no pipe or no thread.
  bool start() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
      return false;
    from.reset(ends[0]);
    to.reset(ends[1]);
    try {
      thread = std::thread([this] { read(); });
    } catch (const std::system_error &error) {
      errno = error.code().value();
      return false;
    }
    return true;
  }
  ~PipeReader() { (void)finish(); }
  std::string path() const { return to.path(); }
  std::vector<uint8_t> finish() {
    to.reset(-1); // the end
    if (thread.joinable())
      thread.join();
    return std::move(bytes);
  }

private:
  void read() {
    uint8_t buffer[1 << 16];
    for (ssize_t n; (n = ::read(from.get(), buffer, sizeof(buffer))) != 0;)
      if (n > 0)
        bytes.insert(bytes.end(), buffer, buffer + n);
      else if (errno != EINTR)
        return;
  }

  Descriptor from, to;
  std::thread thread;
  std::vector<uint8_t> bytes;
};

Error runLld(ArrayRef<std::string> inputs, const std::string &output) {
  static std::mutex turn;
  std::lock_guard lock(turn);
  if (!canLink())
    return make_error<LinkerRetired>("an earlier link in this process left it unusable");
  SmallVector<const char *> arguments = {
      "ld.lld",          "-m",          "elf64_amdgpu", "-shared",     "--no-undefined",
      "--build-id=none", "--threads=1", "-o",           output.c_str()};
  for (const std::string &input : inputs)
    arguments.push_back(input.c_str());
  std::string text;
  raw_string_ostream os(text);
  lld::Result result = lld::lldMain(arguments, os, os, {{lld::Gnu, &lld::elf::link}});
  if (!result.canRunAgain)
    linkerIsUsable = false;
  if (result.retCode == 0)
    return Error::success();
  std::string said = StringRef(text).trim().str();
  for (const std::string &input : reverse(inputs)) // of /dev/fd/11 and /dev/fd/1 the longer one
    for (size_t at; (at = said.find(input)) != std::string::npos;)
      said.replace(at, input.size(), "unit.o");
  if (!result.canRunAgain)
    return make_error<LinkerRetired>(said);
  return make_error<CodegenError>(Fault::Malformed, "cannot link: " + said);
}

} // namespace

bool canLink() { return linkerIsUsable; }

Expected<std::vector<uint8_t>> linkWithLld(ArrayRef<std::string> objects) {
  std::list<Descriptor> files;
  std::vector<std::string> inputs;
  for (const std::string &object : objects) {
    files.emplace_back(memfd_create("unit.o", MFD_CLOEXEC));
    if (files.back().get() < 0 || !writeAll(files.back().get(), object))
      return systemError("cannot hand an object to the linker", lastError());
    inputs.push_back(files.back().path());
  }
  PipeReader output;
  if (!output.start())
    return systemError("cannot read from the linker", lastError());
  Error error = runLld(inputs, output.path());
  std::vector<uint8_t> linked = output.finish();
  if (error)
    return std::move(error);
  if (linked.empty())
    return make_error<CodegenError>(Fault::System, "the linker gave nothing");
  return linked;
}

} // namespace rubia::codegen
