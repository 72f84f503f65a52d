// SPDX-License-Identifier: Apache-2.0
// rubia cache: what is in the kernel cache, whether it is whole, and moving it between a directory
// and packs.
#include "settings/Types.h"
#include "tools/Commands.h"
#include "tools/OutputFile.h"
#include "tools/cache/CacheCommands.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <unistd.h>

using namespace llvm;
using nlohmann::ordered_json;

namespace rubia::settings::Id {
extern const Setting cacheDir;
} // namespace rubia::settings::Id

namespace rubia::tools {

using runtime::CacheDirectory;
using runtime::CacheEntry;
using runtime::CachePack;
using runtime::KernelCache;

KernelCache openCache(const std::string &folder) {
  settings::Settings settings;
  if (!folder.empty())
    settings.set(settings::Id::cacheDir, folder);
  return KernelCache::from(settings);
}

// Every entry of the directory, then of the packs. `place` is the file, or the pack and its row.
using EntryVisitor = std::function<void(const std::string &place, uint64_t bytes, int64_t lastUse,
                                        Expected<CacheEntry> entry)>;
static constexpr int64_t kInPack = 0; // instead of a time of last use
static void forEachEntry(const KernelCache &cache, const EntryVisitor &visit) {
  if (const CacheDirectory *directory = cache.directory())
    for (const CacheDirectory::File &file : directory->files())
      visit(file.path, file.bytes, file.lastUse, CacheDirectory::readFile(file.path));
  for (const CachePack &pack : cache.packs())
    for (const CachePack::Row &row : pack.rows())
      visit(pack.path() + ":" + toHex(row.key, true), row.size, kInPack, pack.read(row));
}

Expected<std::optional<runtime::SigningKey>> signingKey(const std::string &path) {
  if (path.empty())
    return std::nullopt;
  Expected<runtime::SigningKey> key = runtime::SigningKey::read(path);
  if (!key)
    return key.takeError();
  return *key;
}

namespace {
struct Options {
  std::string digest, output, maxSize, signer, metrics;
  std::vector<std::string> paths, archs;
  unsigned olderThanDays = 0;
  bool json = false, remove = false;
};

void print(const ordered_json &json) {
  outs() << json.dump(2, ' ', true, ordered_json::error_handler_t::replace) << "\n";
}

std::string digestOfKey(const CacheEntry &entry) {
  return toHex(runtime::digestOf(arrayRefFromStringRef(entry.key)), true);
}

ordered_json kernelsOf(const CacheEntry &entry) {
  ordered_json metadata = ordered_json::parse(entry.metadata, nullptr, false);
  return metadata.is_object() && metadata.contains("kernels") ? metadata["kernels"]
                                                              : ordered_json::array();
}

ordered_json describe(const CacheEntry &entry) {
  ordered_json result{{"digest", digestOfKey(entry)},
                      {"outcome", entry.kind == CacheEntry::Kind::Result ? "result" : "refused"}};
  for (auto [name, value] : runtime::fieldsOfKey(entry.key))
    result["key"][name.str()] = value.str();
  result["payload_bytes"] = entry.payload.size();
  if (entry.expires)
    result["expires"] = entry.expires;
  if (entry.kind == CacheEntry::Kind::Refused)
    result["error"] = toStringRef(ArrayRef(entry.payload)).str();
  else
    result["kernels"] = kernelsOf(entry);
  return result;
}

int noDirectory() { return fail("there is no cache directory (RUBIA_LOG=warn says why)"); }

int stats(const KernelCache &cache, const Options &options) {
  if (!options.metrics.empty()) {
    Error error = writeCacheMetrics(cache, options.metrics);
    return error ? fail(std::move(error)) : kDone;
  }
  ordered_json result{{"version", 1}, {"directory", nullptr}, {"packs", ordered_json::array()}};
  if (const CacheDirectory *directory = cache.directory()) {
    uint64_t bytes = 0, entries = 0;
    for (const CacheDirectory::File &file : directory->files()) {
      bytes += file.bytes;
      ++entries;
    }
    ordered_json events = ordered_json::object();
    for (const runtime::CacheEventCount &count : cacheEvents(*directory))
      events[count.name.str()] = count.times;
    result["directory"] = {{"path", directory->folder()},
                           {"entries", entries},
                           {"bytes", bytes},
                           {"max_bytes", directory->limit()},
                           {"events", std::move(events)}};
  }
  for (const CachePack &pack : cache.packs())
    result["packs"].push_back({{"path", pack.path()},
                               {"entries", pack.rows().size()},
                               {"digest", toHex(pack.digest(), true)},
                               {"signer", pack.signer()}});
  if (options.json) {
    print(result);
    return kDone;
  }
  if (cache.directory()) {
    const ordered_json &d = result["directory"];
    printed() << d["path"].get<std::string>() << ": " << d["entries"].get<uint64_t>()
              << " entries, " << d["bytes"].get<uint64_t>() << " bytes of at most "
              << d["max_bytes"].get<uint64_t>() << "\n";
    for (const auto &[name, times] : d["events"].items())
      printed() << format("%12llu  ", times.get<unsigned long long>()) << name << "\n";
  } else {
    printed() << "no cache directory\n";
  }
  for (const ordered_json &pack : result["packs"])
    printed() << pack["path"].get<std::string>() << ": " << pack["entries"].get<uint64_t>()
              << " entries, digest " << pack["digest"].get<std::string>() << ", "
              << (pack["signer"].get<std::string>().empty()
                      ? "not signed"
                      : "signed by " + pack["signer"].get<std::string>())
              << "\n";
  return kDone;
}

std::string timeText(int64_t seconds) {
  time_t time = seconds;
  tm parts{};
  char text[32] = "-";
  if (seconds && gmtime_r(&time, &parts))
    strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &parts);
  return text;
}

int list(const KernelCache &cache, const Options &options) {
  ordered_json all = ordered_json::array();
  forEachEntry(cache, [&](const std::string &place, uint64_t bytes, int64_t lastUse,
                          Expected<CacheEntry> entry) {
    ordered_json row{{"place", place}, {"bytes", bytes}};
    if (lastUse)
      row["last_use"] = lastUse;
    if (!entry) {
      row["problem"] = toString(entry.takeError());
      if (!options.json)
        printed() << place << " " << row["problem"].get<std::string>() << "\n";
    } else {
      row.update(describe(*entry));
      if (!options.json) {
        printed() << digestOfKey(*entry).substr(0, 16) << "  " << timeText(lastUse)
                  << format("  %9llu  ", (unsigned long long)bytes)
                  << (entry->kind == CacheEntry::Kind::Refused
                          ? "refused"
                          : runtime::fieldOfKey(entry->key, "kind"));
        if (StringRef arch = runtime::fieldOfKey(entry->key, "arch"); !arch.empty())
          printed() << "  " << arch;
        ordered_json kernels = kernelsOf(*entry);
        for (size_t i = 0; i < kernels.size() && i < 3; ++i)
          printed() << (i ? ", " : "  ")
                    << (kernels[i].is_string() ? kernels[i].get<std::string>() : "?");
        if (kernels.size() > 3)
          printed() << " and " << kernels.size() - 3 << " more";
        printed() << "\n";
      }
    }
    all.push_back(std::move(row));
  });
  if (options.json)
    print({{"version", 1}, {"entries", std::move(all)}});
  return kDone;
}

int show(const KernelCache &cache, const Options &options) {
  std::optional<CacheEntry> found;
  std::string place;
  bool ambiguous = false;
  forEachEntry(cache, [&](const std::string &where, uint64_t, int64_t, Expected<CacheEntry> entry) {
    if (!entry)
      return consumeError(entry.takeError());
    std::string digest = digestOfKey(*entry);
    if (!StringRef(digest).starts_with(options.digest))
      return;
    ambiguous |= found && digestOfKey(*found) != digest;
    if (!found) {
      found = std::move(*entry);
      place = where;
    }
  });
  if (!found)
    return fail("no entry whose digest begins with " + options.digest);
  if (ambiguous)
    return fail("several entries have a digest that begins with " + options.digest);
  if (!options.output.empty())
    if (Error error = writeFile(options.output, toStringRef(ArrayRef(found->payload))))
      return fail(std::move(error));
  ordered_json description{{"version", 1}, {"place", place}};
  description.update(describe(*found));
  if (options.json) {
    print(description);
    return kDone;
  }
  printed() << place << "\n" << found->key;
  printed() << "payload: " << found->payload.size() << " bytes\nmetadata: " << found->metadata
            << "\n";
  if (found->kind == CacheEntry::Kind::Refused)
    printed() << "refused: " << toStringRef(ArrayRef(found->payload)) << "\n";
  return kDone;
}

int verify(const KernelCache &cache, const Options &options) {
  size_t good = 0;
  ordered_json bad = ordered_json::array();
  forEachEntry(cache, [&](const std::string &place, uint64_t, int64_t lastUse,
                          Expected<CacheEntry> entry) {
    std::string problem;
    if (!entry)
      problem = toString(entry.takeError());
    else if (cache.directory() && StringRef(place).starts_with(cache.directory()->folder() + "/") &&
             place != cache.directory()->pathOf(entry->key))
      problem = "is under the name of another key";
    if (problem.empty()) {
      ++good;
      return;
    }
    bad.push_back({{"place", place}, {"problem", problem}});
    const bool isFile = lastUse != kInPack;
    if (options.remove && (!isFile || !cache.directory()->remove(place)))
      bad.back()["problem"] = problem + "; it cannot be removed";
  });
  if (options.json) {
    print({{"version", 1}, {"good", good}, {"bad", bad}});
  } else {
    for (const ordered_json &b : bad)
      printed() << b["place"].get<std::string>() << " " << b["problem"].get<std::string>() << "\n";
    printed() << good << " entries are whole, " << bad.size() << " are not\n";
  }
  return bad.empty() ? kDone : kFailed;
}

int prune(const KernelCache &cache, const Options &options) {
  if (!cache.directory())
    return noDirectory();
  uint64_t bytes = cache.directory()->limit();
  if (!options.maxSize.empty()) {
    std::optional<uint64_t> size = settings::Size().parse(options.maxSize);
    if (!size) {
      fail("--max-size is '" + options.maxSize + "', expected bytes, or 500M, 4G");
      return kUsage;
    }
    bytes = *size;
  }
  int64_t olderThan =
      options.olderThanDays ? time(nullptr) - 86400 * int64_t(options.olderThanDays) : INT64_MIN;
  size_t gone = cache.directory()->evict(bytes, olderThan);
  cache.directory()->recount();
  printed() << gone << " entries removed, " << cache.directory()->sweep() << " temporaries\n";
  return kDone;
}

int clear(const KernelCache &cache) {
  if (!cache.directory())
    return noDirectory();
  size_t gone = cache.directory()->evict(0, INT64_MAX);
  cache.directory()->recount();
  cache.directory()->sweep();
  printed() << gone << " entries removed\n";
  return cache.directory()->files().empty() ? kDone : fail("some entries cannot be removed");
}

// What is damaged is said and left out.
int exportPack(const KernelCache &cache, const Options &options) {
  runtime::CachePackWriter writer;
  std::set<std::string> keys;
  int status = kDone;
  forEachEntry(cache, [&](const std::string &place, uint64_t, int64_t, Expected<CacheEntry> entry) {
    if (!entry) {
      status = fail(place + ": " + toString(entry.takeError()));
      return;
    }
    StringRef arch = runtime::fieldOfKey(entry->key, "arch");
    if (!options.archs.empty() && !arch.empty() && !is_contained(options.archs, arch))
      return;
    if (keys.insert(entry->key).second)
      writer.add(*entry);
  });
  Expected<std::optional<runtime::SigningKey>> signer = signingKey(options.signer);
  if (!signer)
    return fail(signer.takeError());
  if (Error error = writer.write(options.output, *signer ? &**signer : nullptr))
    return fail(std::move(error));
  printed() << options.output << ": " << writer.size() << " entries\n";
  return status;
}

int importPacks(const KernelCache &cache, const Options &options) {
  if (!cache.directory())
    return noDirectory();
  const runtime::TrustedKeys trusted = runtime::TrustedKeys::from({});
  int status = kDone;
  size_t stored = 0;
  for (const std::string &path : options.paths) {
    Expected<CachePack> pack = CachePack::open(path, trusted);
    if (!pack) {
      status = fail(pack.takeError());
      continue;
    }
    for (const CachePack::Row &row : pack->rows()) {
      Expected<CacheEntry> entry = pack->read(row);
      if (!entry)
        status = fail(entry.takeError());
      else if (cache.directory()->store(*entry))
        ++stored;
      else
        status = fail("an entry of " + path + " cannot be stored (RUBIA_LOG=warn says why)");
    }
  }
  printed() << stored << " entries stored in " << cache.directory()->folder() << "\n";
  return status;
}
} // namespace

