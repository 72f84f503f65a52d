# SPDX-License-Identifier: Apache-2.0
"""XGBoost grows trees on the GPU: a regression, classes, missing values; then predicts, also by SHAP values. CPU and GPU
sketch and sum in different orders, so models are compared by what they predict.

On a GPU XGBoost takes the best of 32 thresholds first and asks then whether both sides weigh min_child_weight: where not, it takes none of them.
Its CPU code asks first. Classes weigh less than 1 a row, so trees of classes differ on purpose unless min_child_weight is 0."""
import sys

import numpy

sys.path.insert(0, sys.path[0] + "/..")
from job import main, within

BOUNDS = {"regression": 1e-3, "missing": 1e-3, "classes": 1e-3, "shap": 1e-3, "losses": 1e-4}


def run(backend, folder):
    import xgboost

    draw = numpy.random.default_rng(6)
    x = draw.standard_normal((2000, 12)).astype(numpy.float32)
    y = x[:, 0] * 2 + numpy.sin(3 * x[:, 1]) + (x[:, 2] > 0) * x[:, 3]
    common = {"device": backend, "tree_method": "hist", "max_depth": 5, "eta": 0.3, "nthread": 2, "seed": 1}
    out, history = {}, {}
    data = xgboost.DMatrix(x, y)
    model = xgboost.train(common, data, 15, evals=[(data, "train")], evals_result=history, verbose_eval=False)
    out["regression"] = model.predict(data)
    out["losses"] = numpy.array(history["train"]["rmse"])
    out["shap"] = model.predict(xgboost.DMatrix(x[:100]), pred_contribs=True)
    holes = numpy.where(draw.random(x.shape) < 0.2, numpy.nan, x).astype(numpy.float32)
    out["missing"] = xgboost.train(common, xgboost.DMatrix(holes, y), 8).predict(xgboost.DMatrix(holes))
    kinds = numpy.digitize(y, [-1, 1])
    out["classes"] = xgboost.train({**common, "objective": "multi:softprob", "num_class": 3, "min_child_weight": 0}, xgboost.DMatrix(x, kinds), 6).predict(data)
    return out


if __name__ == "__main__":
    main(run, lambda cpu, cuda: within(BOUNDS, cpu, cuda))
