// SPDX-License-Identifier: Apache-2.0
// libFuzzer over what else the runtime reads: manifests, metadata of code objects, JSON, records of
// printf, entries, and the messages between a program and its compile worker. The first byte of an
// input says which.
//
// What is asked for: no fault; indices and offsets in range; and what was read and written again
// reads as the same.

#include "input/BoundedJson.h"
#include "runtime/cache/CacheEntry.h"
#include "runtime/cache/CodeObjectMetadata.h"
#include "runtime/cache/Manifest.h"
#include "runtime/compiler/Protocol.h"
#include "runtime/device/PrintfText.h"
#include "llvm/ADT/StringExtras.h"
#include <cstdlib>
#include <sys/socket.h>
#include <unistd.h>

using namespace llvm;
using namespace rubia::runtime;

namespace {

void checkManifest(const Manifest &manifest) {
  for (const Manifest::Kernel &kernel : manifest.kernels)
    if (kernel.unit >= manifest.unitCount)
      abort();
  for (const Manifest::Variable &variable : manifest.variables) {
    if (variable.initialized && (variable.blobOffset > manifest.blob.size() ||
                                 variable.size > manifest.blob.size() - variable.blobOffset))
      abort();
    for (const Manifest::Relocation &one : variable.relocations)
      if (one.offset > variable.size || one.width > variable.size - one.offset ||
          one.variable >= (one.isFunction ? manifest.functions.size() : manifest.variables.size()))
        abort();
  }
  const std::vector<uint8_t> written = manifest.serialize();
  Expected<Manifest> again = Manifest::deserialize(written);
  if (!again) {
    consumeError(again.takeError());
    abort();
  }
  if (again->serialize() != written)
    abort();
}

void readManifest(ArrayRef<uint8_t> bytes) {
  if (Expected<Manifest> manifest = Manifest::deserialize(bytes))
    checkManifest(*manifest);
  else
    consumeError(manifest.takeError());
}

/// The manifest around JSON text, so that a dictionary of JSON is enough.
void readManifestOf(ArrayRef<uint8_t> text) {
  std::vector<uint8_t> bytes = Manifest().serialize();
  const size_t head = StringRef(toStringRef(bytes)).find('{') - 8;
  bytes.resize(head);
  for (unsigned i = 0; i < 8; ++i)
    bytes.push_back(uint8_t(uint64_t(text.size()) >> 8 * i));
  bytes.insert(bytes.end(), text.begin(), text.end());
  bytes.insert(bytes.end(), 64, 0x5a); // the blob
  readManifest(bytes);
}

void readJson(ArrayRef<uint8_t> bytes) {
  if (Expected<json::Value> value = rubia::input::parseBoundedJson(toStringRef(bytes))) {
    std::string text;
    raw_string_ostream(text) << *value;
    if (Expected<json::Value> again = json::parse(text); !again || *again != *value)
      abort();
  } else {
    consumeError(value.takeError());
  }
}

void readMessages(ArrayRef<uint8_t> bytes) {
  bytes = bytes.take_front(16384); // what a socket holds without a reader
  for (const bool isAnswer : {false, true}) {
    auto [mine, theirs] = protocol::socketPair();
    if (!mine || write(theirs.get(), bytes.data(), bytes.size()) != ssize_t(bytes.size()))
      abort();
    theirs = FileDescriptor();
    if (isAnswer) {
      const protocol::Answer answer = protocol::receiveAnswer(mine.get());
      if (answer.outcome < protocol::Outcome::Result ||
          answer.outcome > protocol::Outcome::Forbidden || answer.remote > protocol::Remote::Paused)
        abort();
      continue;
    }
    protocol::Request request;
    protocol::Descriptors descriptors;
    while (protocol::receive(mine.get(), request, descriptors))
      ;
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const ArrayRef<uint8_t> bytes(data + 1, size - 1);
  bool isAssertion = false;
  switch (data[0] % 8) {
  case 0:
    readManifest(bytes);
    break;
  case 1:
  case 2:
    readManifestOf(bytes);
    break;
  case 3:
    consumeError(CodeObjectMetadata::read(bytes).takeError());
    break;
  case 4:
    readJson(bytes);
    break;
  case 5:
    textOfRecord(bytes, isAssertion);
    break;
  case 6:
    consumeError(decodeKey(bytes).takeError());
    break;
  case 7:
    readMessages(bytes);
    break;
  }
  return 0;
}
