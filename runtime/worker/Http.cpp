// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/Http.h"
#include <algorithm>
#include <cstring>
#include <curl/curl.h>
#include <dlfcn.h>
#include <type_traits>
#include <utility>

using namespace llvm;

namespace rubia::runtime {

namespace {
struct Curl {
  decltype(&curl_global_init) globalInit;
  decltype(&curl_easy_init) init;
  decltype(&curl_easy_reset) reset;
  decltype(&curl_easy_setopt) set;
  decltype(&curl_easy_perform) perform;
  decltype(&curl_easy_getinfo) info;
  decltype(&curl_easy_strerror) text;
  decltype(&curl_easy_cleanup) cleanup;
  std::string problem;
};

// Never closed: threads may be inside when the process ends.
const Curl &curl() {
  static const Curl *loaded = [] {
    auto *c = new Curl{};
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    auto find = [&](auto &function, const char *name) {
      void *symbol = library ? dlsym(library, name) : nullptr;
      if (!symbol && c->problem.empty())
        c->problem = dlerror();
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(symbol);
    };
    find(c->globalInit, "curl_global_init");
    find(c->init, "curl_easy_init");
    find(c->reset, "curl_easy_reset");
    find(c->set, "curl_easy_setopt");
    find(c->perform, "curl_easy_perform");
    find(c->info, "curl_easy_getinfo");
    find(c->text, "curl_easy_strerror");
    find(c->cleanup, "curl_easy_cleanup");
    if (c->problem.empty() && c->globalInit(CURL_GLOBAL_ALL))
      c->problem = "libcurl cannot be initialised";
    return c;
  }();
  return *loaded;
}

struct Received {
  std::vector<uint8_t> *bytes;
  uint64_t most;
};

size_t receive(char *data, size_t size, size_t count, void *to) {
  auto &received = *static_cast<Received *>(to);
  size *= count;
  if (received.bytes->size() + size > received.most)
    return 0; // ends the transfer with an error
  received.bytes->insert(received.bytes->end(), data, data + size);
  return size;
}

size_t ignore(char *, size_t size, size_t count, void *) { return size * count; }

size_t sendBody(char *data, size_t size, size_t count, void *from) {
  auto &left = *static_cast<ArrayRef<uint8_t> *>(from);
  size = std::min(size * count, left.size());
  memcpy(data, left.data(), size);
  left = left.drop_front(size);
  return size;
}
} // namespace

Expected<Http> Http::open(const HttpLimits &limits) {
  const Curl &c = curl();
  void *handle = c.problem.empty() ? c.init() : nullptr;
  if (!handle)
    return createStringError(inconvertibleErrorCode(),
                             c.problem.empty() ? "libcurl gives no handle" : c.problem);
  Http result(handle);
  result.limits = limits;
  return result;
}

Http::Http(Http &&other) noexcept
    : handle(std::exchange(other.handle, nullptr)), limits(other.limits) {}

Http::~Http() {
  if (handle)
    curl().cleanup(handle);
}

Expected<long> Http::perform(const std::string &url) {
  const Curl &c = curl();
  c.set(handle, CURLOPT_URL, url.c_str());
  c.set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  c.set(handle, CURLOPT_FOLLOWLOCATION, 0L);
  c.set(handle, CURLOPT_NOSIGNAL, 1L);
  c.set(handle, CURLOPT_CONNECTTIMEOUT_MS, long(limits.connectMs));
  c.set(handle, CURLOPT_TIMEOUT_MS, long(limits.totalMs));
  c.set(handle, CURLOPT_LOW_SPEED_LIMIT, 1000L); // bytes a second, over
  c.set(handle, CURLOPT_LOW_SPEED_TIME, 2L);
  c.set(handle, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(limits.maxBytes));
  c.set(handle, CURLOPT_NETRC, long(CURL_NETRC_OPTIONAL));
  c.set(handle, CURLOPT_USERAGENT, "rubia");
  CURLcode code = c.perform(handle);
  if (code != CURLE_OK)
    return createStringError(inconvertibleErrorCode(),
                             code == CURLE_WRITE_ERROR ? "the answer is too large" : c.text(code));
  long status = 0;
  c.info(handle, CURLINFO_RESPONSE_CODE, &status);
  return status;
}

Expected<long> Http::get(const std::string &url, std::vector<uint8_t> &body) {
  body.clear();
  Received received{&body, limits.maxBytes};
  curl().reset(handle); // keeps the connection
  curl().set(handle, CURLOPT_WRITEFUNCTION, &receive);
  curl().set(handle, CURLOPT_WRITEDATA, &received);
  return perform(url);
}

Expected<long> Http::head(const std::string &url) {
  curl().reset(handle);
  curl().set(handle, CURLOPT_NOBODY, 1L);
  curl().set(handle, CURLOPT_WRITEFUNCTION, &ignore);
  return perform(url);
}

Expected<long> Http::put(const std::string &url, ArrayRef<uint8_t> body) {
  curl().reset(handle);
  curl().set(handle, CURLOPT_UPLOAD, 1L);
  curl().set(handle, CURLOPT_READFUNCTION, &sendBody);
  curl().set(handle, CURLOPT_READDATA, &body);
  curl().set(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(body.size()));
  curl().set(handle, CURLOPT_WRITEFUNCTION, &ignore);
  return perform(url);
}

} // namespace rubia::runtime
