"""What bochner.py needs for some models: columns of typed tables, bins, normal scores, orthogonal
and structured frequencies, pools of projections, images, landmarks, harmonics and skeletons."""

import datetime
import math
import re

import numpy as np

from bochner import floats, normals, uniforms, words


# Fields of typed tables.

def text_of(field):
    """A field as a CSV file has it: of a number the shortest decimal form."""
    if field is None or field != field:
        return ""
    if isinstance(field, (bool, np.bool_)):
        return str(field).lower()
    if isinstance(field, (float, np.floating)):
        plain = 1e-5 <= abs(field) <= 2**53 or field == 0
        return np.format_float_positional(field, trim="-") if plain else repr(float(field))
    return str(field).strip(" \t")


def short(text, point):
    """A text without the fraction of a whole number."""
    match = re.fullmatch(r"([+-]?[0-9]+)" + re.escape(point) + "0+", text)
    return match[1] if match else text


def values(rules, c, fields):
    """The values of the fields of a column: a row for each field."""
    point = chr(rules.get("decimal", 0) or ord("."))
    texts = [text_of(field) for field in fields]
    codes = {short(code.lower(), ".") for code in rules.get("missing", [])} | {""}
    shorts = [short(text, point) for text in texts]
    missing = np.array([s.lower() in codes for s in shorts], bool)
    read, width = globals()["read_" + c["type"]], 4 if c["type"] == "time" else 1
    x = np.full((len(texts), width), np.nan)
    for i in np.flatnonzero(~missing):
        x[i] = read(rules, c, texts[i], shorts[i])
    if c["type"] == "number":
        numbers = [number(code) for code in codes]
        x[np.isin(x, [n for n in numbers if n is not None])] = np.nan
    return x


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def read_number(rules, c, text, _):
    if "unit" in c:
        unit = re.escape(c["unit"])
        text = re.sub(rf"^(-?){unit}\s*|\s*{unit}$", r"\1", text)
    if rules.get("thousands"):
        text = text.replace(chr(rules["thousands"]), "")
    return float(text.replace(chr(rules.get("decimal", 0) or ord(".")), "."))


def read_boolean(rules, c, text, short_form):
    words = short_form.lower()
    if words in ("true", "t", "yes", "y", "1"):
        return 1
    if words in ("false", "f", "no", "n", "0"):
        return 0
    raise ValueError(f"{text!r} is neither true nor false")


def read_category(rules, c, text, short_form):
    if c.get("buckets"):
        return xxh64(short_form.encode()) % c["buckets"]
    levels = c.setdefault("index", {level: i for i, level in enumerate(c.get("levels", []))})
    return levels.get(text, levels.get(short_form, len(levels)))


CLOCK = r"(?P<H>\d\d?):(?P<M>\d\d)(?::(?P<S>\d\d(?:\.\d+)?))?(?: ?(?P<half>[AaPp])[Mm])?"
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()


def pattern(layout):
    """The regular expression of a layout of times."""
    if layout == "h:m":
        return CLOCK
    if layout == "iso":
        date, zone = r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)", r"(?P<zone>Z|[+-]\d\d:?\d\d)?"
        return date + "(?:[ T]" + CLOCK + zone + ")?"
    if layout == "yyyymmdd":
        return r"(?P<y>\d{4})(?P<m>\d\d)(?P<d>\d\d)(?: " + CLOCK + ")?"
    parts = {"y": r"(?P<y>\d{4}|\d\d)", "m": r"(?P<m>\d\d?)", "d": r"(?P<d>\d\d?)",
             "mon": r"(?P<b>[A-Za-z]+)", " ": "(?:[-/]|(?=[., ])[.]?,? ?)"}
    date = "".join(parts.get(part) or re.escape(part) for part in re.findall("mon|.", layout))
    return date + "(?: " + CLOCK + ")?"


def read_time(rules, c, text, short_form):
    """Days since 1970, the month, the weekday and the hour."""
    match = re.fullmatch(pattern(c["layout"]), short_form)
    if not match:
        raise ValueError(f"{text!r} is not a time of the layout {c['layout']}")
    at = {key: value for key, value in match.groupdict().items() if value}
    year, day = at.get("y", "1970"), int(at.get("d", 1))
    year = int(year) + (0 if len(year) == 4 else 1900 if int(year) >= 69 else 2000)
    month = MONTHS.index(at["b"][:3].lower()) + 1 if "b" in at else int(at.get("m", 1))
    hour = int(at.get("H", 0))
    if "half" in at:
        hour = hour % 12 + 12 * (at["half"] in "Pp")
    time = datetime.datetime(year, month, day, hour, int(at.get("M", 0)))
    if len(at.get("zone", "Z")) > 1:
        east = datetime.timedelta(hours=int(at["zone"][1:3]), minutes=int(at["zone"][-2:]))
        time -= east if at["zone"][0] == "+" else -east
    h = time.hour + time.minute / 60 + float(at.get("S", 0)) / 3600
    days = 0 if c["layout"] == "h:m" else (time.date() - datetime.date(1970, 1, 1)).days + h / 24
    return days, time.month, time.weekday(), h


