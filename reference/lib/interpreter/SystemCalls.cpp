// SPDX-License-Identifier: Apache-2.0
// Functions that CUDA's driver defines: vprintf, malloc, free, __assertfail. Their arguments are
// .param variables of the caller; addresses in them are generic.
#include "reference/lib/interpreter/Cta.h"
#include "reference/lib/interpreter/Decode.h"
#include "llvm/ADT/STLExtras.h"
#include <bit>
#include <cstdio>
#include <cstring>

using namespace llvm;

namespace rubia::reference::interpreter {
namespace {

uint64_t argument(Warp &warp, const CallData &data, unsigned n, unsigned lane) {
  uint64_t value = 0;
  const CallData::Value &from = data.arguments[n];
  memcpy(&value, warp.frameMemory(lane) + from.offset, std::min(from.bytes, 8u));
  return value;
}

void giveResult(Warp &warp, const CallData &data, unsigned lane, uint64_t value) {
  if (!data.results.empty())
    memcpy(warp.frameMemory(lane) + data.results[0].offset, &value,
           std::min(data.results[0].bytes, 8u));
}

// A string that ends with a 0; false after fail().
bool readString(Warp &warp, uint64_t address, unsigned lane, std::string &text) {
  while (const uint8_t *byte = warp.memory(ptx::StateSpace::None, address++, 1, lane)) {
    if (!*byte)
      return true;
    text += char(*byte);
  }
  return false;
}

// One conversion: the text from its `%` to its letter, and the value that it takes.
class Printer {
public:
  Printer(Warp &warp, uint64_t values, unsigned lane) : warp(warp), values(values), lane(lane) {}
  bool print(StringRef format, std::string &out, unsigned &conversions);

private:
  bool next(unsigned bytes, uint64_t &value) {
    at = alignTo(at, bytes);
    const uint8_t *from = warp.memory(ptx::StateSpace::None, values + at, bytes, lane);
    if (!from)
      return false;
    value = 0;
    memcpy(&value, from, bytes);
    at += bytes;
    return true;
  }
  Warp &warp;
  uint64_t values, at = 0;
  unsigned lane;
};

bool Printer::print(StringRef format, std::string &out, unsigned &conversions) {
  conversions = 0;
  while (!format.empty()) {
    const size_t percent = format.find('%');
    out += format.take_front(percent);
    if (percent == StringRef::npos)
      return true;
    format = format.drop_front(percent);
    if (format.starts_with("%%")) {
      out += '%';
      format = format.drop_front(2);
      continue;
    }
    std::string conversion = "%";
    bool isLong = false;
    char letter = 0;
    for (format = format.drop_front(); !format.empty() && !letter; format = format.drop_front()) {
      const char c = format.front();
      uint64_t value = 0;
      if (c == '*') { // a width or precision
        if (!next(4, value))
          return false;
        conversion += std::to_string(int32_t(value));
      } else if (c == 'l' || c == 'z' || c == 't' || c == 'j')
        isLong = true;
      else if (StringRef("0123456789.+- #").contains(c))
        conversion += c;
      else if (c != 'h')
        letter = c;
    }
    if (!letter)
      return true;
    ++conversions;
    char buffer[512];
    uint64_t value = 0;
    if (StringRef("diouxXc").contains(letter)) {
      if (!next(isLong ? 8 : 4, value))
        return false;
      conversion += letter == 'c' ? "c" : std::string("ll") + letter;
      const int64_t extended = isLong ? int64_t(value) : int64_t(int32_t(value));
      if (letter == 'c')
        snprintf(buffer, sizeof(buffer), conversion.c_str(), int(value));
      else if (letter == 'd' || letter == 'i')
        snprintf(buffer, sizeof(buffer), conversion.c_str(), (long long)extended);
      else
        snprintf(buffer, sizeof(buffer), conversion.c_str(), (unsigned long long)value);
      out += buffer;
    } else if (StringRef("fFeEgGaA").contains(letter)) {
      if (!next(8, value))
        return false;
      snprintf(buffer, sizeof(buffer), (conversion + letter).c_str(), std::bit_cast<double>(value));
      out += buffer;
    } else if (letter == 'p') {
      if (!next(8, value))
        return false;
      snprintf(buffer, sizeof(buffer), (conversion + letter).c_str(),
               reinterpret_cast<void *>(value));
      out += buffer;
    } else if (letter == 's') {
      std::string text;
      if (!next(8, value) || (value && !readString(warp, value, lane, text)))
        return false;
      snprintf(buffer, sizeof(buffer), (conversion + letter).c_str(),
               value ? text.c_str() : "(null)");
      out += buffer;
    } else {
      warp.fail(Twine("printf of '%") + Twine(letter) + "'", lane);
      return false;
    }
  }
  return true;
}

template <typename Body> void forActive(Warp &warp, Body body) {
  for (unsigned lane = 0; lane < kLanes && !warp.hasFailed(); ++lane)
    if (warp.active >> lane & 1)
      body(lane);
}

void callPrintf(Warp &warp, const Micro &micro) {
  const auto &data = *static_cast<const CallData *>(micro.data);
  forActive(warp, [&](unsigned lane) {
    std::string format, out;
    unsigned conversions = 0;
    if (!readString(warp, argument(warp, data, 0, lane), lane, format) ||
        !Printer(warp, argument(warp, data, 1, lane), lane).print(format, out, conversions))
      return;
    if (warp.cta.grid.launch.print)
      warp.cta.grid.launch.print(out);
    giveResult(warp, data, lane, conversions);
  });
}

void callMalloc(Warp &warp, const Micro &micro) {
  const auto &data = *static_cast<const CallData *>(micro.data);
  forActive(warp, [&](unsigned lane) {
    giveResult(warp, data, lane, warp.cta.grid.allocate(argument(warp, data, 0, lane)));
  });
}

void callFree(Warp &warp, const Micro &micro) {
  const auto &data = *static_cast<const CallData *>(micro.data);
  forActive(warp, [&](unsigned lane) {
    const uint64_t address = argument(warp, data, 0, lane);
    if (address && !warp.cta.grid.release(address))
      warp.fail("free of what was not allocated", lane);
  });
}

void callAssertfail(Warp &warp, const Micro &micro) {
  const auto &data = *static_cast<const CallData *>(micro.data);
  const unsigned lane = unsigned(std::countr_zero(warp.active));
  std::string message, file;
  if (readString(warp, argument(warp, data, 0, lane), lane, message) &&
      readString(warp, argument(warp, data, 1, lane), lane, file))
    warp.fail("assertion '" + message + "' failed at " + file + ":" +
                  Twine(uint32_t(argument(warp, data, 2, lane))),
              lane);
}

} // namespace

bool decodeSystemCall(Decoder &decoder, StringRef name, const ptx::Operand *results,
                      const ptx::Operand *arguments) {
  struct Row {
    const char *name;
    unsigned arguments;
    Execute execute;
  };
  static constexpr Row kRows[] = {{"vprintf", 2, callPrintf},
                                  {"malloc", 1, callMalloc},
                                  {"free", 1, callFree},
                                  {"__assertfail", 5, callAssertfail}};
  const Row *row = find_if(kRows, [&](const Row &r) { return name == r.name; });
  if (row == std::end(kRows))
    return false;
  CallData &data = decoder.code.calls.emplace_back();
  auto place = [&](const ptx::Operand *list, std::vector<CallData::Value> &values) {
    if (!list)
      return;
    for (const ptx::Operand &operand : list->elements()) {
      CallData::Value value;
      const ptx::Variable *variable = operand.variable();
      if (!variable || !decoder.function.offsets.contains(variable))
        decoder.unsupported("a call of '" + name + "' with values that are no .param variables");
      else {
        value.offset = decoder.function.offsets.lookup(variable);
        value.bytes = unsigned(variable->sizeInBytes);
      }
      values.push_back(value);
    }
  };
  place(arguments, data.arguments);
  place(results, data.results);
  if (data.arguments.size() != row->arguments)
    decoder.unsupported("a call of '" + name + "' with another number of arguments");
  decoder.micro.data = &data;
  decoder.execute(row->execute);
  return true;
}

} // namespace rubia::reference::interpreter
