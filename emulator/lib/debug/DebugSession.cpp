// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/debug/DebugSession.h"
#include "emulator/lib/machine/PerProcess.h"
#include "settings/Settings.h"
#include "llvm/ADT/StringSwitch.h"
#include <unistd.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting emulatorDebug;
} // namespace rubia::settings::Id

namespace rubia::emulator {

struct ProcessSession {
  std::mutex mutex;
  bool asked = false;
  std::unique_ptr<DebugSession> session;

  Expected<DebugSession *> get() {
    std::lock_guard lock(mutex);
    const std::string path = hostSettings().text(settings::Id::emulatorDebug);
    if (asked || path.empty())
      return session.get();
    Expected<Connection> connection = Connection::open(path);
    if (!connection)
      return connection.takeError();
    asked = true;
    connection->send(json::Object{{"event", "hello"}, {"process", int64_t(::getpid())}});
    std::optional<json::Object> welcome = connection->wait();
    if (!welcome) // it looks at another process
      return nullptr;
    session.reset(new DebugSession(std::move(*connection)));
    if (Error error = session->setBreakpoints(*welcome)) {
      session.reset();
      return std::move(error);
    }
    return session.get();
  }
};

Expected<DebugSession *> DebugSession::ofProcess() { return perProcess<ProcessSession>().get(); }

std::optional<Dim3> placeIn(const json::Object &message, StringRef key) {
  const json::Array *numbers = message.getArray(key);
  if (!numbers || numbers->size() != 3)
    return std::nullopt;
  auto at = [&](size_t i) { return uint32_t((*numbers)[i].getAsInteger().value_or(0)); };
  return Dim3{at(0), at(1), at(2)};
}

Error DebugSession::setBreakpoints(const json::Object &message) {
  const json::Array *list = message.getArray("list");
  if (!list)
    return createStringError("the debugger's message has no list of breakpoints");
  std::vector<Breakpoint> fresh;
  for (const json::Value &value : *list) {
    const json::Object *object = value.getAsObject();
    const StringRef kind = object ? object->getString("kind").value_or("") : "";
    const auto known = StringSwitch<std::optional<Breakpoint::Kind>>(kind)
                           .Case("line", Breakpoint::Kind::Line)
                           .Case("function", Breakpoint::Kind::Function)
                           .Case("pc", Breakpoint::Kind::Pc)
                           .Case("launch", Breakpoint::Kind::Launch)
                           .Default(std::nullopt);
    if (!known)
      return createStringError("'" + kind + "' is no kind of breakpoint");
    Breakpoint breakpoint;
    breakpoint.kind = *known;
    breakpoint.id = object->getInteger("id").value_or(0);
    breakpoint.file = object->getString("file").value_or("").str();
    breakpoint.line = uint64_t(object->getInteger("line").value_or(0));
    breakpoint.name = object->getString("name").value_or("").str();
    breakpoint.pc = uint64_t(object->getInteger("pc").value_or(0));
    breakpoint.workgroup = placeIn(*object, "workgroup");
    breakpoint.thread = placeIn(*object, "thread");
    fresh.push_back(std::move(breakpoint));
  }
  breakpoints = std::move(fresh);
  ++changes;
  return Error::success();
}

void DebugSession::reply(const json::Object &request, Expected<json::Value> body) {
  json::Object message;
  message["reply"] = request.getInteger("id").value_or(0);
  if (body)
    message["body"] = std::move(*body);
  else
    message["error"] = json::fixUTF8(toString(body.takeError()));
  connection.send(std::move(message));
}

} // namespace rubia::emulator
