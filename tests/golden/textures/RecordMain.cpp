// SPDX-License-Identifier: Apache-2.0
// Records what a GPU gives for all cases: for each case its status and its results, as words.
//
// Usage: texture-recorder LIBCUDA RECORDING OUT
//   RECORDING: 0 to 5, the lists of Cases.h; surfaces, that of SurfaceCases.h
#include "tests/golden/textures/Runner.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <sys/wait.h>
#include <unistd.h>

using namespace rubia::golden;

namespace {

bool write(FILE *out, const std::string &name, const TextureOutcome &outcome) {
  const uint32_t header[] = {uint32_t(outcome.status), uint32_t(outcome.words.size())};
  fwrite(header, sizeof(header), 1, out);
  fwrite(outcome.words.data(), 4, outcome.words.size(), out);
  if (outcome.status)
    printf("%s: %d\n", name.c_str(), outcome.status);
  return outcome.status == 0;
}

int recordTextures(const char *library, unsigned recording, FILE *out) {
  TextureRunner runner(library);
  size_t refused = 0;
  for (const TextureCase &c : textureCases(recording))
    refused += !write(out, c.name, runner.run(c));
  printf("%zu cases, %zu refused\n", textureCases(recording).size(), refused);
  return 0;
}

// A case that fails spoils the context, so a child goes on behind it.
int recordSurfaces(const char *library, FILE *out) {
  const std::vector<SurfaceCase> &cases = surfaceCases();
  size_t next = 0;
  while (next < cases.size()) {
    int ends[2];
    fflush(stdout);
    if (pipe(ends))
      return 1;
    const pid_t child = fork();
    if (child == 0) {
      TextureRunner runner(library);
      bool isFine = true;
      for (size_t i = next; i < cases.size() && isFine; ++i) {
        isFine = write(out, cases[i].name, runner.run(cases[i]));
        const char done = 1;
        if (::write(ends[1], &done, 1) != 1)
          isFine = false;
      }
      fflush(out);
      fflush(stdout);
      _exit(0);
    }
    close(ends[1]);
    size_t recorded = 0;
    for (char done; read(ends[0], &done, 1) == 1;)
      ++recorded;
    close(ends[0]);
    waitpid(child, nullptr, 0);
    if (!recorded)
      return 1;
    next += recorded;
  }
  printf("%zu cases\n", cases.size());
  return 0;
}

} // namespace

int main(int count, char **arguments) {
  if (count != 4) {
    fprintf(stderr, "usage: texture-recorder LIBCUDA 0|1|2|3|4|5|surfaces OUT\n");
    return 2;
  }
  FILE *out = fopen(arguments[3], "wb");
  if (!out) {
    perror(arguments[3]);
    return 1;
  }
  try {
    const int status = !strcmp(arguments[2], "surfaces")
                           ? recordSurfaces(arguments[1], out)
                           : recordTextures(arguments[1], unsigned(atoi(arguments[2])), out);
    return fclose(out) || status;
  } catch (const std::exception &error) {
    fprintf(stderr, "texture-recorder: %s\n", error.what());
    return 1;
  }
}
