// SPDX-License-Identifier: Apache-2.0
// rubia extract: every PTX and cubin image of a file, as files.
#include "tools/Commands.h"
#include "tools/OutputFile.h"
#include "tools/Sources.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

using namespace llvm;

namespace rubia::tools {

namespace {
struct ExtractOptions {
  std::string file, folder;
};

int extract(const ExtractOptions &options) {
  Expected<fatbin::ImageFile> file = fatbin::readFile(options.file);
  if (!file)
    return fail(file.takeError());
  if (std::error_code error = sys::fs::create_directories(options.folder))
    return fail(options.folder + ": " + error.message());
  int status = kDone;
  for (const std::string &problem : file->problems)
    status = fail(problem);
  unsigned number = 0;
  for (const fatbin::FileImage &image : file->images) {
    ++number;
    const char *extension = image.image.kind == fatbin::ImageKind::Ptx     ? "ptx"
                            : image.image.kind == fatbin::ImageKind::Cubin ? "cubin"
                                                                           : nullptr;
    if (!extension) {
      messages() << "rubia: left out: " << file->place(image) << ": "
                 << (image.image.kind == fatbin::ImageKind::LtoIr ? "LTO-IR"
                                                                  : "an image of an unknown kind")
                 << "\n";
      continue;
    }
    Expected<std::string> payload = fatbin::payload(image.image);
    if (!payload) {
      status = fail(file->place(image) + ": " + toString(payload.takeError()));
      continue;
    }
    std::string path = options.folder + "/" + sys::path::stem(options.file).str() + "." +
                       std::to_string(number) + "." + image.image.target() + "." + extension;
    if (Error error = writeFile(path, *payload))
      return fail(std::move(error));
    printed() << path << "\n";
  }
  return status;
}
} // namespace

void addExtract(CLI::App &app, int &status) {
  auto options = std::make_shared<ExtractOptions>();
  CLI::App *command = app.add_subcommand("extract", "Write every PTX and cubin image of a file");
  command->add_option("file", options->file, "whatever holds kernels")->required();
  command->add_option("-o,--output", options->folder, "folder to write to")->required();
  command->callback([options, &status] { status = extract(*options); });
}

} // namespace rubia::tools
