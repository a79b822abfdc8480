// Writes the golden certificates into a folder. Run by hand, once for each version of the format: the tests
// read the files of tests/golden and never write them.
//
//     make_golden tests/golden
#include <cstdio>
#include <string>

#include "certificate/envelope.h"
#include "tests/certificate/fixtures.h"

int main(int argc, char** argv) {
  using namespace expunge::certificate;           // NOLINT: a small tool
  using namespace expunge::certificate::testing;  // NOLINT: a small tool
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_golden FOLDER\n");
    return 2;
  }
  for (const GoldenCase& golden : kGoldenCases) {
    const std::string path = std::string(argv[1]) + "/" + golden.file;
    WriteBytes(path, Seal(GoldenPayload(golden), TestKey()));
    std::printf("%s\n", path.c_str());
  }
  return 0;
}
