// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/RemoteCache.h"
#include "runtime/base/Log.h"
#include "runtime/cache/CacheDirectory.h"
#include "runtime/cache/Signature.h"
#include "runtime/worker/Http.h"
#include "runtime/worker/S3.h"
#include "settings/Settings.h"
#include "llvm/ADT/StringExtras.h"
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <sys/eventfd.h>
#include <system_error>
#include <thread>
#include <unistd.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting cacheRemote, cacheRemoteTimeout, cacheRemoteWrite, cacheSigningKey;
} // namespace rubia::settings::Id

namespace rubia::runtime {

using Clock = std::chrono::steady_clock;
using protocol::Remote;

namespace {
constexpr unsigned kFetchThreads = 8, kStoreThreads = 2;
// What waits to be stored beyond this is not stored: a slow remote must not fill the memory.
constexpr uint64_t kMaxStoreBytes = uint64_t(256) << 20;
// So many failures one after the other, and the remote is left alone: first so long, then twice as
// long each time.
constexpr unsigned kFailuresToTrip = 2;
constexpr std::chrono::seconds kFirstPause{30}, kLongestPause{600};

bool isUrl(StringRef text) { return text.starts_with("http://") || text.starts_with("https://"); }

// Whether nobody can be on the way.
bool isLoopback(StringRef url) {
  StringRef host = url.split("://").second;
  host = host.take_until([](char c) { return StringRef("/?#").contains(c); });
  if (size_t at = host.rfind('@'); at != StringRef::npos)
    host = host.substr(at + 1);
  if (host.consume_front("["))
    host = host.split(']').first;
  else
    host = host.split(':').first;
  return host == "localhost" || host == "::1" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == StringRef::npos);
}

// For the log: a URL may hold a password.
std::string withoutPassword(StringRef url) {
  auto [scheme, rest] = url.split("://");
  auto [host, path] = rest.split('/');
  if (size_t at = host.rfind('@'); at != StringRef::npos)
    host = host.substr(at + 1);
  return (scheme + "://" + host + (path.empty() ? "" : "/") + path).str();
}

// When a remote fails, asking it only costs time: opens after failures, then lets one
// request through now and then.
class Breaker {
public:
  bool mayAsk() {
    if (failures < kFailuresToTrip)
      return true;
    if (Clock::now() < closedUntil)
      return false;
    closedUntil = Clock::now() + pause; // this one is the trial
    return true;
  }
  // Whether it is still worth asking what was asked for then.
  bool mayStillAsk(Clock::time_point then) const {
    return failures < kFailuresToTrip || then > pausedAt;
  }
  void succeeded() { *this = Breaker(); }
  // Whether this was the one that makes it pause, or another failed trial.
  bool failed() {
    const bool pausedNow = pausedAt != Clock::time_point() && Clock::now() < pausedAt + kFirstPause;
    if (++failures < kFailuresToTrip || pausedNow)
      return false; // pausedNow: requests that were under way
    pausedAt = Clock::now();
    closedUntil = pausedAt + pause;
    lastPause = pause;
    pause = std::min(2 * pause, kLongestPause);
    return true;
  }
  std::chrono::seconds length() const { return lastPause; }

private:
  unsigned failures = 0;
  std::chrono::seconds pause = kFirstPause, lastPause{};
  Clock::time_point closedUntil{}, pausedAt{};
};

struct FetchJob {
  uint64_t ticket;
  std::string key;
  Clock::time_point asked;
};
struct StoreJob {
  std::string key;
  std::vector<uint8_t> bytes;
  bool overDamaged;
};
} // namespace

struct RemoteCache::State {
  std::string url;                   // of HTTP
  std::optional<AwsIdentity> signer; // of requests to S3
  bool writes = false;
  HttpLimits limits;
  TrustedKeys trusted;
  std::optional<SigningKey> signingKey;
  FileDescriptor ready;

