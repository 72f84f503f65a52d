// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/RequestEntry.h"
#include "runtime/cache/CodeObjectMetadata.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rubia::runtime {

std::string keyOf(const protocol::Request &request, StringRef compiler) {
  switch (request.want) {
  case protocol::Want::Manifest:
    break;
  case protocol::Want::CodeObject:
    return codeObjectKey(request.digest, request.computeCapability, request.unit, request.arch,
                         request.code, compiler);
  }
  return manifestKey(request.digest, request.computeCapability, compiler);
}

static json::Array kernelNames(protocol::Want want, ArrayRef<uint8_t> payload) {
  json::Array names;
  auto add = [&](auto read) { // what cannot be read has no names; whoever uses it says so
    if (read)
      for (const auto &kernel : read->kernels)
        names.push_back(json::fixUTF8(kernel.name));
    else
      consumeError(read.takeError());
  };
  switch (want) {
  case protocol::Want::Manifest:
    add(Manifest::deserialize(payload));
    break;
  case protocol::Want::CodeObject:
    add(CodeObjectMetadata::read(payload));
    break;
  }
  return names;
}

CacheEntry resultEntry(protocol::Want want, StringRef key, std::vector<uint8_t> payload) {
  std::string metadata;
  raw_string_ostream(metadata) << json::Value(
      json::Object{{"kernels", kernelNames(want, payload)}});
  return {key.str(), std::move(metadata), std::move(payload), CacheEntry::Kind::Result, 0};
}

} // namespace rubia::runtime
