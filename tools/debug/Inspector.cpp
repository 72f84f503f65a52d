// SPDX-License-Identifier: Apache-2.0
#include "tools/debug/Inspector.h"
#include "tools/debug/Values.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace rubia::tools {

using Text = Expected<std::string>;

static constexpr DebugCommandHelp kHelp[] = {
    {"thread X[,Y,Z]", "look at a thread of the workgroup"},
    {"workgroup X[,Y,Z]", "look at another workgroup that runs"},
    {"wave N, lane N", "look at a wave of the workgroup, at a lane of the wave"},
    {"waves", "the waves that run, and where"},
    {"lanes [vN]", "the lanes of the wave, or what they have in a vector register"},
    {"backtrace, bt", "the calls that the thread is in"},
    {"list, l [LINE]", "the source around the thread or a line"},
    {"disassemble, x [N]", "the next N instructions"},
    {"print, p NAME", "a PTX register or a register of the processor"},
    {"values", "the PTX registers whose places are known here"},
    {"registers", "the registers of the processor"},
    {"memory SPACE ADDRESS [COUNT] [TYPE]",
     "memory that is global, shared, local or generic; ADDRESS: a number or a name"},
    {"set NAME VALUE", "give a PTX register or a register of the processor a value"},
    {"set memory SPACE ADDRESS VALUE [TYPE]", "write memory"},
};

ArrayRef<DebugCommandHelp> Inspector::help() { return kHelp; }

static json::Object objectOf(const json::Value &value) {
  const json::Object *object = value.getAsObject();
  return object ? *object : json::Object();
}

Expected<json::Array> Inspector::list(StringRef request) {
  Expected<json::Value> answer = debuggee.ask(json::Object{{"request", request}});
  if (!answer)
    return answer.takeError();
  json::Array *found = answer->getAsArray();
  return found ? std::move(*found) : json::Array();
}

std::optional<Text> Inspector::run(StringRef line) {
  auto [command, rest] = line.trim().split(' ');
  rest = rest.trim();
  if (command == "thread" || command == "workgroup" || command == "wave" || command == "lane")
    return focus(command, rest);
  if (command == "waves")
    return waves();
  if (command == "lanes")
    return lanes(rest);
  if (command == "backtrace" || command == "bt")
    return backtrace();
  if (command == "list" || command == "l")
    return source(rest);
  if (command == "disassemble" || command == "x")
    return disassemble(rest);
  if (command == "print" || command == "p")
    return print(rest);
  if (command == "values")
    return values();
  if (command == "registers")
    return registers();
  if (command == "memory")
    return memory(rest);
  if (command == "set")
    return set(rest);
  return std::nullopt;
}

// ---------- Where

Text Inspector::focus(StringRef what, StringRef rest) {
  json::Object request{{"request", "focus"}};
  if (what == "thread" || what == "workgroup") {
    std::optional<json::Array> numbers = parseTriple(rest);
    if (!numbers || rest.empty())
      return createStringError("'" + rest + "' is not X[,Y,Z]");
    request[what] = std::move(*numbers);
  } else {
    uint32_t number = 0;
    if (rest.getAsInteger(10, number))
      return createStringError("'" + rest + "' is not a number");
    request[what] = int64_t(number);
  }
  Expected<json::Value> place = debuggee.ask(std::move(request));
  if (!place)
    return place.takeError();
  const json::Object at = objectOf(*place);
  return threadText(at) + "\n" + sourceText(at) + ": " +
         at.getString("instruction").value_or("").trim().str() + "\n";
}

Text Inspector::waves() {
  Expected<json::Array> all = list("waves");
  if (!all)
    return all.takeError();
  std::string text;
  for (const json::Value &value : *all) {
    const json::Object wave = objectOf(value);
    text += "workgroup " + tripleIn(wave, "workgroup") + " wave " +
            std::to_string(wave.getInteger("wave").value_or(0)) + " from thread " +
            tripleIn(wave, "thread") + ", exec " + wave.getString("exec").value_or("").str() +
            (wave.getBoolean("waits").value_or(false) ? ", waits at a barrier at " : ", at ") +
            sourceText(wave) + "\n";
  }
  return text;
}

Text Inspector::lanes(StringRef name) {
  Expected<json::Array> all = list("lanes");
  if (!all)
    return all.takeError();
  json::Array held;
  if (!name.empty()) {
    Expected<json::Value> values =
        debuggee.ask(json::Object{{"request", "lanes of"}, {"name", name}});
    if (!values)
      return values.takeError();
    if (json::Array *found = values->getAsArray())
      held = std::move(*found);
  }
  std::string text;
  for (size_t i = 0; i < all->size(); ++i) {
    const json::Object lane = objectOf((*all)[i]);
    text += "lane " + std::to_string(i) + " thread " + tripleIn(lane, "thread");
    if (i < held.size())
      text += ": " + held[i].getAsString().value_or("").str();
    text += lane.getBoolean("active").value_or(false) ? "\n" : " (inactive)\n";
  }
  return text;
}

