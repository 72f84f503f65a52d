// SPDX-License-Identifier: Apache-2.0
// GET, HEAD and PUT with bounds on time and size, by libcurl. The library is opened when it is
// first needed: most compile workers never talk to a network, and start faster without it.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace rubia::runtime {

struct HttpLimits {
  unsigned connectMs = 1500, totalMs = 5000;
  uint64_t maxBytes = uint64_t(256) << 20; // of a body that is received
};

/// With what requests are signed for Amazon S3 (Signature Version 4).
struct AwsIdentity {
  std::string region, accessKey, secret;
  std::string token; // of a session; empty: it is none
};

/// One connection, kept open between requests. For one thread.
class Http {
public:
  /// With an identity, every request is signed. The error: there is no libcurl on this machine, or
  /// none that signs such requests.
  static llvm::Expected<Http> open(const HttpLimits &limits,
                                   const std::optional<AwsIdentity> &signer = std::nullopt);
  ~Http();
  Http(Http &&other) noexcept;
  Http &operator=(Http &&) = delete;

  /// The status code, whatever it is; redirections are not followed. The error: no whole answer
  /// came in time, or it was too large.
  llvm::Expected<long> get(const std::string &url, std::vector<uint8_t> &body);
  llvm::Expected<long> head(const std::string &url);
  /// `answer`: the body that comes back.
  llvm::Expected<long> put(const std::string &url, llvm::ArrayRef<uint8_t> body,
                           std::vector<uint8_t> &answer);

private:
  explicit Http(void *handle) : handle(handle) {}
  llvm::Expected<long> perform(const std::string &url, llvm::ArrayRef<uint8_t> body);
  void *handle;
  HttpLimits limits;
  std::optional<AwsIdentity> signer;
};

} // namespace rubia::runtime
