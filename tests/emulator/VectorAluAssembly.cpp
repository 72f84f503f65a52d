// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/VectorAluAssembly.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCFixup.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCObjectFileInfo.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/TargetParser/Triple.h"
#include <gtest/gtest.h>

extern "C" void LLVMInitializeAMDGPUAsmParser();

using namespace llvm;

namespace rubia::emulator::test {

namespace {
/// Encodes what the parser gives it; `.long` is for what has no text.
class Collector : public MCStreamer {
public:
  Collector(MCContext &context, MCCodeEmitter &emitter) : MCStreamer(context), emitter(emitter) {}
  bool emitSymbolAttribute(MCSymbol *, MCSymbolAttr) override { return true; }
  void emitCommonSymbol(MCSymbol *, uint64_t, Align) override {}
  void emitInstruction(const MCInst &inst, const MCSubtargetInfo &subtarget) override {
    SmallVector<char, 24> code;
    SmallVector<MCFixup, 2> fixups;
    emitter.encodeInstruction(inst, code, fixups, subtarget);
    bytes.insert(bytes.end(), code.begin(), code.end());
  }
  void emitBytes(StringRef data) override { bytes.insert(bytes.end(), data.begin(), data.end()); }
  std::vector<uint8_t> bytes;

private:
  MCCodeEmitter &emitter;
};
} // namespace

static std::vector<uint8_t> assembled(const std::string &text, const std::string &cpu,
                                      unsigned waveSize) {
  LLVMInitializeAMDGPUAsmParser();
  Triple triple("amdgcn-amd-amdhsa");
  std::string error;
  const llvm::Target *target = TargetRegistry::lookupTarget(triple, error);
  MCTargetOptions options;
  std::string features;
  const targets::Target &row = rubia::test::rowOf(cpu);
  if (row.hasWave32)
    features = waveSize == 64 ? "+wavefrontsize64" : "+wavefrontsize32";
  if (row.isa >= 11)
    features += ",+real-true16";
  std::unique_ptr<MCRegisterInfo> registers(target->createMCRegInfo(triple));
  std::unique_ptr<MCAsmInfo> info(target->createMCAsmInfo(*registers, triple, options));
  std::unique_ptr<MCInstrInfo> instructions(target->createMCInstrInfo());
  std::unique_ptr<MCSubtargetInfo> subtarget(target->createMCSubtargetInfo(triple, cpu, features));
  SourceMgr sources;
  sources.AddNewSourceBuffer(MemoryBuffer::getMemBufferCopy(text), SMLoc());
  MCContext context(triple, info.get(), registers.get(), subtarget.get(), &sources);
  std::unique_ptr<MCObjectFileInfo> objectFile(
      target->createMCObjectFileInfo(context, /*PIC=*/false));
  context.setObjectFileInfo(objectFile.get());
  std::unique_ptr<MCCodeEmitter> emitter(target->createMCCodeEmitter(*instructions, context));
  Collector collector(context, *emitter);
  target->createNullTargetStreamer(collector);
  std::unique_ptr<MCAsmParser> parser(createMCAsmParser(sources, context, collector, *info));
  std::unique_ptr<MCTargetAsmParser> targetParser(
      target->createMCAsmParser(*subtarget, *parser, *instructions, options));
  parser->setTargetParser(*targetParser);
  if (parser->Run(/*NoInitialTextSection=*/false))
    ADD_FAILURE() << "not assembled for " << cpu << ": " << text;
  return collector.bytes;
}

AssemblyWave::AssemblyWave(const std::string &cpu, unsigned waveSize) : cpu(cpu) {
  const targets::Target &row = rubia::test::rowOf(cpu);
  const unsigned lanes = waveSize ? waveSize : row.waveSize();
  auto created = Target::create(cpu, lanes);
  if (created)
    target = std::move(*created);
  else
    ADD_FAILURE() << toString(created.takeError());
  constexpr unsigned kCount = 80;
  registers.resize(2 * kCount * kBlockLanes);
  wave.vgprs = registers.data();
  wave.blockStride = kCount * kBlockLanes;
  wave.vgprCount = kCount;
  wave.blocks = uint8_t(lanes / kBlockLanes);
  group.target = &row;
  wave.group = &group;
  wave.setMask(kExec, ~uint64_t(0));
  wave.setMode(0xf0);
  for (unsigned r = 0; r < kCount - 1; ++r)
    for (unsigned lane = 0; lane < lanes; ++lane)
      v(r, lane) = start(r, lane);
}
AssemblyWave::~AssemblyWave() = default;

AssemblyWave &AssemblyWave::set(unsigned r, uint32_t value) {
  for (unsigned lane = 0; lane < lanes(); ++lane)
    v(r, lane) = value;
  return *this;
}

std::unique_ptr<Program> AssemblyWave::decode(const std::string &text,
                                              std::vector<Unsupported> &unsupported) {
  images.push_back(assembled(text, cpu, lanes()));
  const std::vector<uint8_t> &image = images.back();
  return decodeProgram(*target, image, 0, CodeRange{0, image.size()}, lanes(), unsupported,
                       perturb);
}

AssemblyWave &AssemblyWave::run(const std::string &text) {
  std::vector<Unsupported> unsupported;
  std::unique_ptr<Program> program = decode(text, unsupported);
  for (const Unsupported &problem : unsupported)
    ADD_FAILURE() << cpu << ": " << problem.text << ": " << problem.reason;
  // The last operation stands for the end of the code.
  for (size_t i = 0; i + 1 < program->operations.size() && unsupported.empty(); ++i)
    program->operations[i].handler(wave, program->operations[i]);
  return *this;
}

std::string AssemblyWave::refusal(const std::string &text) {
  std::vector<Unsupported> unsupported;
  decode(text, unsupported);
  return unsupported.empty() ? "" : unsupported.front().reason;
}

} // namespace rubia::emulator::test