def xxh64(data, seed=0):
    """The hash of a text (see xxhash.com)."""
    p1, p2, p3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
    p4, p5, mask = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5, 2**64 - 1

    def rotate(x, n):
        return (x << n | x >> 64 - n) & mask

    def word(at, n=8):
        return int.from_bytes(data[at:at + n], "little")

    def mix(a, v):
        return rotate(a + v * p2 & mask, 31) * p1 & mask

    at, h = 0, seed + p5 & mask
    if len(data) >= 32:
        lanes = [seed + p1 + p2 & mask, seed + p2 & mask, seed, seed - p1 & mask]
        while at + 32 <= len(data):
            lanes = [mix(a, word(at + 8 * i)) for i, a in enumerate(lanes)]
            at += 32
        h = sum(rotate(a, n) for a, n in zip(lanes, (1, 7, 12, 18))) & mask
        for a in lanes:
            h = (h ^ mix(0, a)) * p1 + p4 & mask
    h = h + len(data) & mask
    while at + 8 <= len(data):
        h = rotate(h ^ mix(0, word(at)), 27) * p1 + p4 & mask
        at += 8
    if at + 4 <= len(data):
        h = rotate(h ^ word(at, 4) * p1 & mask, 23) * p2 + p3 & mask
        at += 4
    for byte in data[at:]:
        h = rotate(h ^ byte * p5 & mask, 11) * p1 & mask
    h = (h ^ h >> 33) * p2 & mask
    h = (h ^ h >> 29) * p3 & mask
    return h ^ h >> 32


# Steps of recipes. The first argument is the Recipes of bochner.py.

def columns(recipes, r, x):
    numbers, levels = [], []
    for slot, v in zip(r["slots"], x.T):
        (kind, s), missing = next(iter(slot.items())), np.isnan(v)
        if kind == "number":
            numbers.append(np.where(missing, s["fill"], v)[:, None])
            if s.get("missing"):
                numbers.append(np.where(missing, s["missing"], 0)[:, None])
        elif kind == "onehot":
            last = s["values"] + bool(s.get("missing"))
            at = np.where(missing, s["values"], np.where(v < s["values"], v, -1))
            levels.append((at[:, None] == np.arange(last)) * s["weight"])
        else:
            at = np.where((v >= 0) & (v < s["values"]), v, s["values"]).astype(int)
            numbers.append(floats(s["numbers"]).reshape(-1, s["out"])[at])
    return np.float32(np.hstack(numbers + levels))


def bins(recipes, r, x):
    parts = []
    for c in r["columns"]:
        v, cuts = x[:, c["index"]], floats(c["cuts"])
        if r.get("piecewise_linear"):
            knots = np.eye(len(cuts))
            parts += [np.interp(v.astype(float), cuts, knot)[:, None] for knot in knots]
        else:
            hot = np.eye(len(cuts) + 1)[np.searchsorted(cuts, v, "right")]
            parts.append(hot[:, 1:] if len(cuts) == 1 else hot)
    return np.float32(np.hstack(parts) * r["weight"])


def bins_levels(recipes, r, x):
    others = x.copy()
    if not r.get("keep"):
        others[:, [c["index"] for c in r["columns"]]] = 0
    return np.hstack([others, bins(recipes, r, x)])


def differences(recipes, r, x):
    first, second, a, b, c = (np.array([p[name] for p in r["pairs"]]) for name in ("first", "second", "a", "b", "c"))
    d = np.float32(a) * x[:, first] - np.float32(b) * x[:, second] + np.float32(c)
    return np.hstack([x, abs(d)])


def scale_normalscores(recipes, r, x):
    y = x.copy()
    for j, c in enumerate(r["columns"]):
        if c.get("at"):
            y[:, j] = np.interp(x[:, j].astype(float), floats(c["at"]), floats(c["scores"]))
    return y



def harmonic(recipes, r, x):
    u = x.astype(float)
    norm = np.sqrt((u * u).sum(1, keepdims=True))
    u /= np.where(norm == 0, 1, norm)
    squares = (u * u).cumsum(1)
    total = sum(term["count"] for term in r["terms"])
    phi = [harmonic_of(u, squares, t["degree"], t["index"]) for t in r["terms"]]
    return np.stack(phi, 1) * np.sqrt([t["count"] / total for t in r["terms"]])


def count_harmonics(d, degree):
    """How many harmonics of a degree there are in d coordinates."""
    if d == 2 or degree == 0:
        return min(degree, 1) + 1
    fewer = math.comb(d - 3 + degree, degree - 2) if degree > 1 else 0
    return math.comb(d - 1 + degree, degree) - fewer


