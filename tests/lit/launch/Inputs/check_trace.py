# SPDX-License-Identifier: Apache-2.0
"""The trace of a saxpy of 20 elements as JSON: y = 3 * 2 + 2.

Usage: check_trace.py FILE
"""
import json
import sys

document = json.load(open(sys.argv[1]))
assert document["version"] == 1 and "launches" not in document
lines = document["trace"]
assert [line["number"] for line in lines] == list(range(len(lines)))
assert all(line["kernel"] == "saxpy" and line["workgroup"] == [0, 0, 0] and line["wave"] == 0 for line in lines)
assert lines[0]["exec"] == "0xffffffff" and lines[-1]["text"] == "s_endpgm"
masked = [line for line in lines if any(register["name"] == "exec" for register in line["registers"])]
assert len(masked) == 1 and {"name": "exec", "value": "0xfffff"} in masked[0]["registers"]
(store,) = (line for line in lines if line["class"] == "global store")
(access,) = store["accesses"]
assert access["writes"] and not access["reads"] and access["space"] == "global" and access["bytes"] == 4
assert access["lanes"] == list(range(20))
assert [address - access["addresses"][0] for address in access["addresses"]] == list(range(0, 80, 4))
(multiplied,) = (line for line in lines if line["text"].startswith("v_fmac_f32"))
(result,) = multiplied["registers"]
assert result["lanes"] == list(range(20)) and result["values"] == [0x41000000] * 20
assert any(line.get("source", "").endswith("kernels.c:12") for line in lines)
