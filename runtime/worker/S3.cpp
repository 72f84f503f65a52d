// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/S3.h"
#include "settings/Settings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace rubia::runtime {

static constexpr StringLiteral kScheme = "s3://";

// The first of these that is set and not empty.
static std::string variable(std::initializer_list<const char *> names) {
  for (const char *name : names)
    if (const StringRef value = settings::systemVariable(name).value_or(""); !value.empty())
      return value.str();
  return "";
}

static Error failure(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

bool isS3Url(StringRef url) { return url.starts_with(kScheme); }

// What a host's name may have, so that nothing in it ends the host.
static bool isName(StringRef text) {
  return !text.empty() && all_of(text, [](char c) { return isAlnum(c) || c == '-' || c == '.'; });
}

// What needs no escape in a URL, nor in what is signed.
static bool isPath(StringRef text) {
  return all_of(text, [](char c) { return isAlnum(c) || StringRef("-._~/").contains(c); });
}

Expected<S3Place> s3Place(StringRef url) {
  auto [bucket, prefix] = url.drop_front(kScheme.size()).split('/');
  prefix = prefix.trim('/');
  if (!isName(bucket))
    return failure("'" + url + "' names no bucket, expected s3://BUCKET[/PREFIX]");
  if (!isPath(prefix))
    return failure("the prefix of '" + url + "' has characters other than A-Z a-z 0-9 - . _ ~ /");
  S3Place place;
  AwsIdentity &identity = place.identity;
  identity.accessKey = variable({"AWS_ACCESS_KEY_ID"});
  identity.secret = variable({"AWS_SECRET_ACCESS_KEY"});
  identity.token = variable({"AWS_SESSION_TOKEN"});
  identity.region = variable({"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (identity.region.empty())
    identity.region = "us-east-1";
  if (identity.accessKey.empty() || identity.secret.empty())
    return failure(
        "an s3:// URL needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment");
  if (!isName(identity.region))
    return failure("'" + identity.region + "' is no region of AWS");
  const std::string endpoint = variable({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (!endpoint.empty()) {
    if (!StringRef(endpoint).starts_with("http://") && !StringRef(endpoint).starts_with("https://"))
      return failure("AWS_ENDPOINT_URL is '" + endpoint + "', expected http://... or https://...");
    place.url = (StringRef(endpoint).rtrim('/') + "/" + bucket).str();
  } else if (bucket.contains('.')) { // certificates are for one level of names
    place.url = ("https://s3." + identity.region + ".amazonaws.com/" + bucket).str();
  } else {
    place.url = ("https://" + bucket + ".s3." + identity.region + ".amazonaws.com").str();
  }
  if (!prefix.empty())
    place.url += ("/" + prefix).str();
  return place;
}

std::string s3ErrorCode(ArrayRef<uint8_t> answer) {
  auto [before, rest] = toStringRef(answer).split("<Code>");
  const StringRef code = rest.split("</Code>").first;
  return code.size() <= 64 && all_of(code, isAlnum) ? code.str() : "";
}

} // namespace rubia::runtime
