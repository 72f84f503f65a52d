#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a run tells by itself: that it waits for the compiler, that a kernel runs for long, and what it did.

Usage: notices.py RUBIA FAULTY_WORKER [unittest arguments]
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

HEAD = ".version 7.0\n.target sm_70\n.address_size 64\n"
# Launches each kernel that is named, by the driver API; `unsupported` is a call.
PROGRAM = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
def call(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    assert result == 0, (name, result)
context, module, function = (ctypes.c_void_p() for _ in range(3))
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
call("cuModuleLoadData", ctypes.byref(module), open(sys.argv[1], "rb").read() + b"\\0")
for name in sys.argv[2:]:
    if name == "unsupported":
        assert cuda.cuVDPAUGetDevice() == 801
        continue
    call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
    call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, None, None)
call("cuCtxSynchronize")
print("done")
"""


class Runs(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "program.py").write_text(PROGRAM)

    def kernels(self, *names):
        file = self.folder / "kernels.ptx"
        file.write_text(HEAD + "".join(f".visible .entry {name}() {{ ret; }}\n" for name in names))
        return [str(file), *names]

    def run_program(self, *words, terminal=False, **environment):
        """What is on stderr, which is a terminal or a pipe."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("RUBIA_", "CUDA_"))}
        environment = clean | {"RUBIA_CACHE_DIR": str(self.folder / "cache"), "RUBIA_DEVICE": "emulator", "RUBIA_WORKER": WORKER,
                               "RUBIA_WORKER_PROCESSES": "1"} | environment
        read, write = os.openpty() if terminal else os.pipe()
        text = []

        def collect():
            try:
                while part := os.read(read, 4096):
                    text.append(part)
            except OSError:  # a terminal whose last writer has gone
                pass

        reader = threading.Thread(target=collect)
        reader.start()
        command = [RUBIA, "run", sys.executable, str(self.folder / "program.py"), *words]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=write, env=environment, timeout=120)
        os.close(write)
        reader.join()
        os.close(read)
        told = b"".join(text).decode().replace("\r\n", "\n")
        self.assertEqual((done.returncode, done.stdout), (0, b"done\n"), told)
        return told


