// SPDX-License-Identifier: Apache-2.0
// What `rubia inspect` found, for people.
#include "tools/Commands.h"
#include "tools/inspect/Inspection.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using nlohmann::ordered_json;

namespace rubia::tools {

namespace {
std::string nameOf(const ordered_json &kernel, const PrintOptions &options) {
  return kernel[options.mangled ? "name" : "demangled"].get<std::string>();
}

void printSources(const ordered_json &file, const PrintOptions &options) {
  printed() << file["file"].get<std::string>() << ": " << file["summary"].get<std::string>()
            << "\n";
  for (const ordered_json &problem : file["problems"])
    printed() << "  problem: " << problem.get<std::string>() << "\n";
  for (const ordered_json &source : file["modules"]) {
    printed() << "  " << source["place"].get<std::string>() << "\n";
    for (const ordered_json &i : source["images"])
      printed() << "    " << i["kind"].get<std::string>() << " " << i["target"].get<std::string>()
                << ", " << i["compression"].get<std::string>() << ", " << i["bytes"].get<uint64_t>()
                << " bytes\n";
    if (source.contains("problem"))
      printed() << "    problem: " << source["problem"].get<std::string>() << "\n";
    if (source.contains("empty"))
      printed() << "    " << source["empty"].get<std::string>() << "\n";
    if (!source.contains("kernels"))
      continue;
    printed() << "    taken: PTX " << source["ptx"].get<std::string>() << " for "
              << source["target"].get<std::string>() << ", " << source["variables"].get<uint64_t>()
              << " variables\n";
    for (const ordered_json &k : source["kernels"]) {
      printed() << "    " << (k["works"].get<bool>() ? "works  " : "FAILS  ") << nameOf(k, options)
                << " (" << k["parameters"].get<uint64_t>() << " parameters, "
                << k["shared_bytes"].get<uint64_t>() << " bytes shared"
                << (k["grid_barrier"].get<bool>() ? ", barrier of the grid: cooperative launch"
                                                  : "")
                << ")\n";
      if (k.contains("limit"))
        printed() << "             " << k["limit"]["text"].get<std::string>() << "\n";
      if (k.contains("matrix_routes"))
        printed() << "             products of matrices: "
                  << join(k["matrix_routes"].get<std::vector<std::string>>(), ", ") << "\n";
      if (k.contains("refused"))
        for (const ordered_json &place : k["refused"])
          printed() << "             " << place.get<std::string>() << "\n";
      if (k.contains("reason")) {
        SmallVector<StringRef> lines;
        std::string reason = k["reason"].get<std::string>();
        StringRef(reason).split(lines, '\n');
        for (StringRef line : lines)
          printed() << "             " << line << "\n";
      }
    }
  }
  for (const ordered_json &note : file["notes"])
    printed() << "  note: " << note.get<std::string>() << "\n";
  printed() << "  verdict: " << file["verdict"].get<std::string>() << ": "
            << file["reason"].get<std::string>() << "\n";
}

void printCodeObjects(const ordered_json &file, const PrintOptions &options) {
  printed() << file["file"].get<std::string>() << ": " << file["summary"].get<std::string>()
            << "\n";
  for (const ordered_json &object : file["code_objects"]) {
    printed() << "  " << object["place"].get<std::string>() << "\n    "
              << object["target"].get<std::string>() << ", version "
              << object["version"].get<unsigned>() << ", " << object["bytes"].get<uint64_t>()
              << " bytes, " << (object["emulated"].get<bool>() ? "runs" : "DOES NOT RUN")
              << " on the emulator\n";
    if (object.contains("problem"))
      printed() << "    problem: " << object["problem"].get<std::string>() << "\n";
    if (object.contains("notes"))
      for (const ordered_json &note : object["notes"])
        printed() << "    note: " << note.get<std::string>() << "\n";
    for (const ordered_json &k : object["kernels"]) {
      printed() << "    " << nameOf(k, options) << " (" << k["parameters"].size() << " parameters, "
                << k["shared_bytes"].get<uint64_t>() << " bytes shared, "
                << k["scratch_bytes"].get<uint64_t>() << " bytes scratch, "
                << k["vgprs"].get<uint64_t>() << " VGPRs, " << k["sgprs"].get<uint64_t>()
                << " SGPRs, wave" << k["wave_size"].get<unsigned>() << ")\n";
      for (const ordered_json &p : k["parameters"])
        printed() << "      at " << p["offset"].get<unsigned>() << ": " << p["size"].get<unsigned>()
                  << " bytes, " << p["kind"].get<std::string>() << "\n";
    }
  }
}
} // namespace

void print(const ordered_json &entry, const PrintOptions &options) {
  if (entry.contains("code_objects"))
    printCodeObjects(entry, options);
  else
    printSources(entry, options);
}

void printShort(const ordered_json &entry) {
  printed() << entry["file"].get<std::string>() << ": ";
  if (entry.contains("code_objects")) {
    printed() << entry["summary"].get<std::string>() << "\n";
    return;
  }
  printed() << entry["verdict"].get<std::string>() << ": " << entry["reason"].get<std::string>();
  if (!entry["libraries"].empty())
    printed() << "; loads " << join(entry["libraries"].get<std::vector<std::string>>(), ", ");
  printed() << "\n";
}

void printTotals(const ordered_json &totals) {
  printed() << totals["files_seen"].get<unsigned>() << " files, "
            << totals["files_with_kernels"].get<unsigned>() << " with kernels";
  for (const auto &[verdict, files] : totals["verdicts"].items())
    printed() << ", " << files.get<unsigned>() << " " << verdict;
  printed() << "\n"
            << totals["working_kernels"].get<unsigned>() << " of "
            << totals["kernels"].get<unsigned>() << " kernels work\n";
  for (const ordered_json &reason : totals["reasons"]) {
    const auto kernels = reason["kernels"].get<unsigned>(),
               modules = reason["modules"].get<unsigned>();
    printed() << "  " << (kernels ? kernels : modules) << (kernels ? " kernels" : " modules")
              << " in " << reason["files"].get<unsigned>()
              << " files: " << reason["reason"].get<std::string>() << "\n";
  }
  for (const ordered_json &library : totals["libraries"])
    printed() << "  " << library["library"].get<std::string>() << ": loaded by "
              << library["files"].get<unsigned>() << " files\n";
}

} // namespace rubia::tools
