// SPDX-License-Identifier: Apache-2.0
#include "diff/forward/Calls.h"
#include "diff/forward/Recorder.h"
#include <sys/syscall.h>
#include <sys/uio.h>

namespace rubia::forward {
namespace {

/// As generate_calls.py says it, in the order of driverFunctions(); null: nothing is known.
constexpr const char *kParameters[] = {
#include "generated/CallParameters.def"
};

const char *parametersOf(const DriverFunction &function) {
  size_t count = 0;
  const DriverFunction *functions = driverFunctions(count);
  static_assert(sizeof(kParameters) > 0);
  return kParameters[&function - functions];
}

struct Parameter {
  char kind;
  char name[64];
};

/// The next of a list; false: there is none.
bool takeParameter(const char *&list, Parameter &parameter) {
  if (!list || !*list)
    return false;
  parameter.kind = *list;
  const char *end = strchr(list, ' ');
  const size_t length = end ? size_t(end - list) : strlen(list);
  snprintf(parameter.name, sizeof(parameter.name), "%.*s", int(length) - 2, list + 2);
  list += end ? length + 1 : length;
  return true;
}

constexpr unsigned kStructureWords = 8;

/// Where arguments are, as the calling convention has it: six in registers for numbers, eight in
/// those for floating-point numbers, the rest on the stack.
class Arguments {
public:
  explicit Arguments(const CallFrame &frame) : frame(frame) {}
  uint64_t next() { return integers < 6 ? frame.integers[integers++] : frame.stack[words++]; }
  float nextFloat() {
    float value;
    memcpy(&value, &frame.floats[floats++], sizeof(value));
    return value;
  }
  void passStructure() { words += kStructureWords; }

private:
  const CallFrame &frame;
  unsigned integers = 0, floats = 0, words = 0;
};

/// Of memory that may not be there: a program's pointer is its own affair.
bool readOwn(uint64_t from, void *to, size_t bytes) {
  const iovec here{to, bytes}, there{reinterpret_cast<void *>(from), bytes};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == ssize_t(bytes);
}

void addText(Text &text, uint64_t from) {
  constexpr size_t kMost = 1023, kPiece = 64; // a text may end before a page that is not there
  char copy[kMost + 1] = "";
  size_t size = 0;
  while (size < kMost) {
    const size_t piece = kMost - size < kPiece ? kMost - size : kPiece - from % kPiece;
    if (!readOwn(from, copy + size, piece > kMost - size ? kMost - size : piece))
      break;
    if (memchr(copy + size, 0, piece))
      break;
    size += piece;
    from += piece;
  }
  copy[kMost] = 0;
  text.quoted(copy);
}

void addPointer(Text &text, uint64_t pointer) {
  text.format("\"0x%llx\"", static_cast<unsigned long long>(pointer));
}

void addArgument(Text &text, char kind, uint64_t value) {
  switch (kind) {
  case 'i':
    text.format("%d", int(uint32_t(value)));
    break;
  case 'u':
    text.format("%u", unsigned(value));
    break;
  case 'b':
    text.format("%u", unsigned(uint8_t(value)));
    break;
  case 'h':
    text.format("%u", unsigned(uint16_t(value)));
    break;
  case 'U':
    text.format("%llu", static_cast<unsigned long long>(value));
    break;
  case 's':
    if (value) {
      addText(text, value);
      break;
    }
    [[fallthrough]];
  default:
    addPointer(text, value);
  }
}

void addArguments(Text &text, const DriverFunction &function, const CallFrame &frame) {
  const char *list = parametersOf(function);
  Arguments arguments(frame);
  Parameter parameter;
  for (const char *comma = ""; takeParameter(list, parameter); comma = ",") {
    text.add(comma).add("[").quoted(parameter.name).add(",");
    if (parameter.kind == 'f') {
      text.format("\"%a\"", double(arguments.nextFloat()));
    } else if (parameter.kind == 'M') {
      text.add("\"a structure\"");
      arguments.passStructure();
    } else {
      addArgument(text, parameter.kind, arguments.next());
    }
    text.add("]");
  }
}

/// What stands behind pointers that it may have written to.
void addResults(Text &text, const DriverFunction &function, const CallFrame &frame) {
  const char *list = parametersOf(function);
  Arguments arguments(frame);
  Parameter parameter;
  for (const char *comma = ""; takeParameter(list, parameter);) {
    if (parameter.kind == 'f') {
      (void)arguments.nextFloat();
      continue;
    }
    if (parameter.kind == 'M') {
      arguments.passStructure();
      continue;
    }
    const uint64_t pointer = arguments.next();
    uint64_t value = 0;
    const size_t bytes = parameter.kind == 'O' ? 8 : parameter.kind == 'o' ? 4 : 0;
    if (!bytes || !pointer || !readOwn(pointer, &value, bytes))
      continue;
    text.add(comma).add("[").quoted(parameter.name).add(",");
    addPointer(text, value);
    text.add("]");
    comma = ",";
  }
}

} // namespace

unsigned stackWords(const DriverFunction &function) {
  constexpr unsigned kMost = 16;
  const char *list = parametersOf(function);
  unsigned integers = 0, structures = 0;
  Parameter parameter;
  if (!list)
    return kMost;
  while (takeParameter(list, parameter)) {
    integers += parameter.kind != 'f' && parameter.kind != 'M';
    structures += parameter.kind == 'M';
  }
  return (integers > 6 ? integers - 6 : 0) + structures * kStructureWords;
}

uint64_t CallLog::next() { return __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED); }

void CallLog::add(const DriverFunction &function, const CallFrame &frame) {
  Text text;
  const int result = int(uint32_t(frame.result));
  text.format("{\"call\":%llu,\"thread\":%ld,\"name\":\"%s\",\"arguments\":[",
              static_cast<unsigned long long>(frame.number), syscall(SYS_gettid), function.symbol);
  addArguments(text, function, frame);
  text.add("],\"written\":[");
  if (!result)
    addResults(text, function, frame);
  text.format("],\"result\":%d}\n", result);
  pthread_mutex_lock(&lock);
  lines.append(text.bytes().begin(), text.bytes().size());
  pthread_mutex_unlock(&lock);
}

bool CallLog::take(Bytes &to) {
  pthread_mutex_lock(&lock);
  to.clear();
  to.append(lines.begin(), lines.size());
  lines.clear();
  pthread_mutex_unlock(&lock);
  return !to.empty();
}

bool CallLog::isLarge() {
  constexpr size_t kLarge = size_t(1) << 20;
  pthread_mutex_lock(&lock);
  const bool is = lines.size() > kLarge;
  pthread_mutex_unlock(&lock);
  return is;
}

} // namespace rubia::forward

using namespace rubia::forward;

extern "C" {

struct Target {
  void *function;
  uint64_t stackWords; // even, as the stack has to be
};

__attribute__((visibility("hidden"))) Target rubia_call_begins(const Entry *entry,
                                                               CallFrame *frame) {
  frame->number = Recorder::get().calls.next();
  return {entry->target, (stackWords(*entry->function) + 1) & ~uint64_t(1)};
}

__attribute__((visibility("hidden"))) void rubia_call_ends(const Entry *entry,
                                                           const CallFrame *frame) {
  Recorder::get().called(*entry->function, *frame);
}
}
