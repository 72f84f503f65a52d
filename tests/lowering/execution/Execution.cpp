// SPDX-License-Identifier: Apache-2.0
#include "tests/lowering/execution/Execution.h"
#include "codegen/Codegen.h"
#include "lowering/Lowering.h"
#include "ptx-frontend/Parser.h"
#include "tests/executed-operations/ExecutedOperations.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/xxhash.h"
#include <cstring>
#include <map>
#include <numeric>
#include <sys/mman.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::settings::AtomicsMode {
extern const Word Fast, Safe;
} // namespace rubia::settings::AtomicsMode
namespace rubia::settings::SharedMemory {
extern const Word Cluster, Device, Lds;
} // namespace rubia::settings::SharedMemory
namespace rubia::settings::WarpFormChoice {
extern const Word Auto, Checked, HalfFilled, Packed;
} // namespace rubia::settings::WarpFormChoice

namespace rubia::lowering::test {

std::string executable(const std::string &body, const std::string &before,
                       const std::string &attributes) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n" + before +
         "\n.visible .entry k(.param .u64 p, .param .u32 n) " + attributes + R"(
{
.reg .pred %p<20>;
.reg .b16 %rs<20>;
.reg .b32 %r<20>;
.reg .b64 %rd<20>;
.reg .f32 %f<20>;
.reg .f64 %fd<20>;
.reg .b64 %buf, %mine;
.reg .b32 %tid, %scratch<4>;
ld.param.u64 %buf, [p];
cvta.to.global.u64 %buf, %buf;
mov.u32 %scratch0, %ntid.y;
mov.u32 %scratch1, %tid.z;
mov.u32 %scratch2, %tid.y;
mad.lo.u32 %scratch1, %scratch1, %scratch0, %scratch2;
mov.u32 %scratch2, %ntid.x;
mov.u32 %scratch3, %tid.x;
mad.lo.u32 %tid, %scratch1, %scratch2, %scratch3;
mul.lo.u32 %scratch0, %scratch0, %scratch2;
mov.u32 %scratch2, %ntid.z;
mul.lo.u32 %scratch0, %scratch0, %scratch2;
mov.u32 %scratch1, %ctaid.x;
mad.lo.u32 %scratch0, %scratch0, %scratch1, %tid;
mul.wide.u32 %mine, %scratch0, 4;
add.u64 %mine, %mine, %buf;
)" + body +
         "\n}\n";
}

template <typename T> static T take(Expected<T> value) {
  if (value)
    return std::move(*value);
  ADD_FAILURE() << toString(value.takeError());
  return T();
}

