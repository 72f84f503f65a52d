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
    std::thread([self = shared_from_this()] { self->run(); }).detach();
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

StreamSet::StreamSet(Device &device)
    : device(device), nullStream(std::make_shared<Stream>(device, true)) {}

StreamRef StreamSet::create(bool blocking) {
  auto stream = std::make_shared<Stream>(device, blocking);
  std::lock_guard<std::mutex> lock(mutex);
  streams[stream.get()] = stream;
  return stream;
}

StreamRef StreamSet::ofThread(bool mayMake) {
  std::lock_guard<std::mutex> lock(mutex);
  auto place = ofThreads.find(std::this_thread::get_id());
  if (place != ofThreads.end())
    return place->second;
  if (!mayMake)
    return nullptr;
  auto stream = std::make_shared<Stream>(device, true);
  streams[stream.get()] = stream;
  ofThreads[std::this_thread::get_id()] = stream;
  return stream;
}

StreamRef StreamSet::find(Stream *stream) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = streams.find(stream);
  return found != streams.end() ? found->second : nullptr;
}

void StreamSet::destroy(Stream &stream) {
  const StreamRef kept = stream.shared_from_this();
  std::lock_guard<std::mutex> lock(mutex);
  streams.erase(&stream);
  std::erase_if(ofThreads, [&](const auto &entry) { return entry.second == kept; });
  forgetFinished();
  std::lock_guard<std::mutex> streamLock(stream.mutex);
  if (stream.last && !stream.last->isDone())
    leaving.push_back({stream.last, stream.blocking});
  stream.closed = true;
  stream.changed.notify_all();
}

void StreamSet::forgetFinished() {
  std::erase_if(leaving, [](const Leaving &gone) { return gone.last->isDone(); });
}

void StreamSet::reset() {
  synchronizeAll();
  decltype(streams) all;
  {
    std::lock_guard<std::mutex> lock(mutex);
    all = streams;
  }
  for (const auto &[handle, stream] : all)
    destroy(*stream);
}

CompletionRef StreamSet::enqueue(Stream &stream, std::function<void()> work,
                                 std::vector<CompletionRef> after) {
  std::lock_guard<std::mutex> lock(mutex);
  if (&stream != nullStream.get() && !streams.contains(&stream)) { // destroyed meanwhile
    auto none = std::make_shared<Completion>();
    none->finish();
    return none;
  }
  auto waitFor = [&](Stream &other) {
    std::lock_guard<std::mutex> otherLock(other.mutex);
    if (other.last)
      after.push_back(other.last);
  };
  if (&stream == nullStream.get()) {
    for (const auto &[handle, other] : streams)
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
    for (const auto &[handle, stream] : streams)
      add(*stream);
    for (const Leaving &gone : leaving)
      all.push_back(gone.last);
    leaving.clear();
  }
  for (CompletionRef &completion : all)
    completion->wait();
}

} // namespace rubia::emulator::hip
