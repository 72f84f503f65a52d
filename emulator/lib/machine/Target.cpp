// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/machine/Target.h"
#include "emulator/lib/machine/Encodings.h"
#include "emulator/lib/machine/LlvmPrivate.h"
#include "emulator/lib/machine/Wave.h"
#include "targets/Encodings.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/StringSaver.h"
#include "llvm/TargetParser/Triple.h"
#include <map>
#include <mutex>
#include <set>

// Private to LLVM's AMDGPU target; the archives export them.
extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

using namespace llvm;

namespace rubia::emulator {

static const char *const kTriple = "amdgcn-amd-amdhsa";

/// Drops what names an encoding, an address form or a register class variant.
static std::string baseName(StringRef name) {
  static constexpr StringLiteral kSuffixes[] = {
      "_e32",       "_e64",         "_dpp",    "_dpp8",      "_sdwa",
      "_t16",       "_fake16",      "_nosdst", "_nosrc",     "_gfx9",
      "_gfx90a",    "_gfx10",       "_gfx11",  "_gfx12",     "_gfx940",
      "_gfx950",    "_opsel",       "_ec",     "_exact",     "_mode",
      "_const",     "_sideeffects", "_pseudo", "_pad_s_nop", "_SADDR",
      "_ST",        "_SVS",         "_RTN",    "_OFFEN",     "_OFFSET",
      "_IDXEN",     "_BOTHEN",      "_ADDR64", "_VBUFFER",   "_twoaddr",
      "_threeaddr", "_w32",         "_w64",    "_TIED",      "_gfx6_gfx7_gfx8_gfx9",
      "_gfx6_gfx7", "_vi",          "_agpr",   "_OP_SEL",    "_vgprcd",
      "_mac",       "_OPT"};
  bool changed = true;
  while (changed) {
    changed = false;
    for (StringRef suffix : kSuffixes)
      if (name.size() > suffix.size() && name.consume_back(suffix))
        changed = true;
    if (name.starts_with("S_") &&
        (name.consume_back("_SGPR_IMM") || name.consume_back("_IMM") || name.consume_back("_SGPR")))
      changed = true;
  }
  // V_MFMA_F32_16X16X128_F8F6F4_f8_f4: the formats are operands too.
  if (name.contains("F8F6F4_"))
    name = name.take_front(name.find("F8F6F4_") + 6);
  std::string result = name.str();
  if (size_t at = result.find("_RTN_"); name.starts_with("DS_") && at != std::string::npos)
    result.erase(at, 4);
  return result;
}

/// Of RDNA's image instructions LLVM has no pseudos, but one opcode for each number of registers:
/// IMAGE_SAMPLE_V4_V2_nsa_gfx11. Empty: it is none.
static std::string imageName(StringRef name) {
  if (!name.starts_with("IMAGE_") || !name.contains("_gfx1"))
    return "";
  for (size_t at = name.find("_V"); at != StringRef::npos; at = name.find("_V", at + 1))
    if (isDigit(name.substr(at + 2).front())) {
      name = name.take_front(at);
      break;
    }
  name.consume_back("_NORTN");
  return name.str();
}

/// Opcodes of pseudos come before all others, which are sorted by name (operandNamesMatch() would
/// notice if they were not). 0 if there is none of that name.
static unsigned findOpcode(const MCInstrInfo &instructions, StringRef name) {
  const auto opcodes = seq(0u, instructions.getNumOpcodes());
  const auto real = partition_point(
      opcodes, [&](unsigned opcode) { return instructions.get(opcode).isPseudo(); });
  const auto found = std::lower_bound(real, opcodes.end(), name, [&](unsigned opcode, StringRef n) {
    return instructions.getName(opcode) < n;
  });
  return found != opcodes.end() && instructions.getName(*found) == name ? *found : 0;
}

/// Computed when they are first asked for: a program needs some hundred of 36,000, and the searches
/// in LLVM's map for all of them took 34 ms, for one column of it 1.3.
class Target::Names {
public:
  explicit Names(const MCInstrInfo &instructions) : instructions(instructions) {}

