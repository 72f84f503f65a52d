// SPDX-License-Identifier: Apache-2.0
#include "emulator/hip/api/Version.h"
#include "emulator/Emulator.h"
#include "settings/Settings.h"
#include "llvm/ADT/StringRef.h"
#include <dlfcn.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting hipVersion;
} // namespace rubia::settings::Id

namespace rubia::emulator::hip {

static unsigned findMajorVersion() {
  if (const uint64_t wanted = hostSettings().number(settings::Id::hipVersion))
    return unsigned(wanted);
  Dl_info self;
  if (dladdr(reinterpret_cast<void *>(&findMajorVersion), &self) && self.dli_fname) {
    unsigned major;
    StringRef suffix = StringRef(self.dli_fname).rsplit(".so.").second;
    if (!suffix.split('.').first.getAsInteger(10, major) && major >= 5 && major <= 7)
      return major;
  }
  return 5;
}

unsigned hipMajorVersion() {
  static const unsigned major = findMajorVersion();
  return major;
}

int hipVersionNumber() {
  switch (hipMajorVersion()) {
  case 6:
    return 60000000;
  case 7:
    return 70000000;
  default:
    return 50221153; // 5.2, whose headers this library is compiled with
  }
}

} // namespace rubia::emulator::hip
