"""Scores a CSV file by an ONNX graph, or by a directory for MLflow: score.py MODEL DATA OUT.

OUT gets what `bochner predict --probabilities --scores` writes. Times are written as ISO dates.
"""

import csv
import datetime
import sys

import numpy as np

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def seconds(text):
    if not text:
        return np.nan
    time = datetime.datetime.fromisoformat(text)
    return (time.replace(tzinfo=time.tzinfo or datetime.timezone.utc) - EPOCH).total_seconds()


def columns(path):
    """The columns of a file as lists of texts."""
    with open(path, newline="") as file:
        header, *rows = list(csv.reader(file))
    return {name: [row[j].strip(" \t") for row in rows] for j, name in enumerate(header)}


def numbers(texts, dtype):
    return np.array([np.nan if t in ("", "NA", "nan", "?") else float(t) for t in texts], dtype)


def feed(name, kind, about, data, shape):
    if name == "input":
        names = about.removeprefix("rows of ").split(", ") if about.startswith("rows of ") else list(data)[: shape[1]]
        return np.stack([numbers(data[n], np.float32 if kind == "tensor(float)" else np.float64) for n in names], 1)
    texts = data[name]
    if kind == "tensor(string)":
        return np.array(texts, dtype=object)[:, None]
    if about.startswith("time"):
        return np.array([seconds(t) for t in texts])[:, None]
    return numbers(texts, np.float32 if kind == "tensor(float)" else np.float64)[:, None]


def by_onnx(path, data):
    import onnx
    import onnxruntime

    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    about = {value.name: value.doc_string for value in model.graph.input}
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feeds = {i.name: feed(i.name, i.type, about[i.name], data, i.shape) for i in session.get_inputs()}
    said = dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))
    said = {name: value if value.ndim == 2 else value[:, None] for name, value in said.items()}
    return np.concatenate([said[n].astype(object) for n in ("label", "scores", "probabilities", "prediction",
                                                          "coordinates") if n in said], 1)


def by_mlflow(path, data):
    import mlflow.pyfunc
    import pandas

    model = mlflow.pyfunc.load_model(path)
    frame = {}
    for column in model.metadata.get_input_schema():
        texts = data[column.name]
        if column.type.name == "string":
            frame[column.name] = pandas.Series(texts, dtype=object)  # not the text type of pandas 3
        elif any(":" in t or t.count("-") == 2 for t in texts):
            frame[column.name] = [seconds(t) for t in texts]
        else:
            frame[column.name] = numbers(texts, np.float64)
    said = model.predict(pandas.DataFrame(frame))
    names = [c.name for c in model.metadata.get_output_schema()]
    assert list(said) == names, (list(said), names)
    order = [n for n in names if n.startswith("prediction")] + [n for n in names if n.startswith("score_")]
    return said[order + [n for n in names if n not in order]].to_numpy(object)


def main(model, path, out):
    score = by_onnx if model.endswith(".onnx") else by_mlflow
    with open(out, "w", newline="") as file:
        csv.writer(file).writerows([v if isinstance(v, (str, int)) else repr(float(v)) for v in row]
                                   for row in score(model, columns(path)))


if __name__ == "__main__":
    main(*sys.argv[1:])
