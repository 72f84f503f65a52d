// SPDX-License-Identifier: Apache-2.0
// What `rubia inspect` knows of a file, as JSON (docs/schemas/inspect.schema.json), and that for
// people.
#pragma once

#include "runtime/worker/Pipeline.h"
#include "tools/CodeObjects.h"
#include "tools/DriverCalls.h"
#include "tools/Sources.h"
#include <nlohmann/json.hpp>

namespace rubia::tools {

struct InspectionOptions {
  runtime::PipelineOptions pipeline;
  unsigned capability = 0; // of programs, 89 for 8.9
  std::shared_ptr<lowering::Experience> experience = std::make_shared<lowering::Experience>();
  std::string entry; // only the kernel that this means; empty: all
};

/// A file with PTX or machine code of NVIDIA's: its modules, kernels and calls, and the verdict.
/// `name` decides what the code is told. The error: the calls cannot be read.
llvm::Expected<nlohmann::ordered_json> inspectSources(const SourceFile &file, llvm::StringRef name,
                                                      const InspectionOptions &options,
                                                      const DriverFunctions &driver);
/// A file with code objects of AMD's.
nlohmann::ordered_json inspectCodeObjects(const std::string &path, const CodeObjectFile &file);

/// Takes all kernels out but the one that `wanted` means (KernelNames.h). False: there is none. The
/// error: it may mean several.
llvm::Expected<bool> keepKernel(nlohmann::ordered_json &files, llvm::StringRef wanted);

/// Puts verdict and reason into an entry. Returns the exit status that it stands for.
int judge(nlohmann::ordered_json &entry);

/// Of all entries: files, kernels, verdicts, why kernels and images fail, NVIDIA's libraries.
nlohmann::ordered_json totalsOf(const nlohmann::ordered_json &entries, unsigned filesSeen);

struct PrintOptions {
  bool mangled = false; // names as they stand in the file
};
void print(const nlohmann::ordered_json &entry, const PrintOptions &options);
/// One line for an entry.
void printShort(const nlohmann::ordered_json &entry);
void printTotals(const nlohmann::ordered_json &totals);
/// The page of --html (InspectHtml.cpp), of entries that were judged for `arch`.
void writePage(llvm::raw_ostream &os, const nlohmann::ordered_json &entries,
               const nlohmann::ordered_json &totals, llvm::StringRef arch);

} // namespace rubia::tools
