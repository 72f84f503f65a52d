// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/Http.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
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
  decltype(&curl_slist_append) append;
  decltype(&curl_slist_free_all) freeAll;
  decltype(&curl_version_info) version;
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
    find(c->append, "curl_slist_append");
    find(c->freeAll, "curl_slist_free_all");
    find(c->version, "curl_version_info");
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

Expected<Http> Http::open(const HttpLimits &limits, const std::optional<AwsIdentity> &signer) {
  const Curl &c = curl();
  // Older ones leave headers out of what they sign.
  constexpr unsigned kSignsHeaders = 0x075800; // 7.88.0
  if (signer && c.problem.empty()) {
    const curl_version_info_data *found = c.version(CURLVERSION_NOW);
    if (found->version_num < kSignsHeaders)
      return createStringError(inconvertibleErrorCode(),
                               "libcurl %s signs no requests for S3, 7.88 or newer is needed",
                               found->version);
  }
  void *handle = c.problem.empty() ? c.init() : nullptr;
  if (!handle)
    return createStringError(inconvertibleErrorCode(),
                             c.problem.empty() ? "libcurl gives no handle" : c.problem);
  Http result(handle);
  result.limits = limits;
  result.signer = signer;
  return result;
}

Http::Http(Http &&other) noexcept
    : handle(std::exchange(other.handle, nullptr)), limits(other.limits),
      signer(std::move(other.signer)) {}

Http::~Http() {
  if (handle)
    curl().cleanup(handle);
}

namespace {
/// Headers of one request.
struct Headers {
  curl_slist *list = nullptr;
  void add(const std::string &line) { list = curl().append(list, line.c_str()); }
  ~Headers() { curl().freeAll(list); }
};

// Amazon S3, "Authenticating Requests: Using the Authorization Header (AWS Signature Version 4)".
void sign(void *handle, const std::string &url, const AwsIdentity &identity, ArrayRef<uint8_t> body,
          Headers &headers) {
  const Curl &c = curl();
  c.set(handle, CURLOPT_AWS_SIGV4, ("aws:amz:" + identity.region + ":s3").c_str());
  c.set(handle, CURLOPT_USERNAME, identity.accessKey.c_str());
  c.set(handle, CURLOPT_PASSWORD, identity.secret.c_str());
  c.set(handle, CURLOPT_NETRC, long(CURL_NETRC_IGNORED));
  // libcurl 7.88 signs a host without its port, and sends it with that.
  headers.add(("Host: " + StringRef(url).split("://").second.split('/').first).str());
  headers.add("x-amz-content-sha256: " + toHex(SHA256::hash(body), /*LowerCase=*/true));
  if (!identity.token.empty())
    headers.add("x-amz-security-token: " + identity.token);
  c.set(handle, CURLOPT_HTTPHEADER, headers.list);
}
} // namespace

Expected<long> Http::perform(const std::string &url, ArrayRef<uint8_t> body) {
  const Curl &c = curl();
  Headers headers;
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
  if (signer)
    sign(handle, url, *signer, body, headers);
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
  return perform(url, {});
}

Expected<long> Http::head(const std::string &url) {
  curl().reset(handle);
  curl().set(handle, CURLOPT_NOBODY, 1L);
  curl().set(handle, CURLOPT_WRITEFUNCTION, &ignore);
  return perform(url, {});
}

Expected<long> Http::put(const std::string &url, ArrayRef<uint8_t> body,
                         std::vector<uint8_t> &answer) {
  answer.clear();
  Received received{&answer, limits.maxBytes};
  ArrayRef<uint8_t> left = body;
  curl().reset(handle);
  curl().set(handle, CURLOPT_UPLOAD, 1L);
  curl().set(handle, CURLOPT_READFUNCTION, &sendBody);
  curl().set(handle, CURLOPT_READDATA, &left);
  curl().set(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(body.size()));
  curl().set(handle, CURLOPT_WRITEFUNCTION, &receive);
  curl().set(handle, CURLOPT_WRITEDATA, &received);
  return perform(url, body);
}

} // namespace rubia::runtime
