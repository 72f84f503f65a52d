// SPDX-License-Identifier: Apache-2.0
// A call of an entry point with its arguments, for the log (RUBIA_LOG=debug):
//
//   cuMemAlloc_v2(pointer=0x7ffd2f10, bytes=1024): CUDA_SUCCESS, *pointer=0x7f3a00000000
//
// Arguments have the names of the parameters. Numbers, addresses and texts are shown, of other
// structures only that they are there. After a call that succeeded, what it wrote through a pointer
// to a number or to an address is shown too; of an array that is the first element.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstring>
#include <type_traits>

namespace rubia::runtime {

/// The name of an entry point, and its arguments while it runs.
class TracedCall {
public:
  struct Argument {
    enum class Kind : uint8_t { Structure, Signed, Unsigned, Float, Address, Text };
    Kind kind = Kind::Structure;
    uint8_t bytes = 0;
    uint64_t bits = 0;
    Kind written = Kind::Structure; // what the address leads to, if that is an out parameter
    uint8_t writtenBytes = 0;
  };
  using Arguments = llvm::function_ref<void(llvm::function_ref<void(llvm::ArrayRef<Argument>)>)>;

  /// `parameters`: their names, separated by ", ". All must live as long as the call.
  TracedCall(const char *name, const char *parameters, Arguments arguments)
      : name(name), parameters(parameters), arguments(arguments) {}

  /// Of functions whose parameters nobody has named.
  TracedCall(const char *name) : name(name), parameters("") {}

  const char *const name;
  /// The call with `result`, which stands for success or not.
  std::string describe(llvm::StringRef result, bool isSuccess) const;

  template <class T> static Argument argument(const T &value);

private:
  const char *parameters;
  Arguments arguments;
};

template <class T> constexpr TracedCall::Argument::Kind kindOf() {
  using Kind = TracedCall::Argument::Kind;
  return std::is_floating_point_v<T> ? Kind::Float
         : std::is_pointer_v<T>      ? Kind::Address
         : std::is_enum_v<T>         ? Kind::Signed
         : !std::is_integral_v<T>    ? Kind::Structure
         : std::is_signed_v<T>       ? Kind::Signed
                                     : Kind::Unsigned;
}

template <class T> TracedCall::Argument TracedCall::argument(const T &value) {
  Argument made;
  made.kind = kindOf<T>();
  made.bytes = sizeof(T) <= 8 ? sizeof(T) : 0;
  if constexpr (std::is_same_v<T, const char *>)
    made.kind = Argument::Kind::Text;
  if constexpr (std::is_enum_v<T> || (std::is_integral_v<T> && std::is_signed_v<T>))
    made.bits = uint64_t(int64_t(value));
  else if constexpr (kindOf<T>() != Argument::Kind::Structure)
    memcpy(&made.bits, &value, sizeof(value));
  if constexpr (std::is_pointer_v<T>) {
    using To = std::remove_pointer_t<T>;
    if constexpr (!std::is_const_v<To> && std::is_scalar_v<To>) {
      if constexpr (sizeof(To) > 1) { // bytes are texts or data
        made.written = kindOf<To>();
        made.writtenBytes = sizeof(To);
      }
    }
  }
  return made;
}

} // namespace rubia::runtime

/// The entry point that is being defined, with its parameters.
#define RUBIA_CALL(...)                                                                            \
  ::rubia::runtime::TracedCall(__func__, #__VA_ARGS__, [&](auto &&use) {                           \
    ::rubia::runtime::useArguments(use __VA_OPT__(, ) __VA_ARGS__);                                \
  })

namespace rubia::runtime {

inline void useArguments(llvm::function_ref<void(llvm::ArrayRef<TracedCall::Argument>)> use) {
  use({});
}
template <class... T>
void useArguments(llvm::function_ref<void(llvm::ArrayRef<TracedCall::Argument>)> use,
                  const T &...values) {
  const TracedCall::Argument arguments[] = {TracedCall::argument(values)...};
  use(arguments);
}

} // namespace rubia::runtime
