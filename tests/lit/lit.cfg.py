# Tests of the rubia command: .ptx files whose RUN lines drive it, with FileCheck where text is expected.
import os

import lit.formats

config.name = "rubia"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ptx", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.rubia_build, "tests", "lit")
config.excludes = ["Inputs"]

config.substitutions.append(("%rubia", os.path.join(config.rubia_build, "bin", "rubia")))
config.substitutions.append(("%python", config.python))
config.substitutions.append(("%clang", config.clang))
config.substitutions.append(("%inputs", os.path.join(config.test_source_root, "Inputs")))
config.environment["PATH"] = os.pathsep.join([config.llvm_tools, config.environment["PATH"]])
config.environment["RUBIA_DEVICE"] = "emulator"
# Every run starts cold; what is compiled is shared between the tests of one run.
config.environment["RUBIA_CACHE_DIR"] = os.path.join(config.test_exec_root, "cache")
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
