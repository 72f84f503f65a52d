// SPDX-License-Identifier: Apache-2.0
// Messages between a launch and its debugger: objects of JSON, a line each, over a Unix socket.
//
// No thread of its own reads them: a program may fork or end at any time. Whoever runs a launch
// asks now and then whether something has come.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace rubia::emulator {

class Connection {
public:
  static llvm::Expected<Connection> open(llvm::StringRef path);
  Connection(Connection &&other) noexcept;
  Connection &operator=(Connection &&) = delete;
  ~Connection();

  /// Whether the debugger is still there.
  bool isOpen() const { return descriptor >= 0; }
  void send(llvm::json::Object message);
  /// The next message; none: the debugger has gone.
  std::optional<llvm::json::Object> wait();
  /// The next message if one has come.
  std::optional<llvm::json::Object> poll();

private:
  explicit Connection(int descriptor) : descriptor(descriptor) {}
  bool read(bool mayWait);
  std::optional<llvm::json::Object> take();
  void close();

  int descriptor = -1;
  std::string received;
};

} // namespace rubia::emulator
