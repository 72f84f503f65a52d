// SPDX-License-Identifier: Apache-2.0
// Texture references: of the program's own kernels, and of a module by the driver API.
// RUN: env RUBIA_ARCH=gfx1030 %hiplib %each-version %programs/texture_references %programs/texture_references.co | FileCheck %s
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
#include "Inputs/check.h"
#include <cstring>
#include <vector>

constexpr int kWidth = 12, kHeight = 6;

#ifdef MODULE
texture<float, hipTextureType2D, hipReadModeElementType> plane;
extern "C" __global__ void readPlane(float *out) {
  out[threadIdx.x] = tex2D(plane, float(threadIdx.x) + 1, 2.5f);
}
int main() {}
#else

texture<float, hipTextureType1D, hipReadModeElementType> line;
texture<unsigned char, hipTextureType2D, hipReadModeNormalizedFloat> plane;

__global__ void readLine(float *out) { out[threadIdx.x] = tex1Dfetch(line, int(threadIdx.x)); }
__global__ void readPlane(float *out) {
  out[threadIdx.x] = tex2D(plane, float(threadIdx.x) + 0.5f, 2.5f);
}
__global__ void slow(float *out, int rounds) {
  float sum = out[threadIdx.x];
  for (int i = 0; i < rounds; ++i)
    sum = sum * 0.5f + 1;
  out[threadIdx.x] = sum;
}

static float *out;
static std::vector<float> read() {
  std::vector<float> values(32);
  CHECK(hipGetLastError());
  CHECK(hipMemcpy(values.data(), out, 32 * sizeof(float), hipMemcpyDeviceToHost));
  return values;
}

static void ofTheProgram() {
  std::vector<float> numbers;
  for (int i = 0; i < 20; ++i)
    numbers.push_back(float(i) * 3);
  float *linear;
  CHECK(hipMalloc(&linear, 20 * sizeof(float)));
  CHECK(hipMemcpy(linear, numbers.data(), 20 * sizeof(float), hipMemcpyHostToDevice));
  size_t offset = 1;
  CHECK(hipBindTexture(&offset, line, linear, 20 * sizeof(float)));
  EXPECT(offset == 0);
  readLine<<<1, 32>>>(out);
  const std::vector<float> fetched = read();
  for (int i = 0; i < 32; ++i)
    EXPECT(fetched[size_t(i)] == (i < 20 ? float(i) * 3 : 0));
  const textureReference *reference;
  CHECK(hipGetTextureReference(&reference, &line));
  EXPECT(reference == &line);
  CHECK(hipUnbindTexture(line));
  EXPECT(hipGetTextureAlignmentOffset(&offset, &line) == hipErrorInvalidValue);
  (void)hipGetLastError(); // HIP 7 keeps those of calls that were to fail
  CHECK(hipFree(linear));

  const hipChannelFormatDesc format = hipCreateChannelDesc<unsigned char>();
  hipArray_t array;
  CHECK(hipMallocArray(&array, &format, kWidth, kHeight));
  std::vector<unsigned char> bytes;
  for (int i = 0; i < kWidth * kHeight; ++i)
    bytes.push_back(static_cast<unsigned char>(i));
  CHECK(hipMemcpyToArray(array, 0, 0, bytes.data(), bytes.size(), hipMemcpyHostToDevice));
  CHECK(hipBindTextureToArray(plane, array));
  readPlane<<<1, 32>>>(out);
  const std::vector<float> sampled = read();
  for (int i = 0; i < 32; ++i) // clamped
    EXPECT(sampled[size_t(i)] == float(2 * kWidth + (i < kWidth ? i : kWidth - 1)) / 255);
  CHECK(hipUnbindTexture(plane));
  CHECK(hipFreeArray(array));
}

// A kernel reads what was bound when it was launched.
static void boundAgain() {
  float *memory[2];
  for (int i = 0; i < 2; ++i) {
    CHECK(hipMalloc(&memory[i], 32 * sizeof(float)));
    const std::vector<float> values(32, float(i + 1));
    CHECK(hipMemcpy(memory[i], values.data(), 32 * sizeof(float), hipMemcpyHostToDevice));
  }
  CHECK(hipMemset(out, 0, 64 * sizeof(float)));
  for (int i = 0; i < 2; ++i) {
    CHECK(hipBindTexture(nullptr, line, memory[i], 32 * sizeof(float)));
    slow<<<1, 32>>>(out + 32 * i, 2000000); // so that the next one begins after the next binding
    readLine<<<1, 32>>>(out + 32 * i);
  }
  const std::vector<float> first = read();
  float second;
  CHECK(hipMemcpy(&second, out + 32, sizeof(second), hipMemcpyDeviceToHost));
  EXPECT(first[0] == 1 && first[31] == 1 && second == 2);
  CHECK(hipUnbindTexture(line));
  for (float *one : memory)
    CHECK(hipFree(one));
}