def harmonic_of(u, squares, degree, index):
    y = np.ones(len(u))
    for k in range(u.shape[1], 2, -1):
        below = 0
        while index >= (n := count_harmonics(k - 1, below)):
            index, below = index - n, below + 1
        nu = below + (k - 2) / 2
        square = math.prod((k + 2 * i) / (k - 1 + 2 * i) for i in range(below))
        before, p, beta = 0, np.full(len(u), math.sqrt(square)), 0
        for n in range(1, degree - below + 1):
            last, beta = beta, math.sqrt(n * (n + 2 * nu - 1) / (4 * (n + nu) * (n + nu - 1)))
            before, p = p, (u[:, k - 1] * p - squares[:, k - 1] * last * before) / beta
        y, degree = y * p, below
    if degree == 0:
        return y
    wave = (u[:, 0] + 1j * u[:, 1]) ** degree
    return y * math.sqrt(2) * (wave.imag if index else wave.real)


# Images: pixels has rows, height, width and channels.

def pixels(r, x):
    s = r["shape"]
    if s.get("planar"):
        return x.reshape(len(x), s["channels"], s["height"], s["width"]).transpose(0, 2, 3, 1)
    return x.reshape(len(x), s["height"], s["width"], s["channels"])


def flat(r, image):
    planar = r["shape"].get("planar")
    return np.float32((image.transpose(0, 3, 1, 2) if planar else image).reshape(len(image), -1))


def image_crop(recipes, r, x):
    image, size = pixels(r, x), r["size"]
    top, left = (image.shape[1] - size) // 2, (image.shape[2] - size) // 2
    return flat(r, image[:, top:top + size, left:left + size])


def image_gray(recipes, r, x):
    red, green, blue = np.moveaxis(pixels(r, x).astype(float), 3, 0)
    return np.float32(0.299 * red + 0.587 * green + 0.114 * blue).reshape(len(x), -1)


def image_whiten(recipes, r, x):
    v = x.astype(float)
    deviation = np.maximum(v.std(1, keepdims=True), 1 / math.sqrt(v.shape[1]))
    return np.float32((v - v.mean(1, keepdims=True)) / deviation)


def image_hog(recipes, r, x):
    s, c, n = r["shape"], r["cell"], r["orientations"]
    gray = (image_gray(recipes, r, x) if s["channels"] == 3 else x).astype(float)
    v = gray.reshape(-1, s["height"], s["width"])
    gx, gy = np.zeros_like(v), np.zeros_like(v)
    gx[:, :, 1:-1] = v[:, :, 2:] - v[:, :, :-2]
    gy[:, 1:-1] = v[:, 2:] - v[:, :-2]
    part = (np.arctan2(gy, gx) % np.pi * n / np.pi + 1e-12).astype(int) % n
    down, right = s["height"] // c, s["width"] // c
    votes = np.hypot(gx, gy)[..., None] * (part[..., None] == np.arange(n))
    h = votes[:, :down * c, :right * c].reshape(len(x), down, c, right, c, n).sum((2, 4)) / c**2
    for most in (0.2, np.inf):
        h = np.minimum(h / np.sqrt((h * h).sum(3, keepdims=True) + 1e-10), most)
    return np.float32(h.reshape(len(x), -1))


def image_patchpca(recipes, r, x):
    size, stride, out = r["patch"], r["stride"], r["out"]
    image = pixels(r, x)
    patches = np.lib.stride_tricks.sliding_window_view(image, (size, size), (1, 2))
    patches = patches[:, ::stride, ::stride].transpose(0, 1, 2, 4, 5, 3)
    v = np.float32(patches.reshape(patches.shape[:3] + (-1,)) - np.float32(r["mean"]))
    return flat(r, v @ np.float32(r["basis"]).reshape(out, -1).T.astype(float))


def image_unitpixels(recipes, r, x):
    image = pixels(r, x).astype(float)
    norm = np.sqrt((image * image).sum(3, keepdims=True))
    return flat(r, image / np.where(norm == 0, 1, norm))


