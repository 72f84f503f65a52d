#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages of `rubia launch --html` and `rubia inspect --html`, and that of tools/test-apps, in a real browser; folded stacks.

Usage: pages.py RUBIA SOURCES [unittest arguments]
"""
import html.parser
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

# Two functions that were inlined, and loads; as nvcc writes it with -lineinfo.
KERNEL = """.version 8.0
.target sm_80
.address_size 64
.file 1 "scale.cu"
.visible .entry _Z5scalePfj(.param .u64 p, .param .u32 n)
{
  .reg .pred %p<3>;
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  .reg .f32 %f<4>;
  .loc 1 10 0
  ld.param.u64 %d1, [p];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %d2, %r2, 4;
  add.s64 %d3, %d1, %d2;
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 bra done;
  mov.u32 %r3, 0;
loop:
  .loc 1 3 0, function_name twice, inlined_at 1 12 0
  ld.global.f32 %f1, [%d3];
  add.f32 %f2, %f1, %f1;
  .loc 1 13 0
  st.global.f32 [%d3], %f2;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p2, %r3, 20;
  @%p2 bra loop;
done:
  ret;
}
.visible .entry broken()
{
  .reg .b32 %r<2>;
  tcgen05.wait::ld.sync.aligned;
  ret;
}
.section .debug_str
{
twice:
  .b8 116, 119, 105, 99, 101, 0
}
"""


def rubia(*words, status=0):
    done = subprocess.run([RUBIA, *map(str, words)], capture_output=True, text=True, timeout=200)
    assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done


class Balanced(html.parser.HTMLParser):
    """Every element that is opened is closed, in its order."""
    VOID = {"meta", "input", "br"}

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (tag, self.getpos())


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.pictures = pathlib.Path(os.environ.get("RUBIA_TEST_PICTURES", cls.folder))
        cls.ptx = cls.folder / "scale & <more>.ptx"
        cls.ptx.write_text(KERNEL)
        cls.launch = ["launch", cls.ptx, "--entry", "scale", "--block", "64", "--arch", "gfx1100", "--device", "emulator", "zero:256", "u32:20"]
        rubia(*cls.launch, "--html", cls.folder / "launch.html", "--folded", cls.folder / "folded", "--json=" + str(cls.folder / "launch.json"))
        code = ROOT / "examples" / "prebuilt" / "vector_add_driver"
        rubia("inspect", cls.ptx, code, "--html", cls.folder / "inspect.html", status=3)
        subprocess.run([sys.executable, "-B", ROOT / "tools/test-apps", "--html", cls.folder / "apps.html"], check=True)
        cls.pages = [cls.folder / f"{name}.html" for name in ("launch", "inspect", "apps")]

    def test_folded_stacks_sum_to_what_was_executed(self):
        launch, = json.loads((self.folder / "launch.json").read_text())["launches"]
        stacks = dict(line.rsplit(" ", 1) for line in (self.folder / "folded").read_text().splitlines())
        self.assertEqual(sum(map(int, stacks.values())), sum(launch["classes"].values()))
        kernel = "scale(float*, unsigned int)"
        self.assertTrue(all(stack.startswith(kernel + ";") for stack in stacks), stacks)
        self.assertIn(f"{kernel};scale.cu:12;twice scale.cu:3", stacks)
        self.assertGreater(int(stacks[f"{kernel};scale.cu:12;twice scale.cu:3"]), 20)
        frames = [entry["frames"] for entry in launch["code"] if len(entry.get("frames", [])) > 1]
        self.assertEqual([frame["line"] for frame in frames[0]], [3, 12])

    def test_each_is_one_file_that_needs_no_network(self):
        for page in self.pages:
            text = page.read_text()
            for what in ("http:", "src=", "url(", "@import"):
                self.assertNotIn(what, text, page.name)
            parser = Balanced()
            parser.feed(text)
            self.assertEqual(parser.open, [], page.name)
        self.assertIn("scale &amp; &lt;more&gt;.ptx", self.pages[0].read_text())

    def test_counts_alone_make_a_page_without_code(self):
        page = self.folder / "counts.html"
        rubia(*self.launch, "--stats=counts", "--html", page)
        text = page.read_text()
        self.assertIn("vector f32", text)
        self.assertNotIn("Flame graph", text)

    def test_a_page_that_cannot_be_written_is_an_error(self):
        for words in ([*self.launch, "--html", "/nowhere/page"], ["inspect", self.ptx, "--html", "/nowhere/page"]):
            self.assertIn("/nowhere/page", rubia(*words, status=1).stderr)


class Browsed(unittest.TestCase):
    """What a person sees, and does."""

    @classmethod
    def setUpClass(cls):
        if not browser.installed():
            raise unittest.SkipTest(browser.MISSING)
        Pages.setUpClass()
        cls.addClassCleanup(Pages.doClassCleanups)
        cls.light, cls.dark = (browser.Browser(Pages.folder, is_dark) for is_dark in (False, True))
        for seen in (cls.light, cls.dark):
            cls.addClassCleanup(seen.close)

    def see(self, name):
        self.light.open(Pages.folder / f"{name}.html")
        return self.light

    def column(self, seen, table, number):
        return seen.run("return [...document.querySelectorAll(arguments[0] + ' tbody tr')].map(row => row.cells[arguments[1]].textContent)", table, number)

    def press(self, seen, selector):
        x, y = seen.run("""const it = document.querySelector(arguments[0]);
                           it.scrollIntoView({block: 'center'});
                           const box = it.getBoundingClientRect();
                           return [box.x + Math.min(box.width, 20) / 2, box.y + box.height / 2]""", selector)
        seen.point(x, y)
        actions = [{"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp")]
        seen.command("actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]})

    def test_nothing_is_fetched_and_nothing_complained_of(self):
        for name in ("launch", "inspect", "apps"):
            seen = self.see(name)
            self.assertEqual(seen.run("return performance.getEntriesByType('resource').length"), 0)
            self.assertEqual(seen.messages(), [])

    def test_source_stands_beside_counts_and_heads_sort(self):
        seen = self.see("launch")
        lines = [int(line) for line in self.column(seen, "#lines0", 1)]
        self.assertEqual(lines, sorted(lines))
        self.press(seen, "#lines0 th:nth-child(4) button")
        counts = [int(count) for count in self.column(seen, "#lines0", 3)]
        self.assertEqual(counts, sorted(counts, reverse=True))
        self.assertGreater(counts[0], counts[-1])
        self.press(seen, "#lines0 th:nth-child(4) button")
        self.assertEqual([int(count) for count in self.column(seen, "#lines0", 3)], sorted(counts))

    def test_the_field_leaves_what_was_typed(self):
        seen = self.see("apps")
        whole = seen.run("return document.querySelectorAll('#applications tbody tr').length")
        self.press(seen, "input")
        seen.press(*"cupy")
        left = seen.run("return [...document.querySelectorAll('#applications tbody tr')].filter(row => row.checkVisibility()).map(row => row.textContent)")
        self.assertTrue(0 < len(left) < whole and all("cupy" in row.lower() for row in left), left)

    def test_a_frame_that_is_pressed_takes_the_whole_width(self):
        seen = self.see("launch")
        wide = "return document.querySelector(\"g[data-name^='twice']\").firstElementChild.getBoundingClientRect().width"
        before = seen.run(wide)
        self.press(seen, "g[data-name^='twice'] rect")
        after = seen.run(wide)
        self.assertGreater(after, before * 1.2)
        seen.run("document.querySelector('figure').focus()")
        seen.press("Escape")
        self.assertAlmostEqual(seen.run(wide), before, delta=1)
        seen.press("Right")
        self.assertIn("wave instructions", seen.run("return document.querySelector('output').textContent"))

    def test_they_are_light_and_dark(self):
        for name in ("launch", "inspect", "apps"):
            pictures = []
            for seen, shade in ((self.light, "light"), (self.dark, "dark")):
                seen.resize(1300, 2200)
                seen.open(Pages.folder / f"{name}.html")
                seen.run("for (const details of document.querySelectorAll('details')) details.open = true")
                pictures.append(seen.picture(Pages.pictures / f"{name}-{shade}.png"))
            self.assertTrue(all(picture.startswith(b"\x89PNG") for picture in pictures))
            self.assertNotEqual(*pictures)


if __name__ == "__main__":
    RUBIA, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
    sys.path.append(str(ROOT / "tests" / "diff"))
    import browser
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
