// SPDX-License-Identifier: Apache-2.0
// In-process map with single flight -> cache directory and packs -> compile worker, which asks the
// remote cache first. Results and errors are kept, up to a bound; a problem of the system (no
// worker, a broken connection) is not.
#include "runtime/compiler/Compiler.h"
#include "runtime/base/Log.h"
#include "runtime/base/RunSummary.h"
#include "runtime/cache/UnitVariants.h"
#include "runtime/compiler/CompilerIdentity.h"
#include "runtime/compiler/RequestEntry.h"
#include "runtime/compiler/SpawnSupervisor.h"
#include "runtime/compiler/WaitNotice.h"
#include "runtime/compiler/WorkerLimits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting cacheRemote, compile, cudaModuleLoading, dump;
} // namespace rubia::settings::Id
namespace rubia::settings::CompileMode {
extern const Word Eager, Never;
} // namespace rubia::settings::CompileMode

namespace rubia::runtime {

char CompilerProblem::ID = 0;
void CompilerProblem::log(raw_ostream &os) const { os << message; }
std::error_code CompilerProblem::convertToErrorCode() const { return inconvertibleErrorCode(); }

using Bytes = std::vector<uint8_t>;

namespace {
// How long we wait at least for another process that compiles the same without hearing of it: it
// may be stopped.
constexpr unsigned kMaxWaitMs = 9000;
// What is kept in memory: a module that is loaded again finds older results in the directory.
constexpr uint64_t kMaxKeptBytes = uint64_t(64) << 20;
// How long an error of a kernel is believed before it is compiled again: a crash of the compiler
// may have had other causes.
constexpr unsigned kRefusalSeconds = 3600;
// How often a thread that waits for another one's request looks whether to say so.
constexpr std::chrono::milliseconds kNoticeInterval{500};

// What everybody who asks for the same key waits for.
struct Entry {
  pid_t owner = getpid(); // a forked child does not have the thread that is at work on it
  bool pending = true;
  bool ahead = false, sent = false; // nobody waits for it yet; `request` is at the supervisor's
  protocol::Request request;
  protocol::Outcome outcome = protocol::Outcome::Problem;
  std::shared_ptr<const Bytes> bytes; // the result, or the text of the error
};

// What RUBIA_COMPILE=never leaves undone: which image and unit, and under which key it was looked
// for, so that it can be compared with what was precompiled.
std::string forbidden(const protocol::Request &request, StringRef key, const Twine &where) {
  std::string fields;
  for (auto [name, value] : fieldsOfKey(key))
    fields += ((fields.empty() ? "" : " ") + name + "=" + value).str();
  const bool isCode = request.want == protocol::Want::CodeObject;
  return ((isCode ? "unit " + Twine(request.unit) : Twine("the manifest")) + " of image " +
          toHex(request.digest, true) + (isCode ? Twine(" for ") + request.arch : Twine()) +
          " is " + where + ", and RUBIA_COMPILE=never forbids to compile it. Its key is " +
          toHex(digestOf(arrayRefFromStringRef(key)), true) + " (" + fields +
          "); `rubia cache explain FILE` shows what differs from the nearest entry")
      .str();
}

Error failure(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

Expected<std::shared_ptr<const Bytes>> resultOf(const Entry &entry) {
  StringRef text = toStringRef(*entry.bytes);
  switch (entry.outcome) {
  case protocol::Outcome::Result:
    return entry.bytes;
  case protocol::Outcome::Refused:
  case protocol::Outcome::Limited:
    return failure(text);
  case protocol::Outcome::Problem:
  case protocol::Outcome::Forbidden:
  case protocol::Outcome::Crashed:
  case protocol::Outcome::Killed:
  case protocol::Outcome::Absent:
    break;
  }
  return make_error<CompilerProblem>(text.str());
}

protocol::Answer failed(protocol::Outcome outcome, const Twine &message) {
  protocol::Answer answer;
  std::string text = message.str();
  answer.outcome = outcome;
  answer.bytes.assign(text.begin(), text.end());
  return answer;
}

protocol::Answer problem(const Twine &message) {
  return failed(protocol::Outcome::Problem, message);
}

protocol::Answer answerOf(CacheEntry entry) {
  protocol::Answer answer;
  answer.outcome = entry.kind == CacheEntry::Kind::Result ? protocol::Outcome::Result
                                                          : protocol::Outcome::Refused;
  answer.bytes = std::move(entry.payload);
  return answer;
}

// How a compile process ended, not the supervisor.
bool isEndOfProcess(protocol::Outcome outcome) {
  return outcome == protocol::Outcome::Crashed || outcome == protocol::Outcome::Killed;
}

namespace CompileMode = settings::CompileMode;

settings::Word compileMode(const settings::Settings &settings) {
  const bool isUnset = settings.given(settings::Id::compile).value_or("").empty();
  return isUnset && settings.text(settings::Id::cudaModuleLoading) == "EAGER"
             ? CompileMode::Eager
             : settings.word(settings::Id::compile);
}

bool hasRemoteCache(const settings::Settings &settings) {
  return !settings.text(settings::Id::cacheRemote).empty() && !cacheIsDisabled(settings);
}

// A unit that is to be compiled although nobody has asked for it.
struct AheadUnit {
  ModuleImage image; // kept
  uint32_t unit;
  std::string arch;
  UnitVariant variant = {};
};
} // namespace

// The socket to a supervisor. A forked child of the program closes it at once: the supervisor ends
// with the program, not with its last child.
class SupervisorSocket {
public:
  SupervisorSocket() {
    static const int registered = pthread_atfork(nullptr, nullptr, closeAll);
    (void)registered;
    next = first.load();
    while (!first.compare_exchange_weak(next, this)) {
    }
  }
  /// -1 where there is none, or where the program has closed it with all others that it knew
  /// nothing of (daemons do): the number may be another file's by now.
  int get() const {
    const int now = fd.load();
    return isOurs(now) ? now : -1;
  }
  void set(FileDescriptor socket) {
    if (int old = fd.exchange(-1); isOurs(old))
      close(old);
    struct stat now;
    if (!socket || fstat(socket.get(), &now) != 0)
      return;
    device = now.st_dev;
    inode = now.st_ino;
    fd = socket.release();
  }

private:
  bool isOurs(int number) const {
    struct stat now;
    return number >= 0 && fstat(number, &now) == 0 && now.st_dev == device && now.st_ino == inode;
  }

