// SPDX-License-Identifier: Apache-2.0
#include "tools/LaunchArguments.h"
#include "input/File.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace rubia::tools {

static Error bad(StringRef text, const Twine &why) {
  return createStringError(inconvertibleErrorCode(), "argument '" + text + "': " + why);
}

static void append(std::vector<uint8_t> &bytes, const APInt &value) {
  for (unsigned i = 0; i < value.getBitWidth(); i += 8)
    bytes.push_back(value.extractBitsAsZExtValue(8, i));
}

static Error parseInteger(StringRef text, StringRef value, unsigned bits, bool isSigned,
                          std::vector<uint8_t> &bytes) {
  StringRef digits = value;
  bool negative = digits.consume_front("-");
  APInt parsed;
  if (digits.empty() || digits.getAsInteger(0, parsed))
    return bad(text, "'" + value + "' is no integer");
  parsed = parsed.zext(std::max(parsed.getBitWidth() + 1, 128u));
  // Bit patterns such as i32:0xffffffff are welcome; anything that loses bits is not.
  APInt limit = negative ? APInt::getOneBitSet(parsed.getBitWidth(), bits - 1)
                         : APInt::getLowBitsSet(parsed.getBitWidth(), bits);
  if ((negative && !isSigned) || parsed.ugt(limit))
    return bad(text, "does not fit into " + Twine(bits) + " bits");
  append(bytes, (negative ? -parsed : parsed).trunc(bits));
  return Error::success();
}

static Error parseFloat(StringRef text, StringRef value, const fltSemantics &semantics,
                        std::vector<uint8_t> &bytes) {
  APFloat parsed(semantics);
  Expected<APFloat::opStatus> status =
      parsed.convertFromString(value, APFloat::rmNearestTiesToEven);
  if (!status) {
    consumeError(status.takeError());
    return bad(text, "'" + value + "' is no number");
  }
  append(bytes, parsed.bitcastToAPInt());
  return Error::success();
}

static Expected<std::vector<uint8_t>> readWhole(StringRef text, StringRef path) {
  constexpr uint64_t kMaxBytes = uint64_t(1) << 36; // no device has as much
  auto file = input::readFile(path, kMaxBytes, input::Accept::PipesToo);
  if (!file)
    return bad(text, toString(file.takeError()));
  StringRef contents = (*file)->getBuffer();
  return std::vector<uint8_t>(contents.begin(), contents.end());
}

// Of a file of NumPy's the elements alone.
static Error takeElements(LaunchArgument &argument) {
  Expected<NpyFile> file = readNpy(argument.bytes);
  if (!file)
    return file.takeError();
  argument.shape = file->shape;
  argument.bytes.erase(argument.bytes.begin(),
                       argument.bytes.begin() + (file->data.data() - argument.bytes.data()));
  return Error::success();
}

static Error badView(StringRef text, const Twine &expected) {
  return createStringError("'" + text + "' is no view of a buffer: expected " + expected);
}

static std::optional<size_t> argumentNumber(StringRef text) {
  size_t number;
  if (text.getAsInteger(10, number) || !number)
    return std::nullopt;
  return number - 1;
}

Expected<BufferView> parsePrint(StringRef text) {
  const auto [number, type] = text.split(':');
  BufferView view{argumentNumber(number), elementType(type), ""};
  if (!view.argument || (text.contains(':') && !view.type))
    return badView(text, "NUMBER[:TYPE], such as 2:f32");
  return view;
}

Expected<BufferView> parseCompare(StringRef text) {
  BufferView view;
  const auto [number, file] = text.split('=');
  view.argument = argumentNumber(number);
  view.reference = view.argument ? file.str() : text.str();
  if (view.reference.empty())
    return badView(text, "[NUMBER=]FILE");
  return view;
}

