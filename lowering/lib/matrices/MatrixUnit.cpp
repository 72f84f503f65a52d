// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/matrices/MatrixUnit.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::lowering {

using enum TileBit;

// ---------- Layouts

FragmentLayout ptxA() { return {{K0, K1, M0, M1, M2}, {M3, K2}}; }
FragmentLayout ptxB() { return {{K0, K1, N0, N1, N2}, {K2, N3}}; }
FragmentLayout ptxSums() { return {{N1, N2, M0, M1, M2}, {N0, M3, N3}}; }

namespace {

using targets::Matrix;

bool isMfma(const Target &target) { return target.row->hasMfma(); }
bool isRepeating(const Target &target) { return target.row->matrix == Matrix::Wmma; }

// What follows the line in a lane's number, and what is in its registers.
FragmentLayout input(const Target &target, std::array<TileBit, 4> line) {
  FragmentLayout layout{{line[0], line[1], line[2], line[3]}, {}};
  if (isMfma(target)) {
    layout.lane.append({K1, K2});
    layout.reg = {K0};
  } else if (isRepeating(target)) {
    layout.lane.push_back(Any);
    layout.reg = {K0, K1, K2};
  } else {
    layout.lane.push_back(K2);
    layout.reg = {K0, K1};
  }
  return layout;
}

// The columns of a tile in the order of the unit's rows, from the lowest bit of the row's number:
// PTX has the lowest bit in registers, as well as that which tells two mma apart, so the unit has.
std::array<TileBit, 4> columns(const Target &target) {
  if (isMfma(target)) // row = register + 4 * (lane / 16)
    return {N0, N3, N1, N2};
  if (isRepeating(target)) // row = lane / 16 + 2 * register
    return {N1, N0, N3, N2};
  return {N0, N3, N2, N1}; // row = register + 8 * (lane / 16)
}

} // namespace

FragmentLayout MatrixUnit::a() const { return input(target, {M0, M1, M2, M3}); }
FragmentLayout MatrixUnit::b() const { return input(target, columns(target)); }

FragmentLayout MatrixUnit::sums() const {
  auto row = columns(target);
  if (isMfma(target))
    return {{M0, M1, M2, M3, row[2], row[3]}, {row[0], row[1]}};
  if (isRepeating(target))
    return {{M0, M1, M2, M3, row[0]}, {row[1], row[2], row[3]}};
  return {{M0, M1, M2, M3, row[3]}, {row[0], row[1], row[2]}};
}

// ---------- Types

namespace {

bool isByteFloat(ptx::Type type) { return type == ptx::Type::E4M3 || type == ptx::Type::E5M2; }
bool isByte(ptx::Type type) { return type == ptx::Type::S8 || type == ptx::Type::U8; }
bool isNibble(ptx::Type type) { return type == ptx::Type::S4 || type == ptx::Type::U4; }
bool isSigned(ptx::Type type) { return type == ptx::Type::S8 || type == ptx::Type::S4; }

} // namespace

std::string ProductTypes::name() const {
  // The types come first among the modifiers.
  auto text = [](ptx::Type type) { return ptx::textOf(ptx::Modifier(type)).drop_front(); };
  std::string name = (text(a) + "." + text(b)).str();
  if (saturates)
    name += ".sat";
  if (isFast)
    name += ".fast";
  return name;
}

bool MatrixUnit::exists() const {
  // Where accumulation registers are a file of their own, long chains of MFMA under whole-wave mode
  // came out wrong in the packed form (u8 by s8), so these targets take the software route.
  if (!target.usesMatrixUnit || target.row->accumulators == targets::Accumulators::Own)
    return false;
  // A wave64 of RDNA has other layouts; only tests ask for it.
  return target.row->matrix != Matrix::NoMatrix && (isMfma(target) || target.waveSize == 32);
}