  StringRef of(unsigned opcode) {
    std::lock_guard lock(mutex);
    auto [entry, isNew] = known.try_emplace(opcode);
    if (isNew)
      entry->second = saver.save(find(opcode));
    return entry->second;
  }

private:
  std::string find(unsigned opcode) {
    if (std::string name = fromPseudo(opcode); !name.empty())
      return name;
    if (const std::string image = imageName(instructions.getName(opcode)); !image.empty())
      return image;
    // No pseudo leads to most of the DPP8 forms and to some DPP ones, nor to gfx12's buffer
    // operations with another FORMAT field than the assembler writes, which they ignore: they have
    // the names of the same instruction's other forms.
    auto fromOther = [&](StringRef other) {
      const unsigned found = findOpcode(instructions, other);
      return found ? fromPseudo(found) : "";
    };
    StringRef name = instructions.getName(opcode);
    if (StringRef plain = name; plain.consume_back("_format"))
      if (std::string found = fromOther(plain); !found.empty())
        return found;
    StringRef form = name.contains("_dpp8_") ? "_dpp8_" : "_dpp_";
    if (const size_t at = name.find(form); at != StringRef::npos)
      for (StringRef other : {"_", "_dpp_", "_e32_"})
        if (std::string found =
                fromOther((name.take_front(at) + other + name.substr(at + form.size())).str());
            !found.empty())
          return found;
    return "";
  }

  /// By LLVM's map from pseudos to the opcodes of each family of encodings. A real opcode is in one
  /// column of it, which its name tells up to two or three.
  std::string fromPseudo(unsigned opcode) {
    struct Columns {
      StringRef part;
      std::initializer_list<unsigned> columns;
    };
    // SIEncodingFamily.
    static constexpr unsigned kVi = 1, kSdwaVi = 2, kSdwa9 = 3, kGfx9 = 5, kGfx10 = 6, kSdwa10 = 7,
                              kGfx90a = 8, kGfx940 = 9, kGfx11 = 10, kGfx12 = 11;
    static const Columns kColumns[] = {
        {"_gfx11", {kGfx11}},   {"_gfx12", {kGfx12}},        {"_gfx10", {kGfx10, kSdwa10}},
        {"_gfx90a", {kGfx90a}}, {"_gfx940", {kGfx940, kVi}}, {"_gfx9", {kGfx9, kVi, kSdwa9}},
        {"_vi", {kVi, kSdwaVi}}};
    const StringRef name = instructions.getName(opcode);
    const Columns *row = find_if(kColumns, [&](const Columns &c) { return name.contains(c.part); });
    if (row == std::end(kColumns))
      return "";
    std::string shortest;
    for (unsigned column : row->columns) {
      // Several pseudos may share a real opcode (S_MOV_B32_sideeffects): the shortest name is the
      // plain one.
      const Column &pairs = read(column);
      for (const auto *at = lower_bound(pairs, Pair(opcode, 0));
           at != pairs.end() && at->first == opcode; ++at)
        if (std::string name = baseName(instructions.getName(at->second));
            shortest.empty() || name.size() < shortest.size())
          shortest = std::move(name);
      if (!shortest.empty())
        break;
    }
    return shortest;
  }

  using Pair = std::pair<uint16_t, uint16_t>; // a real opcode and a pseudo
  using Column = SmallVector<Pair, 0>;

  const Column &read(unsigned column) {
    auto [entry, isNew] = columns.try_emplace(column);
    Column &pairs = entry->second;
    if (!isNew)
      return pairs;
    const unsigned count = instructions.getNumOpcodes();
    for (unsigned pseudo = 1; pseudo < count && instructions.get(pseudo).isPseudo(); ++pseudo) {
      const int64_t real = AMDGPU::getMCOpcode(uint16_t(pseudo), column);
      if (real > 0 && real < count)
        pairs.push_back({uint16_t(real), uint16_t(pseudo)});
    }
    sort(pairs);
    return pairs;
  }

