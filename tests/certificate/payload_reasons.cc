// What CheckPayload says of payloads, one a line, for tests in other languages.
//
//     payload_reasons < PAYLOADS     the reason code of each line
//     payload_reasons --fixed        the fixed payloads of every kind and stage
//     (tests/certificate/fixtures.h)
#include <iostream>
#include <string>

#include "absl/strings/string_view.h"
#include "certificate/check_payload.h"
#include "tests/certificate/fixtures.h"

int main(int argc, char** argv) {
  using namespace expunge::certificate;  // NOLINT: a small tool
  if (argc == 2 && absl::string_view(argv[1]) == "--fixed") {
    for (const Kind kind : kKinds) {
      std::cout << testing::FixedPayload(kind) << "\n";
      if (kind != Kind::kState) std::cout << testing::SecondPayload(kind) << "\n";
    }
    return 0;
  }
  if (argc != 1) {
    std::cerr << "usage: payload_reasons [--fixed]\n";
    return 2;
  }
  for (std::string payload; std::getline(std::cin, payload);) {
    std::cout << VerifyReasonName(CheckPayload(payload)) << "\n";
  }
  return 0;
}
