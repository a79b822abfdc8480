#include "base/secret.h"

#include <openssl/crypto.h>

#include "base/bytes.h"
#include "base/hash.h"

namespace expunge {

void Wipe(void* begin, size_t bytes) {
  if (bytes > 0) OPENSSL_cleanse(begin, bytes);
}

void Wipe(std::string* text) {
  text->resize(text->capacity());
  Wipe(text->data(), text->size());
  text->clear();
}

void Wipe(std::vector<double>* elements) {
  elements->resize(elements->capacity());
  Wipe(elements->data(), elements->size() * sizeof(double));
  elements->clear();
}

SecretKey SecretKey::Random() {
  SecretKey key;
  Digest bytes = RandomDigest();
  key.bytes_ = bytes;
  Wipe(bytes.data(), bytes.size());
  return key;
}

}  // namespace expunge
