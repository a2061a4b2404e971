# Workers of Dataflow have private addresses only, and reach storage through the subnetwork.
resource "google_compute_network" "bochner" {
  name                    = "bochner"
  auto_create_subnetworks = false

  depends_on = [google_project_service.api]
}

resource "google_compute_subnetwork" "bochner" {
  name                     = "bochner"
  region                   = var.region
  network                  = google_compute_network.bochner.id
  ip_cidr_range            = var.addresses
  private_ip_google_access = true
}

# Workers talk to each other on these ports (shuffle and streaming), and to nobody else.
resource "google_compute_firewall" "workers" {
  name        = "bochner-dataflow"
  network     = google_compute_network.bochner.id
  direction   = "INGRESS"
  source_tags = ["dataflow"]
  target_tags = ["dataflow"]

  allow {
    protocol = "tcp"
    ports    = ["12345-12346"]
  }
}