Expected<LaunchArgument> parseLaunchArgument(StringRef text) {
  LaunchArgument argument;
  argument.text = text.str();
  auto [kind, value] = text.split(':');
  unsigned bits = 0;
  bool isInteger = kind.size() > 1 && (kind[0] == 'i' || kind[0] == 'u') &&
                   !kind.drop_front().getAsInteger(10, bits) &&
                   (bits == 8 || bits == 16 || bits == 32 || bits == 64);
  const fltSemantics *semantics = kind == "f16"    ? &APFloat::IEEEhalf()
                                  : kind == "bf16" ? &APFloat::BFloat()
                                  : kind == "f32"  ? &APFloat::IEEEsingle()
                                  : kind == "f64"  ? &APFloat::IEEEdouble()
                                                   : nullptr;
  if (isInteger) {
    if (Error error = parseInteger(text, value, bits, kind[0] == 'i', argument.bytes))
      return std::move(error);
  } else if (semantics) {
    if (Error error = parseFloat(text, value, *semantics, argument.bytes))
      return std::move(error);
  } else if (kind == "buf" || kind == "zero") {
    argument.isBuffer = true;
    auto [first, output] = value.split(':');
    argument.output = output.str();
    uint64_t size = 0;
    if (kind == "zero" && (argument.shape = parseShape(first)))
      size = argument.shape->bytes();
    else if (kind == "zero" &&
             (first.getAsInteger(0, size) || size == 0 || size > (uint64_t(1) << 40)))
      return bad(text, "expected zero:BYTES[:OUT] or zero:TYPE[SIZE,...][:OUT]");
    if (kind == "zero") {
      argument.bytes.resize(size);
    } else {
      if (first.empty())
        return bad(text, "expected buf:IN[:OUT]");
      auto bytes = readWhole(text, first);
      if (!bytes)
        return bytes.takeError();
      argument.bytes = std::move(*bytes);
      if (first.ends_with(".npy"))
        if (Error error = takeElements(argument))
          return bad(text, toString(std::move(error)));
    }
    if (output.ends_with(".npy") && !argument.shape)
      return bad(text, "the output is a file of NumPy's, so type and shape are needed: "
                       "buf:IN.npy:OUT.npy or zero:f32[1000]:OUT.npy");
  } else if (kind == "bytes") {
    if (value.starts_with("@")) {
      auto bytes = readWhole(text, value.drop_front());
      if (!bytes)
        return bytes.takeError();
      argument.bytes = std::move(*bytes);
    } else {
      std::string raw;
      if (value.empty() || value.size() % 2 || !tryGetFromHex(value, raw))
        return bad(text, "expected bytes:HEX, two digits a byte, or bytes:@FILE");
      argument.bytes.assign(raw.begin(), raw.end());
    }
  } else {
    return bad(
        text,
        "expected i8: u8: i16: u16: i32: u32: i64: u64: f16: bf16: f32: f64: buf: zero: or bytes:");
  }
  return argument;
}

Error parseDimensions(StringRef text, uint32_t (&dimensions)[3]) {
  SmallVector<StringRef, 3> parts;
  text.split(parts, ',');
  for (uint32_t &d : dimensions)
    d = 1;
  for (size_t i = 0; i < parts.size(); ++i)
    if (i >= 3 || parts[i].getAsInteger(10, dimensions[i]) || dimensions[i] == 0)
      return createStringError(inconvertibleErrorCode(),
                               "'" + text + "' is no size: expected X[,Y,Z], each 1 or more");
  return Error::success();
}

Expected<std::vector<std::string>> splitLine(StringRef line) {
  std::vector<std::string> words;
  bool inWord = false;
  char quote = 0;
  for (char c : line) {
    if (quote) {
      if (c == quote)
        quote = 0;
      else
        words.back() += c;
      continue;
    }
    if (c == '#' && !inWord)
      break;
    if (isSpace(c)) {
      inWord = false;
      continue;
    }
    if (!inWord)
      words.emplace_back();
    inWord = true;
    if (c == '\'' || c == '"')
      quote = c;
    else
      words.back() += c;
  }
  if (quote)
    return createStringError(inconvertibleErrorCode(), Twine("missing ") + Twine(quote));
  return words;
}

} // namespace rubia::tools