  const MCInstrInfo &instructions; // the tables of LLVM, which last
  std::mutex mutex;
  std::map<unsigned, Column> columns; // sorted
  BumpPtrAllocator storage;
  StringSaver saver{storage};
  DenseMap<unsigned, StringRef> known;
};

static const char *const kVersionMessage = "this LLVM numbers operands differently from LLVM 22.1";

/// Compares a few known operand positions with what this LLVM says.
static bool operandNamesMatch(const MCInstrInfo &instructions) {
  struct Known {
    const char *opcode;
    OperandName name;
    int index;
  };
  static constexpr Known kKnown[] = {
      {"V_FMA_F32_e64_gfx11", OperandName::src2_modifiers, 5},
      {"V_FMA_F32_e64_gfx11", OperandName::omod, 8},
      {"V_ADD_F32_e64_dpp_gfx11", OperandName::dpp_ctrl, 8},
      {"V_ADD_F32_e64_dpp_gfx11", OperandName::fi, 12},
      {"DS_READ2_B32_gfx11", OperandName::offset1, 3},
      {"GLOBAL_LOAD_DWORD_SADDR_gfx11", OperandName::saddr, 1},
      {"S_LOAD_B32_SGPR_IMM_gfx11", OperandName::soffset, 2},
      {"S_SETREG_IMM32_B32_gfx11", OperandName::imm, 0},
      {"V_CMP_LT_F32_e32_dpp8_gfx11", OperandName::dpp8, 4},
      {"DS_CMPSTORE_B32_gfx11", OperandName::data1, 2},
      {"BUFFER_LOAD_DWORD_OFFEN_gfx11", OperandName::srsrc, 2},
      {"V_MAD_U64_U32_gfx11_e64_gfx11", OperandName::sdst, 1},
      {"V_MFMA_SCALE_F32_16X16X128_F8F6F4_f8_f8_gfx940_vcd", OperandName::scale_src1, 7},
      {"V_MFMA_F32_32X32X1F32_gfx90a_vcd", OperandName::abid, 5},
      {"V_SMFMAC_F32_16X16X64_F16_gfx940", OperandName::idx, 3},
      {"V_SWMMAC_F32_16X16X32_F16_w32_twoaddr_gfx12", OperandName::index_key_16bit, 7},
      {"V_SWMMAC_F32_16X16X32_F16_w64_twoaddr_gfx12", OperandName::index_key_8bit, 7},
      {"V_ADD_U32_sdwa_gfx9", OperandName::dst_unused, 7},
      {"V_ADD_U32_sdwa_gfx9", OperandName::src1_sel, 9},
      {"V_BITOP3_B32_gfx9", OperandName::bitop3, 4},
      {"V_CVT_F32_FP8_e64_gfx12", OperandName::byte_sel, 2},
      {"IMAGE_SAMPLE_V4_V2_gfx10", OperandName::ssamp, 3},
      {"IMAGE_SAMPLE_V4_V2_gfx12", OperandName::samp, 4},
      {"IMAGE_SAMPLE_V4_V2_gfx12", OperandName::rsrc, 3},
      {"IMAGE_SAMPLE_V4_V2_gfx12", OperandName::vaddr0, 1},
      {"IMAGE_ATOMIC_ADD_V1_V2_gfx11", OperandName::vaddr0, 2},
      {"IMAGE_SAMPLE_V4_V2_gfx10", OperandName::dmask, 4},
      {"IMAGE_SAMPLE_V4_V2_gfx10", OperandName::dim, 5},
      {"IMAGE_SAMPLE_V4_V2_gfx10", OperandName::unorm, 6},
      {"IMAGE_SAMPLE_V4_V2_gfx10", OperandName::r128, 8},
      {"IMAGE_SAMPLE_V4_V2_gfx10", OperandName::a16, 9},
      {"IMAGE_SAMPLE_V4_V2_gfx10", OperandName::tfe, 10},
      {"IMAGE_SAMPLE_V4_V2_gfx10", OperandName::lwe, 11},
      {"IMAGE_SAMPLE_V4_V2_gfx10", OperandName::d16, 12},
  };
  return all_of(kKnown, [&](const Known &known) {
    const unsigned opcode = findOpcode(instructions, known.opcode);
    return opcode &&
           AMDGPU::getNamedOperandIdx(uint16_t(opcode), AMDGPU::OpName(known.name)) == known.index;
  });
}

static RegisterOperand classify(StringRef name, unsigned encoding) {
  using Class = RegisterOperand::Class;
  RegisterOperand result;
  result.highHalf = encoding & 4096;
  unsigned index = encoding & 1023;
  result.index = uint16_t(index);
  if (name.starts_with("SGPR_NULL"))
    result.kind = Class::Null;
  else if (name.starts_with("VGPR"))
    result.kind = Class::Vector;
  else if (name.starts_with("AGPR"))
    result = {Class::Vector, uint16_t(kFirstAccumulator + index), result.highHalf};
  else if (name.starts_with("SGPR") || name.starts_with("TTMP"))
    result.kind = Class::Scalar;
  else if (name.starts_with("M0_"))
    result = {Class::Scalar, kM0, result.highHalf};
  else if (name.starts_with("FLAT_SCR"))
    result = {Class::Scalar, uint16_t(kFlatScratch + (name.starts_with("FLAT_SCR_HI") ? 1 : 0)),
              result.highHalf};
  else if (name.starts_with("VCC") || name.starts_with("EXEC") || name.starts_with("XNACK_MASK"))
    result.kind = Class::Scalar;
  else if (name == "SCC" || name.starts_with("SRC_SCC"))
    result.kind = Class::Scc;
  else if (name.starts_with("SRC_VCCZ"))
    result.kind = Class::Vccz;
  else if (name.starts_with("SRC_EXECZ"))
    result.kind = Class::Execz;
  else if (name.starts_with("SRC_SHARED_BASE"))
    result.kind = Class::SharedBase;
  else if (name.starts_with("SRC_SHARED_LIMIT"))
    result.kind = Class::SharedLimit;
  else if (name.starts_with("SRC_PRIVATE_BASE"))
    result.kind = Class::PrivateBase;
  else if (name.starts_with("SRC_PRIVATE_LIMIT"))
    result.kind = Class::PrivateLimit;
  return result;
}

static std::vector<RegisterOperand> operandsOf(const MCRegisterInfo &registers) {
  std::vector<RegisterOperand> operands(registers.getNumRegs());
  for (unsigned reg = 1; reg < operands.size(); ++reg)
    operands[reg] = classify(registers.getName(reg), registers.getEncodingValue(reg));
  return operands;
}

Target::Target() = default;
Target::~Target() = default;

Expected<std::unique_ptr<Target>> Target::create(StringRef cpu, unsigned waveSize) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
  const targets::Target *row = targets::find(cpu);
  if (!row)
    return createStringError("code for " + cpu + " is not supported by the emulator: " +
                             targets::messageForUnknown(cpu));
  Triple triple(kTriple);
  std::string error;
  const llvm::Target *llvmTarget = TargetRegistry::lookupTarget(triple, error);
  if (!llvmTarget)
    return createStringError("no disassembler: " + error);