static void ofAModule(const char *file) {
  hipModule_t module;
  hipFunction_t kernel;
  CHECK(hipModuleLoad(&module, file));
  CHECK(hipModuleGetFunction(&kernel, module, "readPlane"));
  textureReference *reference, *again;
  CHECK(hipModuleGetTexRef(&reference, module, "plane"));
  CHECK(hipModuleGetTexRef(&again, module, "plane"));
  EXPECT(reference == again);
  EXPECT(hipModuleGetTexRef(&again, module, "nothing") == hipErrorNotFound);
  (void)hipGetLastError();
  HIP_ARRAY_DESCRIPTOR descriptor;
  descriptor.Width = kWidth;
  descriptor.Height = kHeight;
  descriptor.Format = HIP_AD_FORMAT_FLOAT;
  descriptor.NumChannels = 1;
  hipArray_t array;
  CHECK(hipArrayCreate(&array, &descriptor));
  std::vector<float> numbers;
  for (int i = 0; i < kWidth * kHeight; ++i)
    numbers.push_back(float(i));
  hip_Memcpy2D copy;
  memset(&copy, 0, sizeof(copy));
  int version;
  CHECK(hipRuntimeGetVersion(&version));
  const bool isFirst = version < 60000000; // hipMemoryType has other numbers since HIP 6
  copy.srcMemoryType = hipMemoryType(isFirst ? 0 : 1);
  copy.srcHost = numbers.data();
  copy.dstMemoryType = hipMemoryType(isFirst ? 2 : 10);
  copy.dstArray = array;
  copy.WidthInBytes = kWidth * sizeof(float);
  copy.Height = kHeight;
  CHECK(hipMemcpyParam2D(&copy));
  CHECK(hipTexRefSetArray(reference, array, HIP_TRSA_OVERRIDE_FORMAT));
  void *arguments[] = {&out};
  auto run = [&] {
    CHECK(hipModuleLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
    return read();
  };
  std::vector<float> sampled = run();
  for (int i = 0; i < 32; ++i)
    EXPECT(sampled[size_t(i)] == float(2 * kWidth + (i + 1 < kWidth ? i + 1 : kWidth - 1)));
  // What is set afterwards counts too.
  CHECK(hipTexRefSetFilterMode(reference, hipFilterModeLinear));
  CHECK(hipTexRefSetAddressMode(reference, 0, hipAddressModeBorder));
  sampled = run();
  for (int i = 0; i < 32; ++i) { // between two texels, the last of which is 0 at the edge
    const float left = i < kWidth ? float(2 * kWidth + i) : 0,
                right = i + 1 < kWidth ? float(2 * kWidth + i + 1) : 0;
    EXPECT(sampled[size_t(i)] == (left + right) / 2);
  }
  hipTextureFilterMode filter;
  CHECK(hipTexRefGetFilterMode(&filter, reference));
  EXPECT(filter == hipFilterModeLinear);
  CHECK(hipTexRefSetFlags(reference, HIP_TRSF_READ_AS_INTEGER));
  unsigned flags;
  CHECK(hipTexRefGetFlags(&flags, reference));
  EXPECT(flags == HIP_TRSF_READ_AS_INTEGER);
  EXPECT(hipTexRefSetFlags(reference, 0x1000) == hipErrorInvalidValue);
  EXPECT(hipTexRefSetAddressMode(reference, 3, hipAddressModeClamp) == hipErrorInvalidValue);
  CHECK(hipModuleUnload(module));
  // It went with the module.
  EXPECT(hipTexRefSetArray(reference, array, HIP_TRSA_OVERRIDE_FORMAT) == hipErrorInvalidValue);
  EXPECT(hipTexRefGetFilterMode(&filter, reference) == hipErrorInvalidValue);
  CHECK(hipArrayDestroy(array));
}

int main(int, char **arguments) {
  CHECK(hipMalloc(&out, 64 * sizeof(float)));
  ofTheProgram();
  boundAgain();
  ofAModule(arguments[1]);
  // CHECK: PASS
  printf("PASS\n");
}
#endif
