# SPDX-License-Identifier: Apache-2.0
"""`rubia debug --dap`, as an editor talks with it.
Usage: editor.py RUBIA CHECKED-PROGRAM WORK.PTX"""
import base64
import json
import pathlib
import struct
import subprocess
import sys
import unittest

RUBIA, PROGRAM, PTX = sys.argv[1:4]
LINES = pathlib.Path(PTX).read_text(encoding="utf-8").splitlines()


def line_of(text):
    return next(i for i, line in enumerate(LINES, 1) if text in line)


class Editor:
    """A client of the protocol: requests with their answers, and the events that come between."""

    def __init__(self, *options):
        self.process = subprocess.Popen([RUBIA, "debug", "--dap", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.sequence = 0
        self.events, self.answers = [], {}

    def send(self, command, **arguments):
        self.sequence += 1
        text = json.dumps({"seq": self.sequence, "type": "request", "command": command, "arguments": arguments}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(text) + text)
        self.process.stdin.flush()
        return self.sequence

    def read(self):
        length = None
        while line := self.process.stdout.readline().strip():
            name, value = line.split(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if length is None:
            raise EOFError("the adapter has ended")
        message = json.loads(self.process.stdout.read(length))
        if message["type"] == "event":
            self.events.append(message)
        else:
            self.answers[message["request_seq"]] = message

    def answer(self, number):
        while number not in self.answers:
            self.read()
        return self.answers.pop(number)

    def ask(self, command, **arguments):
        answer = self.answer(self.send(command, **arguments))
        if not answer["success"]:
            raise ValueError(answer["message"])
        return answer.get("body")

    def event(self, name):
        """The next event of that name; those before it are dropped."""
        while True:
            while self.events:
                event = self.events.pop(0)
                if event["event"] == name:
                    return event["body"]
                if event["event"] == "terminated":
                    raise EOFError(f"the program has ended without {name}")
            self.read()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=30)


class Protocol(unittest.TestCase):
    def begin(self, lines=(), functions=(), kernels=("work", 64, 1, 64, 64), options=(), **launch):
        """A program that is started with breakpoints, as editors do it."""
        editor = Editor(*options)
        self.addCleanup(editor.close)
        self.capabilities = editor.ask("initialize", adapterID="rubia")
        started = editor.send("launch", program=PROGRAM, args=[PTX, *map(str, kernels)], arch="gfx1100", **launch)
        editor.event("initialized")
        self.set = editor.ask("setBreakpoints", source={"name": "<image>"}, breakpoints=list(lines))["breakpoints"]
        editor.ask("setFunctionBreakpoints", breakpoints=[{"name": name} for name in functions])
        editor.ask("configurationDone")
        self.assertTrue(editor.answer(started)["success"])
        return editor

    def stop(self, editor, reason):
        stopped = editor.event("stopped")
        self.assertEqual(stopped["reason"], reason)
        return stopped

    def frame(self, editor, thread):
        return editor.ask("stackTrace", threadId=thread)["stackFrames"][0]

    def test_a_session_from_breakpoint_to_end(self):
        line = line_of("st.shared")
        editor = self.begin([{"line": line, "condition": "thread 37"}])
        self.assertEqual([one["verified"] for one in self.set], [False])
        self.assertTrue(editor.event("breakpoint")["breakpoint"]["verified"])
        stopped = self.stop(editor, "breakpoint")
        self.assertEqual(stopped["hitBreakpointIds"], [self.set[0]["id"]])
        threads = {one["id"]: one["name"] for one in editor.ask("threads")["threads"]}
        self.assertEqual(threads[stopped["threadId"]], "workgroup (0,0,0) wave 1")
        frame = self.frame(editor, stopped["threadId"])
        self.assertEqual((frame["line"], frame["name"]), (line, "work"))
        content = editor.ask("source", sourceReference=frame["source"]["sourceReference"], source=frame["source"])["content"]
        self.assertEqual(content.splitlines()[line - 1], LINES[line - 1])
        scopes = {one["name"]: one["variablesReference"] for one in editor.ask("scopes", frameId=frame["id"])["scopes"]}
        named = {one["name"]: one for one in editor.ask("variables", variablesReference=scopes["PTX registers"])["variables"]}
        self.assertEqual(named["%r3"]["value"], "0x89 = 137")  # 100 + thread
        registers = {one["name"] for one in editor.ask("variables", variablesReference=scopes["Registers"])["variables"]}
        self.assertLess({"pc", "exec", "s0", "v0"}, registers)
        self.assertEqual(editor.ask("evaluate", expression="%r3", context="hover", frameId=frame["id"])["result"], "0x89 = 137")
        editor.ask("continue", threadId=stopped["threadId"])
        self.assertEqual(editor.event("exited")["exitCode"], 0)
        editor.event("terminated")
        editor.ask("disconnect")

    def test_steps(self):
        editor = self.begin([{"line": line_of("ld.global"), "condition": "thread 2"}])
        thread = self.stop(editor, "breakpoint")["threadId"]
        first = self.frame(editor, thread)
        editor.ask("next", threadId=thread)
        self.stop(editor, "step")
        second = self.frame(editor, thread)
        self.assertNotEqual(first["line"], second["line"])
        editor.ask("stepIn", threadId=thread, granularity="instruction")
        self.stop(editor, "step")
        third = self.frame(editor, thread)
        listed = editor.ask("disassemble", memoryReference=second["instructionPointerReference"], instructionOffset=-1, instructionCount=3)["instructions"]
        self.assertEqual([one["address"] for one in listed[1:]],
                         [second["instructionPointerReference"], third["instructionPointerReference"]])

    def test_into_a_function_and_out(self):
        editor = self.begin(functions=["triple"], options=["--optimise", "O0"])
        thread = self.stop(editor, "breakpoint")["threadId"]
        frames = editor.ask("stackTrace", threadId=thread)["stackFrames"]
        self.assertEqual([frame["name"] for frame in frames], ["triple", "work"])
        editor.ask("stepOut", threadId=thread)
        self.stop(editor, "step")
        self.assertEqual([frame["name"] for frame in editor.ask("stackTrace", threadId=thread)["stackFrames"]], ["work"])

    def test_memory_and_the_console(self):
        editor = self.begin([{"line": line_of("add.s32 %r3"), "condition": "thread 3"}], options=["--optimise", "O0"])
        thread = self.stop(editor, "breakpoint")["threadId"]
        frame = self.frame(editor, thread)
        address = editor.ask("evaluate", expression="%rd1", context="watch", frameId=frame["id"])["memoryReference"]
        read = editor.ask("readMemory", memoryReference=address, count=16)
        self.assertEqual(struct.unpack("<4I", base64.b64decode(read["data"])), (0, 1, 2, 3))
        printed = editor.ask("evaluate", expression="thread 7", context="repl", frameId=frame["id"])["result"]
        self.assertIn("thread (7,0,0), wave 0 lane 7", printed)
        self.assertEqual(editor.ask("evaluate", expression="print %r1", context="repl")["result"].split(" in ")[0], "%r1 = 0x7 = 7")
        with self.assertRaisesRegex(ValueError, "not known here"):
            editor.ask("evaluate", expression="%nothing", context="watch", frameId=frame["id"])
        with self.assertRaisesRegex(ValueError, "not supported"):
            editor.ask("restartFrame", frameId=frame["id"])

    def test_changes(self):
        editor = self.begin([{"line": line_of("st.shared"), "condition": "thread 37"}, {"line": line_of("bar.sync"), "condition": "thread 37"}])
        thread = self.stop(editor, "breakpoint")["threadId"]
        frame = self.frame(editor, thread)
        scopes = {one["name"]: one["variablesReference"] for one in editor.ask("scopes", frameId=frame["id"])["scopes"]}
        answer = editor.ask("setVariable", variablesReference=scopes["PTX registers"], name="%r3", value="1000")
        self.assertEqual((answer["value"], answer["type"]), ("0x3e8 = 1000", "b32"))
        with self.assertRaisesRegex(ValueError, "'many' is not b32"):
            editor.ask("setVariable", variablesReference=scopes["PTX registers"], name="%r3", value="many")
        with self.assertRaisesRegex(ValueError, "cannot be set"):
            editor.ask("setVariable", variablesReference=scopes["Registers"], name="pc", value="0")
        editor.ask("continue", threadId=thread)
        self.stop(editor, "breakpoint")
        self.assertIn("0x94: 1000", editor.ask("evaluate", expression="memory shared 148 1 u32", context="repl")["result"])
        tile = hex(0x10000 << 32)  # where generic addresses have shared memory
        written = editor.ask("writeMemory", memoryReference=tile, offset=148, data=base64.b64encode(struct.pack("<2I", 5, 6)).decode())
        self.assertEqual(written["bytesWritten"], 8)
        read = editor.ask("readMemory", memoryReference=tile, offset=144, count=16)
        self.assertEqual(struct.unpack("<4I", base64.b64decode(read["data"])), (136, 5, 6, 139))
        with self.assertRaisesRegex(ValueError, "nothing is allocated"):
            editor.ask("writeMemory", memoryReference="0x10", data="AAAA")
        frame = self.frame(editor, thread)
        self.assertEqual(editor.ask("setExpression", expression="scc", value="1", frameId=frame["id"])["value"], "0x1")
        self.assertTrue(all(self.capabilities[f"supports{name}"] for name in ("SetVariable", "SetExpression", "WriteMemoryRequest")))

    def test_entry_and_instruction_breakpoints(self):
        editor = self.begin(stopOnEntry=True)
        thread = self.stop(editor, "entry")["threadId"]
        listed = editor.ask("disassemble", memoryReference=self.frame(editor, thread)["instructionPointerReference"], instructionOffset=0,
                            instructionCount=4)["instructions"]
        answer = editor.ask("setInstructionBreakpoints", breakpoints=[{"instructionReference": listed[3]["address"]}])["breakpoints"]
        self.assertTrue(answer[0]["verified"], answer)
        editor.ask("continue", threadId=thread)
        self.assertEqual(self.frame(editor, self.stop(editor, "breakpoint")["threadId"])["instructionPointerReference"], listed[3]["address"])

    def test_instructions_beyond_the_ends(self):
        editor = self.begin(stopOnEntry=True)
        here = self.frame(editor, self.stop(editor, "entry")["threadId"])["instructionPointerReference"]

        def listed(offset, count):
            return [one["address"] for one in editor.ask("disassemble", memoryReference=here, instructionOffset=offset,
                                                         instructionCount=count)["instructions"]]
        around = listed(-3000, 6000)
        self.assertEqual(len(around), 4096)
        self.assertEqual((around[0], around[3000]), ("0x0", here))
        self.assertEqual(listed(-2, 4)[2], here)
        self.assertEqual(listed(3000, 3), ["0x0"] * 3)
        self.assertEqual(len(listed(-2**63, 2**63 - 1)), 4096)
        self.assertEqual(listed(2**63 - 1, 1), ["0x0"])

    def test_breakpoints_are_answered_in_their_order(self):
        editor = self.begin(stopOnEntry=True)
        here = int(self.frame(editor, self.stop(editor, "entry")["threadId"])["instructionPointerReference"], 16)
        line = line_of("st.shared")
        answers = editor.ask("setBreakpoints", source={"name": "<image>"},
                             breakpoints=[{"line": line, "condition": "nonsense"}, {"line": line}])["breakpoints"]
        self.assertEqual([one["verified"] for one in answers], [False, True])
        self.assertIn("usage", answers[0]["message"])
        second = editor.ask("disassemble", memoryReference=hex(here), instructionOffset=1, instructionCount=1)["instructions"][0]["address"]
        editor.ask("setInstructionBreakpoints", breakpoints=[{"instructionReference": hex(here), "offset": int(second, 16) - here}])
        editor.ask("continue", threadId=1)
        self.assertEqual(self.frame(editor, self.stop(editor, "breakpoint")["threadId"])["instructionPointerReference"], second)

    def test_a_second_start_is_refused(self):
        editor = self.begin(stopOnEntry=True)
        self.stop(editor, "entry")
        started = editor.send("launch", program=PROGRAM)
        editor.ask("configurationDone")
        self.assertIn("runs already", editor.answer(started)["message"])

    def test_a_fault(self):
        editor = self.begin(kernels=("wrong", 32, 1, 64, 64))
        stopped = self.stop(editor, "exception")
        self.assertIn("access outside of any allocation", stopped["text"])
        self.assertIn("kernel wrong", editor.ask("exceptionInfo", threadId=stopped["threadId"])["description"])
        editor.ask("continue", threadId=stopped["threadId"])
        self.assertEqual(editor.event("exited")["exitCode"], 1)

    def test_pause_and_disconnect(self):
        editor = self.begin(kernels=("endless", 32, 1, 64, 64))
        editor.ask("pause", threadId=1)
        stopped = self.stop(editor, "pause")
        self.assertEqual(editor.ask("stackTrace", threadId=stopped["threadId"])["stackFrames"][-1]["name"], "endless")
        editor.ask("disconnect")
        self.assertEqual(editor.process.wait(timeout=30), 0)

    def test_what_the_program_prints_and_lacks(self):
        editor = self.begin()
        self.assertEqual(editor.event("output")["output"], "done\n")
        other = Editor()
        self.addCleanup(other.close)
        other.ask("initialize")
        started = other.send("launch", program="/nonexistent/program")
        other.ask("configurationDone")
        self.assertIn("no such program", other.answer(started)["message"])

    def test_what_is_not_of_the_protocol_ends_it(self):
        deep = b"[" * 100000
        for text, why in ((b"Content-Length: many\r\n\r\n{}", b"Content-Length"), (b"x" * 20000, b"too long"),
                          (b"Content-Length: %d\r\n\r\n%s" % (len(deep), deep), b"nest")):
            done = subprocess.run([RUBIA, "debug", "--dap"], input=text, capture_output=True, timeout=30)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(why, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
