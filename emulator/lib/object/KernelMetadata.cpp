// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/object/KernelMetadata.h"
#include "emulator/lib/machine/Bounds.h"
#include "emulator/lib/object/ElfFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"

using namespace llvm;

namespace rubia::emulator {

void KernelMetadata::apply(Kernel &kernel) const {
  kernel.arguments = arguments;
  kernel.printfFormats = printfFormats;
  kernel.kernargSize = std::max(kernel.kernargSize, kernargSize);
  kernel.maxWorkgroupSize = maxWorkgroupSize ? maxWorkgroupSize : kMaxWorkgroupSize;
  kernel.sgprCount = sgprCount;
  kernel.vgprCount = vgprCount;
  kernel.agprCount = agprCount;
  kernel.dynamicStack |= dynamicStack;
  kernel.explicitKernargSize = 0;
  for (const KernelArgument &argument : arguments)
    if (!argument.isHidden())
      kernel.explicitKernargSize =
          std::max(kernel.explicitKernargSize, argument.offset + argument.size);
}

static Error malformedMetadata(const Twine &what) {
  return createStringError("malformed metadata: " + what);
}

namespace {

/// Reads the entries of a map; the first that is not what it should be is the error.
class Entries {
public:
  Entries(msgpack::MapDocNode map, std::string place) : map(map), place(std::move(place)) {}

  uint32_t number(StringRef key, bool required = false) {
    msgpack::DocNode *node = find(key, required);
    if (!node)
      return 0;
    if (node->getKind() == msgpack::Type::UInt && isUInt<32>(node->getUInt()))
      return uint32_t(node->getUInt());
    if (node->getKind() == msgpack::Type::Int && isUInt<32>(uint64_t(node->getInt())))
      return uint32_t(node->getInt());
    fail(key + " is not a number of 32 bits");
    return 0;
  }
  StringRef text(StringRef key) {
    msgpack::DocNode *node = find(key, true);
    if (!node || node->isString())
      return node ? node->getString() : StringRef();
    fail(key + " is not a text");
    return "";
  }
  bool flag(StringRef key) {
    msgpack::DocNode *node = find(key, false);
    if (!node || node->getKind() == msgpack::Type::Boolean)
      return node && node->getBool();
    fail(key + " is not a flag");
    return false;
  }
  /// Null if there is none.
  msgpack::DocNode *list(StringRef key) {
    msgpack::DocNode *node = find(key, false);
    if (!node || node->isArray())
      return node;
    fail(key + " is not a list");
    return nullptr;
  }
  void fail(const Twine &what) {
    if (message.empty())
      message = (place + what).str();
  }
  Error takeError() const {
    return message.empty() ? Error::success() : malformedMetadata(message);
  }

private:
  msgpack::DocNode *find(StringRef key, bool required) {
    auto found = map.find(key);
    if (found != map.end())
      return &found->second;
    if (required)
      fail("there is no " + key);
    return nullptr;
  }

