// SPDX-License-Identifier: Apache-2.0
// Copies by tensor maps: what they do, in every warp form, and what ends a kernel. Recorded results
// of an NVIDIA GPU are in tests/golden/kernels.
#include "lowering/TensorMap.h"
#include "tests/lowering/execution/AsyncPrograms.h"
#include <cstring>

using namespace rubia::lowering::test;

// A tensor map that the kernel makes of zeros. Rank, sizes, boxes and element strides that it
// leaves out are 1, as on an H200 (Triton's descriptors have no rank where it is 1).
TEST(TensorCopies, MapsMadeOfZeros) {
  for (const bool isTwo : {false, true}) {
    const std::string kField = "tensormap.replace.tile.", kHere = ".shared::cta.b1024.b32 [%r8], ";
    const std::string second = kField + "rank" + kHere + "1;" + kField +
                               "global_stride.shared::cta.b1024.b64 [%r8], 0, 32;" + kField +
                               "global_dim" + kHere + "1, 5;";
    const std::string dims = isTwo ? "2d" : "1d", at = isTwo ? "{4, 2}" : "{4}";
    std::string ptx =
        executable90(kStart + R"(
    mov.u32 %r8, copy; mad.lo.u32 %r2, %tid, 4, %r8; mov.u32 %r3, 0; st.shared.u32 [%r2], %r3;
    bar.warp.sync -1; @!%p0 bra READY;
    add.u64 %rd3, %buf, 256;
    tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r8], %rd3;
    )" + kField + "global_dim" +
                         kHere + "0, 7;" + kField + "box_dim" + kHere + "0, 4;" + kField +
                         "elemtype" + kHere + "2;" + (isTwo ? second : "") + R"(
    mbarrier.init.shared.b64 [%r0], 1; fence.mbarrier_init.release.cluster;
    READY: bar.warp.sync -1;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%buf], [%r8], 128;
    fence.proxy.tensormap::generic.acquire.gpu [%buf], 128;
    @!%p0 bra WAIT;
    mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r0], 16;
    cp.async.bulk.tensor.)" +
                         dims +
                         ".shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%buf, " +
                         at + R"(], [%r0];
    )" + kWait + R"(
    @!%p0 bra DONE;
    cp.async.bulk.tensor.)" +
                         dims + ".global.shared::cta.tile.bulk_group [%buf, " +
                         (isTwo ? "{0, 0}" : "{0}") + R"(], [%r1];
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
    mov.u64 %rd4, 0; st.global.u64 [%buf], %rd4; // the address is another one each time
    DONE: ret;)",
                     kVariables + ".shared .align 128 .b8 copy[128];\n");
    std::vector<uint32_t> result = runAll(ptx, counting(64 + 40));
    const uint32_t from = 64 + (isTwo ? 2 * 8 : 0) + 4;
    std::vector<uint32_t> expected = counting(64 + 40);
    for (uint32_t i = 0; i < 4; ++i)
      expected[64 + i] = i < 3 ? from + i : 0;
    EXPECT_EQ(std::vector(result.begin() + 64, result.end()),
              std::vector(expected.begin() + 64, expected.end()))
        << dims;
  }
}

// A size of 0 is 2^32 in such a map, which an H200 refuses.
TEST(TensorCopies, ASizeOfZeroInAMapMadeOfZerosEndsTheKernel) {
  Form form;
  form.expectTrap = true;
  form.block = {1, 1, 1};
  std::vector<uint32_t> words(64 + 32);
  const std::string next = "; tensormap.replace.tile.", word = ".global.b1024.b32 [%buf], ";
  Outcome outcome =
      run(executable90(kStart + "mbarrier.init.shared.b64 [%r0], 1;" + "add.u64 %rd3, %buf, 256" +
                           next + "global_address.global.b1024.b64 [%buf], %rd3" + next +
                           "elemtype" + word + "2" + next + "box_dim" + word + "0, 4" + next +
                           "global_dim" + word + R"(0, 0;
    mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r0], 16;
    cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%buf, {0}], [%r0];
    )" + kWait + "ret;",
                       kVariables),
          words, form);
  EXPECT_EQ(outcome.trap.reason, uint32_t(rubia::abi::TrapReason::IllegalInstruction));
}

