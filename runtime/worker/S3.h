// SPDX-License-Identifier: Apache-2.0
// s3://BUCKET/PREFIX -> the URL of Amazon S3 or of a store that speaks its protocol, and what
// requests are signed with. As AWS's own tools have it, from their environment variables.
#pragma once

#include "runtime/worker/Http.h"

namespace rubia::runtime {

struct S3Place {
  std::string url; // http(s)://..., without a slash at the end
  AwsIdentity identity;
};

bool isS3Url(llvm::StringRef url);

/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; AWS_REGION, AWS_DEFAULT_REGION;
/// AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL: another store, whose buckets are folders. The error says
/// what is wrong or missing.
llvm::Expected<S3Place> s3Place(llvm::StringRef url);

/// "SignatureDoesNotMatch", of the XML that S3 answers an error with; empty: it is none.
std::string s3ErrorCode(llvm::ArrayRef<uint8_t> answer);

} // namespace rubia::runtime
