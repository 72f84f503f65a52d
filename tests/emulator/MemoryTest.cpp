// SPDX-License-Identifier: Apache-2.0
// Loads and stores of all widths through all address forms, on every processor.
#include "tests/emulator/MemoryWave.h"
#include "llvm/ADT/STLExtras.h"
#include <functional>

namespace rubia::targets::Fact {
extern const GenerationFact wideLdsReads;
} // namespace rubia::targets::Fact

namespace rubia::emulator::test {
namespace {

enum class Part { Whole, Low, High };

/// A load or store: the mnemonic's last part (GLOBAL and its kin, and DS) and what it moves.
struct Width {
  const char *name, *dsName;
  unsigned bytes;
  bool isSigned = false;
  Part part = Part::Whole;
  unsigned registers() const { return (bytes + 3) / 4; }
};

constexpr Width kLoads[] = {
    {"ubyte", "u8", 1},
    {"sbyte", "i8", 1, true},
    {"ushort", "u16", 2},
    {"sshort", "i16", 2, true},
    {"dword", "b32", 4},
    {"dwordx2", "b64", 8},
    {"dwordx3", "b96", 12},
    {"dwordx4", "b128", 16},
    {"ubyte_d16", "u8_d16", 1, false, Part::Low},
    {"ubyte_d16_hi", "u8_d16_hi", 1, false, Part::High},
    {"sbyte_d16", "i8_d16", 1, true, Part::Low},
    {"sbyte_d16_hi", "i8_d16_hi", 1, true, Part::High},
    {"short_d16", "u16_d16", 2, false, Part::Low},
    {"short_d16_hi", "u16_d16_hi", 2, false, Part::High},
};
constexpr Width kStores[] = {
    {"byte", "b8", 1},
    {"short", "b16", 2},
    {"dword", "b32", 4},
    {"dwordx2", "b64", 8},
    {"dwordx3", "b96", 12},
    {"dwordx4", "b128", 16},
    {"byte_d16_hi", "b8_d16_hi", 1, false, Part::High},
    {"short_d16_hi", "b16_d16_hi", 2, false, Part::High},
};

/// Lanes are this far apart; access i of a table is at 16 * i.
constexpr unsigned kStride = 257, kStep = 16;

std::string range(const char *file, unsigned first, unsigned count) {
  const std::string start = file + std::to_string(first);
  return count == 1 ? start
                    : std::string(file) + "[" + std::to_string(first) + ":" +
                          std::to_string(first + count - 1) + "]";
}

/// One way to reach memory.
struct View {
  std::string name;
  std::string load, store; // $ the width, # the data registers, @ the offset
  std::function<uint8_t &(MemoryWave &, unsigned lane, uint32_t offset)> byte;
  std::function<void(MemoryWave &, uint32_t first)> prepare;
  bool usesDsNames = false;
  int32_t bias = 0; // added to every offset, and taken off the addresses
};

std::vector<View> viewsOf(const TargetCase &target) {
  auto inGlobal = [](MemoryWave &w, unsigned lane, uint32_t offset) -> uint8_t & {
    return w.global[lane * kStride + offset];
  };
  auto inLds = [](MemoryWave &w, unsigned lane, uint32_t offset) -> uint8_t & {
    return w.lds[lane * kStride + offset];
  };
  auto inScratch = [](MemoryWave &w, unsigned lane, uint32_t offset) -> uint8_t & {
    return w.privateByte(lane, offset);
  };
  auto lanes = [](MemoryWave &w, uint32_t first) { w.addresses(first, kStride); };
  auto same = [](MemoryWave &w, uint32_t first) {
    w.addresses(first, 0);
    w.s(6) = first;
  };
  std::vector<View> views = {
      {"global", "global_load_$ #, v[2:3], off offset:@", "global_store_$ v[2:3], #, off offset:@",
       inGlobal, lanes},
      {"global, negative offsets", "global_load_$ #, v[2:3], off offset:@",
       "global_store_$ v[2:3], #, off offset:@", inGlobal, lanes, false, -1000},
      {"global with a scalar base", "global_load_$ #, v4, s[4:5] offset:@",
       "global_store_$ v4, #, s[4:5] offset:@", inGlobal, lanes},
      {"flat, global", "flat_load_$ #, v[2:3] offset:@", "flat_store_$ v[2:3], # offset:@",
       inGlobal, lanes},
      {"flat, LDS", "flat_load_$ #, v[6:7] offset:@", "flat_store_$ v[6:7], # offset:@", inLds,
       [lanes](MemoryWave &w, uint32_t first) {
         lanes(w, first);
         w.aperture(kSharedAperture);
       }},
      {"flat, private", "flat_load_$ #, v[6:7] offset:@", "flat_store_$ v[6:7], # offset:@",
       inScratch,
       [same](MemoryWave &w, uint32_t first) {
         same(w, first);
         w.aperture(kPrivateAperture);
       }},
      {"LDS", "ds_read_$ #, v4 offset:@", "ds_write_$ v4, # offset:@", inLds, lanes, true},
      {"buffer", "buffer_load_$ #, v4, s[8:11], s7 offen offset:@",
       "buffer_store_$ #, v4, s[8:11], s7 offen offset:@", inGlobal,
       [](MemoryWave &w, uint32_t first) {
         w.addresses(first, kStride);
         w.s(7) = 100;
         w.resource(8, uint64_t(w.global) - 100, 0, MemoryWave::kBytes, w.rawWord3());
       }},
      {"buffer with index and offset", "buffer_load_$ #, v[6:7], s[8:11], s7 idxen offen offset:@",
       "buffer_store_$ #, v[6:7], s[8:11], s7 idxen offen offset:@", inGlobal,
       [](MemoryWave &w, uint32_t first) {
         for (unsigned lane = 0; lane < w.lanes(); ++lane)
           w.setPair(6, lane, uint64_t(first) << 32 | lane);
         w.s(7) = 0;
         w.resource(8, uint64_t(w.global), kStride, 64, w.target.major() == 9 ? 0 : 1u << 28);
       }},
      {"private through a buffer", "buffer_load_$ #, v4, s[8:11], s7 offen offset:@",
       "buffer_store_$ #, v4, s[8:11], s7 offen offset:@", inScratch,
       [same](MemoryWave &w, uint32_t first) {
         same(w, first);
         w.s(7) = 0;
         const uint32_t indexStride = w.lanes() == 64 ? 3u << 21 : 2u << 21;
         w.resource(8, uint64_t(w.wave.scratch), 0, ~0u, 1u << 23 | indexStride | 2u << 28, true);
       }},
      {"scratch", "scratch_load_$ #, v4, off offset:@", "scratch_store_$ v4, #, off offset:@",
       inScratch, same},
      {"scratch with a scalar offset", "scratch_load_$ #, off, s6 offset:@",
       "scratch_store_$ off, #, s6 offset:@", inScratch, same},
  };
  if (target.major() >= 11 || std::string(target.cpu) > "gfx90a")
    if (target.major() != 10)
      views.push_back({"scratch with both offsets", "scratch_load_$ #, v4, s6 offset:@",
                       "scratch_store_$ v4, #, s6 offset:@", inScratch,
                       [](MemoryWave &w, uint32_t first) {
                         w.addresses(first + 40, 0);
                         w.s(6) = uint32_t(-40);
                       }});
  return views;
}

std::string instruction(const View &view, const Width &width, bool isStore, unsigned i,
                        unsigned reg) {
  std::string text;
  for (char c : isStore ? view.store : view.load)
    if (c == '$')
      text += view.usesDsNames ? width.dsName : width.name;
    else if (c == '#')
      text += range("v", reg, width.registers());
    else if (c == '@')
      text += std::to_string(int(i * kStep) + view.bias);
    else
      text += c;
  return text + "\n";
}

/// What a register holds after loading a narrow value, in terms of the bytes alone.
uint32_t loaded(const Width &width, uint32_t bits, uint32_t old, bool clearsOtherHalf) {
  if (width.isSigned && bits >> (8 * width.bytes - 1) & 1)
    bits |= ~0u << (8 * width.bytes);
  if (clearsOtherHalf)
    old = 0;
  switch (width.part) {
  case Part::Whole:
    return bits;
  case Part::Low:
    return (old & 0xffff0000) | (bits & 0xffff);
  case Part::High:
    return (old & 0x0000ffff) | bits << 16;
  }
  return 0;
}

class LoadsAndStores : public MemoryTest {};
class Accumulators : public MemoryTest {};
class ByThread : public MemoryTest {};
class LoadsIntoLds : public MemoryTest {};

TEST_P(LoadsAndStores, LoadsOfEveryWidthThroughEveryAddressForm) {
  for (const View &view : viewsOf(GetParam()))
    for (uint32_t misaligned : {0, 1}) {
      MemoryWave w(GetParam());
      w.exec(0xfffffff7'ffffffbdull);
      view.prepare(w, misaligned - uint32_t(view.bias));
      std::string text;
      for (auto [i, width] : llvm::enumerate(kLoads))
        text += instruction(view, width, false, unsigned(i), 20 + 4 * unsigned(i));
      w.run(text);
      ASSERT_FALSE(w.fault().set) << view.name;
      for (auto [i, width] : llvm::enumerate(kLoads))
        for (unsigned lane = 0; lane < w.lanes(); ++lane)
          for (unsigned r = 0; r < width.registers(); ++r) {
            const unsigned reg = 20 + 4 * unsigned(i) + r;
            uint32_t bits = 0;
            for (unsigned b = 0; b < std::min(width.bytes - 4 * r, 4u); ++b)
              bits |= uint32_t(view.byte(w, lane, misaligned + unsigned(i) * kStep + 4 * r + b))
                      << (8 * b);
            const uint32_t old = AssemblyWave::start(reg, lane);
            const uint32_t expected = !w.active(lane) ? old
                                      : width.bytes >= 4
                                          ? bits
                                          : loaded(width, bits, old, w.target.major() == 9);
            ASSERT_EQ(w.v(reg, lane), expected)
                << view.name << " " << width.name << " lane " << lane << " register " << r;
          }
    }
}

TEST_P(LoadsAndStores, StoresOfEveryWidthThroughEveryAddressForm) {
  for (const View &view : viewsOf(GetParam()))
    for (uint32_t misaligned : {0, 1}) {
      MemoryWave w(GetParam());
      w.exec(0xffffff7f'fffffffaull);
      view.prepare(w, misaligned - uint32_t(view.bias));
      MemoryWave before(GetParam());
      std::string text;
      for (auto [i, width] : llvm::enumerate(kStores))
        text += instruction(view, width, true, unsigned(i), 20 + 4 * unsigned(i));
      w.run(text);
      ASSERT_FALSE(w.fault().set) << view.name;
      for (auto [i, width] : llvm::enumerate(kStores))
        for (unsigned lane = 0; lane < w.lanes(); ++lane)
          for (unsigned b = 0; b < kStep; ++b) {
            const uint32_t offset = misaligned + unsigned(i) * kStep + b;
            const uint32_t word = AssemblyWave::start(20 + 4 * unsigned(i) + b / 4, lane);
            const uint32_t shift = 8 * (b % 4) + (width.part == Part::High ? 16 : 0);
            const bool written = w.active(lane) && b < width.bytes;
            const uint8_t expected =
                written ? uint8_t(word >> shift) : view.byte(before, lane, offset);
            ASSERT_EQ(view.byte(w, lane, offset), expected)
                << view.name << " " << width.name << " lane " << lane << " byte " << b;
          }
    }
}

TEST_P(ByThread, AddressesCountLanes) {
  MemoryWave w(GetParam());
  w.exec(~uint64_t(2))
      .run("global_load_dword_addtid v20, s[4:5] offset:8\n"
           "global_store_dword_addtid v21, s[4:5] offset:1024");
  for (unsigned lane = 0; lane < w.lanes(); ++lane) {
    EXPECT_EQ(w.v(20, lane),
              w.active(lane) ? w.at<uint32_t>(8 + 4 * lane) : AssemblyWave::start(20, lane));
    if (w.active(lane))
      EXPECT_EQ(w.at<uint32_t>(1024 + 4 * lane), AssemblyWave::start(21, lane));
  }
}

TEST_P(LoadsAndStores, FlatOffsetHasNoSignBeforeGfx12) {
  MemoryWave w(GetParam());
  w.addresses(8192, 4);
  if (major() >= 12) {
    w.run("flat_load_dword v20, v[2:3] offset:-8");
    EXPECT_EQ(w.v(20, 3), w.at<uint32_t>(8192 + 12 - 8));
  }
  w.run("flat_load_dword v21, v[2:3] offset:2047");
  EXPECT_EQ(w.v(21, 3), w.at<uint32_t>(8192 + 12 + 2047));
}

TEST_P(LoadsAndStores, FlatLanesGoToAllSpacesAtOnce) {
  MemoryWave w(GetParam());
  for (unsigned lane = 0; lane < w.lanes(); ++lane)
    w.setPair(6, lane,
              lane % 3 == 0   ? uint64_t(w.global) + 64 + 4 * lane
              : lane % 3 == 1 ? uint64_t(kSharedAperture) << 32 | (128 + 4 * lane)
                              : uint64_t(kPrivateAperture) << 32 | 36);
  w.run("flat_load_dword v20, v[6:7] offset:4\nflat_store_dword v[6:7], v21");
  for (unsigned lane = 0; lane < w.lanes(); ++lane) {
    uint32_t privateWord, privateStored;
    std::memcpy(&privateWord, &w.privateByte(lane, 40), 4);
    std::memcpy(&privateStored, &w.privateByte(lane, 36), 4);
    EXPECT_EQ(w.v(20, lane), lane % 3 == 0   ? w.at<uint32_t>(68 + 4 * lane)
                             : lane % 3 == 1 ? w.ldsAt<uint32_t>(132 + 4 * lane)
                                             : privateWord)
        << lane;
    EXPECT_EQ(AssemblyWave::start(21, lane), lane % 3 == 0   ? w.at<uint32_t>(64 + 4 * lane)
                                             : lane % 3 == 1 ? w.ldsAt<uint32_t>(128 + 4 * lane)
                                                             : privateStored)
        << lane;
  }
}

TEST_P(Accumulators, AreDataOfAllMemoryInstructions) {
  MemoryWave w(GetParam());
  const std::string returns =
      GetParam().row().cachePolicy == targets::CachePolicy::Glc ? "glc" : "sc0";
  w.addresses(0, 16).run("global_load_dwordx2 a[8:9], v[2:3], off\n"
                         "global_store_dwordx2 v[2:3], a[8:9], off offset:8\n"
                         "ds_write_b32 v4, a9\n"
                         "ds_read_b32 a10, v4\n"
                         "buffer_load_dword a11, v4, s[8:11], 0 offen\n"
                         "global_atomic_add a12, v[2:3], a8, off " +
                         returns);
  for (unsigned lane = 0; lane < w.lanes(); ++lane) {
    EXPECT_EQ(w.at<uint64_t>(16 * lane + 8), w.pair(kFirstAccumulator + 8, lane));
    EXPECT_EQ(w.v(kFirstAccumulator + 10, lane), w.v(kFirstAccumulator + 9, lane));
    EXPECT_EQ(w.v(kFirstAccumulator + 11, lane), w.v(kFirstAccumulator + 12, lane));
    EXPECT_EQ(w.at<uint32_t>(16 * lane), 2 * w.v(kFirstAccumulator + 8, lane));
  }
}

struct FaultCase {
  const char *text;
  FaultKind kind;
  uint32_t size;
  bool isWrite;
};

/// v4 is out of bounds for lane 5 alone; the fault must name it.
TEST_P(LoadsAndStores, FaultsNameLaneAddressAndSize) {
  static constexpr FaultCase kCases[] = {
      {"global_load_dword v20, v[2:3], off", FaultKind::OutOfBounds, 4, false},
      {"global_store_dwordx2 v[2:3], v[20:21], off", FaultKind::OutOfBounds, 8, true},
      {"global_store_byte v4, v20, s[4:5]", FaultKind::OutOfBounds, 1, true},
      {"flat_load_ushort v20, v[2:3]", FaultKind::OutOfBounds, 2, false},
      {"global_atomic_add v[2:3], v20, off", FaultKind::OutOfBounds, 4, true},
      {"ds_read_b128 v[20:23], v4", FaultKind::LdsOutOfBounds, 16, false},
      {"ds_write_b8 v4, v20", FaultKind::LdsOutOfBounds, 1, true},
      {"ds_add_u64 v4, v[20:21]", FaultKind::LdsOutOfBounds, 8, true},
      {"ds_read2_b32 v[20:21], v4 offset0:1 offset1:2", FaultKind::LdsOutOfBounds, 4, false},
      {"scratch_load_dword v20, v4, off", FaultKind::ScratchOverflow, 4, false},
      {"scratch_store_dwordx3 v4, v[20:22], off", FaultKind::ScratchOverflow, 12, true},
      {"flat_store_dword v[6:7], v20", FaultKind::ScratchOverflow, 4, true},
  };
  for (const FaultCase &c : kCases) {
    MemoryWave w(GetParam());
    w.addresses(0, 0);
    w.v(4, 5) = MemoryWave::kBytes * 2;
    w.setPair(2, 5, uint64_t(w.global) + MemoryWave::kBytes * 2);
    w.aperture(kPrivateAperture);
    w.run(c.text);
    ASSERT_TRUE(w.fault().set) << c.text;
    EXPECT_EQ(w.fault().kind, c.kind) << c.text;
    EXPECT_EQ(w.fault().lane, 5u) << c.text;
    EXPECT_EQ(w.fault().size, c.size) << c.text;
    EXPECT_EQ(w.fault().isWrite, c.isWrite) << c.text;
    EXPECT_EQ(w.wave.status, WaveStatus::Faulted) << c.text;
  }
}

TEST_P(LoadsAndStores, NegativeBaseAndOffsetMeetInLdsAndPrivateMemory) {
  MemoryWave w(GetParam());
  w.addresses(uint32_t(-8), 4).run("ds_read_b32 v20, v4 offset:24");
  EXPECT_EQ(w.v(20, 1), w.ldsAt<uint32_t>(20));
  w.addresses(uint32_t(-8), 0).run("scratch_load_ubyte v21, v4, off offset:24");
  EXPECT_EQ(w.v(21, 1), w.privateByte(1, 16));
  EXPECT_FALSE(w.fault().set);
}

TEST_P(LoadsAndStores, PrivateMemoryNeedsFlatScratch) {
  MemoryWave w(GetParam());
  w.addresses(0, 0).aperture(kPrivateAperture);
  w.wave.setPair(kFlatScratch, 0);
  for (const char *load : {"flat_load_dword v20, v[6:7]", "scratch_load_dword v20, off, s20"}) {
    w.clearFault();
    w.s(20) = 0;
    w.run(load);
    EXPECT_TRUE(w.fault().set) << load;
    EXPECT_EQ(w.fault().kind, FaultKind::ScratchOverflow) << load;
  }
}

TEST_P(LoadsIntoLds, WriteALanesDwordsToItsPlace) {
  const targets::Target &row = GetParam().row();
  const bool hasWide = targets::Fact::wideLdsReads(row);
  const bool hasGlobal = row.cachePolicy == targets::CachePolicy::ScBits;
  struct Case {
    std::string text;
    unsigned bytes, registers;
    bool isSigned;
  };
  std::vector<Case> cases;
  for (const Width &width : kLoads) {
    const bool wide = width.bytes > 4;
    if (width.part != Part::Whole || width.bytes == 8 || (wide && !hasWide))
      continue;
    auto add = [&](const std::string &before, const std::string &after) {
      cases.push_back(
          {before + width.name + after, width.bytes, width.registers(), width.isSigned});
    };
    add("buffer_load_", " v4, s[8:11], 0 offen offset:32 lds");
    if (hasGlobal) {
      add("global_load_lds_", " v[2:3], off offset:32");
      add("global_load_lds_", " v4, s[4:5] offset:32");
    }
  }
  for (const Case &c : cases) {
    MemoryWave w(GetParam()), before(GetParam());
    w.s(kM0) = 4096;
    w.addresses(40, 60).exec(~uint64_t(4)).run(c.text);
    ASSERT_FALSE(w.fault().set) << c.text;
    for (unsigned lane = 0; lane < w.lanes(); ++lane) {
      const uint32_t to = 4096 + 32 + lane * (c.registers > 1 ? 16 : 4);
      for (unsigned b = 0; b < 4 * c.registers; ++b) {
        const uint32_t from = 40 + 60 * lane + 32;
        const uint8_t last = w.global[from + c.bytes - 1];
        const uint8_t extended = c.isSigned && last >> 7 ? 0xff : 0;
        const uint8_t expected = !w.active(lane) ? before.lds[to + b]
                                 : b < c.bytes   ? w.global[from + b]
                                                 : extended;
        ASSERT_EQ(w.lds[to + b], expected) << c.text << " lane " << lane << " byte " << b;
      }
      if (c.bytes == 12)
        EXPECT_EQ(w.lds[to + 12], before.lds[to + 12]);
    }
  }
}

/// LLVM folds an offset into a flat address only if that does not change the aperture.
TEST_P(LoadsAndStores, TheApertureIsThatOfTheAddressWithoutOffset) {
  MemoryWave w(GetParam());
  w.addresses(0, 0);
  for (unsigned lane = 0; lane < w.lanes(); ++lane)
    w.setPair(6, lane, (uint64_t(kSharedAperture) << 32) - 8);
  w.run("flat_load_dword v20, v[6:7] offset:16");
  ASSERT_TRUE(w.fault().set);
  EXPECT_EQ(w.fault().kind, FaultKind::OutOfBounds);
}

TEST_P(LoadsAndStores, CacheOperationsChangeNothing) {
  const bool hasGlc = GetParam().row().cachePolicy == targets::CachePolicy::Glc;
  const std::string text = hasGlc          ? "buffer_wbinvl1\nbuffer_wbinvl1_vol\nbuffer_wbl2\n"
                                             "buffer_invl2\ns_dcache_inv\ns_dcache_wb"
                           : major() == 9  ? "buffer_inv sc1\nbuffer_wbl2 sc0 sc1\ns_dcache_inv"
                           : major() == 12 ? "global_inv scope:SCOPE_DEV\nglobal_wb\nglobal_wbinv"
                                           : "buffer_gl0_inv\nbuffer_gl1_inv\ns_dcache_inv";
  MemoryWave w(GetParam()), before(GetParam());
  w.run(text);
  EXPECT_FALSE(w.fault().set);
  EXPECT_EQ(std::memcmp(w.global, before.global, MemoryWave::kBytes), 0);
}

class Blocks : public MemoryTest {};

TEST_P(Blocks, MoveTheRegistersThatM0Names) {
  MemoryWave w(GetParam()), before(GetParam());
  w.s(kM0) = 0x80000005;
  w.addresses(64, 256)
      .exec(~uint64_t(2))
      .run("global_load_block v[20:51], v[2:3], off offset:8\n"
           "global_store_block v4, v[60:91], s[4:5] offset:128");
  w.addresses(0, 0).run("scratch_store_block v4, v[60:91], off offset:16\n"
                        "scratch_load_block v[100:131], v4, off offset:16");
  for (unsigned lane = 0; lane < w.lanes(); ++lane)
    for (unsigned i = 0; i < 32; ++i) {
      const bool moves = w.active(lane) && (w.s(kM0) >> i & 1);
      const uint32_t at = 64 + 256 * lane + 4 * i;
      EXPECT_EQ(w.v(20 + i, lane),
                moves ? before.at<uint32_t>(at + 8) : AssemblyWave::start(20 + i, lane));
      EXPECT_EQ(w.at<uint32_t>(at + 128),
                moves ? AssemblyWave::start(60 + i, lane) : before.at<uint32_t>(at + 128));
      EXPECT_EQ(w.v(100 + i, lane),
                moves ? AssemblyWave::start(60 + i, lane) : AssemblyWave::start(100 + i, lane));
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, Blocks, targetsFrom(12, 12), nameOf);
INSTANTIATE_TEST_SUITE_P(Targets, LoadsAndStores, testing::ValuesIn(kTargetCases), nameOf);
TEST_P(LoadsIntoLds, FromPrivateMemory) {
  if (GetParam().row().cachePolicy != targets::CachePolicy::ScBits)
    return; // spelt differently
  MemoryWave w(GetParam());
  w.s(kM0) = 1024;
  w.addresses(12, 0).run("scratch_load_lds_dword v4, off offset:4\n"
                         "scratch_load_lds_dword v4, off offset:1024");
  EXPECT_TRUE(w.fault().set) << "beyond the lane's memory";
  w.clearFault();
  w.run("s_mov_b32 m0, 2048\nscratch_load_lds_sbyte v4, off offset:4\n"
        "s_mov_b32 m0, 3072\nscratch_load_lds_sshort v4, off offset:4\n"
        "s_mov_b32 m0, 4096\nscratch_load_lds_ubyte v4, off offset:4\n"
        "s_mov_b32 m0, 5120\nscratch_load_lds_ushort v4, off offset:4");
  EXPECT_FALSE(w.fault().set);
  for (unsigned lane = 0; lane < w.lanes(); ++lane) {
    const uint32_t to = 4 + 4 * lane;
    const uint8_t low = w.privateByte(lane, 16), high = w.privateByte(lane, 17);
    const uint16_t both = uint16_t(low | high << 8);
    EXPECT_EQ(std::memcmp(&w.lds[1024 + to], &w.privateByte(lane, 16), 4), 0) << lane;
    EXPECT_EQ(w.ldsAt<uint32_t>(2048 + to), uint32_t(int8_t(low)));
    EXPECT_EQ(w.ldsAt<uint32_t>(3072 + to), uint32_t(int16_t(both)));
    EXPECT_EQ(w.ldsAt<uint32_t>(4096 + to), low);
    EXPECT_EQ(w.ldsAt<uint32_t>(5120 + to), both);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Accumulators, targetsFrom(9, 9), nameOf);
INSTANTIATE_TEST_SUITE_P(Targets, ByThread, targetsFrom(10, 12), nameOf);
INSTANTIATE_TEST_SUITE_P(Targets, LoadsIntoLds, targetsFrom(9, 10), nameOf);

} // namespace
} // namespace rubia::emulator::test
