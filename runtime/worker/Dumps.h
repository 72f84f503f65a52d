// SPDX-License-Identifier: Apache-2.0
// RUBIA_DUMP: what the compiler makes of a unit on its way, as files for people. Compile processes
// may not write files. They hand the contents to the supervisor, which decides what is written and
// where.
#pragma once

#include "runtime/compiler/Protocol.h"
#include "settings/Settings.h"

namespace rubia::settings::Id {
extern const Setting dump, dumpDir;
} // namespace rubia::settings::Id
namespace rubia::settings::DumpKind {
extern const Word Ptx;
} // namespace rubia::settings::DumpKind

namespace rubia::runtime {

namespace DumpKind = settings::DumpKind;

struct Dump {
  settings::Word kind = DumpKind::Ptx; // of RUBIA_DUMP
  std::string kernel;                  // the first of the unit; empty for the PTX of an image
  std::string contents;
};

unsigned countDumpKinds();

/// As a compile process hands it over.
std::string encodeDump(const Dump &dump);
llvm::Expected<Dump> decodeDump(llvm::ArrayRef<uint8_t> bytes);

/// "0123456789abcdef.ptx" for an image, "0123456789abcdef.7.saxpy.gfx1100.fedcba9876543210.ll" for
/// a unit: beginnings of the digests of the image and of the cache key. Whatever the kernel's name
/// is, this is the name of a file in one folder.
std::string nameOfDump(const Dump &dump, const protocol::Request &request, llvm::StringRef key);

/// Of the supervisor.
class Dumps {
public:
  explicit Dumps(const settings::Settings &settings)
      : kinds(settings.words(settings::Id::dump)), folder(settings.text(settings::Id::dumpDir)) {}
  bool any() const { return !kinds.empty(); }
  /// Writes what was asked for, and nothing else. The log has what cannot be written.
  void write(const protocol::Request &request, llvm::ArrayRef<uint8_t> encoded) const;

private:
  settings::WordSet kinds;
  std::string folder;
};

} // namespace rubia::runtime
