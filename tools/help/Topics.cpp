// SPDX-License-Identifier: Apache-2.0
// Topics of `rubia help` that are no commands, and examples of those that are.
#include "targets/Target.h"
#include "tools/help/Help.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <CLI/CLI.hpp>

using namespace llvm;

namespace rubia::tools {

namespace {
struct Topic {
  StringLiteral name, about, text;
};

constexpr Topic kTopics[] = {
    {"exit-status", "what the exit status of commands means",
     "0: done.\n"
     "1: the work failed.\n"
     "2: the command line is wrong.\n"
     "3: a part of the work failed.\n"
     "`run`, `check` and `debug` end as the program does: 128 and the signal's number if a signal "
     "ended "
     "it.\n"},
    {"arguments", "the arguments of rubia launch",
     "Each parameter of the kernel takes one argument, in order:\n"
     "  i8: u8: i16: u16: i32: u32: i64: u64:VALUE   an integer, decimal or 0x\n"
     "  f16: bf16: f32: f64:VALUE                    a floating-point number\n"
     "  buf:IN[:OUT]                                 a device buffer with the bytes of file IN\n"
     "  zero:BYTES[:OUT]                             a device buffer of zeros\n"
     "  bytes:HEX or bytes:@FILE                     a value of any type\n"
     "A buffer goes to OUT after the launch. Where IN or OUT ends in .npy, the file is NumPy's:\n"
     "OUT takes type and shape of IN, or of --print or --compare's reference.\n"},
    {"configuration", "the file with settings",
     "Settings come from the command line, else from the environment, else from a file, else they\n"
     "have their defaults. The file is what RUBIA_CONFIG names, else rubia/rubia.toml in\n"
     "XDG_CONFIG_HOME, else ~/.config/rubia/rubia.toml. A program with rights that its caller\n"
     "lacks reads no file. A key is a variable's name in lower case, without RUBIA_:\n"
     "\n"
     "  device = \"emulator\"\n"
     "  arch = \"gfx942\"\n"
     "  cache_max_size = \"8G\"\n"
     "  worker_processes = 4\n"
     "\n"
     "`rubia config` shows all settings and where each value came from.\n"},
    {"targets", "the targets of --arch", ""},
};

std::string targetList() {
  std::string text;
  for (const targets::Target &target : targets::all())
    text += formatv("  {0,-18}{1}\n", target.name, target.product).str();
  return text;
}

// (the words behind `rubia`, its examples)
constexpr std::pair<StringLiteral, StringLiteral> kExamples[] = {
    {"", "  rubia run ./app --size 5           # an unmodified CUDA program\n"
         "  rubia inspect ./app                # which of its kernels will work\n"
         "  rubia doctor                       # what works on this machine\n"},
    {"run", "  rubia run ./app --size 5\n"
            "  rubia run --device emulator --arch gfx942 ./app\n"
            "  rubia run --record-kernels used.kernels ./app\n"
            "  rubia run -- nvidia-smi\n"},
    {"check", "  rubia check ./app\n"
              "  rubia check --checks races,memory --format json -o report.json ./app\n"},
    {"debug", "  rubia debug ./app --size 5\n"
              "  rubia debug --break saxpy --break kernel.cu:12 ./app\n"
              "  rubia debug -x session ./app        # commands of a file\n"
              "  rubia debug --dap                   # for editors\n"},
    {"inspect", "  rubia inspect ./app libfoo.so\n"
                "  rubia inspect --arch gfx942 --json ./app\n"},
    {"extract", "  rubia extract ./app -o images\n"},
    {"compile", "  rubia compile kernel.ptx --arch gfx1100,gfx942 -o out\n"
                "  rubia compile kernel.ptx --emit asm -o -\n"},
    {"launch", "  rubia launch k.ptx --entry saxpy --grid 4 --block 256 u32:1000 f32:2.5 buf:x.bin "
               "zero:4000:y.bin\n"
               "  rubia launch k.ptx --entry saxpy --stats --grid 4 --block 256 ...\n"},
    {"precompile", "  rubia precompile ./app lib/ --arch gfx1100,gfx942 -o kernels.pack\n"
                   "  rubia precompile image.tar --shard 1/8 -o cache\n"
                   "  rubia precompile --merge shard*.json --report all.json\n"
                   "  rubia precompile --kernels used.kernels --arch gfx942 -o used.pack\n"},
    {"doctor", "  rubia doctor\n"
               "  rubia doctor --selftest --arch gfx942\n"},
    {"cache", "  rubia cache stats\n"
              "  rubia cache prune --max-size 2G\n"
              "  rubia cache explain ./app\n"},
    {"cache stats", "  rubia cache stats --json\n"},
    {"cache list", "  rubia cache list\n"},
    {"cache show", "  rubia cache show 3f2a\n"
                   "  rubia cache show 3f2a -o kernel.co\n"},
    {"cache verify", "  rubia cache verify --remove\n"},
    {"cache prune", "  rubia cache prune --max-size 2G\n"
                    "  rubia cache prune --older-than 30\n"},
    {"cache clear", "  rubia cache --dir /var/cache/rubia clear\n"},
    {"cache export", "  rubia cache export kernels.pack --arch gfx942\n"},
    {"cache import", "  rubia cache import kernels.pack\n"},
    {"cache keygen", "  rubia cache keygen signing.key\n"},
    {"cache explain", "  rubia cache explain ./app --arch gfx942\n"},
    {"capsule", "  rubia capsule show a.capsule\n"
                "  rubia capsule verify a.capsule\n"},
    {"capsule show", "  rubia capsule show a.capsule\n"},
    {"capsule verify", "  rubia capsule verify a.capsule\n"},
    {"capsule split", "  rubia capsule split a.capsule -o first.capsule\n"},
    {"capsule strip", "  rubia capsule strip a.capsule -o small.capsule\n"},
    {"capsule extract", "  rubia capsule extract a.capsule -o ptx\n"},
    {"capsule pack", "  rubia capsule pack a.capsule\n"},
    {"capture", "  rubia capture -o a.capsule ./app --size 5\n"
                "  rubia capture -o a.capsule --kernel 'gemm.*' --first 2 ./app\n"},
    {"replay", "  rubia replay a.capsule --arch gfx1100\n"},
    {"diff", "  rubia diff a.capsule --arch gfx1100,gfx942\n"
             "  rubia diff a.capsule --arch gfx942 --html report.html --junit report.xml\n"},
    {"config", "  rubia config\n"
               "  rubia config --json\n"},
    {"help", "  rubia help launch\n"
             "  rubia help environment\n"
             "  rubia help cache stats\n"},
};

void addExamplesBelow(CLI::App &command, const std::string &words) {
  for (const auto &[name, text] : kExamples)
    if (name == words)
      command.footer(("Examples:\n" + text).str());
  for (CLI::App *below : command.get_subcommands([](CLI::App *) { return true; }))
    addExamplesBelow(*below, words.empty() ? below->get_name() : words + " " + below->get_name());
}
} // namespace

std::vector<std::pair<std::string, std::string>> topics() {
  std::vector<std::pair<std::string, std::string>> all{
      {"environment", "the environment variables"}};
  for (const Topic &topic : kTopics)
    all.emplace_back(topic.name, topic.about);
  return all;
}

std::string topicText(StringRef name) {
  for (const Topic &topic : kTopics)
    if (topic.name == name)
      return topic.text.empty() ? targetList() : topic.text.str();
  return "";
}

void addExamples(CLI::App &app) { addExamplesBelow(app, ""); }

} // namespace rubia::tools
