// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/memory/ImageDescriptor.h"
#include <initializer_list>

namespace rubia::emulator {
namespace {

/// Where a field lies: its first bit, counted from word 0, and how many it has.
struct Bits {
  unsigned first, count;
};
constexpr unsigned inWord(unsigned word, unsigned bit) { return 32 * word + bit; }

class Reader {
public:
  explicit Reader(const uint32_t *words) : words(words) {}
  template <class T> void operator()(Bits bits, T &value) const {
    const unsigned word = bits.first / 32, shift = bits.first % 32;
    uint64_t whole = words[word];
    if (shift + bits.count > 32) // else there may be no next word
      whole |= uint64_t(words[word + 1]) << 32;
    value = T(whole >> shift & ((uint64_t(1) << bits.count) - 1));
  }

private:
  const uint32_t *words;
};

class Writer {
public:
  explicit Writer(uint32_t *words) : words(words) {}
  void operator()(Bits bits, uint64_t value) const {
    for (unsigned i = 0; i < bits.count; ++i)
      words[(bits.first + i) / 32] |= uint32_t(value >> i & 1) << (bits.first + i) % 32;
  }

private:
  uint32_t *words;
};

/// One of gfx10's, gfx11's and gfx12's.
Bits choose(unsigned isa, Bits gfx10, Bits gfx11, Bits gfx12) {
  return isa >= 12 ? gfx12 : isa == 11 ? gfx11 : gfx10;
}

template <class Descriptor, class Visit>
void visitImage(Descriptor &d, unsigned isa, const Visit &visit) {
  auto of = [&](Bits gfx10, Bits gfx11, Bits gfx12) { return choose(isa, gfx10, gfx11, gfx12); };
  visit({inWord(0, 0), 40}, d.address);
  visit(of({inWord(1, 20), 9}, {inWord(1, 20), 8}, {inWord(1, 17), 8}), d.format);
  visit(of({inWord(1, 30), 14}, {inWord(1, 30), 14}, {inWord(1, 30), 16}), d.width);
  visit(of({inWord(2, 14), 14}, {inWord(2, 14), 14}, {inWord(2, 14), 16}), d.height);
  for (unsigned i = 0; i < 4; ++i)
    visit({inWord(3, 3 * i), 3}, d.select[i]);
  visit(of({inWord(3, 12), 4}, {inWord(3, 12), 4}, {inWord(1, 25), 5}), d.baseLevel);
  visit(of({inWord(3, 16), 4}, {inWord(3, 16), 4}, {inWord(3, 15), 5}), d.lastLevel);
  visit({inWord(3, 20), 5}, d.tiling);
  visit({inWord(3, 28), 4}, d.type);
  visit(of({inWord(4, 0), 14}, {inWord(4, 0), 14}, {inWord(4, 0), 16}), d.depth);
  visit({inWord(4, 16), 13}, d.firstLayer);
  visit(of({inWord(5, 4), 4}, {inWord(1, 16), 4}, {inWord(1, 12), 5}), d.maxLevel);
  visit(of({inWord(1, 8), 12}, {inWord(5, 27), 12}, {inWord(5, 26), 13}), d.minLod);
  visit({inWord(6, 21), 1}, d.isCompressed);
}

template <class Descriptor, class Visit>
void visitSampler(Descriptor &d, unsigned isa, const Visit &visit) {
  for (unsigned i = 0; i < 3; ++i)
    visit({inWord(0, 3 * i), 3}, d.clamp[i]);
  visit({inWord(0, 9), 3}, d.anisotropy);
  visit({inWord(0, 15), 1}, d.isUnnormalized);
  visit({inWord(0, 20), 1}, d.forcesLinear);
  visit({inWord(0, 27), 1}, d.truncates);
  visit({inWord(0, 28), 1}, d.separatesFaces);
  visit({inWord(0, 29), 2}, d.filterMode);
  visit({inWord(0, 31), 1}, d.skipsLinear);
  const unsigned lodBits = isa >= 12 ? 13 : 12;
  visit({inWord(1, 0), lodBits}, d.minLod);
  visit({inWord(1, lodBits), lodBits}, d.maxLod);
  visit({inWord(2, 0), 14}, d.lodBias);
  visit({inWord(2, 20), 2}, d.magFilter);
  visit({inWord(2, 22), 2}, d.minFilter);
  visit({inWord(2, 24), 2}, d.depthFilter);
  visit({inWord(2, 26), 2}, d.levelFilter);
  visit({inWord(3, 30), 2}, d.border);
}

} // namespace

ImageDescriptor ImageDescriptor::read(const uint32_t *words, unsigned isa) {
  ImageDescriptor result;
  visitImage(result, isa, Reader(words));
  return result;
}
void ImageDescriptor::write(uint32_t *words, unsigned isa) const {
  for (unsigned i = 0; i < kWords; ++i)
    words[i] = 0;
  visitImage(*this, isa, Writer(words));
}

SamplerDescriptor SamplerDescriptor::read(const uint32_t *words, unsigned isa) {
  SamplerDescriptor result;
  visitSampler(result, isa, Reader(words));
  return result;
}
void SamplerDescriptor::write(uint32_t *words, unsigned isa) const {
  for (unsigned i = 0; i < kWords; ++i)
    words[i] = 0;
  visitSampler(*this, isa, Writer(words));
}

} // namespace rubia::emulator
