// SPDX-License-Identifier: Apache-2.0
// A program with a mistake, for docs/diff.md: it trains the logits of a softmax, prints the loss of
// each step, and is right on NVIDIA's GPUs by luck. Where is the mistake?

#include "../Check.h"

constexpr int kSamples = 48, kClasses = 256, kSteps = 4;

/// The sum or the maximum of the CTA's values, for all of its threads.
template <bool kMaximum> __device__ float reduce(float *values, float value) {
  values[threadIdx.x] = value;
  __syncthreads();
  for (int half = kClasses / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      const float other = values[threadIdx.x + half];
      values[threadIdx.x] =
          kMaximum ? fmaxf(values[threadIdx.x], other) : values[threadIdx.x] + other;
    }
    __syncthreads();
  }
  return values[0];
}

/// A CTA for each sample, a thread for each class.
__global__ void step(float *logits, const int *labels, float *losses, float rate) {
  __shared__ float values[kClasses];
  float *logit = logits + blockIdx.x * kClasses + threadIdx.x;
  const float largest = reduce<true>(values, *logit);
  const float power = __expf(*logit - largest);
  const float share = power / reduce<false>(values, power);
  const bool isLabel = int(threadIdx.x) == labels[blockIdx.x];
  *logit -= rate * (share - (isLabel ? 1.f : 0.f));
  if (isLabel)
    losses[blockIdx.x] = -__logf(share);
}

int main() {
  std::vector<float> logits(kSamples * kClasses);
  std::vector<int> labels(kSamples);
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = 8 * uniform(unsigned(i));
  for (int i = 0; i < kSamples; ++i)
    labels[i] = i * 37 % kClasses;
  float *logitsOnDevice = upload(logits), *losses = upload(std::vector<float>(kSamples));
  int *labelsOnDevice = upload(labels);
  for (int i = 0; i < kSteps; ++i) {
    step<<<kSamples, kClasses>>>(logitsOnDevice, labelsOnDevice, losses, 4);
    checkLaunch("step");
    double sum = 0;
    for (float loss : download(losses, kSamples))
      sum += loss;
    printf("step %d: loss %.5f\n", i, sum / kSamples);
  }
}
