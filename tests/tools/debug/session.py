# SPDX-License-Identifier: Apache-2.0
"""Sessions of `rubia debug` on its command line: where kernels stop, what is shown, and how it goes on.
Usage: session.py RUBIA CHECKED-PROGRAM WORK.PTX"""
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

RUBIA, PROGRAM, PTX = sys.argv[1:4]
LINES = open(PTX, encoding="utf-8").read().splitlines()


def line_of(text, after="work("):
    """The line of the PTX that has the text, behind that which has `after`."""
    start = next(i for i, line in enumerate(LINES) if after in line)
    return next(i for i in range(start, len(LINES)) if text in LINES[i]) + 1


# What is optimised has the function inlined, and most registers nowhere.
CALLS = ["--optimise", "O0"]


def debug(commands, kernels=(("work", 64, 1, 64, 64),), options=(), arch="gfx1100"):
    words = [PROGRAM, PTX, *[str(word) for kernel in kernels for word in kernel]]
    return subprocess.run([RUBIA, "debug", "--quiet", "--arch", arch, *options, "--", *words], input="\n".join(commands) + "\n",
                          capture_output=True, text=True, timeout=120)


class Session(unittest.TestCase):
    def shows(self, commands, *wanted, **more):
        """The session prints these lines, in this order; `...` stands for anything."""
        done = debug(commands, **more)
        lines = done.stdout.splitlines()
        for line in wanted:
            pattern = ".*".join(map(re.escape, line.split("...")))
            while lines and not re.fullmatch(pattern, lines[0]):
                lines.pop(0)
            self.assertTrue(lines, f"no line {line}\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}")
            lines.pop(0)
        return done


class Breakpoints(Session):
    def test_of_a_kernel_stop_once_for_each_launch(self):
        self.shows(["break work", "run", "continue", "continue"], "breakpoint 1: work", "breakpoint 1",
                   "kernel work, workgroup (...", "breakpoint 1", "kernel work, ...", "the program has ended with status 0",
                   kernels=[("work", 64, 2, 128, 64)] * 2)

    def test_of_a_line_stop_each_wave(self):
        line = line_of("st.shared")
        done = self.shows([f"break <image>:{line}", "run", "continue", "continue"], "breakpoint 1", "kernel work...",
                          f"<image>:{line}: st.shared.u32 [%r6], %r3;", "breakpoint 1", "kernel work...", "the program has ended with status 0")
        self.assertEqual(set(re.findall(r"wave \d+ lane \d+", done.stdout)), {"wave 0 lane 0", "wave 1 lane 0"})
        self.assertEqual(done.returncode, 0)

    def test_of_a_thread_stop_that_one(self):
        line = line_of("st.shared")
        done = self.shows([f"break {line} thread 37", "run", "print %r3", "continue"],
                          "kernel work, workgroup (0,0,0) thread (37,0,0), wave 1 lane 5", "%r3 = 0x89 = 137 in v...",
                          "the program has ended with status 0")
        self.assertEqual(done.stdout.count("kernel work"), 1)

    def test_of_a_workgroup_and_a_function(self):
        self.shows(["break triple workgroup 1", "run", "continue"], "kernel work, workgroup (1,0,0)...", "the program has ended...",
                   kernels=[("work", 32, 2, 64, 64)], options=CALLS)

    def test_where_nobody_takes_part_stop_nobody(self):
        line = line_of("st.global.u32 [%rd3], %r7")
        done = self.shows([f"break {line}", "run", "continue"], "...thread (0,0,0), wave 0 lane 0", "the program has ended...")
        self.assertEqual(done.stdout.count("kernel work"), 1)  # wave 1 comes by without threads

    def test_of_a_line_without_code_are_at_the_next_one(self):
        line = line_of("ld.param.u64")
        self.shows([f"break {line - 1}", "run"], f"breakpoint 1 is at line {line}...", "breakpoint 1")

    def test_of_nothing_are_told(self):
        done = self.shows(["break nothing", "breakpoints", "run", "breakpoints"], "1: nothing, in no kernel so far", "the program has ended...",
                          "1: nothing, in no kernel so far")
        self.assertEqual(debug(["break a b"]).stderr.count("usage: break"), 1)
        self.assertEqual(done.returncode, 0)

    def test_are_deleted(self):
        done = self.shows(["break work", "start", "delete 1", "continue"], "kernel work...", "the program has ended...",
                          kernels=[("work", 32, 1, 64, 64)] * 2)
        self.assertEqual(done.stdout.count("kernel work"), 1)

    def test_of_a_pc(self):
        first = re.search(r"^(0x[0-9a-f]+): ", debug(["start"]).stdout, re.M).group(1)
        self.shows([f"break *{first} workgroup 0", "run"], "breakpoint 1", f"{first}: ...")