  std::mutex mutex;
  std::condition_variable changed;
  // A server that cannot be written may be worth reading.
  Breaker fetches, stores;
  std::deque<FetchJob> toFetch;
  std::deque<StoreJob> toStore;
  uint64_t storeBytes = 0; // waiting or under way
  unsigned fetchThreads = 0, storeThreads = 0, idleFetchThreads = 0, storing = 0;
  std::vector<Fetched> fetched;
  std::set<std::string> damaged; // keys of entries there, to be written again
  bool complainedOfEntries = false, stopped = false;

  std::string urlOf(StringRef key) const {
    return url + "/" + entryName(digestOf(arrayRefFromStringRef(key)));
  }
  void succeeded(Breaker &breaker) {
    std::lock_guard<std::mutex> lock(mutex);
    breaker.succeeded();
  }
  void failed(Breaker &breaker, const Twine &reason);
  Remote fetch(Http &http, const FetchJob &job, CacheEntry &entry);
  Error accept(ArrayRef<uint8_t> bytes, const std::string &key, CacheEntry &entry);
  void store(Http &http, const StoreJob &job);
  void fetchForEver();
  void storeForEver();
};

void RemoteCache::State::failed(Breaker &breaker, const Twine &reason) {
  std::lock_guard<std::mutex> lock(mutex);
  std::string text = "kernel cache: " + withoutPassword(url) + ": " + reason.str();
  if (breaker.failed())
    log(LogLevel::Warning,
        text + (&breaker == &stores ? "; nothing is stored there for " : "; it is not asked for ") +
            Twine(breaker.length().count()) + " s");
  else
    log(LogLevel::Info, text);
}

Error RemoteCache::State::accept(ArrayRef<uint8_t> bytes, const std::string &key,
                                 CacheEntry &entry) {
  auto [body, signature] = splitSignature(bytes);
  bool isDistrusted = false;
  auto check = [&, &signature = signature](const CacheEntry &found,
                                           const Digest &digest) -> std::string {
    if (found.key != key)
      return "is that of another key";
    if (found.kind != CacheEntry::Kind::Result || found.expires)
      return "is no result";
    std::string problem = trusted.problemOf(signature, Signed::Entry, digest);
    isDistrusted = !problem.empty();
    return problem;
  };
  Expected<CacheEntry> decoded = decodeEntry(body, check);
  if (decoded) {
    entry = std::move(*decoded);
    return Error::success();
  }
  if (!isDistrusted || signingKey) { // who cannot sign does not replace what others may trust
    std::lock_guard<std::mutex> lock(mutex);
    damaged.insert(key);
  }
  return decoded.takeError();
}

Remote RemoteCache::State::fetch(Http &http, const FetchJob &job, CacheEntry &entry) {
  std::vector<uint8_t> bytes;
  Expected<long> status = http.get(urlOf(job.key), bytes);
  if (!status) {
    failed(fetches, toString(status.takeError()));
    return Remote::Failed;
  }
  // A store whose contents may not be listed says 403 for what is not there. S3 has other reasons
  // for it, too: an unknown key, a signature that is wrong, a clock that is.
  const std::string code = signer ? s3ErrorCode(bytes) : "";
  if (*status == 403 && !code.empty() && code != "AccessDenied") {
    failed(fetches, "answers with status 403, " + code);
    return Remote::Failed;
  }
  if (*status == 404 || *status == 410 || *status == 403) {
    succeeded(fetches);
    return Remote::Absent;
  }
  if (*status != 200) {
    failed(fetches, "answers with status " + Twine(*status) + (code.empty() ? "" : ", ") + code);
    return Remote::Failed;
  }
  succeeded(fetches);
  Error error = accept(bytes, job.key, entry);
  if (!error)
    return Remote::Hit;
  // Only this entry failed, and it took no time.
  std::lock_guard<std::mutex> lock(mutex);
  log(std::exchange(complainedOfEntries, true) ? LogLevel::Info : LogLevel::Warning,
      "kernel cache: " + withoutPassword(urlOf(job.key)) + " " + toString(std::move(error)) +
          "; it is compiled again");
  return Remote::Refused;
}

