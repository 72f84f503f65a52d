#include "tools/lib/CodeObjects.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/OffloadBundle.h"

using namespace llvm;

namespace rubia::tools {

namespace {
constexpr StringRef kBundle = "__CLANG_OFFLOAD_BUNDLE__", kCompressedBundle = "CCOB";

bool looksRight(StringRef bytes) {
  return bytes.starts_with(kBundle) || bytes.starts_with(kCompressedBundle) ||
         emulator::isCodeObject(arrayRefFromStringRef<uint8_t>(bytes));
}

Error addImage(CodeObjectFile &file, std::string place, StringRef bytes) {
  ArrayRef<uint8_t> elf = arrayRefFromStringRef<uint8_t>(bytes);
  Expected<emulator::CodeObjectInfo> info = emulator::describeCodeObject(elf);
  if (!info)
    return createStringError(place + ": " + toString(info.takeError()));
  file.images.push_back({std::move(place), elf, std::move(*info)});
  return Error::success();
}

Error readBundle(CodeObjectFile &file, const std::string &path) {
  if (file.buffers.back()->getBuffer().starts_with(kCompressedBundle)) {
    auto plain = object::CompressedOffloadBundle::decompress(*file.buffers.back());
    if (!plain)
      return createStringError(path + ": " + toString(plain.takeError()));
    file.buffers.push_back(std::move(*plain));
  }
  const MemoryBuffer &buffer = *file.buffers.back();
  auto bundle = object::OffloadBundleFatBin::create(buffer, 0, path);
  if (!bundle)
    return createStringError(path + ": " + toString(bundle.takeError()));
  for (const object::OffloadBundleEntry &entry : (*bundle)->getEntries()) {
    if (entry.Size == 0 || StringRef(entry.ID).starts_with("host"))
      continue;
    if (entry.Offset > buffer.getBufferSize() || entry.Size > buffer.getBufferSize() - entry.Offset)
      return createStringError(path + ": the entry " + entry.ID + " lies outside of the file");
    if (Error error = addImage(file, path + ", " + entry.ID,
                               buffer.getBuffer().substr(entry.Offset, entry.Size)))
      return error;
  }
  if (file.images.empty())
    return createStringError(path + ": an offload bundle without device code");
  file.description = ("offload bundle with " + Twine(file.images.size()) + " code object" +
                      (file.images.size() == 1 ? "" : "s"))
                         .str();
  return Error::success();
}
} // namespace

bool holdsCodeObjects(const std::string &path) {
  auto start = MemoryBuffer::getFileSlice(path, 128, 0);
  return start && looksRight((*start)->getBuffer());
}

Expected<CodeObjectFile> openCodeObjects(const std::string &path) {
  auto buffer = MemoryBuffer::getFile(path, false, false);
  if (!buffer)
    return createStringError(path + ": " + buffer.getError().message());
  CodeObjectFile file;
  file.buffers.push_back(std::move(*buffer));
  StringRef bytes = file.buffers.back()->getBuffer();
  if (emulator::isCodeObject(arrayRefFromStringRef<uint8_t>(bytes))) {
    file.description = "AMDGPU code object";
    if (Error error = addImage(file, path, bytes))
      return std::move(error);
  } else if (Error error = readBundle(file, path)) {
    return std::move(error);
  }
  return file;
}

Expected<const CodeObjectImage *> selectImage(const CodeObjectFile &file, StringRef arch) {
  std::string known;
  for (const CodeObjectImage &image : file.images) {
    if (emulator::runsOn(image.info.target, arch))
      return &image;
    known += (known.empty() ? "" : ", ") + image.info.target;
  }
  return createStringError(file.images.front().place + ": no code for " + arch + ", only for " +
                           known);
}

} // namespace rubia::tools