class Steps(Session):
    def test_by_lines_follow_one_thread(self):
        done = debug([f"break {line_of('ld.global')} thread 2", "run", *["next"] * 40])
        lines = [int(number) for number in re.findall(r"^<image>:(\d+)", done.stdout, re.M)]
        self.assertEqual(done.stdout.count("thread (2,0,0)"), len(lines), done.stdout)
        self.assertTrue(all(line >= line_of("ld.param") for line in lines), lines)  # not into the function
        self.assertTrue(all(a != b for a, b in zip(lines, lines[1:])), lines)
        self.assertIn(line_of("st.global.u32 [%rd3], %r7"), lines)
        self.assertIn("the program has ended with status 0", done.stdout)

    def test_of_a_thread_that_leaves_early_end_with_it(self):
        done = debug([f"break {line_of('ld.global')} thread 9", "run", *["step"] * 40])
        lines = [int(number) for number in re.findall(r"^<image>:(\d+)", done.stdout, re.M)]
        self.assertNotIn(line_of("st.global.u32 [%rd3], %r7"), lines)
        self.assertEqual(done.stdout.count("thread (9,0,0)"), len(lines), done.stdout)
        self.assertIn("the program has ended with status 0", done.stdout)

    def test_into_a_function_and_out(self):
        inside = line_of("mul.lo", "triple")
        self.shows(["break triple", "run", "backtrace", "finish", "backtrace"], "breakpoint 1", "#0 triple at <image>:...", "#1 work at <image>:...",
                   "kernel work...", "#0 work at <image>:...", options=CALLS)
        self.shows([f"break {inside}", "run", "print %v1"], f"<image>:{inside}: mul.lo.u32 %v2, %v1, 3;", "%v1 = 0x64 = 100 in memory",
                   options=CALLS)

    def test_by_instructions(self):
        done = debug(["start", "stepi", "stepi", "x 1"])
        pcs = [int(pc, 16) for pc in re.findall(r"^(0x[0-9a-f]+): ", done.stdout, re.M)]
        self.assertEqual(len(pcs), 3)
        self.assertEqual(pcs, sorted(set(pcs)))
        self.assertIn(f"  {pcs[-1]:#x}: ", done.stdout)


