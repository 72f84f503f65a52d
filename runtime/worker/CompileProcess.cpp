// SPDX-License-Identifier: Apache-2.0
// A compile process: one request at a time from the supervisor, the answer straight to whoever
// asked. It may die at any moment (LLVM's fatal errors, limits): the supervisor notices and answers
// for it.
#include "runtime/worker/CompileProcess.h"
#include "runtime/base/Log.h"
#include "runtime/compiler/CompilerIdentity.h"
#include "runtime/compiler/RequestEntry.h"
#include "runtime/worker/Dumps.h"
#include "runtime/worker/Pipeline.h"
#include "runtime/worker/RemoteCache.h"
#include "runtime/worker/Sandbox.h"
#include "settings/Settings.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include <csignal>
#include <fcntl.h>
#include <new>
#include <sys/prctl.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting dump, sandbox;
} // namespace rubia::settings::Id
namespace rubia::settings::DumpKind {
extern const Word Asm, Co, Llvm, Obj, Ptx;
} // namespace rubia::settings::DumpKind
namespace rubia::settings::SandboxMode {
extern const Word Off, Require;
} // namespace rubia::settings::SandboxMode

namespace rubia::runtime {

namespace {
// Where a fatal error of LLVM has to be told before the process ends.
int currentReply = -1;
protocol::Remote currentRemote;
std::string currentWhat;

// What cannot be written (raw_fd_ostream) is the system's problem, all else the unit's.
void tellFatalError(void *, const char *reason, bool) {
  std::string text = "LLVM could not compile " + currentWhat + ": " + reason;
  const auto outcome = StringRef(reason).starts_with("IO failure on output stream")
                           ? protocol::Outcome::Problem
                           : protocol::Outcome::Refused;
  if (currentReply >= 0)
    protocol::sendAnswer(currentReply, outcome, arrayRefFromStringRef(text), 0, currentRemote);
  _exit(kFatalErrorTold);
}

// The supervisor says it: there may be no memory left to say it with.
void leaveWithoutMemory() { _exit(kOutOfMemory); }
void leaveWithoutMemory(void *, const char *, bool) { leaveWithoutMemory(); }

void tellSupervisor(int socket, char byte, StringRef text) {
  if (FileDescriptor file = protocol::memoryFile(arrayRefFromStringRef(text)))
    protocol::sendByte(socket, byte, file.get());
}

// For the supervisor, should the unit take the process with it.
void announce(int socket, std::string what) {
  currentWhat = std::move(what);
  tellSupervisor(socket, kAbout, currentWhat);
}

// Enters the sandbox. Returns why nothing may be compiled here; empty: nothing speaks against it.
std::string confine(int socket) {
  const settings::Settings settings;
  if (Error error = settings.check(settings::Id::sandbox))
    return toString(std::move(error));
  if (settings.is(settings::SandboxMode::Off))
    return "";
  const std::string refused = enterSandbox();
  if (refused.empty())
    return "";
  if (settings.is(settings::SandboxMode::Require))
    return "RUBIA_SANDBOX=require, and the sandbox is not complete: " + refused;
  tellSupervisor(socket, kUnconfined, refused);
  return "";
}

// What RUBIA_DUMP asks for. The supervisor has written it when this returns: whoever waits for the
// answer finds the files.
void dump(int socket, settings::Word kind, StringRef kernel, StringRef contents) {
  const std::string encoded = encodeDump({kind, kernel.str(), contents.str()});
  FileDescriptor file = protocol::memoryFile(arrayRefFromStringRef(encoded)), none;
  char answer;
  if (!file || !protocol::sendByte(socket, kDump, file.get()) ||
      !protocol::receiveByte(socket, answer, none))
    log(LogLevel::Error, "RUBIA_DUMP: a compile process cannot hand over what it made");
}

// The forms of a unit before its code object; each is made anew. What is wrong with the unit, the
// compilation says.
void dumpForms(int socket, const PtxImage &image, const lowering::Unit &unit,
               const PipelineOptions &options) {
  const settings::WordSet wanted = settings::Settings().words(settings::Id::dump);
  const std::pair<settings::Word, codegen::EmitKind> kForms[] = {
      {DumpKind::Llvm, codegen::EmitKind::Llvm},
      {DumpKind::Asm, codegen::EmitKind::Assembly},
      {DumpKind::Obj, codegen::EmitKind::Object}};
  for (auto [kind, form] : kForms) {
    if (!wanted.has(kind))
      continue;
    if (Expected<std::string> made = image.emit(unit, options, form))
      dump(socket, kind, unit.kernels.front()->name, *made);
    else
      consumeError(made.takeError());
  }
}

struct ParsedImage {
  Digest digest;
  unsigned computeCapability;
  PtxImage image;
};

Expected<std::vector<uint8_t>> serve(const protocol::Request &request, int file, int socket,
                                     std::optional<ParsedImage> &last) {
  if (!last || last->digest != request.digest ||
      last->computeCapability != request.computeCapability) {
    last.reset();
    Expected<std::vector<uint8_t>> bytes = readFile(file);
    if (!bytes)
      return make_error<CompilerProblem>("the image cannot be read: " +
                                         toString(bytes.takeError()));
    Expected<PtxImage::Text> found = PtxImage::textOf(*bytes, request.computeCapability);
    if (!found)
      return found.takeError();
    if (request.want == protocol::Want::Manifest && settings::Settings().has(DumpKind::Ptx))
      dump(socket, DumpKind::Ptx, "", found->text);
    Expected<PtxImage> image = PtxImage::fromText(std::move(*found));
    if (!image)
      return image.takeError();
    last.emplace(ParsedImage{request.digest, request.computeCapability, std::move(*image)});
  }
  switch (request.want) {
  case protocol::Want::Manifest:
    return last->image.manifest().serialize();
  case protocol::Want::CodeObject:
    break;
  }
  if (request.unit >= last->image.units().size())
    return createStringError(inconvertibleErrorCode(),
                             "the image has no unit " + Twine(request.unit));
  const lowering::Unit &unit = last->image.units()[request.unit];
  announce(socket, "kernel '" + unit.kernels.front()->name.str() + "' for " + request.arch);
  PipelineOptions options;
  options.codegen.arch = request.arch;
  options.code = request.code;
  options.codegen.onPart = [socket](unsigned, unsigned) {
    protocol::sendByte(socket, kPartDone, -1); // if nobody is there it ends
  };
  dumpForms(socket, last->image, unit, options);
  Expected<codegen::CodeObject> object = last->image.compile(unit, options);
  if (!object)
    return object.takeError();
  if (settings::Settings().has(DumpKind::Co))
    dump(socket, DumpKind::Co, unit.kernels.front()->name, toStringRef(object->bytes));
  return std::move(object->bytes);
}

// Whether the kernel is not to blame, so that a fresh process may fare better: lld's state is
// spent, or the system has no file, memory or room to give.
bool isOfTheSystem(const Error &error) {
  bool result = false;
  visitErrors(error, [&](const ErrorInfoBase &info) {
    if (info.isA<codegen::CodegenError>())
      result |= static_cast<const codegen::CodegenError &>(info).fault == codegen::Fault::System;
    else
      result |= info.isA<codegen::LinkerRetired>() || info.isA<CompilerProblem>();
  });
  return result;
}

// The result as a cache entry, for the supervisor to store. At worst it is not stored.
void handOver(int socket, const protocol::Request &request, const std::vector<uint8_t> &payload) {
  Expected<std::string> compiler = compilerIdentity();
  if (!compiler)
    return consumeError(compiler.takeError()); // the supervisor has said it
  Expected<std::vector<uint8_t>> bytes =
      encodeEntry(resultEntry(request.want, keyOf(request, *compiler), payload));
  if (!bytes)
    log(LogLevel::Warning, "kernel cache: an entry " + toString(bytes.takeError()));
  else if (FileDescriptor file = protocol::memoryFile(*bytes))
    protocol::sendByte(socket, kEntry, file.get());
}

// The highest resident memory of the process, in bytes. proc(5): clear_refs, status. The files are
// opened before the sandbox forbids that.
class PeakMemory {
public:
  void forget() {
    if (toForget)
      (void)writeAll(toForget.get(), "5", 1); // at worst it is that of an earlier unit
  }
  uint64_t bytes() const {
    char text[8192];
    const ssize_t size = pread(status.get(), text, sizeof(text), 0);
    uint64_t kilobytes = 0;
    StringRef(text, std::max<ssize_t>(size, 0))
        .split("VmHWM:")
        .second.ltrim()
        .consumeInteger(10, kilobytes);
    return kilobytes * 1024;
  }

private:
  FileDescriptor toForget{open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC)};
  FileDescriptor status{open("/proc/self/status", O_RDONLY | O_CLOEXEC)};
};
} // namespace