Text Inspector::backtrace() {
  Expected<json::Array> all = list("frames");
  if (!all)
    return all.takeError();
  std::string text;
  for (size_t i = 0; i < all->size(); ++i) {
    const json::Object frame = objectOf((*all)[i]);
    text += "#" + std::to_string(i) + " " + frame.getString("function").value_or("").str() +
            " at " + sourceText(frame) +
            (frame.getBoolean("inlined").value_or(false) ? " (inlined)\n" : "\n");
  }
  return text;
}

// ---------- Code

Text Inspector::source(StringRef rest) {
  constexpr int64_t kAround = 5;
  Expected<json::Value> answer = debuggee.ask(json::Object{{"request", "place"}});
  if (!answer)
    return answer.takeError();
  const json::Object place = objectOf(*answer);
  const std::optional<StringRef> file = place.getString("file");
  if (!file)
    return createStringError("no source line is known here");
  int64_t line = place.getInteger("line").value_or(0);
  const int64_t here = line;
  if (!rest.empty() && rest.getAsInteger(10, line))
    return createStringError("'" + rest + "' is not a line");
  Expected<json::Value> found = debuggee.ask(json::Object{{"request", "source"}, {"file", *file}});
  if (!found)
    return found.takeError();
  const json::Array *lines = found->getAsArray();
  if (!lines || lines->empty())
    return createStringError(*file + " may not be read, or is not there: --source FOLDER names " +
                             "where sources are");
  std::string text;
  for (int64_t i = std::max<int64_t>(line - kAround, 1);
       i <= std::min<int64_t>(line + kAround, int64_t(lines->size())); ++i)
    text += std::to_string(i) + (i == here ? " > " : "   ") +
            (*lines)[size_t(i - 1)].getAsString().value_or("").str() + "\n";
  return text;
}

Text Inspector::disassemble(StringRef rest) {
  uint32_t count = 10;
  if (!rest.empty() && rest.getAsInteger(10, count))
    return createStringError("'" + rest + "' is not a number");
  Expected<json::Value> place = debuggee.ask(json::Object{{"request", "place"}});
  if (!place)
    return place.takeError();
  const int64_t pc = objectOf(*place).getInteger("pc").value_or(0);
  Expected<json::Value> found = debuggee.ask(
      json::Object{{"request", "instructions"}, {"pc", pc}, {"before", 0}, {"count", count}});
  if (!found)
    return found.takeError();
  std::string text, last;
  if (const json::Array *all = found->getAsArray())
    for (const json::Value &value : *all) {
      const json::Object one = objectOf(value);
      if (const std::string source = sourceText(one); one.get("file") && source != last)
        text += (last = source) + "\n";
      text += "  " + hexadecimal(uint64_t(one.getInteger("pc").value_or(0))) + ": " +
              one.getString("instruction").value_or("").trim().str() + "\n";
    }
  return text;
}

// ---------- Values

Expected<json::Object> Inspector::find(StringRef name) {
  for (const char *request : {"values", "registers"}) {
    Expected<json::Array> all = list(request);
    if (!all)
      return all.takeError();
    for (const json::Value &value : *all)
      if (const json::Object *object = value.getAsObject();
          object && object->getString("name") == name)
        return *object;
  }
  return createStringError("'" + name + "' is not known here: the compiler has removed it, or " +
                           "nothing has this name");
}

static std::string described(const json::Object &value) {
  const StringRef where = value.getString("where").value_or("");
  return value.getString("name").value_or("").str() + " = " + valueText(value) +
         (where.empty() ? "" : " in " + where.str()) + "\n";
}

Text Inspector::print(StringRef name) {
  Expected<json::Object> found = find(name);
  if (!found)
    return found.takeError();
  return described(*found);
}

Text Inspector::values() {
  Expected<json::Array> all = list("values");
  if (!all)
    return all.takeError();
  std::string text;
  for (const json::Value &value : *all)
    text += described(objectOf(value));
  return text.empty() ? "none is known here\n" : text;
}

Text Inspector::registers() {
  Expected<json::Array> all = list("registers");
  if (!all)
    return all.takeError();
  std::string text;
  for (const json::Value &value : *all)
    text += described(objectOf(value));
  return text;
}