def patches(recipes, r, x):
    size, cells, length = r["patch"], r["cells"], r["patch"] ** 2 * r["shape"]["channels"]
    image = pixels(r, x).astype(float)
    p = np.lib.stride_tricks.sliding_window_view(image, (size, size), (1, 2)).transpose(0, 1, 2, 4, 5, 3)
    p = p.reshape(p.shape[:3] + (length,))
    p = np.float32((p - p.mean(3, keepdims=True)) / np.sqrt(p.var(3, keepdims=True) + r["floor"]))
    filters = floats(r["filters"]).reshape(-1, length)
    responses = p @ filters.T.astype(float) + floats(r["bias"])
    parts = np.maximum(np.concatenate([responses, -responses], 3) - r["threshold"], 0)
    down, across = ([i * n // cells for i in range(cells + 1)] for n in p.shape[1:3])
    means = [parts[:, down[i]:down[i + 1], across[j]:across[j + 1]].mean((1, 2))
             for i in range(cells) for j in range(cells)]
    return np.float32(np.concatenate(means, 1) / math.sqrt(len(filters)))


def landmarks(recipes, r, x):
    z = recipes.files("landmarks.safetensors")["landmarks"][:r["out"]].astype(float)
    of, kind = r["kernel"]["recipe"], r["kernel"]["kind"]
    apart = (row - z for row in x.astype(float))
    if kind == "fourier.laplace":
        return np.exp(-np.array([abs(d).sum(1) for d in apart]) / of["width"])
    t = np.sqrt([(d * d).sum(1) for d in apart]) / of["width"]
    match kind:
        case "fourier.gaussian":
            return np.exp(-t * t / 2)
        case "fourier.exponential":
            return np.exp(-(t ** of["exponent"]))
    t = np.minimum(t * math.sqrt(2 * of["nu"]), 1e100)  # ∞·0 would be NaN
    return {0.5: 1, 1.5: 1 + t, 2.5: 1 + t + t * t / 3}[of["nu"]] * np.exp(-t)


# Other draws.

def gammas(seed, purpose, index, a):
    """A number of the gamma distribution with shape a for each index."""
    d, w = a - 1 / 3, words(seed, purpose, index, 128)  # 64 tries; 95% of the first succeed
    x, u = normals(w[:, ::2]), uniforms(w[:, 1::2])
    y = 1 + x / np.sqrt(9 * d)
    v = np.where(y > 0, y, 1) ** 3
    good = (y > 0) & (np.log(u) < x * x / 2 + d - d * v + d * np.log(v))
    return d * v[np.arange(len(v)), good.argmax(1)]


def stables(seed, purpose, index, a):
    """A positive stable number of index a for each index."""
    u, e = uniforms(words(seed, purpose, index, 2)).T
    u, e = np.pi * u, -np.log(e)
    return np.sin(a * u) / np.sin(u) ** (1 / a) * (np.sin((1 - a) * u) / e) ** ((1 - a) / a)


def orthogonal(seed, n, d):
    blocks = []
    for b in range(-(-n // d)):
        x = np.zeros((d, d))
        for i in range(d):
            x[i, i:] = normals(words(seed, "fourier/frequency", b * d + i, d - i))
        size = np.sqrt((x * x).sum(1))
        z = x / size[:, None]
        for i in range(d - 2, -1, -1):  # row k is reflected by k − 1, …, 0
            v, beta = x[i].copy(), 1 / (size[i] ** 2 + abs(x[i, i]) * size[i])
            v[i] += np.copysign(size[i], v[i])
            z[i + 1:] -= np.outer(z[i + 1:] @ v * beta, v)
        chi = np.sqrt(2 * gammas(seed, "fourier/norm", b * d + np.arange(d), d / 2))
        blocks.append(z * chi[:, None])
    return np.vstack(blocks)[:n]


def structured(seed, n, d):
    size = max(64, 1 << (d - 1).bit_length())
    h = np.ones((1, 1))
    while len(h) < size:
        h = np.block([[h, h], [h, -h]])
    blocks = []
    for b in range(-(-n // size)):
        z = np.eye(size)
        for i in range(3):
            signs = words(seed, "fourier/sign", 3 * b + i, size // 64)[0]
            bits = signs[:, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)
            z = z @ h * (1 - 2.0 * bits.reshape(-1))
        blocks.append(z[:, :d] / size)
    return np.vstack(blocks)[:n]


class Stream:
    """The words of a stream one after the other, as numbers."""

    def __init__(self, seed, purpose, index):
        self.of, self.words, self.size = (seed, purpose, index), [], 8

    def next(self):
        if not self.words:
            all_words, given = words(*self.of, self.size)[0].tolist(), self.size // 2
            self.words = all_words[::-1] if self.size == 8 else all_words[given:][::-1]
            self.size *= 2
        return self.words.pop()

    def uniform(self):
        return float(uniforms(np.array([self.next()], np.uint64))[0])

    def normal(self):
        return float(normals(np.array([self.next()], np.uint64))[0])

    def below(self, n):
        while True:
            product = self.next() * n
            if product % 2**64 >= 2**64 % n:
                return product >> 64


def pooled(seed, m, q, pool):
    """The projections of the m units of a pool."""
    units = []
    for unit in range(m):
        stream, left = Stream(seed, "maxout/unit", unit), list(range(pool))
        units.append([left.pop(stream.below(pool - j)) for j in range(q)])
    return units


def skeleton(recipes, r, x):
    import bochner_skeleton
    return bochner_skeleton.features(r, x)
