// SPDX-License-Identifier: Apache-2.0
// LLVM's assembler in this process: clang takes 20 ms to start, and there are hundreds of kernels.
#include "tests/emulator/Assembler.h"
#include "llvm/MC/MCAsmBackend.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCObjectFileInfo.h"
#include "llvm/MC/MCObjectWriter.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

extern "C" void LLVMInitializeAMDGPUTargetInfo();
extern "C" void LLVMInitializeAMDGPUTargetMC();
extern "C" void LLVMInitializeAMDGPUAsmParser();

using namespace llvm;

namespace rubia::emulator::test {

Expected<std::vector<uint8_t>> assembleObject(const std::string &source, const std::string &cpu) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmParser();
  const Triple triple("amdgcn-amd-amdhsa");
  std::string problem;
  const Target *target = TargetRegistry::lookupTarget(triple, problem);
  if (!target)
    return createStringError(problem);
  const MCTargetOptions options;
  const std::unique_ptr<MCRegisterInfo> registers(target->createMCRegInfo(triple));
  const std::unique_ptr<MCAsmInfo> info(target->createMCAsmInfo(*registers, triple, options));
  const std::unique_ptr<MCInstrInfo> instructions(target->createMCInstrInfo());
  const std::unique_ptr<MCSubtargetInfo> subtarget(target->createMCSubtargetInfo(triple, cpu, ""));
  SourceMgr sources;
  sources.AddNewSourceBuffer(MemoryBuffer::getMemBuffer(source), SMLoc());
  sources.setDiagHandler(
      [](const SMDiagnostic &said, void *text) {
        raw_string_ostream out(*static_cast<std::string *>(text));
        said.print("", out, /*ShowColors=*/false);
      },
      &problem);
  MCContext context(triple, info.get(), registers.get(), subtarget.get(), &sources, &options);
  const std::unique_ptr<MCObjectFileInfo> sections(
      target->createMCObjectFileInfo(context, /*PIC=*/true));
  context.setObjectFileInfo(sections.get());

  SmallString<0> object;
  raw_svector_ostream out(object);
  std::unique_ptr<MCAsmBackend> backend(
      target->createMCAsmBackend(*subtarget, *registers, options));
  std::unique_ptr<MCObjectWriter> writer = backend->createObjectWriter(out);
  const std::unique_ptr<MCStreamer> streamer(target->createMCObjectStreamer(
      triple, context, std::move(backend), std::move(writer),
      std::unique_ptr<MCCodeEmitter>(target->createMCCodeEmitter(*instructions, context)),
      *subtarget));
  const std::unique_ptr<MCAsmParser> parser(createMCAsmParser(sources, context, *streamer, *info));
  const std::unique_ptr<MCTargetAsmParser> targetParser(
      target->createMCAsmParser(*subtarget, *parser, *instructions, options));
  parser->setTargetParser(*targetParser);
  if (parser->Run(/*NoInitialTextSection=*/false) || context.hadError())
    return createStringError(problem);
  return std::vector<uint8_t>(object.begin(), object.end());
}

} // namespace rubia::emulator::test