  std::unique_ptr<Target> target(new Target());
  target->facts = row;
  target->registers.reset(llvmTarget->createMCRegInfo(triple));
  target->assembly.reset(
      llvmTarget->createMCAsmInfo(*target->registers, triple, MCTargetOptions()));
  target->instructions.reset(llvmTarget->createMCInstrInfo());
  // Without real-true16 the disassembler loses the halves of 16-bit operands on gfx11 and gfx12.
  std::string features = row->isa >= 11 ? "+real-true16" : "";
  // Without this it crashes on literals behind eight bytes (docs/errata.md E17); with it they are
  // decoded, and isSound() refuses them.
  if (row->isa < 10)
    features = "+vop3-literal";
  if (row->hasWave32)
    features += waveSize == 64 ? ",+wavefrontsize64" : ",+wavefrontsize32";
  target->subtarget.reset(llvmTarget->createMCSubtargetInfo(triple, cpu, features));
  target->context = std::make_unique<MCContext>(triple, target->assembly.get(),
                                                target->registers.get(), target->subtarget.get());
  target->disassembler.reset(
      llvmTarget->createMCDisassembler(*target->subtarget, *target->context));
  target->printer.reset(llvmTarget->createMCInstPrinter(triple, 0, *target->assembly,
                                                        *target->instructions, *target->registers));
  if (!target->disassembler || !target->printer)
    return createStringError("no disassembler for " + cpu);

