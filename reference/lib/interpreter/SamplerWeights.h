// SPDX-License-Identifier: Apache-2.0
// Modes, flags and units of the sampler.
#pragma once

namespace rubia::reference::interpreter {

enum Mode { kWrap, kClamp, kMirror, kBorder }; // CUaddress_mode
constexpr unsigned kReadAsInteger = 1, kNormalized = 2, kStandardRgb = 0x10, kEvenLevels = 0x20,
                   kSeamless = 0x40;
constexpr unsigned kOne = 256;    // of weights
constexpr int kFractionBits = 21; // of normalised coordinates

// The part of a part that a weight gives to one side.
inline unsigned share(unsigned part, unsigned weight) { return (part * weight + kOne / 2) / kOne; }

} // namespace rubia::reference::interpreter
