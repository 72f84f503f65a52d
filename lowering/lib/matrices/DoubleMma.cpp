// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/matrices/DoubleMma.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "lowering/lib/matrices/FragmentLayout.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::settings::NanMode {
extern const Word Canonical;
} // namespace rubia::settings::NanMode
namespace rubia::ptx::Mod {
extern const Modifier Rn;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {
namespace {

using enum TileBit;

// A block of the unit is a quarter of the tile: its upper or lower half by M2, its left or right
// one by N2. CDNA 3 ISA, "Dense matrix multiplication"; emulator/lib/machine/MatrixLayout.h.
const FragmentLayout kPtxA{{K0, K1, M0, M1, M2}, {}}, kUnitA{{M0, M1, M2, Any, K0, K1}, {}};
const FragmentLayout kPtxB{{K0, K1, N0, N1, N2}, {}}, kUnitB{{N0, N1, Any, N2, K0, K1}, {}};
const FragmentLayout kPtxSums{{N1, N2, M0, M1, M2}, {N0}}, kUnitSums{{N0, N1, M2, N2, M0, M1}, {}};

// A number's halves, as registers of 32 bits.
struct Number {
  Value *low = nullptr, *high = nullptr;
};

class DoubleTile {
public:
  DoubleTile(FunctionLowering &fn, const MmaForm &form)
      : fn(fn), b(fn.builder()), form(form), lane(waveLane(b, fn.target())) {}

  MmaFragment multiply(const MmaOperands &operands) {
    const unsigned halves = form.m / 8, chunks = form.k / 4;
    const auto a = enter(operands.a), factors = enter(operands.b), c = enter(operands.c);
    SmallVector<Number, 8> registers(c.size());
    for (unsigned warp = 0; warp < (fn.target().isPacked ? 2 : 1); ++warp) {
      SmallVector<Value *, 4> ofB;
      for (unsigned chunk = 0; chunk < chunks; ++chunk)
        ofB.push_back(move(factors[chunk], kPtxB, kUnitB, warp));
      for (unsigned half = 0; half < halves; ++half) {
        // The two columns of a lane follow each other.
        const ArrayRef<Number> pair = ArrayRef(c).slice(2 * half, 2);
        Value *sum = move(pair, kPtxSums, kUnitSums, warp);
        for (unsigned chunk = 0; chunk < chunks; ++chunk)
          sum = product(move(a[chunk * halves + half], kPtxA, kUnitA, warp), ofB[chunk], sum);
        moveBack(sum, warp, MutableArrayRef(registers).slice(2 * half, 2));
      }
    }
    MmaFragment results;
    for (const Number &number : registers)
      results.push_back(joined({leaveWholeWave(number.low), leaveWholeWave(number.high)}));
    return results;
  }

private:
  // Lanes that are not active get a value too: they are sources of nothing, but are read.
  Value *enterWholeWave(Value *value) {
    return b.CreateIntrinsic(Intrinsic::amdgcn_set_inactive, {value->getType()},
                             {value, Constant::getNullValue(value->getType())});
  }
  Value *leaveWholeWave(Value *value) {
    return b.CreateIntrinsic(Intrinsic::amdgcn_strict_wwm, {value->getType()}, {value});
  }
  SmallVector<Number, 8> enter(ArrayRef<Value *> registers) {
    SmallVector<Number, 8> numbers;
    for (Value *value : registers) {
      const Number parts = split(value);
      numbers.push_back({enterWholeWave(parts.low), enterWholeWave(parts.high)});
    }
    return numbers;
  }

  Number split(Value *bits) {
    return {b.CreateTrunc(bits, b.getInt32Ty()),
            b.CreateTrunc(b.CreateLShr(bits, 32), b.getInt32Ty())};
  }
  Value *joined(const Number &number) {
    Value *high = b.CreateShl(b.CreateZExt(number.high, b.getInt64Ty()), 32);
    return b.CreateOr(high, b.CreateZExt(number.low, b.getInt64Ty()));
  }

  // The numbers of one warp, of which the unit has one in each lane.
  Value *move(ArrayRef<Number> numbers, const FragmentLayout &from, const FragmentLayout &to,
              unsigned warp) {
    auto part = [&](Value *Number::*half) {
      SmallVector<Value *, 2> words;
      for (const Number &number : numbers)
        words.push_back(number.*half);
      return moveWords(b, from, words, to, lane, 32 * warp)[0];
    };
    Value *bits = joined({part(&Number::low), part(&Number::high)});
    return b.CreateBitCast(bits, b.getDoubleTy());
  }
  void moveBack(Value *sum, unsigned warp, MutableArrayRef<Number> results) {
    const Number number = split(b.CreateBitCast(sum, b.getInt64Ty()));
    auto part = [&](Value *word, Value *Number::*half) {
      for (auto [result, moved] :
           zip_equal(results, moveWords(b, kUnitSums, {word}, kPtxSums, lane, 0))) {
        Value *&mine = result.*half;
        Value *isUpper = b.CreateICmpNE(b.CreateAnd(lane, 32), b.getInt32(0));
        mine = warp ? b.CreateSelect(isUpper, moved, mine) : moved;
      }
    };
    part(number.low, &Number::low);
    part(number.high, &Number::high);
  }

  Value *product(Value *a, Value *ofB, Value *sum) {
    Value *zero = b.getInt32(0);
    return b.CreateIntrinsic(b.getDoubleTy(), Intrinsic::amdgcn_mfma_f64_4x4x4f64,
                             {a, ofB, sum, zero, zero, zero});
  }

  FunctionLowering &fn;
  IRBuilder<> &b;
  const MmaForm &form;
  Value *lane;
};

} // namespace

bool hasDoubleMma(const Target &target, const MmaForm &form) {
  const bool isToNearest = form.rounding == ptx::Mod::None || form.rounding == ptx::Mod::Rn;
  return form.a == ptx::Type::F64 && form.kind != MmaKind::Wgmma && isToNearest &&
         target.hasMfmaOfCdna2 && target.usesMatrixUnit;
}

MmaFragment multiplyDoubles(FunctionLowering &fn, const MmaForm &form,
                            const MmaOperands &operands) {
  MmaFragment sums = DoubleTile(fn, form).multiply(operands);
  if (!fn.options().code.is(settings::NanMode::Canonical))
    return sums;
  // The unit's NaNs are its own.
  IRBuilder<> &b = fn.builder();
  Value *hasNan = b.getFalse();
  for (Value *bits : sums) {
    Value *sum = b.CreateBitCast(bits, b.getDoubleTy());
    hasNan = b.CreateOr(hasNan, b.CreateFCmpUNO(sum, sum));
  }
  return redoInSoftware(fn, form, operands, sums, hasNan);
}

} // namespace rubia::lowering
