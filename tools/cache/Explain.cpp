// SPDX-License-Identifier: Apache-2.0
// rubia cache explain: whether the kernels of a file are in the cache, and if not, which fields of
// the key keep the nearest entry from being taken.
#include "codegen/Codegen.h"
#include "runtime/compiler/CompilerIdentity.h"
#include "targets/Target.h"
#include "tools/Commands.h"
#include "tools/Sources.h"
#include "tools/cache/CacheCommands.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

using namespace llvm;
using nlohmann::ordered_json;

namespace rubia::tools {

namespace {
struct ExplainOptions {
  std::string file, entry, arch = targets::byDefault().name.str();
  settings::Settings settings;
  bool json = false;
};

// A key's text and its fields, which are taken apart once.
struct Key {
  std::string text;
  std::vector<std::pair<StringRef, StringRef>> fields; // into text

  explicit Key(std::string t) : text(std::move(t)), fields(runtime::fieldsOfKey(text)) {}
  Key(const Key &) = delete;
  StringRef operator[](StringRef name) const {
    for (auto [field, value] : fields)
      if (field == name)
        return value;
    return "";
  }
};

// The keys of all entries: what is there, and by image, where the nearest one is looked for first.
class KnownKeys {
public:
  explicit KnownKeys(const runtime::KernelCache &cache) {
    auto add = [&](Expected<std::string> key) {
      if (key)
        keys.push_back(std::make_unique<Key>(std::move(*key)));
      else
        consumeError(key.takeError()); // rubia cache verify
    };
    if (const runtime::CacheDirectory *directory = cache.directory())
      for (const runtime::CacheDirectory::File &file : directory->files())
        add(runtime::CacheDirectory::readKey(file.path));
    for (const runtime::CachePack &pack : cache.packs())
      for (const runtime::CachePack::Row &row : pack.rows())
        add(pack.readKey(row));
    for (const std::unique_ptr<Key> &key : keys) {
      texts.insert(key->text);
      byImage[(*key)["image"]].push_back(key.get());
      all.push_back(key.get());
    }
  }

  bool contains(const Key &key) const { return texts.contains(key.text); }

  // Of the same kind; that with the fewest other fields, of the same image if there is one. Null:
  // there is none of this kind.
  const Key *nearest(const Key &wanted) const {
    auto ofImage = byImage.find(wanted["image"]);
    if (ofImage != byImage.end())
      if (const Key *found = nearest(wanted, ofImage->second))
        return found;
    return nearest(wanted, all);
  }

private:
  static const Key *nearest(const Key &wanted, ArrayRef<const Key *> among) {
    const Key *best = nullptr;
    size_t fewest = SIZE_MAX;
    for (const Key *other : among) {
      if ((*other)["kind"] != wanted["kind"])
        continue;
      size_t differs = 0;
      for (auto [name, value] : wanted.fields)
        differs += (*other)[name] != value;
      if (differs < fewest) {
        fewest = differs;
        best = other;
      }
    }
    return best;
  }

