"""Fits a linear classifier to features that bochner has written.

    learners.py TRAIN TEST LEARNER LAMBDA ROUNDS

TRAIN and TEST are directories of `bochner featurize`. LEARNER is hinge, squared_hinge
or logistic (liblinear, one-vs-all, the intercept as the weight of a constant feature),
or softmax_sgd (SGDClassifier, log_loss). Prints JSON: wall seconds of the fit, the
objective (mean loss plus λ/2 of the squared weights, summed over the classes) and the
test error.
"""

import glob
import json
import sys
import time

import numpy as np
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC


def rows(folder):
    labels = sorted(glob.glob(folder + "/*-labels.npy"))
    parts = [name.replace("-labels.npy", ".npy") for name in labels]
    return np.concatenate([np.load(p) for p in parts]), np.concatenate([np.load(p) for p in labels])


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


LOSSES = {
    "hinge": lambda m: np.maximum(0, 1 - m),
    "squared_hinge": lambda m: np.maximum(0, 1 - m) ** 2,
    "logistic": lambda m: softplus(-m),
}


def fit(learner, lam, rounds, x, y):
    """Returns weights and intercepts, one row for each class."""
    c = 1 / (lam * len(y))
    if learner == "softmax_sgd":
        m = SGDClassifier(loss="log_loss", alpha=lam, max_iter=rounds, tol=None, random_state=1, n_jobs=2).fit(x, y)
        return m.coef_, m.intercept_
    if learner == "logistic":
        w, b = [], []
        for k in np.unique(y):
            m = LogisticRegression(solver="liblinear", C=c, max_iter=rounds, tol=1e-6, intercept_scaling=1).fit(x, y == k)
            w.append(m.coef_[0])
            b.append(m.intercept_[0])
        return np.array(w), np.array(b)
    dual = learner == "hinge" or x.shape[1] > len(y)
    m = LinearSVC(loss=learner, C=c, dual=dual, max_iter=rounds, tol=1e-6, intercept_scaling=1, random_state=1).fit(x, y)
    if len(m.intercept_) == 1:
        return np.concatenate([-m.coef_, m.coef_]), np.concatenate([-m.intercept_, m.intercept_])
    return m.coef_, m.intercept_


def main():
    train, test, learner, lam, rounds = *sys.argv[1:4], float(sys.argv[4]), int(sys.argv[5])
    x, y = rows(train)
    begun = time.perf_counter()
    w, b = fit(learner, lam, rounds, x, y)
    seconds = time.perf_counter() - begun
    objective = 0.0
    if learner in LOSSES:
        for k in range(len(w)):
            margins = np.where(y == k, 1, -1) * (x @ w[k] + b[k])
            objective += LOSSES[learner](margins.astype(np.float64)).mean() + lam / 2 * (w[k] @ w[k] + b[k] ** 2)
    xt, yt = rows(test)
    error = float(((xt @ w.T + b).argmax(1) != yt).mean())
    print(json.dumps({"seconds": seconds, "objective": float(objective), "error": error}))


main()