  static const bool namesMatch = operandNamesMatch(*target->instructions);
  if (!namesMatch)
    return createStringError(kVersionMessage);
  static const std::unique_ptr<MCInstrInfo> allInstructions(llvmTarget->createMCInstrInfo());
  static Names allNames(*allInstructions);
  target->names = &allNames;
  // LLVM numbers the registers of all processors in one table.
  static const std::vector<RegisterOperand> allOperands = operandsOf(*target->registers);
  target->registerOperands = allOperands;
  return target;
}

constexpr uint32_t kCrashingLiteral = 0xff;

/// LLVM's types of operands that are a literal in every encoding (OPERAND_KIMM32 and OPERAND_KIMM16
/// of its SIDefines.h), as the instructions below have them.
static std::set<unsigned> literalTypes(const MCInstrInfo &instructions) {
  std::set<unsigned> types;
  for (const char *name : {"V_FMAAK_F32_gfx11", "V_FMAAK_F16_gfx10"}) {
    const unsigned opcode = findOpcode(instructions, name);
    const int index =
        opcode ? AMDGPU::getNamedOperandIdx(uint16_t(opcode), AMDGPU::OpName(OperandName::imm))
               : -1;
    if (index >= 0)
      types.insert(instructions.get(opcode).operands()[unsigned(index)].OperandType);
  }
  return types;
}

/// LLVM's disassembler takes such a literal for the code of an inline constant where it looks like
/// one (docs/errata.md E27): 0x81 for 1. It is the last dword of the instruction.
void Target::restoreLiterals(MCInst &inst, uint32_t literal) const {
  static const std::set<unsigned> types = literalTypes(*instructions);
  const ArrayRef<MCOperandInfo> operands = instructions->get(inst.getOpcode()).operands();
  for (unsigned i = 0; i < inst.getNumOperands() && i < operands.size(); ++i)
    if (types.contains(operands[i].OperandType) && inst.getOperand(i).isImm())
      inst.getOperand(i).setImm(literal);
}

/// Of one of 16 bits, the disassembler takes 0xff for a literal that follows, and crashes. So it
/// gets another one. Source 0 may have the literal, too.
uint64_t Target::disassembleWithHalfLiteral(MCInst &inst, ArrayRef<uint8_t> bytes,
                                            uint64_t address) const {
  constexpr uint32_t kOther = 0x7f; // no inline constant
  std::vector<uint8_t> changed(bytes.begin(), bytes.end());
  support::endian::write32le(&changed[4], kOther);
  const uint64_t size = disassembleOnce(inst, changed, address);
  if (size == 0)
    return 0;
  restoreLiterals(inst, kCrashingLiteral);
  const int source = operand(inst, OperandName::src0);
  if (source >= 0 && inst.getOperand(unsigned(source)).isImm() &&
      inst.getOperand(unsigned(source)).getImm() == kOther)
    inst.getOperand(unsigned(source)).setImm(kCrashingLiteral);
  return size;
}