// A tensor map made by the test, completed and published by the kernel.
TEST(TensorCopies, ReplaceFetchReduceStore) {
  rubia::abi::TensorMap map = {};
  map.magic = rubia::abi::kTensorMapMagic;
  map.rank = 2;
  map.type = rubia::abi::TensorType::U32;
  map.strides[0] = 32;
  map.sizes[0] = 7, map.sizes[1] = 5;
  map.box[0] = 4, map.box[1] = 3;
  for (uint8_t &stride : map.elementStrides)
    stride = 1;
  std::string ptx = executable90(kStart + R"(
    mul.wide.u32 %rd2, %tid, 4; add.u64 %rd2, %rd2, %buf; mov.u32 %r8, copy;
    mad.lo.u32 %r2, %tid, 4, %r8; ld.global.u32 %r3, [%rd2]; st.shared.u32 [%r2], %r3;
    bar.warp.sync -1; @!%p0 bra READY;
    add.u64 %rd3, %buf, 256;
    tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r8], %rd3;
    mbarrier.init.shared.b64 [%r0], 1; fence.mbarrier_init.release.cluster;
    READY: bar.warp.sync -1;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%buf], [%r8], 128;
    fence.proxy.tensormap::generic.acquire.gpu [%buf], 128;
    @!%p0 bra WAIT;
    cp.async.bulk.prefetch.tensor.2d.L2.global [%buf, {4, 3}];
    mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r0], 48;
    cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%buf, {4, 3}], [%r0];
    )" + kWait + R"(
    @!%p0 bra DONE;
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%buf, {0, 0}], [%r1];
    cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%buf, {0, 0}], [%r1];
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
    mov.u64 %rd4, 0; st.global.u64 [%buf], %rd4; // the address is another one each time
    DONE: ret;)",
                                 kVariables + ".shared .align 128 .b8 copy[128];\n");
  std::vector<uint32_t> words = counting(64 + 40);
  memcpy(words.data(), &map, sizeof(map));
  std::vector<uint32_t> result = runAll(ptx, words);
  for (uint32_t row = 0; row < 5; ++row)
    for (uint32_t column = 0; column < 8; ++column) {
      const uint32_t at = 64 + row * 8 + column;
      // What lies at (4 + column, 3 + row), twice; outside of the tensor it is 0.
      uint32_t from = 4 + column < 7 && 3 + row < 5 ? 64 + (3 + row) * 8 + 4 + column : 0;
      EXPECT_EQ(result[at], row < 3 && column < 4 ? 2 * from : at) << row << " " << column;
    }
}

// What a kernel has made of a map is looked at when it copies.
TEST(TensorCopies, ChangedMapsThatAreNoneEndTheKernel) {
  rubia::abi::TensorMap map = {};
  map.magic = rubia::abi::kTensorMapMagic;
  map.rank = 2;
  map.type = rubia::abi::TensorType::U32;
  map.strides[0] = 32;
  map.sizes[0] = 8, map.sizes[1] = 4;
  map.box[0] = 4, map.box[1] = 2;
  for (uint8_t &stride : map.elementStrides)
    stride = 1;
  std::vector<uint32_t> words = counting(64 + 32);
  memcpy(words.data(), &map, sizeof(map));
  using Reason = rubia::abi::TrapReason;
  struct Change {
    std::string fields;
    Reason reason = Reason::None; // it copies, and charges 32 bytes
  };
  const std::string kNext = "; tensormap.replace.tile.", kWord = ".global.b1024.b32 [%buf], ",
                    kLong = ".global.b1024.b64 [%buf], ";
  const Change kChanges[] = {
      {"box_dim" + kWord + "1, 2"},
      {"box_dim" + kWord + "1, 258"}, // of eight bits, as all that follows an H100 does
      {"element_stride" + kWord + "0, 0"},
      {"element_stride" + kWord + "0, 9"},
      {"element_stride" + kWord + "1, 9"},
      {"global_stride" + kLong + "0, 40"},
      {"global_dim" + kWord + "1, 0x80000000"},
      {"box_dim" + kWord + "0, 3", Reason::IllegalInstruction},
      {"elemtype" + kWord + "0", Reason::IllegalInstruction}, // rows of four bytes
      {"box_dim" + kWord + "0, 16" + kNext + "swizzle_mode" + kWord + "1",
       Reason::IllegalInstruction},
      {"rank" + kWord + "0", Reason::IllegalInstruction},
      {"rank" + kWord + "6", Reason::IllegalInstruction},
      {"interleave_layout" + kWord + "1", Reason::IllegalInstruction}, // of two dimensions
      {"global_dim" + kWord + "1, 0", Reason::IllegalInstruction},
      {"global_dim" + kWord + "0, 0xffffffff", Reason::IllegalInstruction},
      {"fill_mode" + kWord + "1", Reason::IllegalInstruction}, // of integers
      {"global_address" + kLong + "%rd4", Reason::MisalignedAddress},
  };
  for (const auto &[fields, reason] : kChanges) {
    SCOPED_TRACE(fields);
    Form form;
    form.expectTrap = reason != Reason::None;
    form.block = {1, 1, 1};
    Outcome outcome = run(executable90(kStart + "mbarrier.init.shared.b64 [%r0], 1;" +
                                           "add.u64 %rd3, %buf, 256; add.u64 %rd4, %rd3, 8;"
                                           "tensormap.replace.tile.global_address.global.b1024.b64 "
                                           "[%buf], %rd3; tensormap.replace.tile." +
                                           fields + R"(;
      mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r0], 32;
      cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%buf, {0, 0}], [%r0];
      )" + kWait + "ret;",
                                       kVariables),
                          words, form);
    if (form.expectTrap)
      EXPECT_EQ(outcome.trap.reason, uint32_t(reason));
  }
}

