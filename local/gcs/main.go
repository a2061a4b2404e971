// Command gcs serves a fake Google Cloud Storage on this machine, in memory, for
// trying gs:// without an account:
//
//	go run ./local/gcs -listen localhost:9023
//	bochner train --storage_emulator localhost:9023 --data gs://bucket/train.csv …
//
// It has one bucket, bucket, and one that nobody has rights to, denied. With -many N the bucket
// begins with N small tables. With -faults 0.2 a fifth of the requests fail; a POST of JSON to
// /faults changes that, as in gcstest.Rules.
package main

import (
	"os"

	"github.com/bochner-ml/bochner/internal/testing/gcstest"
)

func main() { gcstest.Main(os.Args[1:]) }
