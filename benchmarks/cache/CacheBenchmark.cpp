// SPDX-License-Identifier: Apache-2.0
// What the cache costs a program that starts: a hit of 100 KB, a miss, the first look-up in a
// directory and in a pack of 100,000 entries. The peer of a hit is the bare open, read and close of
// the same file. Counters: median_us and p99_us of single operations, which is what the bounds are
// about; p99_cpu_us without the time that others had the processor.
#include "runtime/cache/KernelCache.h"
#include "llvm/Support/FileSystem.h"
#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <ctime>
#include <fcntl.h>
#include <random>
#include <unistd.h>

using namespace llvm;
using namespace rubia::runtime;

namespace {

constexpr int kMany = 100'000;
constexpr size_t kPayloadBytes = 100 * 1024;

std::string root() {
  static const std::string folder = [] {
    SmallString<128> path;
    if (std::error_code error = sys::fs::createUniqueDirectory("rubia-bench-cache", path))
      abort();
    return path.str().str();
  }();
  return folder;
}

std::string folder(const char *name) {
  std::string path = root() + "/" + name;
  if (sys::fs::create_directories(path))
    abort();
  return path;
}

std::string keyOf(int i) {
  return codeObjectKey(digestOf({uint8_t(i), uint8_t(i >> 8), uint8_t(i >> 16)}), 89, 0, "gfx1100",
                       {}, "benchmark");
}

// Compresses to about a half, as code objects do.
std::vector<uint8_t> payload(size_t size) {
  std::mt19937 random(1);
  std::vector<uint8_t> bytes(size);
  for (uint8_t &byte : bytes)
    byte = random() & 15;
  return bytes;
}

double threadMicroseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

// Times every iteration on its own.
template <typename Operation> void measure(benchmark::State &state, Operation operation) {
  std::vector<double> microseconds, cpu;
  for (auto _ : state) {
    auto before = std::chrono::steady_clock::now();
    double cpuBefore = threadMicroseconds();
    operation();
    cpu.push_back(threadMicroseconds() - cpuBefore);
    microseconds.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - before)
            .count());
  }
  llvm::sort(microseconds);
  llvm::sort(cpu);
  state.counters["p99_cpu_us"] = cpu[cpu.size() * 99 / 100];
  state.counters["median_us"] = microseconds[microseconds.size() / 2];
  state.counters["p99_us"] = microseconds[microseconds.size() * 99 / 100];
}

// Written without synchronising, which 100,000 times takes minutes.
const CacheDirectory &manyFiles() {
  static const CacheDirectory directory = [] {
    CacheDirectory result(folder("many"), uint64_t(1) << 40);
    for (int i = 0; i < kMany; ++i) {
      CacheEntry entry{keyOf(i), "{}", payload(64), CacheEntry::Kind::Result, 0};
      std::vector<uint8_t> bytes = cantFail(encodeEntry(entry));
      std::string path = result.pathOf(entry.key);
      if (sys::fs::create_directories(path.substr(0, path.rfind('/'))))
        abort();
      int fd = open(path.c_str(), O_WRONLY | O_CREAT, 0644);
      if (write(fd, bytes.data(), bytes.size()) != ssize_t(bytes.size()))
        abort();
      close(fd);
    }
    return result;
  }();
  return directory;
}

std::string packOf(int count) {
  const std::string path = root() + "/pack" + std::to_string(count);
  if (!sys::fs::exists(path)) {
    CachePackWriter writer;
    const std::vector<uint8_t> bytes = payload(64);
    for (int i = 0; i < count; ++i)
      writer.add({keyOf(i), "{}", bytes, CacheEntry::Kind::Result, 0});
    cantFail(writer.write(path));
  }
  return path;
}

const KernelCache &oneLarge() {
  static const KernelCache cache = [] {
    CacheDirectory directory(folder("large"), uint64_t(1) << 40);
    directory.store({keyOf(0), "{}", payload(kPayloadBytes), CacheEntry::Kind::Result, 0});
    KernelCache cache(directory, {});
    if (!cache.find(keyOf(0)))
      abort();
    return cache;
  }();
  return cache;
}

void warmHit(benchmark::State &state) {
  const KernelCache &cache = oneLarge();
  measure(state, [&] { benchmark::DoNotOptimize(cache.find(keyOf(0))->payload.data()); });
}
BENCHMARK(warmHit)->MinTime(1);

