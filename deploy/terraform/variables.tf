variable "project" {
  description = "Id of the Google Cloud project."
  type        = string
}

variable "region" {
  description = "Region of buckets, workers and schedule; the one of the data."
  type        = string
}

variable "bucket" {
  description = "Bucket to make for data and models; BUCKET-temp is also made, for temporary files."
  type        = string
}

variable "image" {
  description = "Image of the target bochner of deploy/Dockerfile, by digest."
  type        = string
  validation {
    condition     = can(regex("@sha256:[0-9a-f]{64}$", var.image))
    error_message = "Name the image by its digest, such as HOST/PROJECT/bochner/bochner@sha256:…: what is scheduled must not change by itself."
  }
}

variable "schedule" {
  description = "When to retrain for the day before, in the form of cron, in UTC."
  type        = string
  default     = "0 3 * * *"
}

variable "addresses" {
  description = "Private addresses of Dataflow's workers."
  type        = string
  default     = "10.200.0.0/20"
}

variable "alert_email" {
  description = "Who is told of a failure."
  type        = string
}

variable "longest_hours" {
  description = "Hours of a Dataflow job after which somebody is told."
  type        = number
  default     = 6
}
