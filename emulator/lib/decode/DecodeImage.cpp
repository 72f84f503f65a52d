// SPDX-License-Identifier: Apache-2.0
// MIMG of RDNA 1 to 3, VIMAGE and VSAMPLE of RDNA 4.
#include "emulator/lib/decode/Decoder.h"
#include "emulator/lib/decode/Instructions.h"
#include "emulator/lib/memory/ImageOperation.h"

using namespace llvm;

namespace rubia::emulator {

/// What the words behind IMAGE_SAMPLE and IMAGE_GATHER4 say of the address. False: one is unknown.
static bool addressFlags(StringRef words, uint32_t &flags) {
  static constexpr std::pair<StringLiteral, uint32_t> kWords[] = {
      {"O", kImageOffsets},     {"B", kImageBias},
      {"D", kImageGradients},   {"CD", kImageGradients},
      {"L", kImageLevel},       {"LZ", kImageLevelZero},
      {"CL", kImageLevelClamp}, {"G16", kImageHalfGradients},
  };
  while (words.consume_front("_")) {
    const StringRef word = words.take_until([](char c) { return c == '_'; });
    words = words.drop_front(word.size());
    const auto *row = find_if(kWords, [&](const auto &one) { return one.first == word; });
    if (row == std::end(kWords))
      return false;
    flags |= row->second;
  }
  return words.empty();
}

/// Registers of addresses, whether they lie side by side, apart (NSA), or both.
Diagnostic Decoder::imageAddresses(MicroOp &op, unsigned end) {
  unsigned count = 0;
  for (auto at = unsigned(index(OperandName::vaddr0)); at < end; ++at) {
    uint32_t offset = 0;
    if (Diagnostic diagnostic = vectorRegister(at, offset); !diagnostic.empty())
      return diagnostic;
    const unsigned first = registerAt(at).index;
    for (unsigned i = 0; i < target.registerDwords(this->at(at).getReg()); ++i, ++count)
      if (count < ImageOperation::kMostAddresses)
        ImageOperation::setAddress(op, count, first + i);
  }
  const bool isQuery = name == "IMAGE_GET_RESINFO";
  return isQuery || count >= ImageOperation{op}.addressRegisters() ? Diagnostic()
                                                                   : "too few address registers";
}

Diagnostic Decoder::decodeImage() {
  MicroOp op = start();
  const StringRef action = name.drop_front(StringRef("IMAGE_").size());
  uint32_t flags = 0;
  StringRef words = action;
  if (words.consume_front("SAMPLE") && addressFlags(words, flags))
    op.handler = sampleImage;
  else if (words = action, flags = 0; words.consume_front("GATHER4") && addressFlags(words, flags))
    op.handler = gatherImage;
  else if (flags = action.ends_with("_MIP") ? kImageLevel : 0;
           Handler handler = findMemory(kImageMemory, action))
    op.handler = handler;
  else
    op.handler = findMemory(kImageAtomics, action);
  if (!op.handler)
    return "no semantics for " + name.str();

  static constexpr std::pair<OperandName, const char *> kRefused[] = {
      {OperandName::tfe, "accesses that report a texture failure are out of scope"},
      {OperandName::lwe, "accesses that report a texture failure are out of scope"},
      {OperandName::r128, "image resources of 128 bits are not supported"},
  };
  for (auto [operand, reason] : kRefused)
    if (immediate(operand) != 0)
      return reason;
  static constexpr std::pair<OperandName, uint32_t> kFlags[] = {
      {OperandName::a16, kImageHalfAddress},
      {OperandName::d16, kImageHalfData},
      {OperandName::unorm, kImageUnnormalized}};
  for (auto [operand, flag] : kFlags)
    if (immediate(operand) != 0)
      flags |= flag;
  if (action.starts_with("ATOMIC_"))
    flags |= kImageAtomic;
  if (action.starts_with("STORE"))
    flags |= kImageStore;
  if (action.starts_with("ATOMIC_") && immediate(OperandName::cpol) & 1) // GLC, TH_ATOMIC_RETURN
    flags |= kImageReturns;
  op.immediate = int32_t(flags);

  auto either = [&](OperandName first, OperandName second) {
    const int found = index(first);
    return found >= 0 ? found : index(second);
  };
  const int resource = either(OperandName::srsrc, OperandName::rsrc);
  const int sampler = either(OperandName::ssamp, OperandName::samp);
  const int data = index(OperandName::vdata);
  if (resource < 0 || data < 0 || index(OperandName::vaddr0) < 0)
    return "no semantics for " + name.str();
  for (int scalar : {resource, sampler})
    if (scalar >= 0 && registerAt(unsigned(scalar)).kind != RegisterOperand::Scalar)
      return "unsupported image resource";
  ImageOperation::setFields(
      op, unsigned(immediate(OperandName::dmask)), unsigned(immediate(OperandName::dim)),
      registerAt(unsigned(resource)).index, sampler >= 0 ? registerAt(unsigned(sampler)).index : 0);
  if (Diagnostic diagnostic = vectorRegister(unsigned(data), op.result); !diagnostic.empty())
    return diagnostic;
  if (Diagnostic diagnostic = imageAddresses(op, unsigned(resource)); !diagnostic.empty())
    return diagnostic;
  emit(op);
  return {};
}

} // namespace rubia::emulator
