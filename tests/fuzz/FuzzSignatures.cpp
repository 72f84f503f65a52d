// SPDX-License-Identifier: Apache-2.0
// libFuzzer over signatures, key files and lists of trusted keys. The first byte of an input says
// which; the rest is the file, or changes to something sound.
//
// What is asked for: no fault; of a signature that was changed in any bit, or that was made for
// something else, that it is not believed; of a key file, that nothing but a line of 64 hexadecimal
// digits is a key; of a list, that it trusts the keys that it names and nobody else.

#include "runtime/base/Log.h"
#include "runtime/cache/Signature.h"
#include "settings/Settings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace rubia::runtime;

namespace rubia::settings::Id {
extern const Setting cachePublicKeys;
} // namespace rubia::settings::Id

namespace {

using Signature = std::array<uint8_t, kSignatureBytes>;
constexpr size_t kKeyAt = 8, kKeyBytes = 32;

void check(bool holds) {
  if (!holds)
    abort();
}

/// A file in memory with a path.
class File {
public:
  explicit File(ArrayRef<uint8_t> bytes, mode_t mode = 0600)
      : descriptor(memfd_create("key", MFD_CLOEXEC)) {
    check(descriptor >= 0 && !fchmod(descriptor, mode));
    check(write(descriptor, bytes.data(), bytes.size()) == ssize_t(bytes.size()));
  }
  ~File() { close(descriptor); }
  File(const File &) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor); }

private:
  int descriptor;
};

SigningKey soundKey() {
  const std::string line = std::string(64, '7') + "\n";
  return cantFail(SigningKey::read(File(arrayRefFromStringRef(line)).path()));
}

const SigningKey &key() {
  static const SigningKey sound = soundKey();
  return sound;
}

Digest digestOf(ArrayRef<uint8_t> bytes) {
  Digest digest{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), digest.size()), digest.begin());
  return digest;
}

TrustedKeys trusting(ArrayRef<uint8_t> signature) {
  PublicKey signer;
  llvm::copy(signature.slice(kKeyAt, kKeyBytes), signer.begin());
  return TrustedKeys({signer});
}

/// Pairs of a place and a value that is added there. Digest and signature are one row of bytes.
void changedSignature(ArrayRef<uint8_t> data) {
  const Digest digest = digestOf(data);
  const Signed what = data.size() % 2 ? Signed::Pack : Signed::Entry;
  const Signature sound = key().sign(what, digest);
  const TrustedKeys keys = trusting(sound);
  check(keys.problemOf(sound, what, digest).empty());
  check(
      !keys.problemOf(sound, what == Signed::Pack ? Signed::Entry : Signed::Pack, digest).empty());
  Signature changed = sound;
  Digest other = digest;
  for (ArrayRef<uint8_t> rest = data; rest.size() >= 2; rest = rest.drop_front(2)) {
    const size_t at = rest[0] % (changed.size() + other.size());
    (at < changed.size() ? changed[at] : other[at - changed.size()]) += rest[1];
  }
  const bool isSame = changed == sound && other == digest;
  check(keys.problemOf(changed, what, other).empty() == isSame);
  // Nobody in particular is trusted: a wrong one is still not accepted.
  check(TrustedKeys().problemOf(changed, what, other).empty() == isSame);
}

/// Bytes behind which a signature may stand.
void anySignature(ArrayRef<uint8_t> data) {
  const auto [bytes, signature] = splitSignature(data);
  check(bytes.size() + signature.size() == data.size());
  check(signature.empty() || signature.size() == kSignatureBytes);
  check(signerOf(signature).size() == (signature.empty() ? 0 : 2 * kKeyBytes));
  const Digest digest = digestOf(data);
  static const TrustedKeys one = trusting(key().sign(Signed::Pack, Digest{}));
  check(!one.problemOf(signature, Signed::Pack, digest).empty());
  check(TrustedKeys().problemOf(signature, Signed::Entry, digest).empty() == signature.empty());
  // Anything where a signature is expected.
  (void)one.problemOf(data, Signed::Entry, digest);
}

/// A text as it is, or, of even length, pairs of a place in `sound` and what to do there.
std::string textOf(ArrayRef<uint8_t> data, std::string sound) {
  if (data.size() % 2)
    return toStringRef(data).str();
  for (; data.size() >= 2; data = data.drop_front(2)) {
    const size_t at = data[0] % (sound.size() + 1);
    if (data[1] >= 0xf0)
      sound.insert(at, 1, " \n\r\t:0aF"[data[1] % 8]);
    else if (data[1] >= 0xe0)
      sound.erase(at, 1);
    else if (at < sound.size())
      sound[at] = char(data[1]);
  }
  return sound;
}

bool isKeyText(StringRef text) {
  text = text.trim();
  return text.size() == 64 && all_of(text, isHexDigit);
}

void keyFile(ArrayRef<uint8_t> data) {
  const bool isPrivate = data.size() % 8 != 0;
  const std::string text = textOf(data, std::string(64, 'a') + "\n");
  const File file(arrayRefFromStringRef(text), isPrivate ? 0600 : 0604);
  Expected<SigningKey> read = SigningKey::read(file.path());
  check(bool(read) == (isPrivate && isKeyText(text)));
  if (!read)
    return consumeError(read.takeError());
  const Signature signature = read->sign(Signed::Pack, digestOf(data));
  check(trusting(signature).problemOf(signature, Signed::Pack, digestOf(data)).empty());
}

/// Keys and names of files, one of which holds a key.
void keyList(ArrayRef<uint8_t> data) {
  const Signature signature = key().sign(Signed::Entry, digestOf(data));
  const std::string signer = signerOf(signature);
  const std::string text = textOf(data, signer + ":" + std::string(64, '3'));
  if (text.find('/') != std::string::npos || text.find('\0') != std::string::npos)
    return; // files of this machine
  const File file(arrayRefFromStringRef(signer));
  namespace Id = rubia::settings::Id;
  using rubia::settings::Settings;
  auto isTrusted = [&](const std::string &list) {
    return TrustedKeys::from(Settings().set(Id::cachePublicKeys, list))
        .problemOf(signature, Signed::Entry, digestOf(data))
        .empty();
  };
  SmallVector<StringRef> words;
  StringRef(text).split(words, ':');
  const bool isNamed =
      any_of(words, [&](StringRef word) { return word.trim().equals_insensitive(signer); });
  const bool isEmpty = text.empty();
  check(isTrusted(text) == (isNamed || isEmpty));
  check(isTrusted(text + ":" + signer));
  check(isTrusted(file.path() + ":" + text));
}

} // namespace

/// Lists name files and folders: those are looked for in an empty folder of an empty one ("..").
/// Both are gone. Listing the folder where the fuzzer was started took a tenth of the time, and
/// half of it in a folder with many files.
extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  char outer[] = "/tmp/fuzz-signatures-XXXXXX";
  check(mkdtemp(outer) && !chdir(outer) && !mkdir("inner", 0700) && !chdir("inner"));
  check(!rmdir("../inner") && !rmdir(outer));
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const ArrayRef<uint8_t> rest = ArrayRef(data, size).drop_front();
  switch (data[0] % 4) {
  case 0:
    changedSignature(rest);
    break;
  case 1:
    anySignature(rest);
    break;
  case 2:
    keyFile(rest);
    break;
  case 3:
    keyList(rest);
    break;
  }
  return 0;
}