bool MatrixUnit::multiplies(const ProductTypes &types) const {
  if (!exists())
    return false;
  // WMMA has no tf32. Two products of bf16 pairs cost more than a chain of fused steps: 31,550
  // instructions for 26,906 on gfx1201, 42,140 for 26,972 on gfx1100, in a loop of eight mma.
  if (types.a == ptx::Type::TF32)
    return isMfma(target) && types.b == types.a;
  return (types.a == types.b && (types.a == ptx::Type::F16 || types.a == ptx::Type::BF16)) ||
         (isByteFloat(types.a) && isByteFloat(types.b)) || (isByte(types.a) && isByte(types.b)) ||
         (isNibble(types.a) && isNibble(types.b));
}

// ---------- Products

namespace {

// One product of a warp. The unit's rows are the columns of B, so B is its first operand.
class Product {
public:
  Product(IRBuilder<> &b, const Target &target, const ProductTypes &types)
      : b(b), target(target), types(types) {}

  Value *multiply(Value *aWords, Value *bWords, Value *sums) {
    if (isByte(types.a) || isNibble(types.a))
      return multiplyIntegers(split(aWords), split(bWords), sums);
    accumulator = b.CreateBitCast(
        sums, FixedVectorType::get(b.getFloatTy(), cast<FixedVectorType>(sums->getType())));
    multiplyFloats(split(aWords), split(bWords));
    if (types.canonicalNan)
      accumulator = b.CreateSelect(
          b.CreateFCmpUNO(accumulator, accumulator),
          b.CreateBitCast(ConstantInt::get(sums->getType(), 0x7fffffff), accumulator->getType()),
          accumulator);
    return b.CreateBitCast(accumulator, sums->getType());
  }

private:
  using Words = SmallVector<Value *, 16>;

  Words split(Value *vector) {
    Words words;
    for (unsigned i = 0; i < cast<FixedVectorType>(vector->getType())->getNumElements(); ++i)
      words.push_back(b.CreateExtractElement(vector, i));
    return words;
  }
  Value *join(ArrayRef<Value *> words) {
    if (words.size() == 1)
      return words[0];
    Value *vector = PoisonValue::get(FixedVectorType::get(words[0]->getType(), words.size()));
    for (auto [i, word] : enumerate(words))
      vector = b.CreateInsertElement(vector, word, i);
    return vector;
  }
  Type *vectorOf(Type *type, unsigned count) { return FixedVectorType::get(type, count); }

  // Executes an instruction on as many words at once as it takes.
  template <typename Execute>
  void inSteps(ArrayRef<Value *> aWords, ArrayRef<Value *> bWords, unsigned words,
               Execute execute) {
    assert(aWords.size() == bWords.size() && aWords.size() % words == 0);
    for (size_t i = 0; i < aWords.size(); i += words)
      execute(join(bWords.slice(i, words)), join(aWords.slice(i, words)));
  }

  void mfma(Intrinsic::ID id, Value *first, Value *second) {
    Value *zero = b.getInt32(0);
    accumulator = b.CreateIntrinsic(accumulator->getType(), id,
                                    {first, second, accumulator, zero, zero, zero});
  }
  void wmma(Intrinsic::ID id, Value *first, Value *second) {
    accumulator = b.CreateIntrinsic(id, {accumulator->getType(), first->getType()},
                                    {first, second, accumulator});
  }

  // ---------- Floating point

  void multiplyFloats(const Words &aWords, const Words &bWords) {
    if (types.a == ptx::Type::TF32)
      return multiplyTf32(masked(aWords), masked(bWords));
    if (types.a == ptx::Type::F16 || types.a == ptx::Type::BF16)
      return multiplyHalves(aWords, bWords, types.a == ptx::Type::BF16);
    if (target.row->float8 == targets::Float8::Ocp)
      return multiplyBytes(aWords, bWords);
    // FNUZ's bytes are half of OCP's but for -0, infinities and NaNs. A branch on these for each
    // product costs more than it saves: 9,230 instructions for 7,964 in a loop of eight mma.
    multiplyHalves(bytesAsHalves(aWords, types.a), bytesAsHalves(bWords, types.b), false);
  }

