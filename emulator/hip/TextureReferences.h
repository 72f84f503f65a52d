// SPDX-License-Identifier: Apache-2.0
// Texture references: a structure of the host, whose fields say how texels are read, and a copy of
// it in each module that kernels read. Bound means: a texture object, whose handle is in both.
#pragma once

#include "emulator/hip/TextureObjects.h"

namespace rubia::emulator::hip {

/// A variable of a registered program, which is its own handle.
void registerReference(textureReference *variable);
bool isRegisteredReference(const void *variable);
/// The reference of a module, whose copy lies at `place`: the same one each time.
textureReference *moduleReference(const void *module, void *place);
/// Those of a module that is about to go, which no kernel uses any more.
void forgetReferences(const void *module);
/// Whether it is one of either kind.
bool isReference(const textureReference *reference);

/// On the current device.
hipError_t bindReference(const textureReference *reference, const hipResourceDesc &resource);
hipError_t unbindReference(const textureReference *reference);
/// After a field has changed: binds again what is bound.
hipError_t refreshReference(const textureReference *reference);
/// What is bound; null: nothing.
std::shared_ptr<const TextureObject> boundTo(const textureReference *reference);

/// The border's colour, for which the structure has no field.
hipError_t setBorder(const textureReference *reference, const float (&color)[4]);
hipError_t getBorder(const textureReference *reference, float (&color)[4]);

} // namespace rubia::emulator::hip