int runCompileProcess(int socket) {
  install_fatal_error_handler(tellFatalError);
  install_bad_alloc_error_handler(leaveWithoutMemory);
  std::set_new_handler(leaveWithoutMemory);
  const bool storesRemotely = RemoteCache::isWritten();
  if (storesRemotely)
    consumeError(compilerIdentity().takeError()); // read from a file, and kept: see handOver
  PeakMemory peak;
  prctl(PR_SET_PDEATHSIG, SIGKILL); // nobody else would end it if the supervisor died
  const std::string forbidden = confine(socket);
  std::optional<ParsedImage> last;
  for (unsigned served = 0; served < kUnitsPerProcess; ++served) {
    protocol::Request request;
    protocol::Descriptors files;
    if (!protocol::receive(socket, request, files) || !files.reply)
      return 0;
    currentReply = files.reply.get();
    currentRemote = request.remote;
    announce(socket, "the image");
    peak.forget();
    Expected<std::vector<uint8_t>> result =
        forbidden.empty() ? serve(request, files.image.get(), socket, last)
                          : Expected<std::vector<uint8_t>>(make_error<CompilerProblem>(forbidden));
    if (result) {
      if (storesRemotely) // before the answer: with that the program may end, and we too
        handOver(socket, request, *result);
      protocol::sendAnswer(currentReply, protocol::Outcome::Result, *result, peak.bytes(),
                           request.remote);
    } else {
      Error error = result.takeError();
      const auto outcome = !forbidden.empty()     ? protocol::Outcome::Forbidden
                           : isOfTheSystem(error) ? protocol::Outcome::Problem
                                                  : protocol::Outcome::Refused;
      std::string text = toString(std::move(error));
      protocol::sendAnswer(currentReply, outcome, arrayRefFromStringRef(text), peak.bytes(),
                           request.remote);
    }
    currentReply = -1;
    files.reply = {};
    bool leaving = !codegen::canLink() || served + 1 == kUnitsPerProcess;
    if (!protocol::sendByte(socket, leaving ? kDoneAndLeaving : kDone, -1) || leaving)
      return 0;
  }
  return 0;
}

} // namespace rubia::runtime