namespace {

struct Compiled {
  ptx::Module module;
  std::vector<uint8_t> code = {};
  uint64_t staticSharedBytes = 0;
  Unit unit = {};
};

Compiled compile(const std::string &ptx, const Form &form) {
  ptx::ParseResult parsed = ptx::parse("test.ptx", ptx);
  for (const ptx::Diagnostic &diagnostic : parsed.diagnostics)
    ADD_FAILURE() << ptx::format(diagnostic, "test.ptx", ptx);
  Compiled result{std::move(parsed.module)};
  std::vector<Unit> units = partition(result.module);
  if (units.empty())
    return result;
  result.unit = units[0];
  result.staticSharedBytes = staticSharedBytes(units[0], *units[0].kernels[0]);
  Options options;
  options.arch = form.arch;
  options.spinLimit = form.spinLimit;
  options.code.set(form.safeAtomics ? settings::AtomicsMode::Safe : settings::AtomicsMode::Fast);
  options.code.set(form.mma);
  options.code.set(form.nan);
  options.code.set(form.checked      ? settings::WarpFormChoice::Checked
                   : form.packed     ? settings::WarpFormChoice::Packed
                   : form.halfFilled ? settings::WarpFormChoice::HalfFilled
                                     : settings::WarpFormChoice::Auto);
  options.code.set(form.cluster.x        ? settings::SharedMemory::Cluster
                   : form.sharedInMemory ? settings::SharedMemory::Device
                                         : settings::SharedMemory::Lds);
  LLVMContext context;
  std::unique_ptr<llvm::Module> module = take(lower(result.module, units[0], options, context));
  if (!module)
    return result;
  codegen::Options codegenOptions;
  codegenOptions.arch = form.arch;
  codegenOptions.optLevel = form.optLevel;
  codegenOptions.checkWholeWaves = form.packed;
  if (form.inParts)
    codegenOptions.instructionsPerPart = 1;
  Expected<codegen::CodeObject> object = codegen::compile(std::move(module), codegenOptions);
  if (object)
    result.code.assign(object->bytes.begin(), object->bytes.end());
  else
    ADD_FAILURE() << toString(object.takeError());
  return result;
}

/// What a form is compiled to: runAll() and runOnAllTargets() of one text have forms in common.
const Compiled &compiledOnce(const std::string &ptx, const Form &form) {
  static std::string text;
  static std::map<std::string, Compiled> forms;
  if (text != ptx)
    forms.clear();
  text = ptx;
  const std::string key =
      formatv("{0} {1} {2} {3} {4} {5} {6} {7} {8} {9} {10} {11}", form.arch, form.halfFilled,
              form.safeAtomics, form.packed, form.mma.index, form.nan.index, form.optLevel,
              form.sharedInMemory, form.inParts, form.spinLimit, form.cluster.x != 0, form.checked)
          .str();
  if (const auto found = forms.find(key); found != forms.end())
    return found->second;
  return forms.emplace(key, compile(ptx, form)).first->second;
}

// What slots of shared memory hold before a launch: bytes that no kernel takes for its own. They
// are 15 MB, of which a launch touches some pages: the pages of one file are mapped again and
// again.
void fillSlots(void *first, uint32_t count) {
  static const int file = [] {
    const std::vector<uint8_t> bytes(abi::kSharedSlotBytes, 0xa5);
    const int made = memfd_create("slot", MFD_CLOEXEC);
    return write(made, bytes.data(), bytes.size()) == ssize_t(bytes.size()) ? made : -1;
  }();
  for (uint32_t slot = 0; slot < count; ++slot) {
    void *const at = static_cast<char *>(first) + uint64_t(slot) * abi::kSharedSlotBytes;
    ASSERT_EQ(
        mmap(at, abi::kSharedSlotBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0),
        at);
  }
}

// What the loader does: memory for the module's variables, initialised, and the table of their
// addresses. Gives the trap record.
abi::TrapRecord *loadVariables(const ptx::Module &module, const emulator::CodeObject &object,
                               emulator::Memory &memory, const Form &form) {
  std::vector<const ptx::Variable *> variables = moduleVariables(module);
  std::vector<uint64_t> table(abi::kFirstVariableSlot + variables.size());
  auto allocate = [&](uint64_t size) {
    void *address = take(memory.allocate(size, emulator::MemoryKind::Device));
    memset(address, 0, size);
    return reinterpret_cast<uint64_t>(address);
  };
  table[abi::kTrapRecordSlot] = allocate(sizeof(abi::TrapRecord));
  table[abi::kAtomicLocksSlot] = allocate(abi::kAtomicLocks * sizeof(uint32_t));
  if (form.sharedInMemory) {
    const uint64_t slots = uint64_t(form.sharedSlots) * abi::kSharedSlotBytes;
    void *pool = take(memory.allocate(abi::sharedPoolHeaderBytes(form.sharedSlots),
                                      emulator::MemoryKind::Device));
    void *first =
        take(memory.allocate(slots, emulator::MemoryKind::Device, abi::kSharedSlotAlignment));
    fillSlots(first, form.sharedSlots);
    abi::makeSharedPoolHeader(pool, form.sharedSlots, reinterpret_cast<uint64_t>(first));
    table[abi::kSharedPoolSlot] = reinterpret_cast<uint64_t>(pool);
  }
  if (form.cluster.x) {
    const uint32_t count = abi::clusterPoolSlots(form.sharedSlots);
    const uint64_t slots = uint64_t(count) * abi::kSharedSlotBytes;
    void *pool =
        take(memory.allocate(abi::clusterPoolHeaderBytes(count), emulator::MemoryKind::Device));
    void *first =
        take(memory.allocate(slots, emulator::MemoryKind::Device, abi::kSharedSlotAlignment));
    fillSlots(first, count);
    abi::makeClusterPoolHeader(pool, count, reinterpret_cast<uint64_t>(first));
    table[abi::kClusterPoolSlot] = reinterpret_cast<uint64_t>(pool);
  }
  for (size_t i = 0; i < variables.size(); ++i)
    table[abi::kFirstVariableSlot + i] = allocate(std::max<uint64_t>(variables[i]->sizeInBytes, 1));
  for (size_t i = 0; i < variables.size(); ++i) {
    auto *bytes = reinterpret_cast<uint8_t *>(table[abi::kFirstVariableSlot + i]);
    memcpy(bytes, variables[i]->initializer.data(), variables[i]->initializer.size());
    for (const ptx::Relocation &relocation : variables[i]->relocations)
      for (size_t target = 0; target < variables.size(); ++target)
        if (variables[target] == relocation.variable) {
          uint64_t value = table[abi::kFirstVariableSlot + target] + uint64_t(relocation.addend);
          memcpy(bytes + relocation.offset, &value, relocation.width);
        }
  }
  if (std::optional<emulator::Symbol> symbol = object.symbol(abi::kFunctionTable)) {
    std::vector<Unit> units = partition(module);
    const auto *entries = reinterpret_cast<const uint64_t *>(symbol->address);
    for (size_t i = 0; i < variables.size(); ++i)
      for (const ptx::Relocation &relocation : variables[i]->relocations)
        for (size_t f = 0; f < units[0].inInitializers.size(); ++f)
          if (relocation.function == units[0].inInitializers[f])
            memcpy(reinterpret_cast<uint8_t *>(table[abi::kFirstVariableSlot + i]) +
                       relocation.offset,
                   &entries[f], 8);
  }
  if (std::optional<emulator::Symbol> symbol = object.symbol(abi::kModuleTable)) {
    EXPECT_EQ(symbol->size, table.size() * 8);
    memcpy(reinterpret_cast<void *>(symbol->address), table.data(), symbol->size);
  }
  return reinterpret_cast<abi::TrapRecord *>(table[abi::kTrapRecordSlot]);
}

} // namespace

