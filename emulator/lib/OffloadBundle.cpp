// Which code object of a file runs on a processor: generic targets (AMDGPUUsage "Generic Processor
// Code Object Versioning") and clang's offload bundles ("Clang Offload Bundler").
#include "llvm/Object/OffloadBundle.h"
#include "emulator/Emulator.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace rubia::emulator {

static constexpr StringLiteral kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
static constexpr StringLiteral kCompressedMagic = "CCOB";

bool runsOn(StringRef target, StringRef arch) {
  static constexpr struct {
    StringLiteral generic;
    StringLiteral prefix; // of the processors that it stands for
  } kGeneric[] = {{"gfx9-4-generic", "gfx94"},
                  {"gfx9-4-generic", "gfx95"},
                  {"gfx10-3-generic", "gfx103"},
                  {"gfx11-generic", "gfx11"},
                  {"gfx12-generic", "gfx120"}};
  target = target.split(':').first;
  arch = arch.split(':').first;
  if (target == arch)
    return true;
  for (const auto &row : kGeneric)
    if (target == row.generic && arch.starts_with(row.prefix))
      return true;
  return false;
}

namespace {

/// Reads little-endian numbers and text off the front of a file.
class Reader {
public:
  explicit Reader(StringRef bytes) : bytes(bytes) {}
  bool number(uint64_t &value) {
    if (bytes.size() < 8)
      return false;
    value = support::endian::read64le(bytes.data());
    bytes = bytes.drop_front(8);
    return true;
  }
  bool text(uint64_t size, StringRef &value) {
    if (bytes.size() < size)
      return false;
    value = bytes.take_front(size);
    bytes = bytes.drop_front(size);
    return true;
  }

private:
  StringRef bytes;
};

Expected<std::vector<uint8_t>> selectFromBundle(StringRef file, StringRef arch) {
  Reader reader(file.drop_front(kBundleMagic.size()));
  auto broken = [] { return createStringError("malformed offload bundle"); };
  uint64_t count;
  if (!reader.number(count))
    return broken();
  std::string found;
  StringRef best;
  bool bestIsGeneric = true;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t offset, size, length;
    StringRef id; // "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-"
    if (!reader.number(offset) || !reader.number(size) || !reader.number(length) ||
        !reader.text(length, id) || size > file.size() || offset > file.size() - size)
      return broken();
    const size_t triple = id.find("amdgcn-amd-amdhsa");
    if (triple == StringRef::npos)
      continue;
    StringRef target = id.drop_front(triple + StringRef("amdgcn-amd-amdhsa").size());
    target = target.ltrim('-');
    found += (found.empty() ? "" : ", ") + target.str();
    const bool generic = target.contains("generic");
    if (runsOn(target, arch) && (best.empty() || (bestIsGeneric && !generic))) {
      best = file.substr(offset, size);
      bestIsGeneric = generic;
    }
  }
  if (best.empty())
    return createStringError("the offload bundle has no code object for " + arch + ", only for " +
                             (found.empty() ? "hosts" : found));
  return std::vector<uint8_t>(best.begin(), best.end());
}

} // namespace

Expected<std::vector<uint8_t>> selectCodeObject(ArrayRef<uint8_t> file, StringRef arch) {
  const StringRef bytes = toStringRef(file);
  if (bytes.starts_with(kBundleMagic))
    return selectFromBundle(bytes, arch);
  if (!bytes.starts_with(kCompressedMagic))
    return std::vector<uint8_t>(file.begin(), file.end());
  std::unique_ptr<MemoryBuffer> compressed = MemoryBuffer::getMemBuffer(bytes, "", false);
  Expected<std::unique_ptr<MemoryBuffer>> plain =
      object::CompressedOffloadBundle::decompress(*compressed);
  if (!plain)
    return plain.takeError();
  if (!(*plain)->getBuffer().starts_with(kBundleMagic))
    return createStringError("malformed offload bundle");
  return selectFromBundle((*plain)->getBuffer(), arch);
}

} // namespace rubia::emulator