// An H200 writes nothing that begins before the tensor, in whatever dimension.
TEST(TensorCopies, StoresBeforeTheTensorEndTheKernel) {
  rubia::abi::TensorMap map = {};
  map.magic = rubia::abi::kTensorMapMagic;
  map.rank = 2;
  map.type = rubia::abi::TensorType::U32;
  map.strides[0] = 32;
  map.sizes[0] = 8, map.sizes[1] = 4;
  map.box[0] = 8, map.box[1] = 2;
  for (uint8_t &stride : map.elementStrides)
    stride = 1;
  std::vector<uint32_t> words = counting(64 + 32);
  memcpy(words.data(), &map, sizeof(map));
  for (const char *copy : {"cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group",
                           "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group"})
    for (const auto &[place, isRefused] : {std::pair("4, 3", false),
                                           {"8, 0", false},
                                           {"-4, 0", true},
                                           {"-8, 1", true},
                                           {"0, -1", true}}) {
      SCOPED_TRACE(std::string(copy) + " " + place);
      Form form;
      form.expectTrap = isRefused;
      form.block = {1, 1, 1};
      Outcome outcome = run(executable90(kStart +
                                             "add.u64 %rd3, %buf, 256;"
                                             "tensormap.replace.tile.global_address.global."
                                             "b1024.b64 [%buf], %rd3; " +
                                             copy + " [%buf, {" + place + R"(}], [%r1];
      cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;)",
                                         kVariables),
                            words, form);
      if (isRefused)
        EXPECT_EQ(outcome.trap.reason, uint32_t(rubia::abi::TrapReason::IllegalInstruction));
    }
}

// A load of tf32 rounds to the nearest even, also denormals, with and without .ftz (an H200).
TEST(TensorCopies, Tf32IsRoundedToEven) {
  const std::pair<uint32_t, uint32_t> kWords[] = {
      {0x3f801000, 0x3f800000}, {0x3f803000, 0x3f804000}, {0x3f801001, 0x3f802000},
      {0x3f800fff, 0x3f800000}, {0xbf801000, 0xbf800000}, {0x00001000, 0x00000000},
      {0x80003000, 0x80004000}, {0x007ff000, 0x00800000}, {0x45001000, 0x45000000},
      {0x7f7ff000, 0x7f800000}, {0x7f7fefff, 0x7f7fe000}, {0xff800000, 0xff800000},
      {0xff800001, 0x7fffe000}, {0x00000fff, 0x00000000}, {0x3f805000, 0x3f804000},
      {0x3f807000, 0x3f808000}};
  rubia::abi::TensorMap map = {};
  map.magic = rubia::abi::kTensorMapMagic;
  map.rank = 1;
  map.sizes[0] = map.box[0] = std::size(kWords);
  map.elementStrides[0] = 1;
  for (auto type : {rubia::abi::TensorType::Tf32, rubia::abi::TensorType::Tf32Ftz}) {
    map.type = type;
    std::vector<uint32_t> words = counting(64 + std::size(kWords));
    memcpy(words.data(), &map, sizeof(map));
    for (size_t i = 0; i < std::size(kWords); ++i)
      words[64 + i] = kWords[i].first;
    const std::vector<uint32_t> result = runAll(executable90(kStart + R"(
    mul.wide.u32 %rd2, %tid, 4; add.u64 %rd2, %rd2, %buf; mad.lo.u32 %r2, %tid, 4, %r1;
    @!%p0 bra READY;
    add.u64 %rd3, %buf, 256; mbarrier.init.shared.b64 [%r0], 1;
    tensormap.replace.tile.global_address.global.b1024.b64 [%buf], %rd3;
    mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r0], 64;
    cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%buf, {0}], [%r0];
    READY: bar.sync 0;
    )" + kWait + R"(
    setp.ge.u32 %p1, %tid, 16; @%p1 bra DONE;
    ld.shared.u32 %r3, [%r2]; st.global.u32 [%rd2+256], %r3;
    DONE: mov.b64 %rd4, 0; @%p0 st.global.u64 [%buf], %rd4; ret;)",
                                                             kVariables),
                                                words);
    for (size_t i = 0; i < std::size(kWords); ++i)
      EXPECT_EQ(result[64 + i], kWords[i].second) << std::hex << kWords[i].first;
  }
}

