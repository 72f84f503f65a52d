// SPDX-License-Identifier: Apache-2.0
// Definitions come from PTX that was made of the files in lowering/device/ when Rubia was built.
// They are lowered by a UnitLowering of their own into the module of the unit that calls
// them, so that they follow its target, warp form and modes.
#include "lowering/lib/frame/DeviceFunctions.h"
#include "lowering/LaterBodies.h"
#include "lowering/lib/frame/ClusterSlots.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "ptx-frontend/DriverFunctions.h"
#include "ptx-frontend/Parser.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include <algorithm>
#include <atomic>
#include <string_view>

using namespace llvm;

namespace rubia::lowering {

static constexpr char kDriverText[] =
#include "generated/DeviceFunctions.inc"
    ;
static constexpr char kMatrixText[] =
#include "generated/MatrixFunctions.inc"
    ;
static constexpr char kTextureText[] =
#include "generated/Textures.inc"
    ;

static constexpr abi::ModuleTableSlot kRing[] = {abi::kPrintfRingSlot};
static constexpr abi::ModuleTableSlot kHeap[] = {abi::kDeviceHeapSlot};
static constexpr DeviceFunction kFunctions[] = {{"vprintf", kRing, false},
                                                {"malloc", kHeap, false},
                                                {"free", kHeap, false},
                                                {"__assertfail", kRing, true},
                                                {"cudaGraphSetConditional", {}, false}};
static_assert(std::ranges::equal(
    kFunctions, ptx::kDriverFunctions, {},
    [](const DeviceFunction &function) { return std::string_view(function.name); },
    [](StringRef name) { return std::string_view(name); }));

const DeviceFunction *deviceFunction(StringRef name) {
  const DeviceFunction *found = llvm::find_if(
      kFunctions, [&](const DeviceFunction &function) { return function.name == name; });
  return found == std::end(kFunctions) ? nullptr : found;
}

static ptx::Module parseOwn(const char *name, const char *text) {
  return std::move(ptx::parse(name, text).module);
}

const ptx::Module &deviceModule(DeviceLibrary library) {
  // Each is parsed when it is first needed.
  switch (library) {
  case DeviceLibrary::Driver: {
    static const ptx::Module driver = parseOwn("rubia-device-functions.ptx", kDriverText);
    return driver;
  }
  case DeviceLibrary::Matrices: {
    static const ptx::Module matrices = parseOwn("rubia-matrix-functions.ptx", kMatrixText);
    return matrices;
  }
  case DeviceLibrary::Textures: {
    static const ptx::Module textures = parseOwn("rubia-textures.ptx", kTextureText);
    return textures;
  }
  }
  llvm_unreachable("DeviceLibrary");
}

LibraryFacts::LibraryFacts(const Unit &unit)
    : barriers(planBarriers(unit)), sharedLayout(layOutShared(unit)),
      namesClusters(lowering::namesClusters(unit)), calledMeeting(meetingInFunctions(unit)) {}

namespace {
struct LibraryUnit {
  explicit LibraryUnit(DeviceLibrary library)
      : unit{{}, deviceModule(library).functions, {}, {}}, facts(unit) {}

