// SPDX-License-Identifier: Apache-2.0
// Loading a code object: kernel descriptors, metadata, decoding; Image.cpp does the memory.
#include "emulator/lib/decode/AccessNotes.h"
#include "emulator/lib/decode/Instructions.h"
#include "emulator/lib/machine/Bounds.h"
#include "emulator/lib/machine/InitialState.h"
#include "emulator/lib/object/Image.h"
#include "emulator/lib/object/KernelMetadata.h"
#include "settings/Settings.h"
#include "llvm/ADT/StringExtras.h"
#include <cstdlib>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting emulatorTrans;
} // namespace rubia::settings::Id
namespace rubia::settings::EmulatorTrans {
extern const Word Worst;
} // namespace rubia::settings::EmulatorTrans

namespace rubia::emulator {

/// Filled by the Loader.
struct LoadedCode {
  Image image;
  std::unique_ptr<Target> target;
  std::unique_ptr<Program> program;
  std::vector<Kernel> kernels;
};

namespace {

constexpr uint64_t kDescriptorSize = 64;
// COMPUTE_TMPRING_SIZE.WAVESIZE of gfx12, the widest: 2^18 times 256 bytes for 32 lanes.
constexpr uint32_t kMaxScratchPerLane = 2 << 20;
constexpr size_t kMaxListed = 100; // instructions in an error message

template <class T> T readAt(const uint8_t *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

/// One load: the file and the state that it fills.
class Loader {
public:
  Loader(const ElfFile &elf, LoadedCode &state) : elf(elf), state(&state) {}

  Error readKernels();
  Error decode();
  void keepLines();
  void noteWarps();
  Error noteAccesses();

private:
  Expected<Kernel> readKernel(StringRef name, uint64_t address) const;
  std::optional<StringRef> contentsOf(StringRef section) const;

  const ElfFile &elf;
  LoadedCode *state;
  unsigned waveSize = 0;
};

/// AMDGPUUsage "Kernel Descriptor".
Expected<Kernel> Loader::readKernel(StringRef name, uint64_t address) const {
  const Image &image = state->image;
  const uint64_t offset = address - uint64_t(image.bytes);
  if (Error error = image.contains(offset, kDescriptorSize, "the descriptor of kernel " + name))
    return std::move(error);
  const uint8_t *descriptor = image.bytes + offset;
  Kernel kernel;
  kernel.name = name.str();
  kernel.descriptorAddress = address;
  kernel.ldsBytes = readAt<uint32_t>(descriptor);
  kernel.scratchBytes = readAt<uint32_t>(descriptor + 4);
  kernel.kernargSize = readAt<uint32_t>(descriptor + 8);
  kernel.entryAddress = address + readAt<uint64_t>(descriptor + 16);
  kernel.resource3 = readAt<uint32_t>(descriptor + 44);
  kernel.resource1 = readAt<uint32_t>(descriptor + 48);
  kernel.resource2 = readAt<uint32_t>(descriptor + 52);
  kernel.properties = readAt<uint16_t>(descriptor + 56);
  kernel.kernargPreload = readAt<uint16_t>(descriptor + 58);
  kernel.dynamicStack = kernel.properties >> 11 & 1;
  kernel.waveSize = kernel.properties >> 10 & 1 ? 32 : 64;
  return kernel;
}

/// What descriptor and metadata say together.
Error checkKernel(const Kernel &kernel) {
  auto wrong = [&](const Twine &what) { return malformed("kernel " + kernel.name + ": " + what); };
  if (kernel.kernargSize > kMaxKernargBytes)
    return wrong(Twine(kernel.kernargSize) + " bytes of arguments");
  if (kernel.scratchBytes > kMaxScratchPerLane)
    return wrong(Twine(kernel.scratchBytes) + " bytes of private memory");
  // The segment is aligned to more than a dword, so the last one may be read whole.
  const KernargPreload preload = kernargPreload(kernel);
  if (!fits(preload.offset, preload.count, (kernel.kernargSize + 3) / 4))
    return wrong("arguments that are preloaded end behind the " + Twine(kernel.kernargSize) +
                 " bytes that there are");
  return Error::success();
}

Error Loader::readKernels() {
  Expected<StringMap<KernelMetadata>> metadata = readKernelMetadata(elf.file());
  if (!metadata)
    return metadata.takeError();
  for (auto &entry : state->image.symbols) {
    StringRef name = entry.getKey();
    if (!name.consume_back(".kd"))
      continue;
    Expected<Kernel> kernel = readKernel(name, entry.second.address);
    if (!kernel)
      return kernel.takeError();
    if (waveSize != 0 && waveSize != kernel->waveSize)
      return createStringError("kernels of different wave sizes in one code object");
    waveSize = kernel->waveSize;
    auto found = metadata->find(name);
    if (found == metadata->end())
      return createStringError("kernel " + name + " has no metadata");
    found->second.apply(*kernel);
    if (Error error = checkKernel(*kernel))
      return error;
    state->kernels.push_back(std::move(*kernel));
  }
  llvm::sort(state->kernels, [](const Kernel &a, const Kernel &b) { return a.name < b.name; });
  if (waveSize == 0)
    waveSize = 32;
  return Error::success();
}

/// Whether results that the manuals only bound are to differ from the correctly rounded ones.
Expected<bool> perturbsApproximations() {
  if (Error error = hostSettings().check(settings::Id::emulatorTrans))
    return std::move(error);
  return hostSettings().is(settings::EmulatorTrans::Worst);
}

Error Loader::decode() {
  if (Error error = checkHostIsa())
    return error;
  Expected<bool> perturb = perturbsApproximations();
  if (!perturb)
    return perturb.takeError();
  Expected<std::unique_ptr<Target>> target = Target::create(elf.cpu, waveSize);
  if (!target)
    return target.takeError();
  state->target = std::move(*target);
  if (!state->target->row().hasWave32 && waveSize == 32 && !state->kernels.empty())
    return malformed("kernel " + state->kernels.front().name + " is for wave32, " + elf.cpu +
                     " has wave64 only");
  Image &image = state->image;
  for (const Kernel &kernel : state->kernels) // hand-written ones may have no function's symbol
    image.addEntry(entryOf(kernel));
  std::vector<Unsupported> unsupported;
  state->program = decodeProgram(*state->target, {image.bytes, image.size}, uint64_t(image.bytes),
                                 image.functions, waveSize, unsupported, *perturb);
  if (!unsupported.empty()) {
    std::string message = "the code object contains instructions that the emulator cannot execute:";
    for (const Unsupported &one : ArrayRef(unsupported).take_front(kMaxListed))
      message += "\n  " + utohexstr(one.pc, true, 6) + ": " +
                 (one.text.empty() ? "" : one.text + ": ") + one.reason;
    if (unsupported.size() > kMaxListed)
      message += "\n  and " + std::to_string(unsupported.size() - kMaxListed) + " more";
    return createStringError(message);
  }
  for (Kernel &kernel : state->kernels) {
    kernel.program = state->program.get();
    if (!state->program->map.find(entryOf(kernel)))
      return malformed("kernel " + kernel.name + " has no code at its entry");
  }
  return Error::success();
}

/// Of the first section of that name. What cannot be read is not there.
std::optional<StringRef> Loader::contentsOf(StringRef section) const {
  for (const object::SectionRef &one : elf.object->sections()) {
    Expected<StringRef> name = one.getName();
    Expected<StringRef> contents = one.getContents();
    if (name && contents && *name == section)
      return *contents;
    consumeError(name.takeError());
    consumeError(contents.takeError());
  }
  return std::nullopt;
}

/// The addresses of a file that is not linked are not where its code has been laid out.
void Loader::keepLines() {
  if (!elf.linked)
    return;
  if (contentsOf(".debug_line"))
    state->program->lines =
        std::make_unique<SourceLines>(arrayRefFromStringRef(elf.object->getData()));
}

/// Rubia's own section says how warps lie in waves; other compilers' warps are waves.
void Loader::noteWarps() {
  Program &program = *state->program;
  program.warpLanes = program.threadsPerWave = waveSize;
  const StringRef metadata = contentsOf(".rubia.metadata").value_or("");
  if (metadata.contains("\"warpForm\":\"packed\""))
    program.warpLanes = 32;
  if (metadata.contains("\"warpForm\":\"half-filled\""))
    program.threadsPerWave = 32;
}

/// What the program's memory accesses were. Addresses of a file that is not linked are not known.
Error Loader::noteAccesses() {
  const std::optional<StringRef> section = contentsOf(".rubia.accesses");
  if (!elf.linked || !section)
    return Error::success();
  Expected<AccessNotes> notes = AccessNotes::read(arrayRefFromStringRef(*section));
  if (!notes)
    return notes.takeError();
  if (const std::optional<StringRef> syncs = contentsOf(".rubia.warpsyncs"))
    if (Error error = notes->readWarpSyncs(arrayRefFromStringRef(*syncs)))
      return error;
  state->program->accessNotes = std::make_shared<const AccessNotes>(std::move(*notes));
  const std::optional<StringRef> marks = contentsOf(".rubia.async");
  if (!marks)
    return Error::success();
  Expected<AsyncNotes> asyncNotes = AsyncNotes::read(arrayRefFromStringRef(*marks));
  if (!asyncNotes)
    return asyncNotes.takeError();
  state->program->asyncNotes = std::make_shared<const AsyncNotes>(std::move(*asyncNotes));
  return Error::success();
}

} // namespace

struct CodeObject::State : LoadedCode {};

CodeObject::CodeObject() : state(std::make_unique<State>()) {}
CodeObject::~CodeObject() = default;

Expected<std::unique_ptr<CodeObject>> CodeObject::load(ArrayRef<uint8_t> bytes, Memory &memory) {
  Expected<ElfFile> elf = openCodeObject(bytes);
  if (!elf)
    return elf.takeError();
  if (elf->cpu.empty())
    return createStringError("the code object names no known processor (e_flags 0x" +
                             utohexstr(elf->file().getHeader().e_flags) + ")");
  std::unique_ptr<CodeObject> result(new CodeObject());
  if (Error error = loadImage(*elf, memory, result->state->image))
    return std::move(error);
  Loader loader(*elf, *result->state);
  if (Error error = loader.readKernels())
    return std::move(error);
  if (Error error = loader.decode())
    return std::move(error);
  loader.keepLines();
  loader.noteWarps();
  if (Error error = loader.noteAccesses())
    return std::move(error);
  return result;
}

StringRef CodeObject::target() const { return state->target->row().name; }
ArrayRef<Kernel> CodeObject::kernels() const { return state->kernels; }

const Kernel *CodeObject::kernel(StringRef name) const {
  for (const Kernel &kernel : state->kernels)
    if (kernel.name == name)
      return &kernel;
  return nullptr;
}

std::optional<Symbol> CodeObject::symbol(StringRef name) const {
  auto found = state->image.symbols.find(name);
  return found == state->image.symbols.end() ? std::nullopt : std::optional(found->second);
}

} // namespace rubia::emulator
