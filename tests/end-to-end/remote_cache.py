#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The remote tier of the kernel cache: what machines share by it, and that no server, however bad, changes a
result, ends a program or holds it up for long.

Usage: remote_cache.py RUBIA [TEST...]

FAULTY_WORKER in the environment: the worker with defects (tests/tools). LongRecovery takes half a minute, and runs if it is named.
"""
import http.server
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "tools"))
import side_by_side

HEADER = ".version 7.0\n.target sm_70\n.address_size 64\n"
SHORT = {"RUBIA_CACHE_REMOTE_TIMEOUT": 500}  # where the whole time is waited for


def kernel(name, value):
    return (f".visible .entry {name}(.param .u64 p)\n{{\n.reg .b64 %d1;\n.reg .b32 %r1;\n"
            f"ld.param.u64 %d1, [p];\nmov.u32 %r1, {value};\nst.global.u32 [%d1], %r1;\nret;\n}}\n")


class Handler(http.server.BaseHTTPRequestHandler):
    """Keeps what is PUT. `bad` of the server, if there is one, answers a GET instead."""
    protocol_version = "HTTP/1.1"
    timeout = 20

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in ({"Content-Length": len(body)} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def record(self):
        self.server.requests.append((self.command, self.path))

    def do_GET(self):
        self.record()
        if self.server.bad:
            try:
                return self.server.bad(self)
            except (BrokenPipeError, ConnectionResetError):
                return  # the client had enough
            finally:
                self.close_connection = True
        body = self.server.entries.get(self.path)
        self.answer(404 if body is None else 200, body or b"")

    do_HEAD = do_GET

    def do_PUT(self):
        self.record()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.refuses:
            return self.answer(self.server.refuses)
        self.server.entries[self.path] = body
        self.answer(201)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.entries, self.requests, self.bad, self.refuses = {}, [], None, None
        self.url = f"http://127.0.0.1:{self.server_address[1]}/cache"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def count(self, command):
        return sum(c == command for c, _ in self.requests)


class RemoteTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rubia-remote-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.server = Server()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.values = range(1, 2)
        self.write_kernels()

    def write_kernels(self):
        self.ptx = self.folder / "k.ptx"
        self.ptx.write_text(HEADER + "".join(kernel(f"k{i}", i) for i in self.values))

    def environment(self, machine, **more):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("RUBIA_", "CUDA_")) and not k.lower().endswith("_proxy")}
        return clean | {"HOME": str(self.folder), "RUBIA_CACHE_DIR": str(self.folder / machine), "RUBIA_LOG": "warn",
                        "RUBIA_CACHE_REMOTE": self.server.url, "RUBIA_CACHE_REMOTE_TIMEOUT": "10000"} | \
            {k: str(v) for k, v in more.items()}

    def run_on(self, machine, expect=0, **more):
        """Launches every kernel as one program on a machine with a cache directory of its own."""
        batch = self.folder / "batch"
        out = self.folder / "out"
        batch.write_text("".join(f"--entry k{i} --grid 1 --block 1 zero:4:{out}{i}\n" for i in self.values))
        for i in self.values:
            pathlib.Path(f"{out}{i}").unlink(missing_ok=True)
        begin = time.monotonic()
        done = subprocess.run([RUBIA, "launch", "--device", "emulator", "--arch", "gfx1100", str(self.ptx), "--batch", str(batch)],
                              env=self.environment(machine, **more), capture_output=True, text=True, timeout=120)
        self.seconds = time.monotonic() - begin
        self.log = done.stderr
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        if expect == 0:
            for i in self.values:
                self.assertEqual(int.from_bytes(pathlib.Path(f"{out}{i}").read_bytes(), "little"), i)
        return self.stats(machine)

    def stats(self, machine):
        text = subprocess.run([RUBIA, "cache", "stats", "--json"], env=self.environment(machine), capture_output=True,
                              text=True, check=True).stdout
        return {k: v for k, v in json.loads(text)["directory"]["events"].items() if v}

    def fill(self, **more):
        """Another machine stores everything."""
        stats = self.run_on("filler", RUBIA_CACHE_REMOTE_WRITE=1, **more)
        # A request is counted before its body is there.
        self.wait_for(lambda: min(self.server.count("PUT"), len(self.server.entries)) >= 1 + len(self.values))
        self.server.requests.clear()
        return stats

    def wait_for(self, condition):
        end = time.monotonic() + 20
        while not condition() and time.monotonic() < end:
            time.sleep(0.01)
        self.assertTrue(condition())

    def cache_lines(self):
        return [line for line in self.log.splitlines() if "cache" in line]


class Sharing(RemoteTest):
    def test_one_machine_compiles_and_the_other_does_not(self):
        stats = self.fill()
        self.assertEqual((stats["compiled"], stats["remote misses: no entry"]), (2, 2))
        self.assertEqual(len(self.server.entries), 2)
        stats = self.run_on("second")
        self.assertEqual(stats["remote hits"], 2)
        self.assertNotIn("compiled", stats)
        self.assertEqual(self.cache_lines(), [])
        # from then on it is in the directory, byte for byte what the first one has
        stats = self.run_on("second", RUBIA_CACHE_REMOTE="")
        self.assertEqual((stats["directory hits"], stats["remote hits"]), (2, 2))
        names = lambda machine: {p.relative_to(self.folder / machine): p.read_bytes() for p in (self.folder / machine).rglob("*.rubia")}
        self.assertEqual(names("filler"), names("second"))
        self.assertEqual({"/cache/" + str(p): b for p, b in names("filler").items()}, self.server.entries)

    def test_what_may_not_be_compiled_is_fetched(self):
        self.run_on("second", expect=1, RUBIA_COMPILE="never")
        self.assertIn("forbids to compile", self.log)
        self.fill()
        stats = self.run_on("third", RUBIA_COMPILE="never")
        self.assertEqual(stats["remote hits"], 2)
        self.assertNotIn("compiled", stats)

    def test_what_may_not_be_compiled_while_the_server_is_away(self):
        self.server.bad = lambda handler: handler.answer(500)
        self.run_on("second", expect=1, RUBIA_COMPILE="never")
        self.assertIn("the remote cache does not answer", self.log)

    def test_large_entries(self):
        random.seed(1)
        words = ", ".join(str(random.getrandbits(64)) for _ in range(200_000))
        self.ptx.write_text(HEADER + f".visible .global .align 8 .u64 table[200000] = {{{words}}};\n" + kernel("k1", 1))
        self.fill()
        self.assertGreater(max(map(len, self.server.entries.values())), 1_600_000)
        stats = self.run_on("second")
        self.assertEqual(stats["remote hits"], 2)

    def test_nothing_is_written_unless_asked_for(self):
        self.run_on("second")
        time.sleep(0.2)
        self.assertEqual(self.server.count("PUT"), 0)
        self.assertEqual(self.server.entries, {})

    def test_what_is_there_is_not_written_again(self):
        self.fill()
        self.server.entries = dict(self.server.entries)
        real, self.server.bad = self.server.entries, lambda h: h.answer(404 if h.command == "GET" else 200)
        self.run_on("second", RUBIA_CACHE_REMOTE_WRITE=1)
        self.wait_for(lambda: self.server.count("HEAD") == 2)
        self.assertEqual(self.server.count("PUT"), 0)
        self.assertEqual(self.server.entries, real)

    def test_errors_stay_at_home(self):
        self.ptx.write_text(HEADER + kernel("k1", 1).replace("mov.u32 %r1, 1;", "mov.u32 %r1, %clusterid.x;\nfrobnicate;"))
        self.run_on("second", expect=1, RUBIA_CACHE_REMOTE_WRITE=1)
        time.sleep(0.2)
        for path, body in self.server.entries.items():
            self.assertIn(b"kind=manifest", body)

    def test_many_programs_ask_once(self):
        self.fill()
        batch = self.folder / "batch"
        programs = [subprocess.Popen([RUBIA, "launch", "--device", "emulator", "--arch", "gfx1100", str(self.ptx), "--batch", str(batch)],
                                     env=self.environment("second"), stderr=subprocess.DEVNULL) for _ in range(6)]
        for program in programs:
            self.assertEqual(program.wait(60), 0)
        self.assertEqual(self.stats("second")["remote hits"], 2)
        self.assertEqual(self.server.count("GET"), 2)

    def test_precompiling_fills_it(self):
        subprocess.run([RUBIA, "precompile", str(self.ptx), "--arch", "gfx1100", "-o", str(self.folder / "farm"), "--progress", "off"],
                       env=self.environment("filler", RUBIA_CACHE_REMOTE_WRITE=1), check=True, capture_output=True)
        self.wait_for(lambda: self.server.count("PUT") == 2)
        self.assertEqual(self.run_on("second")["remote hits"], 2)

    def test_no_cache_means_no_remote_either(self):
        self.fill()
        self.run_on("second", RUBIA_CACHE_DISABLE=1)
        self.assertEqual(self.server.requests, [])

    def test_nonsense_is_said(self):
        for name, value in (("RUBIA_CACHE_REMOTE", "ftp://nowhere"), ("RUBIA_CACHE_REMOTE_WRITE", "yes"),
                            ("RUBIA_CACHE_REMOTE_TIMEOUT", "soon")):
            self.run_on("machine-" + name, **{name: value})
            self.assertTrue(any(f"{name} is '{value}', expected" in line for line in self.cache_lines()), self.log)


class Signatures(RemoteTest):
    def key(self, name):
        path = self.folder / name
        subprocess.run([RUBIA, "cache", "keygen", str(path)], check=True)
        return path

    def test_entries_are_signed_and_checked(self):
        ours, theirs = self.key("ours"), self.key("theirs")
        self.fill(RUBIA_CACHE_SIGNING_KEY=ours)
        for body in self.server.entries.values():
            self.assertEqual(body[-104:-96], b"RUBIASIG")
        self.assertEqual(self.run_on("trusting", RUBIA_CACHE_PUBLIC_KEYS=f"{theirs}.pub:{ours}.pub")["remote hits"], 2)
        self.assertEqual(self.run_on("careless")["remote hits"], 2)
        stats = self.run_on("strict", RUBIA_CACHE_PUBLIC_KEYS=f"{theirs}.pub")
        self.assertEqual((stats["compiled"], stats["remote misses: damaged or not trusted entry"]), (2, 2))
        self.assertEqual(len(self.cache_lines()), 1, self.log)
        self.assertIn("who is not trusted", self.log)

    def test_unsigned_entries_are_not_believed_and_not_replaced_unsigned(self):
        ours = self.key("ours")
        self.fill()
        before = dict(self.server.entries)
        stats = self.run_on("strict", RUBIA_CACHE_PUBLIC_KEYS=f"{ours}.pub", RUBIA_CACHE_REMOTE_WRITE=1)
        self.assertEqual((stats["compiled"], stats["remote misses: damaged or not trusted entry"]), (2, 2))
        self.assertIn("is not signed", self.log)
        self.wait_for(lambda: self.server.count("HEAD") == 2)
        self.assertEqual(self.server.entries, before)
        self.run_on("signing", RUBIA_CACHE_PUBLIC_KEYS=f"{ours}.pub", RUBIA_CACHE_REMOTE_WRITE=1, RUBIA_CACHE_SIGNING_KEY=ours)
        self.wait_for(lambda: self.server.count("PUT") == 2)
        self.assertEqual(self.run_on("second", RUBIA_CACHE_PUBLIC_KEYS=f"{ours}.pub")["remote hits"], 2)

    def test_a_changed_signature(self):
        ours = self.key("ours")
        self.fill(RUBIA_CACHE_SIGNING_KEY=ours)
        self.server.entries = {path: body[:-1] + bytes([body[-1] ^ 1]) for path, body in self.server.entries.items()}
        for machine, keys in (("strict", f"{ours}.pub"), ("careless", "")):
            stats = self.run_on(machine, RUBIA_CACHE_PUBLIC_KEYS=keys)
            self.assertEqual(stats["compiled"], 2)

    def test_a_missing_signing_key_is_said(self):
        self.run_on("victim", RUBIA_CACHE_REMOTE_WRITE=1, RUBIA_CACHE_SIGNING_KEY=self.folder / "none")
        self.assertIn("none: No such file", self.log)
        time.sleep(0.2)
        self.assertEqual(self.server.requests, [])

    def test_what_others_could_change_on_the_way_is_said(self):
        ours = self.key("ours")

        def warns(url, **more):
            shutil.rmtree(self.folder / "victim", ignore_errors=True)
            self.run_on("victim", RUBIA_CACHE_REMOTE=url, **more)
            return "is not encrypted" in self.log
        for host in ("rubia.invalid", "user:word@rubia.invalid", "127.rubia.invalid", "rubia.invalid?@localhost"):
            self.assertTrue(warns(f"http://{host}/cache"), host)
            self.assertNotIn("word", self.log)
        self.assertFalse(warns("http://rubia.invalid/cache", RUBIA_CACHE_PUBLIC_KEYS=f"{ours}.pub"))
        self.assertFalse(warns("https://rubia.invalid/cache"))
        self.assertFalse(warns(self.server.url))


class TakenOver(RemoteTest):
    def test_an_entry_that_nobody_asked_for_is_neither_signed_nor_stored(self):
        self.ptx.write_text(HEADER + kernel("forge_1", 1))
        done = subprocess.run([RUBIA, "launch", "--device", "emulator", "--arch", "gfx1100", str(self.ptx), "--entry", "forge_1", "zero:4"],
                              env=self.environment("machine", RUBIA_WORKER=os.environ["FAULTY_WORKER"], RUBIA_CACHE_REMOTE_WRITE=1),
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("what a compile process made of unit 0 is that of another key; it is not stored remotely", done.stderr)
        self.wait_for(lambda: len(self.server.entries) == 2)
        entries = {"/cache/" + str(p.relative_to(self.folder / "machine")): p.read_bytes() for p in (self.folder / "machine").rglob("*.rubia")}
        self.assertEqual(self.server.entries, entries)


class BadServers(RemoteTest):
    """Each case: the result is right, everything was compiled, and the log says one line."""

    def expect_compiled(self, reason, seconds=10, **more):
        stats = self.run_on("victim", **more)
        self.assertEqual(stats["compiled"], 2, stats)
        self.assertEqual(stats.get("remote misses: " + reason), 2, stats)
        self.assertLess(self.seconds, seconds)
        self.assertEqual(len(self.cache_lines()), 1, self.log)
        self.assertNotIn("remote hits", stats)

    def change_bodies(self, change):
        self.fill()
        self.server.entries = {path: change(body) for path, body in self.server.entries.items()}

    def test_a_flipped_bit(self):
        self.change_bodies(lambda b: b[:200] + bytes([b[200] ^ 1]) + b[201:])
        self.expect_compiled("damaged or not trusted entry")

    def test_a_shorter_entry(self):
        self.change_bodies(lambda b: b[:-1])
        self.expect_compiled("damaged or not trusted entry")

    def test_an_empty_entry(self):
        self.change_bodies(lambda b: b"")
        self.expect_compiled("damaged or not trusted entry")

    def test_the_login_page_of_a_hotel(self):
        self.change_bodies(lambda b: b"<html>Welcome</html>")
        self.expect_compiled("damaged or not trusted entry")

    def test_entries_under_each_others_names(self):
        self.fill()
        a, b = self.server.entries
        self.server.entries[a], self.server.entries[b] = self.server.entries[b], self.server.entries[a]
        self.expect_compiled("damaged or not trusted entry")

    def test_a_damaged_entry_is_written_anew(self):
        self.change_bodies(lambda b: b[:-1])
        self.run_on("victim", RUBIA_CACHE_REMOTE_WRITE=1)
        self.wait_for(lambda: self.server.count("PUT") == 2)
        self.assertEqual(self.server.count("HEAD"), 0)
        self.assertEqual(self.run_on("second")["remote hits"], 2)

    def test_a_transfer_that_breaks_off(self):
        self.fill()
        entries = self.server.entries

        def bad(handler):
            body = entries[handler.path]
            handler.answer(200, body[:len(body) // 2], Content_Length=len(body))
        self.server.bad = bad
        self.expect_compiled("no answer")

    def test_a_slow_server(self):
        self.fill()
        entries = self.server.entries

        def bad(handler):
            handler.answer(200, Content_Length=1000)
            for byte in entries[handler.path]:
                handler.wfile.write(bytes([byte]))
                time.sleep(0.05)
        self.server.bad = bad
        self.expect_compiled("no answer", **SHORT)

    def test_a_server_that_says_nothing(self):
        self.server.bad = lambda handler: time.sleep(10)
        self.expect_compiled("no answer", **SHORT)

    def test_errors_of_the_server(self):
        for status in (500, 503, 401, 204):
            with self.subTest(status):
                shutil.rmtree(self.folder / "victim", ignore_errors=True)
                self.server.bad = lambda handler, status=status: handler.answer(status)
                self.expect_compiled("no answer")
                self.assertIn(f"status {status}", self.log)

    def test_redirections_are_not_followed(self):
        self.fill()
        elsewhere = Server()
        self.addCleanup(elsewhere.server_close)
        self.addCleanup(elsewhere.shutdown)
        elsewhere.entries = self.server.entries
        self.server.bad = lambda handler: handler.answer(302, Location=elsewhere.url.removesuffix("/cache") + handler.path)
        self.expect_compiled("no answer")
        self.assertEqual(elsewhere.requests, [])

    def test_an_answer_that_is_said_to_be_huge(self):
        self.server.bad = lambda handler: handler.answer(200, Content_Length=1 << 40)
        self.expect_compiled("no answer")

    def test_an_answer_without_end(self):
        def bad(handler):
            handler.send_response(200)
            handler.send_header("Transfer-Encoding", "chunked")
            handler.end_headers()
            chunk = b"100000\r\n" + b"x" * (1 << 20) + b"\r\n"
            while True:
                handler.wfile.write(chunk)
        self.server.bad = bad
        self.expect_compiled("no answer", **SHORT)

    def test_no_http(self):
        self.server.bad = lambda handler: handler.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        self.expect_compiled("no answer")

    def test_no_server(self):
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            self.expect_compiled("no answer", RUBIA_CACHE_REMOTE=f"http://127.0.0.1:{closed.getsockname()[1]}/x")

    def test_no_such_host(self):
        self.expect_compiled("no answer", RUBIA_CACHE_REMOTE="https://rubia.invalid/cache")

    def test_a_dead_server_is_left_alone(self):
        self.values = range(1, 9)
        self.write_kernels()
        self.server.bad = lambda handler: time.sleep(10)
        stats = self.run_on("victim", **SHORT)
        self.assertEqual(stats["compiled"], 9)
        self.assertEqual(stats["remote misses: no answer"], 2)
        self.assertEqual(stats["remote misses: left alone after failures"], 7)
        self.assertEqual(self.server.count("GET"), 2)
        self.assertEqual(len(self.cache_lines()), 1, self.log)

    def test_a_store_that_takes_nothing(self):
        self.values = range(1, 9)
        self.write_kernels()
        self.server.refuses = 507
        stats = self.run_on("victim", RUBIA_CACHE_REMOTE_WRITE=1)
        self.assertEqual(stats["compiled"], 9)
        self.assertEqual(stats["remote misses: no entry"], 9)  # reading goes on
        self.assertIn("nothing is stored there for 30 s", self.log)
        self.assertLess(self.server.count("PUT"), 5)
        self.assertEqual(self.server.entries, {})


@unittest.skipUnless("LongRecovery" in sys.argv, "takes half a minute")
class LongRecovery(RemoteTest):
    def test_a_server_that_comes_back_is_asked_again(self):
        names = ["k1", "k2", "sleep_320_k3", "k4", "k5"]
        self.ptx.write_text(HEADER + "".join(kernel(name, i) for i, name in enumerate(names)))
        batch = self.folder / "batch"
        batch.write_text("".join(f"--entry {name} zero:4\n" for name in names))
        self.server.bad = lambda handler: handler.answer(404 if self.server.count("GET") > 2 else 500)
        subprocess.run([RUBIA, "launch", "--device", "emulator", "--arch", "gfx1100", str(self.ptx), "--batch", str(batch)],
                       env=self.environment("machine", RUBIA_WORKER=os.environ["FAULTY_WORKER"]), check=True, timeout=120)
        stats = self.stats("machine")
        # manifest and k1 fail, k2 and k3 are not asked for, k4 is the trial
        self.assertEqual([stats.get("remote misses: " + r) for r in ("no answer", "left alone after failures", "no entry")], [2, 2, 2])


if __name__ == "__main__":
    RUBIA = sys.argv[1]
    side_by_side.main(sys.argv[2:])