uint64_t Target::disassembleOnce(MCInst &inst, ArrayRef<uint8_t> bytes, uint64_t address) const {
  uint64_t size = 0;
  inst.clear();
  if (!mayDisassemble(*this, bytes))
    return 0;
  if (hasHalfLiteral(*this, bytes) && support::endian::read32le(&bytes[4]) == kCrashingLiteral)
    return disassembleWithHalfLiteral(inst, bytes, address);
  {
    std::lock_guard lock(mutex);
    if (disassembler->getInstruction(inst, size, targets::bytesOfFirst(*facts, bytes), address,
                                     nulls()) != MCDisassembler::Success)
      return 0;
  }
  if (!isSound(*this, inst, size))
    return 0;
  restoreLiterals(inst, support::endian::read32le(&bytes[size - 4]));
  return size;
}

uint64_t Target::disassemble(MCInst &inst, ArrayRef<uint8_t> bytes, uint64_t address) const {
  // LLVM's disassembler crashes where a literal is cut off (docs/errata.md E13).
  uint8_t padded[32] = {};
  const uint64_t available = bytes.size();
  if (available < sizeof(padded)) {
    std::memcpy(padded, bytes.data(), available);
    bytes = padded;
  }
  uint64_t size = disassembleOnce(inst, bytes, address);
  if (size == 0) {
    const std::vector<uint8_t> plain =
        withoutUnusedBits(*this, bytes.take_front(sizeof(padded)), [&](ArrayRef<uint8_t> other) {
          return disassembleOnce(inst, other, address) != 0;
        });
    size = plain.empty() ? 0 : disassembleOnce(inst, plain, address);
  }
  return size <= available ? size : 0;
}

std::string Target::print(const MCInst &inst, uint64_t address) const {
  std::string text;
  raw_string_ostream os(text);
  std::lock_guard lock(mutex);
  printer->printInst(&inst, address, "", *subtarget, os);
  std::replace(text.begin(), text.end(), '\t', ' ');
  return StringRef(text).trim().str();
}

StringRef Target::name(unsigned opcode) const { return names->of(opcode); }
StringRef Target::fullName(unsigned opcode) const { return instructions->getName(opcode); }
const MCInstrDesc &Target::description(unsigned opcode) const { return instructions->get(opcode); }

int Target::operand(const MCInst &inst, OperandName name) const {
  int index = AMDGPU::getNamedOperandIdx(uint16_t(inst.getOpcode()), AMDGPU::OpName(name));
  return index < int(inst.getNumOperands()) ? index : -1;
}

RegisterOperand Target::reg(unsigned llvmRegister) const { return registerOperands[llvmRegister]; }

bool Target::isHalfRegister(unsigned llvmRegister) const {
  const StringRef name = registers->getName(llvmRegister);
  return name.ends_with("_LO16") || name.ends_with("_HI16");
}

unsigned Target::registerDwords(unsigned llvmRegister) const {
  // VGPR2_VGPR3; of the others only masks and pairs with a name of their own are wide.
  const StringRef name = registers->getName(llvmRegister);
  if (name == "VCC" || name == "EXEC" || name.starts_with("FLAT_SCR") || name == "XNACK_MASK")
    return name.contains("_LO") || name.contains("_HI") ? 1 : 2;
  return std::max<unsigned>(1, unsigned(name.count("GPR") + name.count("TTMP")));
}

std::pair<StringRef, StringRef> Target::dualNames(unsigned opcode) const {
  static std::mutex mutex; // pseudos are not in `names`, which is by real opcode
  static StringMap<std::string> cache;
  auto [x, y] = AMDGPU::getVOPDComponents(opcode);
  std::lock_guard lock(mutex);
  auto nameOf = [&](unsigned pseudo) -> StringRef {
    std::string &name = cache[instructions->getName(pseudo)];
    if (name.empty())
      name = baseName(instructions->getName(pseudo));
    return name;
  };
  return {nameOf(x), nameOf(y)};
}

} // namespace rubia::emulator
