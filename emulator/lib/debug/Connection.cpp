// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/debug/Connection.h"
#include "input/BoundedJson.h"
#include "input/Writing.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

using namespace llvm;

namespace rubia::emulator {

Expected<Connection> Connection::open(StringRef path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    return createStringError("RUBIA_EMULATOR_DEBUG: the path is too long: " + path);
  std::memcpy(address.sun_path, path.data(), path.size());
  const int descriptor =
      input::besideStandardStreams(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  Connection connection(descriptor);
  if (descriptor < 0 ||
      ::connect(descriptor, reinterpret_cast<const sockaddr *>(&address), sizeof(address)) < 0)
    return createStringError("RUBIA_EMULATOR_DEBUG: " + path + ": " + std::strerror(errno));
  return connection;
}

Connection::Connection(Connection &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)), received(std::move(other.received)) {}

Connection::~Connection() { close(); }

void Connection::close() {
  if (descriptor >= 0)
    ::close(std::exchange(descriptor, -1));
}

void Connection::send(json::Object message) {
  std::string text;
  raw_string_ostream(text) << json::Value(std::move(message)) << "\n";
  for (StringRef left = text; !left.empty() && isOpen();) {
    const ssize_t sent = ::send(descriptor, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent >= 0)
      left = left.drop_front(size_t(sent));
    else if (errno != EINTR)
      close();
  }
}

/// Whether more has come. Closes the connection at its end.
bool Connection::read(bool mayWait) {
  char bytes[4096];
  while (isOpen()) {
    const ssize_t count = ::recv(descriptor, bytes, sizeof(bytes), mayWait ? 0 : MSG_DONTWAIT);
    constexpr size_t kLongest = 16 << 20; // of a line
    if (count > 0 && received.size() > kLongest)
      break;
    if (count > 0) {
      received.append(bytes, size_t(count));
      return true;
    }
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return false;
    break;
  }
  close();
  return false;
}

/// The first whole line; the connection ends at one that is no object.
std::optional<json::Object> Connection::take() {
  const size_t end = received.find('\n');
  if (end == std::string::npos)
    return std::nullopt;
  Expected<json::Value> value = input::parseBoundedJson(StringRef(received).take_front(end));
  received.erase(0, end + 1);
  if (!value) {
    consumeError(value.takeError());
    close();
    return std::nullopt;
  }
  if (json::Object *object = value->getAsObject())
    return std::move(*object);
  close();
  return std::nullopt;
}

std::optional<json::Object> Connection::wait() {
  std::optional<json::Object> message;
  while (!(message = take()) && read(true))
    ;
  return message;
}

std::optional<json::Object> Connection::poll() {
  std::optional<json::Object> message;
  while (!(message = take()) && read(false))
    ;
  return message;
}

} // namespace rubia::emulator
