#!/bin/sh
# Builds the image of the flex template and its description in storage.
#   PROJECT, REGION  of Google Cloud
#   REPOSITORY       of Artifact Registry, such as europe-west4-docker.pkg.dev/PROJECT/bochner
#   BUCKET           for the description
#   TAG              of the image; the commit
set -eu
: "${PROJECT:?}" "${REGION:?}" "${REPOSITORY:?}" "${BUCKET:?}"
cd "$(dirname "$0")/../.."
image=$REPOSITORY/bochner-template:${TAG:-$(git rev-parse --short HEAD)}
docker build --platform linux/amd64 -f deploy/Dockerfile --target template -t "$image" .
docker push "$image"
gcloud dataflow flex-template build "gs://$BUCKET/templates/bochner.json" \
	--project "$PROJECT" \
	--image "$image" \
	--sdk-language GO \
	--metadata-file deploy/dataflow/metadata.json
echo "gs://$BUCKET/templates/bochner.json"
