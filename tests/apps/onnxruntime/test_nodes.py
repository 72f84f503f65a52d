# SPDX-License-Identifier: Apache-2.0
"""The tests of single operators that the package `onnx` has for any back end, and by which ONNX Runtime tests its providers.

A test is skipped where the answer of ONNX Runtime's CPU provider is another than what the test expects, where the CUDA
provider leaves the operator to the CPU, and where it refuses it by its own words. What the CUDA provider takes has to be
right."""
import contextlib

import onnxruntime
import pytest
from onnx.backend.base import Backend, BackendRep
from onnx.backend.test.runner import Runner

REFUSALS = ("assigned to the default CPU EP", ": 9 : NOT_IMPLEMENTED", "requires fp16 or bf16, not fp32", "Can't reduce on dim with value of 0",
            "Training mode does not support BN opset")


@contextlib.contextmanager
def refusals():
    try:
        yield
    except Exception as problem:  # noqa: BLE001 - each of ONNX Runtime's own
        if any(words in str(problem) for words in REFUSALS):
            pytest.skip(f"not on CUDA: {problem}")
        raise


def session(model, provider, settings):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if provider == "CUDAExecutionProvider":
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=[(provider, settings)])


class Both(BackendRep):
    """A model on both providers; a run gives the answers of each."""

    def __init__(self, model):
        try:
            self.cpu = session(model, "CPUExecutionProvider", {})
        except Exception as problem:  # noqa: BLE001 - each of ONNX Runtime's own
            pytest.skip(f"not on the CPU: {problem}")
        with refusals():
            self.cuda = session(model, "CUDAExecutionProvider", {"use_tf32": "0"})

    def run(self, inputs, **options):
        feeds = {wanted.name: value for wanted, value in zip(self.cpu.get_inputs(), inputs)}
        try:
            cpu = self.cpu.run(None, feeds)
        except Exception as problem:  # noqa: BLE001
            pytest.skip(f"not on the CPU: {problem}")
        with refusals():
            return cpu, self.cuda.run(None, feeds)


class Cuda(Backend):
    @classmethod
    def supports_device(cls, device):
        return device == "CUDA"

    @classmethod
    def prepare(cls, model, device="CUDA", **options):
        return Both(model)


class Tests(Runner):
    @classmethod
    def assert_similar_outputs(cls, ref_outputs, outputs, rtol, atol, model_dir=None):
        cpu, cuda = outputs
        try:
            Runner.assert_similar_outputs(ref_outputs, cpu, rtol, atol, model_dir)
        except (AssertionError, TypeError) as problem:
            pytest.skip(f"the CPU gives another answer: {problem}")
        Runner.assert_similar_outputs(ref_outputs, cuda, rtol, atol, model_dir)


globals().update(Tests(Cuda, __name__).test_cases)
