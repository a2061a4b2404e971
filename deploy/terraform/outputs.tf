output "champion" {
  description = "The model in use: --model."
  value       = "gs://${google_storage_bucket.bochner.name}/models@champion"
}

output "images" {
  description = "Where images are pushed."
  value       = "${var.region}-docker.pkg.dev/${var.project}/${google_artifact_registry_repository.images.repository_id}"
}

output "subnetwork" {
  description = "Subnetwork of Dataflow's workers: --subnetwork."
  value       = "regions/${var.region}/subnetworks/${google_compute_subnetwork.bochner.name}"
}

output "launcher" {
  description = "Account that submits jobs."
  value       = google_service_account.launcher.email
}

output "worker" {
  description = "Account of Dataflow's workers: --service_account_email."
  value       = google_service_account.worker.email
}
