// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies and reductions, which are done at once: PTX allows it.
// PTX ISA: data-movement-and-conversion-instructions-asynchronous-copy, -st-async; -red-async.
#include "reference/lib/interpreter/AtomicOperation.h"
#include "reference/lib/interpreter/Mbarrier.h"
#include <cstring>

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation ClusterQueryCancel, ClusterTryCancel, CpAsync, CpAsyncBulk,
    CpAsyncBulkCommitGroup, CpAsyncBulkPrefetch, CpAsyncBulkWaitGroup, CpAsyncCommitGroup,
    CpAsyncWait, CpReduceAsyncBulk, RedAsync, StAsync;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier CpMask, GetFirstCtaidY, GetFirstCtaidZ, IsCanceled, L2CacheHint,
    MbarrierCompleteTxBytes;
} // namespace rubia::ptx::Mod

namespace rubia::reference::interpreter {
namespace {

namespace Mod = ptx::Mod;
using ptx::Modifier;
using ptx::StateSpace;

struct Copy {
  StateSpace to, from;
  bool ignoresSource = false; // cp.async: the last source is a predicate
  bool hasMbarrier = false;   // the last source is its address
  bool reduces = false;
  unsigned elementBytes = 0; // of a reduction, or of what is stored
  AtomicOperation operation;
};

uint64_t address(Warp &warp, const Micro &micro, unsigned n, unsigned lane) {
  return warp.source(micro, n)[lane] + uint64_t(int64_t(micro.sources[n].offset));
}

template <typename Body> void forActive(Warp &warp, Body body) {
  for (unsigned lane = 0; lane < kLanes && !warp.hasFailed(); ++lane)
    if (warp.active >> lane & 1)
      body(lane);
}

// Sources: to, from, bytes, bytes that are read (or whether none are). The rest becomes 0.
void copySmall(Warp &warp, const Micro &micro) {
  const auto &copy = *static_cast<const Copy *>(micro.data);
  forActive(warp, [&](unsigned lane) {
    const uint64_t bytes = warp.source(micro, 2)[lane];
    uint64_t read = bytes;
    if (micro.sources.size() > 3) {
      const uint64_t last = warp.source(micro, 3)[lane];
      read = copy.ignoresSource ? (last ? 0 : bytes) : last;
    }
    if (read > bytes)
      return warp.fail("a copy that reads " + Twine(read) + " of " + Twine(bytes) + " bytes", lane);
    uint8_t value[16] = {};
    if (read) {
      // All of the source is aligned, what is read of it may be less.
      const uint64_t from = address(warp, micro, 1, lane);
      if (from % bytes)
        return warp.fail("the source of a copy is not aligned", lane);
      for (uint64_t i = 0; i < read; ++i) {
        const uint8_t *byte = warp.memory(StateSpace::Global, from + i, 1, lane);
        if (!byte)
          return;
        value[i] = *byte;
      }
    }
    if (uint8_t *to = warp.memory(StateSpace::Shared, address(warp, micro, 0, lane), bytes, lane))
      memcpy(to, value, bytes);
  });
}

void decodeCopySmall(Decoder &decoder) {
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  if (decoder.spelling().has(Mod::L2CacheHint))
    operands = operands.drop_back();
  auto &copy = decoder.code.keep<Copy>();
  decoder.source(operands[0], ptx::Type::B64);
  decoder.source(operands[1], ptx::Type::B64);
  decoder.source(operands[2], ptx::Type::U32);
  if (operands.size() > 3) {
    decoder.source(operands[3], ptx::Type::U32);
    copy.ignoresSource =
        operands[3].kind == ptx::Operand::Kind::Register && decoder.bitsOf(operands[3].reg) == 1;
  }
  decoder.micro.data = &copy;
  decoder.execute(copySmall);
}

// Sources: to, from, bytes, and perhaps the mbarrier.
void copyBulk(Warp &warp, const Micro &micro) {
  const auto &copy = *static_cast<const Copy *>(micro.data);
  forActive(warp, [&](unsigned lane) {
    const uint64_t bytes = warp.source(micro, 2)[lane];
    const uint64_t to = address(warp, micro, 0, lane), from = address(warp, micro, 1, lane);
    if (bytes % 16 || to % 16 || from % 16)
      return warp.fail("a bulk copy that is not of whole 16 bytes", lane);
    for (uint64_t i = 0; i < bytes; i += 16) {
      const uint8_t *source = warp.memory(copy.from, from + i, 16, lane);
      uint8_t *target = source ? warp.memory(copy.to, to + i, 16, lane) : nullptr;
      if (!target)
        return;
      if (!copy.reduces) {
        memmove(target, source, 16);
        continue;
      }
      for (unsigned at = 0; at < 16; at += copy.elementBytes) {
        uint64_t old = 0, operand = 0;
        memcpy(&old, target + at, copy.elementBytes);
        memcpy(&operand, source + at, copy.elementBytes);
        const auto now = uint64_t(changed(copy.operation, /*keepsDenormals=*/true, old, operand));
        memcpy(target + at, &now, copy.elementBytes);
      }
    }
    if (copy.hasMbarrier)
      completeBytes(warp, address(warp, micro, 3, lane), lane, bytes);
  });
}

void decodeBulk(Decoder &decoder, bool reduces) {
  const ptx::Spelling &spelling = decoder.spelling();
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  auto &copy = decoder.code.keep<Copy>();
  SmallVector<StateSpace, 2> spaces;
  for (Modifier mod : spelling.modifiers)
    if (ptx::categoryOf(mod) == ptx::ModCategory::Space)
      spaces.push_back(ptx::spaceOf(mod));
  if (spaces.size() != 2 || spelling.has(Mod::CpMask))
    return decoder.unsupported("a bulk copy of this form");
  copy.to = spaces[0];
  copy.from = spaces[1];
  copy.hasMbarrier = spelling.has(Mod::MbarrierCompleteTxBytes);
  copy.reduces = reduces;
  if (reduces) {
    copy.operation = operationOf(decoder);
    copy.elementBytes = ptx::sizeInBits(spelling.type()) / 8;
  }
  for (unsigned i = 0; i < (copy.hasMbarrier ? 4u : 3u); ++i)
    decoder.source(operands[i], i == 2 ? ptx::Type::U32 : ptx::Type::B64);
  decoder.micro.data = &copy;
  decoder.execute(copyBulk);
}
void decodeBulkCopy(Decoder &decoder) { decodeBulk(decoder, false); }
void decodeBulkReduction(Decoder &decoder) { decodeBulk(decoder, true); }

// Sources: to, the mbarrier, values.
void storeAndTell(Warp &warp, const Micro &micro) {
  const auto &copy = *static_cast<const Copy *>(micro.data);
  const unsigned count = unsigned(micro.sources.size()) - (copy.hasMbarrier ? 2 : 1);
  const unsigned first = copy.hasMbarrier ? 2 : 1, bytes = copy.elementBytes;
  forActive(warp, [&](unsigned lane) {
    uint8_t *to = warp.memory(copy.to, address(warp, micro, 0, lane), bytes * count, lane);
    if (!to)
      return;
    for (unsigned i = 0; i < count; ++i) {
      uint64_t value = warp.source(micro, first + i)[lane], old = 0;
      memcpy(&old, to + i * bytes, bytes);
      if (copy.reduces)
        value = uint64_t(changed(copy.operation, copy.to == StateSpace::Shared, old, value));
      memcpy(to + i * bytes, &value, bytes);
    }
    if (copy.hasMbarrier)
      completeBytes(warp, address(warp, micro, 1, lane), lane, bytes * count);
  });
}

void decodeStore(Decoder &decoder, bool reduces) {
  const ptx::Spelling &spelling = decoder.spelling();
  ArrayRef<ptx::Operand> operands = decoder.inst().operands;
  auto &copy = decoder.code.keep<Copy>();
  copy.hasMbarrier = spelling.has(Mod::MbarrierCompleteTxBytes);
  copy.to = copy.hasMbarrier ? StateSpace::Shared : StateSpace::Global;
  copy.reduces = reduces;
  copy.elementBytes = ptx::sizeInBits(spelling.type()) / 8;
  if (reduces)
    copy.operation = operationOf(decoder);
  decoder.source(operands[0], ptx::Type::B64);
  if (copy.hasMbarrier)
    decoder.source(operands[2], ptx::Type::B64);
  decoder.source(operands[1], spelling.type());
  decoder.micro.data = &copy;
  decoder.execute(storeAndTell);
}
void decodeStoreAsync(Decoder &decoder) { decodeStore(decoder, false); }
void decodeRedAsync(Decoder &decoder) { decodeStore(decoder, true); }

// clusterlaunchcontrol: all clusters have begun, so that a request fails. The response is x, y, z
// of the first CTA and whether there is one, four words, here and in what is asked of it.
void answerRequest(Warp &warp, const Micro &micro) {
  const StateSpace space = StateSpace(micro.detail);
  forActive(warp, [&](unsigned lane) {
    uint8_t *response = warp.memory(space, address(warp, micro, 0, lane), 16, lane);
    if (!response)
      return;
    memset(response, 0, 16);
    completeBytes(warp, address(warp, micro, 1, lane), lane, 16);
  });
}
void decodeRequest(Decoder &decoder) {
  for (const ptx::Operand &operand : decoder.inst().operands)
    decoder.source(operand, ptx::Type::B64);
  decoder.micro.detail = unsigned(decoder.spelling().space());
  decoder.execute(answerRequest);
}

// detail: the first word that is asked for
void readResponse(Warp &warp, const Micro &micro) {
  forActive(warp, [&](unsigned lane) {
    const uint64_t halves[] = {warp.source(micro, 0)[lane], warp.source(micro, 1)[lane]};
    for (unsigned i = 0; i < micro.destinations.size(); ++i) {
      const unsigned word = unsigned(micro.detail) + i;
      warp.write(micro, i, lane, uint32_t(halves[word / 2] >> (word % 2 * 32)));
    }
  });
}
void decodeResponse(Decoder &decoder) {
  const ptx::Spelling &spelling = decoder.spelling();
  decoder.destination(decoder.inst().operands[0]);
  decoder.source(decoder.inst().operands[1], ptx::Type::B128);
  decoder.micro.detail = spelling.has(Mod::IsCanceled)       ? 3
                         : spelling.has(Mod::GetFirstCtaidY) ? 1
                         : spelling.has(Mod::GetFirstCtaidZ) ? 2
                                                             : 0;
  decoder.execute(readResponse);
}

void nothing(Warp &, const Micro &) {}
// What has been started is done: there is nothing to wait for.
void decodeNothing(Decoder &decoder) { decoder.execute(nothing); }

constexpr Family kFamilies[] = {
    {ptx::Op::CpAsync, decodeCopySmall},
    {ptx::Op::CpAsyncCommitGroup, decodeNothing},
    {ptx::Op::CpAsyncWait, decodeNothing},
    {ptx::Op::CpAsyncBulk, decodeBulkCopy},
    {ptx::Op::CpReduceAsyncBulk, decodeBulkReduction},
    {ptx::Op::CpAsyncBulkPrefetch, decodeNothing},
    {ptx::Op::CpAsyncBulkCommitGroup, decodeNothing},
    {ptx::Op::CpAsyncBulkWaitGroup, decodeNothing},
    {ptx::Op::StAsync, decodeStoreAsync},
    {ptx::Op::RedAsync, decodeRedAsync},
    {ptx::Op::ClusterTryCancel, decodeRequest},
    {ptx::Op::ClusterQueryCancel, decodeResponse},
};

} // namespace

ArrayRef<Family> asyncCopies() { return kFamilies; }

} // namespace rubia::reference::interpreter