void peerBareRead(benchmark::State &state) {
  const std::string path = oneLarge().directory()->pathOf(keyOf(0));
  std::vector<uint8_t> bytes(2 * kPayloadBytes);
  measure(state, [&] {
    int fd = open(path.c_str(), O_RDONLY);
    if (read(fd, bytes.data(), bytes.size()) <= 0)
      abort();
    close(fd);
  });
}
BENCHMARK(peerBareRead)->MinTime(1);

void miss(benchmark::State &state) {
  const KernelCache &cache = oneLarge();
  measure(state, [&] { benchmark::DoNotOptimize(cache.find(keyOf(1)).has_value()); });
}
BENCHMARK(miss)->MinTime(1);

void missInAPackToo(benchmark::State &state) {
  std::vector<CachePack> packs;
  packs.push_back(cantFail(CachePack::open(packOf(kMany))));
  KernelCache cache(*oneLarge().directory(), std::move(packs));
  measure(state, [&] { benchmark::DoNotOptimize(cache.find(keyOf(kMany + 1)).has_value()); });
}
BENCHMARK(missInAPackToo)->MinTime(1);

void hitInAPack(benchmark::State &state) {
  CachePack pack = cantFail(CachePack::open(packOf(kMany)));
  int i = 0;
  measure(state, [&] {
    benchmark::DoNotOptimize(cantFail(pack.find(keyOf(i = (i + 7919) % kMany)))->payload.data());
  });
}
BENCHMARK(hitInAPack)->MinTime(1);

void openDirectoryOf100000(benchmark::State &state) {
  const std::string path = manyFiles().folder();
  int i = 0;
  measure(state, [&] {
    CacheDirectory directory(path);
    benchmark::DoNotOptimize(directory.find(keyOf(i = (i + 7919) % kMany)).entry->payload.data());
  });
}
BENCHMARK(openDirectoryOf100000)->MinTime(1);

// What `rubia cache explain` searches.
void keysOf100000(benchmark::State &state) {
  const CacheDirectory &directory = manyFiles();
  measure(state, [&] {
    size_t bytes = 0;
    for (const CacheDirectory::File &file : directory.files())
      bytes += cantFail(CacheDirectory::readKey(file.path)).size();
    benchmark::DoNotOptimize(bytes);
  });
}
BENCHMARK(keysOf100000)->MinTime(1);

// What each process pays for a pack, whatever it uses of it.
void openPackOf(benchmark::State &state) {
  const int count = int(state.range(0));
  const std::string path = packOf(count);
  int i = 0;
  measure(state, [&] {
    CachePack pack = cantFail(CachePack::open(path));
    benchmark::DoNotOptimize(cantFail(pack.find(keyOf(i = (i + 7919) % count)))->payload.data());
  });
}
BENCHMARK(openPackOf)->Arg(kMany)->Arg(10 * kMany)->MinTime(1);

void hitInAPackOf1000000(benchmark::State &state) {
  CachePack pack = cantFail(CachePack::open(packOf(10 * kMany)));
  int i = 0;
  measure(state, [&] {
    benchmark::DoNotOptimize(
        cantFail(pack.find(keyOf(i = (i + 7919) % (10 * kMany))))->payload.data());
  });
}
BENCHMARK(hitInAPackOf1000000)->MinTime(1);

// The same with one entry that is signed: what the signature costs.
void openSignedPack(benchmark::State &state) {
  static const std::string path = [] {
    cantFail(SigningKey::generate(root() + "/key"));
    SigningKey signer = cantFail(SigningKey::read(root() + "/key"));
    CachePackWriter writer;
    writer.add({keyOf(0), "{}", payload(64), CacheEntry::Kind::Result, 0});
    cantFail(writer.write(root() + "/signed", &signer));
    return root() + "/signed";
  }();
  measure(state, [&] { benchmark::DoNotOptimize(cantFail(CachePack::open(path)).rows().data()); });
}
BENCHMARK(openSignedPack)->MinTime(1);

void store(benchmark::State &state) {
  CacheDirectory directory(folder("stored"), uint64_t(1) << 40);
  CacheEntry entry{"", "{}", payload(kPayloadBytes), CacheEntry::Kind::Result, 0};
  int i = 0;
  measure(state, [&] {
    entry.key = keyOf(i++ % 100);
    if (!directory.store(entry))
      abort();
  });
}
BENCHMARK(store);

} // namespace

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  (void)sys::fs::remove_directories(root());
}
