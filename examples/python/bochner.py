"""Reads models of bochner and predicts, with numpy alone, as docs/formats.md specifies.

    model = bochner.Model("model")
    model.predict({"age": [39, 50], "job": ["clerk", ""]})  # a class or a target for each row
    model.probabilities(table), model.scores(table)

A table maps the names of columns to their fields, numbers or texts; a pandas DataFrame is one.
For models of plain numbers it may be a matrix, too. bochner_extras.py has the columns of typed
tables, bins, normal scores, and what is rare: skeletons, harmonics, images, some draws.
"""

import base64
import hashlib
import importlib
import json
import pathlib
import statistics

import numpy as np


def extras():
    return importlib.import_module("bochner_extras")


def floats(text):
    return np.frombuffer(base64.b64decode(text), "<f4")


def tensors(data):
    """The arrays of a safetensors file."""
    size, arrays = int.from_bytes(data[:8], "little"), {}
    for name, t in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            kind = {"F32": "<f4", "F64": "<f8"}[t["dtype"]]
            begin, end = t["data_offsets"]
            arrays[name] = np.frombuffer(data[8 + size:][begin:end], kind).reshape(t["shape"])
    return arrays


def words(seed, purpose, index, count):
    """The first words of the streams of that index, or indexes: Philox4x32-10."""
    c1 = 0x811C9DC5
    for byte in purpose.encode():
        c1 = (c1 ^ byte) * 0x01000193 & 0xFFFFFFFF
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    index = np.asarray(index, np.uint64).reshape(-1, 1)
    block = np.arange((count + 1) // 2, dtype=np.uint64)
    c = np.broadcast_arrays(block, np.uint64(c1), index & low, index >> half)
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p, q = np.uint64(0xCD9E8D57) * c[2], np.uint64(0xD2511F53) * c[0]
        c = (p >> half) ^ c[1] ^ np.uint64(k0), p & low, (q >> half) ^ c[3] ^ np.uint64(k1), q & low
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    pairs = np.stack([c[0] | c[1] << half, c[2] | c[3] << half], 2)
    return pairs.reshape(len(index), -1)[:, :count]


def uniforms(w):
    return ((w >> np.uint64(12)) + 0.5) * 2.0**-52


def normals(w):
    return np.frompyfunc(statistics.NormalDist().inv_cdf, 1, 1)(uniforms(w)).astype(float)


class Recipes:
    """Features of rows x by a recipe r, a method for each kind. Scaling is in float32, except
    where float64 is named; features of kernels are in float64."""

    def __init__(self, files):
        self.files = files  # the arrays of a file by its name

    def __getattr__(self, kind):
        return lambda r, x: getattr(extras(), kind)(self, r, x)

    def apply(self, sealed, x):
        r = sealed["recipe"]
        r.setdefault("kind", sealed["kind"])
        return getattr(self, sealed["kind"].replace(".", "_"))(r, x)

    def chain(self, r, x):
        for step in r["steps"]:
            x = self.apply(step, x)
        return x

    def join(self, r, x):
        return np.hstack([self.apply(part, x) for part in r["parts"]])

    def scale_divide(self, r, x):
        return x / np.float32(r["by"])

    def scale_standard(self, r, x):
        by = np.float32(r["dev"])
        return (x - np.float32(r["mean"])) / np.where(by == 0, np.float32(1), by)

    def scale_minmax(self, r, x):
        low, high = np.float32(r["low"]), np.float32(r["high"])
        return (x - low) / np.where(high == low, np.float32(1), high - low)

    def scale_unit(self, r, x):
        norm = np.sqrt((x.astype(float) ** 2).sum(1, keepdims=True))
        return np.float32(x / np.where(norm == 0, 1, norm))

    def scale_clip(self, r, x):
        at = np.float32([a or np.inf for a in r["at"]])
        return np.clip(x, -at, at)

    def metric_diagonal(self, r, x):
        return x * floats(r["a"])

    def metric_full(self, r, x):
        return np.float32(x @ self.files("metric.safetensors")["metric"].T.astype(float))

    def linear_identity(self, r, x):
        return x

    def fourier(self, r, x):
        n = r["out"] // 2 if r["form"] == "paired" else r["out"]
        if "w" not in r:  # drawn once
            z = self.frequencies(r, n, r["in"])
            r["w"] = np.float32(z * (1 / (2 * np.pi * r["width"])))
        return self.waves(r, x, r["w"], np.full(n, 1 / n), "fourier/offset")

    fourier_gaussian = fourier_laplace = fourier_cauchy = fourier_matern = fourier_exponential = fourier

    def frequencies(self, r, n, d):
        if r.get("draw", "iid") != "iid":
            return getattr(extras(), r["draw"])(r["seed"], n, d)
        w = words(r["seed"], "fourier/frequency", np.arange(n), d)
        q = uniforms(w) - 0.5
        match r["kind"]:
            case "fourier.laplace":
                return np.tan(np.pi * q)
            case "fourier.cauchy":
                return np.copysign(-np.log(1 - 2 * abs(q)), q)
            case "fourier.matern":
                g = extras().gammas(r["seed"], "fourier/radius", np.arange(n), r["nu"])
                return normals(w) * np.sqrt(r["nu"] / g)[:, None]
            case "fourier.exponential":
                s = extras().stables(r["seed"], "fourier/radius", np.arange(n), r["exponent"] / 2)
                return normals(w) * np.sqrt(2 * s)[:, None]
        return normals(w)

    def learned(self, r, x):
        file = self.files("frequencies.safetensors")
        shares = file.get("weights", np.full(r["count"], 1 / r["count"]))
        return self.waves(r, x, file["frequencies"], shares, "learned/offset")

    def waves(self, r, x, w, shares, purpose):
        """Cosines, and with the paired form sines, of frequencies in turns."""
        angle = 2 * np.pi * (x.astype(float) @ w.T.astype(float))
        if r["form"] == "paired":
            return np.hstack([np.cos(angle), np.sin(angle)]) * np.sqrt(np.tile(shares, 2))
        b = np.float32(uniforms(words(r["seed"], purpose, np.arange(len(w)), 1)))[:, 0]
        return np.cos(angle + 2 * np.pi * b.astype(float)) * np.sqrt(2 * shares)

    def maxout(self, r, x):
        m, q, pool = r["out"], r["q"], r.get("pool")
        if "w" not in r:
            w = words(r["seed"], "maxout/projection", np.arange(pool or m * q), r["in"])
            r["w"] = np.float32(normals(w)).astype(float)
            units = extras().pooled(r["seed"], m, q, pool) if pool else range(m * q)
            r["units"] = np.reshape(units, (m, q))
        return (x.astype(float) @ r["w"].T)[:, r["units"]].max(2) / np.sqrt(m)


class Model:
    """A model directory."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.manifest = m = json.loads((self.directory / "manifest.json").read_text("utf-8"))
        if m["format"] != 1:
            raise ValueError(f"format version {m['format']}; this program reads 1")
        self.sums = {f["name"]: f["sha256"] for f in m["files"]}
        self.recipes = Recipes(self.file)
        self.classes = np.array(m.get("vocabulary", {}).get("classes"))
        self.options = m["input"].get("options") or {}

    def file(self, name):
        data = (self.directory / name).read_bytes()
        if hashlib.sha256(data).hexdigest() != self.sums[name]:
            raise ValueError(f"{name} is damaged: its checksum does not match")
        return tensors(data)

    def rows(self, table):
        """Rows of numbers, NaN where a value is missing."""
        if typed := self.options.get("table"):
            x = np.hstack([extras().values(typed, c, table[c["name"]]) for c in typed["columns"]])
        elif hasattr(table, "keys"):
            x = np.array([table[name] for name in self.manifest["input"]["columns"]], float).T
        else:
            x = np.asarray(table, float)
        x = np.float32(x - np.array(self.options.get("centre") or 0.0))
        first = self.manifest["recipe"]
        first = first["recipe"]["steps"][0] if first["kind"] == "chain" else first
        if not typed and first["kind"] == "scale.standard":
            x = np.where(np.isnan(x), np.float32(first["recipe"]["mean"]), x)
        if np.isinf(x).any() or not typed and np.isnan(x).any():
            raise ValueError("rows with numbers that are missing, infinite or too large")
        return x

    def scores(self, table):
        """A score of each output for each row."""
        x, w = self.rows(table), self.file("weights.safetensors")
        phi = self.recipes.apply(self.manifest["recipe"], x)
        scores = phi @ w["weights"].T.astype(float) + w["intercept"]
        if own := self.manifest.get("segments"):
            w, k = self.file("segments.safetensors"), scores.shape[1]
            for i, segment in enumerate(own["of"]):
                of, at = x[:, own["slot"]] == np.float32(segment["value"]), slice(i * k, i * k + k)
                scores[of] = phi[of] @ w["weights"][at].T.astype(float) + w["intercept"][at]
        return scores

    def probabilities(self, table):
        """The probability of each class for each row, in the order of classes."""
        return self._probabilities(self.scores(table))

    def _probabilities(self, s):
        how = self.manifest["probabilities"]
        if how["kind"] == "softmax":
            p = np.exp(s - s.max(1, keepdims=True))
        elif how["kind"] == "isotonic":
            curves = zip(s.T, how["curves"])
            p = np.stack([np.interp(v, c["score"], c["probability"]) for v, c in curves], 1)
        else:
            curves = how.get("curves", [{"slope": 1}] * s.shape[1])
            slope, offset = (np.array([c.get(k, 0) for c in curves]) for k in ("slope", "offset"))
            p = 1 / (1 + np.exp(-np.clip(slope * s + offset, -700, 700)))
        if how["kind"] in ("softmax", "logistic"):
            p = p / how.get("weights", 1)
        total = p.sum(1, keepdims=True)
        return np.where(total > 0, p / np.where(total > 0, total, 1), 1 / p.shape[1])

    def predict(self, table):
        """The class of each row, the targets, or the coordinates of an embedding."""
        s, m = self.scores(table), self.manifest
        if m["task"] == "embedding":
            return s
        if m["task"] == "regression":
            grids = np.atleast_1d(m["target_grid"])
            low, high = (np.array([g[end] for g in grids]) for end in ("low", "high"))
            y = low + (high - low) / 2 + (high - low) / 2 * s
            return y[:, 0] if len(grids) == 1 else y
        p = np.float32(self._probabilities(s)) if m.get("probabilities") else None
        if t := m.get("threshold"):
            a = 0 if m.get("positive") == self.classes[0] else 1
            of = p[:, a] if t["of"] == "probability" else np.float32(s[:, a] / 2 - s[:, 1 - a] / 2)
            return self.classes[np.where(of >= np.float32(t["value"]), a, 1 - a)]
        if p is not None:  # of equal products, the larger score decides
            value = p * np.array(m["probabilities"].get("weights", 1.0))
            s = np.where(value == value.max(1, keepdims=True), s, -np.inf)
        return self.classes[s.argmax(1)]
