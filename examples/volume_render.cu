// SPDX-License-Identifier: Apache-2.0
// Volume rendering: rays march through a volume of bytes, and a transfer function of one dimension
// gives each density its colour and opacity. Both are textures with linear filters.

#include "Textures.h"

constexpr int kSide = 32, kColors = 16, kImage = 64, kSteps = 48;

struct Color {
  float r, g, b, a;
};

__host__ __device__ inline void blend(Color &color, float r, float g, float b, float a) {
  const float part = (1 - color.a) * a;
  color.r += part * r;
  color.g += part * g;
  color.b += part * b;
  color.a += part;
}
// Where a ray is: normalised coordinates of the volume, which it crosses at a slant.
__host__ __device__ inline void place(int column, int row, int step, float (&at)[3]) {
  const float depth = (step + 0.5f) / kSteps;
  at[0] = (column + 0.5f) / kImage + 0.3f * (depth - 0.5f);
  at[1] = (row + 0.5f) / kImage - 0.2f * (depth - 0.5f);
  at[2] = depth;
}

__global__ void march(cudaTextureObject_t volume, cudaTextureObject_t transfer, float4 *image) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x,
            row = blockIdx.y * blockDim.y + threadIdx.y;
  Color color = {};
  for (int step = 0; step < kSteps && color.a < 0.98f; ++step) {
    float at[3];
    place(column, row, step, at);
    const float density = tex3D<float>(volume, at[0], at[1], at[2]);
    const float4 sample = tex1D<float4>(transfer, density);
    blend(color, sample.x, sample.y, sample.z, sample.w);
  }
  image[row * kImage + column] = make_float4(color.r, color.g, color.b, color.a);
}

// A weight as the filter has it: normalised coordinates are cut to 21 bits, weights rounded to 8.
static void split(float at, int size, int &first, float &weight) {
  const double texel = std::floor(double(at) * (1 << 21)) / (1 << 21) * size - 0.5;
  const double fixed = std::floor(texel * 256 + 0.5) / 256;
  first = int(std::floor(fixed));
  weight = float(fixed - first);
}
static int clamped(int at, int size) { return at < 0 ? 0 : at >= size ? size - 1 : at; }

static float densityAt(const std::vector<unsigned char> &volume, const float (&at)[3]) {
  int first[3];
  float weight[3], sum = 0;
  for (int i = 0; i < 3; ++i)
    split(at[i], kSide, first[i], weight[i]);
  for (int corner = 0; corner < 8; ++corner) {
    float part = 1;
    int index = 0;
    bool isOutside = false;
    for (int i = 2; i >= 0; --i) {
      const int upper = corner >> i & 1, texel = first[i] + upper;
      part *= upper ? weight[i] : 1 - weight[i];
      isOutside |= texel < 0 || texel >= kSide;
      index = index * kSide + clamped(texel, kSide);
    }
    if (!isOutside) // the border is 0
      sum += part * volume[index];
  }
  return sum / 255;
}

static Color colorAt(const std::vector<float4> &transfer, float density) {
  int first;
  float weight;
  split(density, kColors, first, weight);
  const float4 a = transfer[clamped(first, kColors)], b = transfer[clamped(first + 1, kColors)];
  auto mixed = [&](float x, float y) { return x + (y - x) * weight; };
  return {mixed(a.x, b.x), mixed(a.y, b.y), mixed(a.z, b.z), mixed(a.w, b.w)};
}

int main() {
  std::vector<unsigned char> volume(kSide * kSide * kSide);
  for (int i = 0; i < kSide * kSide * kSide; ++i) { // two soft balls
    const float x = float(i % kSide), y = float(i / kSide % kSide), z = float(i / kSide / kSide);
    const float first = (x - 10) * (x - 10) + (y - 12) * (y - 12) + (z - 20) * (z - 20),
                second = (x - 22) * (x - 22) + (y - 18) * (y - 18) + (z - 10) * (z - 10);
    volume[i] = static_cast<unsigned char>(140 * std::exp(-first / 40) +
                                           250 * std::exp(-second / 25) + 2 * uniform(i));
  }
  std::vector<float4> transfer(kColors);
  for (int i = 0; i < kColors; ++i) {
    const float density = (i + 0.5f) / kColors;
    transfer[i] = make_float4(density, density * density, 1 - density, i < 2 ? 0 : 0.15f * density);
  }
  const cudaArray_t volumeArray = arrayOf(volume, kSide, kSide, kSide),
                    transferArray = arrayOf(transfer, kColors, 0);
  cudaTextureDesc description = sampler(cudaAddressModeBorder, cudaFilterModeLinear, true);
  description.readMode = cudaReadModeNormalizedFloat;
  const cudaTextureObject_t volumeTexture = textureOf(volumeArray, description),
                            transferTexture =
                                textureOf(transferArray, sampler(cudaAddressModeClamp,
                                                                 cudaFilterModeLinear, true));

  float4 *image = nullptr;
  CHECK(cudaMalloc(&image, kImage * kImage * sizeof(float4)));
  march<<<dim3(kImage / 16, kImage / 8), dim3(16, 8)>>>(volumeTexture, transferTexture, image);
  checkLaunch("march");
  std::vector<float> found, expected;
  for (const float4 &pixel : download(image, kImage * kImage))
    found.insert(found.end(), {pixel.x, pixel.y, pixel.z, pixel.w});
  for (int i = 0; i < kImage * kImage; ++i) {
    Color color = {};
    for (int step = 0; step < kSteps && color.a < 0.98f; ++step) {
      float at[3];
      place(i % kImage, i / kImage, step, at);
      const Color sample = colorAt(transfer, densityAt(volume, at));
      blend(color, sample.r, sample.g, sample.b, sample.a);
    }
    expected.insert(expected.end(), {color.r, color.g, color.b, color.a});
  }
  expectNear("image", found, expected, 0.01);
  CHECK(cudaDestroyTextureObject(volumeTexture));
  CHECK(cudaDestroyTextureObject(transferTexture));
  CHECK(cudaFreeArray(volumeArray));
  CHECK(cudaFreeArray(transferArray));
  CHECK(cudaFree(image));
  return pass("volume_render");
}
