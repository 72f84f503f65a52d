#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Rubia's programs are made of: third-party notices, and a bill of materials (SPDX 2.3) of an installed tree.

Usage: describe.py notices --source ROOT --version V --llvm V -o FILE
       describe.py materials --source ROOT --version V --llvm V --tree PREFIX -o FILE

Both are the same bytes for the same commit on the same build system: times are the commit's.
"""
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import subprocess
import uuid

# (name, package of Debian or None, license, home page): what is linked into the programs or compiled in as headers.
PARTS = [
    ("LLVM and lld", "llvm-22-dev", "Apache-2.0 WITH LLVM-exception", "https://llvm.org"),
    ("GCC run-time libraries", "libstdc++-12-dev", "GPL-3.0-or-later WITH GCC-exception-3.1", "https://gcc.gnu.org"),
    ("HIP headers", "libamdhip64-dev", "MIT", "https://github.com/ROCm/HIP"),
    ("comgr headers", "libamd-comgr-dev", "NCSA", "https://github.com/ROCm/ROCm-CompilerSupport"),
    ("CLI11", "libcli11-dev", "BSD-3-Clause", "https://github.com/CLIUtils/CLI11"),
    ("JSON for Modern C++", "nlohmann-json3-dev", "MIT", "https://github.com/nlohmann/json"),
    ("toml++", "libtomlplusplus-dev", "MIT", "https://github.com/marzer/tomlplusplus"),
    ("Zstandard", "libzstd-dev", "BSD-3-Clause", "https://facebook.github.io/zstd"),
    ("LZ4", "liblz4-dev", "BSD-2-Clause", "https://lz4.org"),
    ("zlib", "zlib1g-dev", "Zlib", "https://zlib.net"),
    ("bzip2", "libbz2-dev", "bzip2-1.0.6", "https://sourceware.org/bzip2"),
    ("liblzma", "liblzma-dev", "LicenseRef-PublicDomain", "https://tukaani.org/xz"),
    ("libarchive", "libarchive-dev", "BSD-2-Clause", "https://libarchive.org"),
    ("Nettle", "nettle-dev", "LGPL-3.0-or-later OR GPL-2.0-or-later", "https://www.lysator.liu.se/~nisse/nettle"),
    ("GNU MPFR", "libmpfr-dev", "LGPL-3.0-or-later", "https://www.mpfr.org"),
    ("GNU MP", "libgmp-dev", "LGPL-3.0-or-later OR GPL-2.0-or-later", "https://gmplib.org"),
    ("jemalloc", "libjemalloc-dev", "BSD-2-Clause", "https://jemalloc.net"),
    ("libsodium", "libsodium-dev", "ISC", "https://libsodium.org"),
    ("libcurl headers", "libcurl4-openssl-dev", "curl", "https://curl.se"),
]


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def version_of(package):
    """The upstream version of an installed package; empty: not known."""
    text = output_of("dpkg-query", "-W", "-f", "${source:Upstream-Version}", package)
    return text.removesuffix("+ds") or ""


def commit_of(source):
    return output_of("git", "-C", source, "rev-parse", "HEAD")


def time_of(source):
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or output_of("git", "-C", source, "log", "-1", "--format=%ct") or "0"
    return datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def notices(arguments):
    text = "Rubia's programs contain the following, each under its own license.\n"
    for name, package, license_name, home in PARTS:
        text += f"\n{'=' * 100}\n{name} {version_of(package)}\n{license_name}\n{home}\n{'=' * 100}\n\n"
        file = pathlib.Path("/usr/share/doc") / package / "copyright"
        text += file.read_text(errors="replace") if file.is_file() else f"The text of the license is at {home}.\n"
    pathlib.Path(arguments.output).write_text(text)


def digest(path, name):
    return hashlib.new(name, path.read_bytes()).hexdigest()


def element(name):
    return "SPDXRef-" + "".join(c if c.isalnum() or c in ".-" else "-" for c in name)


def described_files(tree, output):
    files = []
    for path in sorted(tree.rglob("*")):
        if path.is_file() and not path.is_symlink() and path != output:
            name = path.relative_to(tree).as_posix()
            files.append({
                "SPDXID": element("File-" + hashlib.sha1(name.encode()).hexdigest()),
                "fileName": "./" + name,
                "checksums": [{"algorithm": "SHA1", "checksumValue": digest(path, "sha1")},
                              {"algorithm": "SHA256", "checksumValue": digest(path, "sha256")}],
                "licenseConcluded": "NOASSERTION",
                "copyrightText": "NOASSERTION",
            })
    return files


def materials(arguments):
    tree, output = pathlib.Path(arguments.tree), pathlib.Path(arguments.output)
    commit, files = commit_of(arguments.source), described_files(tree, output)
    code = hashlib.sha1("".join(sorted(f["checksums"][0]["checksumValue"] for f in files)).encode()).hexdigest()
    rubia = {
        "SPDXID": "SPDXRef-Rubia", "name": "rubia", "versionInfo": arguments.version, "downloadLocation": "NOASSERTION",
        "sourceInfo": f"commit {commit}" if commit else "no commit is known", "filesAnalyzed": True,
        "packageVerificationCode": {"packageVerificationCodeValue": code, "packageVerificationCodeExcludedFiles": ["./" + output.relative_to(tree).as_posix()]},
        "licenseConcluded": "Apache-2.0 WITH LLVM-exception", "licenseDeclared": "Apache-2.0 WITH LLVM-exception",
        "licenseInfoFromFiles": ["NOASSERTION"], "copyrightText": "NOASSERTION",
    }
    packages = [rubia]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-Rubia"}]
    for name, package, license_name, home in PARTS:
        packages.append({
            "SPDXID": element(package), "name": name, "downloadLocation": home, "filesAnalyzed": False,
            "versionInfo": arguments.llvm if package.startswith("llvm") else version_of(package) or "unknown",
            "licenseConcluded": license_name, "licenseDeclared": license_name, "copyrightText": "NOASSERTION",
        })
        relations.append({"spdxElementId": "SPDXRef-Rubia", "relationshipType": "STATIC_LINK", "relatedSpdxElement": element(package)})
    relations += [{"spdxElementId": "SPDXRef-Rubia", "relationshipType": "CONTAINS", "relatedSpdxElement": f["SPDXID"]} for f in files]
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"rubia-{arguments.version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/rubia-{arguments.version}-{uuid.uuid5(uuid.NAMESPACE_URL, commit + code)}",
        "creationInfo": {"created": time_of(arguments.source), "creators": [f"Tool: rubia-describe-{arguments.version}", "Organization: Rubia"]},
        "packages": packages, "files": files, "relationships": relations,
        "hasExtractedLicensingInfos": [{"licenseId": "LicenseRef-PublicDomain", "name": "Public domain",
                                        "extractedText": "This part has been put into the public domain by its authors."}],
    }
    output.write_text(json.dumps(document, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["notices", "materials"])
    parser.add_argument("--source", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--llvm", required=True)
    parser.add_argument("--tree")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    {"notices": notices, "materials": materials}[arguments.what](arguments)


if __name__ == "__main__":
    main()