// Which reductions an H200 has of a type; of the others it does none, also where nothing of the
// box lies within the tensor.
TEST(TensorCopies, ReductionsThatATypeHasNotEndTheKernel) {
  using rubia::abi::TensorType;
  rubia::abi::TensorMap map = {};
  map.magic = rubia::abi::kTensorMapMagic;
  map.rank = 2;
  map.strides[0] = 64;
  map.sizes[0] = 8, map.sizes[1] = 2;
  map.box[0] = 16, map.box[1] = 1;
  for (uint8_t &stride : map.elementStrides)
    stride = 1;
  const std::tuple<TensorType, const char *, bool> kReductions[] = {
      {TensorType::S64, "min", true},  {TensorType::S64, "max", true},
      {TensorType::S64, "add", false}, {TensorType::S64, "and", false},
      {TensorType::S64, "or", false},  {TensorType::S64, "xor", false},
      {TensorType::U64, "add", true},  {TensorType::U64, "xor", true},
      {TensorType::U64, "inc", false}, {TensorType::S32, "xor", true},
      {TensorType::S32, "dec", false}, {TensorType::F64, "xor", false},
      {TensorType::F16, "or", false},  {TensorType::U8, "xor", false}};
  for (const auto &[type, name, exists] : kReductions)
    for (const char *place : {"0, 0", "0, 5"}) {
      SCOPED_TRACE(std::string(name) + " of type " + std::to_string(unsigned(type)) + " at " +
                   place);
      map.type = type;
      std::vector<uint32_t> words = counting(64 + 32);
      memcpy(words.data(), &map, sizeof(map));
      Form form;
      form.expectTrap = !exists;
      form.block = {1, 1, 1};
      Outcome outcome = run(executable90(kStart +
                                             "add.u64 %rd3, %buf, 256;"
                                             "tensormap.replace.tile.global_address.global."
                                             "b1024.b64 [%buf], %rd3; "
                                             "cp.reduce.async.bulk.tensor.2d.global.shared::cta." +
                                             name + ".tile.bulk_group [%buf, {" + place +
                                             R"(}], [%r1];
      cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;)",
                                         kVariables),
                            words, form);
      if (!exists)
        EXPECT_EQ(outcome.trap.reason, uint32_t(rubia::abi::TrapReason::IllegalInstruction));
    }
}

// A map of images: where a copy may begin, and that an element stride goes from image to image.
TEST(TensorCopies, PixelsOfImages) {
  rubia::abi::TensorMap map = {};
  map.magic = rubia::abi::kTensorMapMagic;
  map.access = rubia::abi::TensorAccess::Im2col;
  map.rank = 3;
  map.type = rubia::abi::TensorType::U32;
  map.strides[0] = 16, map.strides[1] = 48;
  map.sizes[0] = 4, map.sizes[1] = 3, map.sizes[2] = 4; // channels, columns, images
  map.channels = 4, map.pixels = 3;
  map.lowerCorner[0] = -1, map.upperCorner[0] = -1;
  for (uint8_t &stride : map.elementStrides)
    stride = 1;
  map.elementStrides[2] = 2;
  std::vector<uint32_t> words = counting(64 + 64);
  memcpy(words.data(), &map, sizeof(map));
  for (const auto &[column, isRefused] :
       {std::pair(-2, true), {-1, false}, {0, false}, {1, false}, {2, true}, {3, true}}) {
    SCOPED_TRACE(column);
    Form form;
    form.expectTrap = isRefused;
    form.block = {1, 1, 1};
    std::string ptx =
        executable90(kStart + "mbarrier.init.shared.b64 [%r0], 1;" +
                         "add.u64 %rd3, %buf, 256;"
                         "tensormap.replace.tile.global_address.global.b1024.b64 "
                         "[%buf], %rd3; mov.b16 %rs0, 1;"
                         "mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r0], 48;"
                         "cp.async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier"
                         "::complete_tx::bytes [%r1], [%buf, {0, " +
                         std::to_string(column) + ", 0}], [%r0], {%rs0};" + kWait + R"(
      ld.shared.u32 %r2, [%r1]; st.global.u32 [%buf], %r2;
      ld.shared.u32 %r2, [%r1+16]; st.global.u32 [%buf+4], %r2;
      ld.shared.u32 %r2, [%r1+32]; st.global.u32 [%buf+8], %r2; ret;)",
                     kVariables);
    Outcome outcome = run(ptx, words, form);
    if (isRefused) {
      EXPECT_EQ(outcome.trap.reason, uint32_t(rubia::abi::TrapReason::IllegalInstruction));
      continue;
    }
    for (int pixel = 0; pixel < 3; ++pixel) { // three columns of each second image, with the offset
      const int n = column + 1 + pixel, image = n / 3 * 2;
      EXPECT_EQ(outcome.words[pixel], words[64 + image * 12 + n % 3 * 4]) << pixel;
    }
  }
}