Outcome run(const std::string &ptx, std::vector<uint32_t> words, const Form &form) {
  SCOPED_TRACE(form.arch + ", -O" + std::to_string(form.optLevel) +
               (form.packed       ? ", packed"
                : form.halfFilled ? ", half-filled"
                                  : ", wave32") +
               (form.sharedInMemory ? ", shared memory in device memory" : "") +
               (form.cluster.x ? ", clusters" : "") + (form.byTickets ? " by tickets" : "") +
               (form.inParts ? ", in parts" : ""));
  Outcome outcome;
  const Compiled &compiled = compiledOnce(ptx, form);
  if (compiled.code.empty())
    return outcome;
  emulator::Memory memory;
  std::unique_ptr<emulator::CodeObject> object =
      take(emulator::CodeObject::load(compiled.code, memory));
  if (!object)
    return outcome;
  abi::TrapRecord *trap = loadVariables(compiled.module, *object, memory, form);
  void *buffer = take(memory.allocate(words.size() * 4, emulator::MemoryKind::Device));
  memcpy(buffer, words.data(), words.size() * 4);

  struct {
    uint64_t p;
    uint32_t n, padding;
    abi::LaunchArguments launch;
  } arguments = {};
  arguments.p = reinterpret_cast<uint64_t>(buffer);
  arguments.n = uint32_t(words.size());
  arguments.launch.ntid[0] = form.block.x;
  arguments.launch.ntid[1] = form.block.y;
  arguments.launch.ntid[2] = form.block.z;
  arguments.launch.nctaid[0] = form.grid.x;
  arguments.launch.nctaid[1] = form.grid.y;
  arguments.launch.nctaid[2] = form.grid.z;
  arguments.launch.dynamicSharedBytes = form.dynamicSharedBytes;
  arguments.launch.totalSharedBytes =
      abi::totalSharedBytes(compiled.staticSharedBytes, form.dynamicSharedBytes);
  if (form.cluster.x)
    arguments.launch.cluster = form.cluster.x | form.cluster.y << 8 | form.cluster.z << 16;
  arguments.launch.flags =
      (form.byTickets ? 0u : unsigned(abi::kWorkgroupsInOrder)) |
      abi::sharedRounding(compiled.staticSharedBytes, form.dynamicSharedBytes) |
      abi::parameterSize(12);
  arguments.launch.gridId = 0x1234567890;
  arguments.launch.gridWorkspace = 0xaaaabbbbccccdddd;

  emulator::Launch launch;
  launch.kernel = object->kernel("k");
  if (!launch.kernel) {
    ADD_FAILURE() << "there is no kernel 'k'";
    return outcome;
  }
  EXPECT_EQ(launch.kernel->explicitKernargSize, sizeof(arguments));
  EXPECT_EQ(launch.kernel->waveSize, form.halfFilled || form.packed ? 64u : 32u);
  launch.grid = form.grid;
  launch.block = form.block;
  if (form.halfFilled && !form.packed)
    launch.block = {abi::halfFilledWorkgroupSize(uint32_t(form.block.count())), 1, 1};
  launch.dynamicLdsBytes =
      form.sharedInMemory || form.cluster.x ? abi::kSharedPoolLdsBytes : form.dynamicSharedBytes;
  launch.kernarg = ArrayRef(reinterpret_cast<const uint8_t *>(&arguments), sizeof(arguments));
  launch.hostThreads = form.hostThreads;
  // On a busy machine one wave waits for another's host thread for long.
  launch.instructionLimit = form.hostThreads > 1 ? 1'000'000'000 : 10'000'000;
  if (form.orderSeed)
    launch.checks = emulator::Checks{emulator::OrderCheck{*form.orderSeed, 1}};
  if (form.byTickets) { // launches use the pool one after the other: each leaves it as it was
    EXPECT_FALSE(errorToBool(emulator::run(launch, memory).takeError()));
    memcpy(buffer, words.data(), words.size() * 4);
  }
  Expected<emulator::Statistics> statistics = emulator::run(launch, memory);
  if (!statistics) {
    bool trapped = false;
    std::string message;
    handleAllErrors(
        statistics.takeError(),
        [&](const emulator::Fault &fault) {
          trapped = fault.kind == emulator::Fault::Trap;
          message = fault.message();
        },
        [&](const ErrorInfoBase &error) { message = error.message(); });
    EXPECT_TRUE(trapped && (form.expectTrap || form.mayTrap)) << message;
  } else {
    EXPECT_FALSE(form.expectTrap);
  }
  rubia::test::noteExecuted(compiled.unit);
  outcome.words.resize(words.size());
  memcpy(outcome.words.data(), buffer, words.size() * 4);
  outcome.trap = *trap;
  return outcome;
}

