// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rubia::reference::interpreter {

/// What an H100 gives for rcp.approx.ftz.f32 of a number without a sign, bit for bit
/// (docs/textures.md, "The sampler").
float approximateReciprocal(float number);

} // namespace rubia::reference::interpreter
