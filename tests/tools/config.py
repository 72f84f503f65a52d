#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The file with settings: where it is looked for, what goes before it, and who reads none.

Usage: config.py RUBIA PROGRAM [unittest arguments]
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest


class Config(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.file = self.folder / "rubia.toml"

    def rubia(self, *words, rubia=None, status=0, **environment):
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("RUBIA_", "XDG_", "CUDA_"))}
        done = subprocess.run([str(rubia or RUBIA), *map(str, words)], text=True, capture_output=True, timeout=120, cwd=self.folder,
                              env=clean | {"HOME": str(self.folder / "home"), "RUBIA_CACHE_DIR": str(self.folder / "cache")} | environment)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def settings(self, **environment):
        document = json.loads(self.rubia("config", "--json", **environment).stdout)
        self.assertEqual(document["version"], 1)
        return document, {entry["variable"]: entry for entry in document["settings"]}

    def write(self, text, file=None):
        file = file or self.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def test_places_are_looked_at_in_their_order(self):
        self.write('arch = "gfx90a"', self.folder / "rubia.toml")  # the current folder's is nobody's
        document, _ = self.settings()
        self.assertEqual(document["file"], {"path": f"{self.folder}/home/.config/rubia/rubia.toml", "is_there": False})
        places = [self.folder / "home/.config/rubia/rubia.toml", self.folder / "xdg/rubia/rubia.toml", self.folder / "named.toml"]
        environment = [{}, {"XDG_CONFIG_HOME": str(self.folder / "xdg")},
                       {"XDG_CONFIG_HOME": str(self.folder / "xdg"), "RUBIA_CONFIG": str(self.folder / "named.toml")}]
        for number, (place, variables) in enumerate(zip(places, environment)):
            self.write(f"emulator_seed = {number + 5}", place)
            document, settings = self.settings(**variables)
            self.assertEqual(document["file"], {"path": str(place), "is_there": True})
            self.assertEqual((settings["RUBIA_EMULATOR_SEED"]["value"], settings["RUBIA_EMULATOR_SEED"]["source"]), (str(number + 5), "file"))
        _, settings = self.settings(XDG_CONFIG_HOME="xdg")  # relative: ignored
        self.assertEqual(settings["RUBIA_EMULATOR_SEED"]["value"], "5")

    def test_environment_and_options_go_before_it(self):
        self.write('device = "emulator"\narch = "gfx90a"\n')
        named = {"RUBIA_CONFIG": str(self.file)}
        self.assertIn("device 0 is gfx90a", self.rubia("run", PROGRAM, **named).stderr)
        self.assertIn("device 0 is gfx942", self.rubia("run", PROGRAM, RUBIA_ARCH="gfx942", **named).stderr)
        self.assertIn("device 0 is gfx1201", self.rubia("run", "--arch", "gfx1201", PROGRAM, RUBIA_ARCH="gfx942", **named).stderr)
        self.assertIn("PASS", self.rubia("run", PROGRAM, **named).stdout)

    def test_programs_and_the_compile_worker_read_it(self):
        # Nobody hands these on: libcuda, the emulator and the worker look for themselves.
        dumps = self.folder / "dumps"
        self.write(f'device = "emulator"\nlog = "info"\ndump = ["ptx"]\ndump_dir = "{dumps}"\nemulator_stats = "{self.folder}/stats"\n')
        self.rubia("run", PROGRAM, RUBIA_CONFIG=str(self.file))
        self.assertTrue(any(dumps.iterdir()))
        self.assertIn("vectorAdd", (self.folder / "stats").read_text())

    def test_what_is_wrong_is_told(self):
        self.write('arhc = "gfx942"\nnan = "maybe"\n')
        done = self.rubia("doctor", "--list", "--selftest", RUBIA_CONFIG=str(self.file))
        self.assertIn(f"rubia: {self.file}:1: 'arhc' is no setting, did you mean arch?", done.stderr)
        self.assertIn(f"rubia: {self.file}: nan is 'maybe', expected any or canonical; any is taken", done.stderr)
        self.write('device = "gpu"')
        done = self.rubia("run", PROGRAM, RUBIA_CONFIG=str(self.file), status=1)
        self.assertIn(f"{self.file}: device is 'gpu', expected auto, hip or emulator", done.stderr)
        done = self.rubia("doctor", "--list", "--selftest", RUBIA_CONFIG=str(self.folder / "none.toml"))
        self.assertIn("none.toml: No such file or directory; no settings are read", done.stderr)
        self.write("arch = [")
        done = self.rubia("doctor", "--list", "--selftest", RUBIA_CONFIG=str(self.file))
        self.assertIn("; no settings are read", done.stderr)

    def test_a_file_that_may_not_be_read_is_told(self):
        file = self.folder / "home/.config/rubia/rubia.toml"
        self.write('emulator_seed = 7', file)
        file.chmod(0)
        words = ["doctor", "--list", "--selftest"]
        if os.geteuid() == 0:  # who may read everything
            self.folder.chmod(0o755)
            words = [shutil.which("setpriv"), "--reuid=65534", "--clear-groups", RUBIA, *words]
            done = self.rubia(*words[1:], rubia=words[0])
        else:
            done = self.rubia(*words)
        self.assertIn(f"rubia: {file}: Permission denied; no settings are read", done.stderr)

    def test_tests_have_no_file_of_their_users(self):
        if "CTEST_INTERACTIVE_DEBUG_MODE" not in os.environ:
            self.skipTest("ctest sets the environment")
        folder = pathlib.Path(os.environ["XDG_CONFIG_HOME"])
        self.assertEqual(folder.name, "no-settings")
        self.assertFalse((folder / "rubia").exists())  # others keep theirs there: Chromium

    def test_programs_with_more_rights_read_none(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        self.folder.chmod(0o755)
        self.write('emulator_seed = 7')
        copy = self.folder / "rubia"
        shutil.copy(RUBIA, copy)
        shutil.copy(pathlib.Path(RUBIA).parents[1] / "lib/rubia/rubia-commands", self.folder)  # which the copy becomes
        environment = {"RUBIA_CONFIG": str(self.file)}
        before = json.loads(self.rubia("config", "--json", rubia=copy, **environment).stdout)
        self.assertTrue(before["file"]["is_there"])
        os.chown(copy, 65534, 65534)
        copy.chmod(0o4755)  # another user's rights than its caller's
        after = json.loads(self.rubia("config", "--json", rubia=copy, **environment).stdout)
        self.assertEqual(after["file"], {"path": "", "is_there": False})


if __name__ == "__main__":
    RUBIA, PROGRAM = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
