// SPDX-License-Identifier: Apache-2.0
// What modules were loaded from, and which function is of which module.
#pragma once

#include "diff/forward/CapsuleWriter.h"
#include "diff/forward/Driver.h"

namespace rubia::forward {

struct Piece { // of an image: a container, cubin or PTX text
  const uint8_t *data;
  size_t size;
  bool isOurs; // a copy, to be freed
};

struct LoadedImage {
  Handle owner; // the module or library
  bool isLibrary;
  Array<Piece> pieces;
  bool areVariablesKnown = false;
  /// Whether its PTX has instructions for textures or surfaces; also if that cannot be told.
  bool namesTextures();

  LoadedImage(Handle owner, bool isLibrary) : owner(owner), isLibrary(isLibrary) {}

private:
  enum class Known : uint8_t { Not, No, Yes };
  Known textures = Known::Not;
};

struct KnownFunction {
  Handle function, owner;
  const char *name; // never freed
  bool isKernel;    // of a library
};

class Images {
public:
  /// `image` as it was given to the driver. A copy is made of all that the program may free.
  void loaded(Handle owner, bool isLibrary, const void *image);
  void loadedFile(Handle owner, bool isLibrary, const char *path);
  void unloaded(Handle owner);
  void found(Handle function, Handle owner, const char *name, bool isKernel);
  void isModuleOf(Handle module, Handle library);

  /// Asks the driver about functions that were found another way. Null: nothing is known of it.
  const KnownFunction *functionOf(Handle function);
  /// Null: it was loaded in a way that is not seen.
  LoadedImage *imageOf(Handle owner);

private:
  Array<LoadedImage *> images;
  Array<KnownFunction> functions;
  struct Alias {
    Handle module, library;
  };
  Array<Alias> aliases;
};

/// All of a file, or somewhat more than `most` bytes of it; nothing if it cannot be read.
void readFile(const char *path, size_t most, Bytes &bytes);

/// The size of the container, cubin or PTX text at `data`; 0: it is none of them.
size_t imageBytes(const uint8_t *data);

} // namespace rubia::forward
