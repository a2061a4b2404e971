"""LightGBM behind the HTTP form of bochner serve: python lightgbm_server.py TRAIN.csv PORT WORKERS."""

import os
import sys

os.environ["OMP_NUM_THREADS"] = "1"

import lightgbm
import numpy as np
import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

TRAIN, PORT, WORKERS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
MODEL = TRAIN + ".lightgbm"

with open(TRAIN) as f:
    COLUMNS = f.readline().strip().split(",")[:-1]
if not os.path.exists(MODEL):
    table = np.loadtxt(TRAIN, delimiter=",", skiprows=1)
    data = lightgbm.Dataset(table[:, :-1], table[:, -1])
    lightgbm.train({"objective": "regression", "verbose": -1, "num_threads": 1}, data, 100).save_model(MODEL)
booster = lightgbm.Booster(model_file=MODEL)


async def predict(request):
    rows = orjson.loads(await request.body())["rows"]
    x = np.array([[row[name] for name in COLUMNS] for row in rows], dtype=np.float64)
    said = booster.predict(x, num_threads=1)
    return Response(orjson.dumps({"predictions": [{"prediction": float(v)} for v in said]}), media_type="application/json")


async def ready(_):
    return Response("ready")


app = Starlette(routes=[Route("/v1/predict", predict, methods=["POST"]), Route("/readyz", ready)])

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    uvicorn.run("lightgbm_server:app", host="127.0.0.1", port=PORT, workers=WORKERS, access_log=False, log_level="warning")