  std::vector<std::unique_ptr<Key>> keys;
  std::vector<const Key *> all;
  StringMap<std::vector<const Key *>> byImage;
  StringSet<> texts;
};

// The fields in which two keys differ, with both values; a field that one of them lacks is empty
// there.
struct Difference {
  StringRef field, wanted, found;
};
std::vector<Difference> differences(const Key &wanted, const Key &found) {
  std::vector<Difference> result;
  for (auto [name, value] : wanted.fields)
    if (StringRef other = found[name]; other != value)
      result.push_back({name, value, other});
  for (auto [name, value] : found.fields)
    if (wanted[name].empty())
      result.push_back({name, "", value});
  return result;
}

ordered_json explainKey(std::string text, const KnownKeys &known) {
  const Key key(std::move(text));
  ordered_json result{{"in_cache", known.contains(key)}};
  if (known.contains(key))
    return result;
  if (const Key *nearest = known.nearest(key))
    for (const Difference &d : differences(key, *nearest))
      result["differs"].push_back(
          {{"field", d.field.str()}, {"wanted", d.wanted.str()}, {"nearest", d.found.str()}});
  return result;
}

void print(const ordered_json &row) {
  printed() << row["what"].get<std::string>() << ": "
            << (row["in_cache"].get<bool>() ? "in the cache" : "NOT in the cache") << "\n";
  if (!row["in_cache"].get<bool>() && !row.contains("differs"))
    printed() << "  no entry of this kind at all\n";
  if (row.contains("differs"))
    for (const ordered_json &d : row["differs"])
      printed() << "  " << d["field"].get<std::string>() << " is " << d["wanted"].get<std::string>()
                << ", that of the nearest entry is " << d["nearest"].get<std::string>() << "\n";
}

int explain(const runtime::KernelCache &cache, const ExplainOptions &options) {
  if (Error error = codegen::validateArch(options.arch)) {
    fail(std::move(error));
    return kUsage;
  }
  Expected<unsigned> capability = computeCapability();
  if (!capability)
    return fail(capability.takeError());
  Expected<std::string> compiler = runtime::compilerIdentity();
  if (!compiler)
    return fail(compiler.takeError());
  Expected<SourceFile> file = openSources(options.file);
  if (!file)
    return fail(file.takeError());
  const KnownKeys known(cache);
  const settings::Code code = options.settings.code();
  const unsigned told = capabilityOf(*file, options.file, *capability);
  Outcome outcome;
  bool foundKernel = false;
  ordered_json rows = ordered_json::array();
  for (const Source &source : file->sources) {
    if (!source.hasPtx() && !source.hasKernels())
      continue;
    Expected<runtime::PtxImage> parsed = parse(source, told);
    if (!parsed) {
      fail(parsed.takeError());
      ++outcome.failed;
      continue;
    }
    outcome.worked += !parsed->units().empty();
    runtime::Digest image = runtime::digestOf(source.bytes);
    ordered_json manifest{{"what", source.place + ", manifest"}};
    manifest.update(explainKey(runtime::manifestKey(image, told, *compiler), known));
    rows.push_back(std::move(manifest));
    for (uint32_t unit = 0; unit < parsed->units().size(); ++unit) {
      std::string names;
      bool wanted = options.entry.empty();
      for (const ptx::Function *kernel : parsed->units()[unit].kernels) {
        names += (names.empty() ? "" : ", ") + kernel->name.str();
        wanted |= kernel->name == options.entry;
      }
      if (!wanted)
        continue;
      foundKernel = true;
      ordered_json row{{"what", source.place + ", " + names + " for " + options.arch}};
      row.update(explainKey(
          runtime::codeObjectKey(image, told, unit, options.arch, code, *compiler), known));
      rows.push_back(std::move(row));
    }
  }
  if (options.json)
    outs() << ordered_json{{"version", 1}, {"lookups", rows}}.dump(
                  2, ' ', true, ordered_json::error_handler_t::replace)
           << "\n";
  else
    for (const ordered_json &row : rows)
      print(row);
  if (!foundKernel && !outcome.failed) {
    if (!options.entry.empty())
      return fail(options.file + " has no kernel '" + options.entry + "'");
    notices() << options.file << ": no kernels: programs look up none\n";
  }
  return outcome.status();
}
} // namespace

void addCacheExplain(CLI::App &cache, const std::shared_ptr<std::string> &folder, int &status) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App *command = cache.add_subcommand(
      "explain", "Whether the kernels of a file are in the cache, and what keeps them from it");
  command->add_option("file", options->file, "whatever holds kernels")->required();
  command->add_option("--arch", options->arch, "the target")->capture_default_str();
  command->add_option("--entry", options->entry, "only this kernel");
  addCodeOptions(*command, options->settings);
  command->add_flag("--json", options->json, "machine-readable");
  command->callback([options, folder, &status] { status = explain(openCache(*folder), *options); });
}

} // namespace rubia::tools
