// SPDX-License-Identifier: Apache-2.0
#include "tools/debug/DapChannel.h"
#include "input/BoundedJson.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <unistd.h>

using namespace llvm;

namespace rubia::tools {

constexpr size_t kMaxHead = 8 << 10, kMaxMessage = 16 << 20;

bool DapChannel::read() {
  char bytes[4096];
  const ssize_t count = ::read(input, bytes, sizeof(bytes));
  if (count > 0)
    received.append(bytes, size_t(count));
  return count > 0 || (count < 0 && errno == EINTR);
}

Expected<std::optional<json::Object>> DapChannel::take() {
  const StringRef all = received;
  const size_t head = all.find("\r\n\r\n");
  if (std::min(head, all.size()) > kMaxHead)
    return createStringError("a message whose head is too long");
  if (head == StringRef::npos)
    return std::nullopt;
  std::optional<size_t> length;
  SmallVector<StringRef, 4> lines;
  all.take_front(head).split(lines, "\r\n");
  for (StringRef line : lines) {
    size_t number = 0;
    if (line.consume_front_insensitive("content-length:") && !line.trim().getAsInteger(10, number))
      length = number;
  }
  if (!length || *length > kMaxMessage)
    return createStringError("a message without a Content-Length that can be used");
  if (all.size() < head + 4 + *length)
    return std::nullopt;
  Expected<json::Value> value = input::parseBoundedJson(all.substr(head + 4, *length));
  received.erase(0, head + 4 + *length);
  if (!value)
    return value.takeError();
  json::Object *object = value->getAsObject();
  if (!object)
    return createStringError("a message that is no object");
  return std::move(*object);
}

void DapChannel::send(json::Object message) {
  message["seq"] = ++sequence;
  std::string text;
  raw_string_ostream(text) << json::Value(std::move(message));
  text = "Content-Length: " + std::to_string(text.size()) + "\r\n\r\n" + text;
  for (StringRef left = text; !left.empty();) {
    const ssize_t count = ::write(output, left.data(), left.size());
    if (count < 0 && errno != EINTR)
      return; // the editor has gone; read() finds out
    left = left.drop_front(size_t(std::max<ssize_t>(count, 0)));
  }
}

void DapChannel::event(StringRef name, json::Object body) {
  send(json::Object{{"type", "event"}, {"event", name}, {"body", std::move(body)}});
}

static json::Object responseTo(const json::Object &request, bool success) {
  return json::Object{{"type", "response"},
                      {"request_seq", request.getInteger("seq").value_or(0)},
                      {"command", request.getString("command").value_or("")},
                      {"success", success}};
}

void DapChannel::respond(const json::Object &request, json::Value body) {
  json::Object response = responseTo(request, true);
  if (body.kind() != json::Value::Null)
    response["body"] = std::move(body);
  send(std::move(response));
}

void DapChannel::refuse(const json::Object &request, const std::string &why) {
  json::Object response = responseTo(request, false);
  response["message"] = json::fixUTF8(why);
  send(std::move(response));
}

} // namespace rubia::tools