  static void closeAll() {
    for (SupervisorSocket *socket = first; socket; socket = socket->next)
      socket->set({});
  }

  static inline std::atomic<SupervisorSocket *> first = nullptr; // none is ever destroyed
  SupervisorSocket *next;
  std::atomic<int> fd = -1;
  dev_t device = 0; // with `inode`: of the socket, whatever its number
  ino_t inode = 0;
};

struct Compiler::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::shared_ptr<Entry>> entries; // by key
  SupervisorSocket supervisor;
  unsigned connections = 0; // supervisors so far
  // The bytes of images that requests are under way for, by digest.
  std::map<Digest, std::weak_ptr<FileDescriptor>> imageFiles;
  KernelCache cache;
  const settings::Settings settings;
  const settings::Code code = settings.code();
  const settings::Word mode = compileMode(settings);
  const bool remote = hasRemoteCache(settings);
  // Everything is compiled, to be looked at.
  const bool dumps = !settings.words(settings::Id::dump).empty() && mode != CompileMode::Never;
  // Finished entries, oldest first.
  std::deque<std::pair<std::string, std::shared_ptr<Entry>>> kept;
  uint64_t keptBytes = 0;
  std::deque<AheadUnit> aheadUnits;
  unsigned aheadThreads = 0;
  pid_t aheadOwner = 0;
  std::optional<WaitNotice> notice; // none: commands have their own ways

  State(KernelCache cache, const settings::Settings &settings)
      : cache(std::move(cache)), settings(settings) {}