  // PTX ISA: the low 13 bits of a tf32 are ignored.
  Words masked(ArrayRef<Value *> words) {
    Words result;
    for (Value *word : words)
      result.push_back(b.CreateAnd(word, 0xffffe000));
    return result;
  }

  void multiplyTf32(ArrayRef<Value *> aWords, ArrayRef<Value *> bWords) {
    if (!types.isFast || !target.hasXf32)
      return multiplySingles(aWords, bWords);
    Type *pair = vectorOf(b.getFloatTy(), 2);
    inSteps(aWords, bWords, 2, [&](Value *first, Value *second) {
      mfma(Intrinsic::amdgcn_mfma_f32_16x16x8_xf32, b.CreateBitCast(first, pair),
           b.CreateBitCast(second, pair));
    });
  }

  // v_mfma_f32_16x16x4_f32: fused multiply-adds in f32.
  void multiplySingles(ArrayRef<Value *> aWords, ArrayRef<Value *> bWords) {
    for (auto [a, second] : zip_equal(aWords, bWords))
      mfma(Intrinsic::amdgcn_mfma_f32_16x16x4f32, b.CreateBitCast(second, b.getFloatTy()),
           b.CreateBitCast(a, b.getFloatTy()));
  }

  void multiplyHalves(ArrayRef<Value *> aWords, ArrayRef<Value *> bWords, bool isBf16) {
    if (!isMfma(target)) {
      // 16 or, packed, 8 elements of a line.
      const unsigned words = isRepeating(target) ? 8 : 4;
      Type *type = vectorOf(isBf16 ? b.getInt16Ty() : b.getHalfTy(), 2 * words);
      return inSteps(aWords, bWords, words, [&](Value *first, Value *second) {
        wmma(isBf16 ? Intrinsic::amdgcn_wmma_f32_16x16x16_bf16
                    : Intrinsic::amdgcn_wmma_f32_16x16x16_f16,
             b.CreateBitCast(first, type), b.CreateBitCast(second, type));
      });
    }
    // CDNA 2 flushes denormals of f16 and bf16, and CDNA 1 is taken to.
    if (!target.hasMfmaOfCdna3 && !types.isFast)
      return multiplySingles(asSingles(aWords, isBf16), asSingles(bWords, isBf16));
    // CDNA 1 has bf16 two by two.
    const unsigned words = isBf16 && !target.hasMfmaOfCdna2 ? 1 : 2;
    Type *type = vectorOf(isBf16 ? b.getInt16Ty() : b.getHalfTy(), 2 * words);
    Intrinsic::ID id = !isBf16      ? Intrinsic::amdgcn_mfma_f32_16x16x16f16
                       : words == 2 ? Intrinsic::amdgcn_mfma_f32_16x16x16bf16_1k
                                    : Intrinsic::amdgcn_mfma_f32_16x16x8bf16;
    inSteps(aWords, bWords, words, [&](Value *first, Value *second) {
      mfma(id, b.CreateBitCast(first, type), b.CreateBitCast(second, type));
    });
  }

  // Two f32 for each word.
  Words asSingles(ArrayRef<Value *> words, bool isBf16) {
    Words result;
    for (Value *word : words) {
      if (isBf16) {
        result.push_back(b.CreateShl(word, 16));
        result.push_back(b.CreateAnd(word, 0xffff0000));
        continue;
      }
      Value *pair = b.CreateBitCast(word, vectorOf(b.getHalfTy(), 2));
      for (unsigned i = 0; i < 2; ++i)
        result.push_back(b.CreateBitCast(
            b.CreateFPExt(b.CreateExtractElement(pair, i), b.getFloatTy()), b.getInt32Ty()));
    }
    return result;
  }

