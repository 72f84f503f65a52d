// SPDX-License-Identifier: Apache-2.0
// Ballots, votes and shuffles where lanes diverge: stream compaction with one atomic for each warp,
// and masks that leave lanes out.

#include "Check.h"
#include <algorithm>

// Keeps the numbers that are divisible by `divisor`.
__global__ void compact(const unsigned *input, int n, unsigned divisor, unsigned *output,
                        unsigned *count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  bool keep = i < n && input[i] % divisor == 0;
  unsigned votes = __ballot_sync(0xffffffffu, keep), base = 0;
  if (lane == 0 && votes)
    base = atomicAdd(count, __popc(votes));
  base = __shfl_sync(0xffffffffu, base, 0);
  if (keep)
    output[base + __popc(votes & ((1u << lane) - 1))] = input[i];
}

// Four words for each warp: what a vote in one branch, in the other and in all lanes gave.
__global__ void vote(const unsigned *input, unsigned *output) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  unsigned value = input[i], inBranch;
  unsigned odd = __ballot_sync(0xffffffffu, value & 1);
  if (value & 1)
    inBranch = __ballot_sync(odd, value & 2);
  else
    inBranch = ~__ballot_sync(~odd, value & 4);
  __syncwarp();
  unsigned firstOdd = odd ? __ffs(odd) - 1 : 0, firstEven = ~odd ? __ffs(~odd) - 1 : 0;
  unsigned fromOdd = __shfl_sync(0xffffffffu, inBranch, firstOdd);
  unsigned fromEven = __shfl_sync(0xffffffffu, inBranch, firstEven);
  bool all = __all_sync(0xffffffffu, value % 5 != 0),
       any = __any_sync(0xffffffffu, value % 97 == 0);
  if (lane == 0) {
    unsigned *own = output + 4 * (i / 32);
    own[0] = odd;
    own[1] = odd ? fromOdd : 0;
    own[2] = ~odd ? ~fromEven : 0;
    own[3] = all * 2u + any;
  }
}

int main() {
  const int n = 16384 + 7, warps = 256;
  std::vector<unsigned> input(n), expected;
  for (int i = 0; i < n; ++i) {
    input[i] = mix(i) >> 4;
    if (input[i] % 3 == 0)
      expected.push_back(input[i]);
  }
  unsigned *device = upload(input), *output, *count;
  CHECK(cudaMalloc(&output, n * sizeof(unsigned)));
  CHECK(cudaMalloc(&count, sizeof(unsigned)));
  CHECK(cudaMemset(count, 0, sizeof(unsigned)));
  compact<<<(n + 127) / 128, 128>>>(device, n, 3, output, count);
  checkLaunch("compact");
  if (download(count, 1)[0] != expected.size())
    fail("numbers kept", 0, expected.size(), download(count, 1)[0]);
  std::vector<unsigned> kept = download(output, expected.size()); // warps finish in any order
  std::sort(kept.begin(), kept.end());
  std::sort(expected.begin(), expected.end());
  expectEqual("kept", kept, expected);

  vote<<<warps / 4, 128>>>(device, output);
  checkLaunch("vote");
  std::vector<unsigned> votes(4 * warps);
  for (int warp = 0; warp < warps; ++warp) {
    unsigned *own = &votes[4 * warp];
    bool all = true, any = false;
    for (int lane = 0; lane < 32; ++lane) {
      unsigned value = input[32 * warp + lane], bit = 1u << lane;
      own[0] |= value & 1 ? bit : 0;
      own[1] |= (value & 1) && (value & 2) ? bit : 0;
      own[2] |= !(value & 1) && (value & 4) ? bit : 0;
      all = all && value % 5 != 0;
      any = any || value % 97 == 0;
    }
    own[3] = all * 2u + any;
  }
  expectEqual("votes", download(output, votes.size()), votes);
  CHECK(cudaFree(device));
  CHECK(cudaFree(output));
  CHECK(cudaFree(count));
  return pass("warp_votes");
}
