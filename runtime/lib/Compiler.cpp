// In-process map with single flight -> cache directory -> compile worker. A result or an error is
// kept for the life of the process; system trouble (no worker, a broken connection) is not.
#include "runtime/Compiler.h"
#include "runtime/CompilerIdentity.h"
#include "runtime/Log.h"
#include "runtime/lib/CodeObjectMetadata.h"
#include "runtime/lib/Protocol.h"
#include "runtime/lib/SpawnSupervisor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <unistd.h>

using namespace llvm;

namespace rubia::runtime {

char CompilerTrouble::ID = 0;
void CompilerTrouble::log(raw_ostream &os) const { os << message; }
std::error_code CompilerTrouble::convertToErrorCode() const { return inconvertibleErrorCode(); }

using Bytes = std::vector<uint8_t>;

namespace {
// How long another process may keep us waiting for what it compiles: it may be stopped.
constexpr unsigned kMaxWaitMs = 9000;
// How long an error of a kernel is believed before it is compiled again: it may have been a limit
// of time or memory.
constexpr unsigned kRefusalSeconds = 3600;

// What everybody who asks for the same key waits for.
struct Entry {
  bool pending = true;
  protocol::Outcome outcome = protocol::Outcome::Trouble;
  std::shared_ptr<const Bytes> bytes; // the result, or the text of the error
};

Error failure(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

Expected<std::shared_ptr<const Bytes>> resultOf(const Entry &entry) {
  StringRef text = toStringRef(*entry.bytes);
  switch (entry.outcome) {
  case protocol::Outcome::Result:
    return entry.bytes;
  case protocol::Outcome::Refused:
    return failure(text);
  case protocol::Outcome::Trouble:
  case protocol::Outcome::Crashed:
    break;
  }
  return make_error<CompilerTrouble>(text.str());
}

protocol::Answer trouble(const Twine &message) {
  std::string text = message.str();
  return {protocol::Outcome::Trouble, {text.begin(), text.end()}, 0};
}
} // namespace

// RUBIA_COMPILE=lazy|never.
static bool compilingIsAllowed() {
  const char *value = getenv("RUBIA_COMPILE");
  StringRef text = value ? value : "";
  if (text == "never")
    return false;
  if (!text.empty() && text != "lazy")
    log(LogLevel::Error, "RUBIA_COMPILE is '" + text + "', expected lazy or never; lazy is taken");
  return true;
}

struct Compiler::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::shared_ptr<Entry>> entries; // by key
  protocol::Descriptor supervisor;
  pid_t owner = 0; // of the supervisor: a forked child starts its own
  KernelCache cache;
  CompileOptions options;
  const bool mayCompile;

  State(KernelCache cache, const CompileOptions &options)
      : cache(std::move(cache)), options(options), mayCompile(compilingIsAllowed()) {}

  Expected<std::shared_ptr<const Bytes>> get(const RawImage &image, protocol::Request request,
                                             StringRef arch, CompileCost *cost = nullptr);
  protocol::Answer answer(const RawImage &image, const protocol::Request &request, StringRef key,
                          CompileCost *cost);
  protocol::Answer compile(const RawImage &image, const protocol::Request &request);
  Error connect();
};

static std::string keyOf(const RawImage &image, const protocol::Request &request, StringRef arch,
                         StringRef compiler) {
  switch (request.want) {
  case protocol::Want::Manifest:
    break;
  case protocol::Want::CodeObject:
    return codeObjectKey(image.digest, image.computeCapability, request.unit, arch, request.options,
                         compiler);
  }
  return manifestKey(image.digest, image.computeCapability, compiler);
}

Error Compiler::State::connect() {
  if (supervisor && owner == getpid())
    return Error::success();
  Expected<protocol::Descriptor> socket = spawnSupervisor();
  if (!socket)
    return socket.takeError();
  supervisor = std::move(*socket);
  owner = getpid();
  return Error::success();
}

protocol::Answer Compiler::State::compile(const RawImage &image, const protocol::Request &request) {
  protocol::Descriptor file = protocol::memoryFile(image.bytes);
  auto [ours, theirs] = protocol::socketPair();
  if (!file || !ours)
    return trouble(Twine("cannot talk to the compile worker: ") + strerror(errno));
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (int attempt = 0;; ++attempt) {
      if (Error error = connect())
        return trouble(toString(std::move(error)));
      if (protocol::send(supervisor.get(), request, file.get(), theirs.get()))
        break;
      supervisor = {}; // it died: start another one
      if (attempt == 1)
        return trouble("the compile supervisor does not answer");
    }
  }
  theirs = {};
  return protocol::receiveAnswer(ours.get());
}

// What people see of an entry: the names of its kernels.
static std::string metadataOf(protocol::Want want, ArrayRef<uint8_t> payload) {
  json::Array kernels;
  if (want == protocol::Want::Manifest) {
    if (Expected<Manifest> manifest = Manifest::deserialize(payload))
      for (const Manifest::Kernel &kernel : manifest->kernels)
        kernels.push_back(json::fixUTF8(kernel.name));
    else
      consumeError(manifest.takeError());
  } else {
    if (Expected<CodeObjectMetadata> metadata = CodeObjectMetadata::read(payload))
      for (const CodeObjectMetadata::Kernel &kernel : metadata->kernels)
        kernels.push_back(json::fixUTF8(kernel.name));
    else
      consumeError(metadata.takeError());
  }
  std::string text;
  raw_string_ostream(text) << json::Value(json::Object{{"kernels", std::move(kernels)}});
  return text;
}

