// SPDX-License-Identifier: Apache-2.0
// Streams: work in order within a stream, at the same time across streams. Each has a thread of its
// own, started with its first work. The null stream keeps CUDA's and HIP's legacy rule: its work
// waits for that of all blocking streams, and theirs for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace rubia::emulator::hip {

struct Device;

/// Whether a piece of work is done, and when it was.
class Completion {
public:
  void finish();
  void wait();
  bool isDone();
  std::chrono::steady_clock::time_point time(); // of finish()

private:
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::chrono::steady_clock::time_point finished;
};
using CompletionRef = std::shared_ptr<Completion>;

class Stream;
using StreamRef = std::shared_ptr<Stream>;

/// Who has found it by its handle keeps it, whatever other threads destroy.
class Stream : public std::enable_shared_from_this<Stream> {
public:
  Stream(Device &device, bool blocking) : device(device), blocking(blocking) {}
  /// Appends work; it starts after all earlier work of this stream and after `after`.
  CompletionRef enqueue(std::function<void()> work, std::vector<CompletionRef> after = {});
  void synchronize();
  bool isIdle();
  Device &device;
  const bool blocking;
  std::vector<uint32_t> computeUnits; // as hipExtStreamCreateWithCUMask had them; empty: all

private:
  friend class StreamSet;
  struct Item {
    std::function<void()> work;
    std::vector<CompletionRef> after;
    CompletionRef completion;
  };
  bool start(); // the thread; with the lock held
  void run();

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Item> items;
  CompletionRef last;
  bool started = false;
  bool closed = false; // destroyed by the program: ends when it has run dry
};

/// The streams of one device.
class StreamSet {
public:
  explicit StreamSet(Device &device);
  const StreamRef &null() { return nullStream; }
  StreamRef create(bool blocking);
  /// The calling thread's own stream (hipStreamPerThread), made when it is first asked for, again
  /// after reset(). `mayMake` false: null where there is none.
  StreamRef ofThread(bool mayMake = true);
  /// Null: it is none.
  StreamRef find(Stream *stream);
  /// Waits for the stream's work in the background, as HIP has it; the handle is invalid at once.
  void destroy(Stream &stream);
  /// What work on `stream` has to wait for besides the stream itself, and registers it: the legacy
  /// rule.
  CompletionRef enqueue(Stream &stream, std::function<void()> work,
                        std::vector<CompletionRef> after = {});
  void synchronizeAll();
  /// hipDeviceReset: every stream but the null stream is gone, after its work.
  void reset();

private:
  struct Leaving {
    CompletionRef last;
    bool blocking;
  };
  void forgetFinished();

  Device &device;
  std::mutex mutex;
  const StreamRef nullStream;
  std::map<Stream *, StreamRef> streams; // without the null stream
  std::map<std::thread::id, StreamRef> ofThreads;
  /// Destroyed while they had work: the legacy rule and synchronizeAll() still hold for it.
  std::vector<Leaving> leaving;
};

} // namespace rubia::emulator::hip
