package plan

import (
	"bytes"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// WriteTo prints the plan for people.
func (p *Plan) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	p.writeData(&b)
	p.writeModel(&b)
	p.writeMemory(&b)
	if p.Cluster != nil {
		fmt.Fprintf(&b, "objects   %s at most are written into the work directory, which is removed at the end\n",
			report.Groups(p.Objects))
		p.Cluster.write(&b, p)
	}
	return b.WriteTo(w)
}

func (p *Plan) writeData(w io.Writer) {
	count := "an unknown number"
	if p.Rows > 0 {
		count = report.Groups(p.Rows)
		if !p.Exact {
			count = "about " + count
		}
	}
	fmt.Fprintf(w, "data      %s of %s, %s, in %s\n", report.Counted(p.Files, "file"), p.Format, report.Bytes(p.Bytes),
		report.Counted(p.Shards, "shard"))
	labels := ", " + report.Counted(p.Outputs, "output")
	switch {
	case p.Components > 0:
		labels = ""
	case !p.Regression:
		labels = ", " + report.Groups(int64(p.Outputs)) + " classes"
	}
	fmt.Fprintf(w, "rows      %s, of %s%s\n", count, report.Counted(p.Columns, "number"), labels)
	if !p.Whole {
		fmt.Fprintf(w, "          of which %s were previewed: others may have more columns and classes, and need more "+
			"memory\n", report.Groups(p.Seen))
	}
	fmt.Fprintf(w, "passes    %d over the data: %s\n", p.Passes, p.purposes)
}

func (p *Plan) writeModel(w io.Writer) {
	fmt.Fprintf(w, "model     %s, ", report.Counted(p.Features, "feature"))
	if p.Components > 0 {
		fmt.Fprintf(w, "%s\n", report.Counted(p.Components, "component"))
	} else {
		shared := ""
		if p.Partitions > 0 {
			shared = ", " + report.Counted(p.Partitions, "partition")
		}
		fmt.Fprintf(w, "%s of lambda, %s%s\n", report.Counted(p.Lambdas, "value"), report.Counted(p.Folds, "fold"), shared)
	}
	if p.Searched > 0 {
		fmt.Fprintf(w, "          of features that a search finds, on at most %s rows before\n", report.Groups(p.Searched))
	}
	if p.Unsearched != "" {
		fmt.Fprintf(w, "          of features that are not searched: %s\n", p.Unsearched)
	}
	if p.Refused != "" {
		fmt.Fprintf(w, "          %s\n", p.Refused)
	}
}

func (p *Plan) writeMemory(w io.Writer) {
	grows, where := "it does not grow with the rows", "in total"
	if p.Row > 0 {
		grows = fmt.Sprintf("it grows by %s per row, over all readers", report.Bytes(p.Row))
	}
	if p.Cluster != nil {
		where = "of the driver"
	}
	fmt.Fprintf(w, "memory    at most %s %s: %s in each of %s, %s to solve; %s\n",
		report.Bytes(p.Peak), where, report.Bytes(p.Worker), report.Counted(p.Readers, "reader"), report.Bytes(p.Solve), grows)
	stored, striped := "sums", "sums"
	if p.Memory.Carried > 0 {
		stored, striped = "rows", "features"
	}
	if p.Stripes > 1 {
		maps := "mapped once"
		if n := p.mappings(p.Stripes); n > 1 {
			maps = fmt.Sprintf("mapped %d times", n)
		}
		fmt.Fprintf(w, "stripes   %d, so that the %s fit: for them the rows are read %d times and %s\n", p.Stripes, striped,
			p.Stripes, maps)
	}
	for _, note := range []string{p.unbounded, p.memoryNote} {
		if note != "" {
			fmt.Fprintf(w, "          %s\n", note)
		}
	}
	if p.Rounds == 0 {
		fmt.Fprintf(w, "%s      %s at most in files of the work directory, %s shuffled\n", stored, report.Bytes(p.Stored),
			report.Bytes(p.Shuffle))
	}
}
