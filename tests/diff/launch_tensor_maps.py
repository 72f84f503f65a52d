#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launches a kernel that copies a tile by each of two tensor maps, through libcuda.so.1. One is a parameter, whose offset differs from driver to
driver, one lies in memory. Its address was replaced after it was encoded: by the host, or with the argument `kernel` by the kernel. With `kernel
first` the kernel puts the old address in its place."""
import ctypes
import sys

KERNEL = b""".version 8.3
.target sm_90a
.address_size 64
.shared .align 8 .b64 bar;
.shared .align 128 .b8 tile[1024];
.visible .entry k(.param .u64 out, .param .align 64 .b8 map[128], .param .u64 table, .param .u64 address, .param .u64 second)
{
  .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .pred %p<4>;
  ld.param.u64 %d1, [out];
  ld.param.u64 %d2, [table];
  mov.b64 %d3, map;
  cvta.param.u64 %d3, %d3;
  mov.u32 %r1, bar;
  mov.u32 %r2, tile;
  mov.u32 %r3, %tid.x;
  setp.ne.u32 %p1, %r3, 0;
  @%p1 bra WAIT;
  CHANGE
  mbarrier.init.shared.b64 [%r1], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 %d4, [%r1], 1024;
  mov.u32 %r4, 4;
  mov.u32 %r5, 3;
  add.u32 %r6, %r2, 512;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%d3, {%r4, %r5}], [%r1];
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r6], [%d2, {%r4, %r5}], [%r1];
WAIT:
  bar.sync 0;
LOOP:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0;
  @!%p2 bra LOOP;
  mad.lo.u32 %r4, %r3, 16, %r2;
  ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r4];
  mad.wide.u32 %d5, %r3, 16, %d1;
  st.global.v4.u32 [%d5], {%r4, %r5, %r6, %r7};
  ret;
}
\0"""
CHANGE = b"""ld.param.u64 %d6, [address];
  tensormap.replace.tile.global_address.global.b1024.b64 [%d2], %d6;
  fence.proxy.tensormap::generic.acquire.gpu [%d2], 128;"""
WIDTH, HEIGHT = 32, 16
IN_KERNEL = "kernel" in sys.argv

cuda = ctypes.CDLL("libcuda.so.1")


def check(status):
    if status:
        sys.exit(f"status {status}")


def memory(size):
    pointer = ctypes.c_void_p()
    check(cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)))
    return pointer


def encode(place, address):
    sizes, strides = (ctypes.c_uint64 * 2)(WIDTH, HEIGHT), (ctypes.c_uint64 * 1)(4 * WIDTH)
    box, steps = (ctypes.c_uint32 * 2)(16, 8), (ctypes.c_uint32 * 2)(1, 1)
    check(cuda.cuTensorMapEncodeTiled(place, 2, 2, address, sizes, strides, box, steps, 0, 0, 0, 0))  # 2: 32-bit integers


context, module, function = (ctypes.c_void_p() for _ in range(3))
check(cuda.cuInit(0))
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cuda.cuCtxSetCurrent(context))
check(cuda.cuModuleLoadData(ctypes.byref(module), KERNEL.replace(b"CHANGE", CHANGE if IN_KERNEL else b"")))
check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"k"))
first, second, table, out = memory(4 * WIDTH * HEIGHT), memory(4 * WIDTH * HEIGHT), memory(256), memory(1024)
for pointer, begin in ((first, 1000), (second, 5000)):
    check(cuda.cuMemcpyHtoD_v2(pointer, (ctypes.c_uint32 * (WIDTH * HEIGHT))(*range(begin, begin + WIDTH * HEIGHT)), ctypes.c_size_t(4 * WIDTH * HEIGHT)))
check(cuda.cuMemsetD8_v2(table, ctypes.c_ubyte(0), ctypes.c_size_t(256)))
check(cuda.cuMemsetD8_v2(out, ctypes.c_ubyte(0), ctypes.c_size_t(1024)))
space = (ctypes.c_ubyte * 512)()
maps = -ctypes.addressof(space) % 64 + ctypes.addressof(space)
one, two = ctypes.c_void_p(maps), ctypes.c_void_p(maps + 128)
encode(one, first)
encode(two, first)
if not IN_KERNEL:
    check(cuda.cuTensorMapReplaceAddress(two, second))
check(cuda.cuMemcpyHtoD_v2(ctypes.c_void_p(table.value + 128), two, ctypes.c_size_t(128)))
place = ctypes.c_void_p(table.value + 128)
parameters = (ctypes.c_void_p * 5)(ctypes.addressof(out), maps, ctypes.addressof(place), ctypes.addressof(first if "first" in sys.argv else second), ctypes.addressof(second))
check(cuda.cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, None, parameters, None))
check(cuda.cuCtxSynchronize())
words = (ctypes.c_uint32 * 256)()
check(cuda.cuMemcpyDtoH_v2(words, out, ctypes.c_size_t(1024)))
expected = [begin + WIDTH * (3 + y) + 4 + x for begin in (1000, 5000) for y in range(8) for x in range(16)]
print("done" if list(words) == expected else "wrong")