class Looking(Session):
    AT = [f"break {line_of('bar.sync')} workgroup 1", "run"]

    def at(self, commands, *wanted):
        return self.shows(self.AT + commands, "breakpoint 1", *wanted, kernels=[("work", 64, 2, 128, 64)])

    def test_at_threads(self):
        done = self.at(["thread 40", "lane 3", "waves", "lanes"], "workgroup (1,0,0) thread (40,0,0), wave 1 lane 8",
                       "workgroup (1,0,0) thread (35,0,0), wave 1 lane 3", "workgroup (1,0,0) wave 1...", "lane 3 thread (35,0,0)")
        self.assertEqual(len(re.findall(r"^lane \d+ thread", done.stdout, re.M)), 32)
        self.assertIn("there is no thread (64,0,0) in a block of (64,1,1)", debug(["start", "thread 64"]).stderr)

    def test_at_registers(self):
        done = self.at(["registers", "print exec", "lanes v0"], "exec = 0x...", "exec = 0xffffffff", "lane 1 thread (1,0,0): 0x...")
        self.assertRegex(done.stdout, r"(?m)^s0 = 0x")
        self.assertIn("'%nothing' is not known here", debug(["start", "print %nothing"]).stderr)

    def test_at_shared_memory(self):
        self.shows([f"break {line_of('bar.sync')} thread 5", "run", "memory shared 0 3 u32", "memory shared 0x14", "memory shared 0x1000"],
                   "0x0: 100 101 102", "0x14: 0x69")

    def test_at_global_memory(self):
        line = line_of("add.s32 %r3")
        done = self.shows([f"break {line} thread 3", "run", "memory global %rd1 4 u32", "memory global %rd3", "memory global 16"], "breakpoint 1",
                          "0x...: 0 1 2 3", "0x...: 0x3", options=CALLS)
        self.assertIn("nothing is allocated at 0x10", done.stderr)

    def test_at_the_source(self):
        line = line_of("bar.sync")
        self.at(["list", "list 1"], f"{line} >   bar.sync 0;", "1   // SPDX-License-Identifier: Apache-2.0")

    def test_while_nothing_stops_is_an_error(self):
        done = debug(["registers", "frobnicate"])
        self.assertIn("the program does not run", done.stderr)
        self.assertIn("there is no command 'frobnicate'", done.stderr)


class Changes(Session):
    def stored(self, change, values, arch="gfx1100", options=()):
        """Of what threads 36 to 38 store, if thread 37 is changed before."""
        self.shows([f"break {line_of('st.shared')} thread 37", f"break {line_of('bar.sync')} thread 37", "run", change, "continue",
                    "memory shared 144 3 u32", "continue"], "breakpoint 2", f"0x90: {values}", "the program has ended with status 0",
                   arch=arch, options=options)

    def test_of_ptx_registers_are_those_of_the_thread(self):
        for arch, options in (("gfx1100", ()), ("gfx1100", CALLS), ("gfx942", ("--warp-form", "packed"))):
            self.stored("set %r3 1000", "136 1000 138", arch, options)
        self.stored("set %r3 -2", "136 4294967294 138")
        self.stored("print %r3", "136 137 138")

    def test_of_predicates(self):
        branch, behind = line_of("@!%p1"), line_of("st.global.u32 [%rd3], %r7")
        for arch in ("gfx1100", "gfx90a"):
            for thread, value, ends in ((2, "false", "the program has ended with status 0"), (40, "true", f"<image>:{behind}...")):
                self.shows([f"break {branch} thread {thread}", f"break {behind} thread {thread}", "run", f"set %p1 {value}", "continue"],
                           f"%p1 = {value} in memory", ends, arch=arch, options=CALLS)

    def test_of_the_processors_registers(self):
        line = line_of("bar.sync")
        done = self.shows([f"break {line} thread 3", "run", "set v0 0x1234", "lanes v0", "set exec 0xf", "set scc 1", "set m0 5", "set s2 77", "set vcc 9"],
                          "v0 = 0x1234", "lane 3 thread (3,0,0): 0x1234", "exec = 0xf", "scc = 0x1", "m0 = 0x5", "s2 = 0x4d", "vcc = 0x9")
        self.assertEqual(len(re.findall(r": 0x1234$", done.stdout, re.M)), 1)
        self.assertEqual(done.stderr, "")

    def test_of_memory(self):
        self.shows([f"break {line_of('bar.sync')} thread 5", "run", "set memory shared 0x14 77 u32", "memory shared 16 3 u32",
                    "set memory shared 20 -1.5 f32", "memory shared 20"], "0x14: 77", "0x10: 104 77 106", "0x14: -1.5", "0x14: 0xbfc00000")
        line = line_of("st.shared")
        self.shows([f"break {line} thread 5", "run", "set memory global %rd3 -7 s16", "memory global %rd3 2 u16"], "0x...: -7", "0x...: 65529 0",
                   options=CALLS)

    def test_that_are_none(self):
        known = debug([f"break {line_of('bar.sync')} thread 3", "run", "print %rd1"], options=CALLS)
        data = int(re.search(r"%rd1 = (0x\w+)", known.stdout).group(1), 16)
        for command, problem in (("set %r3 many", "'many' is not b32"), ("set %r3 4294967296", "'4294967296' is not b32"),
                                 ("set %r3 -2147483649", "is not b32"), ("set %p1 2", "'2' is not pred"), ("set %nothing 1", "is not known here"),
                                 ("set pc 4", "'pc' cannot be set"), ("set v0 0x100000000", "is not a number of 32 bits"), ("set scc 2", "is not"),
                                 ("set exec 0x10000", "lane 16 has no thread"), ("set %r3", "usage: set"), ("set memory shared 0", "usage: set"),
                                 ("set memory shared 0 1 f8", "'f8' is none of"), ("set memory shared 0 -1 u32", "'-1' is not u32"),
                                 ("set memory shared 0x100000 1", "bytes of shared memory"), ("set memory global 16 1", "nothing is allocated"),
                                 (f"set memory global {data + 252} 1 u64", "the memory ends 4 bytes behind")):
            done = debug([f"break {line_of('bar.sync')} thread 3", "run", command, "memory shared 0 16 u32", "print exec"], options=CALLS,
                         kernels=(("work", 16, 1, 64, 64),))
            self.assertIn(problem, done.stderr, command)
            self.assertIn("0x0: 100 101 102 103 104 105 106 107\n0x20: 108 109 110 111 112 113 114 115\nexec = 0xffff\n", done.stdout, command)


