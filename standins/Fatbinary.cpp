// SPDX-License-Identifier: Apache-2.0
// fatbinary, as compilers of kernels (XLA, clang) start it: images become a container.
// docs/standins.md.
#include "fatbin/Container.h"
#include "input/File.h"
#include "standins/Assembler.h"
#include "standins/lib/Options.h"
#include "standins/lib/Output.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace rubia;
using namespace rubia::standins;

namespace {

using enum Option::Takes;
using enum Option::Use;

constexpr Option kOptions[] = {
    {"32", "", Nothing, Lost},
    {"64", ""},
    {"cmdline", "", Value}, // for ptxas
    {"compress", "", Truth},
    {"compress-all", ""},
    {"compress-mode", "", Value},
    {"create", "", Value, Read},
    {"cuda", ""},
    {"debug", "g"},
    {"device-c", "c"},
    {"embedded-fatbin", "fatbin", Value, Read},
    {"help", "h", Nothing, Read},
    {"host", "", Value},
    {"ident", "", Value},
    {"image", "", Value, Read},
    {"image2", "", Value, Read},
    {"image3", "", Value, Read},
    {"link", ""},
    {"no-asm", ""},
    {"options-file", "optf", Value, Read},
    {"version", "V", Nothing, Read},
};

/// `profile=sm_80,file=X` or `kind=elf,sm=80,file=X`.
struct ImageSpec {
  uint16_t kind = 0; // as in an entry: 1 PTX, 2 ELF
  Target target;
  std::string file;
};

Expected<ImageSpec> parse(StringRef text) {
  ImageSpec spec;
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  auto wrong = [&] {
    return createStringError(inconvertibleErrorCode(), "'" + text + "' is no image");
  };
  for (StringRef part : parts) {
    auto [key, value] = part.split('=');
    std::optional<Target> target;
    if (key == "file")
      spec.file = value.str();
    else if (key == "kind" && (value == "ptx" || value == "elf" || value == "cubin"))
      spec.kind = value == "ptx" ? 1 : 2;
    else if (key == "profile" && !value.starts_with("lto_") && (target = targetNamed(value)))
      spec.kind = target->isVirtual ? 1 : 2;
    else if (key != "sm" || !(target = targetNamed(("sm_" + value).str())))
      return wrong();
    if (target)
      spec.target = *target;
  }
  if (!spec.kind || !spec.target.sm || spec.file.empty())
    return wrong();
  return spec;
}

template <typename T> void put(std::vector<uint8_t> &out, T value) {
  out.resize(out.size() + sizeof(T));
  support::endian::write(out.data() + out.size() - sizeof(T), value, endianness::little);
}

// The layouts are those that fatbin/ reads (fatbin/lib/Layout.h). Nothing is compressed.
void putEntry(std::vector<uint8_t> &out, const ImageSpec &spec, StringRef bytes) {
  constexpr uint32_t kHeaderSize = 64;
  const bool isPtx = spec.kind == 1;
  Expected<std::vector<fatbin::Image>> images = fatbin::readImages(arrayRefFromStringRef(bytes));
  fatbin::Image image;
  if (images && !images->empty())
    image = images->front();
  consumeError(images.takeError());
  const uint64_t size = alignTo(bytes.size() + (isPtx ? 1 : 0), 8); // a text has a NUL
  put(out, spec.kind);
  put(out, uint16_t(0x0101));
  put(out, kHeaderSize);
  put(out, size);
  put(out, uint32_t(0));
  put(out, uint32_t(0)); // no options
  put(out, uint16_t(isPtx ? image.versionMinor : 8));
  put(out, uint16_t(isPtx ? image.versionMajor : 1));
  put(out, uint32_t(spec.target.sm));
  put(out, uint64_t(0));                        // no identifier
  put(out, uint64_t(fatbin::kFlag64Bit | 0x10 | // Linux
                    (spec.target.variant == 'a'   ? uint64_t(fatbin::kFlagArchSpecific)
                     : spec.target.variant == 'f' ? uint64_t(fatbin::kFlagFamily)
                                                  : 0)));
  put(out, uint64_t(0));
  put(out, uint64_t(0));
  out.insert(out.end(), bytes.begin(), bytes.end());
  out.resize(out.size() + size - bytes.size(), 0);
}

int fail(const Twine &message) {
  messages() << fatal("fatbinary", message);
  return 1;
}

int run(const CommandLine &line) {
  for (const std::string &warning : line.warnings)
    messages() << "fatbinary warning : " << warning << "\n";
  if (line.has("embedded-fatbin"))
    return fail("option 'embedded-fatbin' is not supported: nvcc has a fatbinary of its own");
  const std::optional<StringRef> output = line.value("create");
  if (!output)
    return fail("option 'create' is missing");
  std::vector<uint8_t> entries;
  for (StringRef name : {"image", "image2", "image3"})
    for (StringRef text : line.values(name)) {
      Expected<ImageSpec> spec = parse(text);
      if (!spec)
        return fail(toString(spec.takeError()));
      auto file = input::readFile(spec->file, fatbin::kMaxPayloadBytes, input::Accept::PipesToo);
      if (!file)
        return fail("Could not open input file '" + spec->file +
                    "': " + toString(file.takeError()));
      const StringRef bytes = (*file)->getBuffer();
      putEntry(entries, *spec, spec->kind == 1 ? bytes.rtrim('\0') : bytes);
    }
  std::vector<uint8_t> out;
  put(out, uint32_t(0xba55ed50));
  put(out, uint16_t(1));
  put(out, uint16_t(16));
  put(out, uint64_t(entries.size()));
  llvm::append_range(out, entries);
  if (Error error = writeOutput(*output, out))
    return fail(toString(std::move(error)));
  return 0;
}

} // namespace

int main(int count, char **words) {
  return runTool({"fatbinary", "", "constructor of fat binaries", kOptions, fail, run}, count,
                 words);
}
