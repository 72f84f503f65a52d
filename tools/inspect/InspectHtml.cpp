// SPDX-License-Identifier: Apache-2.0
// The page of `rubia inspect --html`.
#include "tools/html/Page.h"
#include "tools/inspect/Inspection.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using nlohmann::ordered_json;

namespace rubia::tools {

namespace {
StringRef classOf(StringRef verdict) {
  if (verdict == "works" || verdict == "no-kernels")
    return "good";
  return verdict == "no" ? "bad" : "open";
}

void writeTotals(raw_ostream &os, const ordered_json &totals) {
  os << "<p>" << totals["files_seen"].get<uint64_t>() << " files, "
     << totals["files_with_kernels"].get<uint64_t>()
     << " with kernels: " << totals["working_kernels"].get<uint64_t>() << " of "
     << totals["kernels"].get<uint64_t>() << " kernels work.</p>\n";
  if (!totals["reasons"].empty()) {
    os << "<h2>Why kernels do not work</h2>\n";
    PageTable table(os, {{"reason"}, {"kernels", true}, {"modules", true}, {"files", true}});
    for (const ordered_json &reason : totals["reasons"]) {
      table.beginRow();
      table.text(reason["reason"].get<std::string>());
      for (const char *of : {"kernels", "modules", "files"})
        table.number(reason[of].get<uint64_t>());
    }
  }
  if (!totals["libraries"].empty()) {
    os << "<h2>Libraries of NVIDIA's that are loaded</h2>\n";
    PageTable table(os, {{"library"}, {"files", true}});
    for (const ordered_json &library : totals["libraries"]) {
      table.beginRow();
      table.text(library["library"].get<std::string>());
      table.number(library["files"].get<uint64_t>());
    }
  }
}

uint64_t kernelsOf(const ordered_json &entry, bool onlyWorking) {
  uint64_t count = 0;
  for (const ordered_json &module : entry["modules"])
    if (module.contains("kernels"))
      for (const ordered_json &kernel : module["kernels"])
        count += !onlyWorking || kernel["works"].get<bool>();
  return count;
}

void writeFiles(raw_ostream &os, const ordered_json &entries) {
  os << "<h2>Files</h2>\n";
  PageTable table(
      os, {{"file"}, {"verdict"}, {"reason"}, {"kernels", true}, {"of them work", true}}, "files");
  for (const ordered_json &entry : entries) {
    if (!entry.contains("modules"))
      continue;
    const auto verdict = entry["verdict"].get<std::string>();
    table.beginRow();
    table.text(entry["file"].get<std::string>());
    table.text(verdict, classOf(verdict));
    table.text(entry["reason"].get<std::string>());
    table.number(kernelsOf(entry, false));
    table.number(kernelsOf(entry, true));
  }
}

// What launches may meet of a kernel that works.
std::string notesOn(const ordered_json &kernel) {
  std::string text;
  if (kernel.contains("limit"))
    text = kernel["limit"]["text"].get<std::string>();
  if (kernel.contains("refused"))
    for (const ordered_json &refused : kernel["refused"])
      text += (text.empty() ? "" : "; ") + refused.get<std::string>();
  return text;
}

void writeKernels(raw_ostream &os, const ordered_json &entry, unsigned index) {
  const auto verdict = entry["verdict"].get<std::string>();
  os << "<details><summary><strong class=\"" << classOf(verdict) << "\">" << verdict
     << "</strong> <code>" << escaped(entry["file"].get<std::string>()) << "</code></summary>\n<p>"
     << escaped(entry["summary"].get<std::string>()) << "</p>\n";
  for (const ordered_json &problem : entry["problems"])
    os << "<p class=\"bad\">" << escaped(problem.get<std::string>()) << "</p>\n";
  for (const ordered_json &missing : entry["missing"])
    os << "<p class=\"open\">missing: <code>" << escaped(missing["function"].get<std::string>())
       << "</code></p>\n";
  for (const ordered_json &note : entry["notes"])
    os << "<p>" << escaped(note.get<std::string>()) << "</p>\n";
  for (const ordered_json &module : entry["modules"])
    if (module.contains("problem"))
      os << "<pre class=\"bad\">" << escaped(module["problem"].get<std::string>()) << "</pre>\n";
  if (kernelsOf(entry, false)) {
    PageTable table(os,
                    {{"kernel"},
                     {"works"},
                     {"reason or limit"},
                     {"parameters", true},
                     {"shared bytes", true},
                     {"module"}},
                    "kernels" + std::to_string(index));
    for (const ordered_json &module : entry["modules"])
      if (module.contains("kernels"))
        for (const ordered_json &kernel : module["kernels"]) {
          const bool works = kernel["works"].get<bool>();
          table.beginRow();
          table.text(kernel["demangled"].get<std::string>(), "name");
          table.text(works ? "works" : "no", works ? "good" : "bad");
          table.text(works ? notesOn(kernel) : kernel["reason"].get<std::string>(), "reason");
          table.number(kernel["parameters"].get<uint64_t>());
          table.number(kernel["shared_bytes"].get<uint64_t>());
          table.text(module["place"].get<std::string>());
        }
  }
  os << "</details>\n";
}

void writeCodeObjects(raw_ostream &os, const ordered_json &entry) {
  os << "<details><summary>code objects <code>" << escaped(entry["file"].get<std::string>())
     << "</code></summary>\n<p>" << escaped(entry["summary"].get<std::string>()) << "</p>\n";
  {
    PageTable table(os, {{"kernel"},
                         {"target"},
                         {"on the emulator"},
                         {"parameters", true},
                         {"shared bytes", true},
                         {"scratch bytes", true},
                         {"VGPRs", true},
                         {"SGPRs", true}});
    for (const ordered_json &object : entry["code_objects"])
      for (const ordered_json &kernel : object["kernels"]) {
        const bool runs = object["emulated"].get<bool>();
        table.beginRow();
        table.text(kernel["demangled"].get<std::string>(), "name");
        table.text(object["target"].get<std::string>());
        table.text(runs ? "runs" : "does not run", runs ? "good" : "bad");
        table.number(kernel["parameters"].size());
        for (const char *of : {"shared_bytes", "scratch_bytes", "vgprs", "sgprs"})
          table.number(kernel[of].get<uint64_t>());
      }
  }
  os << "</details>\n";
}
} // namespace

void writePage(raw_ostream &os, const ordered_json &entries, const ordered_json &totals,
               StringRef arch) {
  beginPage(os, "rubia inspect");
  os << "<h1>rubia inspect</h1>\n<p>For " << escaped(arch) << ", by Rubia " << RUBIA_VERSION
     << ".</p>\n<p class=\"keys\">The head of a column sorts.</p>\n";
  writeTotals(os, totals);
  writeFiles(os, entries);
  os << "<h2>Kernels</h2>\n";
  unsigned index = 0;
  for (const ordered_json &entry : entries)
    if (entry.contains("modules"))
      writeKernels(os, entry, index++);
    else
      writeCodeObjects(os, entry);
  endPage(os, {PageScript::Tables});
}

} // namespace rubia::tools