void RemoteCache::State::fetchForEver() {
  Expected<Http> http = Http::open(limits, signer);
  if (!http)
    failed(fetches, toString(http.takeError()));
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    ++idleFetchThreads;
    changed.wait(lock, [&] { return !toFetch.empty() || stopped; });
    --idleFetchThreads;
    if (stopped)
      return;
    Fetched result{toFetch.front().ticket, Remote::Failed, {}};
    FetchJob job = std::move(toFetch.front());
    toFetch.pop_front();
    // Nobody waits any longer for what has been lying here for too long.
    const bool asked = http &&
                       Clock::now() < job.asked + std::chrono::milliseconds(limits.totalMs) &&
                       fetches.mayStillAsk(job.asked);
    lock.unlock();
    if (asked)
      result.outcome = fetch(*http, job, result.entry);
    lock.lock();
    fetched.push_back(std::move(result));
    eventfd_write(ready.get(), 1);
  }
}

// Signed if there is a key to sign with. Another machine may have stored it meanwhile.
void RemoteCache::State::store(Http &http, const StoreJob &job) {
  const std::string place = urlOf(job.key);
  Expected<long> status = 404;
  std::vector<uint8_t> answer;
  if (!job.overDamaged)
    status = http.head(place);
  if (status && *status == 200)
    return succeeded(stores);
  if (status && *status < 500) {
    std::vector<uint8_t> body = job.bytes;
    if (signingKey)
      append_range(body, signingKey->sign(Signed::Entry, digestOfEncoded(job.bytes)));
    status = http.put(place, body, answer);
  }
  if (!status)
    failed(stores, toString(status.takeError()));
  else if (*status < 200 || *status > 299)
    failed(stores, "cannot be written: status " + Twine(*status) +
                       (signer ? " " + s3ErrorCode(answer) : ""));
  else
    succeeded(stores);
}

void RemoteCache::State::storeForEver() {
  Expected<Http> http = Http::open(limits, signer);
  if (!http)
    failed(stores, toString(http.takeError()));
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return !toStore.empty() || stopped; });
    if (stopped)
      return;
    StoreJob job = std::move(toStore.front());
    toStore.pop_front();
    ++storing;
    bool asked = http && stores.mayAsk();
    lock.unlock();
    if (asked)
      store(*http, job);
    lock.lock();
    --storing;
    storeBytes -= job.bytes.size();
    changed.notify_all();
  }
}

bool RemoteCache::isWritten() {
  const settings::Settings settings;
  const std::string url = settings.text(settings::Id::cacheRemote);
  return !cacheIsDisabled() && (isUrl(url) || isS3Url(url)) &&
         settings.isOn(settings::Id::cacheRemoteWrite);
}

