// A compile process: one request at a time from the supervisor, the answer straight to whoever
// asked. It may die at any moment (LLVM's fatal errors, limits): the supervisor notices and answers
// for it.
#include "runtime/worker/CompileProcess.h"
#include "runtime/lib/Protocol.h"
#include "runtime/worker/Pipeline.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MemoryBuffer.h"
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::runtime {

namespace {
// Where a fatal error of LLVM has to be told before the process ends.
int currentReply = -1;
std::string currentWhat;

void tellFatalError(void *, const char *reason, bool) {
  std::string text = "LLVM could not compile " + currentWhat + ": " + reason;
  if (currentReply >= 0)
    protocol::sendAnswer(currentReply, protocol::Outcome::Refused, arrayRefFromStringRef(text));
  _exit(kFatalErrorTold);
}

struct ParsedImage {
  Digest digest;
  unsigned computeCapability;
  PtxImage image;
};

Expected<std::vector<uint8_t>> readImage(int file) {
  struct stat status;
  if (fstat(file, &status))
    return createStringError(errnoAsErrorCode(), "image");
  std::vector<uint8_t> bytes(status.st_size);
  lseek(file, 0, SEEK_SET);
  if (!protocol::readAll(file, bytes.data(), bytes.size()))
    return createStringError(errnoAsErrorCode(), "image");
  return bytes;
}

Expected<std::vector<uint8_t>> serve(const protocol::Request &request, int file,
                                     std::optional<ParsedImage> &last) {
  if (!last || last->digest != request.digest ||
      last->computeCapability != request.computeCapability) {
    last.reset();
    Expected<std::vector<uint8_t>> bytes = readImage(file);
    if (!bytes)
      return bytes.takeError();
    Expected<PtxImage> image = PtxImage::fromRawImage(*bytes, request.computeCapability);
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
  currentWhat = "kernel '" + unit.kernels.front()->name.str() + "' for " + request.arch;
  PipelineOptions options;
  options.codegen.arch = request.arch;
  options.apply(request.options);
  Expected<codegen::CodeObject> object = last->image.compile(unit, options);
  if (!object)
    return object.takeError();
  return std::move(object->bytes);
}

// The highest resident memory since forgetPeak(), in bytes. proc(5): clear_refs, status.
void forgetPeak() {
  protocol::Descriptor file(open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC));
  if (file)
    (void)protocol::writeAll(file.get(), "5", 1); // at worst the peak is that of an earlier unit
}

uint64_t peak() {
  auto status = MemoryBuffer::getFileAsStream("/proc/self/status");
  uint64_t kilobytes = 0;
  if (status)
    (*status)->getBuffer().split("VmHWM:").second.ltrim().consumeInteger(10, kilobytes);
  return kilobytes * 1024;
}
} // namespace

int runCompileProcess(int socket) {
  install_fatal_error_handler(tellFatalError);
  prctl(PR_SET_PDEATHSIG, SIGKILL); // nobody else would end it if the supervisor died
  std::optional<ParsedImage> last;
  for (unsigned served = 0; served < kUnitsPerProcess; ++served) {
    protocol::Request request;
    protocol::Descriptor file, reply;
    if (!protocol::receive(socket, request, file, reply))
      return 0;
    request.arch[sizeof(request.arch) - 1] = 0;
    currentReply = reply.get();
    currentWhat = "the image";
    forgetPeak();
    Expected<std::vector<uint8_t>> result = serve(request, file.get(), last);
    if (result) {
      protocol::sendAnswer(reply.get(), protocol::Outcome::Result, *result, peak());
    } else {
      // lld's state is spent, the kernel is not to blame: the client asks again and gets a fresh
      // process.
      bool retired = result.errorIsA<codegen::LinkerRetired>();
      std::string text = toString(result.takeError());
      protocol::sendAnswer(reply.get(),
                           retired ? protocol::Outcome::Trouble : protocol::Outcome::Refused,
                           arrayRefFromStringRef(text), peak());
    }
    currentReply = -1;
    reply = {};
    bool leaving = !codegen::canLink() || served + 1 == kUnitsPerProcess;
    char done = leaving ? kDoneAndLeaving : kDone;
    if (!protocol::writeAll(socket, &done, 1) || leaving)
      return 0;
  }
  return 0;
}

} // namespace rubia::runtime
