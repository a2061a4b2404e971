"""Retrains a model of bochner every night on the data of the day before.

One task: a pod that runs bochner retrain, which lists, sums, fits, compares and promotes.
The day is that before the end of the data interval, whether the timetable has intervals
(a run at 3:00 on the 21st is for the 20th) or only the moment of the run. A retry, a cleared
task or a backfill works for the same day, and finds what is done. Exit code 9, no new data,
skips the run. Any other code but 0 fails it after two more tries, which are short because
nothing is done twice.
"""

import pendulum
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.sdk import DAG
from kubernetes.client import models as k8s

IMAGE = "europe-west4-docker.pkg.dev/PROJECT/bochner/bochner:0.1.0"
DAY = "{{ (data_interval_end - macros.timedelta(days=1)) | ds }}"
RETRAIN = ["retrain", "--config=/etc/bochner/retrain.yaml", "--day=" + DAY, "--who=airflow"]
NO_NEW_DATA = 9

with DAG(
    dag_id="bochner_retrain",
    schedule="0 3 * * *",
    start_date=pendulum.datetime(2026, 1, 5, tz="UTC"),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=pendulum.duration(hours=20),
) as dag:
    KubernetesPodOperator(
        task_id="retrain",
        name="bochner-retrain",
        namespace="bochner",
        image=IMAGE,
        arguments=RETRAIN,
        service_account_name="bochner",
        volumes=[
            k8s.V1Volume(name="config", config_map=k8s.V1ConfigMapVolumeSource(name="bochner-retrain")),
        ],
        volume_mounts=[k8s.V1VolumeMount(name="config", mount_path="/etc/bochner", read_only=True)],
        skip_on_exit_code=NO_NEW_DATA,
        on_finish_action="delete_succeeded_pod",
        retries=2,
        retry_delay=pendulum.duration(minutes=5),
        get_logs=True,
    )
