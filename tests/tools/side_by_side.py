# SPDX-License-Identifier: Apache-2.0
"""Runs the cases of a unittest program side by side: most of their time, they wait."""
import concurrent.futures
import sys
import time
import unittest


def cases(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from cases(test)
        else:
            yield test


def run(case):
    result, begin = unittest.TestResult(), time.monotonic()
    case.run(result)
    outcome = "skipped" if result.skipped else "ok" if result.wasSuccessful() else "FAILED"
    text = "".join(trace for _, trace in result.failures + result.errors)
    print(f"{case.id()} ... {outcome} ({time.monotonic() - begin:.1f} s)\n{text}", end="", flush=True)
    return result.wasSuccessful()


def main(names):
    """All cases of the program, or those named; ends the process."""
    module, load = sys.modules["__main__"], unittest.defaultTestLoader
    suite = load.loadTestsFromNames(names, module) if names else load.loadTestsFromModule(module)
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        good = list(threads.map(run, cases(suite)))
    print(f"{len(good)} cases, {good.count(False)} failed")
    sys.exit(not good or not all(good))
