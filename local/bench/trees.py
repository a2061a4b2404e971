"""Scores scikit-learn's gradient-boosted trees, with their defaults, where bochner is scored.

    trees.py FOLDER

FOLDER holds csv/houses.tsv.gz, libsvm/letter.scale.gz and libsvm/a9a.gz and a9a.t.gz. Of
the first two every fifth row is for the test, as in pipelines/bochner/real_test.go.
"""

import gzip
import sys
import time

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor


def score(name, model, x, y, test_x, test_y):
    begin = time.process_time()
    model.fit(x, y)
    print(f"{name}: {model.score(test_x, test_y):.4f}, {time.process_time() - begin:.1f} CPU seconds")


def main():
    folder = sys.argv[1]
    with gzip.open(folder + "/csv/houses.tsv.gz") as f:
        table = np.loadtxt(f, delimiter="\t", skiprows=1)
    test = np.arange(len(table)) % 5 == 4
    x, y = table[:, :-1], table[:, -1]
    score("houses, R²", HistGradientBoostingRegressor(random_state=1), x[~test], y[~test], x[test], y[test])

    x, y = load_svmlight_file(folder + "/libsvm/letter.scale.gz")
    x, test = x.toarray(), np.arange(len(y)) % 5 == 4
    score("letter, accuracy", HistGradientBoostingClassifier(random_state=1), x[~test], y[~test], x[test], y[test])

    x, y = load_svmlight_file(folder + "/libsvm/a9a.gz", n_features=123)
    test_x, test_y = load_svmlight_file(folder + "/libsvm/a9a.t.gz", n_features=123)
    score("a9a, accuracy", HistGradientBoostingClassifier(random_state=1), x.toarray(), y, test_x.toarray(), test_y)


main()