class Notices(Runs):
    def test_waiting_is_told_once_on_a_terminal(self):
        words = self.kernels("sleep_15_1", "sleep_15_2", "sleep_15_3", "sleep_15_4")
        told = self.run_program(*words[:4], terminal=True)
        lines = [line for line in told.splitlines() if "waiting for kernels" in line]
        self.assertEqual(len(lines), 1, told)
        # A busy machine needs more than two seconds for the first one: there is no rate then.
        found = re.fullmatch(r"rubia: waiting for kernels to be compiled: ([0-2]) done in (\d+\.\d) s(?:, (\d\.\d) a second)?\. "
                             r"The loaded modules have ([123]) more(?:: (\d+) s if all are launched)?\. Later runs find them in the cache",
                             lines[0])
        self.assertTrue(found, lines[0])
        done, seconds, rate, left, rest = (group and float(group) for group in found.groups())
        self.assertGreaterEqual(seconds, 2, lines[0])
        # The one that is waited for is among them if it is done, and is neither if it is not.
        self.assertIn(done + left, (3, 4) if done else (3,), lines[0])
        self.assertEqual((rate is None, rest is None), (done == 0, done == 0), lines[0])
        if done:
            self.assertTrue(abs(rate - done / seconds) < 0.1 and abs(rest - left * seconds / done) < 1, lines[0])
        self.assertNotIn("waiting", self.run_program(*words[:4], terminal=True))  # they are in the cache

    def test_one_kernel_that_takes_long_is_told(self):
        told = self.run_program(*self.kernels("sleep_40_1"), terminal=True)
        self.assertRegex(told, r"waiting for kernels to be compiled: 0 done in [23]\.\d s\. Later runs")

    def test_what_is_compiled_ahead_is_told_when_somebody_waits(self):
        told = self.run_program(*self.kernels("sleep_15_1", "sleep_15_2", "sleep_15_3"), terminal=True, RUBIA_COMPILE="eager")
        self.assertEqual(told.count("waiting for kernels"), 1, told)

    def test_short_waits_and_pipes_are_left_alone(self):
        self.assertNotIn("waiting", self.run_program(*self.kernels("sleep_1_1"), terminal=True))
        self.assertNotIn("waiting", self.run_program(*self.kernels("sleep_25_1")))

    def test_a_summary_at_the_end(self):
        words = self.kernels("one", "two") + ["one", "unsupported"]
        told = self.run_program(*words, RUBIA_LOG="info")
        self.assertEqual(told.count("launches: "), 1, told)
        told = told.splitlines()[-1]
        self.assertRegex(told, r"^rubia: kernels: 2, launches: 3; units: 0 from the cache, 2 compiled in \d+\.\d s; "
                               r"unsupported calls: 1, the first is cuVDPAUGetDevice$")
        told = self.run_program(*words[:-1], RUBIA_LOG="info").splitlines()[-1]
        self.assertEqual(told, "rubia: kernels: 2, launches: 3; units: 2 from the cache, 0 compiled in 0.0 s; unsupported calls: 0")
        self.assertNotIn("launches: ", self.run_program(*words[:-1]))

    def test_calls_are_told_with_arguments_and_results(self):
        told = self.run_program(*self.kernels("one"), "one", RUBIA_LOG="debug")
        self.assertRegex(told, r"(?m)^rubia: \d\d:\d\d:\d\d\.\d{6} (\d+)\.\1 cuDevicePrimaryCtxRetain\(context=0x[0-9a-f]+, device=0\): CUDA_SUCCESS, \*context=0x[0-9a-f]+$")
        self.assertRegex(told, r"(?m) cuModuleGetFunction\(.*name=\"one\"\): CUDA_SUCCESS, ")
        self.assertNotIn("cuDevicePrimaryCtxRetain", self.run_program(*self.kernels("one"), "one", RUBIA_LOG="info"))


    def test_a_file_has_the_messages_instead(self):
        words, told = [*self.kernels("one"), "one"], r"rubia: \d\d:\d\d:\d\d\.\d{6} (\d+)\.\d+ kernels: 1, launches: "
        for _ in range(2):  # the second run appends; a relative name is one of the folder at the start
            said = self.run_program(*words, RUBIA_LOG="info", RUBIA_LOG_FILE=str(self.folder / "log"))
            self.assertRegex(said, r"^rubia: device 0 is [^\n]*\n$")  # `rubia run` names it
        processes = re.findall(told, (self.folder / "log").read_text())
        self.assertEqual(len(processes), 2, (self.folder / "log").read_text())
        self.run_program(*words, RUBIA_LOG="info", RUBIA_LOG_FILE=str(self.folder / "log.%p"))
        for path in self.folder.glob("log.*"):
            self.assertIn(path.suffix[1:], {line.split()[2].split(".")[0] for line in path.read_text().splitlines()})
        said = self.run_program(*words, RUBIA_LOG="info", RUBIA_LOG_FILE="/nowhere/log")
        self.assertEqual(said.count("RUBIA_LOG_FILE: /nowhere/log: No such file or directory; messages go to stderr"), 1, said)
        self.assertIn("kernels: 1, launches: ", said)


class LongKernels(Runs):
    """Takes eleven seconds: the label `long`."""

    def test_a_kernel_that_runs_for_long_is_told_once(self):
        file = self.folder / "spin.ptx"
        file.write_text(HEAD + """.visible .entry spin() {
.reg .u64 %rd<4>; .reg .u32 %r1; .reg .pred %p<2>;
mov.u32 %r1, %ctaid.x;
setp.lt.u32 %p0, %r1, 4;
@%p0 ret;
mov.u64 %rd1, %globaltimer;
again: mov.u64 %rd2, %globaltimer;
sub.u64 %rd3, %rd2, %rd1;
setp.lt.u64 %p1, %rd3, 11000000000;
@%p1 bra again;
ret; }""")
        (self.folder / "program.py").write_text(PROGRAM.replace("function, 1,", "function, 8,"))
        told = self.run_program(str(file), "spin", RUBIA_WORKER="")
        self.assertEqual(told.count("has run for"), 1, told)
        self.assertRegex(told, r"rubia emulator: kernel spin has run for 1\d s: 4 of 8 workgroups are done, about 1\d s are left; "
                               r"RUBIA_EMULATOR_TIMEOUT=SECONDS ends launches in which nothing goes on")


if __name__ == "__main__":
    RUBIA, WORKER = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *(sys.argv[3:] or ["Notices"])])
