// SPDX-License-Identifier: Apache-2.0
// Compares what textures give here with what an NVIDIA GPU gave.
//
//   texture-golden pack RECORDED OUT             what texture-recorder wrote, as a golden file
//   texture-golden check FILE LIBCUDA [THREADS]  status 1 if anything differs by more than it may
#include "tests/golden/PackedFile.h"
#include "tests/golden/textures/Runner.h"
#include "llvm/Support/MemoryBuffer.h"
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>

using namespace rubia::golden;

namespace {

constexpr size_t kWords = size_t(4) * kTextureCoordinates;

int fail(const std::string &what) {
  fprintf(stderr, "texture-golden: %s\n", what.c_str());
  return 1;
}

bool startsWith(const std::string &text, const char *start) { return text.rfind(start, 0) == 0; }
bool contains(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

// What is refused by name, though an NVIDIA GPU has it.
bool isRefused(const TextureCase &c) {
  const bool isInteger32 = c.format == 3 || c.format == 10;
  return c.ask == Ask::Gradient || (c.filter == 1 && isInteger32 && contains(c.name, ".refused")) ||
         (c.filter == 1 && c.flags & 0x40);
}

// How far results may be off; 0: not at all.
double toleranceOf(const TextureCase &c) {
  const double range = c.format == 0x20 ? 514 : c.format == 0x10 ? 512 : 1; // of the texels
  const bool isCube = startsWith(c.name, "cube") || startsWith(c.name, "acube");
  if (c.flags & 16)
    return 0.008; // sRGB's curve
  if (c.filter == 1 && (isCube || (c.shape == Shape::D3 && c.ask == Ask::Level)))
    return range / 256 * 1.01; // a step of the weights
  return c.filter == 1 && c.format == 8 ? 1.0 / 32767 * 1.01 : 0;
}

int pack(const char *recorded, const char *out) {
  auto buffer = llvm::MemoryBuffer::getFile(recorded);
  if (!buffer)
    return fail(recorded + (": " + buffer.getError().message()));
  llvm::StringRef rest = (*buffer)->getBuffer();
  PackedFile file;
  file.header["cases"] = nlohmann::json::array();
  for (const TextureCase &c : textureCases()) {
    uint32_t header[2];
    if (rest.size() < sizeof(header))
      return fail("the recording has fewer cases");
    memcpy(header, rest.data(), sizeof(header));
    rest = rest.drop_front(sizeof(header));
    if (rest.size() < header[1] * size_t(4) || (header[1] && header[1] != kWords))
      return fail(c.name + ": malformed");
    file.header["cases"].push_back({c.name, header[0]});
    if (!isRefused(c)) // of those there is nothing to compare
      file.blob += rest.take_front(header[1] * size_t(4));
    rest = rest.drop_front(header[1] * size_t(4));
  }
  if (!rest.empty())
    return fail("the recording has more cases");
  if (llvm::Error error = write(file, out))
    return fail(llvm::toString(std::move(error)));
  return 0;
}

// How many words of a case differ by more than they may; the first is described.
size_t differences(const TextureCase &c, const std::vector<uint32_t> &recorded,
                   const std::vector<uint32_t> &words, std::string &first) {
  const double tolerance = toleranceOf(c);
  size_t count = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == recorded[i])
      continue;
    const double difference =
        std::fabs(double(std::bit_cast<float>(words[i])) - std::bit_cast<float>(recorded[i]));
    if (difference <= tolerance && tolerance > 0)
      continue;
    if (count++ == 0) {
      char text[96];
      snprintf(text, sizeof(text), "thread %zu channel %zu: %08x, recorded %08x", i / 4, i % 4,
               words[i], recorded[i]);
      first = text;
    }
  }
  return count;
}

int check(const char *path, const char *library, unsigned threads) {
  auto file = readPacked(path);
  if (!file)
    return fail(llvm::toString(file.takeError()));
  const nlohmann::json &cases = file->header["cases"];
  if (cases.size() != textureCases().size())
    return fail("the recording is of another list of cases");
  TextureRunner runner(library);
  size_t at = 0, wrong = 0, refused = 0, exact = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const TextureCase &c = textureCases()[i];
    if (cases[i][0] != c.name)
      return fail("the recording is of another list of cases");
    const int status = cases[i][1];
    std::vector<uint32_t> recorded;
    if (!status && !isRefused(c)) {
      if (file->blob.size() < at + kWords * 4)
        return fail("the recording is cut");
      recorded.resize(kWords);
      memcpy(recorded.data(), file->blob.data() + at, kWords * 4);
      at += kWords * 4;
    }
    const TextureOutcome outcome = runner.run(c, threads);
    std::string first;
    if (isRefused(c)) {
      ++refused;
      if (outcome.status)
        continue;
      first = "it is no longer refused";
    } else if (outcome.status != status) {
      first = "status " + std::to_string(outcome.status) + ", recorded " + std::to_string(status);
    } else if (size_t count = differences(c, recorded, outcome.words, first)) {
      first += " (" + std::to_string(count) + " of " + std::to_string(outcome.words.size()) + ")";
    } else {
      exact += toleranceOf(c) == 0;
      continue;
    }
    ++wrong;
    printf("%s: %s\n", c.name.c_str(), first.c_str());
  }
  printf("%zu cases, %zu bit for bit, %zu refused by name, %zu wrong\n", cases.size(), exact,
         refused, wrong);
  return wrong != 0;
}

} // namespace

int main(int count, char **arguments) {
  const std::string command = count > 1 ? arguments[1] : "";
  try {
    if (command == "pack" && count == 4)
      return pack(arguments[2], arguments[3]);
    if (command == "check" && (count == 4 || count == 5))
      return check(arguments[2], arguments[3],
                   count == 5 ? unsigned(atoi(arguments[4])) : kTextureCoordinates);
  } catch (const std::exception &error) {
    return fail(error.what());
  }
  fprintf(stderr, "usage: texture-golden pack RECORDED OUT\n"
                  "       texture-golden check FILE LIBCUDA [THREADS]\n");
  return 2;
}
