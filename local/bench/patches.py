"""A layer of random patches in numpy, with scikit-learn's RidgeClassifierCV and SVC on its features, on
the first 4,000 images of CIFAR-10: patches.py $BOCHNER_DATA/cifar10/first4000.bin.gz

Prints the accuracy on images 3,001 to 4,000 after training on the first 500, 1,000, 2,000 and 3,000
(see make repro-images). Patches, normalisation, whitening and threshold are as in --kernel patches."""
import gzip
import sys

import numpy as np
from sklearn.linear_model import RidgeClassifierCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

SIZE, CELLS, FILTERS, DRAWN = 6, 2, 512, 50_000


def patches(images):
    view = np.lib.stride_tricks.sliding_window_view(images, (SIZE, SIZE), (1, 2)).transpose(0, 1, 2, 4, 5, 3)
    return view.reshape(view.shape[:3] + (-1,))


def layer(images, rng):
    """Returns the function from images to features."""
    all_patches = patches(images)
    n, down, across = all_patches.shape[:3]
    draw = lambda count: all_patches[rng.integers(n, size=count), rng.integers(down, size=count),
                                     rng.integers(across, size=count)]
    floor = 0.05 * draw(DRAWN).var(1).mean()

    def normal(p):
        return (p - p.mean(-1, keepdims=True)) / np.sqrt(p.var(-1, keepdims=True) + floor)
    p = normal(draw(DRAWN))
    mean, covariance = p.mean(0), np.cov(p.T.astype(float))
    values, vectors = np.linalg.eigh(covariance)
    whiten = (vectors / np.sqrt(np.maximum(values, 0) + 0.1)) @ vectors.T
    d = (normal(draw(4 * FILTERS)) - mean) @ whiten
    d = d[:FILTERS]
    g = whiten @ (d / np.linalg.norm(d, axis=1, keepdims=True)).T
    g /= np.sqrt(np.mean(np.einsum("ik,ij,jk->k", g, covariance, g)))
    g, bias = np.float32(g), np.float32(mean @ g)

    def features(images):
        out = []
        for i in range(0, len(images), 10):
            r = normal(patches(images[i:i + 10])) @ g - bias
            parts = np.concatenate([np.maximum(r - 0.25, 0), np.maximum(-r - 0.25, 0)], 3)
            cut = [j * r.shape[1] // CELLS for j in range(CELLS + 1)]
            out.append(np.concatenate([parts[:, cut[a]:cut[a + 1], cut[b]:cut[b + 1]].mean((1, 2))
                                       for a in range(CELLS) for b in range(CELLS)], 1))
        return np.concatenate(out)
    return features


data = np.frombuffer(gzip.open(sys.argv[1]).read(), np.uint8).reshape(-1, 3073)
x = data[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1).astype(np.float32) / 255
y = data[:, 0]
for n in (500, 1000, 2000, 3000):
    features = layer(x[:n], np.random.default_rng(1))
    scaler = StandardScaler()
    train, test = scaler.fit_transform(features(x[:n])), scaler.transform(features(x[3000:]))
    ridge = RidgeClassifierCV(alphas=np.logspace(1, 6, 11)).fit(train, y[:n])
    svc = SVC(C=10).fit(train, y[:n])
    print(f"{n:5d} images  ridge {100 * ridge.score(test, y[3000:]):.1f}  SVC {100 * svc.score(test, y[3000:]):.1f}",
          flush=True)
