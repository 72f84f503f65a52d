#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Captures a program on the emulator, replays it on other targets, and looks at what the commands tell.

Usage: capture_and_diff.py RUBIA READOBJ FORWARDING-LIBRARY PROGRAMS-FOLDER SCHEMA CAPSULES-FOLDER
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import browser  # noqa: E402

RUBIA, READOBJ, LIBRARY, PROGRAMS, SCHEMA, CAPSULES = sys.argv[1:7]
NEWEST_GLIBC = (2, 28)
# For programs that need the standard library alone.
PYTHON = [sys.executable, "-S"]


# 64 threads write 1 and so on.
KERNEL = """.version 7.0
.target sm_70
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .b32 %r<3>;
  .reg .b64 %d<4>;
  .reg .pred %p1;
  mov.u32 %r1, %tid.x;
  setp.eq.u32 %p1, %r1, 40;
  ld.param.u64 %d1, [p];
  mul.wide.u32 %d2, %r1, 4;
  add.s64 %d3, %d1, %d2;
  add.u32 %r2, %r1, 1;
  MORE
  st.global.u32 [%d3], %r2;
  ret;
}
"""


# The sum of two textures goes to a surface. Handles are parameters, or lie in memory behind the first, or in it.
TEXTURES = """.version 7.0
.target sm_70
.address_size 64
REFERENCE
.visible .entry k(TEX tex, .param .u64 linear, .param .u64 surf, .param .u64 out)
{
  .reg .b32 %r<6>;
  .reg .f32 %f<16>;
  .reg .b64 %d<8>;
  HANDLES
  ld.param.u64 %d4, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mad.lo.u32 %r3, %r2, 16, %r1;
  mul.wide.u32 %d5, %r3, 4;
  add.s64 %d4, %d4, %d5;
  READ
  tex.1d.v4.f32.s32 {%f5, %f6, %f7, %f8}, [%d2, {%r3}];
  add.f32 %f9, %f1, %f5;
  mov.b32 %r4, %f9;
  shl.b32 %r5, %r1, 2;
  sust.b.2d.b32.trap [%d3, {%r5, %r2}], {%r4};
  ret;
}
"""
PARAMETERS = "ld.param.u64 %d1, [tex]; ld.param.u64 %d2, [linear]; ld.param.u64 %d3, [surf];"
TABLE = "ld.param.u64 %d6, [tex]; ld.global.u64 %d1, [%d6]; ld.global.u64 %d2, [%d6+8]; ld.global.u64 %d3, [%d6+16]; ld.global.u64 %d7, [%d6+24];"
STRUCTURE = "ld.param.u64 %d1, [tex]; ld.param.u64 %d2, [tex+8]; ld.param.u64 %d3, [tex+16]; ld.param.u64 %d7, [tex+24];"
BY_TEXEL = "tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d1, {%r1, %r2}]; st.global.f32 [%d4], %f1;"
# The number behind the handles may be one of them, and handles may be computed with.
AND_NUMBERS = BY_TEXEL + " add.u64 %d7, %d7, %d1; cvt.u32.u64 %r5, %d7; st.global.u32 [%d4], %r5;"
BY_LEVEL = ("cvt.rn.f32.u32 %f10, %r1; fma.rn.f32 %f10, %f10, 0f3d800000, 0f3d000000; cvt.rn.f32.u32 %f11, %r2; "
            "fma.rn.f32 %f11, %f11, 0f3e000000, 0f3d800000; and.b32 %r5, %r1, 1; cvt.rn.f32.u32 %f12, %r5; "
            "tex.level.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f10, %f11}], %f12; st.global.f32 [%d4], %f1;")
BY_NAME = BY_TEXEL + " tex.2d.v4.f32.s32 {%f11, %f12, %f13, %f14}, [t, {%r1, %r2}]; st.global.f32 [%d4], %f11;"
BETWEEN = "cvt.rn.f32.u32 %f10, %r1; tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f10, %f10}]; st.global.f32 [%d4], %f1;"


def run(*arguments, status=0, **options):
    result = subprocess.run([RUBIA, *map(str, arguments)], capture_output=True, text=True, **options)
    if result.returncode != status:
        raise AssertionError(f"{arguments}: status {result.returncode}, expected {status}\n{result.stdout}{result.stderr}")
    return result.stdout


def conforms(value, schema, place="$"):
    """The words of JSON Schema that diff.schema.json uses."""
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float)}
    assert isinstance(value, kinds[schema["type"]]) and not isinstance(value, bool), f"{place}: not {schema['type']}"
    assert value in schema.get("enum", [value]), f"{place}: {value}"
    assert re.search(schema.get("pattern", ""), value) if isinstance(value, str) else True, f"{place}: {value}"
    if isinstance(value, dict):
        assert set(schema.get("required", [])) <= set(value), f"{place}: lacks {set(schema['required']) - set(value)}"
        assert set(value) <= set(schema["properties"]), f"{place}: has {set(value) - set(schema['properties'])}"
        for key, member in value.items():
            conforms(member, schema["properties"][key], f"{place}.{key}")
    if isinstance(value, list):
        for i, member in enumerate(value):
            conforms(member, schema["items"], f"{place}[{i}]")


