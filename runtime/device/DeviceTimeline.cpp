// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/DeviceTimeline.h"
#include "runtime/base/Timeline.h"
#include "runtime/device/OwnStream.h"
#include <cstdlib>
#include <list>
#include <map>
#include <mutex>
#include <optional>

namespace rubia::runtime {
int hipEventSynchronize(void *event);
int hipEventElapsedTime(float *ms, void *start, void *stop);
} // namespace rubia::runtime

namespace rubia::runtime {

namespace {

struct Launch {
  std::string kernel;
  int device;
  void *stream, *begin, *end;
};

/// An event of a device whose time the host knows.
struct Anchor {
  void *event;
  Timeline::Clock::time_point time;
};

struct State {
  std::mutex mutex; // guards what follows
  const Hip *hip = nullptr;
  std::list<Launch> launches;                   // that may not have ended
  std::map<int, std::optional<Anchor>> anchors; // by device; none: it cannot be had
  std::map<std::pair<int, void *>, uint64_t> tracks;
};
State &state() {
  static State &all = *new State;
  return all;
}

std::optional<Anchor> makeAnchor(const Hip &hip) {
  Anchor anchor{};
  void *stream = nullptr;
  if (hip.call<hipEventCreateWithFlags>(&anchor.event, 0) || makeOwnStream(hip, stream))
    return std::nullopt;
  const bool isThere = !hip.call<hipEventRecord>(anchor.event, stream) &&
                       !hip.call<hipEventSynchronize>(anchor.event);
  anchor.time = Timeline::Clock::now();
  (void)hip.call<hipStreamDestroy>(stream);
  return isThere ? std::optional(anchor) : std::nullopt;
}

void tell(State &all, const Launch &launch) {
  const std::optional<Anchor> &anchor = all.anchors[launch.device];
  float begin = 0, end = 0; // ms
  if (!anchor || all.hip->call<hipEventElapsedTime>(&begin, anchor->event, launch.begin) ||
      all.hip->call<hipEventElapsedTime>(&end, anchor->event, launch.end))
    return;
  uint64_t &track = all.tracks[{launch.device, launch.stream}];
  if (!track)
    track = Timeline::wanted()->addTrack(
        "device " + std::to_string(launch.device) +
        (launch.stream ? ", stream " + std::to_string(all.tracks.size()) : ", default stream"));
  const auto at = [&](float ms) {
    return anchor->time + std::chrono::duration_cast<Timeline::Clock::duration>(
                              std::chrono::duration<double, std::milli>(ms));
  };
  Timeline::wanted()->add("kernel", launch.kernel, at(begin), at(end), track);
}

constexpr int kHipNotReady = 600;

/// Launches that have ended. The lock is held.
void collect(State &all) {
  for (auto launch = all.launches.begin(); launch != all.launches.end();) {
    const int status = all.hip->call<hipEventQuery>(launch->end);
    if (status == kHipNotReady) {
      ++launch;
      continue;
    }
    if (!status)
      tell(all, *launch);
    // The events may have gone with their device.
    (void)all.hip->call<hipEventDestroy>(launch->begin);
    (void)all.hip->call<hipEventDestroy>(launch->end);
    launch = all.launches.erase(launch);
  }
}

void *eventOn(const Hip &hip, void *stream) {
  void *event = nullptr;
  if (hip.call<hipEventCreateWithFlags>(&event, 0))
    return nullptr;
  if (!hip.call<hipEventRecord>(event, stream))
    return event;
  (void)hip.call<hipEventDestroy>(event);
  return nullptr;
}

} // namespace

DeviceSpan::DeviceSpan(const Hip &hip, void *stream) : hip(hip), stream(stream) {
  if (!Timeline::wanted())
    return;
  int device = 0;
  if (hip.call<hipGetDevice>(&device))
    return;
  State &all = state();
  {
    std::lock_guard lock(all.mutex);
    if (!all.hip) {
      all.hip = &hip;
      atexit([] { // before HIP's own handlers, and before the file is closed
        std::lock_guard lock(state().mutex);
        collect(state());
      });
    }
    if (!all.anchors.contains(device))
      all.anchors[device] = makeAnchor(hip);
  }
  begin = eventOn(hip, stream);
}

void DeviceSpan::end(const std::string &kernel) {
  if (!begin)
    return;
  int device = 0;
  void *end = hip.call<hipGetDevice>(&device) ? nullptr : eventOn(hip, stream);
  if (!end)
    return;
  State &all = state();
  std::lock_guard lock(all.mutex);
  all.launches.push_back({kernel, device, stream, begin, end});
  begin = nullptr;
  collect(all);
}

DeviceSpan::~DeviceSpan() {
  if (begin)
    (void)hip.call<hipEventDestroy>(begin);
}

} // namespace rubia::runtime