// Dynamic shared memory starts where a swizzle by address is one by offset, whatever stands before
// it: here a variable and the words of a counted barrier.
TEST(TensorCopies, SwizzlesOfDynamicMemoryGoByOffset) {
  rubia::abi::TensorMap map = {};
  map.magic = rubia::abi::kTensorMapMagic;
  map.rank = 2;
  map.type = rubia::abi::TensorType::U32;
  map.swizzle = rubia::abi::TensorSwizzle::Bytes128;
  map.strides[0] = 128;
  map.sizes[0] = 32, map.sizes[1] = 8;
  map.box[0] = 32, map.box[1] = 8;
  for (uint8_t &stride : map.elementStrides)
    stride = 1;
  std::string ptx = executable90(R"(
    mov.u32 %r0, bar; mov.u32 %r1, dynamic; mov.u32 %r8, copy; setp.eq.u32 %p0, %tid, 0;
    mul.wide.u32 %rd2, %tid, 4; add.u64 %rd2, %rd2, %buf; mad.lo.u32 %r2, %tid, 4, %r8;
    setp.lt.u32 %p1, %tid, 32; @%p1 ld.global.u32 %r3, [%rd2]; @%p1 st.shared.u32 [%r2], %r3;
    and.b32 %r4, %tid, 32; setp.eq.u32 %p2, %r4, 0; @%p2 bar.sync 1, 64; @!%p2 bar.sync 2, 64;
    bar.sync 0; @!%p0 bra READY;
    add.u64 %rd3, %buf, 256;
    tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r8], %rd3;
    mbarrier.init.shared.b64 [%r0], 1; fence.mbarrier_init.release.cluster;
    READY: bar.sync 0; @!%p1 bra WAIT;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%buf], [%r8], 128;
    fence.proxy.tensormap::generic.acquire.gpu [%buf], 128;
    @!%p0 bra WAIT;
    mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r0], 1024;
    cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%buf, {0, 0}], [%r0];
    )" + kWait + R"(
    bar.sync 0;
    // Words tid and tid + 128, of which 32 are a row and 4 a piece.
    shr.u32 %r4, %tid, 5; shl.b32 %r4, %r4, 4; shl.b32 %r5, %tid, 2; xor.b32 %r5, %r5, %r4;
    add.u32 %r5, %r5, %r1; ld.shared.u32 %r6, [%r5];
    xor.b32 %r5, %r5, 64; ld.shared.u32 %r7, [%r5+512];
    st.global.u32 [%rd2+256], %r6; st.global.u32 [%rd2+768], %r7;
    mov.u64 %rd4, 0; @%p0 st.global.u64 [%buf], %rd4;
    ret;)",
                                 ".shared .align 8 .b64 bar;\n.shared .align 128 .b8 copy[128];\n"
                                 ".extern .shared .align 16 .b8 dynamic[];\n");
  std::vector<uint32_t> words = counting(64 + 256);
  memcpy(words.data(), &map, sizeof(map));
  Form form = blockOf(128);
  form.dynamicSharedBytes = 1024;
  std::vector<uint32_t> result = runAll(ptx, words, form);
  for (uint32_t i = 64; i < words.size(); ++i)
    EXPECT_EQ(result[i], words[i]) << i;
}
