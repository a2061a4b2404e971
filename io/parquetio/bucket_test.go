package parquetio

import (
	"context"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/datasettest"
	"github.com/bochner-ml/bochner/internal/testing/gcstest"
	"github.com/bochner-ml/bochner/io/dataset"
	_ "github.com/bochner-ml/bochner/io/storage/s3"
)

func TestFilesInBucketsAreReadByRanges(t *testing.T) {
	s := gcstest.StartS3(t)
	rows, _ := samples(2000)
	file := write(t, rows, 500)
	s.Fill("data.parquet", file)
	o := dataset.Options{Columns: []string{"double", "level", "number"}, Label: "truth"}
	local, err := open(t, o, file)
	if err != nil {
		t.Fatal(err)
	}
	o.Files = []string{"s3://" + gcstest.Bucket + "/data.parquet"}
	d, err := dataset.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := datasettest.Read(t, local, 1)
	before := s.Requests("read")
	got, _ := datasettest.Read(t, d, 1)
	if !slices.Equal(got, want) {
		t.Errorf("%d rows, %d on disk", len(got), len(want))
	}
	// A shard reads the footer, and its columns with at most two requests each.
	if n := s.Requests("read") - before; n < 2*4 || n > 4*(1+2*4) {
		t.Errorf("%d requests for 4 row groups of 4 columns", n)
	}
}
