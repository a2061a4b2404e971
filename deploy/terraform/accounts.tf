# Four accounts, each with what its part takes and no more: see the table in
# deploy/README.md. None has a key.

locals {
  # Only the promoter may write the pointer to the current model.
  pointer     = "projects/_/buckets/${var.bucket}/objects/models/current"
  not_pointer = "resource.name != \"${local.pointer}\""
}

resource "google_service_account" "launcher" {
  account_id   = "bochner-launcher"
  display_name = "bochner: submits jobs and publishes models"
}

resource "google_service_account" "worker" {
  account_id   = "bochner-worker"
  display_name = "bochner: reads data and writes state on Dataflow's workers"
}

resource "google_service_account" "promoter" {
  account_id   = "bochner-promoter"
  display_name = "bochner: runs the retraining and moves the pointer to the current model"
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
    "roles/run.viewer"         = google_service_account.promoter.member # to wait for an execution
    "roles/logging.logWriter"  = google_service_account.promoter.member
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

resource "google_storage_bucket_iam_member" "models" {
  for_each = {
    launcher = google_service_account.launcher.member
    worker   = google_service_account.worker.member
  }
  bucket = google_storage_bucket.bochner.name
  role   = "roles/storage.objectUser"
  member = each.value
  condition {
    title      = "all but the pointer to the current model"
    expression = local.not_pointer
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

resource "google_storage_bucket_iam_member" "promoter_pointer" {
  bucket = google_storage_bucket.bochner.name
  role   = "roles/storage.objectUser"
  member = google_service_account.promoter.member
  condition {
    title      = "the pointer to the current model"
    expression = "resource.name == \"${local.pointer}\""
  }
}

# To see that what it points to is a model.
resource "google_storage_bucket_iam_member" "promoter_reads" {
  bucket = google_storage_bucket.bochner.name
  role   = "roles/storage.objectViewer"
  member = google_service_account.promoter.member
}

resource "google_cloud_run_v2_job_iam_member" "promoter_runs_training" {
  name     = google_cloud_run_v2_job.retrain.name
  location = var.region
  role     = "roles/run.jobsExecutorWithOverrides"
  member   = google_service_account.promoter.member
}
