// SPDX-License-Identifier: Apache-2.0
// check-library-ptx FILE_OR_FOLDER... [--show N]: every PTX image in libraries through the parser
// and the verifier, with counts, and the largest of each number that lowering limits
// (Complexity.h). What NVIDIA's compilers wrote is legal, so each error is a gap of ours. An image
// that occurs again (the same text) is counted once. Exit status 1 if there is any error.

#include "fatbin/File.h"
#include "lowering/Complexity.h"
#include "ptx-frontend/Parser.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <chrono>
#include <map>

using namespace llvm;
using namespace rubia;

namespace {

struct Counts {
  uint64_t images = 0, unique = 0, bytes = 0, kernels = 0, functions = 0, instructions = 0;
  uint64_t errors = 0, wrongImages = 0;
  double seconds = 0;

  Counts &operator+=(const Counts &other) {
    images += other.images;
    unique += other.unique;
    bytes += other.bytes;
    kernels += other.kernels;
    functions += other.functions;
    instructions += other.instructions;
    errors += other.errors;
    wrongImages += other.wrongImages;
    seconds += other.seconds;
    return *this;
  }
};

class Check {
public:
  explicit Check(unsigned show) : show(show) {
    outs() << "   images   unique      MB  kernels    funcs  instructions  errors   s  file\n";
  }

  void path(const std::string &path) {
    if (!sys::fs::is_directory(path)) {
      file(path, /*named=*/true);
      return;
    }
    std::error_code error;
    std::vector<std::string> files;
    for (sys::fs::recursive_directory_iterator i(path, error, /*follow_symlinks=*/false), end;
         i != end && !error; i.increment(error))
      if (i->type() == sys::fs::file_type::regular_file)
        files.push_back(i->path());
    std::sort(files.begin(), files.end());
    for (const std::string &name : files)
      file(name, /*named=*/false);
  }

  int finish() {
    print(total, "total");
    outs() << "largest of all: " << most.sideEntries << " side entries of loops, "
           << most.joinedPairs << " pairs of joined jumps, predicates " << most.predicateDepth
           << " deep, " << most.rewrites << " rewritten registers times blocks\n";
    for (auto &[message, count] : messages)
      ranking.push_back({count, message});
    std::sort(ranking.rbegin(), ranking.rend());
    for (size_t i = 0; i < ranking.size() && i < show; ++i)
      outs() << format("%8llu  ", (unsigned long long)ranking[i].first) << ranking[i].second
             << '\n';
    return total.errors || failed;
  }

private:
  unsigned show;
  bool failed = false;
  Counts total;
  lowering::Complexity most; // of one function
  DenseSet<uint64_t> known;
  std::map<std::string, uint64_t> messages;
  std::vector<std::pair<uint64_t, std::string>> ranking;

  static void print(const Counts &c, StringRef name) {
    outs() << format("%9llu%9llu%8.0f%9llu%9llu%14llu%8llu%4.0f  ", (unsigned long long)c.images,
                     (unsigned long long)c.unique, double(c.bytes) / 1e6,
                     (unsigned long long)c.kernels, (unsigned long long)c.functions,
                     (unsigned long long)c.instructions, (unsigned long long)c.errors, c.seconds)
           << name << '\n';
    outs().flush();
  }

  void file(const std::string &path, bool named) {
    Expected<fatbin::ImageFile> file = fatbin::readFile(path);
    if (!file) { // in a folder, most files hold no kernels
      std::string reason = toString(file.takeError());
      if (named) {
        errs() << path << ": " << reason << '\n';
        failed = true;
      }
      return;
    }
    Counts counts;
    for (const fatbin::FileImage &image : file->images)
      if (image.image.kind == fatbin::ImageKind::Ptx)
        this->image(file->place(image), image.image, counts);
    if (counts.images)
      print(counts, path);
    total += counts;
  }

  void image(const std::string &place, const fatbin::Image &image, Counts &counts) {
    ++counts.images;
    Expected<std::string> text = fatbin::payload(image);
    if (!text) {
      errs() << place << ": " << toString(text.takeError()) << '\n';
      ++counts.errors;
      return;
    }
    if (!known.insert(xxh3_64bits(*text) & ~uint64_t(3)).second) // DenseSet keeps two values
      return;
    ++counts.unique;
    counts.bytes += text->size();
    auto start = std::chrono::steady_clock::now();
    ptx::ParseResult result = ptx::parse(place, std::move(*text));
    counts.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (const ptx::Function *fn : result.module.functions) {
      counts.kernels += fn->isKernel && fn->hasBody;
      counts.functions += !fn->isKernel && fn->hasBody;
      counts.instructions += fn->body.size();
      lowering::Complexity complexity = lowering::complexityOf(*fn);
      most.sideEntries = std::max(most.sideEntries, complexity.sideEntries);
      most.joinedPairs = std::max(most.joinedPairs, complexity.joinedPairs);
      most.predicateDepth = std::max(most.predicateDepth, complexity.predicateDepth);
      most.rewrites = std::max(most.rewrites, complexity.rewrites);
    }
    uint64_t errors = 0;
    for (const ptx::Diagnostic &d : result.diagnostics) {
      if (d.severity != ptx::Severity::Error)
        continue;
      ++errors;
      ++messages[d.message.substr(0, d.message.find(" in kernel '"))];
    }
    counts.errors += errors;
    counts.wrongImages += errors != 0;
  }
};

} // namespace

int main(int argc, char **argv) {
  unsigned show = 30;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    if (StringRef(argv[i]) == "--show" && i + 1 < argc) {
      if (StringRef(argv[++i]).getAsInteger(10, show)) {
        errs() << "--show takes a number\n";
        return 2;
      }
    } else {
      paths.push_back(argv[i]);
    }
  }
  if (paths.empty()) {
    errs() << "usage: check-library-ptx FILE_OR_FOLDER... [--show N]\n";
    return 2;
  }
  Check check(show);
  for (const std::string &path : paths)
    check.path(path);
  return check.finish();
}