  msgpack::MapDocNode map;
  std::string place, message;
};

} // namespace

static Expected<KernelMetadata> readKernel(msgpack::MapDocNode map, const std::string &name) {
  KernelMetadata kernel;
  Entries entries(map, "kernel " + name + ": ");
  kernel.kernargSize = entries.number(".kernarg_segment_size", true);
  kernel.maxWorkgroupSize = entries.number(".max_flat_workgroup_size");
  kernel.sgprCount = entries.number(".sgpr_count");
  kernel.vgprCount = entries.number(".vgpr_count");
  kernel.agprCount = entries.number(".agpr_count");
  kernel.ldsBytes = entries.number(".group_segment_fixed_size");
  kernel.scratchBytes = entries.number(".private_segment_fixed_size");
  kernel.waveSize = entries.number(".wavefront_size");
  kernel.dynamicStack = entries.flag(".uses_dynamic_stack");
  if (kernel.kernargSize > kMaxKernargBytes)
    entries.fail(Twine(kernel.kernargSize) + " bytes of arguments");
  if (kernel.maxWorkgroupSize > kMaxWorkgroupSize)
    entries.fail(Twine(kernel.maxWorkgroupSize) + " threads in a workgroup");
  msgpack::DocNode *arguments = entries.list(".args");
  if (Error error = entries.takeError())
    return std::move(error);
  if (!arguments)
    return kernel;
  for (msgpack::DocNode &node : arguments->getArray()) {
    const std::string place =
        "kernel " + name + ": argument " + std::to_string(kernel.arguments.size()) + ": ";
    if (!node.isMap())
      return malformedMetadata(place + "not a map");
    Entries argument(node.getMap(), place);
    const uint32_t offset = argument.number(".offset", true), size = argument.number(".size", true);
    kernel.arguments.push_back({offset, size, argument.text(".value_kind").str()});
    if (!fits(offset, size, kernel.kernargSize))
      argument.fail(Twine(size) + " bytes at " + Twine(offset) + " of the " +
                    Twine(kernel.kernargSize) + " that there are");
    if (Error error = argument.takeError())
      return std::move(error);
  }
  return kernel;
}

/// LLVM's Document takes for granted that the keys of a map have an order, as texts and numbers do.
/// Other tools' entries may have either. Nothing is nested deeply.
static bool hasOrder(msgpack::Type kind) {
  return kind != msgpack::Type::Array && kind != msgpack::Type::Map &&
         kind != msgpack::Type::Extension && kind != msgpack::Type::Empty;
}
static Error checkShape(StringRef blob) {
  constexpr size_t kMaxDepth = 32;
  struct Open {
    uint64_t left; // objects
    bool isMap;
  };
  SmallVector<Open> open;
  msgpack::Reader reader(blob);
  do {
    msgpack::Object object;
    Expected<bool> read = reader.read(object);
    if (!read)
      return malformedMetadata(toString(read.takeError()));
    if (!*read)
      return malformedMetadata("the note ends early");
    if (!open.empty()) {
      Open &inner = open.back();
      if (inner.isMap && inner.left % 2 == 0 && !hasOrder(object.Kind))
        return malformedMetadata("the key of a map is neither text nor number");
      --inner.left;
    }
    const bool isMap = object.Kind == msgpack::Type::Map;
    if (isMap || object.Kind == msgpack::Type::Array)
      open.push_back({uint64_t(object.Length) * (isMap ? 2 : 1), isMap});
    if (open.size() > kMaxDepth)
      return malformedMetadata("nested more than " + Twine(kMaxDepth) + " deep");
    while (!open.empty() && open.back().left == 0)
      open.pop_back();
  } while (!open.empty());
  return Error::success();
}

static Error readNote(StringRef blob, StringMap<KernelMetadata> &kernels) {
  if (Error error = checkShape(blob))
    return error;
  msgpack::Document document;
  if (!document.readFromBlob(blob, false) || !document.getRoot().isMap())
    return malformedMetadata("the note is not a map");
  Entries root(document.getRoot().getMap(), "");
  msgpack::DocNode *list = root.list("amdhsa.kernels");
  if (!list)
    return root.takeError();
  auto formats = std::make_shared<std::vector<std::string>>();
  if (msgpack::DocNode *printf = root.list("amdhsa.printf")) {
    for (msgpack::DocNode &node : printf->getArray()) {
      if (!node.isString())
        return malformedMetadata("a format of printf is not a text");
      formats->push_back(node.getString().str());
    }
  }
  if (Error error = root.takeError())
    return error;
  for (msgpack::DocNode &node : list->getArray()) {
    if (!node.isMap())
      return malformedMetadata("a kernel is not a map");
    Entries entries(node.getMap(), "a kernel: ");
    StringRef name = entries.text(".symbol");
    if (Error error = entries.takeError())
      return error;
    name.consume_back(".kd");
    Expected<KernelMetadata> kernel = readKernel(node.getMap(), name.str());
    if (!kernel)
      return kernel.takeError();
    kernel->printfFormats = formats;
    kernels[name] = std::move(*kernel);
  }
  return Error::success();
}

using File = object::ELFFile<Elf>;

/// Adds the kernels of the notes in a segment or section.
template <class Header>
static Error readNotes(const File &file, const Header &header, uint64_t alignment,
                       StringMap<KernelMetadata> &kernels) {
  Error error = Error::success();
  for (const auto &note : file.notes(header, error)) {
    if (note.getName() != "AMDGPU" || note.getType() != ELF::NT_AMDGPU_METADATA)
      continue;
    if (Error wrong =
            readNote(toStringRef(note.getDesc(std::max<uint64_t>(alignment, 4))), kernels)) {
      consumeError(std::move(error));
      return wrong;
    }
  }
  return error;
}

Expected<StringMap<KernelMetadata>> readKernelMetadata(const File &file) {
  StringMap<KernelMetadata> kernels;
  auto headers = file.program_headers();
  if (!headers)
    return headers.takeError();
  for (const auto &header : *headers)
    if (header.p_type == ELF::PT_NOTE)
      if (Error error = readNotes(file, header, header.p_align, kernels))
        return std::move(error);
  if (!headers->empty())
    return kernels;
  auto sections = file.sections(); // a relocatable file
  if (!sections)
    return sections.takeError();
  for (const auto &section : *sections)
    if (section.sh_type == ELF::SHT_NOTE)
      if (Error error = readNotes(file, section, section.sh_addralign, kernels))
        return std::move(error);
  return kernels;
}

} // namespace rubia::emulator
