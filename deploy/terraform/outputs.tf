output "current" {
  description = "File that names the current model."
  value       = "gs://${google_storage_bucket.bochner.name}/models/current"
}

output "launcher" {
  description = "Account that submits jobs."
  value       = google_service_account.launcher.email
}

output "worker" {
  description = "Account of Dataflow's workers: --service_account_email."
  value       = google_service_account.worker.email
}
