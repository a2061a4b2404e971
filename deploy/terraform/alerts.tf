resource "google_monitoring_notification_channel" "email" {
  display_name = "bochner"
  type         = "email"
  labels       = { email_address = var.alert_email }
}

# A retraining ended without a new champion, for whichever reason: the error of the execution
# is the outcome.
resource "google_monitoring_alert_policy" "retrain_failed" {
  display_name          = "bochner: a retraining ended without a new champion"
  combiner              = "OR"
  notification_channels = [google_monitoring_notification_channel.email.id]

  conditions {
    display_name = "executions that failed"
    condition_threshold {
      filter          = "resource.type = \"workflows.googleapis.com/Workflow\" AND resource.label.workflow_id = \"${google_workflows_workflow.retrain.name}\" AND metric.type = \"workflows.googleapis.com/finished_execution_count\" AND metric.label.status = \"FAILED\""
      comparison      = "COMPARISON_GT"
      threshold_value = 0
      duration        = "0s"
      aggregations {
        alignment_period   = "300s"
        per_series_aligner = "ALIGN_DELTA"
      }
    }
  }

  documentation {
    content   = "The report is gs://${var.bucket}/models/reports/DAY.txt. The champion is as it was."
    mime_type = "text/markdown"
  }
}

# The same by exit code, from the log of the job: what the codes of bochner retrain mean, and
# what to do.
resource "google_monitoring_alert_policy" "retrain_outcome" {
  for_each = {
    "2"  = "the flags are wrong: look at retrain.yaml"
    "3"  = "data or a place cannot be used: fix it and run the workflow again for the same day"
    "4"  = "the new model did not pass its gates, and the champion stays"
    "6"  = "the champion is damaged: roll back, or restore it"
    "8"  = "the data of the day was refused, because it is unlike the data of other days: look at its source, or raise max_drift"
    "9"  = "there is no data of the day: once it has come, the next run takes it"
    "10" = "another run was at work or faster"
  }
  display_name          = "bochner retrain ended with code ${each.key}"
  combiner              = "OR"
  notification_channels = [google_monitoring_notification_channel.email.id]

  conditions {
    display_name = "exit code ${each.key}"
    condition_matched_log {
      filter = "resource.type = \"cloud_run_job\" AND resource.labels.job_name = \"${google_cloud_run_v2_job.retrain.name}\" AND textPayload = \"Container called exit(${each.key}).\""
    }
  }

  alert_strategy {
    notification_rate_limit {
      period = "3600s"
    }
  }

  documentation {
    content   = "${each.value}. The report is gs://${var.bucket}/models/reports/DAY.txt."
    mime_type = "text/markdown"
  }
}

# The schedule itself failed, so that no retraining began.
resource "google_monitoring_alert_policy" "retrain_not_started" {
  display_name          = "bochner: a retraining was not started"
  combiner              = "OR"
  notification_channels = [google_monitoring_notification_channel.email.id]

  conditions {
    display_name = "errors of the scheduler"
    condition_matched_log {
      filter = "resource.type = \"cloud_scheduler_job\" AND resource.labels.job_id = \"${google_cloud_scheduler_job.retrain.name}\" AND severity >= ERROR"
    }
  }

  alert_strategy {
    notification_rate_limit {
      period = "3600s"
    }
  }
}

# A job that runs for longer than any should costs until somebody looks.
resource "google_monitoring_alert_policy" "job_runs_long" {
  display_name          = "bochner: a Dataflow job runs for too long"
  combiner              = "OR"
  notification_channels = [google_monitoring_notification_channel.email.id]

  conditions {
    display_name = "elapsed time"
    condition_threshold {
      filter          = "resource.type = \"dataflow_job\" AND resource.label.job_name = starts_with(\"bochner-\") AND metric.type = \"dataflow.googleapis.com/job/elapsed_time\""
      comparison      = "COMPARISON_GT"
      threshold_value = var.longest_hours * 3600
      duration        = "0s"
      aggregations {
        alignment_period   = "300s"
        per_series_aligner = "ALIGN_MAX"
      }
    }
  }
}
