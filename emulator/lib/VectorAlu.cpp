// One row of each shape, as a pattern for the families in the other VectorAlu files, and the
// instructions that belong to no family.
#include "emulator/lib/Semantics.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

void readFirstLane(WaveOperands &w) { w.setScalarResult(w.source(0, w.firstActiveLane())); }

void readLane(WaveOperands &w) { w.setScalarResult(w.source(0, w.source(1, 0) % w.laneCount())); }

// Sources: value, lane; the other lanes keep the destination's contents. EXEC plays no part.
void writeLane(WaveOperands &w) { w.setResult(w.source(1, 0) % w.laneCount(), w.source(0, 0)); }

void swap(WaveOperands &w) {
  for (unsigned lane = 0; lane < w.laneCount(); ++lane)
    if (w.active(lane)) {
      uint32_t old = w.result(lane);
      w.setResult(lane, w.source(0, lane));
      w.setSource(0, lane, old);
    }
}

constexpr Semantics kRows[] = {
    {"V_MOV_B32", lanewise<[](uint32_t a) { return a; }>},
    {"V_ADD_F32", lanewise<[](float a, float b) { return a + b; }>},
    {"V_ADD_F64", lanewise<[](double a, double b) { return a + b; }>},
    {"V_ADD_F16", lanewise<[](Half a, Half b) { return Half(a + b); }>},
    {"V_AND_B32", lanewise<[](uint32_t a, uint32_t b) { return a & b; }>},
    {"V_ADD_U32", lanewise<[](Saturate saturate, uint32_t a, uint32_t b) {
       uint32_t sum = a + b;
       return saturate.on && sum < a ? ~0u : sum;
     }>},
    {"V_ADD_CO_U32",
     lanewise<[](uint32_t a, uint32_t b) { return Carry<uint32_t>{a + b, a + b < a}; }>},
    {"V_ADDC_U32", lanewise<[](uint32_t a, uint32_t b, bool carry) {
       uint64_t sum = uint64_t(a) + b + carry;
       return Carry<uint32_t>{uint32_t(sum), bool(sum >> 32)};
     }>},
    {"V_CNDMASK_B32", lanewise<[](uint32_t a, uint32_t b, bool second) { return second ? b : a; }>},
    {"V_CMP_LT_F32", lanewise<[](float a, float b) { return a < b; }>},
    {"V_CVT_F32_I32", lanewise<[](int32_t a) { return float(a); }>},
    {"V_PK_ADD_U16", lanewise<[](Saturate saturate, Pair<uint16_t> a, Pair<uint16_t> b) {
       auto add = [&](uint16_t x, uint16_t y) {
         uint32_t sum = uint32_t(x) + y;
         return uint16_t(saturate.on && sum > 0xffff ? 0xffff : sum);
       };
       return Pair<uint16_t>{add(a.lo, b.lo), add(a.hi, b.hi)};
     }>},
    {"V_MBCNT_LO_U32_B32", lanewise<[](LaneId lane, uint32_t mask, uint32_t count) {
       uint32_t below = lane.value >= 32 ? ~0u : (1u << lane.value) - 1;
       return count + uint32_t(std::popcount(mask & below));
     }>},
    {"V_MBCNT_HI_U32_B32", lanewise<[](LaneId lane, uint32_t mask, uint32_t count) {
       uint32_t below = lane.value < 32 ? 0 : (1u << (lane.value - 32)) - 1;
       return count + uint32_t(std::popcount(mask & below));
     }>},
    {"V_READFIRSTLANE_B32", wavewise<readFirstLane>},
    {"V_READLANE_B32", wavewise<readLane>},
    {"V_WRITELANE_B32", wavewise<writeLane>},
    {"V_SWAP_B32", wavewise<swap>},
};

} // namespace

extern const SemanticsTable kVectorAlu;
const SemanticsTable kVectorAlu = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
