// SPDX-License-Identifier: Apache-2.0
#include "standins/lib/Output.h"
#include "input/File.h"
#include "input/Printable.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/StringSaver.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rubia::standins {

raw_ostream &messages() {
  static input::PrintableStream stream(errs());
  return stream;
}

// Compilers read the release and choose a version of PTX by it. It is 12.8, which all current ones
// know; texts up to PTX 9.0 are taken all the same. Triton 3.2 knows none after 12.6: a tool that
// is called by a name with a release, such as ptxas-12.6, tells that one.
static std::string versionText(StringRef tool, StringRef what, StringRef calledAs) {
  StringRef release = sys::path::filename(calledAs);
  if (!release.consume_front(tool) || !release.consume_front("-"))
    release = "12.8";
  return (tool + ": Rubia's stand-in for NVIDIA's " + what + "\nCuda compilation tools, release " +
          release + ", V" + release + ".0\n")
      .str();
}

static std::string helpOf(StringRef tool, StringRef inputs, ArrayRef<Option> options) {
  std::string text =
      ("Usage  : " + tool + " [options] " + inputs + "\n\nOptions\n=======\n\n").str();
  for (const Option &option : options) {
    text += ("--" + option.name + (option.takes == Option::Takes::Value ? " <value>" : "")).str();
    if (!option.shortName.empty())
      text += (" (-" + option.shortName + ")").str();
    text += option.use == Option::Use::Read ? "\n" : "  [no effect]\n";
  }
  return text;
}

// `--options-file F`, `-optf F`, and both with `=`.
static bool isOptionFile(StringRef word, StringRef shortName, StringRef &path) {
  const bool isName = word.consume_front("--options-file") ||
                      (word.consume_front("-") && word.consume_front(shortName));
  if (!isName || (!word.empty() && !word.consume_front("=")))
    return false;
  path = word;
  return true;
}

/// The words with those of each file of options in the place of its name.
static Expected<std::vector<std::string>> withOptionFiles(std::vector<std::string> words,
                                                          StringRef shortName) {
  std::vector<std::string> out;
  for (size_t i = 0; i < words.size(); ++i) {
    StringRef path;
    if (!isOptionFile(words[i], shortName, path)) {
      out.push_back(words[i]);
      continue;
    }
    if (path.empty()) {
      if (i + 1 == words.size())
        return createStringError(inconvertibleErrorCode(),
                                 "argument expected after '" + words[i] + "'");
      path = words[++i];
    }
    auto file = input::readFile(path, uint64_t(1) << 26, input::Accept::PipesToo);
    if (!file)
      return file.takeError();
    BumpPtrAllocator memory;
    StringSaver saver(memory);
    SmallVector<const char *> inFile;
    cl::TokenizeGNUCommandLine((*file)->getBuffer(), saver, inFile);
    out.insert(out.end(), inFile.begin(), inFile.end());
  }
  return out;
}

int runTool(const Tool &tool, int count, char **words) {
  Expected<std::vector<std::string>> all = withOptionFiles({words + 1, words + count}, "optf");
  if (!all)
    return tool.fail(toString(all.takeError()));
  Expected<CommandLine> line = CommandLine::read(tool.options, *all);
  if (!line)
    return tool.fail(toString(line.takeError()));
  if (line->has("help") || (all->empty() && tool.helpsWithoutWords)) {
    outs() << helpOf(tool.name, tool.inputs, tool.options);
    return 0;
  }
  if (line->has("version")) {
    outs() << versionText(tool.name, tool.description, words[0]);
    return 0;
  }
  return tool.run(*line);
}

Error writeOutput(StringRef path, ArrayRef<uint8_t> bytes) {
  std::error_code code;
  raw_fd_ostream out(path, code);
  if (!code) {
    out.write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    out.close();
    code = out.error();
    out.clear_error();
  }
  return code ? createStringError(code, "Could not write '" + path + "': " + code.message())
              : Error::success();
}

} // namespace rubia::standins
