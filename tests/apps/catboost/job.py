# SPDX-License-Identifier: Apache-2.0
"""CatBoost boosts trees on the GPU: a regression and a classification. Its CPU and GPU trainers differ by design (how borders
are drawn, how leaves are estimated): the GPU's models have to fit as well as the CPU's, and give the same on both."""
import sys

import numpy

sys.path.insert(0, sys.path[0] + "/..")
from job import main, relative

ERROR = 0.1  # by which the fit may be worse


def run(backend, folder):
    import catboost

    draw = numpy.random.default_rng(7)
    x = draw.standard_normal((3000, 10)).astype(numpy.float32)
    y = x[:, 0] * 2 + numpy.sin(3 * x[:, 1]) + (x[:, 2] > 0) * x[:, 3]
    common = {"task_type": "GPU" if backend == "cuda" else "CPU", "iterations": 40, "depth": 5, "learning_rate": 0.2, "random_seed": 1, "verbose": False,
              "border_count": 64, "bootstrap_type": "No", "thread_count": 2, "train_dir": str(folder / f"catboost.{backend}")}
    regression = catboost.CatBoostRegressor(**common).fit(x, y)
    classes = catboost.CatBoostClassifier(**common).fit(x, y > 0)
    applied = regression.predict(catboost.Pool(x), task_type=common["task_type"])
    return {"y": y, "regression": regression.predict(x), "applied": applied, "probability": classes.predict_proba(x)[:, 1]}


def check(cpu, cuda):
    def quality(results):
        likelihood = numpy.where(results["y"] > 0, results["probability"], 1 - results["probability"])
        return numpy.sqrt(numpy.mean((results["regression"] - results["y"]) ** 2)), -numpy.log(likelihood).mean()

    for fit, other in zip(quality(cpu), quality(cuda)):
        assert other <= fit * (1 + ERROR), (quality(cpu), quality(cuda))
    worst = relative(cuda["regression"], cuda["applied"])
    assert worst <= 1e-5, worst
    return worst, "one model applied by both"


if __name__ == "__main__":
    main(run, check)
