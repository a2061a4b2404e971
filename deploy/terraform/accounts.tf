# Four accounts, each with what its part takes and no more: see the table in
# deploy/README.md. None has a key.

locals {
  # What says which model is champion, and why. Dataflow's workers may not write it.
  objects      = "projects/_/buckets/${var.bucket}/objects/models/"
  not_registry = "resource.name != \"${local.objects}aliases.json\" && !resource.name.startsWith(\"${local.objects}history/\") && !resource.name.startsWith(\"${local.objects}reports/\")"
}

resource "google_service_account" "launcher" {
  account_id   = "bochner-launcher"
  display_name = "bochner: the driver, which submits jobs, makes models and promotes them"
}

resource "google_service_account" "worker" {
  account_id   = "bochner-worker"
  display_name = "bochner: reads data and writes state on Dataflow's workers"
}

resource "google_service_account" "workflow" {
  account_id   = "bochner-workflow"
  display_name = "bochner: runs the retraining and reads its report"
}

resource "google_service_account" "scheduler" {
  account_id   = "bochner-scheduler"
  display_name = "bochner: starts the retraining"
}

# In the whole project.
resource "google_project_iam_member" "project" {
  for_each = {
    "roles/dataflow.developer" = google_service_account.launcher.member
    "roles/dataflow.worker"    = google_service_account.worker.member
    "roles/run.viewer"         = google_service_account.workflow.member # to wait for an execution
    "roles/logging.logWriter"  = google_service_account.workflow.member
    "roles/workflows.invoker"  = google_service_account.scheduler.member
  }
  project = var.project
  role    = each.key
  member  = each.value
}

resource "google_service_account_iam_member" "launcher_acts_as_worker" {
  service_account_id = google_service_account.worker.name
  role               = "roles/iam.serviceAccountUser"
  member             = google_service_account.launcher.member
}

resource "google_storage_bucket_iam_member" "launcher_models" {
  bucket = google_storage_bucket.bochner.name
  role   = "roles/storage.objectUser"
  member = google_service_account.launcher.member
}

resource "google_storage_bucket_iam_member" "worker_reads" {
  bucket = google_storage_bucket.bochner.name
  role   = "roles/storage.objectViewer"
  member = google_service_account.worker.member
}

resource "google_storage_bucket_iam_member" "worker_models" {
  bucket = google_storage_bucket.bochner.name
  role   = "roles/storage.objectUser"
  member = google_service_account.worker.member
  condition {
    title      = "all but the registry of models"
    expression = local.not_registry
  }
}

resource "google_storage_bucket_iam_member" "temp" {
  for_each = {
    launcher = google_service_account.launcher.member
    worker   = google_service_account.worker.member
  }
  bucket = google_storage_bucket.temp.name
  role   = "roles/storage.objectUser"
  member = each.value
}

# To see that a bucket exists: storage.buckets.get.
resource "google_storage_bucket_iam_member" "launcher_sees_temp" {
  bucket = google_storage_bucket.temp.name
  role   = "roles/storage.legacyBucketReader"
  member = google_service_account.launcher.member
}

resource "google_storage_bucket_iam_member" "workflow_reads" {
  bucket = google_storage_bucket.bochner.name
  role   = "roles/storage.objectViewer"
  member = google_service_account.workflow.member
  condition {
    title      = "reports"
    expression = "resource.name.startsWith(\"${local.objects}reports/\")"
  }
}

resource "google_cloud_run_v2_job_iam_member" "workflow_runs_retraining" {
  name     = google_cloud_run_v2_job.retrain.name
  location = var.region
  role     = "roles/run.jobsExecutorWithOverrides"
  member   = google_service_account.workflow.member
}

resource "google_artifact_registry_repository_iam_member" "images" {
  for_each = {
    launcher = google_service_account.launcher.member
    worker   = google_service_account.worker.member
  }
  repository = google_artifact_registry_repository.images.name
  location   = var.region
  role       = "roles/artifactregistry.reader"
  member     = each.value
}

# Workers have addresses of the subnetwork only.
resource "google_compute_subnetwork_iam_member" "worker_uses_subnetwork" {
  subnetwork = google_compute_subnetwork.bochner.name
  region     = var.region
  role       = "roles/compute.networkUser"
  member     = google_service_account.worker.member
}
