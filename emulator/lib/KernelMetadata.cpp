#include "emulator/lib/KernelMetadata.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"

using namespace llvm;

namespace rubia::emulator {

void KernelMetadata::apply(Kernel &kernel) const {
  kernel.arguments = arguments;
  kernel.kernargSize = std::max(kernel.kernargSize, kernargSize);
  kernel.maxWorkgroupSize = maxWorkgroupSize ? maxWorkgroupSize : 1024;
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

static uint32_t number(msgpack::MapDocNode &map, StringRef key) {
  auto found = map.find(key);
  if (found == map.end())
    return 0;
  if (found->second.getKind() == msgpack::Type::UInt)
    return uint32_t(found->second.getUInt());
  if (found->second.getKind() == msgpack::Type::Int)
    return uint32_t(found->second.getInt());
  return 0;
}

static StringRef text(msgpack::MapDocNode &map, StringRef key) {
  auto found = map.find(key);
  return found != map.end() && found->second.isString() ? found->second.getString() : StringRef();
}

static bool flag(msgpack::MapDocNode &map, StringRef key) {
  auto found = map.find(key);
  return found != map.end() && found->second.getKind() == msgpack::Type::Boolean &&
         found->second.getBool();
}

static Expected<KernelMetadata> readKernel(msgpack::MapDocNode map) {
  KernelMetadata kernel;
  kernel.kernargSize = number(map, ".kernarg_segment_size");
  kernel.maxWorkgroupSize = number(map, ".max_flat_workgroup_size");
  kernel.sgprCount = number(map, ".sgpr_count");
  kernel.vgprCount = number(map, ".vgpr_count");
  kernel.agprCount = number(map, ".agpr_count");
  kernel.ldsBytes = number(map, ".group_segment_fixed_size");
  kernel.scratchBytes = number(map, ".private_segment_fixed_size");
  kernel.waveSize = number(map, ".wavefront_size");
  kernel.dynamicStack = flag(map, ".uses_dynamic_stack");
  auto arguments = map.find(".args");
  if (arguments == map.end())
    return kernel;
  if (!arguments->second.isArray())
    return createStringError("malformed metadata: .args is not a list");
  for (msgpack::DocNode &node : arguments->second.getArray()) {
    if (!node.isMap())
      return createStringError("malformed metadata: an argument is not a map");
    msgpack::MapDocNode argument = node.getMap();
    kernel.arguments.push_back({number(argument, ".offset"), number(argument, ".size"),
                                text(argument, ".value_kind").str()});
  }
  return kernel;
}

using File = object::ELFFile<object::ELF64LE>;

/// Adds the kernels of the notes in a segment or section.
template <class Header>
static Error readNotes(const File &file, const Header &header, uint64_t alignment,
                       StringMap<KernelMetadata> &kernels) {
  Error error = Error::success();
  for (const auto &note : file.notes(header, error)) {
    if (note.getName() != "AMDGPU" || note.getType() != ELF::NT_AMDGPU_METADATA)
      continue;
    msgpack::Document document;
    const auto description = note.getDesc(alignment);
    if (!document.readFromBlob(toStringRef(description), false) || !document.getRoot().isMap()) {
      consumeError(std::move(error));
      return createStringError("malformed metadata note");
    }
    msgpack::MapDocNode &root = document.getRoot().getMap();
    auto list = root.find("amdhsa.kernels");
    if (list == root.end() || !list->second.isArray())
      continue;
    for (msgpack::DocNode &node : list->second.getArray()) {
      if (!node.isMap())
        continue;
      Expected<KernelMetadata> kernel = readKernel(node.getMap());
      if (!kernel) {
        consumeError(std::move(error));
        return kernel.takeError();
      }
      StringRef name = text(node.getMap(), ".symbol");
      name.consume_back(".kd");
      kernels[name] = std::move(*kernel);
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
