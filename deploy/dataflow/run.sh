#!/bin/sh
# Trains from the flex template, on one machine. Takes PROJECT, REGION and BUCKET.
set -eu
: "${PROJECT:?}" "${REGION:?}" "${BUCKET:?}"
gcloud dataflow flex-template run "bochner-$(date -u +%Y%m%d-%H%M%S)" \
	--project "$PROJECT" --region "$REGION" \
	--template-file-gcs-location "gs://$BUCKET/templates/bochner.json" \
	--service-account-email "bochner-worker@$PROJECT.iam.gserviceaccount.com" \
	--worker-machine-type n2-highmem-8 --num-workers 1 --max-workers 1 \
	--staging-location "gs://$BUCKET-temp/staging" --temp-location "gs://$BUCKET-temp/temp" \
	--parameters job=train,label=y \
	--parameters "data=gs://$BUCKET/data/train-*.csv" \
	--parameters "model=gs://$BUCKET/models/$(date -u +%Y-%m-%d)"
