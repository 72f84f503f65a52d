// SPDX-License-Identifier: Apache-2.0
// Runs generated programs (generate.py) on the emulator and on the host and compares all that they
// wrote, bit by bit.
//
// Usage: run_programs HOST_LIBRARY CODE_OBJECT...
// One line for every program that differs; the exit status is 1 if any does.
#include "emulator/Emulator.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <dlfcn.h>
#include <map>

using namespace llvm;
using namespace rubia::emulator;

namespace {

// As in Program.h.
constexpr unsigned kInputWords = 512, kOutputWords = 24, kCells = 64;
constexpr unsigned kGroups = 3;

struct Pair {
  uint8_t small;
  float value;
  int16_t middle;
};

struct Arguments {
  const uint64_t *in;
  uint64_t *out;
  uint64_t *cells;
  uint8_t k8 = 200;
  int16_t k16 = -12345;
  uint32_t k32 = 0xdeadbeef;
  int64_t k64 = -0x123456789abcdef;
  uint16_t half = 0xc248; // -3.140625
  float single = 0.15625f;
  double wide = -1e-300;
  Pair pair{129, 1e20f, -2};
};

struct HostProgram {
  const char *name;
  void (*group)(const Arguments *, uint32_t group, uint32_t groups, uint32_t block, uint32_t wave);
  uint32_t block;
};

uint64_t random(uint64_t &state) { // splitmix64
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

/// Words that are interesting at every width: small numbers, limits, float specials, noise.
void fillInputs(uint64_t *in) {
  const uint64_t edges[] = {0,
                            1,
                            ~0ull,
                            0x8000000000000000,
                            0x7fffffffffffffff,
                            0x7fffffff80000000,
                            0x8000800080008000,
                            0x3c00bc0000010400,
                            0x7c00fc007bff0001,
                            0x3f800000bf800000,
                            0x7f800000ff800000,
                            0x7fc000007f7fffff,
                            0x0000000100800000,
                            0x80000001007fffff,
                            0x3ff0000000000000,
                            0x7ff0000000000000,
                            0xfff0000000000000,
                            0x7ff8000000000000,
                            0x000fffffffffffff,
                            0x8000000000000001,
                            0x7fefffffffffffff,
                            0x4b0000004f000000,
                            0x41e0000000000000,
                            0x43e0000000000000};
  uint64_t state = 1;
  for (unsigned i = 0; i < kInputWords; ++i) {
    const uint64_t r = random(state);
    switch (i % 8) {
    case 0:
      in[i] = edges[r % std::size(edges)];
      break;
    case 1:
      in[i] = r % 100 | (r >> 32) % 100 << 32;
      break;
    case 2: { // floats of moderate size
      const float pair[2] = {float(int32_t(r)) / 65536, float(int32_t(r >> 32)) / 1e9f};
      std::memcpy(&in[i], pair, 8);
      break;
    }
    case 3: {
      const double value = double(int64_t(r)) / 1e15;
      std::memcpy(&in[i], &value, 8);
      break;
    }
    case 4: // halves between 2^-7 and 2^8
      in[i] = (r & 0x9fff9fff9fff9fff) | 0x2000200020002000;
      break;
    default:
      in[i] = r;
    }
  }
}

class Runner {
public:
  Runner(const HostProgram *programs, uint32_t count)
      : programs(programs), count(count), in(kInputWords) {
    fillInputs(in.data());
  }

  Error run(StringRef path);
  unsigned compared = 0, skipped = 0, different = 0;

private:
  std::vector<uint64_t> expected(const HostProgram &program, uint32_t wave);
  Expected<std::vector<uint64_t>> actual(const HostProgram &program, const Kernel &kernel,
                                         Memory &memory);
  void report(StringRef path, const HostProgram &program, const Twine &what) {
    ++different;
    outs() << path << ": " << program.name << ": " << what << "\n";
  }
  static uint64_t outputWords(const HostProgram &program) {
    return uint64_t(kGroups) * program.block * kOutputWords;
  }

  const HostProgram *programs;
  uint32_t count;
  std::vector<uint64_t> in;
  std::map<std::pair<const HostProgram *, uint32_t>, std::vector<uint64_t>> known;
};

/// What the program leaves in the output and, behind it, in the cells.
std::vector<uint64_t> Runner::expected(const HostProgram &program, uint32_t wave) {
  std::vector<uint64_t> &words = known[{&program, wave}];
  if (words.empty()) {
    words.resize(outputWords(program) + kCells);
    Arguments arguments;
    arguments.in = in.data();
    arguments.out = words.data();
    arguments.cells = words.data() + outputWords(program);
    for (uint32_t group = 0; group < kGroups; ++group)
      program.group(&arguments, group, kGroups, program.block, wave);
  }
  return words;
}

Expected<std::vector<uint64_t>> Runner::actual(const HostProgram &program, const Kernel &kernel,
                                               Memory &memory) {
  const uint64_t words = outputWords(program) + kCells;
  Expected<void *> inputs = memory.allocate(kInputWords * 8, MemoryKind::Device);
  if (!inputs)
    return inputs.takeError();
  Expected<void *> outputs = memory.allocate(words * 8, MemoryKind::Device);
  if (!outputs)
    return outputs.takeError();
  std::memcpy(*inputs, in.data(), kInputWords * 8);
  std::memset(*outputs, 0, words * 8);
  Arguments arguments;
  arguments.in = static_cast<const uint64_t *>(*inputs);
  arguments.out = static_cast<uint64_t *>(*outputs);
  arguments.cells = arguments.out + outputWords(program);
  Launch launch;
  launch.kernel = &kernel;
  launch.grid = {kGroups};
  launch.block = {program.block};
  launch.kernarg = ArrayRef(reinterpret_cast<const uint8_t *>(&arguments), sizeof(arguments));
  launch.instructionLimit = 20'000'000;
  Expected<Statistics> done = rubia::emulator::run(launch, memory);
  std::vector<uint64_t> result(arguments.out, arguments.out + words);
  if (Error error = joinErrors(memory.free(*inputs), memory.free(*outputs)))
    return std::move(error);
  if (!done)
    return done.takeError();
  return result;
}

Error Runner::run(StringRef path) {
  auto file = MemoryBuffer::getFile(path);
  if (!file)
    return createStringError(path + ": " + file.getError().message());
  Memory memory;
  Expected<std::unique_ptr<CodeObject>> object =
      CodeObject::load(arrayRefFromStringRef<uint8_t>((*file)->getBuffer()), memory);
  if (!object)
    return createStringError(path + ": " + toString(object.takeError()));
  for (const HostProgram &program : ArrayRef(programs, count)) {
    const Kernel *kernel = (*object)->kernel(program.name);
    if (!kernel) { // not for this target
      ++skipped;
      continue;
    }
    ++compared;
    Expected<std::vector<uint64_t>> got = actual(program, *kernel, memory);
    if (!got) {
      report(path, program, toString(got.takeError()));
      continue;
    }
    const std::vector<uint64_t> wanted = expected(program, kernel->waveSize);
    unsigned wrong = 0;
    std::string first;
    for (size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i] != (*got)[i] && !wrong++)
        raw_string_ostream(first) << (i < outputWords(program)
                                          ? "thread " + Twine(i / kOutputWords % program.block) +
                                                " of workgroup " +
                                                Twine(i / kOutputWords / program.block) +
                                                ", result " + Twine(i % kOutputWords)
                                          : "cell " + Twine(i - outputWords(program)))
                                  << ": " << format_hex(wanted[i], 18) << " expected, "
                                  << format_hex((*got)[i], 18);
    if (wrong)
      report(path, program, Twine(wrong) + " words differ: " + first);
  }
  return Error::success();
}

int fail(const Twine &message) {
  errs() << "run_programs: " << message << "\n";
  return 2;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3)
    return fail("usage: run_programs HOST_LIBRARY CODE_OBJECT...");
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return fail(dlerror());
  const auto *programs = static_cast<const HostProgram *>(dlsym(library, "programs"));
  const auto *count = static_cast<const uint32_t *>(dlsym(library, "programCount"));
  if (!programs || !count)
    return fail(Twine(argv[1]) + " has no table of programs");
  Runner runner(programs, *count);
  bool broken = false;
  for (const char *path : ArrayRef(argv + 2, argc - 2))
    if (Error error = runner.run(path)) {
      outs() << toString(std::move(error)) << "\n";
      broken = true;
    }
  outs() << runner.compared << " runs compared, " << runner.different << " differ, "
         << runner.skipped << " not for the target\n";
  return broken || runner.different || !runner.compared;
}
