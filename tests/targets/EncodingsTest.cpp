// SPDX-License-Identifier: Apache-2.0
// With the bytes that targets/Encodings.h leaves it, LLVM's disassembler gives what it gives with
// all.
#include "targets/Encodings.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/TargetParser/Triple.h"
#include <array>
#include <gtest/gtest.h>
#include <random>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

using namespace llvm;
using llvm::support::endian::read32le;
using llvm::support::endian::write32le;

namespace rubia::targets {
namespace {

class Decoder {
public:
  explicit Decoder(StringRef processor) {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    const Triple triple("amdgcn-amd-amdhsa");
    std::string error;
    const llvm::Target *target = TargetRegistry::lookupTarget(triple, error);
    registers.reset(target->createMCRegInfo(triple));
    syntax.reset(target->createMCAsmInfo(*registers, triple, MCTargetOptions()));
    const bool hasHalves = find(processor)->isa >= 11;
    subtarget.reset(target->createMCSubtargetInfo(
        triple, processor, hasHalves ? "+real-true16,+wavefrontsize32" : "+wavefrontsize32"));
    context = std::make_unique<MCContext>(triple, syntax.get(), registers.get(), subtarget.get());
    decoder.reset(target->createMCDisassembler(*subtarget, *context));
  }
  /// Size, opcode and operands; empty: no instruction.
  std::string decode(ArrayRef<uint8_t> bytes) const {
    MCInst inst;
    uint64_t size = 0;
    if (decoder->getInstruction(inst, size, bytes, 0, nulls()) != MCDisassembler::Success)
      return {};
    std::string text = std::to_string(size) + ": ";
    raw_string_ostream os(text);
    inst.print(os);
    return text;
  }

private:
  std::unique_ptr<MCRegisterInfo> registers;
  std::unique_ptr<MCAsmInfo> syntax;
  std::unique_ptr<MCSubtargetInfo> subtarget;
  std::unique_ptr<MCContext> context;
  std::unique_ptr<MCDisassembler> decoder;
};

/// The second word of VOP3 has three sources of nine bits.
uint32_t withSource(uint32_t word, unsigned source, uint32_t value) {
  return (word & ~(0x1ffu << 9 * source)) | value << 9 * source;
}

TEST(Encodings, DecodeAsWithAllBytes) {
  for (const char *processor : {"gfx1030", "gfx1100", "gfx1201"}) {
    const Target *target = find(processor);
    ASSERT_TRUE(target);
    const Decoder decoder(processor);
    std::mt19937 random(1);
    unsigned instructions = 0, shortened = 0;
    for (unsigned i = 0; i < 40000; ++i) {
      std::array<uint8_t, 16> bytes;
      for (uint8_t &byte : bytes)
        byte = uint8_t(random());
      constexpr uint8_t kFollowed[] = {0xff, 0xfa, 0xe9, 0xea}; // a literal, DPP16, DPP8
      const uint8_t followed = kFollowed[random() % 4];
      if (i % 4 == 0) // VOP1, VOPC
        bytes[3] = 0x7c | (bytes[3] & 3);
      else if (i % 4 == 1) // SOP1, SOPC, SOPP, SOPK
        bytes[3] = 0xb0 | (bytes[3] & 15);
      // VOP3, VOP3P: with a literal or DPP as one of three sources, or VOPC's result.
      if (i % 4 == 2) {
        bytes[3] = i % 8 == 2 ? 0xcc : 0xd4 | (bytes[3] & 3);
        if (i % 3 == 0)
          bytes[0] = followed;
        else if (i % 3 == 1)
          write32le(&bytes[4], withSource(read32le(&bytes[4]), random() % 3, followed));
      } else if (i % 3 == 0) {
        bytes[0] = followed;
      }
      const ArrayRef<uint8_t> some = bytesOfFirst(*target, bytes);
      const std::string whole = decoder.decode(bytes);
      instructions += !whole.empty();
      shortened += some.size() < bytes.size();
      ASSERT_EQ(decoder.decode(some), whole) << processor << ", case " << i;
    }
    EXPECT_GT(instructions, 10000u);
    EXPECT_GT(shortened, 20000u);
  }
}

} // namespace
} // namespace rubia::targets
