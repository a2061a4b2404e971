"""Features of skeletons for bochner.py."""

import collections
import math

import numpy as np

from bochner_extras import Stream


class Node:
    """An input with a space and columns, or a node with an activation and the places of inputs."""

    def __init__(self, space=None, columns=(), activation=None, inputs=()):
        (self.kind, self.size), *_ = (space or {"": None}).items()
        self.columns, self.inputs = list(columns), list(inputs)
        self.activation, self.degrees = activation, None

    def degree(self, u):
        """The degree that a uniform number gives."""
        if self.degrees is None:
            self.degrees = np.cumsum(coefficients(self.activation))
        total = self.degrees[-1]
        return int(np.argmax(u * total < self.degrees))


def coefficients(activation):
    (kind, size), = activation.items()
    if kind == "exponential":
        a = [math.exp(-1 / size)]
        while True:
            i = len(a)
            following = a[-1] / size / i
            if i > 2 / size and following < 2.0**-61:
                return a
            a.append(following)
    if kind == "relu":
        a = [1 / math.pi, 0.5, 1 / (2 * math.pi)] + [0.0] * (65536 - 2)
        for i in range(2, 65535, 2):
            a[i + 2] = a[i] * (i - 1) ** 2 / ((i + 1) * (i + 2))
        return a
    if kind == "step":
        a = [0.5, 1 / math.pi] + [0.0] * (size - 1)
        for i in range(1, size - 1, 2):
            a[i + 2] = a[i] * i**2 / ((i + 1) * (i + 2))
        return a[:size + 1]
    return size  # polynomial


def listed(s):
    """The nodes of a list, and the place of the output."""
    place = {n["name"]: i for i, n in enumerate(s["nodes"])}
    nodes = [Node(n.get("space"), n.get("columns", ()), n.get("activation"),
                  [place[name] for name in n.get("inputs", ())]) for n in s["nodes"]]
    taken = {i for n in nodes for i in n.inputs}
    return nodes, next(i for i in range(len(nodes)) if i not in taken)


def layered(s):
    """The nodes of layers, and the place of the output."""
    m = s.get("image") or {"height": 1, "width": 1, "channels": s["columns"]}
    deep, nodes = m["channels"], []
    height, width = (m.get("crop") or m[side] for side in ("height", "width"))
    place = np.arange(m["height"] * m["width"] * deep).reshape(m["height"], m["width"], deep)
    if m.get("planar"):
        place = place.reshape(deep, m["height"], m["width"]).transpose(1, 2, 0)
    top, left = (m["height"] - height) // 2, (m["width"] - width) // 2
    whole = next(iter(s["space"])) in ("gaussian", "sphere")
    for columns in place[top:top + height, left:left + width].reshape(-1, deep).tolist():
        nodes += [Node(s["space"], columns)] if whole else [Node(s["space"], [c]) for c in columns]
    places = np.arange(len(nodes)).reshape(height, width, -1)
    for layer in s["layers"]:
        if layer.get("full"):
            windows = places.reshape(1, 1, -1)
        else:
            size, stride = layer["conv"], layer.get("stride") or 1
            windows = np.lib.stride_tricks.sliding_window_view(places, (size, size), (0, 1))
            windows = windows[::stride, ::stride].transpose(0, 1, 3, 4, 2)
            windows = windows.reshape(windows.shape[:2] + (-1,))
        first = len(nodes)
        for window in windows.reshape(-1, windows.shape[2]).tolist():
            nodes.append(Node(None, (), layer["activation"], window))
        places = np.arange(first, len(nodes)).reshape(windows.shape[:2] + (1,))
    return nodes, len(nodes) - 1


