# SPDX-License-Identifier: Apache-2.0
"""each_target.py COMMAND... :: COMMAND...: runs each pipeline with {} replaced by a target, for every target of the tests.

Those are the targets on which all tests run (targets/Targets.def), with RUBIA_TEST_TARGETS=all every one.
"""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "targets"))
import targets


def main():
    commands = [[]]
    for word in sys.argv[1:]:
        if word == "::":
            commands.append([])
        else:
            commands[-1].append(word)
    for name in targets.ALL if os.environ.get("RUBIA_TEST_TARGETS") == "all" else targets.WHOLE:
        text = b""
        for command in commands:
            result = subprocess.run([word.replace("{}", name) for word in command], input=text, stdout=subprocess.PIPE)
            text = result.stdout
            if result.returncode:
                sys.stderr.buffer.write(text)
                sys.exit(f"{name}: {command} ended with {result.returncode}")


if __name__ == "__main__":
    main()
