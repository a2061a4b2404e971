"""Fits random Fourier features and a ridge classifier to MNIST with scikit-learn.

    fit.py FOLDER FEATURES [score]

With score it also prints the error on the test images.
"""

import gzip
import sys

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import RidgeClassifier


def numbers(name, head):
    with gzip.open(name) as f:
        return np.frombuffer(f.read(), np.uint8, offset=head)


def digits(folder, part):
    y = numbers(f"{folder}/{part}-labels-idx1-ubyte.gz", 8)
    return numbers(f"{folder}/{part}-images-idx3-ubyte.gz", 16).reshape(len(y), -1) / np.float32(255), y


def main():
    folder, features = sys.argv[1], int(sys.argv[2])
    x, y = digits(folder, "train")
    # γ = 1/2σ² with σ = 7.
    sampler = RBFSampler(gamma=1 / 98, n_components=features, random_state=1).fit(x)
    z = sampler.transform(x)
    assert z.dtype == np.float32
    model = RidgeClassifier(alpha=1e-6 * len(y), solver="cholesky").fit(z, y)
    if "score" in sys.argv[3:]:
        x, y = digits(folder, "t10k")
        print(f"error {100 * (1 - model.score(sampler.transform(x), y)):.2f} %")


main()
