"""Measures the regret of the default search on 40 tables of 263 to 5,404 rows.

    regret.py FOLDER PROGRAM PYTHON [--splits 5] [--features N] [--trees tuned] [TABLE ...]

Each table is split at random into 75% training and 25% test rows. The program is trained with its
defaults and with fixed kernels; PYTHON, if it exists, runs boosted.py for LightGBM, with its defaults
unless --trees is tuned. An interrupted run continues by FOLDER/figures.jsonl. Defaults of another
program are measured anew, fixed kernels are not. Some tables are measured only if they are named.

The error is the share of wrong classes, or 1 - R2. The regret of a table is the mean error of the
defaults over the mean error of its best fixed kernel, which is chosen by the test rows.
"""

import argparse
import csv
import hashlib
import json
import math
import os
import random
import shutil
import statistics
import subprocess

from tables import keel, r

CLASSES = {name: (lambda name=name: keel(name), "y", "") for name in (
    "australian bands bupa contraceptive german ionosphere led7digit mammographic pima saheart segment splice "
    "tic-tac-toe vehicle vowel wdbc spambase phoneme").split()} | {
    "oj": (lambda: r("ISLR", "OJ"), "Purchase", ""),
    "attrition": (lambda: r("modeldata", "attrition"), "Attrition", ""),
    "cells": (lambda: r("modeldata", "cells"), "class", "case"),
}
TARGETS = {name: (lambda package=package, item=item: r(package, item), label, drop)
           for name, package, item, label, drop in (
    ("boston", "MASS", "Boston", "medv", ""), ("hitters", "ISLR", "Hitters", "Salary", ""),
    ("carseats", "ISLR", "Carseats", "Sales", ""), ("wage", "ISLR", "Wage", "wage", "logwage"),
    ("college", "ISLR", "College", "Outstate", ""), ("auto", "ISLR", "Auto", "mpg", "name"),
    ("concrete", "modeldata", "concrete", "compressive_strength", ""),
    ("cars", "modeldata", "car_prices", "Price", ""), ("sacramento", "modeldata", "Sacramento", "price", ""),
    ("biomass", "modeldata", "biomass", "HHV", "sample"), ("ames", "modeldata", "ames", "Sale_Price", ""),
    ("quakes", "datasets", "quakes", "mag", ""), ("wage2", "wooldridge", "wage2", "wage", "lwage"),
    ("htv", "wooldridge", "htv", "wage", "lwage"), ("bdims", "openintro", "bdims", "wgt", ""),
    ("babies", "openintro", "babies", "bwt", "case"), ("saratoga", "mosaicData", "SaratogaHouses", "price", ""),
    ("salaries", "carData", "Salaries", "salary", ""), ("rain", "crch", "RainIbk", "rain", ""))}
# Tables on which the defaults were behind trees, and tables with numbers that name animals or persons.
NAMED_CLASSES = {
    "churn": (lambda: r("modeldata", "mlc_churn"), "churn", ""),
    "email": (lambda: r("openintro", "email"), "spam", ""),
    "hpc": (lambda: r("modeldata", "hpc_data"), "class", ""),
}
NAMED_TARGETS = {
    "nox": (lambda: r("robustbase", "NOxEmissions"), "LNOx", ""),
    "chickweight": (lambda: r("datasets", "ChickWeight"), "weight", ""),
    "males": (lambda: r("Ecdat", "Males"), "wage", ""),
    "laborsupply": (lambda: r("Ecdat", "LaborSupply"), "lnhr", ""),
}
# Kernels, with the width as a multiple of the median distance, which the first run of each kernel finds.
FIXED = {"none": ("gaussian", 1), "gaussian/2": ("gaussian", 0.5), "gaussian*2": ("gaussian", 2),
         "matern": ("matern", 1), "laplace": ("laplace", 1), "laplace/2": ("laplace", 0.5),
         "laplace*2": ("laplace", 2), "linear": ("linear", 1)}


