// SPDX-License-Identifier: Apache-2.0
#include "emulator/hip/Stream.h"
#include "emulator/hip/Api.h"
#include "emulator/lib/machine/ThreadSignals.h"
#include <system_error>

namespace rubia::emulator::hip {

void Completion::finish() {
  std::lock_guard<std::mutex> lock(mutex);
  done = true;
  finished = std::chrono::steady_clock::now();
  changed.notify_all();
}

void Completion::wait() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return done; });
}

bool Completion::isDone() {
  std::lock_guard<std::mutex> lock(mutex);
  return done;
}

std::chrono::steady_clock::time_point Completion::time() {
  std::lock_guard<std::mutex> lock(mutex);
  return finished;
}

// A thread that had the stream from its handle may be on its way to it while another one destroys
// it: it is there for a while, and takes no more work.
static void retire(Stream *stream) {
  constexpr size_t kKept = 256;
  static auto &mutex = *new std::mutex;
  static auto &retired = *new std::deque<std::unique_ptr<Stream>>;
  std::lock_guard<std::mutex> lock(mutex);
  retired.emplace_back(stream);
  if (retired.size() > kKept)
    retired.pop_front();
}

CompletionRef Stream::enqueue(std::function<void()> work, std::vector<CompletionRef> after) {
  auto completion = std::make_shared<Completion>();
  std::lock_guard<std::mutex> lock(mutex);
  if (!started && !start()) { // the device's error tells that the work is lost
    completion->finish();
    return completion;
  }
  items.push_back({std::move(work), std::move(after), completion});
  last = completion;
  changed.notify_all();
  return completion;
}

bool Stream::start() {
  const NewThreadsTakeNoSignals guard;
  try {
    std::thread([this] { run(); }).detach();
    started = true;
  } catch (const std::system_error &error) {
    (void)reportFailure(
        device, llvm::createStringError("cannot start a thread for a stream: %s", error.what()));
  }
  return started;
}

void Stream::run() {
  for (;;) {
    Item item;
    {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return !items.empty() || closed; });
      if (items.empty())
        break;
      item = std::move(items.front());
      items.pop_front();
    }
    for (CompletionRef &completion : item.after)
      completion->wait();
    item.work();
    item.completion->finish();
  }
  retire(this);
}

void Stream::synchronize() {
  CompletionRef waitFor;
  {
    std::lock_guard<std::mutex> lock(mutex);
    waitFor = last;
  }
  if (waitFor)
    waitFor->wait();
}

bool Stream::isIdle() {
  std::lock_guard<std::mutex> lock(mutex);
  return !last || last->isDone();
}

StreamSet::StreamSet(Device &device) : device(device), nullStream(new Stream(device, true)) {}

Stream *StreamSet::create(bool blocking) {
  auto *stream = new Stream(device, blocking);
  std::lock_guard<std::mutex> lock(mutex);
  streams.insert(stream);
  return stream;
}

Stream *StreamSet::ofThread(bool mayMake) {
  std::lock_guard<std::mutex> lock(mutex);
  auto place = ofThreads.find(std::this_thread::get_id());
  if (place != ofThreads.end())
    return place->second;
  if (!mayMake)
    return nullptr;
  auto *stream = new Stream(device, true);
  streams.insert(stream);
  ofThreads[std::this_thread::get_id()] = stream;
  return stream;
}

bool StreamSet::contains(const Stream *stream) {
  std::lock_guard<std::mutex> lock(mutex);
  return stream == nullStream || streams.contains(const_cast<Stream *>(stream));
}

void StreamSet::destroy(Stream *stream) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    streams.erase(stream);
    std::erase_if(ofThreads, [&](const auto &entry) { return entry.second == stream; });
    forgetFinished();
    std::lock_guard<std::mutex> streamLock(stream->mutex);
    if (stream->last && !stream->last->isDone())
      leaving.push_back({stream->last, stream->blocking});
  }
  bool neverRan;
  {
    std::lock_guard<std::mutex> lock(stream->mutex);
    stream->closed = true;
    neverRan = !stream->started;
    stream->changed.notify_all();
  }
  if (neverRan)
    retire(stream);
}

void StreamSet::forgetFinished() {
  std::erase_if(leaving, [](const Leaving &gone) { return gone.last->isDone(); });
}

void StreamSet::reset() {
  synchronizeAll();
  std::set<Stream *> all;
  {
    std::lock_guard<std::mutex> lock(mutex);
    all = streams;
  }
  for (Stream *stream : all)
    destroy(stream);
}

CompletionRef StreamSet::enqueue(Stream &stream, std::function<void()> work,
                                 std::vector<CompletionRef> after) {
  std::lock_guard<std::mutex> lock(mutex);
  if (&stream != nullStream && !streams.contains(&stream)) { // destroyed meanwhile
    auto none = std::make_shared<Completion>();
    none->finish();
    return none;
  }
  auto waitFor = [&](Stream &other) {
    std::lock_guard<std::mutex> otherLock(other.mutex);
    if (other.last)
      after.push_back(other.last);
  };
  if (&stream == nullStream) {
    for (Stream *other : streams)
      if (other->blocking)
        waitFor(*other);
    forgetFinished();
    for (const Leaving &gone : leaving)
      if (gone.blocking)
        after.push_back(gone.last);
  } else if (stream.blocking) {
    waitFor(*nullStream);
  }
  return stream.enqueue(std::move(work), std::move(after));
}

void StreamSet::synchronizeAll() {
  std::vector<CompletionRef> all;
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto add = [&](Stream &stream) {
      std::lock_guard<std::mutex> streamLock(stream.mutex);
      if (stream.last)
        all.push_back(stream.last);
    };
    add(*nullStream);
    for (Stream *stream : streams)
      add(*stream);
    for (const Leaving &gone : leaving)
      all.push_back(gone.last);
    leaving.clear();
  }
  for (CompletionRef &completion : all)
    completion->wait();
}

} // namespace rubia::emulator::hip
