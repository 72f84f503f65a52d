// SPDX-License-Identifier: Apache-2.0
// Functions of ours that many units contain, such as the sampler of textures: 15,000 LLVM
// instructions, for kernels of a hundred. They are compiled once for a target and a kernel's
// attributes. In a unit, their machine code stands in the place of their bodies. For LLVM it is one
// instruction, which writes the same registers: callers keep their values in others, and kernels
// have as many as with the bodies.
//
// The code is found by a body's name, so that a unit which gets it has no body.
#pragma once

#include "codegen/Codegen.h"
#include "codegen/lib/TargetId.h"
#include <memory>

namespace llvm {
class AsmPrinter;
class AsmPrinterHandler;
class Pass;
class TargetMachine;
} // namespace llvm

namespace rubia::codegen {

/// The attribute of such functions. They are internal and call nothing but intrinsics. Its value
/// is the body's name: bodies with one name are equal but for lines.
inline constexpr llvm::StringLiteral kIsKept = "rubia-kept";
/// The attribute of functions whose body is none yet: Options::giveBody has it.
inline constexpr llvm::StringLiteral kBodyLater = "rubia-body-later";

namespace kept {
/// What a function is whose body is assembly without text: its code, the bytes of a lane's stack
/// that this needs, the alignment of its first instruction, and the registers that it writes.
inline constexpr llvm::StringLiteral kCode = "rubia-code", kStack = "rubia-stack",
                                     kAlignment = "rubia-alignment", kWritten = "rubia-written";
} // namespace kept

/// Gives the functions of a module the bodies that they lack.
llvm::Error giveBodies(llvm::Module &module, const Options &options);

/// Gives functions of a prepared module the code that they have been compiled to. Others stay as
/// they are: those that need more than their arguments and a stack of one size, those that refer to
/// symbols, and all where kernels differ in what LLVM has to know about them.
llvm::Error takeKeptFunctions(llvm::Module &module, llvm::TargetMachine &machine,
                              const Options &options);

/// A pass to be run behind selection, one to be run right before the pass kRegisterUse, which tells
/// callers what functions write, and what prints the code.
llvm::Pass *makeKeptConventions();
llvm::Pass *makeKeptBodies();
std::unique_ptr<llvm::AsmPrinterHandler> makeKeptPrinter(llvm::AsmPrinter &printer);

/// How many functions this process has compiled and kept.
unsigned keptFunctionCount();

} // namespace rubia::codegen
