"""Scores a CSV file by an ONNX graph, or by a directory for MLflow: score.py MODEL DATA OUT.

OUT gets what `bochner predict --scores --probabilities` writes, without a header.
"""

import csv
import datetime
import sys

import numpy as np

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
LAYOUTS = "%d.%m.%Y %H:%M", "%d.%m.%Y", "%d.%m.%y %H:%M", "%d.%m.%y", "%b %d, %Y %I:%M %p", "%B %d %y", "%b-%d-%Y %I:%M%p"
CLOCKS = "%H:%M", "%H:%M:%S", "%I:%M %p"


def seconds(text):
    """The seconds of a time since 1970, of a time of day since midnight."""
    if text in ("", "nan"):
        return np.nan
    try:
        time = datetime.datetime.fromisoformat(text)
        return (time.replace(tzinfo=time.tzinfo or datetime.timezone.utc) - EPOCH).total_seconds()
    except ValueError:
        pass
    for layout in LAYOUTS + CLOCKS:
        try:
            time = datetime.datetime.strptime(text.replace("Sept", "Sep"), layout)
        except ValueError:
            continue
        if layout in CLOCKS:
            return (time - time.replace(hour=0, minute=0, second=0)).total_seconds()
        if "%y" in layout and time.year > 2068:
            time = time.replace(year=time.year - 100)
        return (time.replace(tzinfo=datetime.timezone.utc) - EPOCH).total_seconds()
    raise ValueError(text)


def columns(path, named=True):
    """The columns of a file as lists of texts."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    header = rows.pop(0) if named else range(len(rows[0]))
    return {name: [row[j].strip(" \t") for row in rows] for j, name in enumerate(header)}


def numbers(texts, dtype):
    missing = ("", "NA", "nan", "?")
    return np.array([np.nan if t in missing else float(t.replace("$", "").replace(" ", "")) for t in texts], dtype)


def fields(kind, about, texts):
    if kind == "tensor(string)":
        return np.array(texts, dtype=object)
    if about.startswith("time"):
        return np.array([seconds(t) for t in texts])
    return numbers(texts, np.float32 if kind == "tensor(float)" else np.float64)


def by_onnx(path, file):
    import onnx
    import onnxruntime

    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    about = {value.name: value.doc_string for value in model.graph.input}
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    inputs = session.get_inputs()
    if inputs[0].name == "input":
        _, named, names = about["input"].partition("rows of ")
        data = columns(file, bool(named))
        matrix = [fields(inputs[0].type, "", data[name]) for name in (names.split(", ") if named else data)]
        feeds = {"input": np.stack(matrix, 1)}
    else:
        data = columns(file)
        feeds = {i.name: fields(i.type, about[i.name], data[i.name])[:, None] for i in inputs}
    said = dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))
    order = [n for n in ("label", "scores", "probabilities", "prediction", "coordinates") if n in said]
    return np.concatenate([said[n].reshape(len(said[n]), -1).astype(object) for n in order], 1)


def by_mlflow(path, file):
    import mlflow.pyfunc
    import onnx
    import pandas

    model, data, frame = mlflow.pyfunc.load_model(path), columns(file), {}
    about = {value.name: value.doc_string for value in onnx.load(path + "/model.onnx").graph.input}
    for column in model.metadata.get_input_schema():
        kind = "tensor(string)" if column.type.name == "string" else "tensor(double)"
        texts = fields(kind, about[column.name], data[column.name])
        frame[column.name] = pandas.Series(texts, dtype=texts.dtype)  # not the type of text of pandas 3
    said = model.predict(pandas.DataFrame(frame))
    names = [column.name for column in model.metadata.get_output_schema()]
    assert list(said) == names, (list(said), names)
    order = sorted(names, key=lambda n: ("score_" in n) + 2 * ("probability_" in n))
    return said[order].to_numpy(object)


def main(model, path, out):
    rows = (by_onnx if model.endswith(".onnx") else by_mlflow)(model, path)
    with open(out, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([v if isinstance(v, (str, int)) else repr(float(v)) for v in row] for row in rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
