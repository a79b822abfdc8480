#include "storage/seal.h"

#include <sodium.h>

namespace expunge::storage {
namespace {

constexpr size_t kNonceBytes = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr size_t kTagBytes = crypto_aead_xchacha20poly1305_ietf_ABYTES;
static_assert(kSealOverhead == kNonceBytes + kTagBytes);
static_assert(SecretKey::kBytes == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);

const unsigned char* Bytes(absl::string_view view) {
  return reinterpret_cast<const unsigned char*>(view.data());
}

// Chooses the fastest code for this processor, and opens the generator. Threads: any number at once.
void InitializeSodium() {
  static const int initialized = sodium_init();
  static_cast<void>(initialized);  // below 0: only the generator, which then aborts when it is used
}

}  // namespace

std::string Seal(const SecretKey& key, absl::string_view associated, absl::string_view plaintext) {
  InitializeSodium();
  std::string sealed(kSealOverhead + plaintext.size(), '\0');
  auto* const nonce = reinterpret_cast<unsigned char*>(sealed.data());
  randombytes_buf(nonce, kNonceBytes);
  crypto_aead_xchacha20poly1305_ietf_encrypt(nonce + kNonceBytes, nullptr, Bytes(plaintext), plaintext.size(),
                                             Bytes(associated), associated.size(), nullptr, nonce,
                                             key.data());
  return sealed;
}

std::optional<SecretBytes> Unseal(const SecretKey& key, absl::string_view associated,
                                  absl::string_view sealed) {
  if (sealed.size() < kSealOverhead) return std::nullopt;
  InitializeSodium();
  SecretBytes plaintext(sealed.size() - kSealOverhead);
  const unsigned char* const nonce = Bytes(sealed);
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(
          reinterpret_cast<unsigned char*>(plaintext.data()), nullptr, nullptr, nonce + kNonceBytes,
          sealed.size() - kNonceBytes, Bytes(associated), associated.size(), nonce, key.data()) != 0) {
    return std::nullopt;
  }
  return plaintext;
}

}  // namespace expunge::storage
