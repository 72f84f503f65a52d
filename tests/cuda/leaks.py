# SPDX-License-Identifier: Apache-2.0
"""What a program has destroyed leaves nothing on the heap: objects of each kind are made and destroyed again and again.

  leaks.py LIBCUDA [KIND ...]

Prints the bytes of the heap that each kind leaves for an object. Lists grow by steps, and threads free later: some measurements may
differ, but not all. Exits with 1 if none of a kind is within MOST."""
import ctypes
import sys

cuda = ctypes.CDLL(sys.argv[1])
libc = ctypes.CDLL(None)
MOST = 16.0  # bytes for an object: half of malloc's least piece
MEASUREMENTS = 10
PTX = b".version 7.0\n.target sm_80\n.address_size 64\n.global .u32 word;\n.visible .entry k() { ret; }\n\0"


class Heap(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]


libc.mallinfo2.restype = Heap


def heap():
    info = libc.mallinfo2()
    return info.uordblks + info.hblkhd


def cu(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    if status:
        raise SystemExit(f"{name}: {status}")


def handle(name, *arguments):
    made = ctypes.c_void_p()
    cu(name, ctypes.byref(made), *arguments)
    return made


def words(*values):
    return (ctypes.c_uint32 * len(values))(*values)


def pool():
    properties = words(*([1, 0, 1, 0] + [0] * 20))
    cu("cuMemPoolDestroy", handle("cuMemPoolCreate", properties))


def pool_that_gave():
    properties = words(*([1, 0, 1, 0] + [0] * 20))
    made = handle("cuMemPoolCreate", properties)
    memory = handle("cuMemAllocFromPoolAsync", ctypes.c_size_t(64), made, None)
    cu("cuMemFreeAsync", memory, None)
    cu("cuStreamSynchronize", None)
    cu("cuMemPoolDestroy", made)


def stream():
    cu("cuStreamDestroy_v2", handle("cuStreamCreate", 1))


def stream_that_worked():
    made = handle("cuStreamCreate", 1)
    cu("cuMemsetD32Async", buffer, 1, ctypes.c_size_t(4), made)
    cu("cuStreamSynchronize", made)
    cu("cuStreamDestroy_v2", made)


def event():
    made = handle("cuEventCreate", 0)
    cu("cuEventRecord", made, None)
    cu("cuEventSynchronize", made)
    cu("cuEventDestroy_v2", made)


def memory():
    cu("cuMemFree_v2", handle("cuMemAlloc_v2", ctypes.c_size_t(4096)))


def host_memory():
    cu("cuMemFreeHost", handle("cuMemAllocHost_v2", ctypes.c_size_t(4096)))


def managed_memory():
    cu("cuMemFree_v2", handle("cuMemAllocManaged", ctypes.c_size_t(4096), 1))


def array():
    description = (ctypes.c_size_t * 3)(16, 16, 0x20 | 1 << 32)  # f32, one channel
    cu("cuArrayDestroy", handle("cuArrayCreate_v2", description))


def texture():
    description = (ctypes.c_size_t * 3)(16, 16, 0x20 | 1 << 32)
    of = handle("cuArrayCreate_v2", description)
    resource = (ctypes.c_size_t * 18)(0, of.value)  # CU_RESOURCE_TYPE_ARRAY
    made = ctypes.c_uint64()
    cu("cuTexObjectCreate", ctypes.byref(made), resource, words(*([0] * 26)), None)
    cu("cuTexObjectDestroy", made)
    cu("cuArrayDestroy", of)


def module():
    cu("cuModuleUnload", handle("cuModuleLoadData", PTX))


def module_that_was_asked():
    made = handle("cuModuleLoadData", PTX)
    function = handle("cuModuleGetFunction", made, b"k")
    cu("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, None, None)
    address, size = ctypes.c_void_p(), ctypes.c_size_t()
    cu("cuModuleGetGlobal_v2", ctypes.byref(address), ctypes.byref(size), made, b"word")
    cu("cuCtxSynchronize")
    cu("cuModuleUnload", made)


def library():
    cu("cuLibraryUnload", handle("cuLibraryLoadData", PTX, None, None, 0, None, None, 0))


def linker():
    made = ctypes.c_void_p()
    cu("cuLinkCreate_v2", 0, None, None, ctypes.byref(made))
    cu("cuLinkDestroy", made)


def graph():
    made = handle("cuGraphCreate", 0)
    node = ctypes.c_void_p()
    cu("cuGraphAddEmptyNode", ctypes.byref(node), made, None, ctypes.c_size_t(0))
    executable = handle("cuGraphInstantiateWithFlags", made, ctypes.c_uint64(0))
    cu("cuGraphLaunch", executable, None)
    cu("cuStreamSynchronize", None)
    cu("cuGraphExecDestroy", executable)
    cu("cuGraphDestroy", made)


def captured_graph():
    made = handle("cuStreamCreate", 1)
    cu("cuStreamBeginCapture_v2", made, 0)
    cu("cuMemsetD32Async", buffer, 1, ctypes.c_size_t(4), made)
    found = ctypes.c_void_p()
    cu("cuStreamEndCapture", made, ctypes.byref(found))
    cu("cuGraphDestroy", found)
    cu("cuStreamDestroy_v2", made)


def addresses():
    made = ctypes.c_void_p()
    cu("cuMemAddressReserve", ctypes.byref(made), ctypes.c_size_t(2 << 20), ctypes.c_size_t(0), None, ctypes.c_uint64(0))
    cu("cuMemAddressFree", made, ctypes.c_size_t(2 << 20))


def mapped_memory():
    properties = words(*([1, 0, 1, 0] + [0] * 8))
    size, made, place = ctypes.c_size_t(2 << 20), ctypes.c_uint64(), ctypes.c_void_p()
    cu("cuMemCreate", ctypes.byref(made), size, properties, ctypes.c_uint64(0))
    cu("cuMemAddressReserve", ctypes.byref(place), size, ctypes.c_size_t(0), None, ctypes.c_uint64(0))
    cu("cuMemMap", place, size, ctypes.c_size_t(0), made, ctypes.c_uint64(0))
    cu("cuMemUnmap", place, size)
    cu("cuMemRelease", made)
    cu("cuMemAddressFree", place, size)


def user_object():
    made = handle("cuUserObjectCreate", None, NOTHING, 1, 1)
    cu("cuUserObjectRelease", made, 1)


def host_function():
    cu("cuLaunchHostFunc", None, NOTHING, None)
    cu("cuStreamSynchronize", None)


def event_that_stays():
    handle("cuEventCreate", 0)


NOTHING = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)
KINDS = (pool, pool_that_gave, stream, stream_that_worked, event, memory, host_memory, managed_memory, array, texture, module, module_that_was_asked,
         library, linker, graph, captured_graph, addresses, mapped_memory, user_object, host_function)
cu("cuInit", 0)
device = ctypes.c_int()
cu("cuDeviceGet", ctypes.byref(device), 0)
context = handle("cuDevicePrimaryCtxRetain", device)
cu("cuCtxSetCurrent", context)
buffer = handle("cuMemAlloc_v2", ctypes.c_size_t(4096))


def gain(make_and_destroy):
    """Bytes that an object leaves."""
    rounds = 200 if make_and_destroy in (module, module_that_was_asked, library) else 500
    left = MOST + 1
    for _ in range(MEASUREMENTS):
        before = heap()
        for _ in range(rounds):
            make_and_destroy()
        left = (heap() - before) / rounds
        if abs(left) <= MOST:
            break
    return left


gaining = []
for kind in [globals()[name] for name in sys.argv[2:]] or KINDS:
    found = gain(kind)
    print(f"{kind.__name__}: {found:.1f} bytes")
    if abs(found) > MOST:
        gaining.append(kind.__name__)
if gaining:
    sys.exit("what is destroyed stays: " + ", ".join(gaining))
