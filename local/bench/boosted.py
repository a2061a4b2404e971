"""Trains gradient-boosted trees on a table and scores them on its test rows.

    boosted.py '{"method": …, "format": …, "task": …, "train": […], "test": […], "label": …, "header": …}'

Methods are hist (scikit-learn's HistGradientBoosting with its defaults), lightgbm (its
defaults) and tuned (LightGBM with the best of eight settings, see tuned). It prints JSON: the
error on the test rows, the held-out error that chose a setting, and the CPU seconds and the
peak memory of the process until the model was there.
"""

import csv
import gzip
import json
import os
import resource
import sys

# Waiting threads of OpenMP use CPU seconds, on a busy machine most of them. Models are the same.
os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np


def opened(name):
    return gzip.open(name, "rb") if name.endswith(".gz") else open(name, "rb")


def libsvm(files):
    from sklearn.datasets import load_svmlight_files

    loaded = load_svmlight_files(files)
    return [(x.toarray(), y) for x, y in zip(loaded[::2], loaded[1::2])], []


def idx(images, labels):
    with opened(labels) as f:
        y = np.frombuffer(f.read(), np.uint8, offset=8)
    with opened(images) as f:
        return np.frombuffer(f.read(), np.uint8, offset=16).reshape(len(y), -1), y


def cifar(name):
    with opened(name) as f:
        rows = np.frombuffer(f.read(), np.uint8).reshape(-1, 3073)
    return rows[:, 1:], rows[:, 0]


def tables(files, label, header, regression, drop):
    """Reads CSV and TSV, without the columns to drop; a column with a text that is not a number has categories."""
    parts, name = [], label
    for file in files:
        with opened(file) as f:
            lines = f.read().decode().splitlines()
        rows = [r for r in csv.reader(lines, delimiter="\t" if ".tsv" in file else ",", skipinitialspace=True) if r]
        names = rows[0] if header else [""] * len(rows[0])
        if header:
            name, rows = names.index(label), rows[1:]
        columns = [list(c) for c in zip(*rows)]
        y = columns[int(name)]
        columns = [c for j, c in enumerate(columns) if j != int(name) % len(columns) and names[j] not in drop]
        parts.append((columns, [float(v) for v in y] if regression else [v.rstrip(".") for v in y]))

    def number(text):
        try:
            return float(text)
        except ValueError:
            return np.nan if text in ("?", "") else None

    categories, width = [], len(parts[0][0])
    for j in range(width):
        columns = [[number(v) for v in part[0][j]] for part in parts]
        if any(v is None for column in columns for v in column):
            codes = {v: i for i, v in enumerate(sorted(set(parts[0][0][j])))}
            columns = [[codes.get(v, np.nan) for v in part[0][j]] for part in parts]
            categories.append(j)
        for part, column in zip(parts, columns):
            part[0][j] = column
    return [(np.array(x, dtype=float).T, np.array(y)) for x, y in parts], categories


def read(spec):
    files = spec["train"] + spec["test"]
    if spec["format"] == "libsvm":
        return libsvm(files)
    if spec["format"] == "idx":
        return [idx(*spec["train"]), idx(*spec["test"])], []
    if spec["format"] == "cifar10":
        return [cifar(f) for f in files], []
    return tables(files, spec["label"], spec["header"], spec["task"] == "regression", spec.get("drop", []))


def error(regression, predicted, y):
    """Share of errors, or 1 − R²."""
    if regression:
        return float(np.mean((predicted - y) ** 2) / np.var(y))
    return float(np.mean(predicted != y))


def hist(regression, x, y, categories):
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
    return model(random_state=1, categorical_features=categories or None).fit(x, y), None


def booster(regression, **settings):
    import lightgbm

    model = lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier
    return model(random_state=1, n_jobs=1, verbose=-1, deterministic=True, force_row_wise=True, **settings)


def lightgbm(regression, x, y, categories):
    return booster(regression).fit(x, y, categorical_feature=categories), None


SETTINGS = [
    {"num_leaves": 31, "learning_rate": 0.1},
    {"num_leaves": 7, "learning_rate": 0.1},
    {"num_leaves": 15, "learning_rate": 0.1},
    {"num_leaves": 15, "learning_rate": 0.05, "colsample_bytree": 0.5},
    {"num_leaves": 31, "learning_rate": 0.05, "colsample_bytree": 0.7, "subsample": 0.8, "subsample_freq": 1},
    {"num_leaves": 63, "learning_rate": 0.05},
    {"num_leaves": 63, "learning_rate": 0.05, "colsample_bytree": 0.5, "min_child_samples": 50, "reg_lambda": 10},
    {"num_leaves": 127, "learning_rate": 0.05, "colsample_bytree": 0.7},
]


def tuned(regression, x, y, categories):
    """Chooses one of eight settings, with early stopping, by the error of a fifth of at most 20,000
    rows, and fits all rows with it. A model has up to 1,000 rounds, with more than four classes 200."""
    import lightgbm

    rows = np.random.default_rng(1).permutation(len(y))[:20_000]
    held, seen = rows[: len(rows) // 5], rows[len(rows) // 5 :]
    rounds = 200 if not regression and len(np.unique(y)) > 4 else 1000
    best = None
    for settings in SETTINGS:
        model = booster(regression, n_estimators=rounds, **settings)
        model.fit(x[seen], y[seen], eval_set=[(x[held], y[held])], categorical_feature=categories,
                  callbacks=[lightgbm.early_stopping(20, verbose=False)])
        found = error(regression, model.predict(x[held]), y[held])
        if best is None or found < best[0]:
            best = found, settings, model.best_iteration_
    found, settings, trees = best
    return booster(regression, n_estimators=trees, **settings).fit(x, y, categorical_feature=categories), found


def main():
    spec = json.loads(sys.argv[1])
    regression = spec["task"] == "regression"
    ((x, y), (test_x, test_y)), categories = read(spec)
    if not regression:
        classes = np.unique(y)
        y, test_y = np.searchsorted(classes, y), np.searchsorted(classes, test_y)
    model, held = {"hist": hist, "lightgbm": lightgbm, "tuned": tuned}[spec["method"]](regression, x, y, categories)
    used = resource.getrusage(resource.RUSAGE_SELF)
    json.dump({
        "error": error(regression, model.predict(test_x), test_y), "held_out": held,
        "cpu": used.ru_utime + used.ru_stime, "peak_mb": used.ru_maxrss * 1024 / 1e6,
    }, sys.stdout)


main()
