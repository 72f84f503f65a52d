#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launches graphs with kernel `k` of a PTX file, which adds 1 to each of 64 words, through libcuda.so.1, and looks at what comes of it.

A graph sets 64 words to 5, adds 1, copies them, and in a child graph adds 1 to the copy.
twice: it is launched twice; before the second launch its first kernel gets other memory.
whole: memory is allocated in it, so that it cannot be taken apart.
disabled: the kernel of the graph is disabled.

Usage: launch_graph.py FILE twice|whole|disabled
"""
import ctypes
import pathlib
import sys

cuda = ctypes.CDLL("libcuda.so.1")
mode = sys.argv[2]
WORDS, BYTES = 64, 256
KERNEL_NODE = 0


class KernelNode(ctypes.Structure):
    _fields_ = [("function", ctypes.c_void_p), ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
                ("values", ctypes.c_void_p), ("extra", ctypes.c_void_p), ("kernel", ctypes.c_void_p), ("context", ctypes.c_void_p)]


def check(status):
    if status:
        raise SystemExit(f"status {status}")


def handle():
    return ctypes.c_void_p()


def capture(work):
    """A graph of what `work` does with a stream."""
    stream, graph = handle(), handle()
    check(cuda.cuStreamCreate(ctypes.byref(stream), 1))
    check(cuda.cuStreamBeginCapture_v2(stream, 2))
    work(stream)
    check(cuda.cuStreamEndCapture(stream, ctypes.byref(graph)))
    check(cuda.cuStreamDestroy_v2(stream))
    return graph


def launch(stream, buffer):
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(buffer))
    check(cuda.cuLaunchKernel(function, 1, 1, 1, WORDS, 1, 1, 0, stream, parameters, None))


def words(buffer):
    got = (ctypes.c_uint32 * WORDS)()
    check(cuda.cuMemcpyDtoH_v2(got, buffer, ctypes.c_size_t(BYTES)))
    assert len(set(got)) == 1, list(got)
    return got[0]


def kernel_node(graph):
    count = ctypes.c_size_t()
    check(cuda.cuGraphGetNodes(graph, None, ctypes.byref(count)))
    nodes = (ctypes.c_void_p * count.value)()
    check(cuda.cuGraphGetNodes(graph, nodes, ctypes.byref(count)))
    for node in map(ctypes.c_void_p, nodes):
        kind = ctypes.c_int()
        check(cuda.cuGraphNodeGetType(node, ctypes.byref(kind)))
        if kind.value == KERNEL_NODE:
            return node
    raise SystemExit("no kernel")


context, module, function = handle(), handle(), handle()
check(cuda.cuInit(0))
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cuda.cuCtxSetCurrent(context))
check(cuda.cuModuleLoadData(ctypes.byref(module), ctypes.c_char_p(pathlib.Path(sys.argv[1]).read_bytes())))
check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"k"))
buffers = [handle() for _ in range(3)]
for one in buffers:
    check(cuda.cuMemAlloc_v2(ctypes.byref(one), ctypes.c_size_t(BYTES)))
    check(cuda.cuMemsetD32_v2(one, 40, ctypes.c_size_t(WORDS)))
check(cuda.cuCtxSynchronize())  # streams that do not block do not wait for the legacy stream, which fills
first, second, third = buffers


def main_part(stream):
    if mode == "whole":
        scratch = handle()
        check(cuda.cuMemAllocAsync(ctypes.byref(scratch), ctypes.c_size_t(BYTES), stream))
        check(cuda.cuMemFreeAsync(scratch, stream))
    check(cuda.cuMemsetD32Async(first, 5, ctypes.c_size_t(WORDS), stream))
    launch(stream, first)
    check(cuda.cuMemcpyDtoDAsync_v2(second, first, ctypes.c_size_t(BYTES), stream))


graph, executable, stream, last = capture(main_part), handle(), handle(), handle()
child = capture(lambda stream: launch(stream, second))
count = ctypes.c_size_t()
check(cuda.cuGraphGetNodes(graph, None, ctypes.byref(count)))
nodes = (ctypes.c_void_p * count.value)()
check(cuda.cuGraphGetNodes(graph, nodes, ctypes.byref(count)))
check(cuda.cuGraphAddChildGraphNode(ctypes.byref(last), graph, nodes, count, child))
check(cuda.cuGraphInstantiateWithFlags(ctypes.byref(executable), graph, ctypes.c_uint64(0)))
node = kernel_node(graph)
if mode == "disabled":
    check(cuda.cuGraphNodeSetEnabled(executable, node, 0))
check(cuda.cuStreamCreate(ctypes.byref(stream), 1))
check(cuda.cuGraphLaunch(executable, stream))
check(cuda.cuStreamSynchronize(stream))
assert [words(one) for one in buffers] == ([5, 6, 40] if mode == "disabled" else [6, 7, 40]), [words(one) for one in buffers]
if mode == "twice":
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(third))
    changed = KernelNode(function, (1, 1, 1), (WORDS, 1, 1), 0, ctypes.addressof(parameters), None, None, None)
    check(cuda.cuGraphExecKernelNodeSetParams_v2(executable, node, ctypes.byref(changed)))
    check(cuda.cuGraphDestroy(graph))  # what was made from it stays
    check(cuda.cuGraphLaunch(executable, stream))
    check(cuda.cuStreamSynchronize(stream))
    assert [words(one) for one in buffers] == [5, 6, 41], [words(one) for one in buffers]
check(cuda.cuGraphExecDestroy(executable))
print("done")
