#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The array job of examples/precompile and the job behind it, by a Slurm of this machine's own: they give the pack of a single run.

Usage: slurm_jobs.py RUBIA SOURCE_DIR. Skips without root and Debian's packages slurmctld, slurmd and slurm-client.
"""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

SKIP = 77
TASKS = 3
SECONDS = 300  # that the jobs may take
CONFIGURATION = """ClusterName=rubia
SlurmctldHost={host}
SlurmUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
SlurmctldPort={controller}
SlurmdPort={daemon}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
NodeName={host} CPUs=8 RealMemory=65536 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def free_ports(count):
    sockets = [socket.create_server(("", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Jobs(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        for name in ("state", "spool", "work"):
            (self.folder / name).mkdir()
        host = socket.gethostname().split(".")[0]
        controller, daemon = free_ports(2)
        configuration = self.folder / "slurm.conf"
        configuration.write_text(CONFIGURATION.format(host=host, controller=controller, daemon=daemon, folder=self.folder))
        self.environment = {"PATH": f"{RUBIA.parent}:{os.environ['PATH']}", "HOME": str(self.folder), "SLURM_CONF": str(configuration)}
        self.daemons = [self.start("slurmctld", "-D", "-i"), self.start("slurmd", "-D", "-N", host)]

    def start(self, *words):
        return subprocess.Popen(words, env=self.environment, stdout=open(self.folder / f"{words[0]}.log", "w"), stderr=subprocess.STDOUT)

    def tearDown(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            daemon.wait()
        shutil.rmtree(self.folder)

    def run_here(self, *words):
        done = subprocess.run([str(word) for word in words], env=self.environment, cwd=self.folder / "work", capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout.strip()

    def logs(self):
        return "\n".join(f"{path.name}:\n{path.read_text()[-2000:]}" for path in [*self.folder.glob("*.log"), *(self.folder / "work").glob("*.log")])

    def test_an_array_gives_the_pack_of_a_single_run(self):
        scripts, result = SOURCE / "examples/precompile", self.folder / "result"
        inputs = self.folder / "programs"
        inputs.mkdir()
        for source in ("compile/arithmetic.ptx", "compile/lines.ptx", "compile/optimise.ptx", "launch/saxpy.ptx", "launch/grids.ptx"):
            shutil.copy(SOURCE / "tests/lit" / source, inputs)
        job = self.run_here("sbatch", "--parsable", f"--array=1-{TASKS}", scripts / "precompile.slurm", inputs, "gfx1100,gfx942", result)
        self.run_here("sbatch", f"--dependency=afterany:{job}", scripts / "merge.slurm", result)
        pack, end = result / "kernels.pack", time.monotonic() + SECONDS
        while not pack.exists() and time.monotonic() < end:
            time.sleep(1)
        self.assertTrue(pack.exists(), self.logs())
        self.assertEqual(sorted(path.name for path in (result / "reports").iterdir()), [f"{i + 1}.json" for i in range(TASKS)])
        self.run_here(RUBIA, "precompile", inputs, "--arch", "gfx1100,gfx942", "-o", self.folder / "single", "-q")
        self.run_here(RUBIA, "cache", "--dir", self.folder / "single", "export", self.folder / "single.pack")
        self.assertEqual(pack.read_bytes(), (self.folder / "single.pack").read_bytes())


if __name__ == "__main__":
    RUBIA, SOURCE = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    missing = [name for name in ("slurmctld", "slurmd", "sbatch") if not shutil.which(name)]
    if missing or os.getuid():
        print("skipped:", f"{', '.join(missing)} not installed" if missing else "not root")
        sys.exit(SKIP)
    unittest.main(argv=sys.argv[:1])
