// SPDX-License-Identifier: Apache-2.0
// Only the functions of libsodium that are deterministic are used: none needs sodium_init, which
// would open files in the program.
#include "runtime/cache/Signature.h"
#include "input/File.h"
#include "runtime/base/FileDescriptor.h"
#include "runtime/base/Log.h"
#include "settings/Settings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sodium/crypto_sign_ed25519.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting cachePublicKeys;
} // namespace rubia::settings::Id

namespace rubia::runtime {

namespace {
constexpr char kMark[8] = {'R', 'U', 'B', 'I', 'A', 'S', 'I', 'G'};
constexpr size_t kKeyAt = sizeof(kMark), kSignatureAt = kKeyAt + sizeof(PublicKey);
static_assert(kSignatureAt + crypto_sign_ed25519_BYTES == kSignatureBytes);

using Message = std::array<uint8_t, 64>;
Message messageOf(Signed what, const Digest &digest) {
  const char *domain = what == Signed::Pack ? "rubia signed pack" : "rubia signed entry";
  Message message{};
  memcpy(message.data(), domain, strlen(domain));
  llvm::copy(digest, message.begin() + 32);
  return message;
}

std::optional<PublicKey> parsePublicKey(StringRef text) {
  std::string bytes;
  text = text.trim();
  PublicKey key;
  if (text.size() != 2 * key.size() || !tryGetFromHex(text, bytes))
    return std::nullopt;
  llvm::copy(bytes, key.begin());
  return key;
}

// A line; somebody may have written more below it.
constexpr uint64_t kMaxKeyFileBytes = 4096;

void complain(const Twine &what) { log(LogLevel::Error, "RUBIA_CACHE_PUBLIC_KEYS: " + what); }

void addKeyFile(const std::string &path, std::vector<PublicKey> &keys) {
  auto file = input::readFile(path, kMaxKeyFileBytes);
  if (!file)
    return complain(toString(file.takeError()));
  if (std::optional<PublicKey> key = parsePublicKey((*file)->getBuffer()))
    keys.push_back(*key);
  else
    complain(path + " holds no public key");
}
} // namespace

std::pair<ArrayRef<uint8_t>, ArrayRef<uint8_t>> splitSignature(ArrayRef<uint8_t> bytes) {
  if (bytes.size() < kSignatureBytes ||
      memcmp(bytes.end() - kSignatureBytes, kMark, sizeof(kMark)) != 0)
    return {bytes, {}};
  return {bytes.drop_back(kSignatureBytes), bytes.take_back(kSignatureBytes)};
}

TrustedKeys TrustedKeys::from(const settings::Settings &settings) {
  const std::string list = settings.text(settings::Id::cachePublicKeys);
  if (list.empty())
    return {};
  std::vector<PublicKey> keys;
  SmallVector<StringRef> parts;
  StringRef(list).split(parts, ':', -1, false);
  for (StringRef part : parts) {
    if (std::optional<PublicKey> key = parsePublicKey(part)) {
      keys.push_back(*key);
    } else if (sys::fs::is_directory(part)) {
      std::error_code error;
      for (sys::fs::directory_iterator i(part, error), end; i != end && !error; i.increment(error))
        if (StringRef(i->path()).ends_with(".pub"))
          addKeyFile(i->path(), keys);
      if (error)
        complain(part + ": " + error.message());
    } else {
      addKeyFile(part.str(), keys);
    }
  }
  return TrustedKeys(std::move(keys));
}

std::string TrustedKeys::problemOf(ArrayRef<uint8_t> signature, Signed what,
                                   const Digest &digest) const {
  if (signature.empty())
    return demanded ? "is not signed" : "";
  if (signature.size() != kSignatureBytes || memcmp(signature.data(), kMark, sizeof(kMark)) != 0)
    return "has something that is no signature behind it";
  PublicKey signer;
  llvm::copy(signature.slice(kKeyAt, signer.size()), signer.begin());
  const Message message = messageOf(what, digest);
  if (crypto_sign_ed25519_verify_detached(signature.data() + kSignatureAt, message.data(),
                                          message.size(), signer.data()))
    return "has a wrong signature";
  if (demanded && !is_contained(keys, signer))
    return "is signed by " + toHex(signer, true) + ", who is not trusted";
  return "";
}

std::string signerOf(ArrayRef<uint8_t> signature) {
  return signature.size() == kSignatureBytes
             ? toHex(signature.slice(kKeyAt, sizeof(PublicKey)), true)
             : "";
}

namespace {
// A secret key is a file of one line: the 64 hexadecimal digits of its seed.
using Seed = std::array<uint8_t, crypto_sign_ed25519_SEEDBYTES>;

Error failure(const std::string &path, const Twine &what) {
  return createStringError(inconvertibleErrorCode(), path + ": " + what);
}

Error writeNew(const std::string &path, ArrayRef<uint8_t> bytes, mode_t mode) {
  std::string line = toHex(bytes, true) + "\n";
  FileDescriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!file || !writeAll(file.get(), line.data(), line.size()) || fsync(file.get()))
    return failure(path, strerror(errno));
  return Error::success();
}
} // namespace

Error SigningKey::generate(const std::string &path) {
  Seed seed;
  PublicKey publicHalf;
  uint8_t secret[crypto_sign_ed25519_SECRETKEYBYTES];
  if (getrandom(seed.data(), seed.size(), 0) != ssize_t(seed.size()))
    return failure(path, "the system gives no random numbers");
  crypto_sign_ed25519_seed_keypair(publicHalf.data(), secret, seed.data());
  if (Error error = writeNew(path, seed, 0600))
    return error;
  return writeNew(path + ".pub", publicHalf, 0644);
}

// Who can read a key can sign. A group may: a farm's key is handed out so.
static Error checkPermissions(const std::string &path) {
  struct stat status;
  if (stat(path.c_str(), &status))
    return failure(path, strerror(errno));
  const bool others = status.st_mode & (S_IROTH | S_IWOTH), group = status.st_mode & S_IWGRP;
  if (!others && !group)
    return Error::success();
  return failure(path, Twine("the secret key may be ") +
                           (status.st_mode & (S_IWOTH | S_IWGRP) ? "written" : "read") +
                           " by others: chmod " + (others ? "o-rw,g-w" : "g-w") +
                           " it, and if it was so "
                           "for long, make a new one");
}

Expected<SigningKey> SigningKey::read(const std::string &path) {
  auto file = input::readFile(path, kMaxKeyFileBytes);
  if (!file)
    return file.takeError();
  std::string bytes;
  StringRef text = (*file)->getBuffer().trim();
  Seed seed;
  if (text.size() != 2 * seed.size() || !tryGetFromHex(text, bytes))
    return failure(path, "holds no secret key");
  if (Error error = checkPermissions(path))
    return std::move(error);
  llvm::copy(bytes, seed.begin());
  SigningKey key;
  PublicKey publicHalf;
  static_assert(sizeof(key.secret) == crypto_sign_ed25519_SECRETKEYBYTES);
  crypto_sign_ed25519_seed_keypair(publicHalf.data(), key.secret.data(), seed.data());
  return key;
}

std::array<uint8_t, kSignatureBytes> SigningKey::sign(Signed what, const Digest &digest) const {
  std::array<uint8_t, kSignatureBytes> result;
  llvm::copy(kMark, result.begin());
  std::copy(secret.end() - sizeof(PublicKey), secret.end(), result.begin() + kKeyAt);
  const Message message = messageOf(what, digest);
  crypto_sign_ed25519_detached(result.data() + kSignatureAt, nullptr, message.data(),
                               message.size(), secret.data());
  return result;
}

} // namespace rubia::runtime
