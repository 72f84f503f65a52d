// SPDX-License-Identifier: Apache-2.0
#include "tools/debug/Breakpoints.h"
#include "tools/debug/Values.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::tools {

Expected<json::Object> parseBreakpoint(StringRef text, StringRef file) {
  SmallVector<StringRef, 5> words;
  text.split(words, ' ', -1, false);
  if (words.size() % 2 == 0)
    return createStringError("usage: break FILE:LINE|LINE|NAME|*PC [thread X,Y,Z] "
                             "[workgroup X,Y,Z]");
  json::Object message;
  const StringRef where = words[0];
  const auto [name, digits] = where.rsplit(':');
  uint64_t number = 0;
  if (where.starts_with("*")) {
    if (where.drop_front().getAsInteger(0, number))
      return createStringError("'" + where.drop_front() + "' is no pc");
    message = json::Object{{"kind", "pc"}, {"pc", int64_t(number)}};
  } else if (!where.getAsInteger(10, number)) {
    message = json::Object{{"kind", "line"}, {"file", file.str()}, {"line", int64_t(number)}};
  } else if (!digits.empty() && !digits.getAsInteger(10, number)) {
    message = json::Object{{"kind", "line"}, {"file", name.str()}, {"line", int64_t(number)}};
  } else {
    message = json::Object{{"kind", "function"}, {"name", where.str()}};
  }
  for (size_t i = 1; i < words.size(); i += 2) {
    std::optional<json::Array> place = parseTriple(words[i + 1]);
    if ((words[i] != "thread" && words[i] != "workgroup") || !place)
      return createStringError("'" + words[i] + " " + words[i + 1] +
                               "' is neither thread X,Y,Z nor workgroup X,Y,Z");
    message[words[i].str()] = std::move(*place);
  }
  return message;
}

const DebugBreakpoint &DebugBreakpoints::add(std::string text, json::Object message) {
  message["id"] = ++last;
  all.push_back({last, std::move(text), std::move(message), 0, 0});
  return all.back();
}

Expected<const DebugBreakpoint *> DebugBreakpoints::add(StringRef text, StringRef file) {
  Expected<json::Object> message = parseBreakpoint(text, file);
  if (!message)
    return message.takeError();
  return &add(text.str(), std::move(*message));
}

bool DebugBreakpoints::remove(int64_t id) {
  const size_t before = all.size();
  llvm::erase_if(all, [&](const DebugBreakpoint &one) { return one.id == id; });
  return all.size() != before;
}

json::Array DebugBreakpoints::messages() const {
  json::Array list;
  for (const DebugBreakpoint &one : all)
    list.push_back(json::Object(one.message));
  return list;
}

std::vector<const DebugBreakpoint *> DebugBreakpoints::note(const json::Array &places) {
  std::vector<const DebugBreakpoint *> fresh;
  for (const json::Value &value : places) {
    const json::Object *place = value.getAsObject();
    const int64_t count = place ? place->getInteger("places").value_or(0) : 0;
    for (DebugBreakpoint &one : all)
      if (count > 0 && place->getInteger("id") == one.id) {
        one.line = uint64_t(place->getInteger("line").value_or(0));
        if (one.places == 0)
          fresh.push_back(&one);
        one.places = uint64_t(count);
      }
  }
  return fresh;
}

} // namespace rubia::tools