  Expected<std::shared_ptr<const Bytes>> get(const ModuleImage &image, protocol::Request request,
                                             StringRef arch, CompileCost *cost = nullptr);
  protocol::Answer answer(const ModuleImage &image, Entry &entry, StringRef key, CompileCost *cost);
  protocol::Answer compile(const ModuleImage &image, Entry &entry, const CompileLock *lock);
  void countAnswer(const protocol::Answer &answer);
  void prioritize(Entry &entry);
  void tellOfWaiting();
  void keep(const std::string &key, std::shared_ptr<Entry> entry);
  void compileAheadForEver();
  Error connect();
  std::shared_ptr<FileDescriptor> fileOf(const ModuleImage &image);
  bool isGone(unsigned connection);
};

Error Compiler::State::connect() {
  if (supervisor.get() >= 0)
    return Error::success();
  Expected<FileDescriptor> socket = spawnSupervisor(settings);
  if (!socket)
    return socket.takeError();
  supervisor.set(std::move(*socket));
  ++connections;
  return Error::success();
}

// An image may be large, and many of its units are asked for at once. Null with errno set where no
// file can be made.
std::shared_ptr<FileDescriptor> Compiler::State::fileOf(const ModuleImage &image) {
  auto known = [&] {
    std::lock_guard<std::mutex> guard(mutex);
    erase_if(imageFiles, [](const auto &entry) { return entry.second.expired(); });
    auto place = imageFiles.find(image.digest);
    return place == imageFiles.end() ? nullptr : place->second.lock();
  };
  if (std::shared_ptr<FileDescriptor> file = known())
    return file;
  // Others need not wait for the copy; two at once are one too many, and nothing worse.
  FileDescriptor made = protocol::memoryFile(image.bytes);
  if (!made)
    return nullptr;
  auto file = std::make_shared<FileDescriptor>(std::move(made));
  std::lock_guard<std::mutex> guard(mutex);
  imageFiles[image.digest] = file;
  return file;
}

// Whether the supervisor that a request went to is there no longer.
bool Compiler::State::isGone(unsigned connection) {
  std::lock_guard<std::mutex> guard(mutex);
  pollfd watched = {supervisor.get(), POLLRDHUP, 0};
  return connection != connections || watched.fd < 0 || poll(&watched, 1, 0) > 0;
}

protocol::Answer Compiler::State::compile(const ModuleImage &image, Entry &entry,
                                          const CompileLock *lock) {
  protocol::Descriptors files;
  std::shared_ptr<FileDescriptor> imageFile = fileOf(image);
  if (!imageFile)
    return problem(Twine("cannot hand an image to the compile worker: ") + strerror(errno));
  auto [ours, theirs] = protocol::socketPair();
  files.image = FileDescriptor(fcntl(imageFile->get(), F_DUPFD_CLOEXEC, 0));
  files.reply = std::move(theirs);
  // Who has it may fill it, and the supervisor must not wait for us to empty it.
  files.pulse = FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!files.image || !files.reply || !files.pulse)
    return problem(Twine("cannot talk to the compile worker: ") + strerror(errno));
  unsigned connection;
  {
    std::lock_guard<std::mutex> guard(mutex);
    entry.request.ahead = entry.ahead;
    for (int attempt = 0;; ++attempt) {
      if (Error error = connect())
        return problem(toString(std::move(error)));
      if (protocol::send(supervisor.get(), entry.request, files))
        break;
      supervisor.set({}); // it died: start another one
      if (attempt == 1)
        return problem("the compile supervisor does not answer");
    }
    entry.sent = true;
    connection = connections;
  }
  files.reply = {};
  return protocol::awaitAnswer(
      ours.get(), files.pulse.get(),
      [&] {
        if (lock)
          lock->beat();
        std::lock_guard<std::mutex> guard(mutex);
        tellOfWaiting();
      },
      [&] { return isGone(connection); });
}

// Somebody waits now for what was asked for ahead. With the mutex held.
void Compiler::State::prioritize(Entry &entry) {
  if (!std::exchange(entry.ahead, false) || !entry.sent || supervisor.get() < 0)
    return;
  protocol::Request request = entry.request;
  request.prioritize = true;
  (void)protocol::send(supervisor.get(), request, {}); // if it is dead, its client notices
}

void Compiler::State::countAnswer(const protocol::Answer &answer) {
  if (!cache.directory())
    return;
  auto counted = [&](CacheEvent event) { count(*cache.directory(), event); };
  switch (answer.remote) {
  case protocol::Remote::NotAsked:
    break;
  case protocol::Remote::Hit:
    return counted(CacheEvent::RemoteHit);
  case protocol::Remote::Absent:
    counted(CacheEvent::RemoteAbsent);
    break;
  case protocol::Remote::Refused:
    counted(CacheEvent::RemoteRefused);
    break;
  case protocol::Remote::Failed:
    counted(CacheEvent::RemoteFailed);
    break;
  case protocol::Remote::Paused:
    counted(CacheEvent::RemotePaused);
    break;
  }
  if (answer.outcome != protocol::Outcome::Absent)
    counted(CacheEvent::Compiled);
}