void addCache(CLI::App &app, int &status) {
  auto options = std::make_shared<Options>();
  auto folder = std::make_shared<std::string>();
  CLI::App *cache = app.add_subcommand("cache", "Look into the kernel cache, move it, clean it");
  cache->require_subcommand(1);
  cache->add_option("--dir", *folder, "the cache directory, instead of that of the environment");
  auto command = [&](const char *name, const char *description, const auto &run) {
    CLI::App *sub = cache->add_subcommand(name, description);
    sub->callback([=, &status] { status = run(openCache(*folder)); });
    return sub;
  };
  auto json = [&](CLI::App *sub) { sub->add_flag("--json", options->json, "machine-readable"); };
  CLI::App *sub = command("stats", "Size, hits and misses",
                          [=](const KernelCache &c) { return stats(c, *options); });
  json(sub);
  sub->add_option("--prometheus", options->metrics,
                  "write them to this file as Prometheus' text (-: standard output)")
      ->type_name("FILE")
      ->excludes("--json");
  json(command("list", "All entries", [=](const KernelCache &c) { return list(c, *options); }));
  sub = command("show", "One entry: key, kernels, sizes",
                [=](const KernelCache &c) { return show(c, *options); });
  sub->add_option("digest", options->digest, "the beginning of its digest (list)")->required();
  sub->add_option("-o,--output", options->output, "write the payload to this file");
  json(sub);
  sub = command("verify", "Read every entry and check every digest",
                [=](const KernelCache &c) { return verify(c, *options); });
  sub->add_flag("--remove", options->remove, "remove damaged entries");
  json(sub);
  sub = command("prune", "Remove what was not used for longest",
                [=](const KernelCache &c) { return prune(c, *options); });
  sub->add_option("--max-size", options->maxSize, "keep at most this much (500M, 4G)");
  sub->add_option("--older-than", options->olderThanDays, "remove what was not used for DAYS");
  command("clear", "Remove all entries", [](const KernelCache &c) { return clear(c); });
  sub = command("export", "Write all entries, of the directory and of packs, to one pack",
                [=](const KernelCache &c) { return exportPack(c, *options); });
  sub->add_option("pack", options->output, "the file to write")->required();
  sub->add_option("--arch", options->archs, "only code for these targets")->delimiter(',');
  sub->add_option("--sign", options->signer, "sign it with this secret key (keygen)");
  sub = command("import", "Store the entries of packs in the directory",
                [=](const KernelCache &c) { return importPacks(c, *options); });
  sub->add_option("pack", options->paths, "packs")->required();
  sub = cache->add_subcommand("keygen", "Make a key to sign packs and remote entries with");
  sub->add_option("file", options->output, "the secret key; the public one goes to FILE.pub")
      ->required();
  sub->callback([=, &status] {
    Error error = runtime::SigningKey::generate(options->output);
    status = error ? fail(std::move(error)) : kDone;
  });
  addCacheExplain(*cache, folder, status);
}

} // namespace rubia::tools
