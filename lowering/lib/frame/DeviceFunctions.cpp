// SPDX-License-Identifier: Apache-2.0
// Definitions come from PTX that was made of lowering/device/DeviceFunctions.cpp when Rubia was
// built. They are lowered by a UnitLowering of their own into the module of the unit that calls
// them, so that they follow its target, warp form and modes.
#include "lowering/lib/frame/DeviceFunctions.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "ptx-frontend/Parser.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace rubia::lowering {

static constexpr char kText[] =
#include "generated/DeviceFunctions.inc"
    ;

static constexpr abi::ModuleTableSlot kRing[] = {abi::kPrintfRingSlot};
static constexpr abi::ModuleTableSlot kHeap[] = {abi::kDeviceHeapSlot};
static constexpr DeviceFunction kFunctions[] = {{"vprintf", kRing, false},
                                                {"malloc", kHeap, false},
                                                {"free", kHeap, false},
                                                {"__assertfail", kRing, true}};

const DeviceFunction *deviceFunction(StringRef name) {
  const DeviceFunction *found = llvm::find_if(
      kFunctions, [&](const DeviceFunction &function) { return function.name == name; });
  return found == std::end(kFunctions) ? nullptr : found;
}

const ptx::Module &deviceModule() {
  static const ptx::Module module =
      std::move(ptx::parse("rubia-device-functions.ptx", kText).module);
  return module;
}

const Unit &deviceUnit() {
  static const Unit unit{{}, deviceModule().functions, {}, {}};
  return unit;
}

Function *UnitLowering::driverFunction(StringRef name) {
  const ptx::Function *function = deviceModule().function(name);
  if (!function)
    return nullptr;
  if (!driverFunctions) {
    driverFunctions = std::make_unique<UnitLowering>(deviceModule(), deviceUnit(), options, target,
                                                     warpForm, module);
    driverFunctions->parent = this;
    driverFunctions->flushesF32Denormals = flushesF32Denormals;
  }
  if (Function *made = driverFunctions->functionFor(*function))
    return made;
  driverFunctions->directlyCalled.insert(function);
  driverFunctions->declareFunction(*function);
  Function *made = driverFunctions->functionFor(*function);
  made->setName("__rubia_" + name); // LLVM has ideas of its own about a function named malloc
  made->addFnAttr(Attribute::NoInline);
  driverFunctions->lowerBody(*function);
  return made;
}

} // namespace rubia::lowering