// From the cache, else from the worker. Among all processes that share the cache directory, one
// compiles and the others wait for it as long as they hear of it.
protocol::Answer Compiler::State::answer(const ModuleImage &image, Entry &entry, StringRef key,
                                         CompileCost *cost) {
  using protocol::Outcome;
  if (!dumps)
    if (std::optional<CacheEntry> hit = cache.find(key))
      return answerOf(std::move(*hit));
  entry.request.mayCompile = mode != CompileMode::Never;
  if (!entry.request.mayCompile && !remote)
    return failed(Outcome::Refused, forbidden(entry.request, key, "not in the cache"));
  std::optional<CompileLock> lock;
  if (cache.directory()) {
    lock.emplace(*cache.directory(), key, kMaxWaitMs);
    // Also where the lock was free at once: its last owner may have been done just before.
    if (!dumps)
      if (std::optional<CacheEntry> hit = cache.findStored(key))
        return answerOf(std::move(*hit));
  }
  const CompileLock *held = lock ? &*lock : nullptr;
  protocol::Answer answer = compile(image, entry, held);
  if (const Outcome first = answer.outcome; first == Outcome::Problem || isEndOfProcess(first)) {
    log(LogLevel::Info, "compiling again after: " + toStringRef(answer.bytes));
    answer = compile(image, entry, held); // killed for memory, say: once more
    if (isEndOfProcess(first) && isEndOfProcess(answer.outcome)) // twice alone: it is the unit
      answer.outcome = first == Outcome::Crashed && answer.outcome == Outcome::Crashed
                           ? Outcome::Refused
                           : Outcome::Limited;
  }
  countAnswer(answer);
  if (cost)
    *cost = {answer.remote != protocol::Remote::Hit && answer.outcome != Outcome::Absent,
             answer.peakBytes};
  switch (answer.outcome) {
  case Outcome::Result:
    cache.store(resultEntry(entry.request.want, key, answer.bytes));
    break;
  case Outcome::Refused:
    cache.store({key.str(), "{}", answer.bytes, CacheEntry::Kind::Refused,
                 uint64_t(time(nullptr)) + kRefusalSeconds});
    break;
  case Outcome::Absent:
    if (answer.remote == protocol::Remote::Failed || answer.remote == protocol::Remote::Paused)
      return problem(forbidden(entry.request, key,
                               "not in the local cache, the remote cache does not answer")); // yet
    return failed(Outcome::Refused, forbidden(entry.request, key, "not in the cache"));
  case Outcome::Problem:
  case Outcome::Forbidden:
  case Outcome::Crashed:
  case Outcome::Killed:
  case Outcome::Limited:
    break;
  }
  return answer;
}

// With the mutex held.
void Compiler::State::tellOfWaiting() {
  if (!notice)
    return;
  if (std::string text = notice->due(/*isCached=*/bool(cache.directory())); !text.empty())
    tellTerminal(text);
}

// With the mutex held.
void Compiler::State::keep(const std::string &key, std::shared_ptr<Entry> entry) {
  keptBytes += entry->bytes->size();
  kept.emplace_back(key, std::move(entry));
  while (keptBytes > kMaxKeptBytes && kept.size() > 1) {
    auto &[oldKey, old] = kept.front();
    keptBytes -= old->bytes->size();
    if (auto place = entries.find(oldKey); place != entries.end() && place->second == old)
      entries.erase(place);
    kept.pop_front();
  }
}

Expected<std::shared_ptr<const Bytes>> Compiler::State::get(const ModuleImage &image,
                                                            protocol::Request request,
                                                            StringRef arch, CompileCost *cost) {
  Expected<std::string> compiler = compilerIdentity();
  if (!compiler)
    return make_error<CompilerProblem>(toString(compiler.takeError()));
  if (arch.size() >= sizeof(request.arch))
    return failure("architecture name too long: " + arch);
  memcpy(request.arch, arch.data(), arch.size());
  request.computeCapability = image.computeCapability;
  request.digest = image.digest;
  std::string key = keyOf(request, *compiler);

  const bool isUnit = request.want == protocol::Want::CodeObject;
  std::shared_ptr<Entry> entry;
  {
    std::unique_lock<std::mutex> lock(mutex);
    if (notice && !request.ahead)
      notice->begin();
    std::shared_ptr<Entry> &place = entries[key];
    if (place && !(place->pending && place->owner != getpid())) {
      entry = place;
      if (!request.ahead)
        prioritize(*entry);
      while (!changed.wait_for(lock, kNoticeInterval, [&] { return !entry->pending; }))
        tellOfWaiting();
      if (notice && !request.ahead)
        notice->end();
      return resultOf(*entry);
    }
    entry = place = std::make_shared<Entry>();
    entry->request = request;
    entry->ahead = request.ahead;
    if (notice && isUnit)
      notice->asked();
  }

  CompileCost own;
  if (!cost)
    cost = &own;
  const auto begin = std::chrono::steady_clock::now();
  protocol::Answer answer;
  try {
    answer = this->answer(image, *entry, key, cost);
  } catch (const std::exception &error) { // no memory, say; others may wait for the entry
    answer = problem(error.what());
  }
  if (isUnit && cost->compiled)
    summary::unitCompiled(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  else if (isUnit && answer.outcome == protocol::Outcome::Result)
    summary::cacheHit();

  std::lock_guard<std::mutex> lock(mutex);
  if (notice && isUnit && cost->compiled)
    notice->compiled();
  tellOfWaiting();
  if (notice && !request.ahead)
    notice->end();
  entry->outcome = answer.outcome;
  entry->bytes = std::make_shared<const Bytes>(std::move(answer.bytes));
  entry->pending = false;
  if (entry->outcome == protocol::Outcome::Problem ||
      entry->outcome == protocol::Outcome::Forbidden || isEndOfProcess(entry->outcome))
    entries.erase(key); // a later call may fare better
  else
    keep(key, entry);
  changed.notify_all();
  return resultOf(*entry);
}

void Compiler::State::compileAheadForEver() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!aheadUnits.empty()) {
    AheadUnit next = std::move(aheadUnits.front());
    aheadUnits.pop_front();
    lock.unlock();
    protocol::Request request;
    request.want = protocol::Want::CodeObject;
    request.code = next.variant.applyTo(this->code);
    request.unit = next.unit;
    request.ahead = true;
    std::vector<UnitVariant> further;
    auto code = get(next.image, request, next.arch);
    if (!code)
      consumeError(code.takeError()); // whoever needs it is told
    else if (next.variant.index() == 0)
      if (Error error = furtherVariants(**code, this->code).moveInto(further))
        consumeError(std::move(error));
    lock.lock();
    for (const UnitVariant &variant : further) {
      aheadUnits.push_back(next);
      aheadUnits.back().variant = variant;
    }
  }
  --aheadThreads;
}

