package command

import (
	"reflect"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// jobDefaults holds the options with which a Go program starts, for each command: those of a constructor, or the
// zero value.
var jobDefaults = map[string]any{
	"align": new(options.NewAlign()), "ask": new(options.NewAsk()), "embed": new(options.NewEmbed()),
	"explain": new(options.NewExplain()), "featurize": new(options.NewFeaturize()),
	"generate": new(options.NewGenerate()), "kernel": new(options.NewCompareKernel()),
	"predict": new(options.NewPredictStream()), "retrain": new(options.NewRetrain()), "serve": new(options.NewServe()),
	"test": new(options.NewTwoSample()), "train": new(options.NewTrain()),
	"compare": &options.CompareModels{}, "evaluate": &options.Evaluate{}, "export": &options.Export{},
	"fit": &options.Fit{}, "forget": &options.Forget{}, "inspect": &options.InspectData{}, "prune": &options.PruneSums{},
	"report": &options.Report{}, "sum": &options.Sum{}, "verify": &options.VerifyOptimum{},
}

// zeroIsDefault lists the options whose zero value means the default of the flag.
var zeroIsDefault = []string{"calibrate", "format", "label_case", "lambda", "report", "runner"}

func TestGoDefaultsAreFlagDefaults(t *testing.T) {
	for _, cmd := range newRoot().Commands() {
		o := jobDefaults[cmd.Name()]
		if o == nil {
			if !slices.Contains([]string{"completion", "help", "models", "runner", "stream", "version"}, cmd.Name()) {
				t.Errorf("no Go options for %s", cmd.Name())
			}
			continue
		}
		before := reflect.New(reflect.TypeOf(o).Elem()).Elem()
		before.Set(reflect.ValueOf(o).Elem())
		isZero := before.IsZero()
		list := option.List(o) // sets options that are zero to the defaults in tags
		if !isZero && !reflect.DeepEqual(before.Interface(), reflect.ValueOf(o).Elem().Interface()) {
			t.Errorf("%s: the constructor leaves options without their default", cmd.Name())
		}
		for _, o := range list {
			f := cmd.Flags().Lookup(o.Name)
			if f == nil {
				continue // the flag has another name, as sum --of
			}
			if isZero && !slices.Contains([]string{"", "0", "0s", "false"}, o.Default) && !slices.Contains(zeroIsDefault, o.Name) {
				t.Errorf("%s --%s has the default %s, and there is no constructor", cmd.Name(), o.Name, o.Default)
			}
			if optionOf(f).Default != o.Default && !(cmd.Name() == "predict" && o.Name == "max_bad_fraction") { // 1 with --stream only
				t.Errorf("%s --%s has the default %q, in Go %q", cmd.Name(), o.Name, optionOf(f).Default, o.Default)
			}
		}
	}
	if train, align := options.NewTrain().Learned, options.NewAlign().Learned; !reflect.DeepEqual(train, align) {
		t.Errorf("train learns features with %+v, align with %+v", train, align) // train leaves out their flags of rounds
	}
}
