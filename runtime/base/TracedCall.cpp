// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/TracedCall.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <sys/uio.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::runtime {

using Argument = TracedCall::Argument;

static std::string textOf(Argument::Kind kind, uint64_t bits, unsigned bytes) {
  switch (kind) {
  case Argument::Kind::Signed:
    return std::to_string(SignExtend64(bits, 8 * bytes));
  case Argument::Kind::Unsigned:
    return std::to_string(bits);
  case Argument::Kind::Float: {
    if (bytes == 8)
      return std::to_string(bit_cast<double>(bits));
    return std::to_string(bit_cast<float>(uint32_t(bits)));
  }
  case Argument::Kind::Address:
    return bits ? "0x" + utohexstr(bits, true) : "null";
  case Argument::Kind::Text:
  case Argument::Kind::Structure:
    break;
  }
  return "{...}";
}

// What the program's pointers lead to: they may lead nowhere, where a count of 0 says so.
static bool read(uint64_t address, void *to, size_t bytes) {
  iovec local = {to, bytes}, remote = {reinterpret_cast<void *>(address), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == ssize_t(bytes);
}

static std::string quoted(uint64_t address) {
  constexpr size_t kMost = 200;
  std::string text;
  for (char c = 0; text.size() < kMost; text += c) {
    if (!read(address + text.size(), &c, 1))
      return textOf(Argument::Kind::Address, address, 8);
    if (!c)
      return '"' + text + '"';
  }
  return '"' + text + "...\"";
}

static std::string textOf(const Argument &value) {
  if (value.kind != Argument::Kind::Text)
    return textOf(value.kind, value.bits, value.bytes);
  return value.bits ? quoted(value.bits) : "null";
}

std::string TracedCall::describe(StringRef result, bool isSuccess) const {
  SmallVector<StringRef> names;
  StringRef(parameters).split(names, ", ", -1, false);
  std::string text;
  raw_string_ostream out(text);
  auto print = [&](ArrayRef<Argument> all) {
    out << name << '(';
    ListSeparator comma;
    for (auto [parameter, value] : zip_equal(names, all))
      out << comma << parameter << '=' << textOf(value);
    out << "): " << result;
    for (auto [parameter, value] : zip_equal(names, all)) {
      uint64_t written = 0;
      if (isSuccess && value.writtenBytes && value.bits &&
          read(value.bits, &written, value.writtenBytes))
        out << ", *" << parameter << '=' << textOf(value.written, written, value.writtenBytes);
    }
  };
  if (arguments)
    arguments(print);
  else
    out << name << ": " << result;
  return text;
}

} // namespace rubia::runtime
