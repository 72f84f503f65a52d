#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What options of rubia capture, rubia replay and rubia diff do: PTX for newer devices, what NVIDIA's libraries are told, targets to compare.

Usage: capture_options.py RUBIA REFUSING-DRIVER CLOSED-LIBRARY LIBRARIES-FOLDER CAPSULES-FOLDER OCCUPYING-LIBRARY
"""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

RUBIA, DRIVER, CLOSED, LIBRARIES, CAPSULES, OCCUPYING = sys.argv[1:7]
HERE = pathlib.Path(__file__).resolve().parent

# 64 threads write 1 and so on.
KERNEL = """// .target sm_10 .version 1.0
.version 9.1
.target TARGET
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .b32 %r<3>;
  .reg .b64 %d<4>;
  mov.u32 %r1, %tid.x;
  ld.param.u64 %d1, [p];
  mul.wide.u32 %d2, %r1, 4;
  add.s64 %d3, %d1, %d2;
  add.u32 %r2, %r1, 1;
  MORE
  st.global.u32 [%d3], %r2;
  ret;
}
"""


def kernel(target, more=""):
    return KERNEL.replace("TARGET", target).replace("MORE", more)


def container(*texts):
    """Entries of PTX (docs: fatbin/), not compressed."""
    entries = b""
    for capability, text in texts:
        payload = text.encode() + b"\0"
        payload += b"\0" * (-len(payload) % 8)
        entries += struct.pack("<HHIQIIHHIIIQQQ", 1, 0x101, 64, len(payload), 0, 0, 0, 9, capability, 0, 0, 0, 0, 0)[:64].ljust(64, b"\0") + payload
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


class WithCapsule(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.capsule = self.folder / "c.capsule"

    def rubia(self, *words, status=0, **variables):
        result = subprocess.run([RUBIA, *map(str, words)], capture_output=True, text=True, env=os.environ | variables, timeout=250)
        self.assertEqual(result.returncode, status, f"{words}\n{result.stdout}{result.stderr}")
        return result.stdout + result.stderr


class CaptureOptions(WithCapsule):
    def capture(self, image, *options, driver="rubia", status=0):
        file = self.folder / "image"
        file.write_bytes(image if isinstance(image, bytes) else image.encode())
        return self.rubia("capture", "--driver", driver, *options, "-o", self.capsule, "--", sys.executable, HERE / "launch_ptx.py", file,
                          status=status, RUBIA_TEST_DRIVER=f"{LIBRARIES}/libcuda.so.1")

    def recorded_ptx(self):
        (file,) = self.rubia("capsule", "extract", self.capsule, "-o", self.folder / "ptx").split()
        return pathlib.Path(file).read_text()

    def test_ptx_for_newer_devices_is_lowered(self):
        self.assertIn("status 218", self.capture(kernel("sm_120a"), driver=DRIVER, status=1))
        self.capture(kernel("sm_120a"), "--jit-ptx", driver=DRIVER)
        # 13.0 is what Rubia's driver is: the comment stays.
        self.assertEqual(self.recorded_ptx(), kernel("sm_89").replace("9.1", "9.0"))
        self.assertIn("1 equal", self.rubia("diff", self.capsule, "--arch", "gfx942"))

    def test_of_a_container_the_ptx_for_the_oldest_device_is_lowered(self):
        image = container((120, kernel("sm_120")), (100, kernel("sm_100", "add.u32 %r2, %r2, 1;")), (103, kernel("sm_103")))
        self.assertIn("status 218", self.capture(image, driver=DRIVER, status=1))
        self.capture(image, "--jit-ptx", driver=DRIVER)
        self.assertEqual(self.recorded_ptx(), kernel("sm_89", "add.u32 %r2, %r2, 1;").replace("9.1", "9.0"))

    def test_what_is_for_this_device_stays_as_it_is(self):
        image = container((80, kernel("sm_80")), (120, kernel("sm_120")))
        self.capture(image, "--jit-ptx")
        self.assertEqual(self.recorded_ptx(), kernel("sm_80"))

    def test_kernels_that_cannot_be_lowered_are_named(self):
        said = self.capture(kernel("sm_120", "brkpt;"), "--jit-ptx", driver=DRIVER, status=1)
        self.assertRegex(said, r"cannot be lowered to this one's \(status 218\):\nrubia capture:   k\n")

    def test_libraries_of_nvidia_are_told_what_rubia_tells_them(self):
        library = self.folder / "libcublas.so.13"
        shutil.copy(CLOSED, library)
        code = (f"import ctypes; cuda = ctypes.CDLL('libcuda.so.1'); cuda.cuInit(0); ask = ctypes.CDLL('{library}').ask; "
                f"other = ctypes.CDLL('{CLOSED}').ask; print(*[a(cuda.cuDeviceGetAttribute) for a in (ask, other)])")
        for options, told in (((), "89 89\n"), (("--library-capability",), "130 89\n"), (("--library-capability", "--calls"), "130 89\n")):
            with self.subTest(options=options):
                # Nothing is launched.
                said = self.rubia("capture", "--driver", "rubia", *options, "--kernel", "k", "-o", self.folder / f"{len(options)}", "--",
                                  sys.executable, "-c", code, status=0 if "--calls" in options else 1)
                self.assertIn(told, said)

    def test_the_command_line_is_recorded_on_request(self):
        self.capture(kernel("sm_80"), "--command-line", "--library-capability")
        where = json.loads(self.rubia("capsule", "show", "--json", self.capsule))["environment"]
        self.assertEqual(where["command_line"][1:], [str(HERE / "launch_ptx.py"), str(self.folder / "image")])
        self.assertTrue(where["library_capability"])
        self.assertIn("launch_ptx.py", self.rubia("capsule", "show", self.capsule))
        stripped = self.folder / "stripped"
        self.rubia("capsule", "strip", self.capsule, "--hash-only", "-o", stripped)
        self.assertNotIn("command_line", json.loads(self.rubia("capsule", "show", "--json", stripped))["environment"])
        self.capsule.unlink()
        self.capture(kernel("sm_80"))
        self.assertNotIn(b"launch_ptx.py", self.capsule.read_bytes())
        self.assertNotIn("command_line", self.rubia("capsule", "show", "--json", self.capsule))

    def test_a_capsule_has_little_more_than_the_memory(self):
        """Before compression: two launches that reach 20 MiB, each page of which is another."""
        file = self.folder / "image"
        file.write_text(kernel("sm_80"))
        self.rubia("capture", "--driver", "rubia", "--no-pack", "-o", self.capsule, "--", sys.executable, HERE / "launch_ptx.py", file, "large")
        reached = json.loads(self.rubia("capsule", "show", "--json", self.capsule))["launches"][0]["memory"][0]["bytes"]
        self.assertGreater(reached, 20 << 20)
        self.assertLessEqual(self.capsule.stat().st_size, 1.1 * reached)


class Targets(WithCapsule):
    def diff(self, *words, **options):
        return self.rubia("diff", f"{CAPSULES}/black_scholes.capsule", *words, **options)

    def test_bare_words_are_options_that_change_code(self):
        self.assertIn("ieee and h100: 2 launches, 2 equal", self.diff("--between", "ieee,h100", "--arch", "gfx942"))
        self.assertIn("O0 and O3: 2 launches, 2 equal", self.diff("--between", "O0,O3"))
        self.assertIn("'native' may be 'mma=native' or 'flush=native'", self.diff("--between", "native,h100", status=2))
        self.assertIn("RUBIA_ARCH names 'gfx7'", self.diff("--between", "gfx7,ieee", status=2))
        self.assertIn("--between takes one --arch", self.diff("--between", "ieee,h100", "--arch", "gfx942,gfx1100", status=2))

    def test_versions_are_named_by_their_folders(self):
        self.assertIn("2 launches, 2 equal", self.diff("--between", f"{LIBRARIES};gfx942,gfx942"))
        # The other version is what runs: this one has no emulator beside it.
        other = self.folder / "rubia"
        other.mkdir()
        shutil.copy(f"{LIBRARIES}/libcuda.so.1", other)
        said = self.diff("--between", f"gfx942,{other};gfx942;emulator", status=2)
        self.assertIn(f"{other}/libcuda.so.1: no device", said)
        self.assertIn(f"'{self.folder}' is no folder with a libcuda.so.1", self.diff("--between", f"gfx942,{self.folder}", status=2))
        self.assertIn("is named by the folder", self.diff("--between", "0.8,0.9", status=2))

    def test_tensor_maps_of_memory_that_lies_elsewhere(self):
        """An H100's, in memory: a replay has others there, with other addresses, and gives them back."""
        capsule = f"{CAPSULES}/tensor_maps_memory.capsule"
        (launch,) = json.loads(self.rubia("capsule", "show", "--json", capsule))["launches"]
        occupied = ",".join(region["address"] for region in launch["memory"])
        said = self.rubia("diff", capsule, "--arch", "gfx942", "--all", LD_PRELOAD=OCCUPYING, RUBIA_TEST_OCCUPIED=occupied)
        self.assertIn("allocations 0, 1, 2, 3 lie at other addresses", said)
        self.assertIn("1 equal", said)

    def test_nvidia_is_a_device(self):
        places = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/nvidia/lib64", "/usr/lib/wsl/lib")
        if not any(os.path.exists(f"{place}/libcuda.so.1") for place in places):
            for words in (("--device", "nvidia"), ("--between", "gfx942,nvidia")):
                self.assertIn("NVIDIA's libcuda.so.1 is in none of the usual places", self.diff(*words, status=2))
            self.rubia("replay", f"{CAPSULES}/black_scholes.capsule", "--device", "nvidia", status=2)
        self.assertIn("goes with neither --arch", self.diff("--device", "nvidia", "--arch", "gfx942", status=2))
        self.assertIn("2 launches", self.diff("--device", "emulator", "--arch", "gfx942"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[7:]])
