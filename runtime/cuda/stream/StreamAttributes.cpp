// SPDX-License-Identifier: Apache-2.0
// Attributes of streams. They are hints: a stream keeps what it was told, and works the same.
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/LaunchHints.h"
#include "runtime/cuda/Stream.h"
#include <cstring>

namespace rubia::runtime::cuda {

namespace {

struct StreamAttributes {
  LaunchAttribute window{}, policy{}, domain{}, domains{};
  std::optional<int> priority; // else that of its creation
};

// By context and id of the stream, which no other stream has.
using Key = std::pair<Context *, uint64_t>;
std::mutex &mutex = *new std::mutex;
std::map<Key, StreamAttributes> &all = *new std::map<Key, StreamAttributes>;

StreamAttributes &attributesOf(Context &context, const Stream &stream) {
  auto [found, isNew] = all.try_emplace({&context, stream.id});
  if (isNew) {
    found->second.policy.flag = -1; // not set
    found->second.domains.bytes[1] = 1;
  }
  return found->second;
}

Result get(const StreamAttributes &attributes, const Stream &stream, int id, char *out) {
  const int priority = attributes.priority.value_or(stream.priority);
  switch (id) {
  case kLaunchAccessPolicyWindow:
    memcpy(out, attributes.window.bytes, 32);
    return kSuccess;
  case kLaunchSynchronizationPolicy:
    memcpy(out, attributes.policy.bytes, 4);
    return kSuccess;
  case kLaunchPriority:
    memcpy(out, &priority, 4);
    return kSuccess;
  case kLaunchMemSyncDomainMap:
    memcpy(out, attributes.domains.bytes, 2);
    return kSuccess;
  case kLaunchMemSyncDomain:
    memcpy(out, attributes.domain.bytes, 4);
    return kSuccess;
  }
  return kInvalidValue;
}

Result set(StreamAttributes &attributes, int id, const char *value) {
  int number;
  memcpy(&number, value, sizeof(number));
  if (!isValidHint(id, value))
    return kInvalidValue;
  switch (id) {
  case kLaunchAccessPolicyWindow:
    memcpy(attributes.window.bytes, value, 32);
    return kSuccess;
  case kLaunchSynchronizationPolicy:
    if (number < 1 || number > 4)
      return kInvalidValue;
    attributes.policy.flag = number;
    return kSuccess;
  case kLaunchPriority:
    attributes.priority = std::clamp(number, kHighestPriority, 0);
    return kSuccess;
  case kLaunchMemSyncDomainMap:
    memcpy(attributes.domains.bytes, value, 2);
    return kSuccess;
  case kLaunchMemSyncDomain:
    attributes.domain.flag = number;
    return kSuccess;
  }
  return kInvalidValue;
}

// Runs `body` with the attributes of a stream.
template <class Body> Result with(Context &context, Stream *handle, Body body) {
  Stream stream;
  if (Result result = describe(context, handle, stream))
    return result;
  std::lock_guard<std::mutex> lock(mutex);
  return body(attributesOf(context, stream), stream);
}

Stream *mine(Stream *stream) { return stream ? stream : kPerThreadStream; }

} // namespace

int priorityOf(const Stream &stream) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = all.find({stream.context, stream.id});
  return found == all.end() ? stream.priority : found->second.priority.value_or(stream.priority);
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuStreamGetAttribute(Stream *stream, int id, char *out) {
  return callOn(RUBIA_CALL(stream, id, out), stream, [&](Context &context) {
    return with(context, stream, [&](StreamAttributes &attributes, const Stream &found) {
      return out ? get(attributes, found, id, out) : kInvalidValue;
    });
  });
}
Result cuStreamSetAttribute(Stream *stream, int id, const char *value) {
  return callOn(RUBIA_CALL(stream, id, value), stream, [&](Context &context) {
    return with(context, stream, [&](StreamAttributes &attributes, const Stream &) {
      return value ? set(attributes, id, value) : kInvalidValue;
    });
  });
}
Result cuStreamCopyAttributes(Stream *to, Stream *from) {
  return callOn(RUBIA_CALL(to, from), to, [&](Context &context) -> Result {
    StreamAttributes copy;
    if (Result result = with(context, from, [&](StreamAttributes &attributes, const Stream &) {
          copy = attributes;
          return kSuccess;
        }))
      return result;
    return with(context, to, [&](StreamAttributes &attributes, const Stream &) {
      attributes = copy;
      return kSuccess;
    });
  });
}

Result cuStreamGetAttribute_ptsz(Stream *stream, int id, char *out) {
  return cuStreamGetAttribute(mine(stream), id, out);
}
Result cuStreamSetAttribute_ptsz(Stream *stream, int id, const char *value) {
  return cuStreamSetAttribute(mine(stream), id, value);
}
Result cuStreamCopyAttributes_ptsz(Stream *to, Stream *from) {
  return cuStreamCopyAttributes(mine(to), mine(from));
}

} // extern "C"
