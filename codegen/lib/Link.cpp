// lld as a library. It reads and writes files, so both ends are files in a fresh directory; and it
// may end a run with its global state broken, after which no other run is possible in this process:
// canLink() remembers.
#include "codegen/lib/Link.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace llvm;

namespace rubia::codegen {

namespace {

std::atomic<bool> linkerIsUsable = true;

Error systemError(const Twine &what, std::error_code code) {
  return make_error<CodegenError>(Fault::System, (what + ": " + code.message()).str());
}

Error writeFile(StringRef path, StringRef bytes) {
  std::error_code code;
  raw_fd_ostream os(path, code);
  if (code)
    return systemError("cannot write " + path, code);
  os << bytes;
  os.close();
  if (os.has_error()) {
    code = os.error();
    os.clear_error();
    return systemError("cannot write " + path, code);
  }
  return Error::success();
}

Error runLld(const std::string &input, const std::string &output) {
  static std::mutex turn;
  std::lock_guard lock(turn);
  if (!canLink())
    return make_error<LinkerRetired>("an earlier link in this process left it unusable");
  const char *arguments[] = {
      "ld.lld",          "-m",          "elf64_amdgpu", "-shared",      "--no-undefined",
      "--build-id=none", "--threads=1", "-o",           output.c_str(), input.c_str()};
  std::string text;
  raw_string_ostream os(text);
  lld::Result result = lld::lldMain(arguments, os, os, {{lld::Gnu, &lld::elf::link}});
  if (!result.canRunAgain)
    linkerIsUsable = false;
  if (result.retCode == 0)
    return Error::success();
  std::string said = StringRef(text).trim().str();
  if (!result.canRunAgain)
    return make_error<LinkerRetired>(said);
  return make_error<CodegenError>(Fault::Malformed, "cannot link: " + said);
}

} // namespace

bool canLink() { return linkerIsUsable; }

Expected<std::vector<uint8_t>> linkWithLld(StringRef object) {
  SmallString<128> directory;
  if (std::error_code code = sys::fs::createUniqueDirectory("rubia-link", directory))
    return systemError("cannot create a temporary directory", code);
  std::string input = (directory + "/unit.o").str();
  std::string output = (directory + "/unit.co").str();
  scope_exit cleanup([&] {
    sys::fs::remove(input);
    sys::fs::remove(output);
    sys::fs::remove(directory);
  });
  if (Error error = writeFile(input, object))
    return error;
  if (Error error = runLld(input, output))
    return error;
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(
      output, /*IsText=*/false, /*RequiresNullTerminator=*/false, /*IsVolatile=*/true);
  if (!buffer)
    return systemError("cannot read " + Twine(output), buffer.getError());
  return std::vector<uint8_t>((*buffer)->getBuffer().bytes_begin(),
                              (*buffer)->getBuffer().bytes_end());
}

} // namespace rubia::codegen