WarpFormOf warpFormOf(const std::string &ptx, const std::string &arch) {
  ptx::ParseResult parsed = ptx::parse("test.ptx", ptx);
  for (const ptx::Diagnostic &diagnostic : parsed.diagnostics)
    ADD_FAILURE() << ptx::format(diagnostic, "test.ptx", ptx);
  std::vector<Unit> units = partition(parsed.module);
  if (units.empty())
    return {};
  Options options;
  options.arch = arch;
  LLVMContext context;
  std::unique_ptr<llvm::Module> module = take(lower(parsed.module, units[0], options, context));
  if (!module)
    return {};
  StringRef text =
      cast<MDString>(module->getNamedMetadata("rubia.metadata")->getOperand(0)->getOperand(0))
          ->getString();
  json::Value metadata = cantFail(json::parse(text));
  const json::Object &kernel = *metadata.getAsObject()->getArray("kernels")->front().getAsObject();
  return {kernel.getString("warpForm")->str(), kernel.getString("warpFormReason")->str(),
          uint32_t(*kernel.getInteger("exactThreads"))};
}

std::vector<uint32_t> runAll(const std::string &ptx, const std::vector<uint32_t> &words,
                             Form form) {
  std::vector<uint32_t> first = run(ptx, words, form).words;
  const StringRef text(ptx);
  const bool hasShared = text.contains(".shared");
  const bool callsAddresses = text.contains(".callprototype") || text.contains(".calltargets");
  auto check = [&](const Form &other, const Twine &what) {
    EXPECT_EQ(run(ptx, words, other).words, first) << what.str();
  };
  auto checkVariants = [&](const char *what) {
    Form other = form;
    other.inParts = true;
    if (callsAddresses)
      check(other, Twine(what) + ", in parts");
    other.inParts = false;
    other.sharedInMemory = true;
    if (hasShared)
      check(other, Twine(what) + ", in device memory");
  };
  const WarpFormOf automatic = warpFormOf(ptx, "gfx942");
  const bool isPacked = automatic.form == "packed" && !automatic.exactThreads;
  // By default one of the warp forms is also run unoptimised, another one for another text.
  const size_t unoptimised = xxh3_64bits(ptx) % (isPacked ? 3 : 2);
  auto checkForm = [&](size_t index, const Twine &what) {
    form.optLevel = 3;
    if (index != 0)
      check(form, "-O3, " + what);
    checkVariants(("-O3, " + what).str().c_str());
    form.optLevel = 0;
    if (rubia::test::wantsAllTargets() || index == unoptimised)
      check(form, "-O0, " + what);
  };
  checkForm(0, "wave32");
  form.halfFilled = true;
  checkForm(1, "half-filled");
  form.packed = true;
  if (isPacked)
    checkForm(2, "packed");
  return first;
}

