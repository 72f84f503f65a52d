// In-process map with single flight -> cache directory -> compile worker. A result or an error is
// kept for the life of the process; system trouble (no worker, a broken connection) is not.
#include "runtime/Compiler.h"
#include "lowering/Abi.h"
#include "runtime/CacheDirectory.h"
#include "runtime/Log.h"
#include "runtime/lib/CompilerIdentity.h"
#include "runtime/lib/Protocol.h"
#include "runtime/lib/SpawnSupervisor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/raw_ostream.h"
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <unistd.h>

using namespace llvm;

namespace rubia::runtime {

char CompilerTrouble::ID = 0;
void CompilerTrouble::log(raw_ostream &os) const { os << message; }
std::error_code CompilerTrouble::convertToErrorCode() const { return inconvertibleErrorCode(); }

using Bytes = std::vector<uint8_t>;

Digest digestOf(ArrayRef<uint8_t> bytes) { return BLAKE3::hash<32>(bytes); }

namespace {
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
    break;
  }
  return make_error<CompilerTrouble>(text.str());
}

protocol::Answer trouble(const Twine &message) {
  std::string text = message.str();
  return {protocol::Outcome::Trouble, {text.begin(), text.end()}, 0};
}
} // namespace

struct Compiler::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::shared_ptr<Entry>> entries; // by key
  protocol::Descriptor supervisor;
  pid_t owner = 0; // of the supervisor: a forked child starts its own
  std::optional<CacheDirectory> cache;
  std::once_flag cacheOnce;

  Expected<std::shared_ptr<const Bytes>> get(const RawImage &image, protocol::Request request,
                                             StringRef arch, CompileCost *cost = nullptr);
  protocol::Answer compile(const RawImage &image, const protocol::Request &request);
  Error connect();
};

// Everything that changes the result, by name. docs/architecture.md.
static std::string keyOf(const RawImage &image, const protocol::Request &request, StringRef arch,
                         StringRef compiler) {
  std::string key = "rubia cache key\nabi=" + std::to_string(abi::kVersion) +
                    "\ncompiler=" + compiler.str() + "\nimage=" + toHex(image.digest, true) +
                    "\ncapability=" + std::to_string(image.computeCapability);
  switch (request.want) {
  case protocol::Want::Manifest:
    key += "\nkind=manifest\n";
    break;
  case protocol::Want::CodeObject:
    key += "\nkind=code\nunit=" + std::to_string(request.unit) + "\narch=" + arch.str() +
           "\nnan=any\n";
    break;
  }
  return key;
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

  std::call_once(cacheOnce, [&] {
    if (std::optional<std::string> folder = cacheDirectory())
      cache.emplace(*folder);
  });
  protocol::Answer answer;
  if (std::optional<Bytes> hit = cache ? cache->read(key) : std::nullopt) {
    answer = {protocol::Outcome::Result, std::move(*hit), 0};
  } else {
    answer = compile(image, request);
    if (answer.outcome == protocol::Outcome::Trouble) // killed for memory, say: once more
      answer = compile(image, request);
    if (cost)
      *cost = {true, answer.peakBytes};
    if (cache && answer.outcome == protocol::Outcome::Result)
      cache->write(key, answer.bytes);
  }

  std::lock_guard<std::mutex> lock(mutex);
  entry->outcome = answer.outcome;
  entry->bytes = std::make_shared<const Bytes>(std::move(answer.bytes));
  entry->pending = false;
  if (entry->outcome == protocol::Outcome::Trouble)
    entries.erase(key); // a later call may fare better
  changed.notify_all();
  return resultOf(*entry);
}

Compiler::Compiler() : state(new State) {}

Compiler &Compiler::instance() {
  static auto *compiler = new Compiler;
  return *compiler;
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
  protocol::Request request;
  request.want = protocol::Want::CodeObject;
  request.unit = unit;
  return state->get(image, request, arch, cost);
}

} // namespace rubia::runtime
