"""Runs the cases of the benchmark in NumPy, SciPy and scikit-learn, on request.

The program beside this file starts it, with the core type and the threads of
OpenBLAS in the environment, and speaks to it in lines:

    case NAME SIZE  ->  ok SECONDS    prepared and warm; CPU seconds of a call
    run COUNT       ->  CPU WALL      seconds of that many calls, after one that does not count
"""

import json
import platform
import sys
import time

import numpy as np
import scipy
import sklearn
import threadpoolctl
from scipy.linalg.blas import ssyrk
from scipy.linalg.lapack import dpotrf
from sklearn.kernel_approximation import RBFSampler

ROWS, FEATURES, BLOCK = 1000, 4096, 1024
rng = np.random.default_rng(1)


def normal(*shape):
    return rng.standard_normal(shape, dtype=np.float32)


def nothing():
    pass


def fourier(d):
    x = normal(ROWS, d)
    sampler = RBFSampler(gamma=0.5 / d, n_components=FEATURES, random_state=1).fit(x)
    assert sampler.random_weights_.dtype == np.float32
    return nothing, lambda: sampler.transform(x)


def gemm(d):
    x, w, c = normal(ROWS, d), normal(d, FEATURES), np.ones((ROWS, FEATURES), np.float32)
    return nothing, lambda: np.dot(x, w, out=c)


def syrk(z, g):
    # Zᵀ is a matrix in Fortran's order, so nothing is copied.
    ssyrk(1.0, z.T, beta=1.0, c=g, trans=0, lower=1, overwrite_c=1)


def gram(dim):
    z, g = normal(BLOCK, dim), np.ones((dim, dim), np.float32, order="F")
    return nothing, lambda: syrk(z, g)


def mapgram(d):
    x, w, b = normal(ROWS, d), normal(d, FEATURES), normal(FEATURES)
    z = np.ones((ROWS, FEATURES), np.float32)
    g = np.ones((FEATURES, FEATURES), np.float32, order="F")

    def call():
        np.dot(x, w, out=z)
        np.add(z, b, out=z)
        np.cos(z, out=z)
        syrk(z, g)

    return nothing, call


def cholesky(n):
    s = rng.standard_normal((n, n))
    s += 3 * n * np.eye(n)
    s = np.asfortranarray(s + s.T)
    a = np.ones((n, n), order="F")

    def prepare():
        a[:] = s

    def call():
        _, info = dpotrf(a, lower=1, clean=0, overwrite_a=1)
        assert info == 0

    return prepare, call


cases = {"fourier": fourier, "gemm": gemm, "gram": gram, "mapgram": mapgram, "cholesky": cholesky}


def timed(prepare, call, count):
    cpu = wall = 0.0
    for i in range(count + 1):
        prepare()
        c, w = time.process_time(), time.perf_counter()
        call()
        if i > 0:
            cpu, wall = cpu + time.process_time() - c, wall + time.perf_counter() - w
    return cpu, wall


def main():
    say = lambda s: print(s, flush=True)
    pools = [p for p in threadpoolctl.threadpool_info() if p["user_api"] == "blas"]
    say(json.dumps({
        "cores": sorted({str(p.get("architecture")) for p in pools}),
        "threads": max(p["num_threads"] for p in pools),
        "versions": "Python %s, NumPy %s, SciPy %s, scikit-learn %s, OpenBLAS %s" % (
            platform.python_version(), np.__version__, scipy.__version__, sklearn.__version__,
            "/".join(sorted({str(p["version"]) for p in pools}))),
    }))
    prepare, call = nothing, nothing
    for line in sys.stdin:
        words = line.split()
        if words[0] == "case":
            prepare, call = nothing, nothing  # the memory of the last case must be free
            prepare, call = cases[words[1]](int(words[2]))
            say("ok %g" % timed(prepare, call, 1)[0])
        else:
            say("%g %g" % timed(prepare, call, int(words[1])))


main()