Compiler::Compiler(KernelCache cache, const settings::Settings &settings)
    : state(new State(std::move(cache), settings)) {}

Compiler &Compiler::create(KernelCache cache, const settings::Settings &settings) {
  // Still reachable from here: not lost, only never destroyed.
  static auto *all = new std::deque<Compiler *>;
  static std::mutex *mutex = new std::mutex;
  auto *made = new Compiler(std::move(cache), settings);
  std::lock_guard<std::mutex> lock(*mutex);
  all->push_back(made);
  return *made;
}

Compiler &Compiler::instance() {
  static Compiler &compiler = []() -> Compiler & {
    Compiler &made = create(KernelCache::from({}), {});
    made.state->notice.emplace();
    return made;
  }();
  return compiler;
}

Expected<std::shared_ptr<const Manifest>> Compiler::manifest(const ModuleImage &image) {
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

const settings::Code &Compiler::code() const { return state->code; }

Expected<std::shared_ptr<const Bytes>> Compiler::codeObject(const ModuleImage &image, uint32_t unit,
                                                            StringRef arch, CompileCost *cost) {
  return codeObject(image, unit, arch, state->code, cost);
}

Expected<std::shared_ptr<const Bytes>> Compiler::codeObject(const ModuleImage &image, uint32_t unit,
                                                            StringRef arch,
                                                            const settings::Code &code,
                                                            CompileCost *cost) {
  protocol::Request request;
  request.want = protocol::Want::CodeObject;
  request.code = code;
  request.unit = unit;
  return state->get(image, request, arch, cost);
}

void Compiler::compileAhead(const ModuleImage &image, const Manifest &manifest, StringRef arch) {
  std::vector<bool> wanted(manifest.unitCount);
  for (const Manifest::Kernel &kernel : manifest.kernels)
    if (kernel.error.empty())
      wanted[kernel.unit] = true;
  std::lock_guard<std::mutex> lock(state->mutex);
  if (state->notice)
    state->notice->loaded(uint64_t(llvm::count(wanted, true)));
  if (state->mode != CompileMode::Eager)
    return;
  if (state->aheadOwner != getpid()) { // the threads of whom we were forked from stayed there
    state->aheadOwner = getpid();
    state->aheadUnits.clear();
    state->aheadThreads = 0;
  }
  const ModuleImage kept = image.kept();
  for (uint32_t unit = 0; unit < wanted.size(); ++unit)
    if (wanted[unit])
      state->aheadUnits.push_back({kept, unit, arch.str()});
  const size_t threads = std::min<size_t>(WorkerLimits::from(state->settings).processCount(),
                                          state->aheadUnits.size());
  // No handler of the program may run in our threads.
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  try {
    for (; state->aheadThreads < threads; ++state->aheadThreads)
      std::thread([s = state] { s->compileAheadForEver(); }).detach();
  } catch (const std::system_error &error) {
    log(LogLevel::Warning, Twine("nothing is compiled ahead: ") + error.what());
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

} // namespace rubia::runtime
