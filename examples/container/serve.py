#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Serves a small network by HTTP: a POST with 64 numbers as JSON is answered with ten likelihoods.

    serve.py [--once]      --once: answers one request of its own, prints the answer and ends

tinygrad makes PTX of the network by itself (DEV=CUDA:PTX). The weights are random: a model of one's own would be loaded here.
"""
import http.server
import json
import sys

from tinygrad import Tensor

INPUTS, HIDDEN, CLASSES = 64, 32, 10


class Model:
    def __init__(self):
        Tensor.manual_seed(1)
        self.layers = [Tensor.uniform(*shape, low=-0.3, high=0.3).realize() for shape in ((INPUTS, HIDDEN), (HIDDEN, CLASSES))]

    def answer(self, numbers):
        first, second = self.layers
        return ((Tensor(numbers).reshape(1, INPUTS) @ first).relu() @ second).softmax().tolist()[0]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        try:
            numbers = [float(number) for number in json.loads(self.rfile.read(int(self.headers["Content-Length"])))]
            if len(numbers) != INPUTS:
                raise ValueError(f"{INPUTS} numbers are wanted")
            status, answer = 200, self.server.model.answer(numbers)
        except (TypeError, ValueError) as problem:
            status, answer = 400, str(problem)
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main():
    model = Model()
    print(json.dumps(model.answer([i / INPUTS for i in range(INPUTS)])), flush=True)  # all kernels have run before the first request
    if "--once" not in sys.argv:
        server = http.server.HTTPServer(("", 8000), Handler)
        server.model = model
        server.serve_forever()


if __name__ == "__main__":
    main()