  // OCP's formats, in the unit.
  void multiplyBytes(ArrayRef<Value *> aWords, ArrayRef<Value *> bWords) {
    const bool firstIsBf8 = types.b == ptx::Type::E5M2, secondIsBf8 = types.a == ptx::Type::E5M2;
    auto choose = [&](std::array<Intrinsic::ID, 4> ids) {
      return ids[2 * firstIsBf8 + secondIsBf8];
    };
    inSteps(aWords, bWords, 2, [&](Value *first, Value *second) {
      if (!isMfma(target))
        return wmma(choose({Intrinsic::amdgcn_wmma_f32_16x16x16_fp8_fp8,
                            Intrinsic::amdgcn_wmma_f32_16x16x16_fp8_bf8,
                            Intrinsic::amdgcn_wmma_f32_16x16x16_bf8_fp8,
                            Intrinsic::amdgcn_wmma_f32_16x16x16_bf8_bf8}),
                    first, second);
      mfma(choose({Intrinsic::amdgcn_mfma_f32_16x16x32_fp8_fp8,
                   Intrinsic::amdgcn_mfma_f32_16x16x32_fp8_bf8,
                   Intrinsic::amdgcn_mfma_f32_16x16x32_bf8_fp8,
                   Intrinsic::amdgcn_mfma_f32_16x16x32_bf8_bf8}),
           b.CreateBitCast(first, b.getInt64Ty()), b.CreateBitCast(second, b.getInt64Ty()));
    });
  }

  // Four bytes as two words of f16: those at even places, then those at odd ones. e5m2 is the upper
  // byte of an f16. e4m3 has another bias, which a product with 2^8 mends, denormals too; its only
  // NaNs have all bits but the sign.
  Words bytesAsHalves(ArrayRef<Value *> words, ptx::Type type) {
    Words result;
    for (Value *word : words)
      for (Value *bytes : {b.CreateShl(word, 8), word})
        result.push_back(upperBytesAsHalves(bytes, type));
    return result;
  }
  Value *upperBytesAsHalves(Value *word, ptx::Type type) {
    if (type == ptx::Type::E5M2)
      return b.CreateAnd(word, 0xff00ff00);
    Value *magnitude = b.CreateAnd(word, 0x7f007f00);
    Value *halves = b.CreateOr(b.CreateLShr(magnitude, 1), b.CreateAnd(word, 0x80008000));
    Type *pair = vectorOf(b.getHalfTy(), 2), *integers = vectorOf(b.getInt16Ty(), 2);
    Value *scaled = b.CreateFMul(b.CreateBitCast(halves, pair), ConstantFP::get(pair, 256));
    Value *isNan =
        b.CreateICmpEQ(b.CreateBitCast(magnitude, integers), ConstantInt::get(integers, 0x7f00));
    scaled = b.CreateSelect(isNan, ConstantFP::getNaN(pair), scaled);
    return b.CreateBitCast(scaled, b.getInt32Ty());
  }

  // ---------- Integers

  // A sum of products fits; only the sum with C may not.
  Value *multiplyIntegers(const Words &aWords, const Words &bWords, Value *sums) {
    const bool startsFromZero = types.saturates || (isNibble(types.a) && isMfma(target));
    accumulator = startsFromZero ? Constant::getNullValue(sums->getType()) : sums;
    if (!isMfma(target))
      multiplyByWmma(aWords, bWords);
    else if (isNibble(types.a))
      multiplyNibblesByMfma(aWords, bWords);
    else
      multiplyBytesByMfma(aWords, bWords);
    if (!startsFromZero)
      return accumulator;
    return types.saturates ? b.CreateBinaryIntrinsic(Intrinsic::sadd_sat, accumulator, sums)
                           : b.CreateAdd(accumulator, sums);
  }

