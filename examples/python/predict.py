"""Prints what `bochner predict --scores` writes: python predict.py MODEL DATA.csv"""

import csv
import sys

import bochner


def main(directory, data):
    model = bochner.Model(directory)
    with open(data, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    if "columns" in model.manifest["input"] or "table" in model.options:
        table = {name: [row[j] for row in rows] for j, name in enumerate(header)}
        if "table" not in model.options:  # plain numbers
            names = model.manifest["input"]["columns"]
            table = {name: [float(v or "nan") for v in table[name]] for name in names}
    else:
        table = [[float(v) for v in row] for row in [header] + rows]
    predicted, parts = model.predict(table), []
    if model.manifest["task"] == "classification":
        parts.append(model.scores(table))
        if "probabilities" in model.manifest:
            parts.append(model.probabilities(table))
    for i, p in enumerate(predicted):
        numbers = [float(v) for part in parts for v in part[i]]
        csv.writer(sys.stdout).writerow((p.tolist() if p.shape else [p.item()]) + numbers)


if __name__ == "__main__":
    main(*sys.argv[1:])
