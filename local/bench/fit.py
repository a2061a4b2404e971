"""Fits random Fourier features and a ridge classifier to MNIST with scikit-learn.

    fit.py FOLDER FEATURES
"""

import gzip
import sys

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import RidgeClassifier


def numbers(name, head):
    with gzip.open(name) as f:
        return np.frombuffer(f.read(), np.uint8, offset=head)


def main():
    folder, features = sys.argv[1], int(sys.argv[2])
    y = numbers(folder + "/train-labels-idx1-ubyte.gz", 8)
    x = numbers(folder + "/train-images-idx3-ubyte.gz", 16).reshape(len(y), -1) / np.float32(255)
    # γ = 1/2σ² with σ = 7.
    z = RBFSampler(gamma=1 / 98, n_components=features, random_state=1).fit_transform(x)
    assert z.dtype == np.float32
    RidgeClassifier(alpha=1e-6 * len(y), solver="cholesky").fit(z, y)


main()
