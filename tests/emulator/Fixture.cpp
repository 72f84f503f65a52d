// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/Fixture.h"
#include "tests/emulator/Assembler.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <array>
#include <map>

using namespace llvm;

namespace rubia::emulator::test {

/// Runs clang once for each that is different.
static std::vector<uint8_t> build(const std::string &source, const std::string &language,
                                  const std::string &target, const std::string &options) {
  static std::map<std::array<std::string, 4>, std::vector<uint8_t>> built;
  std::vector<uint8_t> &object = built[{source, language, target, options}];
  if (!object.empty())
    return object;
  SmallString<128> input, output, messages;
  int fd;
  if (sys::fs::createTemporaryFile("emulator", language, fd, input)) {
    ADD_FAILURE() << "no temporary file";
    return object;
  }
  raw_fd_ostream(fd, true) << source;
  (void)sys::fs::createTemporaryFile("emulator", "co", output);
  (void)sys::fs::createTemporaryFile("emulator", "txt", messages);
  std::string cpu = "-mcpu=" + target;
  SmallVector<StringRef, 16> arguments = {RUBIA_CLANG,
                                          "-target",
                                          "amdgcn-amd-amdhsa",
                                          cpu,
                                          "-nogpulib",
                                          "-x",
                                          language == "s" ? "assembler" : "cl",
                                          input,
                                          "-o",
                                          output};
  SmallVector<StringRef> extra;
  StringRef(options).split(extra, ' ', -1, false);
  arguments.append(extra.begin(), extra.end());
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(messages), StringRef(messages)};
  int status = sys::ExecuteAndWait(RUBIA_CLANG, arguments, std::nullopt, redirects);
  if (status == 0) {
    if (auto file = MemoryBuffer::getFile(output))
      object.assign((*file)->getBufferStart(), (*file)->getBufferEnd());
  } else {
    auto text = MemoryBuffer::getFile(messages);
    ADD_FAILURE() << "clang: " << (text ? (*text)->getBuffer().str() : "");
  }
  for (StringRef path : {StringRef(input), StringRef(output), StringRef(messages)})
    (void)sys::fs::remove(path);
  return object;
}

std::vector<uint8_t> compile(const std::string &source, const std::string &target,
                             const std::string &options) {
  return build(source, "cl", target, options + " -cl-std=CL2.0 -nogpulib");
}
std::vector<uint8_t> assemble(const std::string &source, const std::string &target,
                              const std::string &options) {
  if (options != "-c")
    return build(source, "s", target, options);
  // Not linked, which the emulator does when it loads it.
  auto object = assembleObject(source, target);
  if (object)
    return std::move(*object);
  ADD_FAILURE() << "not assembled for " << target << ": " << toString(object.takeError());
  return {};
}

} // namespace rubia::emulator::test