  void multiplyByWmma(ArrayRef<Value *> aWords, ArrayRef<Value *> bWords) {
    // Of a line, in both groups of lanes or in each: 16 bytes; 16 or, packed, 32 nibbles.
    const unsigned words = isByte(types.a) && isRepeating(target) ? 4 : 2;
    Intrinsic::ID id = isByte(types.a)       ? Intrinsic::amdgcn_wmma_i32_16x16x16_iu8
                       : isRepeating(target) ? Intrinsic::amdgcn_wmma_i32_16x16x16_iu4
                                             : Intrinsic::amdgcn_wmma_i32_16x16x32_iu4;
    inSteps(aWords, bWords, words, [&](Value *first, Value *second) {
      accumulator =
          b.CreateIntrinsic(id, {accumulator->getType(), first->getType()},
                            {b.getInt1(isSigned(types.b)), first, b.getInt1(isSigned(types.a)),
                             second, accumulator, b.getFalse()});
    });
  }

  void multiplySignedBytes(ArrayRef<Value *> aWords, ArrayRef<Value *> bWords) {
    if (!target.hasMfmaOfCdna3)
      return inSteps(aWords, bWords, 1, [&](Value *first, Value *second) {
        mfma(Intrinsic::amdgcn_mfma_i32_16x16x16i8, first, second);
      });
    inSteps(aWords, bWords, 2, [&](Value *first, Value *second) {
      mfma(Intrinsic::amdgcn_mfma_i32_16x16x32_i8, b.CreateBitCast(first, b.getInt64Ty()),
           b.CreateBitCast(second, b.getInt64Ty()));
    });
  }

  // MFMA has signed bytes only. u = s + 128, where s is u with the upper bit turned over; so what
  // is missing are 128 times the sums of the other factor, by products with 64, twice, and 128 *
  // 128 for each of the 32 if both are unsigned.
  void multiplyBytesByMfma(Words aWords, Words bWords) {
    const bool aIsUnsigned = !isSigned(types.a), bIsUnsigned = !isSigned(types.b);
    auto turnOver = [&](Words &words) {
      for (Value *&word : words)
        word = b.CreateXor(word, 0x80808080);
    };
    if (aIsUnsigned)
      turnOver(aWords);
    if (bIsUnsigned)
      turnOver(bWords);
    multiplySignedBytes(aWords, bWords);
    Words sixtyFours(aWords.size(), b.getInt32(0x40404040));
    for (unsigned i = 0; i < 2; ++i) {
      if (aIsUnsigned)
        multiplySignedBytes(sixtyFours, bWords);
      if (bIsUnsigned)
        multiplySignedBytes(aWords, sixtyFours);
    }
    if (aIsUnsigned && bIsUnsigned)
      accumulator =
          b.CreateAdd(accumulator, ConstantInt::get(accumulator->getType(), 32 * 128 * 128));
  }

  // As bytes: those at even places, then those at odd ones. Signed ones are in the upper nibble,
  // which makes them 16 times as large.
  Words nibblesAsBytes(ArrayRef<Value *> words, ptx::Type type) {
    Words result;
    for (Value *word : words)
      for (bool odd : {false, true}) {
        if (isSigned(type))
          result.push_back(b.CreateAnd(odd ? word : b.CreateShl(word, 4), 0xf0f0f0f0));
        else
          result.push_back(b.CreateAnd(odd ? b.CreateLShr(word, 4) : word, 0x0f0f0f0f));
      }
    return result;
  }
  void multiplyNibblesByMfma(ArrayRef<Value *> aWords, ArrayRef<Value *> bWords) {
    multiplySignedBytes(nibblesAsBytes(aWords, types.a), nibblesAsBytes(bWords, types.b));
    accumulator = b.CreateAShr(accumulator, 4 * (isSigned(types.a) + isSigned(types.b)));
  }

  IRBuilder<> &b;
  const Target &target;
  const ProductTypes &types;
  Value *accumulator = nullptr;
};

} // namespace

Value *MatrixUnit::multiply(IRBuilder<> &b, const ProductTypes &types, Value *aWords, Value *bWords,
                            Value *sums) const {
  return Product(b, target, types).multiply(aWords, bWords, sums);
}

} // namespace rubia::lowering
