// SPDX-License-Identifier: Apache-2.0
#include "tools/debug/Dap.h"
#include "tools/debug/Values.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace llvm;

namespace rubia::tools {

/// What a variables reference leads to; beside the thread in its number.
enum Scope : int64_t { kNamed = 0, kRegisters = 1, kScopes = 2 };

static const json::Object &objectIn(const json::Object &object, StringRef key) {
  static const json::Object empty;
  const json::Object *found = object.getObject(key);
  return found ? *found : empty;
}

/// A copy: what it was taken from may be gone before the answer is sent.
static std::string textIn(const json::Object &object, StringRef key, StringRef otherwise = "") {
  return object.getString(key).value_or(otherwise).str();
}

int DapSession::loop() {
  while (!isDone) {
    Event event = debuggee.wait(channel.descriptor());
    if (event.kind != Event::Kind::Input) {
      show(std::move(event));
      continue;
    }
    if (!channel.read())
      break;
    for (;;) {
      Expected<std::optional<json::Object>> request = channel.take();
      if (!request) {
        errs() << "rubia debug: " << toString(request.takeError()) << "\n";
        return 1;
      }
      if (!*request || !handle(**request))
        break;
    }
  }
  return status;
}

// ---------- Requests

/// False: it was the last one.
bool DapSession::handle(const json::Object &request) {
  const StringRef command = request.getString("command").value_or("");
  if (command == "launch") { // answered when the breakpoints are there
    launchRequest = request;
    launch = objectIn(request, "arguments");
    channel.event("initialized", {});
    return true;
  }
  Body body = answer(command, request, objectIn(request, "arguments"));
  if (body)
    channel.respond(request, std::move(*body));
  else
    channel.refuse(request, toString(body.takeError()));
  if (command == "configurationDone") {
    if (Error error = startProgram()) {
      channel.refuse(launchRequest, toString(std::move(error)));
      channel.event("terminated", {});
    } else {
      channel.respond(launchRequest, nullptr);
    }
  }
  if (command == "disconnect" || command == "terminate") {
    debuggee.kill();
    if (command == "terminate")
      channel.event("terminated", {});
    isDone = command == "disconnect";
  }
  return !isDone;
}

DapSession::Body DapSession::answer(StringRef command, const json::Object &,
                                    const json::Object &arguments) {
  if (command == "initialize")
    return json::Object{{"supportsConfigurationDoneRequest", true},
                        {"supportsFunctionBreakpoints", true},
                        {"supportsInstructionBreakpoints", true},
                        {"supportsConditionalBreakpoints", true},
                        {"supportsDisassembleRequest", true},
                        {"supportsReadMemoryRequest", true},
                        {"supportsSteppingGranularity", true},
                        {"supportsEvaluateForHovers", true},
                        {"supportsTerminateRequest", true},
                        {"supportsExceptionInfoRequest", true},
                        {"supportsSetVariable", true},
                        {"supportsSetExpression", true},
                        {"supportsWriteMemoryRequest", true}};
  if (command == "configurationDone" || command == "disconnect" || command == "terminate")
    return nullptr;
  if (command == "setBreakpoints" || command == "setFunctionBreakpoints" ||
      command == "setInstructionBreakpoints")
    return setBreakpoints(command, arguments);
  if (command == "setExceptionBreakpoints") // faults stop in any case
    return json::Object{{"breakpoints", json::Array()}};
  if (command == "threads")
    return threads();
  if (command == "stackTrace")
    return stackTrace(arguments);
  if (command == "scopes")
    return scopes(arguments);
  if (command == "variables")
    return variables(arguments);
  if (command == "evaluate")
    return evaluate(arguments);
  if (command == "disassemble")
    return disassemble(arguments);
  if (command == "readMemory")
    return readMemory(arguments);
  if (command == "writeMemory")
    return writeMemory(arguments);
  if (command == "setVariable")
    return setVariable(arguments);
  if (command == "setExpression")
    return setExpression(arguments);
  if (command == "source")
    return source(arguments);
  if (command == "exceptionInfo")
    return json::Object{
        {"exceptionId", "fault"}, {"description", faultText}, {"breakMode", "always"}};
  if (command == "pause") {
    debuggee.pause();
    return nullptr;
  }
  return resume(command, arguments);
}

Error DapSession::startProgram() {
  if (debuggee.isRunning())
    return createStringError("the program runs already");
  Expected<Program> program = prepare(launch);
  if (!program)
    return program.takeError();
  if (launch.getBoolean("stopOnEntry").value_or(false))
    breakpoints.push_back({++lastBreakpoint, "entry",
                           json::Object{{"kind", "launch"}, {"id", lastBreakpoint}}, true, 0});
  json::Array list;
  for (const Breakpoint &one : breakpoints)
    list.push_back(json::Object(one.message));
  if (Expected<json::Value> places = debuggee.setBreakpoints(std::move(list)); !places)
    return places.takeError();
  return debuggee.start(std::move(*program), /*captures=*/true);
}

DapSession::Body DapSession::resume(StringRef command, const json::Object &arguments) {
  json::Object request;
  const bool isInstruction = arguments.getString("granularity").value_or("") == "instruction";
  if (command == "continue")
    request["request"] = "continue";
  else if (command == "stepOut")
    request["request"] = "finish";
  else if (command == "next" || command == "stepIn")
    request["request"] = isInstruction ? "stepi" : "step";
  else
    return createStringError("'" + command + "' is not supported");
  request["over"] = command == "next";
  const int64_t thread = arguments.getInteger("threadId").value_or(focused);
  if (thread != focused)
    if (Error error = focus(thread))
      return std::move(error);
  if (Error error = debuggee.resume(std::move(request)))
    return std::move(error);
  if (command == "continue")
    return json::Object{{"allThreadsContinued", true}};
  return nullptr;
}

// ---------- Breakpoints

json::Object DapSession::described(const Breakpoint &breakpoint) {
  json::Object object{{"id", breakpoint.id}, {"verified", breakpoint.isVerified}};
  if (breakpoint.line != 0)
    object["line"] = breakpoint.line;
  if (!breakpoint.isVerified)
    object["message"] = "no kernel that has run has it";
  return object;
}

DapSession::Body DapSession::setBreakpoints(StringRef command, const json::Object &arguments) {
  const json::Object &file = objectIn(arguments, "source");
  const StringRef path = file.getString("path").value_or(file.getString("name").value_or(""));
  const std::string group = (command + " " + path).str();
  llvm::erase_if(breakpoints, [&](const Breakpoint &one) { return one.group == group; });
  std::vector<std::pair<int64_t, std::string>> slots; // the breakpoint, or what is wrong with it
  const json::Array *wanted = arguments.getArray("breakpoints");
  for (const json::Value &value : wanted ? *wanted : json::Array()) {
    const json::Object one = value.getAsObject() ? *value.getAsObject() : json::Object();
    std::string where;
    if (command == "setFunctionBreakpoints")
      where = one.getString("name").value_or("");
    else if (command == "setInstructionBreakpoints")
      where = "*" + hexadecimal(numberIn(one, "instructionReference") +
                                uint64_t(one.getInteger("offset").value_or(0)));
    else
      where = std::to_string(one.getInteger("line").value_or(0));
    Expected<json::Object> message =
        parseBreakpoint((where + " " + one.getString("condition").value_or("")).str(), path);
    if (!message) {
      slots.push_back({0, toString(message.takeError())});
      continue;
    }
    Breakpoint fresh{++lastBreakpoint, group, std::move(*message), false, 0};
    fresh.message["id"] = fresh.id;
    slots.push_back({fresh.id, ""});
    breakpoints.push_back(std::move(fresh));
  }
  json::Array list;
  for (const Breakpoint &one : breakpoints)
    list.push_back(json::Object(one.message));
  if (Expected<json::Value> places = debuggee.setBreakpoints(std::move(list)); !places)
    return places.takeError();
  else if (const json::Array *known = places->getAsArray())
    note(*known);
  json::Array answers; // in the order of the request
  for (const auto &[id, problem] : slots) {
    const auto one = find_if(breakpoints, [&](const Breakpoint &known) { return known.id == id; });
    if (one != breakpoints.end())
      answers.push_back(described(*one));
    else
      answers.push_back(json::Object{{"verified", false}, {"message", json::fixUTF8(problem)}});
  }
  return json::Object{{"breakpoints", std::move(answers)}};
}

/// Takes what a launch says of where breakpoints lie, and tells the editor.
void DapSession::note(const json::Array &places) {
  for (const json::Value &value : places) {
    const json::Object *place = value.getAsObject();
    if (!place || place->getInteger("places").value_or(0) == 0)
      continue;
    for (Breakpoint &one : breakpoints) {
      if (place->getInteger("id") != one.id || one.isVerified)
        continue;
      one.isVerified = true;
      one.line = place->getInteger("line").value_or(0);
      channel.event("breakpoint",
                    json::Object{{"reason", "changed"}, {"breakpoint", described(one)}});
    }
  }
}

// ---------- What happens

void DapSession::show(Event event) {
  switch (event.kind) {
  case Event::Kind::Output:
    channel.event("output", json::Object{{"category", event.isError ? "stderr" : "stdout"},
                                         {"output", json::fixUTF8(event.text)}});
    return;
  case Event::Kind::Killed:
    status = event.status;
    isDone = true;
    return;
  case Event::Kind::Ended:
    status = event.status;
    channel.event("exited", json::Object{{"exitCode", status}});
    channel.event("terminated", {});
    return;
  case Event::Kind::Interrupted:
    debuggee.pause();
    return;
  case Event::Kind::Input:
    return;
  case Event::Kind::Message:
    break;
  }
  const StringRef what = event.message.getString("event").value_or("");
  if (what == "stopped")
    stopped(event.message);
  const json::Array *places = event.message.getArray(what == "launch" ? "breakpoints" : "body");
  if (places)
    note(*places);
}

void DapSession::stopped(const json::Object &stop) {
  const StringRef reason = stop.getString("reason").value_or("");
  focused = threadOf(stop);
  faultText = stop.getString("message").value_or("").str();
  json::Object body{{"reason", reason == "fault" ? "exception" : reason.str()},
                    {"threadId", focused},
                    {"allThreadsStopped", true}};
  if (!faultText.empty())
    body["text"] = faultText;
  if (const json::Array *hit = stop.getArray("breakpoints")) {
    const auto entry =
        find_if(breakpoints, [](const Breakpoint &one) { return one.group == "entry"; });
    if (entry != breakpoints.end() && is_contained(*hit, json::Value(entry->id)))
      body["reason"] = "entry";
    body["hitBreakpointIds"] = json::Array(*hit);
  }
  channel.event("stopped", std::move(body));
}

// ---------- Threads

int64_t DapSession::threadOf(const json::Object &place) {
  const int64_t wave = place.getInteger("wave").value_or(0);
  const std::string name =
      "workgroup " + tripleIn(place, "workgroup") + " wave " + std::to_string(wave);
  int64_t &id = threadIds.try_emplace(name, int64_t(threadIds.size()) + 1).first->second;
  const json::Array *workgroup = place.getArray("workgroup");
  waves[id] = {workgroup ? *workgroup : json::Array(), wave};
  return id;
}

Error DapSession::focus(int64_t thread) {
  const auto found = waves.find(thread);
  if (found == waves.end())
    return createStringError("there is no thread " + std::to_string(thread));
  if (thread == focused)
    return Error::success();
  Expected<json::Value> place =
      debuggee.ask(json::Object{{"request", "focus"},
                                {"workgroup", json::Array(found->second.workgroup)},
                                {"wave", found->second.wave}});
  if (!place)
    return place.takeError();
  focused = thread;
  return Error::success();
}

DapSession::Body DapSession::threads() {
  json::Array all;
  if (debuggee.isStopped()) {
    Expected<json::Value> running = debuggee.ask(json::Object{{"request", "waves"}});
    if (!running)
      return running.takeError();
    if (const json::Array *list = running->getAsArray())
      for (const json::Value &value : *list)
        if (const json::Object *wave = value.getAsObject())
          all.push_back(
              json::Object{{"id", threadOf(*wave)},
                           {"name", "workgroup " + tripleIn(*wave, "workgroup") + " wave " +
                                        std::to_string(wave->getInteger("wave").value_or(0))}});
  }
  if (all.empty()) // an editor wants one
    all.push_back(json::Object{{"id", std::max<int64_t>(focused, 1)}, {"name", "kernels"}});
  return json::Object{{"threads", std::move(all)}};
}

json::Object DapSession::sourceOf(StringRef file) {
  const StringRef name = file.rsplit('/').second.empty() ? file : file.rsplit('/').second;
  json::Object object{{"name", name.str()}};
  if (file.starts_with("/")) {
    object["path"] = file.str();
    return object;
  }
  auto known = llvm::find(embedded, file);
  if (known == embedded.end())
    known = embedded.insert(embedded.end(), file.str());
  object["sourceReference"] = int64_t(known - embedded.begin()) + 1;
  return object;
}

DapSession::Body DapSession::source(const json::Object &arguments) {
  const int64_t reference = arguments.getInteger("sourceReference").value_or(0);
  if (reference < 1 || size_t(reference) > embedded.size())
    return createStringError("there is no such source");
  Expected<json::Value> lines =
      debuggee.ask(json::Object{{"request", "source"}, {"file", embedded[size_t(reference) - 1]}});
  if (!lines)
    return lines.takeError();
  std::string text;
  if (const json::Array *list = lines->getAsArray())
    for (const json::Value &line : *list)
      text += line.getAsString().value_or("").str() + "\n";
  return json::Object{{"content", std::move(text)}};
}

// The number of a frame is that of its thread and its depth.
constexpr int64_t kFramesOfThread = 1000;

DapSession::Body DapSession::stackTrace(const json::Object &arguments) {
  const int64_t thread = arguments.getInteger("threadId").value_or(focused);
  if (Error error = focus(thread))
    return std::move(error);
  Expected<json::Value> found = debuggee.ask(json::Object{{"request", "frames"}});
  if (!found)
    return found.takeError();
  json::Array frames;
  if (const json::Array *list = found->getAsArray())
    for (const json::Value &value : *list) {
      const json::Object frame = value.getAsObject() ? *value.getAsObject() : json::Object();
      json::Object shown{{"id", thread * kFramesOfThread + int64_t(frames.size())},
                         {"name", textIn(frame, "function")},
                         {"line", frame.getInteger("line").value_or(0)},
                         {"column", 0},
                         {"instructionPointerReference",
                          hexadecimal(uint64_t(frame.getInteger("pc").value_or(0)))}};
      if (const std::optional<StringRef> file = frame.getString("file"))
        shown["source"] = sourceOf(*file);
      frames.push_back(std::move(shown));
    }
  const int64_t total = int64_t(frames.size());
  return json::Object{{"stackFrames", std::move(frames)}, {"totalFrames", total}};
}

// ---------- Values

DapSession::Body DapSession::scopes(const json::Object &arguments) {
  const int64_t thread = arguments.getInteger("frameId").value_or(0) / kFramesOfThread;
  auto scope = [&](StringRef name, Scope which) {
    return json::Object{{"name", name.str()},
                        {"variablesReference", thread * kScopes + which + 1},
                        {"expensive", which == kRegisters}};
  };
  return json::Object{
      {"scopes", json::Array{scope("PTX registers", kNamed), scope("Registers", kRegisters)}}};
}

DapSession::Body DapSession::variables(const json::Object &arguments) {
  const int64_t reference = arguments.getInteger("variablesReference").value_or(0) - 1;
  if (Error error = focus(reference / kScopes))
    return std::move(error);
  Expected<json::Value> found = debuggee.ask(
      json::Object{{"request", reference % kScopes == kNamed ? "values" : "registers"}});
  if (!found)
    return found.takeError();
  json::Array all;
  if (const json::Array *list = found->getAsArray())
    for (const json::Value &value : *list) {
      const json::Object one = value.getAsObject() ? *value.getAsObject() : json::Object();
      all.push_back(json::Object{{"name", textIn(one, "name")},
                                 {"value", valueText(one)},
                                 {"type", textIn(one, "type", "b32")},
                                 {"variablesReference", 0},
                                 {"memoryReference", hexadecimal(numberIn(one, "value"))}});
    }
  return json::Object{{"variables", std::move(all)}};
}

/// A name, or in the console a command.
DapSession::Body DapSession::evaluate(const json::Object &arguments) {
  const StringRef text = arguments.getString("expression").value_or("").trim();
  const int64_t frame = arguments.getInteger("frameId").value_or(0);
  if (frame)
    if (Error error = focus(frame / kFramesOfThread))
      return std::move(error);
  if (arguments.getString("context").value_or("") == "repl")
    if (std::optional<Expected<std::string>> printed = inspector.run(text)) {
      if (!*printed)
        return printed->takeError();
      return json::Object{{"result", json::fixUTF8(**printed)}, {"variablesReference", 0}};
    }
  Expected<json::Object> value = inspector.find(text);
  if (!value)
    return value.takeError();
  return json::Object{{"result", valueText(*value)},
                      {"variablesReference", 0},
                      {"memoryReference", hexadecimal(numberIn(*value, "value"))}};
}

static uint64_t addressIn(const json::Object &arguments) {
  return numberIn(arguments, "memoryReference") +
         uint64_t(arguments.getInteger("offset").value_or(0));
}

/// The protocol wants as many instructions as were asked for, also beyond the ends of the code.
static json::Object noInstruction() {
  return json::Object{{"address", "0x0"}, {"instruction", ""}, {"presentationHint", "invalid"}};
}

DapSession::Body DapSession::disassemble(const json::Object &arguments) {
  constexpr int64_t kMost = 4096;
  const int64_t offset =
      std::clamp(arguments.getInteger("instructionOffset").value_or(0), -kMost, kMost);
  const int64_t count =
      std::clamp<int64_t>(arguments.getInteger("instructionCount").value_or(0), 0, kMost);
  const int64_t pc = int64_t(addressIn(arguments));
  Expected<json::Value> found = debuggee.ask(json::Object{{"request", "instructions"},
                                                          {"pc", pc},
                                                          {"before", std::max<int64_t>(-offset, 0)},
                                                          {"count", 2 * kMost}});
  if (!found)
    return found.takeError();
  const json::Array none, *list = found->getAsArray() ? found->getAsArray() : &none;
  const auto here = find_if(*list, [&](const json::Value &value) {
    return value.getAsObject() && value.getAsObject()->getInteger("pc") == pc;
  });
  const int64_t size = int64_t(list->size());
  const int64_t first = int64_t(here - list->begin()) + offset; // below 0: before the code
  json::Array all;
  for (int64_t i = first; i < first + count; ++i) {
    const json::Object *one = i >= 0 && i < size ? (*list)[size_t(i)].getAsObject() : nullptr;
    if (!one) {
      all.push_back(noInstruction());
      continue;
    }
    json::Object shown{{"address", hexadecimal(uint64_t(one->getInteger("pc").value_or(0)))},
                       {"instruction", StringRef(textIn(*one, "instruction")).trim().str()}};
    if (const std::optional<StringRef> file = one->getString("file")) {
      shown["location"] = sourceOf(*file);
      shown["line"] = one->getInteger("line").value_or(0);
    }
    all.push_back(std::move(shown));
  }
  return json::Object{{"instructions", std::move(all)}};
}

DapSession::Body DapSession::readMemory(const json::Object &arguments) {
  const uint64_t address = addressIn(arguments);
  const int64_t count = arguments.getInteger("count").value_or(0);
  Expected<json::Value> found = debuggee.ask(json::Object{{"request", "memory"},
                                                          {"space", "generic"},
                                                          {"address", int64_t(address)},
                                                          {"bytes", count}});
  if (!found)
    return found.takeError();
  std::string bytes;
  if (!tryGetFromHex(found->getAsString().value_or(""), bytes))
    return createStringError("the answer is damaged");
  return json::Object{{"address", hexadecimal(address)},
                      {"data", encodeBase64(bytes)},
                      {"unreadableBytes", count - int64_t(bytes.size())}};
}

DapSession::Body DapSession::writeMemory(const json::Object &arguments) {
  std::vector<char> bytes;
  if (Error error = decodeBase64(arguments.getString("data").value_or(""), bytes))
    return std::move(error);
  Expected<json::Value> written =
      debuggee.ask(json::Object{{"request", "write"},
                                {"space", "generic"},
                                {"address", int64_t(addressIn(arguments))},
                                {"bytes", toHex(StringRef(bytes.data(), bytes.size()), true)}});
  if (!written)
    return written.takeError();
  return json::Object{{"bytesWritten", int64_t(bytes.size())}};
}

// ---------- Changes

DapSession::Body DapSession::setVariable(const json::Object &arguments) {
  const int64_t reference = arguments.getInteger("variablesReference").value_or(0) - 1;
  if (Error error = focus(reference / kScopes))
    return std::move(error);
  Expected<json::Object> changed =
      inspector.set(textIn(arguments, "name"), textIn(arguments, "value"));
  if (!changed)
    return changed.takeError();
  return json::Object{{"value", valueText(*changed)}, {"type", textIn(*changed, "type", "b32")}};
}

DapSession::Body DapSession::setExpression(const json::Object &arguments) {
  if (const int64_t frame = arguments.getInteger("frameId").value_or(0))
    if (Error error = focus(frame / kFramesOfThread))
      return std::move(error);
  Expected<json::Object> changed =
      inspector.set(textIn(arguments, "expression"), textIn(arguments, "value"));
  if (!changed)
    return changed.takeError();
  return json::Object{{"value", valueText(*changed)}};
}

} // namespace rubia::tools
