// SPDX-License-Identifier: Apache-2.0
// What a buffer of `rubia launch` holds: elements of a type, in a shape; NumPy's files with both;
// printing them, and comparing them with what is expected.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace rubia::tools {

enum class ElementType : uint8_t {
  Bool,
  I8,
  U8,
  I16,
  U16,
  I32,
  U32,
  I64,
  U64,
  F16,
  Bf16,
  F32,
  F64
};

/// "f32"; nullopt: there is no type of that name.
std::optional<ElementType> elementType(llvm::StringRef name);
llvm::StringRef nameOf(ElementType type);
size_t sizeInBytes(ElementType type);
bool isFloat(ElementType type);

/// Elements of a type in row-major order.
struct Shape {
  ElementType type = ElementType::U8;
  std::vector<uint64_t> sizes; // the last one varies fastest; empty: one element
  uint64_t elements() const;
  uint64_t bytes() const { return elements() * sizeInBytes(type); }
  bool operator==(const Shape &) const = default;
  std::string text() const; // "f32[4,8]"
};

/// "f32[4,8]", of at most 2^40 bytes. nullopt: it is no such text.
std::optional<Shape> parseShape(llvm::StringRef text);

/// The value as a number: exact, but for integers of more than 53 bits.
double valueOf(ElementType type, const uint8_t *bytes);
/// For people; floating-point numbers with as many digits as tell them apart.
std::string textOf(ElementType type, const uint8_t *bytes);

/// A line for each row, of what is shaped so; `bytes` are shape.bytes() many.
void printElements(llvm::raw_ostream &os, const Shape &shape, llvm::ArrayRef<uint8_t> bytes);

struct Tolerance {
  double relative = 1e-5, absolute = 1e-8;
};

/// How `found` differs from `expected`, in a sentence; empty: nowhere by more than absolute +
/// relative * |expected|. NaN is equal to NaN. Integers must be equal.
std::string compareElements(const Shape &shape, llvm::ArrayRef<uint8_t> found,
                            llvm::ArrayRef<uint8_t> expected, const Tolerance &tolerance);

/// A file of NumPy's, version 1 to 3, little-endian, in C's order. The error says what is not
/// taken.
struct NpyFile {
  Shape shape;
  llvm::ArrayRef<uint8_t> data; // into the bytes
};
llvm::Expected<NpyFile> readNpy(llvm::ArrayRef<uint8_t> bytes);
/// The error: NumPy has no such type.
llvm::Expected<std::string> writeNpy(const Shape &shape, llvm::ArrayRef<uint8_t> data);

} // namespace rubia::tools
