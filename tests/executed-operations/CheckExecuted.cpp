// SPDX-License-Identifier: Apache-2.0
// Whether the tests execute every operation that lowering has: reads what they left in a folder
// (ExecutedOperations.h), and empties it. What a test left before its program was built again does
// not count.
#include "ptx-frontend/InstructionTable.h"
#include "llvm/ADT/StringSet.h"
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

using namespace rubia;

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fputs("usage: check_executed FOLDER\n", stderr);
    return 2;
  }
  llvm::StringSet<> executed;
  unsigned files = 0;
  for (const std::filesystem::directory_entry &entry :
       std::filesystem::directory_iterator(argv[1])) {
    std::ifstream file(entry.path());
    std::string program;
    std::getline(file, program);
    std::error_code gone;
    auto built = std::filesystem::last_write_time(program, gone);
    if (!gone && built < entry.last_write_time()) {
      ++files;
      for (std::string name; std::getline(file, name);)
        executed.insert(name);
    }
    std::filesystem::remove(entry.path());
  }
  std::set<ptx::Operation> lowered;
  for (const ptx::Form &form : ptx::instructionForms())
    if (form.lowered)
      lowered.insert(form.op);
  size_t missing = 0;
  for (ptx::Operation op : lowered)
    if (!executed.contains(ptx::nameOf(op))) {
      ++missing;
      std::printf("no test executes %s\n", ptx::nameOf(op).str().c_str());
    }
  std::printf("%u programs executed %zu of the %zu operations that are lowered\n", files,
              lowered.size() - missing, lowered.size());
  return missing ? 1 : 0;
}
