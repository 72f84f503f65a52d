# SPDX-License-Identifier: Apache-2.0
"""What `rubia inspect` says of an environment's kernels, beside what became of those that an application used.

A cache of kernels has an entry for each unit that was asked for: its code, or why it was refused. Keys name the image, the
compute capability and the unit, and so does `rubia inspect --json`.
"""
import collections


def inspected(inspection):
    """Of each image the capability that its file is told, the kernels of each unit, and why it cannot be loaded."""
    images = collections.defaultdict(list)
    for file in inspection["files"]:
        for module in file.get("modules", []):
            if "image" not in module:
                continue
            units = collections.defaultdict(list)
            for kernel in module.get("kernels", []):
                units[kernel["unit"]].append(kernel)
            images[module["image"]].append((file["compute_capability"], units, module.get("problem")))
    return images


def said(images, entry):
    """Of an entry of the cache: its kernels' names, and whether inspect says that they work. None: no file has the image."""
    key, found = entry["key"], images.get(entry["key"]["image"])
    if not found:
        return None
    told = [(units, problem) for capability, units, problem in found if capability == int(key["capability"])]
    if told:
        units, problem = told[0]
        if key["kind"] == "manifest":
            return [], "works" if units or not problem else "fails"
        kernels = units.get(int(key["unit"]), [])
    else:
        # A program that shares the runtime with a library of NVIDIA's decides what that is told: its PTX may be another.
        kernels = [kernel for _, units, _ in found for unit in units.values() for kernel in unit if kernel["name"] in entry.get("kernels", [])]
        if not kernels:
            return [], f"inspected for capability {found[0][0]}, loaded for {key['capability']}"
    return [kernel["name"] for kernel in kernels], "works" if kernels and all(kernel["works"] for kernel in kernels) else "fails"


def compare(inspection, entries):
    """How many units became what inspect says, how many came from no file, and those that differ with what happened."""
    images = inspected(inspection)
    result = {"as_inspected": 0, "at_run_time": 0, "differ": {}}
    for entry in entries:
        key, happened = entry["key"], "works" if entry["outcome"] == "result" else "fails"
        if key["kind"] not in ("code", "manifest") or key["kind"] == "manifest" and happened == "works":
            continue
        known = said(images, entry)
        if known is None:
            result["at_run_time"] += 1
            continue
        names, word = known
        if word == happened:
            result["as_inspected"] += 1
            continue
        name = (names or entry.get("kernels") or [f"image {key['image'][:16]}"])[0]
        result["differ"][name] = " ".join(entry.get("error", "compiled").split())[:200] + f"; inspect: {word}"
    return result


def words(foretold):
    """For the table."""
    inspected, differ = foretold["as_inspected"], len(foretold["differ"])
    if not inspected and not differ:
        return "none of files"
    return f"{inspected} of {inspected + differ}"
