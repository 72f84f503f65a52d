// SPDX-License-Identifier: Apache-2.0
// Accesses outside of what a program owns, as programs of CUDA make them: global, shared, local and
// of the device's heap.

// CASE fault=OutOfBounds block=64 grid=2 words=100
extern "C" __global__ void forgotten_guard(unsigned *data, unsigned n, unsigned *) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef MENDED
  if (i >= n)
    return;
#endif
  data[i] = 3 * i; // BUG thread=(36,0,0)
}

// CASE fault=OutOfBounds block=32 words=64
extern "C" __global__ void wrong_pitch(unsigned *data, unsigned n, unsigned *) {
#ifdef MENDED
  const unsigned pitch = 8;
#else
  const unsigned pitch = 9;
#endif
  for (unsigned row = 0; row < n / 8; ++row)
    if (threadIdx.x < 8)
      data[row * pitch + threadIdx.x] = row; // BUG thread=(1,0,0)
}

// CASE fault=OutOfBounds block=64 words=64
extern "C" __global__ void stencil_at_the_edge(unsigned *data, unsigned n, unsigned *) {
  const unsigned i = threadIdx.x;
  unsigned right = 0;
#ifdef MENDED
  if (i + 1 < n)
#endif
    right = data[i + 1]; // BUG thread=(63,0,0)
  __syncthreads();
  data[i] = right;
}

// CASE fault=OutOfBounds block=32 words=96
extern "C" __global__ void index_from_data(unsigned *data, unsigned n, unsigned *) {
  const unsigned bin = data[threadIdx.x] * 5;
#ifdef MENDED
  atomicAdd(&data[bin % n], 1u);
#else
  atomicAdd(&data[bin], 1u); // BUG thread=(20,0,0)
#endif
}

// CASE fault=OutOfBounds block=32 words=130
extern "C" __global__ void pairs_of_an_odd_tail(unsigned *data, unsigned n, unsigned *) {
  for (unsigned i = threadIdx.x; i < (n + 2) / 4; i += blockDim.x) {
#ifdef MENDED
    if (4 * i + 3 >= n)
      break;
#endif
    reinterpret_cast<uint4 *>(data)[i] = make_uint4(i, i, i, i); // BUG thread=(0,0,0)
  }
}

// CASE fault=UseAfterFree block=32 words=32
extern "C" __global__ void result_into_freed(unsigned *data, unsigned n, unsigned *freed) {
#ifdef MENDED
  unsigned *to = data;
#else
  unsigned *to = freed;
#endif
  if (threadIdx.x % 8 == 5)
    to[threadIdx.x] = n; // BUG thread=(5,0,0)
}

// CASE fault=UseAfterFree block=64 words=64
extern "C" __global__ void table_is_freed(unsigned *data, unsigned, unsigned *freed) {
#ifdef MENDED
  const unsigned *table = data + 32;
#else
  const unsigned *table = freed;
#endif
  if (threadIdx.x >= 32)
    data[threadIdx.x - 32] = table[threadIdx.x & 7]; // BUG thread=(32,0,0)
}

// CASE fault=Misaligned block=32 words=80
extern "C" __global__ void record_of_bytes(unsigned *data, unsigned n, unsigned *) {
  const unsigned char *bytes = reinterpret_cast<const unsigned char *>(data) + n / 20;
#ifdef MENDED
  const unsigned size = 4;
#else
  const unsigned size = n / 16;
#endif
  const unsigned value = *reinterpret_cast<const unsigned *>(bytes + threadIdx.x * size); // BUG thread=(1,0,0)
  data[40 + threadIdx.x] = value;
}

// CASE fault=Misaligned block=32 words=128
extern "C" __global__ void float4_of_a_slice(unsigned *data, unsigned n, unsigned *) {
#ifdef MENDED
  const float *slice = reinterpret_cast<const float *>(data) + n / 32;
#else
  const float *slice = reinterpret_cast<const float *>(data) + n / 64;
#endif
  if (threadIdx.x == 6) {
    const float4 four = *reinterpret_cast<const float4 *>(slice); // BUG thread=(6,0,0)
    data[64] = unsigned(four.x + four.y + four.z + four.w);
  }
}

// CASE fault=LdsOutOfBounds block=64 words=64
extern "C" __global__ void tile_without_halo(unsigned *data, unsigned, unsigned *) {
#ifdef MENDED
  __shared__ unsigned tile[66];
#else
  __shared__ unsigned tile[65];
#endif
  tile[threadIdx.x + 1] = data[threadIdx.x];
  if (threadIdx.x == 0)
    tile[0] = 0;
  if (threadIdx.x == 63)
    tile[threadIdx.x + data[2]] = 0; // BUG thread=(63,0,0)
  __syncthreads();
  data[threadIdx.x] = tile[threadIdx.x];
}

// CASE fault=LdsOutOfBounds block=32 words=32 shared=64
extern "C" __global__ void too_little_dynamic(unsigned *data, unsigned, unsigned *) {
  extern __shared__ unsigned cells[];
#ifdef MENDED
  if (threadIdx.x < 16)
#endif
    cells[threadIdx.x] = data[threadIdx.x]; // BUG thread=(16,0,0)
  __syncthreads();
  data[threadIdx.x] = cells[threadIdx.x & 15];
}

