// rubia cache explain: whether the kernels of a file are in the cache, and if not, which fields of
// the key keep the nearest entry from being taken.
#include "runtime/CompilerIdentity.h"
#include "tools/lib/CacheCommands.h"
#include "tools/lib/Commands.h"
#include "tools/lib/Sources.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

using namespace llvm;
using nlohmann::ordered_json;

namespace rubia::tools {

namespace {
struct ExplainOptions {
  std::string file, entry, arch = "gfx1100", nan;
  bool json = false;
};

// The names of the fields in which two keys differ, with both values; a field that one of them
// lacks is empty there.
struct Difference {
  StringRef field, wanted, found;
};
std::vector<Difference> differences(StringRef wanted, StringRef found) {
  std::vector<Difference> result;
  for (auto [name, value] : runtime::fieldsOfKey(wanted))
    if (StringRef other = runtime::fieldOfKey(found, name); other != value)
      result.push_back({name, value, other});
  for (auto [name, value] : runtime::fieldsOfKey(found))
    if (runtime::fieldOfKey(wanted, name).empty())
      result.push_back({name, "", value});
  return result;
}

ordered_json explainKey(const std::string &key, const std::vector<std::string> &known) {
  const std::string *nearest = nullptr;
  size_t fewest = SIZE_MAX;
  for (const std::string &other : known) {
    if (runtime::fieldOfKey(other, "kind") != runtime::fieldOfKey(key, "kind"))
      continue;
    if (size_t n = differences(key, other).size(); n < fewest) {
      fewest = n;
      nearest = &other;
    }
  }
  ordered_json result{{"inCache", fewest == 0}};
  if (!nearest || fewest == 0)
    return result;
  for (const Difference &d : differences(key, *nearest))
    result["differs"].push_back(
        {{"field", d.field.str()}, {"wanted", d.wanted.str()}, {"nearest", d.found.str()}});
  return result;
}

void print(const ordered_json &row) {
  outs() << row["what"].get<std::string>() << ": "
         << (row["inCache"].get<bool>() ? "in the cache" : "NOT in the cache") << "\n";
  if (!row["inCache"].get<bool>() && !row.contains("differs"))
    outs() << "  no entry of this kind at all\n";
  if (row.contains("differs"))
    for (const ordered_json &d : row["differs"])
      outs() << "  " << d["field"].get<std::string>() << " is " << d["wanted"].get<std::string>()
             << ", that of the nearest entry is " << d["nearest"].get<std::string>() << "\n";
}

int explain(const runtime::KernelCache &cache, const ExplainOptions &options) {
  setEnvironment("RUBIA_NAN", options.nan);
  Expected<unsigned> capability = computeCapability();
  if (!capability)
    return fail(capability.takeError());
  Expected<std::string> compiler = runtime::compilerIdentity();
  if (!compiler)
    return fail(compiler.takeError());
  Expected<SourceFile> file = openSources(options.file);
  if (!file)
    return fail(file.takeError());
  std::vector<std::string> known;
  forEachEntry(cache,
               [&](const std::string &, uint64_t, int64_t, Expected<runtime::CacheEntry> entry) {
                 if (entry)
                   known.push_back(std::move(entry->key));
                 else
                   consumeError(entry.takeError()); // rubia cache verify
               });
  const runtime::CompileOptions compileOptions = runtime::CompileOptions::fromEnvironment();
  int status = kDone;
  ordered_json rows = ordered_json::array();
  for (const Source &source : file->sources) {
    runtime::Digest image = runtime::digestOf(source.bytes);
    Expected<runtime::PtxImage> parsed = parse(source, *capability);
    if (!parsed) {
      status = fail(parsed.takeError());
      continue;
    }
    ordered_json manifest{{"what", source.place + ", manifest"}};
    manifest.update(explainKey(runtime::manifestKey(image, *capability, *compiler), known));
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
      ordered_json row{{"what", source.place + ", " + names + " for " + options.arch}};
      row.update(explainKey(
          runtime::codeObjectKey(image, *capability, unit, options.arch, compileOptions, *compiler),
          known));
      rows.push_back(std::move(row));
    }
  }
  if (options.json)
    outs() << rows.dump(2, ' ', false, ordered_json::error_handler_t::replace) << "\n";
  else
    for (const ordered_json &row : rows)
      print(row);
  return status;
}
} // namespace

void addCacheExplain(CLI::App &cache, std::shared_ptr<std::string> folder, int &status) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App *command = cache.add_subcommand(
      "explain", "Whether the kernels of a file are in the cache, and what keeps them from it");
  command->add_option("file", options->file, "whatever holds kernels")->required();
  command->add_option("--arch", options->arch, "the target")->capture_default_str();
  command->add_option("--entry", options->entry, "only this kernel");
  addNanOption(*command, options->nan);
  command->add_flag("--json", options->json, "machine-readable");
  command->callback([options, folder, &status] { status = explain(openCache(*folder), *options); });
}

} // namespace rubia::tools
