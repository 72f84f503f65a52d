// SPDX-License-Identifier: Apache-2.0
// The tier that machines share: entries on any HTTP server that keeps what is PUT (nginx with DAV,
// an S3-like store), or that serves a cache directory. Nothing that it does may cost more than a
// compile: threads of its own talk to it, every request is bounded in time and size, one that fails
// again and again is left alone for a while, and what it gives is believed only if every digest and
// the key are right, and the signature where one is demanded.
#pragma once

#include "runtime/cache/CacheEntry.h"
#include "runtime/compiler/Protocol.h"
#include <memory>

namespace rubia::settings {
class Settings;
}

namespace rubia::runtime {

class RemoteCache {
public:
  /// RUBIA_CACHE_REMOTE (a URL), RUBIA_CACHE_REMOTE_WRITE=1, RUBIA_CACHE_REMOTE_TIMEOUT
  /// (milliseconds), RUBIA_CACHE_SIGNING_KEY, RUBIA_CACHE_PUBLIC_KEYS. Null if there is none, or,
  /// with a line in the log, if the variables make no sense.
  static std::unique_ptr<RemoteCache> from(const settings::Settings &settings);
  /// Whether those say that results are stored there: for compile processes, which pass them on.
  static bool isWritten();
  ~RemoteCache(); // leaves threads that wait for the network behind

  /// Asks for an entry in the background. False: not now, the remote fails.
  bool fetch(uint64_t ticket, const std::string &key);
  struct Fetched {
    uint64_t ticket;
    protocol::Remote outcome;
    CacheEntry entry; // if it was a hit
  };
  /// Readable while there are answers to fetch().
  int readyDescriptor() const;
  std::vector<Fetched> takeFetched();

  /// Stores an entry in the background, unless it is there. `bytes`: encodeEntry.
  void store(const std::string &key, std::vector<uint8_t> bytes);
  /// Waits until everything is stored, at most so long.
  void finish(unsigned ms);

  unsigned timeoutMs() const;

private:
  struct State;
  explicit RemoteCache(std::shared_ptr<State> state) : state(std::move(state)) {}
  std::shared_ptr<State> state; // of the threads too
};

} // namespace rubia::runtime
