// SPDX-License-Identifier: Apache-2.0
// The text format of Prometheus, which the node exporter's textfile collector reads.
#include "tools/cache/CacheCommands.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rubia::tools {

namespace {

// Labels are UTF-8; a backslash, a quote and a line break are escaped.
std::string label(StringRef text) {
  std::string escaped;
  for (char c : json::fixUTF8(text))
    if (c == '\n')
      escaped += "\\n";
    else
      escaped += c == '\\' || c == '"' ? std::string{'\\', c} : std::string(1, c);
  return escaped;
}

void begin(raw_ostream &os, StringRef name, StringRef type, StringRef help) {
  os << "# HELP " << name << " " << help << "\n# TYPE " << name << " " << type << "\n";
}

void write(raw_ostream &os, const runtime::CacheDirectory &directory) {
  uint64_t bytes = 0, entries = 0;
  for (const runtime::CacheDirectory::File &file : directory.files()) {
    bytes += file.bytes;
    ++entries;
  }
  const std::string folder = label(directory.folder());
  auto gauge = [&](StringRef name, StringRef help, uint64_t value) {
    begin(os, name, "gauge", help);
    os << name << "{directory=\"" << folder << "\"} " << value << "\n";
  };
  gauge("rubia_cache_entries", "Entries of the cache directory.", entries);
  gauge("rubia_cache_bytes", "Size of the cache directory's entries.", bytes);
  gauge("rubia_cache_max_bytes", "The bound of that size.", directory.limit());
  begin(os, "rubia_cache_events_total", "counter",
        "What look-ups of all processes gave, since the cache was made or cleared.");
  for (const runtime::CacheEventCount &count : cacheEvents(directory))
    os << "rubia_cache_events_total{directory=\"" << folder << "\",event=\"" << label(count.name)
       << "\"} " << count.times << "\n";
}

} // namespace

Error writeCacheMetrics(const runtime::KernelCache &cache, StringRef path) {
  return writeToOutput(path, [&](raw_ostream &os) {
    if (cache.directory())
      write(os, *cache.directory());
    if (!cache.packs().empty())
      begin(os, "rubia_cache_pack_entries", "gauge", "Entries of a pack.");
    for (const runtime::CachePack &pack : cache.packs())
      os << "rubia_cache_pack_entries{pack=\"" << label(pack.path()) << "\"} " << pack.rows().size()
         << "\n";
    return Error::success();
  });
}

} // namespace rubia::tools
