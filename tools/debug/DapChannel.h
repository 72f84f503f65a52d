// SPDX-License-Identifier: Apache-2.0
// Messages of the Debug Adapter Protocol over stdin and stdout (base protocol: a header with
// Content-Length, then JSON).
#pragma once

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace rubia::tools {

class DapChannel {
public:
  DapChannel(int input, int output) : input(input), output(output) {}

  int descriptor() const { return input; }
  /// Reads what has come. False: the editor has closed it.
  bool read();
  /// The next whole message; none: it has not come yet. An error: it is not of the protocol.
  llvm::Expected<std::optional<llvm::json::Object>> take();
  void event(llvm::StringRef name, llvm::json::Object body);
  void respond(const llvm::json::Object &request, llvm::json::Value body);
  void refuse(const llvm::json::Object &request, const std::string &why);

private:
  void send(llvm::json::Object message);

  int input, output;
  int64_t sequence = 0;
  std::string received;
};

} // namespace rubia::tools
