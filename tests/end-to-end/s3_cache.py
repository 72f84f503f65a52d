#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The remote tier on S3: moto's server (pip install 'moto[server,s3,iam]'), which checks each request's signature as S3 does.

Usage: s3_cache.py RUBIA [unittest arguments]

RUBIA_TEST_MOTO in the environment: a Python that has moto, where this one has not.
"""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

PTX = (".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b64 %d1;\n.reg .b32 %r1;\n"
       "ld.param.u64 %d1, [p];\nmov.u32 %r1, 7;\nst.global.u32 [%d1], %r1;\nret;\n}\n")
PYTHON = os.environ.get("RUBIA_TEST_MOTO", sys.executable)
# A user that may do all there is with S3, and the bucket. Whatever comes later must be signed.
SET_UP = """
import boto3, json, sys, urllib.request
url = sys.argv[1]
def client(what, key):
    return boto3.client(what, endpoint_url=url, region_name="eu-west-1", aws_access_key_id=key[0], aws_secret_access_key=key[1])
first = ("first", "first")
iam = client("iam", first)
iam.create_user(UserName="farm")
policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
iam.put_user_policy(UserName="farm", PolicyName="s3", PolicyDocument=json.dumps(policy))
made = iam.create_access_key(UserName="farm")["AccessKey"]
client("s3", first).create_bucket(Bucket="kernels", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
request = urllib.request.Request(url + "/moto-api/reset-auth", data=b"0", method="POST", headers={"Content-Type": "text/plain"})
urllib.request.urlopen(request).read()
print(json.dumps([made["AccessKeyId"], made["SecretAccessKey"]]))
"""
LIST = """
import boto3, json, sys
s3 = boto3.client("s3", endpoint_url=sys.argv[1], region_name="eu-west-1", aws_access_key_id=sys.argv[2], aws_secret_access_key=sys.argv[3])
print(json.dumps([entry["Key"] for entry in s3.list_objects_v2(Bucket="kernels").get("Contents", [])]))
"""


def run_python(script, *words):
    clean = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return json.loads(subprocess.run([PYTHON, "-c", script, *words], check=True, capture_output=True, text=True, timeout=60, env=clean).stdout)


class S3(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if subprocess.run([PYTHON, "-c", "import moto.server, boto3, flask"], capture_output=True).returncode:
            print("no server that speaks S3 here (pip install 'moto[server,s3,iam]'): nothing is tried", file=sys.stderr)
            sys.exit(77)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "k.ptx").write_text(PTX)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        cls.url = f"http://127.0.0.1:{port}"
        server = subprocess.Popen([PYTHON, "-m", "moto.server", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  env=os.environ | {"INITIAL_NO_AUTH_ACTION_COUNT": "1000"})
        cls.addClassCleanup(server.wait)
        cls.addClassCleanup(server.terminate)
        for _ in range(300):
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        cls.key, cls.secret = run_python(SET_UP, cls.url)

    def launch(self, machine, status=0, **more):
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("RUBIA_", "AWS_")) and not name.lower().endswith("_proxy")}
        named = {"HOME": str(self.folder), "RUBIA_CACHE_DIR": str(self.folder / machine), "RUBIA_LOG": "info", "RUBIA_CACHE_REMOTE": "s3://kernels/farm/one",
                 "RUBIA_CACHE_REMOTE_TIMEOUT": "20000", "AWS_ACCESS_KEY_ID": self.key, "AWS_SECRET_ACCESS_KEY": self.secret, "AWS_REGION": "eu-west-1",
                 "AWS_ENDPOINT_URL": self.url}
        out = self.folder / "out"
        out.unlink(missing_ok=True)
        done = subprocess.run([RUBIA, "launch", "--device", "emulator", "--arch", "gfx1100", self.folder / "k.ptx", f"zero:4:{out}"],
                              env=clean | named | more, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stderr)
        if not status:
            self.assertEqual(out.read_bytes(), b"\x07\0\0\0")
        return done.stderr

    def events(self, machine):
        done = subprocess.run([RUBIA, "cache", "--dir", self.folder / machine, "stats", "--json"], check=True, capture_output=True, text=True)
        return json.loads(done.stdout)["directory"]["events"]

    def stored(self, count):
        """What is stored after the program has its answer."""
        for _ in range(100):
            keys = run_python(LIST, self.url, self.key, self.secret)
            if len(keys) >= count:
                break
            time.sleep(0.2)
        return keys

    def test_1_what_one_machine_compiles_another_fetches(self):
        self.assertEqual(run_python(LIST, self.url, self.key, self.secret), [])
        self.launch("first", RUBIA_CACHE_REMOTE_WRITE="1")
        keys = self.stored(2)
        self.assertEqual(len(keys), 2)
        for key in keys:
            self.assertRegex(key, r"^farm/one/[0-9a-f]{2}/[0-9a-f]+\.rubia$")
        self.assertEqual(self.events("first")["compiled"], 2)
        self.launch("second")
        self.assertEqual(self.events("second")["remote hits"], 2)
        self.assertEqual(self.events("second")["compiled"], 0)

    def test_2_a_wrong_key_is_told_and_costs_no_result(self):
        for name, more, code in (("secret", {"AWS_SECRET_ACCESS_KEY": "wrong"}, "SignatureDoesNotMatch"),
                                 ("key", {"AWS_ACCESS_KEY_ID": "AKIAWRONG"}, "InvalidAccessKeyId")):
            said = self.launch(name, **more)
            self.assertIn(f"answers with status 403, {code}", said)
            self.assertEqual(self.events(name)["compiled"], 2)
            self.assertNotIn("wrong", said)

    def test_3_what_cannot_be_signed_is_an_error_of_its_own(self):
        errors = (({"AWS_SECRET_ACCESS_KEY": ""}, "needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
                  ({"RUBIA_CACHE_REMOTE": "s3://"}, "names no bucket"),
                  ({"RUBIA_CACHE_REMOTE": "s3://a@b/c"}, "names no bucket"),
                  ({"RUBIA_CACHE_REMOTE": "s3://kernels/a?b"}, "has characters other than"),
                  ({"AWS_ENDPOINT_URL": "ftp://host"}, "AWS_ENDPOINT_URL is 'ftp://host'"),
                  ({"AWS_REGION": "eu/west"}, "'eu/west' is no region"))
        for number, (more, text) in enumerate(errors):
            self.assertRegex(self.launch(f"none{number}", **more), f"no remote kernel cache: .*{text}")


if __name__ == "__main__":
    RUBIA = sys.argv[1]
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