// CASE fault=ScratchOverflow block=32 words=80
extern "C" __global__ void histogram_of_a_thread(unsigned *data, unsigned n, unsigned *) {
  unsigned counts[24] = {};
  for (unsigned i = 0; i < 4; ++i)
#ifdef MENDED
    counts[(data[threadIdx.x + i] + threadIdx.x) % 24] += n;
#else
    counts[data[threadIdx.x + i] * n * 400] += n; // BUG thread=(1,0,0)
#endif
  unsigned sum = 0;
  for (unsigned i = 0; i < 24; ++i)
    sum = sum * 3 + counts[i];
  data[40 + threadIdx.x] = sum;
}

// CASE fault=OutOfBounds block=32 words=32 heap=1
extern "C" __global__ void list_of_a_thread(unsigned *data, unsigned n, unsigned *) {
  if (threadIdx.x == 4) {
    auto *list = static_cast<unsigned *>(malloc(n * sizeof(unsigned) / 4));
#ifdef MENDED
    for (unsigned i = 0; i < n / 4; ++i)
#else
    for (unsigned i = 0; i <= n / 4 + 4; ++i)
#endif
      list[i] = i; // BUG thread=(4,0,0)
    data[4] = list[n / 8];
    free(list);
  }
}

// CASE fault=UseAfterFree block=32 words=32 heap=1
extern "C" __global__ void head_of_a_freed_list(unsigned *data, unsigned n, unsigned *) {
  struct Node {
    Node *next;
    unsigned value;
  };
  if (threadIdx.x == 9) {
    Node *head = nullptr;
    for (unsigned i = 0; i < n / 8; ++i) {
      auto *node = static_cast<Node *>(malloc(sizeof(Node)));
      node->next = head;
      node->value = i;
      head = node;
    }
    unsigned sum = 0;
    while (head) {
#ifdef MENDED
      Node *next = head->next;
      sum += head->value;
      free(head);
      head = next;
#else
      sum += head->value;
      free(head);
      __threadfence();
      head = head->next; // BUG thread=(9,0,0)
#endif
    }
    data[9] = sum;
  }
}

// CASE fault=OutOfBounds block=64 words=64 heap=1
extern "C" __global__ void matrix_of_a_block(unsigned *data, unsigned n, unsigned *) {
  __shared__ unsigned *rows;
  if (threadIdx.x == 0)
    rows = static_cast<unsigned *>(malloc(8 * 8 * sizeof(unsigned)));
  __syncthreads();
#ifdef MENDED
  rows[threadIdx.x] = n;
#else
  rows[threadIdx.x + (threadIdx.x == 50 ? n / 2 : 0)] = n; // BUG thread=(50,0,0)
#endif
  __syncthreads();
  if (threadIdx.x == 0) {
    data[0] = rows[3];
    free(rows);
  }
}

struct Particle {
  float x, y, z;
  unsigned cell;
};

// CASE fault=OutOfBounds block=32 words=128
extern "C" __global__ void particles_one_too_many(unsigned *data, unsigned n, unsigned *) {
  auto *particles = reinterpret_cast<Particle *>(data);
#ifdef MENDED
  const unsigned count = n / 4;
#else
  const unsigned count = n / 4 + 1;
#endif
  for (unsigned i = threadIdx.x; i < count; i += 32)
    particles[i].cell = i; // BUG thread=(0,0,0)
}

// CASE fault=OutOfBounds block=32 words=95
extern "C" __global__ void three_of_a_row(unsigned *data, unsigned n, unsigned *) {
#ifdef MENDED
  if (3 * threadIdx.x + 2 >= n)
    return;
#endif
  unsigned *row = data + 3 * threadIdx.x;
  row[0] = n;
  row[1] = n + 1;
  row[2] = n + 2; // BUG thread=(31,0,0)
}

// CASE fault=OutOfBounds block=32 words=33
extern "C" __global__ void sum_of_neighbours(unsigned *data, unsigned n, unsigned *) {
  const unsigned t = threadIdx.x;
#ifdef MENDED
  if (t + 2 >= n)
    return;
#endif
  const unsigned left = data[t];
  const unsigned middle = data[t + 1];
  const unsigned right = data[t + 2]; // BUG thread=(31,0,0)
  __syncwarp();
  if (t == 31)
    data[0] = left + middle + right;
}

__device__ __noinline__ void swap(unsigned *a, unsigned *b) {
  const unsigned old = *a;
  *a = *b; // BUG thread=(31,0,0)
  *b = old;
}

// CASE fault=OutOfBounds block=32 words=63
extern "C" __global__ void exchange_in_a_function(unsigned *data, unsigned n, unsigned *) {
#ifdef MENDED
  if (2 * threadIdx.x + 1 >= n)
    return;
#endif
  swap(&data[2 * threadIdx.x], &data[2 * threadIdx.x + 1]);
}