  const Unit unit;
  const LibraryFacts facts;
};

std::atomic<const LibraryUnit *> libraries[3]; // null: not asked for yet
} // namespace

template <DeviceLibrary kLibrary> static const Unit &unitOf() {
  static const LibraryUnit library(kLibrary);
  libraries[size_t(kLibrary)] = &library;
  return library.unit;
}

const LibraryFacts *libraryFacts(const Unit &unit) {
  for (const LibraryUnit *library : libraries)
    if (library && &library->unit == &unit)
      return &library->facts;
  return nullptr;
}

static const Unit &deviceUnit(DeviceLibrary library) {
  switch (library) {
  case DeviceLibrary::Driver:
    return unitOf<DeviceLibrary::Driver>();
  case DeviceLibrary::Matrices:
    return unitOf<DeviceLibrary::Matrices>();
  case DeviceLibrary::Textures:
    return unitOf<DeviceLibrary::Textures>();
  }
  llvm_unreachable("DeviceLibrary");
}

std::unique_ptr<UnitLowering> UnitLowering::makeLibrary(DeviceLibrary library) {
  // Not the checked form: what they write nobody reads behind a barrier, or who calls them has been
  // checked. The words of LDS that are needed for that are the calling unit's.
  WarpFormDecision form;
  form.form = warpForm.form;
  auto lowering = std::make_unique<UnitLowering>(deviceModule(library), deviceUnit(library),
                                                 options, target, std::move(form), module);
  lowering->isDeviceLibrary = true;
  lowering->flushesF32Denormals = flushesF32Denormals;
  lowering->experience = experience;
  if (library != DeviceLibrary::Textures)
    lowering->parent = this;
  return lowering;
}

constexpr StringLiteral kRegisterLimit = "amdgpu-num-vgpr";

/// The name of a sampler's body: all that it is made of. Whatever else makeLibrary() gives to the
/// sampler's lowering is the same for all units, or follows from the options and the form.
static std::string bodyName(const UnitLowering &sampler, StringRef function,
                            const Function &declaration) {
  const Options &options = sampler.options;
  std::string name;
  raw_string_ostream os(name);
  os << function << ' ' << options.arch << ' ' << nameOf(sampler.warpForm.form)
     << (sampler.flushesF32Denormals ? " ftz " : " ") << int(options.fit) << ' '
     << options.spinLimit << ' ' << declaration.getFnAttribute(kRegisterLimit).getValueAsString();
  for (const auto &[setting, word] : options.code.keyFields())
    os << ' ' << setting << '=' << word;
  return name;
}

/// Of a body that is given later, or by nobody.
constexpr StringLiteral kBodyLater = "rubia-body-later";

Function *UnitLowering::deviceFunction(DeviceLibrary library, StringRef name) {
  const ptx::Function *function = deviceModule(library).function(name);
  if (!function)
    return nullptr;
  std::unique_ptr<UnitLowering> &lowering = deviceFunctions[size_t(library)];
  if (!lowering)
    lowering = makeLibrary(library);
  if (Function *made = lowering->functionFor(*function))
    return made;
  lowering->directlyCalled.insert(function);
  lowering->declareFunction(*function);
  Function *made = lowering->functionFor(*function);
  made->setName("__rubia_" + name); // LLVM has ideas of its own about a function named malloc
  made->addFnAttr(Attribute::NoInline);
  if (library != DeviceLibrary::Textures) {
    lowering->lowerBody(*function);
    return made;
  }
  // Compiled once, and not with each unit (codegen/lib/speed/KeptFunctions.h). They call nothing:
  // where LLVM knows, a caller keeps its values out of the registers that such a function writes,
  // and none is saved on a stack.
  made->addFnAttr(Attribute::NoRecurse);
  leaveRegisters(*made);
  made->addFnAttr("rubia-kept", bodyName(*lowering, name, *made));
  if (leavesBodies || experience) { // a judgement asks for no body
    made->addFnAttr(kBodyLater);
    lowering->debugInfo.addFunction(*function, *made);
    new UnreachableInst(module.getContext(), BasicBlock::Create(module.getContext(), "", made));
  } else {
    lowering->lowerSampler(*function);
  }
  return made;
}

// Where a unit's kernels have 128 vector registers, as they have with more than 12 waves of a
// workgroup, the sampler would write all of them, and its callers keep no value in one.
void UnitLowering::leaveRegisters(Function &sampler) const {
  constexpr uint32_t kThreadsOf12Waves = 768;
  constexpr unsigned kForSampler = 112;
  if (target.row->accumulators != targets::Accumulators::Shared)
    return;
  const auto hasFew = [&](const ptx::Function *kernel) {
    const uint32_t most = maxThreads(*kernel);
    return (target.halfFilled() ? abi::halfFilledWorkgroupSize(most) : most) > kThreadsOf12Waves;
  };
  // LLVM doubles the number where accumulation registers are a part of the vector registers.
  if (any_of(unit.kernels, hasFew))
    sampler.addFnAttr(kRegisterLimit, std::to_string(kForSampler / 2));
}

static std::atomic<unsigned> bodyCount;

unsigned samplerBodyCount() { return bodyCount; }

void UnitLowering::lowerSampler(const ptx::Function &function) {
  ++bodyCount;
  lowerBody(function);
  // All lanes of a call have the same record, which is then read by scalar instructions.
  Function *made = functionFor(function);
  Argument *handle = made->getArg(0);
  IRBuilder<> entry(&made->getEntryBlock(), made->getEntryBlock().begin());
  Value *shared =
      entry.CreateIntrinsic(entry.getInt64Ty(), Intrinsic::amdgcn_readfirstlane, {handle});
  handle->replaceUsesWithIf(shared, [&](Use &use) { return use.getUser() != shared; });
}

void UnitLowering::giveBody(Function &function) {
  const auto found =
      find_if(functions, [&](const auto &entry) { return entry.second == &function; });
  assert(found != functions.end() && function.hasFnAttribute(kBodyLater));
  function.removeFnAttr(kBodyLater);
  function.begin()->eraseFromParent();
  lowerSampler(*found->first);
}

Function *UnitLowering::driverFunction(StringRef name) {
  return deviceFunction(DeviceLibrary::Driver, name);
}

Function *UnitLowering::matrixFunction(StringRef name) {
  return deviceFunction(DeviceLibrary::Matrices, name);
}

Function *UnitLowering::textureFunction(StringRef name) {
  return deviceFunction(DeviceLibrary::Textures, name);
}

} // namespace rubia::lowering
