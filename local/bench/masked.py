"""Measures the search on pairs of columns that strong terms of other columns hide.

    masked.py FOLDER PROGRAM ...

Columns are standard normal, the noise has a standard deviation of 0.3, and 4,000 other rows are test rows.
For each table and program it prints the test RMSE and the CPU seconds of a training with defaults.
"""

import csv
import math
import os
import random
import resource
import shutil
import subprocess
import sys

sign = math.copysign
MADE = {
    "sign": lambda x: 3 * x[0] + x[1] + math.sin(3 * x[2]) * sign(1, x[3]),
    "waves": lambda x: 3 * math.tanh(x[0]) + 2 * math.sin(x[1]) + x[4] + 1.4 * math.sin(3 * x[2]) * math.sin(2 * x[3]),
    "bits": lambda x: 2 * x[0] + x[0] * x[1] + 0.7 * sign(1, x[2] * x[3]),
}
TABLES = [("sign", 2000, 20), ("sign", 20000, 60), ("sign", 10000, 200), ("waves", 5000, 100), ("bits", 10000, 40)]


def write(file, name, n, d, seed):
    r = random.Random(seed)
    with open(file, "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow([f"x{j}" for j in range(1, d + 1)] + ["y"])
        for _ in range(n):
            x = [r.gauss(0, 1) for _ in range(d)]
            out.writerow([f"{v:.6g}" for v in x] + [f"{MADE[name](x) + r.gauss(0, 0.3):.6g}"])


def run(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return text, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    folder, programs = sys.argv[1], sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    train, test, model = (os.path.join(folder, name) for name in ("train.csv", "test.csv", "model"))
    for name, n, d in TABLES:
        write(train, name, n, d, 1)
        write(test, name, 4000, d, 2)
        for program in programs:
            shutil.rmtree(model, ignore_errors=True)
            _, cpu = run(program, "train", train, "--label", "y", "--quiet", "--model", model)
            text, _ = run(program, "evaluate", test, "--quiet", "--model", model)
            rmse = next(line.split()[1] for line in text.splitlines() if line.split()[:1] == ["RMSE"])
            print(f"{name:6} {n:6,} × {d:<4} {program}: RMSE {float(rmse):.3f}, {cpu:.1f} CPU seconds", flush=True)


main()
