// SPDX-License-Identifier: Apache-2.0
#include "tests/hip/InstructionStreams.h"
#include "tests/emulator/Fixture.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Endian.h"

using namespace llvm;

namespace rubia::fuzz {
namespace {

constexpr uint32_t kMark = 0xbf8005a5; // s_nop with an operand that nobody else has
constexpr uint32_t kNop = 0xbf800000;

enum class Kind { Open, Sized, Batch };

/// Registers that instructions find something in: s[2:5] and v[2:3] point to memory, s[8:11] is a
/// buffer, v1 four times the lane, the others small numbers and floats.
std::string kernelText(const Processor &p, unsigned waveSize, Kind kind) {
  std::string text = ".text\n.globl k\n.p2align 8\n.type k,@function\nk:\n";
  text += "  s_load_dwordx4 s[4:7], s[0:1], 0x0\n";
  const char *waitForScalars = p.major == 12 ? "  s_wait_kmcnt 0x0\n" : "  s_waitcnt lgkmcnt(0)\n";
  text += waitForScalars;
  text += "  s_mov_b64 s[2:3], s[4:5]\n  s_mov_b64 s[8:9], s[4:5]\n  s_and_b32 s9, s9, 0xffff\n"
          "  s_mov_b32 s10, 4096\n  s_mov_b32 s11, 0x27000\n";
  for (unsigned i = 12; i < 32; ++i)
    text += "  s_mov_b32 s" + utostr(i) + ", " + utostr(i * 3 - 36) + "\n";
  text += "  v_and_b32 v0, 0x3ff, v0\n  v_and_b32 v1, 63, v0\n  v_lshlrev_b32 v1, 2, v1\n"
          "  v_or_b32 v2, s4, v1\n  v_mov_b32 v3, s5\n  v_mov_b32 v4, 1.0\n"
          "  v_mov_b32 v5, 0xc0490fdb\n  v_mov_b32 v6, 0x3c004000\n";
  for (unsigned i = 7; i < 32; ++i)
    text += "  v_mov_b32 v" + utostr(i) + ", " + utostr(i) + "\n";
  text += "  s_mov_b32 m0, 8\n";
  if (kind == Kind::Batch) { // where its argument says
    text += "  s_load_dword s36, s[0:1], 0x10\n";
    text += waitForScalars;
    text += "  s_getpc_b64 s[34:35]\n  s_add_u32 s34, s34, s36\n  s_addc_u32 s35, s35, 0\n"
            "  s_setpc_b64 s[34:35]\n";
  }
  for (unsigned i = 0; i < (kind == Kind::Batch ? kBatchWords : kBodyWords); ++i)
    text += "  .long " + utostr(kMark) + "\n";
  text += "  s_endpgm\n.Lend:\n";
  text += kind == Kind::Sized ? ".size k, .Lend-k\n" : "";
  text += ".rodata\n.p2align 6\n.amdhsa_kernel k\n  .amdhsa_next_free_vgpr 64\n"
          "  .amdhsa_next_free_sgpr 96\n  .amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
          "  .amdhsa_group_segment_fixed_size 4096\n  .amdhsa_private_segment_fixed_size 64\n";
  if (p.major == 9)
    text += "  .amdhsa_accum_offset 32\n";
  else
    text += "  .amdhsa_wavefront_size32 " + std::string(waveSize == 32 ? "1" : "0") + "\n";
  text += ".end_amdhsa_kernel\n.amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:\n"
          "  - .name: k\n    .symbol: k.kd\n    .kernarg_segment_size: 24\n"
          "    .group_segment_fixed_size: 4096\n    .private_segment_fixed_size: 64\n"
          "    .kernarg_segment_align: 8\n    .wavefront_size: " +
          utostr(waveSize) +
          "\n    .sgpr_count: 96\n    .vgpr_count: 64\n    .max_flat_workgroup_size: 256\n"
          "    .args:\n      - {.offset: 0, .size: 8, .value_kind: global_buffer}\n"
          "      - {.offset: 8, .size: 8, .value_kind: global_buffer}\n"
          "      - {.offset: 16, .size: 4, .value_kind: by_value}\n...\n.end_amdgpu_metadata\n";
  return text;
}

constexpr const char *kOrdinary = R"(
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void a(global float *x, global double *y, global half *z, int n) {
  local float shared[64];
  int i = __builtin_amdgcn_workitem_id_x();
  shared[i & 63] = x[i] / (x[i + 1] + 1.0f);
  __builtin_amdgcn_s_barrier();
  double sum = 0;
  for (int k = 0; k < n; ++k)
    sum += y[k] * shared[(i + k) & 63];
  y[i] = sum / 3.0;
  z[i] = (half)(z[i] * (half)2.0f + (half)sum);
}
kernel void b(global uint *x, global ulong *y, global uchar *c, int n) {
  int i = __builtin_amdgcn_workitem_id_x();
  ulong wide = y[i] * 12345678901UL + x[i];
  __opencl_atomic_fetch_add((global atomic_uint *)x, (uint)(wide >> 7), __ATOMIC_RELAXED,
                            __OPENCL_MEMORY_SCOPE_DEVICE);
  for (int k = 0; k < n && c[k]; ++k)
    wide = (wide << (c[k] & 31)) ^ (wide % (k + 3)) ^ __builtin_popcountl(wide);
  if (x[i] > 5)
    y[i] = wide / (x[i] - 4);
  else
    c[i] = (uchar)wide;
  x[i] = __builtin_amdgcn_ds_bpermute(i * 4, x[i]) + __builtin_amdgcn_readfirstlane(x[i]);
}
)";

/// Where the body's marks begin.
size_t findBody(const Bytes &object) {
  for (size_t at = 0; at + 4 <= object.size(); at += 4)
    if (support::endian::read32le(object.data() + at) == kMark)
      return at;
  return 0;
}

std::vector<uint32_t> textOf(const Bytes &object) {
  std::vector<uint32_t> words;
  auto file = object::ELFObjectFile<object::ELF64LE>::create(
      MemoryBufferRef(toStringRef(ArrayRef(object)), "ordinary"));
  if (!file) {
    consumeError(file.takeError());
    return words;
  }
  for (const object::SectionRef &section : file->sections()) {
    Expected<StringRef> contents = section.getContents();
    if (!contents || !section.isText()) {
      consumeError(contents.takeError());
      continue;
    }
    for (size_t at = 0; at + 4 <= contents->size(); at += 4)
      words.push_back(support::endian::read32le(contents->data() + at));
  }
  return words;
}

struct Format {
  uint32_t pattern, mask; // of the first word
  unsigned words;
};
// RDNA3 and CDNA3 ISA "Microcode Formats".
constexpr Format kCommon[] = {
    {0x80000000, 0xc0000000, 1}, {0xb0000000, 0xf0000000, 1}, {0xbe800000, 0xff800000, 1},
    {0xbf000000, 0xff800000, 1}, {0xbf800000, 0xff800000, 1}, {0x7e000000, 0xfe000000, 1},
    {0x7c000000, 0xfe000000, 1}, {0x00000000, 0x80000000, 1}, {0xd8000000, 0xfc000000, 2},
    {0xdc000000, 0xfc000000, 2}, {0xe0000000, 0xfc000000, 2}, {0xe8000000, 0xfc000000, 2}};
constexpr Format kOf9[] = {{0xc0000000, 0xfc000000, 2},
                           {0xd0000000, 0xfc000000, 2},
                           {0xd3800000, 0xff800000, 2},
                           {0xd3ac0000, 0xffff0000, 4}};
constexpr Format kOf10[] = {{0xf4000000, 0xfc000000, 2},
                            {0xd4000000, 0xfc000000, 2},
                            {0xcc000000, 0xff000000, 2},
                            {0xc8000000, 0xfc000000, 2}};
constexpr Format kOf12[] = {
    {0xc4000000, 0xfc000000, 3}, {0xec000000, 0xfc000000, 3}, {0xee000000, 0xff000000, 3}};

/// A nine-bit source: mostly a register that holds something.
uint32_t source(Random &random) {
  static constexpr uint32_t kSpecial[] = {106, 107, 123, 124, 125, 126, 127, 193,
                                          208, 209, 235, 236, 237, 238, 240, 242,
                                          248, 249, 250, 251, 252, 253, 254, 255};
  switch (random() % 8) {
  case 0:
  case 1:
  case 2:
  case 3:
    return 256 + uint32_t(random() % 40);
  case 4:
    return uint32_t(random() % 34);
  case 5:
    return 128 + uint32_t(random() % 65);
  case 6:
    return kSpecial[random() % std::size(kSpecial)];
  default:
    return uint32_t(random() % 512);
  }
}

void addStructured(std::vector<uint32_t> &words, const Processor &p, Random &random) {
  std::vector<Format> formats(std::begin(kCommon), std::end(kCommon));
  auto add = [&](ArrayRef<Format> more) {
    formats.insert(formats.end(), more.begin(), more.end());
  };
  p.major == 9 ? add(kOf9) : add(kOf10);
  if (p.major == 12)
    add(kOf12);
  const Format &format = formats[random() % formats.size()];
  uint32_t word[4];
  for (uint32_t &one : word)
    one = uint32_t(random());
  word[0] = (word[0] & ~format.mask) | format.pattern;
  auto put = [&](unsigned i, unsigned shift, unsigned bits, uint32_t value) {
    const uint32_t mask = ((1u << bits) - 1) << shift;
    word[i] = (word[i] & ~mask) | (value << shift & mask);
  };
  if (random() % 16 != 0) {
    const bool isScalar = format.pattern >> 30 == 2, isVector = format.pattern >> 31 == 0;
    if (isScalar) {
      put(0, 0, 8, source(random));
      if (format.pattern != 0xbf800000 && format.pattern != 0xbe800000)
        put(0, 8, 8, source(random));
      if (format.pattern == 0xbf800000) // SOPP: near branches
        put(0, 0, 16, uint32_t(random() % 24) - 8);
      else
        put(0, 16, 7, random() % 4 ? uint32_t(random() % 40) : uint32_t(random()));
    } else if (isVector) {
      put(0, 0, 9, source(random));
      put(0, 17, 8, uint32_t(random() % 40));
      if (format.mask != 0xfe000000)
        put(0, 9, 8, uint32_t(random() % 40));
    } else if (format.words >= 2) {
      const uint32_t top = format.pattern >> 26;
      const bool isVop3 = top == 0x34 || top == 0x35 || top == 0x33;
      if (isVop3) {
        put(0, 0, 8, uint32_t(random() % 48));
        if (random() % 4)
          put(0, 8, 8, 0);
        for (unsigned i = 0; i < 3; ++i)
          put(1, 9 * i, 9, source(random));
        if (random() % 2)
          put(1, 27, 5, 0);
        if (format.words == 4) {
          word[2] = 0xd3ad0000 | (word[2] & 0x1ffff);
          for (unsigned i = 0; i < 3; ++i)
            put(3, 9 * i, 9, source(random));
        }
      } else {
        // Memory: addresses that exist, small offsets.
        for (unsigned shift = 0; shift < 32; shift += 8)
          put(1, shift, 8, uint32_t(random() % 16));
        put(1, 0, 8, random() % 2 ? 1 : 2);
        if (random() % 2)
          put(1, 16, 7, random() % 2 ? 2 : p.major == 9 ? 0x7f : 0x7c);
        if (random() % 2)
          put(0, 0, 13, uint32_t(random() % 64));
      }
    }
  }
  words.insert(words.end(), word, word + format.words);
}

} // namespace