// ---------- Memory

/// A number, or a name of the program, or the first of two registers: s4 is s4 and s5.
Expected<uint64_t> Inspector::address(StringRef word) {
  uint64_t number = 0;
  if (!word.getAsInteger(0, number))
    return number;
  Expected<json::Object> found = find(word);
  if (!found)
    return found.takeError();
  number = numberIn(*found, "value");
  StringRef digits = word;
  unsigned index = 0;
  const bool isPair = digits.consume_front("s") || digits.consume_front("v");
  if (!isPair || digits.getAsInteger(10, index))
    return number;
  Expected<json::Object> high = find(word.take_front(1).str() + std::to_string(index + 1));
  if (high)
    number |= numberIn(*high, "value") << 32;
  else
    consumeError(high.takeError()); // the last one
  return number;
}

static Error noType(StringRef type) {
  return createStringError("'" + type + "' is none of b8 to b64, u8 to u64, s8 to s64, f16 to f64");
}

Text Inspector::memory(StringRef rest) {
  SmallVector<StringRef, 4> words;
  rest.split(words, ' ', -1, false);
  if (words.size() < 2 || words.size() > 4)
    return createStringError("usage: memory SPACE ADDRESS [COUNT] [TYPE]");
  Expected<uint64_t> from = address(words[1]);
  if (!from)
    return from.takeError();
  uint32_t count = 1;
  const StringRef type = words.size() > 3 ? words[3] : "b32";
  if (words.size() > 2 && words[2].getAsInteger(10, count))
    return createStringError("'" + words[2] + "' is not a number");
  const unsigned size = sizeOfType(type);
  if (size == 0)
    return noType(type);
  Expected<json::Value> found = debuggee.ask(json::Object{{"request", "memory"},
                                                          {"space", words[0]},
                                                          {"address", int64_t(*from)},
                                                          {"bytes", int64_t(count) * size}});
  if (!found)
    return found.takeError();
  std::string bytes;
  if (!tryGetFromHex(found->getAsString().value_or(""), bytes))
    return createStringError("the answer is damaged");
  std::string text = memoryText(arrayRefFromStringRef(bytes), *from, type);
  if (bytes.size() < size_t(count) * size)
    text += "(the memory ends here)\n";
  return text;
}

// ---------- Changes

Expected<json::Object> Inspector::set(StringRef name, StringRef value) {
  Expected<json::Object> found = find(name);
  if (!found)
    return found.takeError();
  Expected<APInt> number = parseNumber(value, found->getString("type").value_or(""),
                                       unsigned(found->getInteger("bits").value_or(32)));
  if (!number)
    return number.takeError();
  const APInt bits = number->zext(128);
  Expected<json::Value> answer =
      debuggee.ask(json::Object{{"request", "set"},
                                {"name", name},
                                {"value", hexadecimal(bits.extractBitsAsZExtValue(64, 0))},
                                {"high", hexadecimal(bits.extractBitsAsZExtValue(64, 64))}});
  if (!answer)
    return answer.takeError();
  return find(name);
}

Text Inspector::set(StringRef rest) {
  SmallVector<StringRef, 5> words;
  rest.split(words, ' ', -1, false);
  if (!words.empty() && words[0] == "memory")
    return setMemory(ArrayRef(words).drop_front());
  if (words.size() != 2)
    return createStringError("usage: set NAME VALUE, or set memory SPACE ADDRESS VALUE [TYPE]");
  Expected<json::Object> changed = set(words[0], words[1]);
  if (!changed)
    return changed.takeError();
  return described(*changed);
}

Text Inspector::setMemory(ArrayRef<StringRef> words) {
  if (words.size() < 3 || words.size() > 4)
    return createStringError("usage: set memory SPACE ADDRESS VALUE [TYPE]");
  const StringRef type = words.size() > 3 ? words[3] : "b32";
  Expected<uint64_t> to = address(words[1]);
  if (!to)
    return to.takeError();
  if (sizeOfType(type) == 0)
    return noType(type);
  Expected<APInt> number = parseNumber(words[2], type, 0);
  if (!number)
    return number.takeError();
  std::vector<uint8_t> bytes(sizeOfType(type));
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = uint8_t(number->extractBitsAsZExtValue(8, unsigned(8 * i)));
  Expected<json::Value> answer = debuggee.ask(json::Object{{"request", "write"},
                                                           {"space", words[0]},
                                                           {"address", int64_t(*to)},
                                                           {"bytes", toHex(bytes, true)}});
  if (!answer)
    return answer.takeError();
  return memoryText(bytes, *to, type);
}

} // namespace rubia::tools
