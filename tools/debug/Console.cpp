// SPDX-License-Identifier: Apache-2.0
#include "tools/debug/Console.h"
#include "tools/Commands.h"
#include "tools/debug/Values.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <unistd.h>

using namespace llvm;

namespace rubia::tools {

static constexpr DebugCommandHelp kHelp[] = {
    {"break, b WHERE [thread X,Y,Z] [workgroup X,Y,Z]",
     "stop at FILE:LINE, LINE, a kernel or function, or *PC"},
    {"delete, d [N]", "remove a breakpoint, or all"},
    {"breakpoints", "list them"},
    {"run, r", "start the program"},
    {"start", "start it and stop at the first instruction of its first kernel"},
    {"continue, c", "go on until something stops a kernel"},
    {"step, s / next, n", "to the thread's next line; next: not into functions"},
    {"stepi, si", "to the wave's next instruction"},
    {"finish", "until the function returns"},
    {"kill", "end the program"},
    {"quit, q", "end the program and the debugger"},
};

Console::Console(Debuggee &debuggee, Program program, int input)
    : debuggee(debuggee), program(std::move(program)), inspector(debuggee), input(input),
      isTerminal(isatty(input) == 1) {}

Error Console::addBreakpoint(StringRef where) {
  Expected<const DebugBreakpoint *> added = breakpoints.add(where.trim(), file);
  if (!added)
    return added.takeError();
  sendBreakpoints();
  printed() << "breakpoint " << (*added)->id << ": " << (*added)->text << "\n";
  return Error::success();
}

void Console::sendBreakpoints() {
  Expected<json::Value> places = debuggee.setBreakpoints(breakpoints.messages());
  if (!places) {
    fail(places.takeError());
    return;
  }
  if (const json::Array *known = places->getAsArray())
    note(*known);
}

/// Takes what a launch says of where breakpoints lie.
void Console::note(const json::Array &places) {
  for (const DebugBreakpoint *one : breakpoints.note(places))
    if (one->line != 0 && one->message.getInteger("line") != int64_t(one->line))
      printed() << "breakpoint " << one->id << " is at line " << one->line
                << ", the next one with code\n";
}

// ---------- Commands

/// The next line of the input; none: it has ended. Meanwhile the program's messages are shown.
std::optional<std::string> Console::readLine() {
  if (isTerminal)
    outs() << "(rubia) ";
  outs().flush();
  for (;;) {
    if (const size_t end = pending.find('\n'); end != std::string::npos) {
      std::string line = pending.substr(0, end);
      pending.erase(0, end + 1);
      return line;
    }
    const Event event = debuggee.wait(input);
    if (event.kind == Event::Kind::Killed) {
      status = event.status;
      return std::nullopt;
    }
    if (event.kind != Event::Kind::Input) {
      show(event);
      continue;
    }
    char bytes[4096];
    const ssize_t count = ::read(input, bytes, sizeof(bytes));
    if (count > 0)
      pending.append(bytes, size_t(count));
    else if (count == 0 && !pending.empty())
      pending += '\n';
    else if (count == 0 || errno != EINTR)
      return std::nullopt;
  }
}

int Console::loop() {
  while (const std::optional<std::string> line = readLine()) {
    StringRef command = StringRef(*line).trim();
    if (command.empty() && isTerminal)
      command = last;
    if (command.empty() || command.starts_with("#"))
      continue;
    const std::string kept = json::fixUTF8(command); // it may go into a message
    if (!execute(kept) || isKilled)
      break;
    last = kept;
    printed().flush();
  }
  if (isTerminal)
    outs() << "\n";
  return status;
}

/// False: quit.
bool Console::execute(StringRef line) {
  auto [command, rest] = line.split(' ');
  rest = rest.trim();
  auto is = [&](StringRef name, StringRef brief = "") {
    return command == name || (!brief.empty() && command == brief);
  };
  if (is("quit", "q"))
    return false;
  if (is("help", "h"))
    showHelp();
  else if (is("run", "r") || is("start")) {
    if (Error error = start(command))
      fail(std::move(error));
  } else if (is("continue", "c"))
    resume("continue", false);
  else if (is("step", "s") || is("next", "n"))
    resume("step", is("next", "n"));
  else if (is("stepi", "si"))
    resume("stepi", false);
  else if (is("finish"))
    resume("finish", false);
  else if (is("kill"))
    debuggee.kill();
  else if (is("breakpoints"))
    showBreakpoints();
  else if (is("break", "b")) {
    if (Error error = addBreakpoint(rest))
      fail(std::move(error));
  } else if (is("delete", "d")) {
    int64_t id = 0;
    if (rest.empty())
      breakpoints.clear();
    else if (rest.getAsInteger(10, id) || !breakpoints.remove(id))
      fail("there is no breakpoint " + rest.str());
    sendBreakpoints();
  } else if (auto text = inspector.run(line)) {
    if (*text)
      printed() << **text;
    else
      fail(text->takeError());
  } else {
    fail("there is no command '" + command.str() + "'; `help` lists them");
  }
  return true;
}

Error Console::start(StringRef command) {
  if (debuggee.isRunning())
    return createStringError("the program runs already; `kill` ends it");
  if (command == "start")
    firstLaunch = breakpoints.add("the first launch", json::Object{{"kind", "launch"}}).id;
  sendBreakpoints();
  printed().flush();
  if (Error error = debuggee.start(program, false))
    return error;
  waitForStop();
  return Error::success();
}

void Console::resume(StringRef request, bool isOver) {
  outs().flush(); // in front of what the program prints
  if (Error error = debuggee.resume(json::Object{{"request", request}, {"over", isOver}})) {
    fail(std::move(error));
    return;
  }
  waitForStop();
}

// ---------- What happens

void Console::waitForStop() {
  for (;;) {
    const Event event = debuggee.wait();
    if (event.kind == Event::Kind::Interrupted)
      debuggee.pause();
    else if (show(event))
      return;
  }
}

/// True: a kernel stands still, or the program has ended.
bool Console::show(const Event &event) {
  if (event.kind == Event::Kind::Killed) {
    status = event.status;
    isKilled = true;
    return true;
  }
  if (event.kind == Event::Kind::Ended) {
    status = event.status;
    printed() << "the program has ended with status " << status << "\n";
    return true;
  }
  if (event.kind != Event::Kind::Message)
    return false;
  const StringRef what = event.message.getString("event").value_or("");
  if (what == "launch") {
    if (const json::Array *places = event.message.getArray("breakpoints"))
      note(*places);
    notices() << "rubia debug: launch " << event.message.getInteger("launch").value_or(0)
              << ": kernel " << event.message.getString("kernel").value_or("") << ", grid "
              << tripleIn(event.message, "grid") << ", block " << tripleIn(event.message, "block")
              << "\n";
  }
  if (what != "stopped")
    return false;
  showStop(event.message);
  return true;
}

void Console::showStop(const json::Object &stop) {
  const StringRef reason = stop.getString("reason").value_or("");
  if (const json::Array *ids = stop.getArray("breakpoints"))
    for (const json::Value &id : *ids) {
      if (firstLaunch && id.getAsInteger() == firstLaunch) {
        breakpoints.remove(std::exchange(firstLaunch, 0));
        sendBreakpoints();
      } else {
        printed() << "breakpoint " << id.getAsInteger().value_or(0) << "\n";
      }
    }
  if (const std::optional<StringRef> message = stop.getString("message"))
    printed() << *message << "\n";
  if (reason == "pause")
    printed() << "stopped\n";
  printed() << "kernel " << stop.getString("kernel").value_or("") << ", " << threadText(stop)
            << "\n";
  if (const std::optional<StringRef> at = stop.getString("file")) {
    file = at->str();
    printed() << sourceText(stop);
    if (const StringRef text = stop.getString("text").value_or(""); !text.empty())
      printed() << ": " << text;
    printed() << "\n";
  }
  printed() << hexadecimal(uint64_t(stop.getInteger("pc").value_or(0))) << ": "
            << stop.getString("instruction").value_or("").trim() << "\n";
  printed().flush();
}

void Console::showBreakpoints() {
  for (const DebugBreakpoint &one : breakpoints.list()) {
    printed() << one.id << ": " << one.text;
    if (one.places == 0)
      printed() << ", in no kernel so far\n";
    else
      printed() << ", " << one.places << (one.places == 1 ? " place\n" : " places\n");
  }
}

void Console::showHelp() {
  for (ArrayRef<DebugCommandHelp> part : {ArrayRef(kHelp), Inspector::help()})
    for (const DebugCommandHelp &one : part)
      printed() << left_justify(one.usage, 50) << " " << one.meaning << "\n";
}

} // namespace rubia::tools