class Targets(Session):
    def test_halves_of_registers(self):
        halves = [("halves", 64, 1, 128, 64)]
        behind, end = line_of("st.global.u16 [%rd3+256]"), line_of("ret;", "halves(")
        for arch in ("gfx1100", "gfx90a"):
            done = self.shows([f"break {line_of('st.global.u16 [%rd3],')} thread 5", "run", "print %rd3"], "%rd3 = 0x...", kernels=halves, arch=arch,
                              options=CALLS)
            place = int(re.search(r"%rd3 = (0x\w+)", done.stdout).group(1), 16)  # the same in the next run
            self.shows([f"break {line_of('st.global.u16 [%rd3],')} thread 5", f"break {behind} thread 5", f"break {end} thread 5", "run", "print %h3",
                        "set %h3 -9", "continue", "print %h2", f"memory global {place} 2 s16", "continue", f"memory global {place + 256} 1 u16"],
                       "%h3 = 0xc = 12 in v...", "%h3 = 0xfff7 = 65527 in v...", "%h2 = 0x10a = 266 in v...", "0x...: -9 0", "0x...: 266",
                       arch=arch, kernels=halves)

    def test_of_waves_with_64_lanes(self):
        line = line_of("st.shared")
        for form, wave in (("packed", "wave 0 lane 37"), ("half-filled", "wave 1 lane 5")):
            self.shows([f"break {line} thread 37", "run", "print %r3", "continue"],
                       f"kernel work, workgroup (0,0,0) thread (37,0,0), {wave}", "%r3 = 0x89 = 137 in v...", "the program has ended with status 0",
                       arch="gfx942", options=["--warp-form", form])

    def test_values_are_those_of_the_thread(self):
        for arch in ("gfx1100", "gfx1201", "gfx90a"):
            self.shows([f"break {line_of('bar.sync')} thread 2", "run", "print %r1", "print %r3"], "...thread (2,0,0)...", "%r1 = 0x2 = 2 in v...",
                       "%r3 = 0x66 = 102 in v...", arch=arch)
            for thread, truth in ((2, "true"), (40, "false")):
                self.shows([f"break {line_of('@!%p1')} thread {thread}", "run", "print %p1"], f"...thread ({thread},0,0)...", f"%p1 = {truth} in memory",
                           arch=arch, options=CALLS)


