package prepare

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/features/maxout"
	"github.com/bochner-ml/bochner/features/skeleton"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
)

func TestKernelIsCompleteBeforeAJobBegins(t *testing.T) {
	var none options.Prepare
	if err := LoadKernel(t.Context(), &none); err != nil ||
		*none.Kernel.(*fourier.GaussianOptions) != (fourier.GaussianOptions{}) {
		t.Errorf("without a kernel it is %+v, %v", none.Kernel, err)
	}
	given := &maxout.Options{Q: 3}
	o := options.Prepare{Kernel: given}
	if err := LoadKernel(t.Context(), &o); err != nil || o.Kernel != kernel.Options(given) {
		t.Errorf("%+v, %v", o.Kernel, err)
	}
	name := jobtest.Write(t, t.TempDir(), "s.yaml",
		"columns: 2\nspace: {circle: 2}\nlayers:\n  - {full: true, activation: {exponential: 1}}\n")
	o = options.Prepare{Kernel: &skeleton.Options{File: name}}
	if err := LoadKernel(t.Context(), &o); err != nil || o.Kernel.(*skeleton.Options).Skeleton.Columns != 2 {
		t.Errorf("%+v, %v", o.Kernel, err)
	}
	o = options.Prepare{Kernel: &skeleton.Options{File: name + "s"}}
	if err := LoadKernel(t.Context(), &o); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	o = options.Prepare{Kernel: &skeleton.Options{File: jobtest.Write(t, t.TempDir(), "bad.yaml", "layers: 7")}}
	if err := LoadKernel(t.Context(), &o); exit.CodeOf(err) != exit.CodeUsage {
		t.Error(err)
	}
}

// Jobs other than train and align reject learned kernels without a directory of frequencies.
func TestLearnedKernelsRequireFrequencies(t *testing.T) {
	for _, k := range []kernel.Options{&learned.Options{}, &learned.HarmonicOptions{}} {
		if err := Validate(options.Prepare{Kernel: k}); exit.CodeOf(err) != exit.CodeUsage {
			t.Errorf("%T: %v", k, err)
		}
	}
	for _, k := range []kernel.Options{&learned.Options{Frequencies: "dir"},
		&learned.HarmonicOptions{Frequencies: "dir"}} {
		if err := Validate(options.Prepare{Kernel: k}); err != nil {
			t.Errorf("%T: %v", k, err)
		}
		if err := Validate(options.Prepare{Kernel: k, Scale: []string{"standard"}}); exit.CodeOf(err) != exit.CodeUsage {
			t.Errorf("%T with a scale: %v", k, err)
		}
	}
}