std::vector<uint32_t> runOnAllTargets(const std::string &ptx, const std::vector<uint32_t> &words,
                                      Form form) {
  std::vector<uint32_t> first;
  auto check = [&] {
    std::vector<uint32_t> result = run(ptx, words, form).words;
    if (first.empty())
      first = result;
    EXPECT_EQ(result, first) << form.arch << (form.packed ? ", packed" : "");
  };
  const bool hasShared = StringRef(ptx).contains(".shared") && !form.sharedInMemory;
  const bool isWhole = rubia::test::wantsAllTargets();
  const size_t third = xxh3_64bits(ptx) % 3;
  for (auto [index, arch] : enumerate(kTargets)) {
    if (!isWhole && index % 3 != third)
      continue;
    form.arch = arch;
    form.packed = false;
    form.halfFilled = isWave64(arch);
    check();
    if (form.halfFilled) {
      WarpFormOf automatic = warpFormOf(ptx, arch);
      form.packed = automatic.form == "packed" && !automatic.exactThreads;
      if (form.packed)
        check();
    }
    if (!hasShared || (!isWhole && index / 3 == 1))
      continue;
    form.sharedInMemory = true;
    check();
    form.sharedInMemory = false;
  }
  return first;
}

std::vector<uint32_t> counting(size_t size) {
  std::vector<uint32_t> words(size);
  std::iota(words.begin(), words.end(), 0);
  return words;
}

} // namespace rubia::lowering::test
