#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's NVSHMEM, unmodified, with one processing element: memory, puts, gets and collectives are right.

Usage: nvshmem.py RUBIA FOLDER
       nvshmem.py --inside LIBRARY
"""
import array
import ctypes
import os
import sys

from library import Device, Library, find, run

COUNT, WORLD, WITH_UNIQUE_ID = 1000, 0, 1 << 3


class UniqueId(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int), ("bytes", ctypes.c_char * 124)]


class UniqueIdArguments(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int), ("id", ctypes.POINTER(UniqueId)), ("rank", ctypes.c_int), ("ranks", ctypes.c_int)]


class Arguments(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int), ("unique_id", UniqueIdArguments), ("device", ctypes.c_int), ("rest", ctypes.c_char * 92)]


class Attributes(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int), ("communicator", ctypes.c_void_p), ("arguments", Arguments)]


def inside(path):
    device, call, stream = Device(), Library(path), ctypes.c_void_p()
    shmem = call.library
    device("cuStreamCreate", ctypes.byref(stream), 0)

    assert (ctypes.sizeof(UniqueId), ctypes.sizeof(UniqueIdArguments), ctypes.sizeof(Arguments), ctypes.sizeof(Attributes)) == (128, 24, 128, 144)
    version = lambda number, kind: (number << 16) + ctypes.sizeof(kind)
    identity = UniqueId(version(1, UniqueId), b"")
    attributes = Attributes(version(2, Attributes), None, Arguments(version(2, Arguments), UniqueIdArguments(version(1, UniqueIdArguments), None, -1, -1), -1, b""))
    call("nvshmemx_get_uniqueid", ctypes.byref(identity))
    call("nvshmemx_set_attr_uniqueid_args", 0, 1, ctypes.byref(identity), ctypes.byref(attributes))
    call("nvshmemx_hostlib_init_attr", WITH_UNIQUE_ID, ctypes.byref(attributes))
    assert (shmem.nvshmem_my_pe(), shmem.nvshmem_n_pes()) == (0, 1)

    bytes_, count = ctypes.c_size_t(4 * COUNT), ctypes.c_size_t(COUNT)
    shmem.nvshmem_malloc.restype = ctypes.c_void_p
    source, target = (ctypes.c_void_p(shmem.nvshmem_malloc(bytes_)) for _ in range(2))
    assert source and target
    wanted = array.array("f", (i * 0.5 for i in range(COUNT))).tobytes()
    device("cuMemcpyHtoD_v2", source, wanted, bytes_)

    def check(what, start):
        """`start` brings the source into the target."""
        device("cuMemsetD8_v2", target, 0x5a, bytes_)
        device("cuCtxSynchronize")
        assert not start(), what
        shmem.nvshmem_quiet()
        device("cuStreamSynchronize", stream)
        assert device.get(target, 4 * COUNT) == wanted, what
        print("right:", what, flush=True)

    nothing = lambda call, *arguments: call(*arguments) and None  # of a function without a result
    shmem.nvshmem_barrier_all()
    check("put", lambda: nothing(shmem.nvshmem_putmem, target, source, bytes_, 0))
    check("get", lambda: nothing(shmem.nvshmem_getmem, target, source, bytes_, 0))
    check("put on a stream", lambda: nothing(shmem.nvshmemx_putmem_on_stream, target, source, bytes_, 0, stream))
    check("sum on a stream", lambda: shmem.nvshmemx_float_sum_reduce_on_stream(WORLD, target, source, count, stream))
    check("broadcast on a stream", lambda: shmem.nvshmemx_broadcastmem_on_stream(WORLD, target, source, bytes_, 0, stream))
    check("all-to-all on a stream", lambda: shmem.nvshmemx_float_alltoall_on_stream(WORLD, target, source, count, stream))
    shmem.nvshmemx_barrier_all_on_stream(stream)
    device("cuStreamSynchronize", stream)
    for pointer in (source, target):
        shmem.nvshmem_free(pointer)
    shmem.nvshmemx_hostlib_finalize()
    print("finished", flush=True)


def outside(rubia, folder):
    library = find("nvidia-nvshmem-cu13", "nvidia/nvshmem/lib/libnvshmem_host.so.3", folder, "nvshmem/lib/nvshmem_bootstrap_uid")
    # NCCL would do the collectives, where it is installed. It has a test of its own.
    return run(rubia, __file__, library, NVSHMEM_DISABLE_NCCL="1", NVSHMEM_REMOTE_TRANSPORT="none", NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME="lo",
               LD_LIBRARY_PATH=os.path.dirname(library))


if __name__ == "__main__":
    if sys.argv[1] == "--inside":
        inside(sys.argv[2])
    else:
        sys.exit(outside(*sys.argv[1:]))
