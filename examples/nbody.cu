// SPDX-License-Identifier: Apache-2.0
// A few steps of gravity between all pairs of bodies, the bodies staged through shared memory as
// float4.

#include "Check.h"

constexpr int kBodies = 384, kTile = 128, kSteps = 3;
constexpr float kSoftening = 0.01f, kTimeStep = 0.01f;

__global__ void advance(const float4 *bodies, float4 *next, float4 *velocities) {
  __shared__ float4 tile[kTile];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 own = bodies[i];
  float ax = 0, ay = 0, az = 0;
  for (int start = 0; start < kBodies; start += kTile) {
    tile[threadIdx.x] = bodies[start + threadIdx.x];
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < kTile; ++k) {
      float dx = tile[k].x - own.x, dy = tile[k].y - own.y, dz = tile[k].z - own.z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + kSoftening);
      float pull = tile[k].w * inverse * inverse * inverse;
      ax += pull * dx;
      ay += pull * dy;
      az += pull * dz;
    }
    __syncthreads();
  }
  float4 velocity = velocities[i];
  velocity.x += ax * kTimeStep;
  velocity.y += ay * kTimeStep;
  velocity.z += az * kTimeStep;
  velocities[i] = velocity;
  next[i] = make_float4(own.x + velocity.x * kTimeStep, own.y + velocity.y * kTimeStep,
                        own.z + velocity.z * kTimeStep, own.w);
}

// The same in double precision.
static void advanceOnHost(std::vector<double> &bodies, std::vector<double> &velocities) {
  std::vector<double> next = bodies;
  for (int i = 0; i < kBodies; ++i) {
    double a[3] = {};
    for (int k = 0; k < kBodies; ++k) {
      double d[3], square = kSoftening;
      for (int c = 0; c < 3; ++c) {
        d[c] = bodies[4 * k + c] - bodies[4 * i + c];
        square += d[c] * d[c];
      }
      for (int c = 0; c < 3; ++c)
        a[c] += bodies[4 * k + 3] * d[c] / (square * std::sqrt(square));
    }
    for (int c = 0; c < 3; ++c) {
      velocities[4 * i + c] += a[c] * kTimeStep;
      next[4 * i + c] += velocities[4 * i + c] * kTimeStep;
    }
  }
  bodies = next;
}

int main() {
  std::vector<float> bodies(4 * kBodies), velocities(4 * kBodies);
  for (int i = 0; i < 4 * kBodies; ++i)
    bodies[i] = i % 4 == 3 ? (uniform(i) + 0.5f) / kBodies : 2 * uniform(i) - 1;
  std::vector<double> hostBodies(bodies.begin(), bodies.end()), hostVelocities(4 * kBodies);
  float *from = upload(bodies), *to = upload(bodies), *deviceVelocities = upload(velocities);
  for (int step = 0; step < kSteps; ++step) {
    advance<<<kBodies / kTile, kTile>>>(reinterpret_cast<float4 *>(from),
                                        reinterpret_cast<float4 *>(to),
                                        reinterpret_cast<float4 *>(deviceVelocities));
    checkLaunch("advance");
    std::swap(from, to);
    advanceOnHost(hostBodies, hostVelocities);
  }
  expectNear("position", download(from, bodies.size()),
             std::vector<float>(hostBodies.begin(), hostBodies.end()), 1e-5);
  expectNear("velocity", download(deviceVelocities, bodies.size()),
             std::vector<float>(hostVelocities.begin(), hostVelocities.end()), 1e-5);
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
  CHECK(cudaFree(deviceVelocities));
  return pass("nbody");
}
