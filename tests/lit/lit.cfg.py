# SPDX-License-Identifier: Apache-2.0
# Tests of the rubia command: .ptx files whose RUN lines drive it, with FileCheck where text is expected.
import os

import lit.formats

config.name = "rubia"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ptx", ".test", ".hip"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.rubia_build, "tests", "lit")
config.excludes = ["Inputs"]

config.substitutions.append(("%rubia", os.path.join(config.rubia_build, "bin", "rubia")))
# None needs more than the standard library, and looking for more takes most of a short program's time.
config.python += " -S"
config.substitutions.append(("%python", config.python))
if config.nvcc and os.path.exists(config.nvcc):
    config.available_features.add("nvcc")
    config.substitutions.append(("%nvcc", config.nvcc))
config.substitutions.append(("%inputs", os.path.join(config.test_source_root, "Inputs")))
config.substitutions.append(("%examples", os.path.join(config.test_source_root, "..", "..", "examples")))
# Programs and code objects that the build has made.
config.substitutions.append(("%programs", os.path.join(config.test_exec_root, "programs")))
config.substitutions.append(("%hiplib", "LD_LIBRARY_PATH=" + os.path.join(config.rubia_build, "lib", "rubia", "hip")))
config.substitutions.append(("%each-target", config.python + " " + os.path.join(config.test_source_root, "Inputs", "each_target.py")))
config.substitutions.append(("%each-version", config.python + " " + os.path.join(config.test_source_root, "hip", "Inputs", "each_version.py")))
config.environment["PATH"] = os.pathsep.join([config.llvm_tools, config.environment["PATH"]])
config.environment["RUBIA_DEVICE"] = "emulator"
# Every run starts cold; what is compiled is shared between the tests of one run.
config.environment["RUBIA_CACHE_DIR"] = os.path.join(config.test_exec_root, "cache")
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "RUBIA_TEST_TARGETS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
