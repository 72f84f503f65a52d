// SPDX-License-Identifier: Apache-2.0
// rubia compile: PTX -> code objects, objects, assembly, LLVM IR or PTX, for any number of targets.
// No GPU needed.
#include "ptx-frontend/Printer.h"
#include "targets/Target.h"
#include "tools/CodeObjects.h"
#include "tools/Commands.h"
#include "tools/OutputFile.h"
#include "tools/Sources.h"
#include "tools/inspect/KernelNames.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting optimise;
} // namespace rubia::settings::Id

namespace rubia::tools {

namespace {
struct CompileOptions {
  std::string file, entry, output, emit = "co", codegen = "lld";
  settings::Settings settings;
  std::vector<std::string> archs{targets::byDefault().name.str()};
};

struct Output {
  std::string name; // without folder
  std::string bytes;
};

StringRef extensionOf(StringRef emit) {
  return StringSwitch<StringRef>(emit)
      .Case("co", "co")
      .Case("obj", "o")
      .Case("asm", "s")
      .Case("llvm", "ll")
      .Default("ptx");
}

// Kernel names can be longer than a file name may be.
std::string fileStem(StringRef kernel) {
  if (kernel.size() <= 180)
    return kernel.str();
  return (kernel.take_front(160) + "-" + utohexstr(hash_value(kernel))).str();
}

Expected<std::string> compileOne(const runtime::PtxImage &image, const lowering::Unit &unit,
                                 const CompileOptions &options, const std::string &arch) {
  runtime::PipelineOptions pipeline;
  pipeline.codegen.arch = arch;
  pipeline.code = options.settings.code();
  if (options.codegen == "comgr")
    pipeline.codegen.backend = codegen::Backend::Comgr;
  if (options.emit == "co") {
    Expected<codegen::CodeObject> object = image.compile(unit, pipeline);
    if (!object)
      return object.takeError();
    for (const std::string &note : notesOf(object->bytes))
      messages() << options.file << ": note: " << note << "\n";
    return toStringRef(object->bytes).str();
  }
  auto kind = options.emit == "obj"   ? codegen::EmitKind::Object
              : options.emit == "asm" ? codegen::EmitKind::Assembly
                                      : codegen::EmitKind::Llvm;
  return image.emit(unit, pipeline, kind);
}

bool wanted(const lowering::Unit &unit, StringRef entry) {
  return entry.empty() ||
         any_of(unit.kernels, [&](const ptx::Function *k) { return k->name == entry; });
}

// Every wanted unit for every target. What fails is reported and does not stop the rest.
void compileImage(const runtime::PtxImage &image, const CompileOptions &options,
                  std::vector<Output> &outputs, bool &foundEntry, Outcome &outcome) {
  for (const ptx::Diagnostic &d : image.diagnostics())
    if (options.entry.empty() || d.function.empty() || d.function == options.entry) {
      messages() << image.format(d) << "\n";
      if (d.severity == ptx::Severity::Error)
        ++outcome.failed;
    }
  if (options.emit == "ptx") {
    foundEntry |=
        any_of(image.units(), [&](const lowering::Unit &u) { return wanted(u, options.entry); });
    outputs.push_back({sys::path::stem(options.file).str() + ".ptx", ptx::print(image.module())});
    ++outcome.worked;
    return;
  }
  for (const lowering::Unit &unit : image.units()) {
    if (!wanted(unit, options.entry))
      continue;
    foundEntry = true;
    if (any_of(unit.kernels, [&](const ptx::Function *k) { return !image.errorsOf(*k).empty(); }))
      continue; // said already
    for (const std::string &arch : options.archs) {
      Expected<std::string> bytes = compileOne(image, unit, options, arch);
      if (!bytes) {
        fail(bytes.takeError());
        ++outcome.failed;
        continue;
      }
      ++outcome.worked;
      std::string kernel = options.entry.empty() ? unit.kernels.front()->name.str() : options.entry;
      outputs.push_back({fileStem(kernel) + "." + arch + "." + extensionOf(options.emit).str(),
                         std::move(*bytes)});
    }
  }
}

// One result goes to the file (or the folder) that -o names, several to the folder; all to stdout
// for `-o -`, and text without -o.
int writeOutputs(const CompileOptions &options, const std::vector<Output> &outputs) {
  bool isText = options.emit == "asm" || options.emit == "llvm" || options.emit == "ptx";
  if (options.output == "-" || (options.output.empty() && isText)) {
    for (const Output &output : outputs)
      outs() << output.bytes;
    return kDone;
  }
  const bool isFolder =
      StringRef(options.output).ends_with("/") || sys::fs::is_directory(options.output);
  const bool toFile = outputs.size() == 1 && !options.output.empty() && !isFolder;
  std::string folder = options.output.empty() ? "." : options.output;
  if (!toFile)
    if (std::error_code error = sys::fs::create_directories(folder))
      return fail(folder + ": " + error.message());
  for (const Output &output : outputs)
    if (Error error = writeFile(toFile ? options.output : folder + "/" + output.name, output.bytes))
      return fail(std::move(error));
  if (options.output.empty()) {
    notices() << "rubia: wrote " << outputs.front().name;
    if (outputs.size() > 1)
      notices() << " and " << outputs.size() - 1 << " more";
    notices() << "\n";
  }
  return kDone;
}

// The kernel of the file that `wanted` means; `wanted` where there is none.
Expected<std::string> entryIn(const SourceFile &file, unsigned capability,
                              const std::string &wanted) {
  std::vector<std::string> names;
  for (const Source &source : file.sources) {
    Expected<runtime::PtxImage> image =
        source.hasPtx() ? parse(source, capability)
                        : Expected<runtime::PtxImage>(createStringError("no PTX"));
    if (!image) {
      consumeError(image.takeError()); // whoever compiles it says why
      continue;
    }
    for (const lowering::Unit &unit : image->units())
      for (const ptx::Function *kernel : unit.kernels)
        names.push_back(kernel->name.str());
  }
  Expected<std::string> found = findKernel(wanted, names);
  return found && found->empty() ? wanted : std::move(found);
}

int compile(CompileOptions options) {
  for (const std::string &arch : options.archs)
    if (Error error = codegen::validateArch(arch)) {
      fail(std::move(error));
      return kUsage;
    }
  Expected<unsigned> capability = computeCapability();
  if (!capability)
    return fail(capability.takeError());
  Expected<SourceFile> file = openSources(options.file);
  if (!file)
    return fail(file.takeError());
  Outcome outcome;
  for (const std::string &problem : file->file.problems) {
    fail(problem);
    ++outcome.failed;
  }
  const unsigned told = capabilityOf(*file, options.file, *capability);
  if (!options.entry.empty()) {
    Expected<std::string> entry = entryIn(*file, told, options.entry);
    if (!entry)
      return fail(entry.takeError());
    options.entry = std::move(*entry);
  }
  bool foundEntry = false, foundPtx = false;
  std::vector<Output> outputs;
  for (const Source &source : file->sources) {
    if (!source.hasPtx() && !source.hasKernels())
      continue;
    Expected<runtime::PtxImage> image = parse(source, told);
    if (!image) {
      const std::string text = toString(image.takeError());
      fail(source.hasPtx() ? source.place + ": " + text : text);
      ++outcome.failed;
      continue;
    }
    foundPtx = true;
    compileImage(*image, options, outputs, foundEntry, outcome);
  }
  if (!foundEntry && !options.entry.empty() && (foundPtx || !outcome.failed))
    return fail(options.file + " has no kernel '" + options.entry + "'");
  if (outputs.empty()) { // nvcc adds images without kernels to most programs: no failure
    if (!outcome.failed)
      notices() << options.file << ": no kernels: there is nothing to compile\n";
    return outcome.status();
  }
  const int written = writeOutputs(options, outputs);
  return written == kDone ? outcome.status() : written;
}
} // namespace

void addCompile(CLI::App &app, int &status) {
  auto options = std::make_shared<CompileOptions>();
  CLI::App *command = app.add_subcommand("compile", "Compile the kernels of a file, without a GPU");
  command->add_option("file", options->file, "whatever holds kernels")->required();
  command->add_option("--arch", options->archs, "targets, separated by commas")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--entry", options->entry, "only this kernel");
  command->add_option("--emit", options->emit, "co, obj, asm, llvm or ptx")
      ->check(CLI::IsMember({"co", "obj", "asm", "llvm", "ptx"}))
      ->capture_default_str();
  command->add_option("--codegen", options->codegen, "lld or comgr (ROCm's library links)")
      ->check(CLI::IsMember({"lld", "comgr"}))
      ->capture_default_str();
  addCodeOptions(*command, options->settings);
  command
      ->add_option_function<std::string>(
          "-O",
          [options](const std::string &level) {
            options->settings.set(settings::Id::optimise, level);
          },
          "the level of --optimise as a number")
      ->check(CLI::IsMember({"0", "1", "2", "3"}));
  command->add_option("-o,--output", options->output, "file, or folder for several results");
  command->callback([options, &status] { status = compile(*options); });
}

} // namespace rubia::tools