std::unique_ptr<RemoteCache> RemoteCache::from(const settings::Settings &settings) {
  std::string url = settings.text(settings::Id::cacheRemote);
  if (url.empty() || cacheIsDisabled(settings))
    return nullptr;
  auto state = std::make_shared<State>();
  auto refuse = [&](const Twine &why) {
    log(LogLevel::Error, "no remote kernel cache: " + why);
    return nullptr;
  };
  if (isS3Url(url)) {
    Expected<S3Place> place = s3Place(url);
    if (!place)
      return refuse(toString(place.takeError()));
    url = std::move(place->url);
    state->signer = std::move(place->identity);
  } else if (!isUrl(url)) {
    return refuse("RUBIA_CACHE_REMOTE is '" + url +
                  "', expected http://..., https://... or s3://BUCKET/...");
  }
  for (settings::Setting id : {settings::Id::cacheRemoteWrite, settings::Id::cacheRemoteTimeout})
    if (Error error = settings.check(id))
      return refuse(toString(std::move(error)));
  state->url = StringRef(url).rtrim('/').str();
  state->writes = settings.isOn(settings::Id::cacheRemoteWrite);
  state->limits.totalMs = unsigned(settings.number(settings::Id::cacheRemoteTimeout));
  state->limits.connectMs = std::min(state->limits.connectMs, state->limits.totalMs);
  state->trusted = TrustedKeys::from(settings);
  if (StringRef(url).starts_with("http://") && !state->trusted.areDemanded() && !isLoopback(url))
    log(LogLevel::Warning, "remote kernel cache: " + withoutPassword(url) +
                               " is not encrypted, and RUBIA_CACHE_PUBLIC_KEYS demands no "
                               "signature: whoever is on the way can put in code");
  if (std::string path = settings.text(settings::Id::cacheSigningKey);
      state->writes && !path.empty()) {
    Expected<SigningKey> key = SigningKey::read(path);
    if (!key)
      return refuse(toString(key.takeError()));
    state->signingKey = *key;
  }
  state->ready = FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!state->ready)
    return refuse("eventfd");
  return std::unique_ptr<RemoteCache>(new RemoteCache(std::move(state)));
}

// Whether it runs: there may be too many threads already.
static bool startThread(std::function<void()> body) {
  try {
    std::thread(std::move(body)).detach();
    return true;
  } catch (const std::system_error &error) {
    log(LogLevel::Warning, Twine("remote kernel cache: no thread: ") + error.what());
    return false;
  }
}

RemoteCache::~RemoteCache() {
  std::lock_guard<std::mutex> lock(state->mutex);
  state->stopped = true;
  state->changed.notify_all();
}

unsigned RemoteCache::timeoutMs() const { return state->limits.totalMs; }

bool RemoteCache::fetch(uint64_t ticket, const std::string &key) {
  std::lock_guard<std::mutex> lock(state->mutex);
  if (!state->fetches.mayAsk())
    return false;
  state->toFetch.push_back({ticket, key, Clock::now()});
  if (state->toFetch.size() > state->idleFetchThreads && state->fetchThreads < kFetchThreads) {
    if (startThread([s = state] { s->fetchForEver(); })) {
      ++state->fetchThreads;
    } else if (state->fetchThreads == 0) {
      state->toFetch.pop_back();
      return false;
    }
  }
  state->changed.notify_all();
  return true;
}

int RemoteCache::readyDescriptor() const { return state->ready.get(); }

std::vector<RemoteCache::Fetched> RemoteCache::takeFetched() {
  std::lock_guard<std::mutex> lock(state->mutex);
  eventfd_t ignored;
  eventfd_read(state->ready.get(), &ignored);
  return std::exchange(state->fetched, {});
}

void RemoteCache::store(const std::string &key, std::vector<uint8_t> bytes) {
  std::lock_guard<std::mutex> lock(state->mutex);
  if (!state->writes || state->storeBytes + bytes.size() > kMaxStoreBytes)
    return;
  state->storeBytes += bytes.size();
  state->toStore.push_back({key, std::move(bytes), state->damaged.erase(key) != 0});
  if (state->storeThreads < kStoreThreads) {
    if (startThread([s = state] { s->storeForEver(); })) {
      ++state->storeThreads;
    } else if (state->storeThreads == 0) {
      state->storeBytes -= state->toStore.back().bytes.size();
      if (state->toStore.back().overDamaged)
        state->damaged.insert(key);
      state->toStore.pop_back();
      return;
    }
  }
  state->changed.notify_all();
}

void RemoteCache::finish(unsigned ms) {
  std::unique_lock<std::mutex> lock(state->mutex);
  state->changed.wait_for(lock, std::chrono::milliseconds(ms),
                          [&] { return state->toStore.empty() && !state->storing; });
}

} // namespace rubia::runtime
