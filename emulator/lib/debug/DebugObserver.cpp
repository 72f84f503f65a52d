// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/debug/DebugObserver.h"
#include "emulator/lib/decode/Disassembly.h"
#include "emulator/lib/run/FaultReport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Demangle/Demangle.h"

using namespace llvm;

namespace rubia::emulator {

constexpr unsigned kMessageInterval = 4096; // operations

DebugObserver::DebugObserver(DebugSession &session, const Launch &launch, const Memory &memory)
    : session(session), launch(launch), code(launch.kernel->program->stepped()),
      places(code, launch.kernel->program->lines.get()), calls(code),
      inspection(launch, memory, code, places, calls), changes(launch, memory) {
  std::lock_guard lock(session.mutex);
  number = ++session.launches;
  isPausing = take();
  resolve();
  json::Array list;
  for (const Resolved &one : resolved)
    if (!one.operations.empty())
      list.push_back(json::Object{{"id", one.breakpoint.id},
                                  {"line", int64_t(one.line)},
                                  {"places", int64_t(one.operations.size())}});
  session.connection.send(
      json::Object{{"event", "launch"},
                   {"launch", int64_t(number)},
                   {"kernel", json::fixUTF8(demangle(launch.kernel->name))},
                   {"grid", arrayOf(launch.grid)},
                   {"block", arrayOf(blockOfThreads(launch, *launch.kernel->program))},
                   {"target", code.program->target->row().name},
                   {"breakpoints", std::move(list)}});
}

DebugObserver::~DebugObserver() {
  std::lock_guard lock(session.mutex);
  session.connection.send(json::Object{{"event", "ended"}, {"launch", int64_t(number)}});
}

void DebugObserver::groupStarted(RunningGroup &group) { groups.push_back(&group); }

void DebugObserver::groupEnded(RunningGroup &group) {
  llvm::erase(groups, &group);
  if (focus.group == &group)
    focus = {};
  for (const Wave &wave : group.waves)
    calls.forget(wave);
}

// ---------- Breakpoints

/// Where the breakpoints lie in this code. The session is locked.
void DebugObserver::resolve() {
  seenChanges = session.changes;
  const std::vector<Resolved> before = std::exchange(resolved, {});
  marks.assign(code.program->operations.size(), false);
  const CodeMap &map = code.program->map;
  const MicroOp *entry = map.find(entryOf(*launch.kernel));
  for (const Breakpoint &breakpoint : session.breakpoints) {
    Resolved one{breakpoint, {}, 0, false, false};
    one.isHit = any_of(before, [&](const Resolved &old) {
      return old.breakpoint.id == breakpoint.id && old.isHit;
    });
    switch (breakpoint.kind) {
    case Breakpoint::Kind::Line: {
      CodePlaces::Line line = places.find(breakpoint.file, unsigned(breakpoint.line));
      one.operations = std::move(line.operations);
      one.line = line.number;
      break;
    }
    case Breakpoint::Kind::Function:
      if (!isNamed(launch.kernel->name, breakpoint.name)) {
        one.operations = places.findFunction(breakpoint.name);
        break;
      }
      [[fallthrough]];
    case Breakpoint::Kind::Launch:
      if (entry)
        one.operations.push_back(size_t(entry - code.program->operations.data()));
      one.isOnce = !breakpoint.workgroup && !breakpoint.thread;
      break;
    case Breakpoint::Kind::Pc:
      if (const std::optional<size_t> operation = places.findPc(breakpoint.pc))
        one.operations.push_back(*operation);
      break;
    }
    for (const size_t operation : one.operations)
      marks[operation] = true;
    resolved.push_back(std::move(one));
  }
}

/// The breakpoints that the wave hits at an operation. The focus gets the thread that does.
std::vector<int64_t> DebugObserver::hits(Focus &at, size_t operation) {
  std::vector<int64_t> found;
  const uint64_t exec = at.wave->exec();
  if (exec == 0)
    return found; // nobody executes it
  auto isAt = [](const std::optional<Dim3> &wanted, Dim3 is) {
    return !wanted || (wanted->x == is.x && wanted->y == is.y && wanted->z == is.z);
  };
  for (Resolved &one : resolved) {
    if (!is_contained(one.operations, operation) || (one.isOnce && one.isHit) ||
        !isAt(one.breakpoint.workgroup, at.group->id))
      continue;
    unsigned lane = unsigned(llvm::countr_zero(exec));
    if (one.breakpoint.thread) {
      const WavePlace place = placeOf(launch, *launch.kernel->program, *one.breakpoint.thread);
      if (place.wave != at.wave->indexInGroup || !(exec >> place.lane & 1))
        continue;
      lane = place.lane;
    } else if (at.wave == focus.wave && exec >> focus.lane & 1) {
      lane = focus.lane;
    }
    one.isHit = true;
    if (found.empty())
      at.lane = lane;
    found.push_back(one.breakpoint.id);
  }
  return found;
}

// ---------- Steps

void DebugObserver::begin(Step kind) {
  step = kind;
  const std::optional<size_t> operation = places.findPc(Inspection::pcOf(*focus.wave));
  fromOperation = operation.value_or(0);
  from = operation ? places.placeOf(*operation) : std::nullopt;
  fromDepth = inspection.depthOf(*focus.wave, Inspection::pcOf(*focus.wave));
}

/// Whether the step of the chosen thread ends at the operation.
bool DebugObserver::hasArrived(const Wave &wave, const MicroOp &op, size_t operation) const {
  if (step == Step::None || &wave != focus.wave)
    return false;
  if (step == Step::Instruction)
    return true;
  if (!Inspection::isActive(focus))
    return false;
  if (step == Step::Out)
    return inspection.depthOf(wave, op.pc) < fromDepth;
  if (!places.isStatement(operation))
    return false;
  const std::optional<CodePlaces::Place> place = places.placeOf(operation);
  if (place ? place == from : operation == fromOperation)
    return false;
  return step != Step::LineOver || inspection.depthOf(wave, op.pc) <= fromDepth;
}

void DebugObserver::before(RunningGroup &group, Wave &wave, const MicroOp &op,
                           const InstructionStep &, const Accesses &) {
  const size_t operation = size_t(&op - code.program->operations.data());
  if (++sinceMessages >= kMessageInterval) {
    sinceMessages = 0;
    if (std::unique_lock lock(session.mutex, std::try_to_lock); lock && take())
      isPausing = true;
  }
  if (step == Step::None && !marks[operation] && !isPausing)
    return;
  if (continuesInstruction(*code.program, operation))
    return;
  Focus at{&group, &wave, 0};
  if (marks[operation])
    if (const std::vector<int64_t> ids = hits(at, operation); !ids.empty())
      return stop(at, "breakpoint", ids, "");
  if (hasArrived(wave, op, operation))
    return stop(focus, "step", {}, "");
  const uint64_t exec = wave.exec();
  if (isPausing && exec) {
    at.lane = unsigned(llvm::countr_zero(exec));
    stop(at, "pause", {}, "");
  }
}

void DebugObserver::after(RunningGroup &, Wave &wave, const MicroOp &op,
                          const InstructionStep &what) {
  calls.follow(wave, op);
  if (what.ends && &wave == focus.wave) {
    step = Step::None; // the thread has ended
    focus = {};
  }
}

void DebugObserver::faulted(RunningGroup &group, const Fault &what) {
  const FaultRecord &fault = group.shared.fault;
  Wave &wave = group.waves[fault.wave];
  // Where it happened: the handler has gone on before it found out.
  if (const std::optional<size_t> operation = places.findPc(fault.pc)) {
    wave.next = code.program->operations.data() + *operation;
    wave.status = WaveStatus::Faulted;
  }
  stop({&group, &wave, fault.lane}, "fault", {}, what.message());
}

// ---------- Talking

/// Takes what the debugger has sent while the launch runs. True: it is to stop. The session is
/// locked.
bool DebugObserver::take() {
  bool pauses = false;
  while (std::optional<json::Object> message = session.connection.poll()) {
    const StringRef request = message->getString("request").value_or("");
    if (request == "pause")
      pauses = true;
    else if (request == "breakpoints")
      session.reply(*message, ask(*message));
    else
      session.reply(*message, createStringError("the kernel runs"));
  }
  if (seenChanges != session.changes)
    resolve();
  return pauses;
}

void DebugObserver::stop(Focus at, StringRef reason, const std::vector<int64_t> &breakpoints,
                         const std::string &message) {
  std::lock_guard lock(session.mutex);
  if (!session.connection.isOpen())
    return;
  focus = at;
  step = Step::None;
  isPausing = false;
  json::Object told = inspection.place(focus);
  told["event"] = "stopped";
  told["reason"] = reason;
  told["breakpoints"] = json::Array(breakpoints);
  told["launch"] = int64_t(number);
  told["kernel"] = json::fixUTF8(demangle(launch.kernel->name));
  if (!message.empty())
    told["message"] = json::fixUTF8(message);
  if (const std::optional<StringRef> file = told.getString("file"))
    told["text"] = inspection.lineText(*file, unsigned(told.getInteger("line").value_or(0)));
  session.connection.send(std::move(told));
  std::optional<json::Object> request;
  while ((request = session.connection.wait()) && !answer(*request))
    ;
  if (!request) // the debugger has gone
    session.breakpoints.clear(), ++session.changes;
  if (seenChanges != session.changes)
    resolve();
}

/// True: the launch goes on.
bool DebugObserver::answer(const json::Object &request) {
  const StringRef name = request.getString("request").value_or("");
  const bool over = request.getBoolean("over").value_or(false);
  Step kind = Step::None;
  if (name == "step")
    kind = over ? Step::LineOver : Step::Line;
  else if (name == "stepi")
    kind = Step::Instruction;
  else if (name == "finish")
    kind = Step::Out;
  else if (name == "pause")
    return false; // it stands still
  else if (name != "continue") {
    session.reply(request, ask(request));
    return false;
  }
  begin(kind);
  session.reply(request, json::Value(nullptr));
  return true;
}

Error DebugObserver::refocus(const json::Object &request) {
  const Dim3 workgroup = placeIn(request, "workgroup").value_or(focus.group->id);
  if (const std::optional<Dim3> thread = placeIn(request, "thread")) {
    Expected<Focus> found = inspection.find(groups, workgroup, *thread);
    if (!found)
      return found.takeError();
    focus = *found;
    return Error::success();
  }
  const auto sameGroup = [&](const RunningGroup *group) {
    return group->id.x == workgroup.x && group->id.y == workgroup.y && group->id.z == workgroup.z;
  };
  const auto group = find_if(groups, sameGroup);
  if (group == groups.end())
    return createStringError("workgroup " + triple(workgroup) + " does not run now");
  const bool isOther = *group != focus.group || request.get("wave");
  const uint64_t index =
      uint64_t(request.getInteger("wave").value_or(isOther ? 0 : focus.wave->indexInGroup));
  if (index >= (*group)->waves.size() || (*group)->waves[index].status == WaveStatus::Ended)
    return createStringError("there is no wave " + std::to_string(index) +
                             " that runs in workgroup " + triple(workgroup));
  Wave &wave = (*group)->waves[index];
  const uint64_t exec = wave.exec();
  const unsigned first = exec ? unsigned(llvm::countr_zero(exec)) : 0;
  const uint64_t lane = uint64_t(request.getInteger("lane").value_or(first));
  if (lane >= wave.lanes())
    return createStringError("a wave has lanes 0 to " + std::to_string(wave.lanes() - 1));
  focus = {*group, &wave, unsigned(lane)};
  return Error::success();
}

Expected<json::Value> DebugObserver::ask(const json::Object &request) {
  const StringRef name = request.getString("request").value_or("");
  auto number = [&](StringRef key) { return uint64_t(request.getInteger(key).value_or(0)); };
  if (name == "breakpoints") {
    if (Error error = session.setBreakpoints(request))
      return std::move(error);
    resolve();
    json::Array list;
    for (const Resolved &one : resolved)
      list.push_back(json::Object{{"id", one.breakpoint.id},
                                  {"line", int64_t(one.line)},
                                  {"places", int64_t(one.operations.size())}});
    return json::Value(std::move(list));
  }
  if (name == "focus") {
    if (Error error = refocus(request))
      return std::move(error);
    return json::Value(inspection.place(focus));
  }
  if (name == "place")
    return json::Value(inspection.place(focus));
  if (name == "frames")
    return json::Value(inspection.frames(*focus.wave));
  if (name == "waves")
    return json::Value(inspection.waves(groups));
  if (name == "lanes")
    return json::Value(inspection.lanes(focus));
  if (name == "registers")
    return json::Value(inspection.registers(focus));
  if (name == "values")
    return json::Value(inspection.values(focus));
  if (name == "lanes of") {
    Expected<json::Array> lanes = inspection.lanesOf(focus, request.getString("name").value_or(""));
    if (!lanes)
      return lanes.takeError();
    return json::Value(std::move(*lanes));
  }
  if (name == "memory") {
    Expected<std::string> bytes = inspection.bytes(focus, request.getString("space").value_or(""),
                                                   number("address"), number("bytes"));
    if (!bytes)
      return bytes.takeError();
    return json::Value(std::move(*bytes));
  }
  if (name == "set") {
    auto bits = [&](StringRef key) {
      uint64_t value = 0;
      request.getString(key).value_or("0").getAsInteger(0, value);
      return value;
    };
    if (Error error =
            changes.set(focus, request.getString("name").value_or(""), bits("value"), bits("high")))
      return std::move(error);
    return json::Value(nullptr);
  }
  if (name == "write") {
    if (Error error = changes.write(focus, request.getString("space").value_or(""),
                                    number("address"), request.getString("bytes").value_or("")))
      return std::move(error);
    return json::Value(nullptr);
  }
  if (name == "instructions")
    return json::Value(inspection.instructions(number("pc"), number("before"), number("count")));
  if (name == "source")
    return json::Value(inspection.source(request.getString("file").value_or("")));
  return createStringError("'" + name + "' is no request");
}

} // namespace rubia::emulator
