# SPDX-License-Identifier: Apache-2.0
"""What the tests of closed libraries share: a library out of its wheel, calls that must succeed, device memory."""
import ctypes
import os
import pathlib
import subprocess
import sys
import zipfile


def find(package, library, folder, *wanted):
    """The path of `library` of a wheel of the package index, with the other files whose names contain one of `wanted`."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    wheels = package.replace("-", "_") + "*.whl"
    if not list(folder.glob(wheels)):
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, package])
    for path in folder.glob(wheels):
        with zipfile.ZipFile(path) as wheel:
            wheel.extractall(folder, [name for name in wheel.namelist() if any(part in name for part in (library, *wanted))])
        return str(folder / library)
    print(f"{package} cannot be downloaded")
    sys.exit(77)


class Library:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def __call__(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        assert code == 0, (name, code)


class Device(Library):
    """The driver, with device 0's primary context."""

    def __init__(self):
        super().__init__("libcuda.so.1")
        context = ctypes.c_void_p()
        self("cuInit", 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self("cuCtxSetCurrent", context)

    def room(self, size):
        pointer = ctypes.c_void_p()
        self("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(size, 256)))
        return pointer

    def put(self, values):
        """A copy of an array.array, until the process ends."""
        data = values.tobytes()
        pointer = self.room(len(data))
        self("cuMemcpyHtoD_v2", pointer, data, ctypes.c_size_t(len(data)))
        return pointer

    def get(self, pointer, size):
        self("cuCtxSynchronize")
        data = ctypes.create_string_buffer(size)
        self("cuMemcpyDtoH_v2", data, pointer, ctypes.c_size_t(size))
        return data.raw


def run(rubia, script, *arguments, **environment):
    """The exit status of `script --inside ARGUMENTS`, under Rubia. It prints "finished" at its end."""
    done = subprocess.run([rubia, "run", "--device", "emulator", "--", sys.executable, "-B", script, "--inside", *arguments],
                          text=True, stdout=subprocess.PIPE, env=dict(os.environ, **environment))
    print(done.stdout)
    return done.returncode or "finished" not in done.stdout