static protocol::Answer answerOf(CacheEntry entry) {
  return {entry.kind == CacheEntry::Kind::Result ? protocol::Outcome::Result
                                                 : protocol::Outcome::Refused,
          std::move(entry.payload), 0};
}

// From the cache, else from the worker. Among all processes that share the cache directory, one
// compiles and the others wait for it, but no longer than kMaxWaitMs.
protocol::Answer Compiler::State::answer(const RawImage &image, const protocol::Request &request,
                                         StringRef key, CompileCost *cost) {
  if (std::optional<CacheEntry> hit = cache.find(key))
    return answerOf(std::move(*hit));
  if (!mayCompile) {
    std::string text = "not in the cache, and RUBIA_COMPILE=never forbids to compile it";
    return {protocol::Outcome::Refused, {text.begin(), text.end()}, 0};
  }
  std::optional<CompileLock> lock;
  if (cache.directory()) {
    lock.emplace(*cache.directory(), key, kMaxWaitMs);
    if (lock->waited())
      if (std::optional<CacheEntry> hit = cache.find(key))
        return answerOf(std::move(*hit));
  }
  protocol::Answer answer = compile(image, request);
  if (answer.outcome == protocol::Outcome::Trouble ||
      answer.outcome == protocol::Outcome::Crashed) {
    const bool crashed = answer.outcome == protocol::Outcome::Crashed;
    answer = compile(image, request); // killed for memory, say: once more
    if (crashed && answer.outcome == protocol::Outcome::Crashed)
      answer.outcome = protocol::Outcome::Refused; // twice alone: it is the unit
  }
  if (cost)
    *cost = {true, answer.peakBytes};
  if (cache.directory())
    count(*cache.directory(), CacheEvent::Compiled);
  switch (answer.outcome) {
  case protocol::Outcome::Result:
    cache.store({key.str(), metadataOf(request.want, answer.bytes), answer.bytes,
                 CacheEntry::Kind::Result, 0});
    break;
  case protocol::Outcome::Refused:
    cache.store({key.str(), "{}", answer.bytes, CacheEntry::Kind::Refused,
                 uint64_t(time(nullptr)) + kRefusalSeconds});
    break;
  case protocol::Outcome::Trouble:
  case protocol::Outcome::Crashed:
    break;
  }
  return answer;
}

Expected<std::shared_ptr<const Bytes>> Compiler::State::get(const RawImage &image,
                                                            protocol::Request request,
                                                            StringRef arch, CompileCost *cost) {
  Expected<std::string> compiler = compilerIdentity();
  if (!compiler)
    return make_error<CompilerTrouble>(toString(compiler.takeError()));
  if (arch.size() >= sizeof(request.arch))
    return failure("architecture name too long: " + arch);
  memcpy(request.arch, arch.data(), arch.size());
  request.computeCapability = image.computeCapability;
  request.digest = image.digest;
  std::string key = keyOf(image, request, arch, *compiler);

  std::shared_ptr<Entry> entry;
  {
    std::unique_lock<std::mutex> lock(mutex);
    auto [place, isNew] = entries.try_emplace(key, nullptr);
    if (!isNew) {
      entry = place->second;
      changed.wait(lock, [&] { return !entry->pending; });
      return resultOf(*entry);
    }
    entry = place->second = std::make_shared<Entry>();
  }

  protocol::Answer answer = this->answer(image, request, key, cost);

  std::lock_guard<std::mutex> lock(mutex);
  entry->outcome = answer.outcome;
  entry->bytes = std::make_shared<const Bytes>(std::move(answer.bytes));
  entry->pending = false;
  if (entry->outcome == protocol::Outcome::Trouble || entry->outcome == protocol::Outcome::Crashed)
    entries.erase(key); // a later call may fare better
  changed.notify_all();
  return resultOf(*entry);
}

Compiler::Compiler(KernelCache cache, const CompileOptions &options)
    : state(new State(std::move(cache), options)) {}

Compiler &Compiler::create(KernelCache cache, const CompileOptions &options) {
  return *new Compiler(std::move(cache), options);
}

Compiler &Compiler::instance() {
  static Compiler &compiler =
      create(KernelCache::fromEnvironment(), CompileOptions::fromEnvironment());
  return compiler;
}

Expected<std::shared_ptr<const Manifest>> Compiler::manifest(const RawImage &image) {
  protocol::Request request;
  request.want = protocol::Want::Manifest;
  Expected<std::shared_ptr<const Bytes>> bytes = state->get(image, request, "");
  if (!bytes)
    return bytes.takeError();
  Expected<Manifest> manifest = Manifest::deserialize(**bytes);
  if (!manifest)
    return manifest.takeError();
  for (const std::string &diagnostic : manifest->diagnostics)
    log(LogLevel::Info, diagnostic);
  return std::make_shared<const Manifest>(std::move(*manifest));
}

Expected<std::shared_ptr<const Bytes>> Compiler::codeObject(const RawImage &image, uint32_t unit,
                                                            StringRef arch, CompileCost *cost) {
  return codeObject(image, unit, arch, state->options, cost);
}

Expected<std::shared_ptr<const Bytes>> Compiler::codeObject(const RawImage &image, uint32_t unit,
                                                            StringRef arch,
                                                            const CompileOptions &options,
                                                            CompileCost *cost) {
  protocol::Request request;
  request.want = protocol::Want::CodeObject;
  request.options = options;
  request.unit = unit;
  return state->get(image, request, arch, cost);
}

} // namespace rubia::runtime
