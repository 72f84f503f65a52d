// SPDX-License-Identifier: Apache-2.0
// Reads a code object back: the numbers and names that we report are those that a loader will see,
// not what the compiler meant.
#include "codegen/lib/CodeObject.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ELFObjectFile.h"

using namespace llvm;
using object::ELF64LE;
using object::ELF64LEFile;

namespace rubia::codegen {

namespace {

Error malformed(const Twine &message, StringRef function = {}) {
  return make_error<CodegenError>(Fault::Malformed, message.str(), function.str());
}

Error inCodeObject(Error error) {
  return malformed("invalid code object: " + toString(std::move(error)));
}

Expected<ELF64LEFile> openElf(ArrayRef<uint8_t> bytes) {
  if (bytes.size() < sizeof(ELF64LE::Ehdr))
    return malformed("invalid code object: too short for an ELF header");
  StringRef data(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  if (!data.starts_with(StringRef(ELF::ElfMagic, 4)) || bytes[ELF::EI_CLASS] != ELF::ELFCLASS64 ||
      bytes[ELF::EI_DATA] != ELF::ELFDATA2LSB)
    return malformed("invalid code object: not a little-endian 64-bit ELF file");
  Expected<ELF64LEFile> file = ELF64LEFile::create(data);
  if (!file)
    return inCodeObject(file.takeError());
  if (file->getHeader().e_machine != ELF::EM_AMDGPU)
    return malformed("invalid code object: not for AMDGPU");
  return file;
}

/// The msgpack text of the note (owner "AMDGPU"). AMDGPUUsage "Code Object V5 Metadata".
Expected<StringRef> metadataNote(const ELF64LEFile &file) {
  auto segments = file.program_headers();
  if (!segments)
    return inCodeObject(segments.takeError());
  StringRef found;
  for (const ELF64LE::Phdr &segment : *segments) {
    if (segment.p_type != ELF::PT_NOTE)
      continue;
    Error error = Error::success();
    for (const auto &note : file.notes(segment, error))
      if (note.getType() == ELF::NT_AMDGPU_METADATA && note.getName() == "AMDGPU")
        found = note.getDescAsStringRef(segment.p_align);
    if (error)
      return inCodeObject(std::move(error));
  }
  if (found.empty())
    return malformed("invalid code object: no AMDGPU metadata note");
  return found;
}

/// A field of a kernel's map. Absent ones are 0, which is what the metadata means by it.
uint32_t numberOf(msgpack::MapDocNode &kernel, StringRef key) {
  auto it = kernel.find(key);
  if (it == kernel.end())
    return 0;
  if (it->second.getKind() == msgpack::Type::UInt)
    return it->second.getUInt();
  return it->second.getKind() == msgpack::Type::Int ? it->second.getInt() : 0;
}

bool flagOf(msgpack::MapDocNode &kernel, StringRef key) {
  auto it = kernel.find(key);
  return it != kernel.end() && it->second.getKind() == msgpack::Type::Boolean &&
         it->second.getBool();
}

Expected<KernelResources> resourcesOf(msgpack::MapDocNode &kernel) {
  auto name = kernel.find(".name");
  if (name == kernel.end() || !name->second.isString())
    return malformed("invalid code object: a kernel without a name in the metadata note");
  KernelResources resources;
  resources.name = name->second.getString().str();
  resources.vgprs = numberOf(kernel, ".vgpr_count");
  resources.agprs = numberOf(kernel, ".agpr_count");
  resources.sgprs = numberOf(kernel, ".sgpr_count");
  resources.vgprSpills = numberOf(kernel, ".vgpr_spill_count");
  resources.sgprSpills = numberOf(kernel, ".sgpr_spill_count");
  resources.ldsBytes = numberOf(kernel, ".group_segment_fixed_size");
  resources.scratchBytes = numberOf(kernel, ".private_segment_fixed_size");
  resources.kernargBytes = numberOf(kernel, ".kernarg_segment_size");
  resources.waveSize = numberOf(kernel, ".wavefront_size");
  resources.maxWorkgroupSize = numberOf(kernel, ".max_flat_workgroup_size");
  resources.usesDynamicStack = flagOf(kernel, ".uses_dynamic_stack");
  return resources;
}

Expected<StringMap<uint8_t>> dynamicSymbols(const ELF64LEFile &file) {
  auto sections = file.sections();
  if (!sections)
    return inCodeObject(sections.takeError());
  StringMap<uint8_t> types;
  for (const ELF64LE::Shdr &section : *sections) {
    if (section.sh_type != ELF::SHT_DYNSYM)
      continue;
    auto symbols = file.symbols(&section);
    if (!symbols)
      return inCodeObject(symbols.takeError());
    auto strings = file.getStringTableForSymtab(section);
    if (!strings)
      return inCodeObject(strings.takeError());
    for (const ELF64LE::Sym &symbol : *symbols) {
      Expected<StringRef> name = symbol.getName(*strings);
      if (!name)
        return inCodeObject(name.takeError());
      if (symbol.isDefined())
        types[*name] = symbol.getType();
    }
  }
  return types;
}

} // namespace

Expected<std::string> readMetadata(ArrayRef<uint8_t> codeObject) {
  Expected<ELF64LEFile> file = openElf(codeObject);
  if (!file)
    return file.takeError();
  auto sections = file->sections();
  if (!sections)
    return inCodeObject(sections.takeError());
  for (const ELF64LE::Shdr &section : *sections) {
    Expected<StringRef> name = file->getSectionName(section);
    if (!name)
      return inCodeObject(name.takeError());
    if (*name != ".rubia.metadata")
      continue;
    auto contents = file->getSectionContents(section);
    if (!contents)
      return inCodeObject(contents.takeError());
    return toStringRef(*contents).str();
  }
  return malformed("no section .rubia.metadata: not a code object made by Rubia");
}

Expected<std::vector<KernelResources>> readResources(ArrayRef<uint8_t> codeObject) {
  Expected<ELF64LEFile> file = openElf(codeObject);
  if (!file)
    return file.takeError();
  Expected<StringRef> note = metadataNote(*file);
  if (!note)
    return note.takeError();
  msgpack::Document document;
  if (!document.readFromBlob(*note, /*Multi=*/false) || !document.getRoot().isMap())
    return malformed("invalid code object: the metadata note is not a msgpack map");
  msgpack::MapDocNode &root = document.getRoot().getMap();
  std::vector<KernelResources> kernels;
  auto list = root.find("amdhsa.kernels");
  if (list == root.end() || !list->second.isArray())
    return kernels; // a code object without kernels
  for (msgpack::DocNode &kernel : list->second.getArray()) {
    if (!kernel.isMap())
      return malformed("invalid code object: a kernel in the metadata note is not a map");
    Expected<KernelResources> resources = resourcesOf(kernel.getMap());
    if (!resources)
      return resources.takeError();
    kernels.push_back(std::move(*resources));
  }
  return kernels;
}

ExportedSymbols exportedSymbols(const Module &module) {
  ExportedSymbols symbols;
  for (const Function &function : module)
    if (!function.isDeclaration() && function.getCallingConv() == CallingConv::AMDGPU_KERNEL)
      symbols.kernels.push_back(function.getName().str());
  for (const GlobalVariable &variable : module.globals())
    if (!variable.isDeclaration() && !variable.hasLocalLinkage() &&
        !variable.hasHiddenVisibility() && !variable.hasAvailableExternallyLinkage() &&
        variable.getAddressSpace() != /*LDS*/ 3)
      symbols.variables.push_back(variable.getName().str());
  return symbols;
}

Error checkExports(const CodeObject &object, const ExportedSymbols &symbols) {
  Expected<ELF64LEFile> file = openElf(object.bytes);
  if (!file)
    return file.takeError();
  Expected<StringMap<uint8_t>> dynamic = dynamicSymbols(*file);
  if (!dynamic)
    return dynamic.takeError();
  for (const std::string &kernel : symbols.kernels) {
    bool inMetadata = is_contained(
        map_range(object.kernels, [](const KernelResources &k) { return k.name; }), kernel);
    if (!inMetadata || !dynamic->contains(kernel + ".kd"))
      return malformed("kernel is not visible in the code object, its linkage must be external",
                       kernel);
  }
  for (const std::string &variable : symbols.variables)
    if (!dynamic->contains(variable))
      return malformed("variable '" + variable + "' is not visible in the code object");
  return Error::success();
}

} // namespace rubia::codegen
