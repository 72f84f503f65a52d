// SPDX-License-Identifier: Apache-2.0
#include "tools/OutputFile.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rubia::tools {

Error writeFile(const std::string &path, function_ref<void(raw_ostream &)> write) {
  std::error_code error;
  raw_fd_ostream os(path, error);
  if (!error) {
    write(os);
    if (path == "-")
      os.flush();
    else
      os.close();
    error = os.error();
    os.clear_error();
  }
  return error ? createStringError(error, path + ": " + error.message()) : Error::success();
}

Error writeFile(const std::string &path, StringRef bytes) {
  return writeFile(path, [&](raw_ostream &os) { os << bytes; });
}

} // namespace rubia::tools
