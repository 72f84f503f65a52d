// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/Dumps.h"
#include "runtime/base/Log.h"
#include "runtime/compiler/CompilerIdentity.h"
#include "runtime/compiler/RequestEntry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting dump;
} // namespace rubia::settings::Id
namespace rubia::settings::DumpKind {
extern const Word Asm, Llvm, Obj, Ptx;
} // namespace rubia::settings::DumpKind

namespace rubia::runtime {

unsigned countDumpKinds() {
  return unsigned(settings::countWords(settings::rowOf(settings::Id::dump).words));
}

// The kind, the kernel's name up to a NUL, the contents.
std::string encodeDump(const Dump &dump) {
  std::string bytes(1, char(dump.kind.index));
  return bytes + dump.kernel + '\0' + dump.contents;
}

Expected<Dump> decodeDump(ArrayRef<uint8_t> bytes) {
  if (bytes.empty() || bytes[0] >= countDumpKinds())
    return createStringError("what a compile process wants to dump is of no known kind");
  auto [kernel, contents] = toStringRef(bytes.drop_front()).split('\0');
  return Dump{{settings::Id::dump, bytes[0]}, kernel.str(), contents.str()};
}

// Others are the words themselves.
static StringRef extensionOf(settings::Word kind) {
  return kind == DumpKind::Llvm  ? "ll"
         : kind == DumpKind::Asm ? "s"
         : kind == DumpKind::Obj ? "o"
                                 : settings::textOf(kind);
}

std::string nameOfDump(const Dump &dump, const protocol::Request &request, StringRef key) {
  constexpr size_t kDigits = 16, kMaxKernel = 120; // a file's name has 255 bytes at most
  auto part = [](StringRef text) {
    std::string result = text.take_front(kMaxKernel).str();
    for (char &c : result)
      if (!isAlnum(c) && c != '_' && c != '$' && c != '-')
        c = '_';
    return result;
  };
  std::string name = toHex(request.digest, true).substr(0, kDigits);
  if (dump.kind != DumpKind::Ptx)
    name += "." + std::to_string(request.unit) + "." + part(dump.kernel) + "." +
            part(request.arch) + "." +
            toHex(digestOf(arrayRefFromStringRef(key)), true).substr(0, kDigits);
  return name + "." + extensionOf(dump.kind).str();
}

static Error writeFile(const std::string &folder, const std::string &name, StringRef contents) {
  if (std::error_code error = sys::fs::create_directories(folder))
    return createStringError(error, folder + ": " + error.message());
  const std::string path = folder + "/" + name;
  FileDescriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!file || !writeAll(file.get(), contents.data(), contents.size()))
    return createStringError(path + ": " + strerror(errno));
  return Error::success();
}

void Dumps::write(const protocol::Request &request, ArrayRef<uint8_t> encoded) const {
  Expected<Dump> dump = decodeDump(encoded);
  Expected<std::string> compiler = compilerIdentity();
  Error error = joinErrors(dump.takeError(), compiler.takeError());
  if (!error && kinds.has(dump->kind))
    error =
        writeFile(folder, nameOfDump(*dump, request, keyOf(request, *compiler)), dump->contents);
  if (error)
    log(LogLevel::Error, "RUBIA_DUMP: " + toString(std::move(error)));
}

} // namespace rubia::runtime
