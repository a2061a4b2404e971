# The driver of a retraining runs as a job of Cloud Run: it waits for Dataflow and needs a
# small machine. The workflow names the day. A second try is made where the exit code says
# that it can help: the job runs again, finds what is done, and ends with the same code if
# the outcome is final.
resource "google_cloud_run_v2_job" "retrain" {
  name                = "bochner-retrain"
  location            = var.region
  deletion_protection = false

  template {
    template {
      service_account = google_service_account.launcher.email
      timeout         = "28800s"
      max_retries     = 2

      containers {
        image = var.image
        args  = ["retrain", "--config=/etc/bochner/retrain.yaml", "--day=yesterday"]

        resources {
          limits = {
            cpu    = "1"
            memory = "2Gi"
          }
        }
        volume_mounts {
          name       = "config"
          mount_path = "/etc/bochner"
        }
      }

      volumes {
        name = "config"
        secret {
          secret       = google_secret_manager_secret.config.secret_id
          default_mode = 292
          items {
            version = "latest"
            path    = "retrain.yaml"
            mode    = 292
          }
        }
      }
    }
  }

  depends_on = [google_project_service.api, google_secret_manager_secret_version.config, google_secret_manager_secret_iam_member.launcher_reads_config]
}

# The flags of the retraining. They are no secret, but that is how Cloud Run mounts a file.
resource "google_secret_manager_secret" "config" {
  secret_id = "bochner-retrain"
  replication {
    auto {}
  }
}

resource "google_secret_manager_secret_version" "config" {
  secret      = google_secret_manager_secret.config.id
  secret_data = replace(replace(replace(file("${path.module}/../retrain.yaml"), "BUCKET", var.bucket), "PROJECT", var.project), "europe-west4", var.region)
}

resource "google_secret_manager_secret_iam_member" "launcher_reads_config" {
  secret_id = google_secret_manager_secret.config.id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.launcher.member
}

resource "google_workflows_workflow" "retrain" {
  name            = "bochner-retrain"
  region          = var.region
  service_account = google_service_account.workflow.id
  source_contents = file("${path.module}/../workflows/retrain.yaml")
  user_env_vars = {
    BUCKET = var.bucket
    REGION = var.region
    JOB    = google_cloud_run_v2_job.retrain.name
  }
}

resource "google_cloud_scheduler_job" "retrain" {
  name             = "bochner-retrain"
  region           = var.region
  schedule         = var.schedule
  time_zone        = "Etc/UTC"
  attempt_deadline = "60s"

  http_target {
    http_method = "POST"
    uri         = "https://workflowexecutions.googleapis.com/v1/${google_workflows_workflow.retrain.id}/executions"
    body        = base64encode(jsonencode({ argument = "{}" }))
    headers     = { "Content-Type" = "application/json" }

    oauth_token {
      service_account_email = google_service_account.scheduler.email
    }
  }
}
