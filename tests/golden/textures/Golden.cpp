// SPDX-License-Identifier: Apache-2.0
// Compares what textures and surfaces give here with what an NVIDIA GPU gave.
//
//   texture-golden pack LIST RECORDED OUT             what texture-recorder wrote, as a golden file
//   texture-golden check LIST FILE LIBCUDA [THREADS [EVERY]]  status 1 if anything differs by more
//   than it may; of the kernels every EVERYth, which are what takes time to compile
//   texture-golden reference LIST FILE REFUSED [THREADS]  the same by the interpreter of reference/
//
// REFUSED: the cases that the interpreter refuses, one a line, and behind a tab what it says. It
// must refuse these and no other.
//
// LIST: 0 to 5, a list of textures; surfaces
#include "tests/golden/PackedFile.h"
#include "tests/golden/textures/ReferenceRunner.h"
#include "llvm/Support/MemoryBuffer.h"
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>

using namespace rubia::golden;

namespace {

constexpr size_t kWords = size_t(4) * kTextureCoordinates;

int fail(const std::string &what) {
  fprintf(stderr, "texture-golden: %s\n", what.c_str());
  return 1;
}

// How far results may be off. `isReference`: those of the interpreter.
double toleranceOf(const TextureCase &c, bool isReference) {
  const bool isSigned = c.format == 8 || c.format == 9;
  const double range = c.format == 0x20   ? 514 // of the texels
                       : c.format == 0x10 ? 512
                       : isSigned         ? 2
                                          : 1,
               step = range / 256 * 1.01;                                    // of weights
  if (c.ask == Ask::Query || c.flags & 1 || c.format == 3 || c.format == 10) // integers
    return 0;
  if (c.ask == Ask::Gradient && c.maxAnisotropy > 1)
    return step;
  if (c.flags & 16 && c.ask == Ask::Level) // sums of two levels
    return 1.0 / 4096;
  // Below 1, as the texels are, or below 4 with the border.
  const double largest = c.addressX == 3 ? 4 : 1;
  const bool isOfGroups = c.shape == Shape::D3 || c.levels > 1; // docs/textures.md, "bound"
  if (c.isWide && c.filter && c.ask != Ask::Gather && c.ask != Ask::Integer) {
    if (c.format == 0x20 && (isOfGroups || !isReference))
      return largest * 0x1p-24;
    if (c.format == 0x10 && isOfGroups)
      return largest * 0x1p-11;
  }
  return 0;
}
// A case of either kind.
struct Case {
  std::string name;
  const TextureCase *texture;
  const SurfaceCase *surface;
  size_t words; // of a result
  size_t kept;  // of these, in the file
};
std::vector<Case> casesOf(const std::string &list) {
  std::vector<Case> cases;
  if (list == "surfaces") {
    for (const SurfaceCase &c : surfaceCases())
      cases.push_back(
          {c.name, nullptr, &c, size_t(64) * texelBytes(c), size_t(64) * texelBytes(c)});
    return cases;
  }
  // All coordinates of more than 300 cases; of the others a part, so that files stay small.
  const auto recording = unsigned(list[0] - '0');
  for (const TextureCase &c : textureCases(recording)) {
    const bool isWhole = recording == 0 && cases.size() % 5 != 4 && c.ask != Ask::Gradient;
    const bool isShort = c.ask != Ask::Gradient || c.shape == Shape::LayeredCube;
    const size_t part = recording < 2 ? 8 : recording == 3 || isShort ? 32 : 16;
    cases.push_back({c.name, &c, nullptr, kWords, isWhole ? kWords : kWords / part});
  }
  return cases;
}

int pack(const std::string &list, const char *recorded, const char *out) {
  auto buffer = llvm::MemoryBuffer::getFile(recorded);
  if (!buffer)
    return fail(recorded + (": " + buffer.getError().message()));
  llvm::StringRef rest = (*buffer)->getBuffer();
  PackedFile file;
  file.header["cases"] = nlohmann::json::array();
  for (const Case &c : casesOf(list)) {
    uint32_t header[2];
    if (rest.size() < sizeof(header))
      return fail("the recording has fewer cases");
    memcpy(header, rest.data(), sizeof(header));
    rest = rest.drop_front(sizeof(header));
    if (rest.size() < header[1] * size_t(4) || (header[1] && header[1] != c.words))
      return fail(c.name + ": malformed");
    file.header["cases"].push_back({c.name, header[0]});
    file.blob += rest.take_front(std::min<size_t>(header[1], c.kept) * 4);
    rest = rest.drop_front(header[1] * size_t(4));
  }
  if (!rest.empty())
    return fail("the recording has more cases");
  if (llvm::Error error = write(file, out))
    return fail(llvm::toString(std::move(error)));
  return 0;
}

// How results of a case differ.
struct Comparison {
  size_t differences = 0; // samples, or words
  double most = 0;        // of numbers
  std::string problem;    // empty: they are within the bound
};
Comparison compare(const Case &c, const std::vector<uint32_t> &recorded,
                   const std::vector<uint32_t> &words, bool isReference) {
  Comparison result;
  const double bound = c.texture ? toleranceOf(*c.texture, isReference) : 0;
  const size_t compared = std::min(words.size(), recorded.size());
  const std::vector<bool> isNobodys =
      c.texture ? asksBehindLayers(*c.texture) : std::vector<bool>();
  size_t count = 0;
  std::string first;
  for (size_t i = 0; i < compared; ++i) {
    if (words[i] == recorded[i] || (c.texture && isNobodys[i / 4]))
      continue;
    const double difference =
        std::fabs(double(std::bit_cast<float>(words[i])) - std::bit_cast<float>(recorded[i]));
    ++result.differences;
    result.most = std::max(result.most, difference);
    if (difference <= bound && bound > 0)
      continue;
    if (count++ == 0) {
      char text[96];
      snprintf(text, sizeof(text), "thread %zu channel %zu: %08x, recorded %08x", i / 4, i % 4,
               words[i], recorded[i]);
      first = text;
    }
  }
  const size_t samples = c.texture ? compared / 4 * c.texture->channels : compared;
  if (count)
    result.problem = first + " (" + std::to_string(count) + " of " + std::to_string(samples) + ")";
  return result;
}

// What gives a case's results here; an error that is not CUDA's.
using Run = std::function<TextureOutcome(const Case &, std::string &error)>;

unsigned recordedOf(const Case &c, unsigned threads) {
  return std::min(threads, unsigned(c.kept / 4));
}
Run onDriver(const char *library, unsigned threads) {
  return [runner = std::make_shared<TextureRunner>(library), threads](const Case &c,
                                                                      std::string &) {
    return c.texture ? runner->run(*c.texture, recordedOf(c, threads)) : runner->run(*c.surface);
  };
}
Run onReference(unsigned threads) {
  return [runner = std::make_shared<ReferenceTextureRunner>(), threads](const Case &c,
                                                                        std::string &error) {
    return c.texture ? runner->run(*c.texture, recordedOf(c, threads), error)
                     : runner->run(*c.surface, error);
  };
}

using Refusals = std::map<std::string, std::string>; // what is said, by the case's name

Refusals readRefusals(const char *path) {
  std::ifstream file(path);
  if (!file)
    throw std::runtime_error(std::string("cannot read ") + path);
  Refusals refusals;
  for (std::string line; std::getline(file, line);)
    if (const size_t tab = line.find('\t'); tab != std::string::npos && line[0] != '#')
      refusals[line.substr(0, tab)] = line.substr(tab + 1);
  return refusals;
}

// `refusals`: of the interpreter; null: it is not asked. `every`: the cases of every n-th kernel.
int check(const std::string &list, const char *path, const Run &run, const Refusals *refusals,
          unsigned every = 1) {
  auto file = readPacked(path);
  if (!file)
    return fail(llvm::toString(file.takeError()));
  const nlohmann::json &header = file->header["cases"];
  const std::vector<Case> cases = casesOf(list);
  if (header.size() != cases.size())
    return fail("the recording is of another list of cases");
  size_t at = 0, wrong = 0, exact = 0, without = 0, checked = 0;
  std::map<std::string, size_t> kernels; // by name, in the order of the cases
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case &c = cases[i];
    if (header[i][0] != c.name)
      return fail("the recording is of another list of cases");
    const int status = header[i][1];
    std::vector<uint32_t> recorded;
    if (!status) {
      if (file->blob.size() < at + c.kept * 4)
        return fail("the recording is cut");
      recorded.resize(c.kept);
      memcpy(recorded.data(), file->blob.data() + at, c.kept * 4);
      at += c.kept * 4;
    }
    if (c.texture &&
        kernels.try_emplace(kernelOf(*c.texture), kernels.size()).first->second % every)
      continue;
    ++checked;
    const int expected = c.texture && c.texture->statusHere ? c.texture->statusHere : status;
    if (refusals && expected) // what the driver refuses
      continue;
    std::string error;
    const TextureOutcome outcome = run(c, error);
    if (refusals) {
      const auto known = refusals->find(c.name);
      if (known != refusals->end() && error.find(known->second) != std::string::npos) {
        ++without;
        continue;
      }
      if (known != refusals->end() && error.empty())
        error = "is no longer refused: " + known->second;
    }
    Comparison comparison;
    if (!error.empty())
      comparison.problem = error;
    else if (outcome.status != expected)
      comparison.problem =
          "status " + std::to_string(outcome.status) + ", not " + std::to_string(expected);
    else
      comparison = compare(c, recorded, outcome.words, refusals != nullptr);
    exact += comparison.problem.empty() && comparison.differences == 0;
    wrong += !comparison.problem.empty();
    if (!comparison.problem.empty())
      printf("%s: %s\n", c.name.c_str(), comparison.problem.c_str());
    else if (comparison.differences)
      printf("%s: %zu of %zu words within the bound, by at most %g\n", c.name.c_str(),
             comparison.differences, std::min(outcome.words.size(), recorded.size()),
             comparison.most);
  }
  printf("%zu cases, %zu bit for bit, %zu wrong, %zu unsupported\n", checked, exact, wrong,
         without);
  return wrong != 0;
}

} // namespace

int main(int count, char **arguments) {
  const std::string command = count > 1 ? arguments[1] : "";
  try {
    if (command == "pack" && count == 5)
      return pack(arguments[2], arguments[3], arguments[4]);
    if (command == "check" && count >= 5 && count <= 7)
      return check(
          arguments[2], arguments[3],
          onDriver(arguments[4], count > 5 ? unsigned(atoi(arguments[5])) : kTextureCoordinates),
          nullptr, count > 6 ? unsigned(atoi(arguments[6])) : 1);
    if (command == "reference" && (count == 5 || count == 6)) {
      const Refusals refusals = readRefusals(arguments[4]);
      return check(arguments[2], arguments[3],
                   onReference(count == 6 ? unsigned(atoi(arguments[5])) : kTextureCoordinates),
                   &refusals);
    }
  } catch (const std::exception &error) {
    return fail(error.what());
  }
  fprintf(stderr, "usage: texture-golden pack LIST RECORDED OUT\n"
                  "       texture-golden check LIST FILE LIBCUDA [THREADS [EVERY]]\n"
                  "       texture-golden reference LIST FILE REFUSED [THREADS]\n");
  return 2;
}
