// Command gcs serves a fake Google Cloud Storage on this machine, in memory, to try gs:// without an account:
//
//	go run ./local/gcs -listen localhost:9023
//	bochner train --storage_emulator localhost:9023 --data gs://bucket/train.csv …
//
// It has two buckets: bucket, and denied, to which nobody has access. With -many N the first has N small
// tables. With -faults 0.2 a fifth of the requests fail; a POST of JSON to /faults changes this
// (gcstest.Rules).
package main

import (
	"os"

	"github.com/bochner-ml/bochner/internal/testing/gcstest"
)

func main() { gcstest.Main(os.Args[1:]) }
