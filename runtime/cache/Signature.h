// SPDX-License-Identifier: Apache-2.0
// Who made a pack or a remote entry: an ed25519 signature over the one digest that covers all its
// bytes, appended to the file. So whoever checks it reads nothing more, and signing changes no byte
// before it.
#pragma once

#include "runtime/cache/CacheKey.h"
#include "llvm/Support/Error.h"

namespace rubia::settings {
class Settings;
}

namespace rubia::runtime {

using PublicKey = std::array<uint8_t, 32>;

/// What was signed: a signature of the one is none of the other.
enum class Signed { Pack, Entry };

/// At the end of a file: a mark, the public key, the signature.
inline constexpr size_t kSignatureBytes = 104;
/// The bytes without the signature at their end, and that; it is empty if there is none.
std::pair<llvm::ArrayRef<uint8_t>, llvm::ArrayRef<uint8_t>>
splitSignature(llvm::ArrayRef<uint8_t> bytes);

/// Whose signatures are believed. With no keys none is demanded, but a wrong one is never accepted.
class TrustedKeys {
public:
  TrustedKeys() = default;
  explicit TrustedKeys(std::vector<PublicKey> keys) : keys(std::move(keys)), demanded(true) {}
  /// RUBIA_CACHE_PUBLIC_KEYS, separated by colons: files of `rubia cache keygen`, folders of such
  /// (*.pub), or 64 hexadecimal digits. What cannot be read is said in the log and trusts nobody.
  static TrustedKeys from(const settings::Settings &settings);

  /// Whether only what one of the keys has signed is believed.
  bool areDemanded() const { return demanded; }
  /// What is wrong with a signature; empty: nothing. `signature` is empty if there is none.
  std::string problemOf(llvm::ArrayRef<uint8_t> signature, Signed what, const Digest &digest) const;

private:
  std::vector<PublicKey> keys;
  bool demanded = false;
};

/// The signer's public key, in hexadecimal; empty if there is no signature.
std::string signerOf(llvm::ArrayRef<uint8_t> signature);

class SigningKey {
public:
  /// Writes a new key to `path`, for its owner only, and its public half to `path`.pub. The error
  /// names the file; nothing is overwritten.
  static llvm::Error generate(const std::string &path);
  /// An error if others than the owner and its group may read it, or others than the owner write
  /// it.
  static llvm::Expected<SigningKey> read(const std::string &path);

  std::array<uint8_t, kSignatureBytes> sign(Signed what, const Digest &digest) const;

private:
  std::array<uint8_t, 64> secret; // libsodium's: seed, public key
};

} // namespace rubia::runtime