Processor prepare(const std::string &name) {
  using namespace rubia::emulator::test;
  Processor p;
  p.name = name;
  p.major = unsigned(std::stoul(name.substr(3, name.size() - 5)));
  const unsigned waveSize = p.major == 9 ? 64 : 32;
  p.open = assemble(kernelText(p, waveSize, Kind::Open), name);
  p.sized = assemble(kernelText(p, waveSize, Kind::Sized), name);
  p.batch = assemble(kernelText(p, waveSize, Kind::Batch), name);
  p.openAt = findBody(p.open);
  p.sizedAt = findBody(p.sized);
  p.batchAt = findBody(p.batch);
  p.sound = textOf(compile(kOrdinary, name));
  return p;
}

std::vector<uint32_t> makeStream(const Processor &p, Random &random) {
  std::vector<uint32_t> words;
  const unsigned count = 1 + unsigned(random() % 12);
  for (unsigned i = 0; i < count; ++i) {
    const unsigned kind = unsigned(random() % 10);
    if (kind == 0) {
      for (unsigned k = 0; k < 3; ++k)
        words.push_back(uint32_t(random()));
    } else if (kind < 4 && !p.sound.empty()) {
      const size_t at = random() % p.sound.size();
      const size_t length = std::min<size_t>(1 + random() % 8, p.sound.size() - at);
      words.insert(words.end(), p.sound.begin() + ptrdiff_t(at),
                   p.sound.begin() + ptrdiff_t(at + length));
      for (unsigned flips = unsigned(random() % 4); flips; --flips)
        words[words.size() - 1 - random() % length] ^= 1u << (random() % 32);
    } else {
      addStructured(words, p, random);
    }
  }
  if (words.size() > kBodyWords)
    words.resize(kBodyWords);
  // Endless loops take the time that the emulator gives a wave: a few are enough.
  for (uint32_t &word : words) {
    const uint32_t opcode = word >> 16;
    const bool isBranch =
        (opcode >= 0xbf82 && opcode <= 0xbf8a) || (opcode >= 0xbfa0 && opcode <= 0xbfa6);
    if (isBranch && word & 0x8000 && random() % 32)
      word &= 0xffff000f;
  }
  return words;
}

