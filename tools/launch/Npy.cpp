// SPDX-License-Identifier: Apache-2.0
// NumPy's file format: a magic, a version, the length of a header, the header (a dictionary of
// Python's, as text) and the elements. numpy.lib.format has the rules.
#include "tools/launch/Elements.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"

using namespace llvm;

namespace rubia::tools {

namespace {
constexpr StringLiteral kMagic = "\x93NUMPY";

Error malformed(const Twine &what) { return createStringError("no file of NumPy's: " + what); }

// What stands behind 'KEY': in the dictionary, up to the comma or brace that ends it.
StringRef valueBehind(StringRef dictionary, StringRef key) {
  for (char quote : {'\'', '"'}) {
    const std::string quoted = std::string(1, quote) + key.str() + quote;
    const size_t at = dictionary.find(quoted);
    if (at == StringRef::npos)
      continue;
    StringRef rest = dictionary.drop_front(at + quoted.size()).ltrim();
    if (rest.consume_front(":"))
      return rest.ltrim();
  }
  return "";
}

std::optional<ElementType> typeOf(StringRef descr) {
  if (descr == "|b1")
    return ElementType::Bool;
  if (descr.size() != 3 || (descr[0] != '<' && descr[0] != '|' && descr[0] != '='))
    return std::nullopt;
  const char kind = descr[1];
  unsigned bytes;
  if ((kind != 'i' && kind != 'u' && kind != 'f') || descr.substr(2).getAsInteger(10, bytes))
    return std::nullopt;
  return elementType(std::string(1, kind) + std::to_string(bytes * 8));
}

std::optional<std::string> descrOf(ElementType type) {
  if (type == ElementType::Bf16)
    return std::nullopt;
  if (type == ElementType::Bool)
    return "|b1";
  const size_t bytes = sizeInBytes(type);
  return (bytes == 1 ? "|" : "<") + nameOf(type).take_front(1).str() + std::to_string(bytes);
}
} // namespace

Expected<NpyFile> readNpy(ArrayRef<uint8_t> bytes) {
  StringRef text = toStringRef(bytes);
  if (!text.consume_front(kMagic) || text.size() < 4)
    return malformed("it does not begin like one");
  const uint8_t version = text[0];
  const size_t lengthBytes = version == 1 ? 2 : 4;
  if (version < 1 || version > 3 || text.size() < 2 + lengthBytes)
    return malformed("version " + Twine(version));
  const auto *length = reinterpret_cast<const uint8_t *>(text.data()) + 2;
  const size_t size =
      lengthBytes == 2 ? support::endian::read16le(length) : support::endian::read32le(length);
  text = text.drop_front(2 + lengthBytes);
  if (size > text.size())
    return malformed("the header is cut off");
  const StringRef header = text.take_front(size);
  NpyFile file;
  file.data = arrayRefFromStringRef(text.drop_front(size));

  StringRef descr = valueBehind(header, "descr");
  const char quote = descr.empty() ? 0 : descr.front();
  descr = quote == '\'' || quote == '"' ? descr.drop_front().split(quote).first : "";
  const std::optional<ElementType> type = typeOf(descr);
  if (!type)
    return malformed("elements of type '" + descr + "'");
  file.shape.type = *type;
  if (!valueBehind(header, "fortran_order").starts_with("False"))
    return malformed("its order is Fortran's, expected C's");
  StringRef shape = valueBehind(header, "shape");
  if (!shape.consume_front("(") || !shape.contains(')'))
    return malformed("no shape");
  SmallVector<StringRef> numbers;
  shape.split(')').first.split(numbers, ',', -1, /*KeepEmpty=*/false);
  uint64_t elements = 1;
  for (StringRef number : numbers) {
    number = number.trim();
    uint64_t count;
    if (number.empty())
      continue;
    if (number.getAsInteger(10, count) || (count && elements > file.data.size() / count))
      return malformed("the shape is larger than the file");
    file.shape.sizes.push_back(count);
    elements *= count;
  }
  if (file.shape.bytes() != file.data.size())
    return malformed(Twine(file.data.size()) + " bytes of elements, expected " +
                     Twine(file.shape.bytes()) + " for " + file.shape.text());
  return file;
}

Expected<std::string> writeNpy(const Shape &shape, ArrayRef<uint8_t> data) {
  const std::optional<std::string> descr = descrOf(shape.type);
  if (!descr)
    return createStringError("NumPy's files have no elements of type " + nameOf(shape.type));
  std::string sizes;
  for (uint64_t size : shape.sizes)
    sizes += std::to_string(size) + ", ";
  std::string header = "{'descr': '" + *descr + "', 'fortran_order': False, 'shape': (" +
                       StringRef(sizes).rtrim(shape.sizes.size() == 1 ? " " : ", ").str() + "), }";
  // The elements begin at a multiple of 64.
  const size_t before = kMagic.size() + 4;
  header.append(63 - (before + header.size()) % 64, ' ');
  header += '\n';
  std::string file = kMagic.str() + std::string("\x01\x00", 2);
  char length[2];
  support::endian::write16le(length, uint16_t(header.size()));
  file.append(length, 2);
  return file + header + toStringRef(data).str();
}

} // namespace rubia::tools
