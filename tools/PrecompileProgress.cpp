// SPDX-License-Identifier: Apache-2.0
#include "tools/PrecompileProgress.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace llvm;
using nlohmann::ordered_json;

namespace rubia::tools {

PrecompileProgress::Kind PrecompileProgress::automatic() {
  return isatty(STDOUT_FILENO) ? Kind::Bar : Kind::Lines;
}

void PrecompileProgress::start(size_t count) {
  total = count;
  done = cached = 0;
  begin = Clock::now();
  drawn = {};
  if (kind == Kind::Lines) {
    outs() << dump({{"event", "start"}, {"version", 1}, {"what", what}, {"total", total}}, -1)
           << "\n";
    outs().flush();
  }
}

void PrecompileProgress::step(bool wasCached) {
  ++done;
  cached += wasCached;
  if (kind == Kind::Bar && (done == total || Clock::now() - drawn > std::chrono::milliseconds(100)))
    draw();
}

void PrecompileProgress::kernel(const KernelReport &kernel, const PrecompileImage &image) {
  if (kind != Kind::Lines)
    return;
  ordered_json line{{"event", "kernel"}, {"done", done}, {"total", total}};
  line.update(toJson(kernel, image));
  outs() << dump(line, -1) << "\n";
  outs().flush();
}

// "[#####.....]  42 % 21/50 units, 3.4/s, 0:09 left". What was in the cache says nothing about the
// rate of the rest.
void PrecompileProgress::draw() {
  constexpr unsigned kWidth = 30;
  drawn = Clock::now();
  double elapsed = std::chrono::duration<double>(drawn - begin).count();
  double rate = elapsed > 0 ? (done - cached) / elapsed : 0;
  unsigned filled = total ? kWidth * done / total : kWidth;
  outs() << "\r\x1b[K[" << std::string(filled, '#') << std::string(kWidth - filled, '.') << "] "
         << format("%3u %% ", unsigned(total ? 100 * done / total : 100)) << done << "/" << total
         << " " << what << format(", %.1f/s", rate);
  if (rate > 0 && done < total) {
    auto left = uint64_t(double(total - done) / rate);
    outs() << format(", %llu:%02llu:%02llu left", (unsigned long long)left / 3600,
                     (unsigned long long)left / 60 % 60, (unsigned long long)left % 60);
  }
  outs().flush();
}

void PrecompileProgress::finish() {
  if (kind == Kind::Bar) {
    draw();
    outs() << "\n";
    outs().flush();
  }
}

void PrecompileProgress::summary(const PrecompileReport &report) {
  if (kind != Kind::Lines)
    return;
  ordered_json line{{"event", "end"}};
  line.update(report.json()["summary"]);
  outs() << dump(line, -1) << "\n";
  outs().flush();
}

} // namespace rubia::tools
