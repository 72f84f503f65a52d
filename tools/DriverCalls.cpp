// SPDX-License-Identifier: Apache-2.0
#include "tools/DriverCalls.h"
#include "runtime/device/ClosedLibraries.h"
#include "tools/Commands.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"
#include <map>
#include <set>

using namespace llvm;
using object::ELF64LE;
using object::ELF64LEFile;

namespace rubia::tools {

static bool isFunctionOfDriver(StringRef name) {
  return name.size() > 2 && name.starts_with("cu") && isUpper(name[2]);
}

static bool isFunctionOfRuntime(StringRef name) {
  return name.size() > 4 && name.starts_with("cuda") && isUpper(name[4]);
}

// Without what tells apart the functions for the legacy default stream and the threads' own ones.
static StringRef withoutStream(StringRef name) {
  if (!name.consume_back("_ptsz"))
    name.consume_back("_ptds");
  return name;
}

static StringRef withoutVariant(StringRef name) {
  name = withoutStream(name);
  StringRef before = name.rtrim("0123456789");
  return before.size() < name.size() && before.consume_back("_v") ? before : name;
}

namespace {
struct Symbol {
  StringRef name;
  uint64_t address, size;
  bool isDefined, isWeak, isFunction;
};

class ElfSymbols {
public:
  // Of all tables of this type (SHT_DYNSYM or SHT_SYMTAB).
  static Expected<std::vector<Symbol>> read(const ELF64LEFile &file, uint32_t type) {
    std::vector<Symbol> result;
    auto sections = file.sections();
    if (!sections)
      return sections.takeError();
    for (const ELF64LE::Shdr &section : *sections) {
      if (section.sh_type != type)
        continue;
      auto symbols = file.symbols(&section);
      auto strings = file.getStringTableForSymtab(section);
      if (!symbols || !strings)
        return joinErrors(symbols.takeError(), strings.takeError());
      for (const ELF64LE::Sym &symbol : *symbols) {
        Expected<StringRef> name = symbol.getName(*strings);
        if (!name)
          return name.takeError();
        result.push_back({*name, symbol.st_value, symbol.st_size, symbol.isDefined(),
                          symbol.getBinding() == ELF::STB_WEAK, symbol.getType() == ELF::STT_FUNC});
      }
    }
    return result;
  }
};
} // namespace

Expected<DriverFunctions> DriverFunctions::installed() {
  const std::string path = supportFolder() + "/libcuda.so.1";
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError(buffer.getError(), path + ": " + buffer.getError().message());
  Expected<ELF64LEFile> file = ELF64LEFile::create((*buffer)->getBuffer());
  if (!file)
    return file.takeError();
  Expected<std::vector<Symbol>> symbols = ElfSymbols::read(*file, ELF::SHT_DYNSYM);
  if (!symbols)
    return symbols.takeError();
  // What is not implemented is a weak function that says so (runtime/cuda/EntryPoints.cpp).
  DriverFunctions result;
  for (const Symbol &symbol : *symbols)
    if (symbol.isDefined && isFunctionOfDriver(symbol.name)) {
      result.symbols[symbol.name] = !symbol.isWeak;
      result.functions[withoutVariant(symbol.name)] |= !symbol.isWeak;
    }
  if (result.symbols.empty())
    return createStringError(path + ": exports nothing");
  return result;
}

bool DriverFunctions::isKnown(StringRef name) const {
  return functions.contains(withoutVariant(name));
}

bool DriverFunctions::isMissing(StringRef name) const {
  return !functions.lookup(withoutVariant(name));
}

// Most functions of the runtime are named after that of the driver which does the work.
StringRef driverFunctionBehind(StringRef function) {
  return StringSwitch<StringRef>(function)
      .Cases({"cudaMallocArray", "cudaMalloc3DArray"}, "cuArray3DCreate")
      .Case("cudaFreeArray", "cuArrayDestroy")
      .Cases({"cudaArrayGetInfo", "cudaGetChannelDesc"}, "cuArray3DGetDescriptor")
      .Case("cudaMallocMipmappedArray", "cuMipmappedArrayCreate")
      .Case("cudaFreeMipmappedArray", "cuMipmappedArrayDestroy")
      .Case("cudaGetMipmappedArrayLevel", "cuMipmappedArrayGetLevel")
      .Case("cudaCreateTextureObject", "cuTexObjectCreate")
      .Case("cudaDestroyTextureObject", "cuTexObjectDestroy")
      .Case("cudaGetTextureObjectResourceDesc", "cuTexObjectGetResourceDesc")
      .Case("cudaGetTextureObjectResourceViewDesc", "cuTexObjectGetResourceViewDesc")
      .Case("cudaGetTextureObjectTextureDesc", "cuTexObjectGetTextureDesc")
      .Case("cudaCreateSurfaceObject", "cuSurfObjectCreate")
      .Case("cudaDestroySurfaceObject", "cuSurfObjectDestroy")
      .Case("cudaGetSurfaceObjectResourceDesc", "cuSurfObjectGetResourceDesc")
      .Cases({"cudaGraphAddMemcpyNode1D", "cudaGraphAddMemcpyNodeFromSymbol",
              "cudaGraphAddMemcpyNodeToSymbol"},
             "cuGraphAddMemcpyNode")
      .Cases({"cudaGraphMemcpyNodeSetParams1D", "cudaGraphMemcpyNodeSetParamsFromSymbol",
              "cudaGraphMemcpyNodeSetParamsToSymbol"},
             "cuGraphMemcpyNodeSetParams")
      .Cases({"cudaGraphExecMemcpyNodeSetParams1D", "cudaGraphExecMemcpyNodeSetParamsFromSymbol",
              "cudaGraphExecMemcpyNodeSetParamsToSymbol"},
             "cuGraphExecMemcpyNodeSetParams")
      .Case("cudaDeviceFlushGPUDirectRDMAWrites", "cuFlushGPUDirectRDMAWrites")
      .Default("");
}

namespace {
// A function that is called, and what is missing for it.
class MissingCalls {
public:
  explicit MissingCalls(const DriverFunctions &driver) : driver(driver) {}

