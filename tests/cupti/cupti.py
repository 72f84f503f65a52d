#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's libcupti, unmodified, on our driver: a profiler is told that it cannot profile, and the program that it watches goes on.

Each case is a process of its own, as a crash is what is looked for. The library is that of RUBIA_CUPTI_LIBRARY, else one that is installed; with a
FOLDER it is that of the package index, which is downloaded there. 77: there is none.

Usage: cupti.py RUBIA [FOLDER]
       cupti.py LIBRARY CASE...   under `rubia run`
"""
import ctypes
import glob
import os
import pathlib
import subprocess
import sys
import zipfile

TEXT = b".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out) {\n" \
       b".reg .b64 %d<2>; ld.param.u64 %d1, [out]; st.global.u32 [%d1], 42; ret; }\n"
SUCCESS = 0
# CUPTI_ACTIVITY_KIND_*: copies, fills, kernels, the driver, the runtime, devices, contexts, kernels at the same time.
KINDS = (1, 2, 3, 4, 5, 8, 9, 10)
DRIVER, RUNTIME, RESOURCE, SYNCHRONIZE = 1, 2, 3, 4  # CUPTI_CB_DOMAIN_*


class Program:
    """A program that a profiler watches: one kernel."""

    def __init__(self):
        self.cuda, self.context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self.call("cuCtxSetCurrent", self.context)

    def call(self, name, *arguments):
        code = getattr(self.cuda, name)(*arguments)
        if code:
            sys.exit(f"{name}: {code}")

    def run(self):
        module, function, memory, word = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint32()
        self.call("cuModuleLoadData", ctypes.byref(module), TEXT)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"k")
        self.call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(4))
        values = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
        self.call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, values, None)
        self.call("cuMemcpyDtoH_v2", ctypes.byref(word), memory, ctypes.c_size_t(4))
        if word.value != 42:
            sys.exit(f"the kernel stored {word.value}")


class Profiler:
    BUFFER_ASKED = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    BUFFER_DONE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
    CALLED = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.asked, self.done, self.called = self.BUFFER_ASKED(self.never), self.BUFFER_DONE(self.never), self.CALLED(self.never)
        self.subscriber = ctypes.c_void_p()
        version, time = ctypes.c_uint32(), ctypes.c_uint64()
        if self.call("cuptiGetVersion", ctypes.byref(version)) != SUCCESS or not version.value:
            sys.exit("it has no version")
        print("CUPTI", version.value)
        self.call("cuptiGetTimestamp", ctypes.byref(time))

    def never(self, *_):
        print("a profiler that was refused is called")
        os._exit(1)

    def call(self, name, *arguments):
        code, text = getattr(self.library, name)(*arguments), ctypes.c_char_p()
        self.library.cuptiGetResultString(code, ctypes.byref(text))
        print(name, code, (text.value or b"").decode(), flush=True)
        return code

    def refused(self, name, *arguments):
        if self.call(name, *arguments) == SUCCESS:
            sys.exit(f"{name} should fail")

    def begin(self, case):
        if case == "activity":
            self.refused("cuptiActivityRegisterCallbacks", self.asked, self.done)
            for kind in KINDS:
                self.refused("cuptiActivityEnable", kind)
        elif case == "callbacks":
            self.refused("cuptiSubscribe", ctypes.byref(self.subscriber), self.called, None)
            for domain in (DRIVER, RUNTIME, RESOURCE, SYNCHRONIZE):
                self.refused("cuptiEnableDomain", 1, self.subscriber, domain)
        else:
            parameters = (ctypes.c_size_t * 2)(16, 0)
            self.refused("cuptiProfilerInitialize", ctypes.byref(parameters))

    def end(self, case, program):
        if case == "activity":
            self.refused("cuptiActivityFlushAll", 1)
            for kind in KINDS:
                self.refused("cuptiActivityDisable", kind)
        elif case == "callbacks":
            self.refused("cuptiUnsubscribe", self.subscriber)
        else:
            number, group = ctypes.c_uint32(), ctypes.c_void_p()
            self.refused("cuptiDeviceGetNumEventDomains", 0, ctypes.byref(number))
            self.refused("cuptiDeviceGetNumMetrics", 0, ctypes.byref(number))
            self.refused("cuptiEventGroupCreate", program.context, ctypes.byref(group), 0)


CASES = ("activity", "callbacks", "counters")


def watch(path, order, case):
    """A profiler that is there before CUDA is used, as those of LD_PRELOAD, or comes later, as a framework's."""
    if order == "before":
        profiler = Profiler(path)
        profiler.begin(case)
        program = Program()
    else:
        program = Program()
        profiler = Profiler(path)
        profiler.begin(case)
    program.run()
    profiler.end(case, program)
    program.run()
    print("the end", flush=True)


def find(folder):
    if not folder:
        installed = glob.glob("/usr/local/cuda/lib64/libcupti.so.1?") + glob.glob("/usr/lib/x86_64-linux-gnu/libcupti.so.1?")
        return [path for path in (os.environ.get("RUBIA_CUPTI_LIBRARY"), *installed) if path and os.path.exists(path)][:1]
    found = []
    for package in ("nvidia-cuda-cupti-cu12", "nvidia-cuda-cupti"):
        place = pathlib.Path(folder) / package
        place.mkdir(parents=True, exist_ok=True)
        if not list(place.glob("*.whl")):
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", place, package])
        for path in place.glob("*.whl"):
            with zipfile.ZipFile(path) as wheel:
                wheel.extractall(place, [name for name in wheel.namelist() if "/lib" in name and ".so" in name])
        found += [str(path) for path in place.rglob("libcupti.so.1?")]
    return found


def main():
    if len(sys.argv) == 4:
        return watch(*sys.argv[1:])
    rubia, *folder = sys.argv[1:]
    libraries = find(folder[0] if folder else None)
    if not libraries:
        print("no libcupti.so, and none can be downloaded" if folder else "no libcupti.so is installed")
        sys.exit(77)
    failures = 0
    environment = dict(os.environ, RUBIA_DEVICE="emulator", RUBIA_ARCH="gfx1100")
    for library in libraries:
        for order in ("before", "after"):
            for case in CASES:
                ran = subprocess.run([rubia, "run", "--", sys.executable, "-B", __file__, library, order, case], env=environment,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100)
                if ran.returncode or "the end\n" not in ran.stdout:
                    failures += 1
                    print(f"{library}, {order}, {case}: {ran.returncode}\n{ran.stdout}")
        print(library, "was refused in", 2 * len(CASES), "cases")
    sys.exit(failures != 0)


main()
