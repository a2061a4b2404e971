# The driver of a training runs as a job of Cloud Run: it waits for Dataflow and
# needs a small machine. A second try is the script's decision, by exit code.
resource "google_cloud_run_v2_job" "retrain" {
  name                = "bochner-retrain"
  location            = var.region
  deletion_protection = false

  template {
    template {
      service_account = google_service_account.launcher.email
      timeout         = "86400s"
      max_retries     = 0

      containers {
        image = var.image
        args  = ["train"]

        resources {
          limits = {
            cpu    = "1"
            memory = "2Gi"
          }
        }
        env {
          name  = "MODELS"
          value = "gs://${var.bucket}/models"
        }
        env {
          name  = "CONFIG"
          value = "/etc/bochner/train.yaml"
        }
        env {
          name  = "TEST"
          value = var.test
        }
        env {
          name  = "GATE"
          value = var.gate
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
            path    = "train.yaml"
            mode    = 292
          }
        }
      }
    }
  }

  depends_on = [google_secret_manager_secret_version.config, google_secret_manager_secret_iam_member.launcher_reads_config]
}

# The flags of the training. They are no secret, but that is how Cloud Run mounts a file.
resource "google_secret_manager_secret" "config" {
  secret_id = "bochner-train"
  replication {
    auto {}
  }
}

resource "google_secret_manager_secret_version" "config" {
  secret      = google_secret_manager_secret.config.id
  secret_data = replace(replace(replace(file("${path.module}/../train.yaml"), "BUCKET", var.bucket), "PROJECT", var.project), "europe-west4", var.region)
}

resource "google_secret_manager_secret_iam_member" "launcher_reads_config" {
  secret_id = google_secret_manager_secret.config.id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.launcher.member
}

resource "google_workflows_workflow" "retrain" {
  name            = "bochner-retrain"
  region          = var.region
  service_account = google_service_account.promoter.id
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