class Draw:
    """A product as it is drawn: what each node gives, and factors that are not merged."""

    def __init__(self, nodes, output, seed, index, hybrid):
        self.nodes, self.hybrid = nodes, hybrid
        self.stream = Stream(seed, "skeleton/feature", index)
        self.sine = self.stream.below(2) == 1
        self.given, self.factors = collections.defaultdict(list), []  # factors: node, vector, wave
        self.visit(output)
        self.reduce()

    def vector(self, place, size, scale, wave):
        z = np.array([self.stream.normal() for _ in range(size)])
        self.factors.append((place, np.float32(z * scale(z)).astype(float), wave))

    def visit(self, place):
        n, below = self.nodes[place], self.stream.below
        d = len(n.columns)
        if n.kind == "circle":
            self.given[place].append(1 - 2 * below(2))
        elif n.kind == "binary":
            self.given[place].append(1)
        elif n.kind == "categorical":
            self.given[place].append(below(n.size))
        elif n.kind == "gaussian":
            self.vector(place, d, lambda z: 1 / (2 * math.pi * n.size), True)
        elif n.kind == "sphere" and n.size == "projection":
            self.vector(place, d, lambda z: math.sqrt(d) / np.linalg.norm(z), False)
        elif n.kind == "sphere":
            self.given[place].append(below(2 * d if n.size == "pairs" else d))
        elif self.hybrid and all(self.nodes[i].kind for i in n.inputs):
            of = [self.nodes[i] for i in n.inputs]
            size = sum(len(i.columns) + (i.kind == "circle") for i in of)
            rate = 1 / (2 * math.pi * math.sqrt(n.activation["exponential"] * len(of)))
            self.vector(place, size, lambda z: rate, True)
        else:
            for _ in range(n.degree(self.stream.uniform())):
                self.visit(n.inputs[below(len(n.inputs))])

    def reduce(self):
        """Merges what each node gives, and takes the product or its conjugate."""
        order = sorted(self.given, key=lambda p: (self.nodes[p].kind == "sphere", p))
        powers, sign = {}, 0
        for place in order:
            n, p = self.nodes[place], sorted(self.given[place])
            turn, total = 0, sum(p)
            if n.kind == "circle":
                turn, p = total, [total]
            elif n.kind == "binary":
                p = [total % 2]
            elif n.kind == "categorical":
                p = [total % n.size]
                turn = n.size - 2 * p[0] if p[0] else 0
            elif n.size == "pairs":
                more = collections.Counter()
                for a in p:
                    more[a // 2] += 1 - 2 * (a % 2)
                turn = next((more[j] for j in sorted(more) if more[j]), 0)
            sign = sign or turn
            if n.kind == "sphere" or p[0]:
                powers[place] = p
        wave = any(wave for _, _, wave in self.factors)
        if sign < 0 and not wave:
            powers = {place: self.conjugate(self.nodes[place], p) for place, p in powers.items()}
        self.powers, self.complex = powers, sign != 0 or wave
        self.sine = self.sine and self.complex
        self.key = self.sine, tuple((place, tuple(p)) for place, p in powers.items())

    @staticmethod
    def conjugate(n, powers):
        if n.kind == "circle":
            return [-a for a in powers]
        if n.kind == "categorical":
            return [n.size - a for a in powers]
        return sorted(a ^ 1 for a in powers) if n.size == "pairs" else powers

    def feature(self, x):
        z = np.full(len(x), 1j if self.sine else 1, complex) * (math.sqrt(2) if self.complex else 1)
        for place, powers in self.powers.items():
            for a in powers:
                z *= factor(self.nodes[place], x, a)
        for place, vector, wave in self.factors:
            dot = linear(self.nodes, place, x) @ vector
            z *= np.exp(2j * math.pi * dot) if wave else dot
        return z.real


def factor(n, x, a):
    """What the power, ω or choice a of an input node gives."""
    v, d = x[:, n.columns], len(n.columns)
    if n.kind == "circle":
        return np.exp(2j * math.pi * a * (v[:, 0] / np.float32(n.size)).astype(float))
    if n.kind == "binary":
        return np.where(v[:, 0] > 0, 1, -1)
    if n.kind == "categorical":
        return np.exp(2j * math.pi * a * np.rint(v[:, 0]).astype(float) / n.size)
    if n.size == "coordinates":
        return math.sqrt(d) * v[:, a].astype(float)
    pair = v[:, a // 2].astype(float) + 1j * v[:, (a // 2 + 1) % d]
    return math.sqrt(d / 2) * (pair.conj() if a % 2 else pair)


def linear(nodes, place, x):
    """The numbers for the vector of a factor."""
    n = nodes[place]
    if not n.inputs:
        return x[:, n.columns].astype(float)
    parts = []
    for i in n.inputs:
        u = nodes[i]
        if u.kind == "circle":
            angle = 2 * math.pi * x[:, u.columns[0]].astype(float) / u.size
            parts += [np.stack([np.cos(angle), np.sin(angle)], 1)]
        elif u.kind == "binary":
            parts += [factor(u, x, 1)[:, None]]
        else:
            parts += [linear(nodes, i, x)]
    return np.hstack(parts)


def drawn(r):
    """The different features of a recipe, and how often each was drawn."""
    s = r["skeleton"]
    nodes, output = listed(s) if s.get("nodes") else layered(s)
    found, counts, known, draws = [], [], {}, 0
    while draws < max(1000 * r["out"], 100_000):
        p = Draw(nodes, output, r["seed"], draws, r.get("sampler") == "hybrid")
        at = known.get(p.key) if not p.factors else None
        if at is None:
            if len(found) == r["out"]:
                break
            at = len(found)
            found.append(p)
            counts.append(0)
            if not p.factors:
                known[p.key] = at
        counts[at] += 1
        draws += 1
    return found, np.sqrt(np.array(counts) / draws)


def features(r, x):
    if "drawn" not in r:
        r["drawn"] = drawn(r)
    found, weights = r["drawn"]
    return np.stack([p.feature(x) for p in found], 1) * weights
