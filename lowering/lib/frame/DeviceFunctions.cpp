// SPDX-License-Identifier: Apache-2.0
// Definitions come from PTX that was made of the files in lowering/device/ when Rubia was built.
// They are lowered by a UnitLowering of their own into the module of the unit that calls
// them, so that they follow its target, warp form and modes.
#include "lowering/lib/frame/DeviceFunctions.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "ptx-frontend/DriverFunctions.h"
#include "ptx-frontend/Parser.h"
#include "llvm/IR/Module.h"
#include <algorithm>
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

template <DeviceLibrary kLibrary> static const Unit &unitOf() {
  static const Unit unit{{}, deviceModule(kLibrary).functions, {}, {}};
  return unit;
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

Function *UnitLowering::deviceFunction(DeviceLibrary library, StringRef name) {
  const ptx::Module &definitions = deviceModule(library);
  const ptx::Function *function = definitions.function(name);
  if (!function)
    return nullptr;
  std::unique_ptr<UnitLowering> &lowering = deviceFunctions[size_t(library)];
  if (!lowering) {
    // What they write nobody reads behind a barrier, or who calls them has been checked. The words
    // of LDS that are needed for that are the calling unit's.
    WarpFormDecision form = warpForm;
    form.isChecked = false;
    lowering = std::make_unique<UnitLowering>(definitions, deviceUnit(library), options, target,
                                              std::move(form), module);
    lowering->parent = this;
    lowering->isDeviceLibrary = true;
    lowering->experience = experience;
    lowering->flushesF32Denormals = flushesF32Denormals;
  }
  if (Function *made = lowering->functionFor(*function))
    return made;
  lowering->directlyCalled.insert(function);
  lowering->declareFunction(*function);
  Function *made = lowering->functionFor(*function);
  made->setName("__rubia_" + name); // LLVM has ideas of its own about a function named malloc
  made->addFnAttr(Attribute::NoInline);
  if (library == DeviceLibrary::Textures) {
    // Compiled once, and not with each unit (codegen/lib/speed/KeptFunctions.h). They call nothing:
    // where LLVM knows, a caller keeps its values out of the registers that such a function writes,
    // and none is saved on a stack.
    made->addFnAttr("rubia-kept");
    made->addFnAttr(Attribute::NoRecurse);
  }
  lowering->lowerBody(*function);
  return made;
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
