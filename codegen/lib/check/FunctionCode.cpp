// SPDX-License-Identifier: Apache-2.0
// Finds all code: what has a function symbol, and whatever else in an executable section is not the
// padding between functions. So nothing that could be executed escapes a check that walks the
// result.
#include "codegen/lib/check/FunctionCode.h"
#include "codegen/Codegen.h"
#include "codegen/lib/KeptByThread.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/AMDHSAKernelDescriptor.h"
#include "llvm/Support/Endian.h"
#include <map>
#include <memory>

using namespace llvm;
using object::ELF64LEObjectFile;
using object::ELFSymbolRef;

namespace rubia::codegen {

namespace {

Error malformed(const Twine &message) {
  return make_error<CodegenError>(Fault::Malformed, ("invalid code object: " + message).str());
}

struct Section {
  uint64_t address;
  ArrayRef<uint8_t> bytes;
  bool isCode;
};

Expected<std::vector<Section>> loadedSections(const ELF64LEObjectFile &file) {
  std::vector<Section> sections;
  for (const object::ELFSectionRef section : file.sections()) {
    if (!(section.getFlags() & ELF::SHF_ALLOC) || section.getType() == ELF::SHT_NOBITS)
      continue;
    Expected<StringRef> contents = section.getContents();
    if (!contents)
      return malformed(toString(contents.takeError()));
    sections.push_back({section.getAddress(),
                        ArrayRef(contents->bytes_begin(), contents->bytes_end()),
                        bool(section.getFlags() & ELF::SHF_EXECINSTR)});
  }
  return sections;
}

/// The part of a section from this address on, empty if no section has it.
ArrayRef<uint8_t> bytesAt(ArrayRef<Section> sections, uint64_t address) {
  for (const Section &section : sections)
    if (address >= section.address && address - section.address < section.bytes.size())
      return section.bytes.drop_front(address - section.address);
  return {};
}

Error addSymbol(const ELFSymbolRef &symbol, ArrayRef<Section> sections,
                std::map<uint64_t, FunctionCode> &functions, std::map<uint64_t, uint32_t> &kernels,
                bool &isWave64) {
  Expected<StringRef> name = symbol.getName();
  if (!name)
    return malformed(toString(name.takeError()));
  Expected<uint64_t> address = symbol.getAddress();
  if (!address)
    return malformed(toString(address.takeError()));
  ArrayRef<uint8_t> bytes = bytesAt(sections, *address);
  if (symbol.getELFType() == ELF::STT_FUNC && symbol.getSize() != 0) {
    if (bytes.size() < symbol.getSize())
      return malformed("function '" + *name + "' is outside of the code");
    functions.try_emplace(
        *address, FunctionCode{name->str(), *address, bytes.take_front(symbol.getSize()), {}});
  } else if (symbol.getELFType() == ELF::STT_OBJECT && name->ends_with(".kd")) {
    if (bytes.size() < sizeof(amdhsa::kernel_descriptor_t))
      return malformed("kernel descriptor '" + *name + "' is outside of the file");
    uint64_t entry = *address + support::endian::read64le(
                                    bytes.data() + amdhsa::KERNEL_CODE_ENTRY_BYTE_OFFSET_OFFSET);
    kernels[entry] = support::endian::read32le(bytes.data() + amdhsa::COMPUTE_PGM_RSRC1_OFFSET);
    isWave64 |= !AMDHSA_BITS_GET(
        support::endian::read16le(bytes.data() + amdhsa::KERNEL_CODE_PROPERTIES_OFFSET),
        amdhsa::KERNEL_CODE_PROPERTY_ENABLE_WAVEFRONT_SIZE32);
  }
  return Error::success();
}

/// The linker pads with zeroes, the compiler with s_code_end (RDNA) or s_nop.
bool isPadding(ArrayRef<uint8_t> bytes) {
  constexpr uint32_t kCodeEnd = 0xbf9f0000, kNop = 0xbf800000;
  for (; bytes.size() >= 4; bytes = bytes.drop_front(4)) {
    uint32_t word = support::endian::read32le(bytes.data());
    if (word != 0 && word != kCodeEnd && word != kNop)
      return false;
  }
  return true;
}

void addCodeWithoutSymbol(const Section &section, std::map<uint64_t, FunctionCode> &functions) {
  std::vector<FunctionCode> gaps;
  uint64_t position = section.address;
  auto gapUntil = [&](uint64_t address) {
    if (address <= position)
      return;
    ArrayRef<uint8_t> bytes = section.bytes.slice(position - section.address, address - position);
    if (!isPadding(bytes))
      gaps.push_back({"code without a symbol", position, bytes, {}});
  };
  for (const auto &[address, function] : functions) {
    if (address < section.address || address - section.address >= section.bytes.size())
      continue;
    gapUntil(address);
    position = std::max(position, address + function.bytes.size());
  }
  gapUntil(section.address + section.bytes.size());
  for (FunctionCode &gap : gaps)
    functions.emplace(gap.address, std::move(gap));
}

} // namespace

Expected<ProgramCode> readProgramCode(ArrayRef<uint8_t> codeObject) {
  StringRef data(reinterpret_cast<const char *>(codeObject.data()), codeObject.size());
  Expected<std::unique_ptr<object::ObjectFile>> object =
      object::ObjectFile::createELFObjectFile(MemoryBufferRef(data, "code object"));
  if (!object)
    return malformed(toString(object.takeError()));
  const auto *file = dyn_cast<ELF64LEObjectFile>(object->get());
  if (!file || file->getArch() != Triple::amdgcn)
    return malformed("not for AMDGPU");
  std::optional<StringRef> processor = file->tryGetCPUName();
  if (!processor)
    return malformed("no processor in its flags");
  Expected<std::vector<Section>> sections = loadedSections(*file);
  if (!sections)
    return sections.takeError();

  ProgramCode program{processor->str(), false, {}};
  std::map<uint64_t, FunctionCode> functions;
  std::map<uint64_t, uint32_t> kernels;
  for (const ELFSymbolRef symbol : file->symbols())
    if (Error error = addSymbol(symbol, *sections, functions, kernels, program.isWave64))
      return error;
  for (const ELFSymbolRef symbol : file->getDynamicSymbolIterators())
    if (Error error = addSymbol(symbol, *sections, functions, kernels, program.isWave64))
      return error;
  for (const Section &section : *sections)
    if (section.isCode)
      addCodeWithoutSymbol(section, functions);

  for (auto &[address, function] : functions) {
    if (auto kernel = kernels.find(address); kernel != kernels.end())
      function.computePgmRsrc1 = kernel->second;
    program.functions.push_back(std::move(function));
  }
  return program;
}

static std::vector<DecodedInstruction> decode(const Disassembler &disassembler,
                                              const FunctionCode &function) {
  std::vector<DecodedInstruction> instructions;
  instructions.reserve(function.bytes.size() / 6);
  for (uint64_t at = 0; at < function.bytes.size();) {
    DecodedInstruction &decoded = instructions.emplace_back();
    decoded.address = function.address + at;
    decoded.size =
        uint32_t(disassembler.decode(function.bytes.drop_front(at), decoded.address, decoded.inst));
    at += decoded.size ? decoded.size : 4;
  }
  return instructions;
}

Expected<std::shared_ptr<const Disassembler>> disassemblerFor(const std::string &processor,
                                                              bool isWave64) {
  thread_local KeptByThread<
      std::map<std::pair<std::string, bool>, std::shared_ptr<const Disassembler>>>
      kept;
  std::shared_ptr<const Disassembler> &one = (*kept)[{processor, isWave64}];
  if (!one) {
    auto made = Disassembler::create(processor, isWave64);
    if (!made)
      return made.takeError();
    one = std::move(*made);
  }
  return one;
}

Expected<DecodedProgram> decodeProgram(ArrayRef<uint8_t> codeObject) {
  Expected<ProgramCode> code = readProgramCode(codeObject);
  if (!code)
    return code.takeError();
  Expected<std::shared_ptr<const Disassembler>> disassembler =
      disassemblerFor(code->processor, code->isWave64);
  if (!disassembler)
    return disassembler.takeError();
  DecodedProgram program{std::move(*code), std::move(*disassembler), {}};
  for (const FunctionCode &function : program.code.functions)
    program.instructions.push_back(decode(*program.disassembler, function));
  return program;
}

} // namespace rubia::codegen
