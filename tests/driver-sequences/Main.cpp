// SPDX-License-Identifier: Apache-2.0
// driver_sequences [LIBRARY [SEQUENCE...]]: runs sequences, eight at a time, each in a process of
// its own, and prints what they wrote down.
#include "tests/driver-sequences/Sequence.h"
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sequences {

static std::string libraryName = "libcuda.so.1";
static constexpr unsigned kSeconds = 100; // a sequence may last
static constexpr unsigned kAtOnce = 8;

std::vector<Sequence> &all() {
  static std::vector<Sequence> list;
  return list;
}

void say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printf("  ");
  vprintf(format, arguments);
  putchar('\n');
  fflush(stdout);
  va_end(arguments);
}

void *symbol(const char *name) {
  static void *library = dlopen(libraryName.c_str(), RTLD_NOW);
  if (!library) {
    say("%s", dlerror());
    _exit(1);
  }
  return dlsym(library, name);
}

static std::map<const void *, std::string> &names() {
  static std::map<const void *, std::string> table;
  return table;
}

void *named(void *handle, const char *name) {
  names()[handle] = name;
  return handle;
}

const char *nameOf(const void *handle) {
  if (!handle)
    return "null";
  auto found = names().find(handle);
  return found == names().end() ? "?" : found->second.c_str();
}

static void run(const Sequence &sequence, FILE *record) {
  dup2(fileno(record), STDOUT_FILENO);
  alarm(kSeconds);
  sequence.body();
  say("end");
  fflush(stdout);
  _exit(0);
}

static void print(const Sequence &sequence, FILE *record, int status) {
  printf("%s\n", sequence.name);
  rewind(record);
  char line[4096];
  while (fgets(line, sizeof(line), record))
    fputs(line, stdout);
  if (WIFSIGNALED(status))
    printf("  %s\n", WTERMSIG(status) == SIGALRM ? "hangs" : "crashes");
  fclose(record);
}

static bool isWanted(const Sequence &sequence, int count, char **names) {
  for (int i = 0; i < count; ++i)
    if (!strcmp(names[i], sequence.name))
      return true;
  return !count;
}

static int runAll(int count, char **names) {
  std::vector<Sequence> wanted;
  for (const Sequence &sequence : all())
    if (isWanted(sequence, count, names))
      wanted.push_back(sequence);
  std::vector<FILE *> records(wanted.size());
  std::vector<int> statuses(wanted.size());
  std::map<pid_t, size_t> running;
  for (size_t next = 0; next < wanted.size() || !running.empty();) {
    if (next < wanted.size() && running.size() < kAtOnce) {
      fflush(stdout);
      if (!(records[next] = tmpfile()))
        return 1;
      pid_t child = fork();
      if (child < 0)
        return 1;
      if (!child)
        run(wanted[next], records[next]);
      running[child] = next++;
      continue;
    }
    int status;
    pid_t ended = wait(&status);
    if (running.contains(ended))
      statuses[running[ended]] = status;
    running.erase(ended);
  }
  for (size_t i = 0; i < wanted.size(); ++i)
    print(wanted[i], records[i], statuses[i]);
  return wanted.empty();
}

} // namespace sequences

int main(int count, char **arguments) {
  if (count > 1)
    sequences::libraryName = arguments[1];
  return sequences::runAll(count - 2 < 0 ? 0 : count - 2, arguments + 2);
}
