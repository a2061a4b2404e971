package dataset_test

import (
	"encoding/json"
	"reflect"
	"testing"

	. "github.com/bochner-ml/bochner/io/dataset"
)

func TestLabelTextIsNormalisedBeforeUse(t *testing.T) {
	name := write(t, t.TempDir(), "d.csv", []byte("x,y\n1,Yes.\n2, no.\n3,.\n4,YES\n"))
	for _, c := range []struct {
		text      LabelText
		want      []string
		unlabeled int64
	}{
		{LabelText{}, []string{"Yes.", "no.", ".", "YES"}, 0},
		{LabelText{Strip: ". "}, []string{"Yes", "no", "YES"}, 1}, // nothing is left of a point
		{LabelText{Strip: ".", Lower: true}, []string{"yes", "no", "yes"}, 1},
	} {
		d := open(t, Options{Files: []string{name}, Label: "y", LabelText: c.text})
		// As it travels to workers.
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		d = new(Dataset)
		if err := json.Unmarshal(text, d); err != nil {
			t.Fatal(err)
		}
		var got []string
		_, r := readShard(d, Whole(0), func(token []byte) (float64, string) {
			got = append(got, string(token))
			return 0, ""
		}, SkipRow)
		if !reflect.DeepEqual(got, c.want) || r.Unlabeled != c.unlabeled {
			t.Errorf("%+v: %q, report %+v", c.text, got, r)
		}
		// Other data of the model is read in the same way, unless options say otherwise.
		like := open(t, Options{Files: []string{name}, Label: "y", Like: &d.Schema})
		other := open(t, Options{Files: []string{name}, Label: "y", LabelText: LabelText{Strip: "!"}, Like: &d.Schema})
		if !reflect.DeepEqual(like.Schema.LabelText, d.Schema.LabelText) || other.Schema.LabelText.Strip != "!" {
			t.Errorf("%+v and %+v", like.Schema.LabelText, other.Schema.LabelText)
		}
	}
	if err := (Options{LabelText: LabelText{Strip: "\xff"}}).Validate(); err == nil {
		t.Error("characters that are not UTF-8")
	}
}
