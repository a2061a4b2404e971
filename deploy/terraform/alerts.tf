resource "google_monitoring_notification_channel" "email" {
  display_name = "bochner"
  type         = "email"
  labels       = { email_address = var.alert_email }
}

# A retraining ends without a new model: the driver failed, or the gate was not passed.
resource "google_monitoring_alert_policy" "retrain_failed" {
  display_name          = "bochner: a retraining failed or its model did not pass the gate"
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
    content   = "The log of the Cloud Run job bochner-retrain ends with the reason. Exit codes: 2 flags, 3 data, 4 gate, 5 storage. The current model is as it was."
    mime_type = "text/markdown"
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
