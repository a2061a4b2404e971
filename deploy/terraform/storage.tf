# Data, sums, models and the registry of models. A model is never written to again, so
# versions are kept for what is deleted by mistake and for the aliases.
resource "google_storage_bucket" "bochner" {
  depends_on = [google_project_service.api]

  name                        = var.bucket
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"

  versioning {
    enabled = true
  }

  lifecycle_rule {
    condition {
      days_since_noncurrent_time = 90
      with_state                 = "ARCHIVED"
    }
    action {
      type = "Delete"
    }
  }

  # Claims, locks and work directories, which a job needs while it runs, have names that begin with
  # a dot. Claims and locks get a new version every 4 seconds (a stream writes 1.9 million in 90
  # days). Old versions of all of these are deleted after a day, and so are old versions of sums,
  # which are large and can be made again from the data. A prefix has no wildcards: each directory
  # that flags name needs its own, so add the directories of other --models, --model, --out and
  # --work. Days are counted in full, and deletions follow within a day or so. Deleted objects can
  # be restored for the time of the bucket's soft-delete policy, 7 days by default.
  lifecycle_rule {
    condition {
      days_since_noncurrent_time = 1
      with_state                 = "ARCHIVED"
      matches_prefix             = [".", "models/.", "predictions/.", "predictions-dead/.", "sums/"]
    }
    action {
      type = "Delete"
    }
  }

  # Work directories of jobs that were never finished.
  lifecycle_rule {
    condition {
      age            = 14
      matches_prefix = ["models/.bochner-"]
    }
    action {
      type = "Delete"
    }
  }
}

# What is staged and temporary: nothing in it outlives a job.
resource "google_storage_bucket" "temp" {
  name                        = "${var.bucket}-temp"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"

  soft_delete_policy {
    retention_duration_seconds = 0
  }

  lifecycle_rule {
    condition {
      age = 7
    }
    action {
      type = "Delete"
    }
  }
}
