// SPDX-License-Identifier: Apache-2.0
// Records what a GPU gives for all cases: for each case its status and its results, as words.
//
// Usage: texture-recorder LIBCUDA OUT
#include "tests/golden/textures/Runner.h"
#include <cstdio>
#include <exception>

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: texture-recorder LIBCUDA OUT\n");
    return 2;
  }
  try {
    rubia::golden::TextureRunner runner(arguments[1]);
    FILE *out = fopen(arguments[2], "wb");
    if (!out) {
      perror(arguments[2]);
      return 1;
    }
    size_t refused = 0;
    for (const rubia::golden::TextureCase &c : rubia::golden::textureCases()) {
      const rubia::golden::TextureOutcome outcome = runner.run(c);
      const uint32_t header[] = {uint32_t(outcome.status), uint32_t(outcome.words.size())};
      fwrite(header, sizeof(header), 1, out);
      fwrite(outcome.words.data(), 4, outcome.words.size(), out);
      if (outcome.status) {
        printf("%s: %d\n", c.name.c_str(), outcome.status);
        ++refused;
      }
    }
    printf("%zu cases, %zu refused\n", rubia::golden::textureCases().size(), refused);
    return fclose(out) ? 1 : 0;
  } catch (const std::exception &error) {
    fprintf(stderr, "texture-recorder: %s\n", error.what());
    return 1;
  }
}