  // Whether a call of it fails for want of a function.
  bool isMissing(StringRef name) const { return !missingFor(name).empty(); }
  void add(StringRef name) {
    if (std::string wanted = missingFor(name); !wanted.empty())
      found[isFunctionOfRuntime(name) ? withoutStream(name).str() : name.str()] = std::move(wanted);
  }
  std::vector<DriverCalls::Missing> list() const {
    std::vector<DriverCalls::Missing> result;
    result.reserve(found.size());
    for (const auto &[function, wanted] : found)
      result.push_back({function, wanted});
    return result;
  }

private:
  std::string missingFor(StringRef name) const {
    if (isFunctionOfDriver(name)) // a name that no driver has may be the program's own
      return driver.hasSymbol(name) && driver.isMissingSymbol(name) ? name.str() : "";
    if (!isFunctionOfRuntime(name))
      return "";
    const StringRef plain = withoutVariant(name);
    const StringRef listed = driverFunctionBehind(plain);
    const std::string wanted =
        listed.empty() ? ("cu" + plain.drop_front(strlen("cuda"))).str() : listed.str();
    // A name that no driver has says nothing: the runtime does the work in another way.
    return driver.isKnown(wanted) && driver.isMissing(wanted) ? wanted : "";
  }

  const DriverFunctions &driver;
  std::map<std::string, std::string> found;
};

// The code of some functions.
class CodeRanges {
public:
  void add(uint64_t begin, uint64_t size) {
    uint64_t &end = ends[begin];
    end = std::max(end, begin + std::min(size, UINT64_MAX - begin));
  }
  // The end of the function that `address` is in, or the address itself.
  uint64_t skip(uint64_t address) const {
    auto next = ends.upper_bound(address);
    return next == ends.begin() ? address : std::max(address, std::prev(next)->second);
  }

private:
  std::map<uint64_t, uint64_t> ends; // by begin
};
} // namespace

static bool isInsideOfRuntime(StringRef name) {
  return name.starts_with("libcudart_static_") || name.starts_with("__cudart");
}

// Calls and jumps of x86-64 (e8, e9) with a displacement that leads exactly to one of `functions`:
// that other bytes look like one has a chance of about 1 in 10^7 a byte and function. The runtime's
// own code is left out, as it has all of its functions.
static Expected<std::set<StringRef>> calledFunctions(const ELF64LEFile &file,
                                                     const std::map<uint64_t, StringRef> &functions,
                                                     const CodeRanges &runtime) {
  constexpr uint64_t kLength = 5;
  std::set<StringRef> called;
  auto sections = file.sections();
  if (!sections)
    return sections.takeError();
  for (const ELF64LE::Shdr &section : *sections) {
    if (section.sh_type != ELF::SHT_PROGBITS || !(section.sh_flags & ELF::SHF_EXECINSTR))
      continue;
    Expected<ArrayRef<uint8_t>> code = file.getSectionContents(section);
    if (!code)
      return code.takeError();
    for (uint64_t i = 0; i + kLength <= code->size(); ++i) {
      if ((*code)[i] != 0xe8 && (*code)[i] != 0xe9)
        continue;
      const uint64_t address = section.sh_addr + i;
      if (uint64_t behind = runtime.skip(address); behind != address) {
        i += behind - address - 1;
        continue;
      }
      const auto displacement = int32_t(support::endian::read32le(code->data() + i + 1));
      if (auto place = functions.find(address + kLength + displacement); place != functions.end())
        called.insert(place->second);
    }
  }
  return called;
}

// Calls of a static runtime that the library exports go through its table of imports.
static Error addCallsThroughTables(const ELF64LEFile &file, MissingCalls &calls) {
  auto sections = file.sections();
  if (!sections)
    return sections.takeError();
  for (const ELF64LE::Shdr &section : *sections) {
    if (section.sh_type != ELF::SHT_RELA || !(section.sh_flags & ELF::SHF_ALLOC) ||
        section.sh_link >= sections->size())
      continue;
    const ELF64LE::Shdr &table = (*sections)[section.sh_link];
    if (table.sh_type != ELF::SHT_DYNSYM)
      continue;
    auto relocations = file.relas(section);
    auto strings = file.getStringTableForSymtab(table);
    if (!relocations || !strings)
      return joinErrors(relocations.takeError(), strings.takeError());
    for (const ELF64LE::Rela &relocation : *relocations) {
      if (relocation.getType(false) != ELF::R_X86_64_JUMP_SLOT)
        continue;
      auto symbol = file.getRelocationSymbol(relocation, &table);
      if (!symbol)
        return symbol.takeError();
      Expected<StringRef> name = *symbol ? (*symbol)->getName(*strings) : StringRef();
      if (!name)
        return name.takeError();
      calls.add(*name);
    }
  }
  return Error::success();
}

// NVIDIA's libraries that the file is linked with: their kernels are not in it.
static Expected<std::vector<std::string>> closedLibrariesOf(const ELF64LEFile &file) {
  std::vector<std::string> names;
  auto sections = file.sections();
  if (!sections)
    return sections.takeError();
  for (const ELF64LE::Shdr &section : *sections) {
    if (section.sh_type != ELF::SHT_DYNAMIC)
      continue;
    auto entries = file.getSectionContentsAsArray<ELF64LE::Dyn>(section);
    auto strings = file.getLinkAsStrtab(section);
    if (!entries || !strings)
      return joinErrors(entries.takeError(), strings.takeError());
    for (const ELF64LE::Dyn &entry : *entries) {
      if (entry.d_tag != ELF::DT_NEEDED)
        continue;
      StringRef name = strings->substr(entry.getVal());
      name = name.take_front(name.find('\0'));
      if (runtime::capabilityForLibrary(name))
        names.push_back(name.str());
    }
  }
  return names;
}

// The static runtime, if the file has it and its symbols.
static Error addCallsOfStaticRuntime(const ELF64LEFile &file, MissingCalls &calls, bool &isThere) {
  Expected<std::vector<Symbol>> symbols = ElfSymbols::read(file, ELF::SHT_SYMTAB);
  if (!symbols)
    return symbols.takeError();
  CodeRanges runtime;
  std::map<uint64_t, StringRef> functions;
  for (const Symbol &symbol : *symbols) {
    if (!symbol.isDefined || !symbol.isFunction)
      continue;
    const bool isInterface = isFunctionOfRuntime(symbol.name);
    if (!isInterface && !isInsideOfRuntime(symbol.name))
      continue;
    isThere |= isInsideOfRuntime(symbol.name);
    runtime.add(symbol.address, symbol.size);
    if (isInterface && calls.isMissing(symbol.name))
      functions[symbol.address] = symbol.name;
  }
  if (!isThere || file.getHeader().e_machine != ELF::EM_X86_64)
    return Error::success();
  Expected<std::set<StringRef>> called = calledFunctions(file, functions, runtime);
  if (!called)
    return called.takeError();
  for (StringRef name : *called)
    calls.add(name);
  return Error::success();
}

// Names of the driver's functions that stand as strings in the file, whole.
static std::set<std::string> namedFunctions(StringRef bytes, const DriverFunctions &driver) {
  std::set<std::string> names;
  for (size_t at = bytes.find(StringRef("\0cu", 3)); at != StringRef::npos;
       at = bytes.find(StringRef("\0cu", 3), at + 1)) {
    StringRef name = bytes.substr(at + 1, 100);
    name = name.take_front(name.find('\0'));
    if (isFunctionOfDriver(name) && all_of(name, [](char c) { return isAlnum(c) || c == '_'; }) &&
        driver.isKnown(name))
      names.insert(name.str());
  }
  return names;
}

Expected<DriverCalls> driverCallsOf(ArrayRef<uint8_t> bytes, const DriverFunctions &driver) {
  // The static runtime, and libraries with one inside, ask for hundreds.
  constexpr size_t kAsksForAll = 100;
  DriverCalls result;
  StringRef text = toStringRef(bytes);
  if (!text.starts_with("\x7f"
                        "ELF") ||
      bytes.size() < sizeof(ELF64LE::Ehdr) || bytes[ELF::EI_CLASS] != ELF::ELFCLASS64 ||
      bytes[ELF::EI_DATA] != ELF::ELFDATA2LSB)
    return result;
  Expected<ELF64LEFile> file = ELF64LEFile::create(text);
  if (!file)
    return file.takeError();
  const bool isLinked =
      file->getHeader().e_type == ELF::ET_EXEC || file->getHeader().e_type == ELF::ET_DYN;
  Expected<std::vector<Symbol>> symbols =
      ElfSymbols::read(*file, isLinked ? ELF::SHT_DYNSYM : ELF::SHT_SYMTAB);
  if (!symbols)
    return symbols.takeError();
  MissingCalls calls(driver);
  for (const Symbol &symbol : *symbols)
    if (!symbol.isDefined && !symbol.isWeak) // a weak one is asked for before it is called
      calls.add(symbol.name);
  bool hasStaticRuntime = false;
  if (isLinked) {
    if (Error error = addCallsOfStaticRuntime(*file, calls, hasStaticRuntime))
      return std::move(error);
    if (file->getHeader().e_machine == ELF::EM_X86_64)
      if (Error error = addCallsThroughTables(*file, calls))
        return std::move(error);
    Expected<std::vector<std::string>> libraries = closedLibrariesOf(*file);
    if (!libraries)
      return libraries.takeError();
    result.libraries = std::move(*libraries);
    if (!result.libraries.empty())
      result.notes.push_back("kernels of the libraries that it needs are in these: " +
                             join(result.libraries, ", "));
  }
  result.missing = calls.list();
  const std::set<std::string> named = namedFunctions(text, driver);
  if (named.size() > kAsksForAll) {
    result.isUncertain = !hasStaticRuntime;
    if (!hasStaticRuntime)
      result.notes.push_back("it asks for " + std::to_string(named.size()) +
                             " functions of the driver by name (a CUDA runtime without symbols, "
                             "say): which of them it calls cannot be told");
    return result;
  }
  std::string missing;
  for (const std::string &name : named)
    if (driver.isMissing(name))
      missing += (missing.empty() ? "" : ", ") + name;
  if (!missing.empty() && isLinked)
    result.notes.push_back("it names functions that are missing and fail if they are called: " +
                           missing);
  return result;
}

} // namespace rubia::tools