def split(folder, load, label, seed):
    """Writes the files of a split without rows that have no label."""
    header, rows = load()
    rows = [row for row in rows if row[header.index(label)] != ""]
    random.Random(seed).shuffle(rows)
    files = [os.path.join(folder, part + ".csv") for part in ("train", "test")]
    for file, part in zip(files, (rows[len(rows) // 4:], rows[: len(rows) // 4])):
        with open(file, "w", newline="") as f:
            csv.writer(f, lineterminator="\n").writerows([header] + part)
    return files, len(rows) // 4


def ours(program, folder, files, task, label, drop, flags):
    model = os.path.join(folder, "model")
    shutil.rmtree(model, ignore_errors=True)
    found = run([program, "train", files[0], "--test", files[1], "--label", label, "--task", task, "--json",
                 "--quiet", "--model", model] + (["--drop", drop] if drop else []) + flags)
    test, chosen = found["test"], found.get("search", {}).get("chosen", {}).get("features", "")
    error = test["classes"]["error"] if task == "classification" else 1 - test["targets"]["r2"]
    return {"error": error, "width": found.get("width"), "chosen": chosen}


def run(command):
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def measure(figures, keep, o, name, seed):
    load, label, drop = (CLASSES | NAMED_CLASSES | TARGETS | NAMED_TARGETS)[name]
    task = "classification" if classified(name) else "regression"
    methods = {o.defaults: None} | FIXED | ({o.trees: None} if os.access(o.python, os.X_OK) else {})
    missing = {m: fixed for m, fixed in methods.items() if (name, seed, m) not in figures}
    files, held = split(o.folder, load, label, seed) if missing else (None, None)
    for method, fixed in missing.items():
        if method == o.trees:
            figure = run([o.python, os.path.join(os.path.dirname(__file__), "boosted.py"), json.dumps({
                "method": method, "format": "csv", "task": task, "train": files[:1], "test": files[1:],
                "label": label, "header": True, "drop": [drop]})])
        else:
            flags = ["--features", str(o.features)] if o.features and method != "linear" else []
            if fixed:
                flags += ["--search", "none", "--kernel", fixed[0]]
                base = next(m for m, f in FIXED.items() if f == (fixed[0], 1))
                if fixed[1] != 1:
                    flags += ["--width", str(figures[name, seed, base]["width"] * fixed[1])]
            figure = ours(o.program, o.folder, files, task, label, drop, flags)
        figure |= {"table": name, "split": seed, "method": method, "features": o.features, "held": held}
        figures[name, seed, method] = figure
        print(json.dumps(figure), file=keep, flush=True)


def classified(name):
    return name in CLASSES or name in NAMED_CLASSES


def summarize(figures, names, splits, defaults, trees_method):
    print(f"{'table':14}defaults    none  best fixed kernel  regret LightGBM  ratio  t against none")
    regrets, others, ratios, worse, better = [], [], [], [], []
    for name in names:
        def errors(method):
            return [figures[name, s, method]["error"] for s in splits]

        least = 0.5 / sum(figures[name, s, "none"]["held"] for s in splits) if classified(name) else 0
        mean = {m: max(least, statistics.mean(errors(m))) for m in [defaults, *FIXED, trees_method]
                if (name, splits[-1], m) in figures}
        best, trees = min(FIXED, key=mean.get), mean.get(trees_method, math.nan)
        by = [a - b for a, b in zip(errors(defaults), errors("none"))]
        se = statistics.stdev(by) / math.sqrt(len(by)) if len(by) > 1 else 0
        t = statistics.mean(by) / se if se else 0
        worse, better = worse + [name] * (t > 2), better + [name] * (t < -2)
        fair = [errors(min(FIXED, key=lambda m: sum(errors(m)[:s] + errors(m)[s + 1:])))[s] for s in splits]
        regrets.append(mean[defaults] / mean[best])
        others.append(mean[defaults] / max(least, statistics.mean(fair)))
        ratios.append(mean[defaults] / trees)
        print(f"{name:14}{mean[defaults]:8.4f}{mean['none']:8.4f}  {best:11}{mean[best]:6.4f}{regrets[-1]:8.3f}"
              f"{trees:9.4f}{ratios[-1]:7.3f}{t:8.1f}")
    print(f"{len(names)} tables, {len(splits)} splits: regret {statistics.geometric_mean(regrets):.4f}; "
          f"against kernels chosen by other splits {statistics.geometric_mean(others):.4f}, LightGBM "
          f"{math.exp(statistics.mean(map(math.log, ratios))):.4f}; worse than none by 2 SE: {worse}; better: {better}")


def main():
    p = argparse.ArgumentParser()
    for argument in ("folder", "program", "python"):
        p.add_argument(argument)
    p.add_argument("--splits", type=int, default=5)
    p.add_argument("--features", type=int)
    p.add_argument("--trees", choices=("lightgbm", "tuned"), default="lightgbm")
    p.add_argument("tables", nargs="*", default=[*CLASSES, *TARGETS])
    o = p.parse_intermixed_args()
    if o.splits < 2:
        p.error("--splits must be 2 or more: kernels are also chosen by the errors on other splits")
    with open(o.program, "rb") as f:
        o.defaults = "defaults " + hashlib.sha256(f.read()).hexdigest()[:12]
    os.makedirs(o.folder, exist_ok=True)
    figures = {}
    with open(os.path.join(o.folder, "figures.jsonl"), "a+") as keep:
        keep.seek(0)
        for row in map(json.loads, keep):
            if row["features"] == o.features or row["method"] in ("lightgbm", "tuned"):
                figures[row["table"], row["split"], row["method"]] = row
        for seed in range(o.splits):
            for name in o.tables:
                measure(figures, keep, o, name, seed)
    summarize(figures, o.tables, range(o.splits), o.defaults, o.trees)


main()