class ForwardingLibrary(unittest.TestCase):
    def test_needs_an_old_c_library_alone(self):
        needed = subprocess.run([READOBJ, "--needed-libs", LIBRARY], capture_output=True, text=True, check=True).stdout
        self.assertEqual(set(re.findall(r"lib\S+\.so\S*", needed.split("NeededLibraries")[1])), {"libc.so.6", "libdl.so.2"})
        symbols = subprocess.run([READOBJ, "--dyn-syms", LIBRARY], capture_output=True, text=True, check=True).stdout
        versions = {tuple(map(int, v.split("."))) for v in re.findall(r"@GLIBC_([\d.]+)", symbols)}
        self.assertTrue(versions)
        self.assertLessEqual(max(v[:2] for v in versions), NEWEST_GLIBC)

    def test_exports_each_function_and_nothing_else(self):
        symbols = subprocess.run([READOBJ, "--dyn-syms", LIBRARY], capture_output=True, text=True, check=True).stdout
        names = {name for name, section in re.findall(r"Name: (\S+?)(?:@\S*)? \(.*?\n(?:.*\n)*?\s+Section: (\S+)", symbols)
                 if section != "Undefined"}
        listed = (pathlib.Path(__file__).parents[2] / "runtime/cuda/Functions.def").read_text()
        self.assertEqual(names, set(re.findall(r"^CUDA_FUNCTION\((\w+),", listed, re.MULTILINE)))


