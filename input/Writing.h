// SPDX-License-Identifier: Apache-2.0
// Writing from within a program that is not ours. What becomes of it is not the program's business:
// a pipe that nobody reads any more, a file at its limit or a full disk must not end it.
// llvm::errs() would, by a signal or, at the end, as an error of its own. Nor may we be in the
// program's way: it may have been started without a standard stream, or close all descriptors that
// it does not know.
#pragma once

#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <ctime>
#include <memory>
#include <sys/types.h>
#include <system_error>

namespace rubia::input {

/// While it lives, this thread's writes raise no SIGPIPE and no SIGXFSZ: they fail.
class WithoutSignalsOfWriting {
public:
  WithoutSignalsOfWriting();
  ~WithoutSignalsOfWriting();
  WithoutSignalsOfWriting(const WithoutSignalsOfWriting &) = delete;
  WithoutSignalsOfWriting &operator=(const WithoutSignalsOfWriting &) = delete;

private:
  sigset_t signals, before, pending;
};

/// All of it, or false with errno set. No signal is raised.
bool writeAll(int descriptor, llvm::StringRef text);

/// A message on stderr. Where it cannot be written, nobody is listening.
void tell(const llvm::Twine &message);

/// The same file under a number that is no standard stream's, or -1: where a program has none, the
/// next file that is opened takes its number, and with it what the program prints.
int besideStandardStreams(int descriptor);

/// A file that stays open, and is added to. Where the program has closed the descriptor, its number
/// may be another file's by now: nothing is written then, and nothing is closed.
class KeptFile : public llvm::raw_ostream {
public:
  /// Null with `error` set where it cannot be opened.
  static std::unique_ptr<KeptFile> append(llvm::StringRef path, std::error_code &error);
  /// Takes an open file; -1: none.
  explicit KeptFile(int descriptor);
  ~KeptFile() override;

  bool isOpen() const;
  /// What went wrong since it was last asked.
  std::error_code takeError() { return std::exchange(problem, {}); }

private:
  void write_impl(const char *data, size_t size) override;
  uint64_t current_pos() const override { return written; }

  int descriptor;
  dev_t device = 0; // with `inode`: of the file, whatever has its number
  ino_t inode = 0;
  uint64_t written = 0;
  std::error_code problem;
};

} // namespace rubia::input