/// With s_nop up to the end of the body.
Bytes objectOf(const Processor &p, ArrayRef<uint32_t> stream, bool sized) {
  Bytes object = sized ? p.sized : p.open;
  uint8_t *body = object.data() + (sized ? p.sizedAt : p.openAt);
  for (size_t i = 0; i < kBodyWords; ++i)
    support::endian::write32le(body + 4 * i, i < stream.size() ? stream[i] : kNop);
  return object;
}

// Behind each stream are as many s_nop as its last instruction can reach into.
constexpr unsigned kReach = 4;

Batch::Batch(const Processor &p)
    : object(p.batch), at(p.batchAt),
      end(support::endian::read32le(object.data() + at + 4 * size_t(kBatchWords))) {}

bool Batch::add(ArrayRef<uint32_t> stream, uint32_t &offset) {
  if (words + stream.size() + kReach + 1 > kBatchWords)
    return false;
  // s_getpc gives the address behind itself: three instructions of a dword lie between.
  offset = 12 + 4 * words;
  auto put = [&](uint32_t word) {
    support::endian::write32le(object.data() + at + 4 * size_t(words++), word);
  };
  for (uint32_t word : stream)
    put(word);
  for (unsigned i = 0; i < kReach; ++i)
    put(kNop);
  put(end);
  return true;
}

const Bytes &Batch::finish() {
  while (words < kBatchWords)
    support::endian::write32le(object.data() + at + 4 * size_t(words++), end);
  return object;
}

} // namespace rubia::fuzz
