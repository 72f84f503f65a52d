// SPDX-License-Identifier: Apache-2.0
#include "tools/CodeObjects.h"
#include "codegen/Codegen.h"
#include "emulator/OffloadBundle.h"
#include "fatbin/Container.h"
#include "input/BoundedJson.h"
#include "input/File.h"
#include "targets/Target.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace rubia::tools {

namespace {
Error addImage(CodeObjectFile &file, std::string place, ArrayRef<uint8_t> elf) {
  Expected<emulator::CodeObjectInfo> info = emulator::describeCodeObject(elf);
  if (!info)
    return createStringError(place + ": " + toString(info.takeError()));
  file.images.push_back({std::move(place), elf, std::move(*info)});
  return Error::success();
}

Error readBundle(CodeObjectFile &file, const std::string &path, ArrayRef<uint8_t> bytes) {
  Expected<emulator::OffloadBundle> bundle = emulator::readOffloadBundle(bytes);
  if (!bundle)
    return createStringError(path + ": " + toString(bundle.takeError()));
  if (bundle->plain)
    file.buffers.push_back(std::move(bundle->plain));
  for (const emulator::BundleEntry &entry : bundle->entries)
    if (!entry.bytes.empty() && !entry.target.empty())
      if (Error error = addImage(file, path + ", " + entry.id, entry.bytes))
        return error;
  if (file.images.empty())
    return createStringError(path + ": an offload bundle without device code");
  file.description = ("offload bundle with " + Twine(file.images.size()) + " code object" +
                      (file.images.size() == 1 ? "" : "s"))
                         .str();
  return Error::success();
}
} // namespace

bool holdsCodeObjects(const std::string &path) {
  // Of a pipe nothing can be looked at without being taken: code objects come as files.
  constexpr uint64_t kStart = 128;
  Expected<input::File> file = input::File::open(path);
  if (!file)
    return consumeError(file.takeError()), false; // whoever reads it next says why
  auto start = file->read(0, std::min(kStart, file->size()), kStart);
  if (!start)
    return consumeError(start.takeError()), false;
  return beginsLikeCodeObject((*start)->getBuffer());
}

bool beginsLikeCodeObject(StringRef start) {
  const auto bytes = arrayRefFromStringRef<uint8_t>(start);
  return emulator::isOffloadBundle(bytes) || emulator::isCodeObject(bytes);
}

Expected<CodeObjectFile> openCodeObjects(const std::string &path) {
  auto buffer = input::readFile(path, fatbin::kMaxPayloadBytes);
  if (!buffer)
    return buffer.takeError();
  return readCodeObjects(std::move(*buffer));
}

Expected<CodeObjectFile> readCodeObjects(std::unique_ptr<MemoryBuffer> buffer) {
  const std::string path = buffer->getBufferIdentifier().str();
  CodeObjectFile file;
  file.buffers.push_back(std::move(buffer));
  const auto bytes = arrayRefFromStringRef<uint8_t>(file.buffers.back()->getBuffer());
  if (emulator::isCodeObject(bytes)) {
    file.description = "AMDGPU code object";
    if (Error error = addImage(file, path, bytes))
      return std::move(error);
  } else if (Error error = readBundle(file, path, bytes)) {
    return std::move(error);
  }
  return file;
}

Expected<const CodeObjectImage *> selectImage(const CodeObjectFile &file, StringRef arch) {
  std::string known;
  for (const CodeObjectImage &image : file.images) {
    if (targets::runsOn(image.info.target, arch))
      return &image;
    known += (known.empty() ? "" : ", ") + image.info.target;
  }
  return createStringError(file.images.front().place + ": no code for " + arch + ", only for " +
                           known);
}

std::vector<std::string> notesOf(ArrayRef<uint8_t> codeObject) {
  std::vector<std::string> notes;
  Expected<std::string> text = codegen::readMetadata(codeObject);
  Expected<json::Value> root = text ? input::parseBoundedJson(StringRef(*text).rtrim('\0'))
                                    : Expected<json::Value>(text.takeError());
  if (!root) {
    consumeError(root.takeError());
    return notes;
  }
  const json::Object *object = root->getAsObject();
  auto add = [&](StringRef list, const char *what) {
    if (const json::Array *entries = object ? object->getArray(list) : nullptr)
      for (const json::Value &entry : *entries)
        notes.push_back(what + entry.getAsString().value_or("").str());
  };
  add("spinLoops", "threads may wait for others of their warp: ");
  add("partialWarps", "");
  add("refused", "");
  add("matrixRoutes", "products of matrices: ");
  return notes;
}

} // namespace rubia::tools