class Ends(Session):
    def test_a_fault_stops(self):
        done = self.shows(["run", "print %rd1", "backtrace", "continue"], "...access outside of any allocation: write of 4 bytes at 0x40...",
                          "kernel wrong...", f"<image>:{line_of('st.global', 'wrong(')}...", "#0 wrong at...", "the program has ended with status 1",
                          kernels=[("wrong", 32, 1, 64, 64)])
        self.assertEqual(done.returncode, 1)

    def test_ctrl_c_stops_a_kernel_that_runs(self):
        words = [PROGRAM, PTX, "endless", "32", "1", "64", "64"]
        with subprocess.Popen([RUBIA, "debug", "--", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            running.stdin.write("run\nprint %r1\nquit\n")
            running.stdin.flush()
            for line in running.stderr:
                if "launch 1" in line:
                    break
            time.sleep(0.3)
            running.send_signal(signal.SIGINT)
            out, _ = running.communicate(timeout=60)
        self.assertRegex(out, r"stopped\nkernel endless")

    def test_nothing_is_left_behind(self):
        with tempfile.TemporaryDirectory() as folder:
            for end in ("quit", "kill", "continue"):
                done = subprocess.run([RUBIA, "debug", "--break", "work", "--", PROGRAM, PTX, "work", "32", "1", "64", "64"],
                                      input=f"run\n{end}\n", capture_output=True, text=True, timeout=60, env=os.environ | {"TMPDIR": folder})
                self.assertIn("breakpoint 1\nkernel work", done.stdout, done.stderr)
                self.assertEqual(os.listdir(folder), [])

    def test_signals_end_the_program_too(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            with tempfile.TemporaryDirectory() as folder:
                words = [PROGRAM, PTX, "endless", "32", "1", "64", "64"]
                with subprocess.Popen([RUBIA, "debug", "--break", "endless", "--", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": folder}) as running:
                    running.stdin.write("run\n")
                    running.stdin.flush()
                    while not running.stdout.readline().startswith("kernel endless"):
                        pass
                    children = pathlib.Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text(encoding="ascii").split()
                    self.assertEqual(len(children), 1)
                    running.send_signal(number)
                    running.wait(timeout=30)
                for _ in range(100):
                    if not os.path.exists(f"/proc/{children[0]}"):
                        break
                    time.sleep(0.1)
                self.assertFalse(os.path.exists(f"/proc/{children[0]}"), number)
                if number != signal.SIGKILL:
                    self.assertEqual((os.listdir(folder), running.returncode), ([], 128 + number))

    def test_a_message_that_is_nested_too_deep_is_none(self):
        """It comes to the program, which goes on without the debugger."""
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{folder}/debugger")
            listener.listen()
            listener.settimeout(60)
            program = subprocess.Popen([RUBIA, "run", "--", PROGRAM, PTX, "work", "64", "1", "64", "64"], stdout=subprocess.PIPE,
                                       env={**os.environ, "RUBIA_DEVICE": "emulator", "RUBIA_EMULATOR_DEBUG": f"{folder}/debugger"})
            connection, _ = listener.accept()
            with connection:
                self.assertIn(b"hello", connection.recv(4096))
                connection.sendall(b"[" * 1000000 + b"\n")
                program.communicate(timeout=60)
            self.assertEqual(program.returncode, 0)

    def test_without_commands_nothing_runs(self):
        self.assertEqual(debug([]).returncode, 0)
        missing = subprocess.run([RUBIA, "debug"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.assertEqual(missing.returncode, 2)

    def test_what_a_program_forks_runs_on(self):
        words = [PROGRAM, PTX, "fork", "work", "32", "1", "64", "64"]
        done = subprocess.run([RUBIA, "debug", "--break", "work", "--", *words], input="run\ncontinue\n", capture_output=True, text=True, timeout=60)
        self.assertIn("the program has ended with status 0", done.stdout, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