class CaptureAndDiff(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.capsule = self.folder / "c.capsule"

    def capture(self, program, *options):
        return run("capture", "--driver", "rubia", *options, "-o", self.capsule, "--", f"{PROGRAMS}/{program}")

    def launches(self):
        return json.loads(run("capsule", "show", "--json", self.capsule))["launches"]

    def test_what_is_captured_replays_with_equal_results(self):
        self.assertIn("PASS", self.capture("vector_add_driver"))
        self.assertIn("1 launches, whole", run("capsule", "verify", self.capsule))
        self.assertEqual(os.stat(self.capsule).st_mode & 0o777, 0o600)
        report, junit = self.folder / "r.json", self.folder / "r.xml"
        text = run("diff", self.capsule, "--arch", "gfx1100,gfx942", "--json", report, "--junit", junit, "--all")
        self.assertEqual(text.count("equal\n"), 4)
        document = json.loads(report.read_text())
        conforms(document, json.loads(pathlib.Path(SCHEMA).read_text()))
        self.assertEqual([t["target"] for t in document["targets"]], ["gfx1100", "gfx942"])
        self.assertEqual(document["verdict"], "equal")
        suites = xml.etree.ElementTree.parse(junit).getroot()
        self.assertEqual([(s.get("tests"), s.get("failures")) for s in suites], [("1", "0"), ("1", "0")])
        self.assertIn("1 of 1 launches replayed", run("replay", self.capsule, "--arch", "gfx1030"))
        self.assertIn("1 equal", run("diff", self.capsule, "--between", "gfx1100,gfx1201;nan=canonical"))

    def test_launches_are_chosen(self):
        self.capture("grid_sync_driver", "--first", "1")
        self.assertEqual([(l["ordinal"], l["cooperative"]) for l in self.launches()], [(0, True)])
        self.capsule.unlink()
        self.capture("grid_sync_driver", "--every", "2", "--kernel", "^ripple$")
        self.assertEqual([l["ordinal"] for l in self.launches()], [0, 2])
        self.capsule.unlink()
        run("capture", "--driver", "rubia", "--kernel", "nothing", "-o", self.capsule, "--", f"{PROGRAMS}/vector_add_driver", status=1)
        self.assertFalse(self.capsule.exists())

    def test_a_launch_that_reaches_too_much_is_named(self):
        self.capture("vector_add_driver", "--max-bytes", "1000")
        (launch,) = self.launches()
        self.assertIn("--max-bytes", launch["problem"])
        self.assertIn("unsupported", run("diff", self.capsule, status=3))

    def test_other_launches_and_files_are_errors(self):
        self.capture("vector_add_driver")
        run("diff", self.capsule, "--arch", "gfx12345", status=2)
        run("diff", self.capsule, "--kernel", "(", status=2)
        damaged = self.folder / "d.capsule"
        damaged.write_bytes(self.capsule.read_bytes()[:200] + b"x" * 100)
        run("capsule", "verify", damaged, status=1)

    def launch(self, mode, more="", *options):
        """What the program and the recording say."""
        ptx = self.folder / "k.ptx"
        ptx.write_text(KERNEL.replace("MORE", more))
        command = [RUBIA, "capture", "--driver", "rubia", *options, "-o", self.capsule, "--", *PYTHON,
                   pathlib.Path(__file__).with_name("launch_ptx.py"), ptx, mode, self.capsule]
        result = subprocess.run(command, capture_output=True, text=True, timeout=100)
        self.assertEqual((result.returncode, result.stdout), (0, "done\n"), result.stderr)
        return result.stderr

    def test_memory_that_went_with_its_context_is_not_read(self):
        self.launch("reset")
        (launch,) = self.launches()
        self.assertEqual([region["bytes"] for region in launch["memory"]], [256])

    def test_a_launch_that_waits_for_the_host_is_released(self):
        self.launch("wait", "L: ld.volatile.global.u32 %r0, [%d1];\nsetp.eq.u32 %p1, %r0, 0;\n@%p1 bra L;", "--timeout", "1")
        (launch,) = self.launches()
        self.assertIn("timeout", launch["problem"])
        self.assertNotIn("after", launch["memory"][0])
        self.assertIn("unsupported", run("diff", self.capsule, status=3))

    def test_a_launch_behind_one_that_waits_is_released(self):
        self.launch("wait-twice", "L: ld.volatile.global.u32 %r0, [%d1];\nsetp.eq.u32 %p1, %r0, 0;\n@%p1 bra L;", "--timeout", "1")
        self.assertEqual(["timeout" in launch["problem"] for launch in self.launches()], [True, True])

    def test_captures_of_streams_stay_valid(self):
        self.assertIn("not recorded: 1 launches into graphs", self.launch("capturing"))
        self.assertEqual([launch["ordinal"] for launch in self.launches()], [1])

    def graph(self, mode, *options, status=0):
        """What the recording says of a program that launches graphs."""
        ptx = self.folder / "k.ptx"
        ptx.write_text(KERNEL.replace("MORE", "ld.global.u32 %r2, [%d3];\n  add.u32 %r2, %r2, 1;"))
        command = [RUBIA, "capture", "--driver", "rubia", *options, "-o", self.capsule, "--", *PYTHON,
                   pathlib.Path(__file__).with_name("launch_graph.py"), ptx, mode]
        result = subprocess.run(command, capture_output=True, text=True, timeout=100)
        self.assertEqual((result.returncode, result.stdout), (status, "done\n"), result.stderr)
        return result.stderr

    def test_graphs_are_recorded_kernel_by_kernel(self):
        said = self.graph("twice")
        self.assertIn("4 of 6 launches recorded", said)
        self.assertNotIn("cannot be taken apart", said)
        launches = self.launches()
        self.assertEqual([(l["graph_launch"], l["graph_node"]) for l in launches], [(0, 1), (0, 3), (1, 1), (1, 3)])
        addresses = [l["memory"][0]["address"] for l in launches]
        self.assertEqual(addresses[1], addresses[3])
        self.assertEqual(len(set(addresses)), 3)
        # Each has what the nodes before it left: the child's kernel what was copied.
        self.assertEqual(launches[0]["memory"][0]["after"], launches[1]["memory"][0]["before"])
        self.assertIn("node 3 of graph launch 1", run("capsule", "show", self.capsule))
        self.assertIn("4 equal", run("diff", self.capsule, "--arch", "gfx942"))

    def test_launches_of_graphs_are_sampled(self):
        self.assertIn("2 of 6 launches recorded", self.graph("twice", "--every", "2"))
        self.assertEqual([(l["ordinal"], l["of_kernel"]) for l in self.launches()], [(2, 0), (4, 2)])  # behind two launches into graphs

    def test_disabled_nodes_do_not_run(self):
        self.assertIn("1 of 3 launches recorded", self.graph("disabled"))

    def test_graphs_that_cannot_be_taken_apart_run_whole(self):
        said = self.graph("whole", status=1)  # nothing was recorded
        self.assertIn("1 launches of graphs that cannot be taken apart; of the last: it cannot be cloned", said)
        self.assertFalse(self.capsule.exists())

    def test_calls_are_logged_with_their_arguments(self):
        self.launch("calls", "", "--calls")
        run("capsule", "verify", self.capsule)
        calls = run("capsule", "show", "--calls", self.capsule).splitlines()
        self.assertEqual([int(call.split()[0]) for call in calls], list(range(len(calls))))
        names = [re.match(r"\d+ \[\d+\] (\w+)\(", call)[1] for call in calls]
        self.assertEqual(names, ["cuInit", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuModuleLoadData", "cuModuleGetFunction", "cuMemAlloc_v2",
                                 "cuMemsetD8_v2", "cuMemcpyHtoD_v2", "cuMemAlloc_v2", "cuGetProcAddress_v2", "cuMemAlloc_v2",
                                 "cuTexRefCreate", "cuTexRefSetMipmapLevelBias", "cuLaunchKernel", "cuCtxSynchronize"])
        address = self.launches()[0]["memory"][0]["address"]
        self.assertRegex(calls[5], rf'\(pointer="0x[0-9a-f]+", bytes=256\) = 0, pointer -> "{address}"$')
        self.assertRegex(calls[8], r"bytes=0\) = 1$")  # refused
        self.assertRegex(calls[10], r"bytes=4096\) = 0, ")  # by what cuGetProcAddress gave
        self.assertIn('name="cuMemAlloc"', calls[9])
        self.assertIn('bias="0x1.8p+0"', calls[12])
        # Beyond six, arguments are on the stack.
        for argument in ("gridX=1", "blockX=64", "blockZ=1", "sharedBytes=0", 'stream="0x0"', 'extra="0x0"'):
            self.assertIn(argument, calls[13])
        self.assertIn("1 equal", run("diff", self.capsule, "--arch", "gfx942"))

    def test_calls_are_logged_on_request(self):
        self.launch("")
        run("capsule", "show", "--calls", self.capsule, status=1)

    def textures(self, mode="", handles=PARAMETERS, read=BY_TEXEL, reference=""):
        """Captures a launch with textures. The file with its PTX."""
        ptx = self.folder / "t.ptx"
        first = ".param .align 8 .b8" if mode == "structure" else ".param .u64"
        text = TEXTURES.replace("TEX tex", f"{first} tex{'[32]' if mode == 'structure' else ''}")
        ptx.write_text(text.replace("REFERENCE", reference).replace("HANDLES", handles).replace("READ", read))
        self.assertEqual(run("capture", "--driver", "rubia", "-o", self.capsule, "--", *PYTHON,
                             pathlib.Path(__file__).with_name("launch_textures.py"), ptx, *mode.split()), "done\n")
        self.assertIn("1 launches, whole", run("capsule", "verify", self.capsule))
        return ptx

    def test_textures_and_surfaces_are_recorded_and_replayed(self):
        ptx = self.textures()
        (launch,) = self.launches()
        self.assertEqual([(a["width"], a["height"], a["bytes"], a["before"] == a["after"]) for a in launch["arrays"]],
                         [(16, 8, 512, True), (16, 8, 512, False)])
        self.assertEqual([(t["surface"], t.get("array")) for t in launch["textures"]], [(False, 0), (False, None), (True, 1)])
        self.assertIn("2 arrays, 3 textures and surfaces", run("capsule", "show", self.capsule))
        self.assertIn("1 equal", run("diff", self.capsule, "--arch", "gfx1100,gfx942"))
        # Another kernel writes something else to the surface.
        ptx.write_text(ptx.read_text().replace("add.f32 %f9", "sub.f32 %f9"))
        text = run("diff", self.capsule, "--arch", "gfx1100", "--ptx", ptx, status=1)
        self.assertIn("different: array 1: 128 of 128 f32 elements differ; element 0: expected 1000", text)
        self.assertNotIn("array 0", text)
        # What takes parts of a capsule takes the arrays too.
        part = self.folder / "part.capsule"
        run("capsule", "split", self.capsule, "--kernel", "k", "-o", part)
        run("capsule", "verify", part)
        self.assertIn("1 equal", run("diff", part, "--arch", "gfx942"))

    def test_handles_of_textures_may_lie_in_memory(self):
        """What looks like a handle there is none: nothing is changed but what textures are read with."""
        for mode, handles in (("memory", TABLE), ("structure", STRUCTURE)):
            ptx = self.textures(mode, handles, AND_NUMBERS)
            self.assertIn("1 equal", run("diff", self.capsule, "--arch", "gfx942"))
            ptx.write_text(ptx.read_text().replace("add.f32 %f9", "sub.f32 %f9"))
            self.assertIn("different: array 1", run("diff", self.capsule, "--arch", "gfx1100", "--ptx", ptx, status=1))
            self.capsule.unlink()

    def test_textures_of_mipmapped_arrays_and_of_memory_with_a_pitch(self):
        for mode, read, kind, levels in (("mipmapped", BY_LEVEL, 1, 2), ("pitched", BY_TEXEL, 3, None)):
            ptx = self.textures(mode, read=read)
            (launch,) = self.launches()
            texture = launch["textures"][0]
            self.assertEqual(int.from_bytes(bytes.fromhex(texture["resource"])[:4], "little"), kind)
            self.assertEqual(launch["arrays"][texture["array"]]["levels"] if levels else texture.get("array"), levels)
            self.assertIn("1 equal", run("diff", self.capsule, "--arch", "gfx1100,gfx942"))
            # Other texels.
            ptx.write_text(re.sub(r"(tex\S*\.2d.*\{)(%[rf])1([01]?), \S+?\}", r"\1\g<2>1\3, \g<2>1\3}", ptx.read_text()))
            self.assertIn("different: ", run("diff", self.capsule, "--arch", "gfx1100", "--ptx", ptx, status=1))
            self.capsule.unlink()

    def test_references_are_bound(self):
        ptx = self.textures(read=BY_NAME, reference=".global .texref t;")
        self.assertEqual([t.get("name") for t in self.launches()[0]["textures"]], [None, None, None, "t"])
        self.assertIn("1 equal", run("diff", self.capsule, "--arch", "gfx942"))
        ptx.write_text(ptx.read_text().replace("[t, {%r1, %r2}]", "[t, {%r2, %r2}]"))
        self.assertIn("different: allocation", run("diff", self.capsule, "--arch", "gfx1100", "--ptx", ptx, status=1))

    def test_what_is_read_between_texels_may_differ_by_what_filters_may(self):
        """Numbers of about 100 cancel: their last places are large in the result."""
        ptx = self.textures("filtered", read=BETWEEN)
        self.assertIn("1 equal", run("diff", self.capsule, "--arch", "gfx942"))
        text = ptx.read_text()
        for more, verdict, status in (("0f3727c5ac", "within the bound", 0), ("0f3d4ccccd", "different", 1)):  # 1e-5, 0.05
            ptx.write_text(text.replace("st.global.f32 [%d4], %f1;", f"add.f32 %f1, %f1, {more}; st.global.f32 [%d4], %f1;"))
            found = run("diff", self.capsule, "--arch", "gfx1100", "--ptx", ptx, status=status)
            self.assertIn(f"{verdict}: allocation", found)
        # Fetches of texels are exact.
        ptx.write_text(text.replace("tex.1d.v4.f32.s32 {%f5", "add.s32 %r3, %r3, 1; tex.1d.v4.f32.s32 {%f5"))
        self.assertIn("different: array 1", run("diff", self.capsule, "--arch", "gfx1100", "--ptx", ptx, status=1))

    def test_memory_that_is_read_between_texels_may_differ_by_that_too(self):
        ptx = self.textures("pitched filtered", read=BETWEEN)
        text = ptx.read_text()
        for more, verdict, status in (("0f3727c5ac", "within the bound", 0), ("0f3d4ccccd", "different", 1)):  # 1e-5, 0.05
            ptx.write_text(text.replace("st.global.f32 [%d4], %f1;", f"add.f32 %f1, %f1, {more}; st.global.f32 [%d4], %f1;"))
            found = run("diff", self.capsule, "--arch", "gfx1100", "--ptx", ptx, status=status)
            self.assertIn(f"{verdict}: allocation", found)

    def test_modules_without_textures_record_none(self):
        plain = PARAMETERS + " ld.param.u64 %d4, [out]; mov.u32 %r1, 1; st.global.u32 [%d4], %r1; ret; }"
        ptx = self.folder / "t.ptx"
        text = TEXTURES.replace("TEX", ".param .u64").replace("REFERENCE", "").replace("HANDLES", plain)
        ptx.write_text(text[:text.index("ret; }") + 6])
        result = subprocess.run([RUBIA, "capture", "--driver", "rubia", "-o", self.capsule, "--", *PYTHON,
                                 pathlib.Path(__file__).with_name("launch_textures.py"), ptx, "filtered"], capture_output=True, text=True)
        self.assertEqual(result.stdout, "done\n", result.stderr)
        self.assertNotIn("textures", self.launches()[0])

    def test_large_memory_is_read_in_pieces(self):
        """Each thread adds up words of all pieces: those before the first launch, and what it left."""
        self.launch("large", """.reg .b64 %x; .reg .b32 %y<3>; .reg .pred %q; mov.u32 %y2, 0; mad.wide.u32 %x, %r1, 4, %d1;
                             L: ld.global.u32 %y1, [%x+1024]; add.u32 %r2, %r2, %y1; add.s64 %x, %x, 1048576; add.u32 %y2, %y2, 1;
                             setp.lt.u32 %q, %y2, 20; @%q bra L;""")
        self.assertIn("2 launches, whole", run("capsule", "verify", self.capsule))
        self.assertEqual([launch["memory"][0]["bytes"] for launch in self.launches()], [20 * 2**20 + 20] * 2)
        self.assertIn("2 equal", run("diff", self.capsule, "--arch", "gfx942"))

    def test_pages_that_no_thread_touches_are_left_out(self):
        """Of each MiB a word is read, and the first page is written."""
        self.launch("large", """.reg .b64 %x; .reg .b32 %y<3>; .reg .pred %q; mov.u32 %y2, 0; mad.wide.u32 %x, %r1, 4, %d1;
                             L: ld.global.u32 %y1, [%x+1024]; add.u32 %r2, %r2, %y1; add.s64 %x, %x, 1048576; add.u32 %y2, %y2, 1;
                             setp.lt.u32 %q, %y2, 20; @%q bra L;""", "--touched")
        run("capsule", "verify", self.capsule)
        pages = (20 * 2**20 + 20) // 16384 + 1
        self.assertEqual([launch.get("untouched_pages") for launch in self.launches()], [pages - 20] * 2)
        self.assertIn(f"without {pages - 20} pages that it does not touch", run("capsule", "show", self.capsule))
        self.assertLess(int(re.search(r"records, (\d+) bytes", run("capsule", "show", self.capsule))[1]), 2**20)
        self.assertIn("2 equal", run("diff", self.capsule, "--arch", "gfx942"))

    def test_launches_that_cannot_be_looked_at_keep_all_pages(self):
        self.textures()
        whole = self.launches()
        self.capsule.unlink()
        ptx = self.folder / "t.ptx"
        result = subprocess.run([RUBIA, "capture", "--driver", "rubia", "--touched", "-o", self.capsule, "--", *PYTHON,
                                 pathlib.Path(__file__).with_name("launch_textures.py"), ptx], capture_output=True, text=True)
        self.assertIn("launch 0 keeps all pages: what textures touch is not known", result.stderr)
        self.assertEqual([len(launch["memory"]) for launch in self.launches()], [len(launch["memory"]) for launch in whole])
        self.assertIn("1 equal", run("diff", self.capsule, "--arch", "gfx942"))

    def test_what_packs_a_capsule_is_not_for_one_that_stays_as_it_is(self):
        for option in ("--touched", "--no-images", "--hash-only"):
            result = subprocess.run([RUBIA, "capture", "--no-pack", option, "-o", self.capsule, "--", "true"], capture_output=True, text=True)
            self.assertEqual(result.returncode, 2, option)
            self.assertIn("excludes --no-pack", result.stderr)

    def test_a_capsule_is_hardly_larger_than_what_it_holds(self):
        """Before it is packed: all words differ, so no page is there twice, but for those that the second launch finds as the first left them."""
        self.launch("large", "", "--no-pack")
        reachable = 20 * 2**20 + 20
        self.assertLess(reachable, self.capsule.stat().st_size)
        self.assertLess(self.capsule.stat().st_size, 1.1 * reachable)
        self.assertIn("2 launches, whole", run("capsule", "verify", self.capsule))

    def test_tensor_maps_are_recorded(self):
        program = pathlib.Path(__file__).with_name("launch_tensor_maps.py")
        self.assertEqual(run("capture", "--driver", "rubia", "-o", self.capsule, "--", *PYTHON, program), "done\n")
        (launch,) = self.launches()
        self.assertEqual([len(m["bytes"]) for m in launch["tensor_maps"]], [256, 256])
        # What only a tensor map names is reached.
        self.assertEqual(sorted(region["bytes"] for region in launch["memory"]), [256, 1024, 2048, 2048])
        self.assertIn("1 equal", run("diff", self.capsule, "--arch", "gfx942"))

    def test_tensor_maps_that_the_kernel_changes(self):
        program = pathlib.Path(__file__).with_name("launch_tensor_maps.py")
        capsules = []
        for arguments, printed in ((["kernel"], "done"), (["kernel", "first"], "wrong")):
            capsules.append(self.folder / f"{printed}.capsule")
            self.assertEqual(run("capture", "--driver", "rubia", "-o", capsules[-1], "--", *PYTHON, program, *arguments), printed + "\n")
            self.assertIn("1 equal", run("diff", capsules[-1], "--arch", "gfx942"))
        self.assertIn("1 different", run("diff", capsules[0], "--against", capsules[1], status=1))

    def test_a_child_records_nothing(self):
        self.launch("fork")
        self.assertIn("1 launches, whole", run("capsule", "verify", self.capsule))

    def test_a_full_disk_ends_the_recording_alone(self):
        self.assertIn("the recording ends here", self.launch("full"))
        self.assertEqual([launch["ordinal"] for launch in self.launches()], [0])
        self.assertIn("1 launches, cut short", run("capsule", "verify", self.capsule))

    def test_a_difference_is_found(self):
        """The same launches with another kernel."""
        capsules = []
        for addend in (1, 2):
            ptx = self.folder / f"{addend}.ptx"
            ptx.write_text(KERNEL.replace("MORE", "" if addend == 1 else "@%p1 add.u32 %r2, %r2, 1;"))
            capsule = self.folder / f"{addend}.capsule"
            run("capture", "--driver", "rubia", "-o", capsule, "--", *PYTHON, pathlib.Path(__file__).with_name("launch_ptx.py"), ptx)
            capsules.append(capsule)
        text = run("diff", capsules[0], "--against", capsules[1], status=1)
        self.assertIn("different: allocation 0 (parameter 0): 1 of 64 b32 elements differ; element 40: expected 0x00000029, got 0x0000002a", text)


class RecordedOnAnH100(unittest.TestCase):
    """What an NVIDIA H100 made of kernels of ours."""

    def test_all_equal_on_two_targets(self):
        """With RUBIA_TEST_TARGETS=all each on both, else in turn."""
        targets = ("gfx1100,gfx942",) if os.environ.get("RUBIA_TEST_TARGETS") == "all" else ("gfx1100", "gfx942")
        for number, capsule in enumerate(sorted(pathlib.Path(CAPSULES).glob("*.capsule"))):
            with self.subTest(capsule.name):
                run("capsule", "verify", capsule)
                run("diff", capsule, "--arch", targets[number % len(targets)])

    def test_the_interpreter_gives_the_same(self):
        """With RUBIA_TEST_TARGETS=all, else of half of them."""
        for capsule in sorted(pathlib.Path(CAPSULES).glob("*.capsule"))[::1 if os.environ.get("RUBIA_TEST_TARGETS") == "all" else 2]:
            with self.subTest(capsule.name):
                run("diff", capsule, "--arch", "reference")


class Walk(unittest.TestCase):
    """docs/diff.md: what its commands print."""

    DOCUMENT = pathlib.Path(__file__).parents[2] / "docs/diff.md"

    def test_commands_print_what_is_shown(self):
        folder = pathlib.Path(CAPSULES)
        blocks = [b for b in self.DOCUMENT.read_text().split("```") if b.startswith("\n$ rubia diff")]
        self.assertEqual(len(blocks), 4)
        for block in blocks:
            unfolded = re.sub(r"\.\.\.\n +\.\.\.(?=.)", "...", block.strip())  # a long line is folded: "one...", "  ...part"
            command, *shown = unfolded.split("\n")
            words = command.split()[3:]
            words[0] = next(f for f in (folder / words[0], folder / "mistake" / words[0]) if f.exists())
            result = subprocess.run([RUBIA, "diff", *map(str, words)], capture_output=True, text=True, timeout=200)
            if "$ echo $?" in shown:
                self.assertEqual(shown[-2:], ["$ echo $?", str(result.returncode)])
                del shown[-2:]
            lines = result.stdout.splitlines()
            for line in shown:
                if line.strip() == "...":
                    continue
                pattern = ".*".join(re.escape(piece) for piece in line.split("..."))
                while lines and not re.fullmatch(pattern, lines[0]):
                    lines.pop(0)
                self.assertTrue(lines, f"{command} does not print: {line}\n{result.stdout}")
                lines.pop(0)


class Page(unittest.TestCase):
    """The report as a person sees it, in a real browser."""

    @classmethod
    def setUpClass(cls):
        if not browser.installed():
            raise unittest.SkipTest(browser.MISSING)
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        # Screenshots stay where a person can look at them.
        cls.pictures = pathlib.Path(os.environ.get("RUBIA_TEST_PICTURES", cls.folder.name))
        cls.page = f"{cls.folder.name}/report.html"
        run("diff", f"{CAPSULES}/mistake/softmax_loss.capsule", "--arch", "gfx1100", "--shape", "0=64x192", "--html", cls.page, status=1,
            cwd=pathlib.Path(__file__).parents[2])
        cls.light = browser.Browser(cls.folder.name)
        cls.addClassCleanup(cls.light.close)

    def see(self):
        self.light.open(self.page)
        return self.light

    def test_it_is_one_file_that_needs_no_network(self):
        text = pathlib.Path(self.page).read_text()
        for what in ("http", "src=", "url(", "@import"):
            self.assertNotIn(what, text)
        seen = self.see()
        self.assertEqual(seen.run("return performance.getEntriesByType('resource').length"), 0)
        self.assertEqual(seen.messages(), [])
        self.assertEqual(seen.run("return document.querySelectorAll('details').length"), 4)

    def test_it_shows_the_store_in_source_ptx_and_instructions(self):
        seen = self.see()
        titles = seen.run("return [...document.querySelectorAll('.code')].map(code => code.firstChild.textContent)")
        self.assertEqual(titles[:3], ["/examples/mistake/softmax_loss.cu:32", "PTX", "gfx1100, each with its line of the PTX"])
        marked = seen.run("return [...document.querySelectorAll('.code')].slice(0, 3)"
                                ".map(code => [...code.querySelectorAll('.marked')].map(one => one.textContent).join(' '))")
        self.assertRegex(marked[0], r"^32 .*logit -= rate")
        self.assertRegex(marked[1], r"^334 .*st\.global\.f32")
        self.assertRegex(marked[2], r"^334 global_store_b32 ")

    def test_the_thread_is_told_under_the_pointer(self):
        seen = self.see()
        x, y = seen.run("""const mark = document.querySelector('rect[data-x]');
                           mark.scrollIntoView({block: 'center'});
                           const box = mark.getBoundingClientRect();
                           return [box.x + box.width / 2, box.y + box.height / 2]""")
        seen.point(x, y)
        told = seen.run("return document.querySelector('output').textContent")
        self.assertRegex(told, r"^elements 0 to 47: 48; element 0: thread \(0,0,0\) of CTA \(0,0,0\), line 334 \(/examples/mistake/softmax_loss.cu:32\)$")
        self.assertEqual(seen.run("return document.querySelectorAll('rect.chosen').length"), 1)

    def test_the_keyboard_reaches_everything(self):
        seen = self.see()
        seen.press("n")
        self.assertEqual(seen.run("return document.activeElement.tagName"), "SUMMARY")
        self.assertTrue(seen.run("return document.activeElement.parentElement.open"))
        seen.press("Enter")
        self.assertFalse(seen.run("return document.activeElement.parentElement.open"))
        seen.press("a")
        self.assertEqual(seen.run("return document.querySelectorAll('details:not([open])').length"), 0)
        seen.press("Tab")
        self.assertEqual(seen.run("return document.activeElement.tagName"), "FIGURE")
        told = []
        for key in ("Right", "Right", "Left"):
            seen.press(key)
            told.append(seen.run("return document.activeElement.querySelector('output').textContent"))
        self.assertTrue(told[0].startswith("elements 0 to 47"), told)
        self.assertTrue(told[1].startswith("elements 48 to 95"), told)
        self.assertEqual(told[2], told[0])
        seen.press("Tab")  # a picture in two dimensions
        for key in ("Right", "Down"):
            seen.press(key)
        self.assertTrue(seen.run("return document.activeElement.querySelector('output').textContent").startswith("columns 0 to 0, rows 3 to 5"))

    def test_it_is_light_and_dark(self):
        pictures, colours = [], []
        dark = browser.Browser(self.folder.name, is_dark=True)
        self.addCleanup(dark.close)
        dark.open(self.page)
        for is_dark, seen in ((False, self.see()), (True, dark)):
            pictures.append(seen.picture(self.pictures / f"report-{'dark' if is_dark else 'light'}.png"))
            colours.append(seen.run("return getComputedStyle(document.querySelector('.bad')).color"))
        self.assertTrue(all(picture.startswith(b"\x89PNG") for picture in pictures))
        self.assertNotEqual(*pictures)
        self.assertEqual(colours, ["rgb(179, 38, 30)", "rgb(255, 138, 128)"])

    def test_it_is_printed_whole(self):
        seen = self.see()
        seen.press("a")  # all were open
        self.assertEqual(seen.run("return document.querySelectorAll('details[open]').length"), 0)
        closed = seen.printed()
        (self.pictures / "report.pdf").write_bytes(closed)
        seen.press("a")
        opened = seen.printed()
        pages = [len(re.findall(rb"/Type\s*/Page\b", pdf)) for pdf in (closed, opened)]
        self.assertEqual(pages[0], pages[1])
        self.assertGreater(pages[0], 2)


class Pictures(unittest.TestCase):
    """Those of docs/diff.md."""

    def test_they_are_made_of_the_real_page(self):
        if not browser.installed():
            self.skipTest(browser.MISSING)
        root = pathlib.Path(__file__).parents[2]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-B", root / "tools/docs-pictures", RUBIA, folder], check=True, capture_output=True, timeout=250)
            made = {picture.name: picture.read_bytes() for picture in pathlib.Path(folder).iterdir()}
        document = (root / "docs/diff.md").read_text()
        self.assertEqual(set(made), {"diff-verdict.png", "diff-store.png", "diff-heat-map.png"})
        for name, data in made.items():
            self.assertIn(f"(images/{name})", document)
            width, height = (int.from_bytes(data[at:at + 4], "big") for at in (16, 20))
            committed = (root / "docs/images" / name).read_bytes()
            shown = [int.from_bytes(committed[at:at + 4], "big") for at in (16, 20)]
            # Fonts differ between machines; a page without its parts is much smaller.
            self.assertTrue(all(0.7 < one / other < 1.4 for one, other in zip((width, height), shown)), f"{name}: {width} x {height}, {shown}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[7:])
