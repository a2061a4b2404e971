"""Retrains a model of bochner once a week, and puts it to use if it is good enough.

The tasks are pods: the training drives Dataflow, the gate scores the model on data
that the training has not seen, and the promotion moves the pointer.
"""

import pendulum
from airflow.models.dag import DAG
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator

REGISTRY = "europe-west4-docker.pkg.dev/PROJECT/bochner"
MODELS = "gs://BUCKET/models"
MODEL = MODELS + "/{{ ds }}"
TRAIN = [
    "train",
    "--data=gs://BUCKET/data/train-*.csv",
    "--label=y",
    "--features=4096",
    "--model=" + MODEL,
    "--resume",
    "--runner=dataflow",
    "--project=PROJECT",
    "--region=europe-west4",
    "--staging_location=gs://BUCKET-temp/staging",
    "--temp_location=gs://BUCKET-temp/temp",
    "--service_account_email=bochner-worker@PROJECT.iam.gserviceaccount.com",
    "--lanes=32",
    "--machine_type=n2-highmem-4",
    "--disk_size_gb=30",
]
GATE = [
    "evaluate",
    "--model=" + MODEL,
    "--data=gs://BUCKET/data/test-*.csv",
    "--gate=accuracy>=0.95",
]



def pod(name, image, arguments, account, env=None, retries=2):
    return KubernetesPodOperator(
        task_id=name,
        name="bochner-" + name,
        namespace="bochner",
        image=REGISTRY + "/" + image + ":0.1.0",
        arguments=arguments,
        env_vars=env or {},
        service_account_name=account,
        on_finish_action="delete_succeeded_pod",
        retries=retries,
        retry_delay=pendulum.duration(minutes=5),
        get_logs=True,
    )


with DAG(
    dag_id="bochner_retrain",
    schedule="0 3 * * 1",
    start_date=pendulum.datetime(2026, 1, 5, tz="UTC"),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=pendulum.duration(hours=24),
) as dag:
    train = pod("train", "bochner", TRAIN, "bochner")
    gate = pod("gate", "bochner", GATE, "bochner", retries=0)
    promote = pod(
        "promote",
        "retrain",
        ["promote"],
        "bochner-promoter",
        env={"MODELS": MODELS, "DAY": "{{ ds }}"},
        retries=0,
    )
    train >> gate >> promote
