package paired

import (
	"strings"
	"testing"
)

func TestParseConditionReadsText(t *testing.T) {
	for text, want := range map[string]Condition{
		"not worse by 0.2 % at 95 %":        {Amount: 0.2, Percent: true, Confidence: 95},
		"  error not worse by 0.2% at 95%":  {Metric: Error, Amount: 0.2, Percent: true, Confidence: 95},
		"better at 99.9 %":                  {Better: true, Confidence: 99.9},
		"log_loss better by 1 % at 90 %":    {Metric: LogLoss, Better: true, Amount: 1, Percent: true, Confidence: 90},
		"mae not worse by 12.5 at 95 %":     {Metric: MAE, Amount: 12.5, Confidence: 95},
		"rmse\tnot  worse by 200 % at 50 %": {Metric: RMSE, Amount: 200, Percent: true, Confidence: 50},
		"not worse by 0.002 at 95 %":        {Amount: 0.002, Confidence: 95},
		"brier better by 0.01 at 97.5 %":    {Metric: Brier, Better: true, Amount: 0.01, Confidence: 97.5},
	} {
		c, err := ParseCondition(text)
		if err != nil || c != want {
			t.Errorf("%q: %+v, %v, want %+v", text, c, err, want)
		}
		if again, err := ParseCondition(c.String()); err != nil || again != c {
			t.Errorf("%q: %q is read as %+v, %v", text, c.String(), again, err)
		}
	}
	for text, word := range map[string]string{
		"": `at the end`, "worse by 1 % at 95 %": `at "worse"`, "not better at 95 %": `at "not"`,
		"Better at 95 %":          `at "Better"`,
		"accuracy better at 95 %": `at "accuracy"`, "better by at 95 %": `"at" is not a number`,
		"better 1 % at 95 %":     `want "at"`,
		"better by -1 % at 95 %": `"-1"`, "better by 1e3 % at 95 %": `"1e3"`, "better by .5 % at 95 %": `".5"`,
		"better by 1. % at 95 %":  `"1."`,
		"better by 0,2 % at 95 %": `"0,2"`, "better by NaN % at 95 %": `"NaN"`,
		"not worse by 0 % at 95 %": `says no more than "better"`,
		"better at 95":             "want % and the end at the end", "better at 95 % or so": `at "or"`,
		"better at 100 %": "50 to below 100", "better at 5 %": "50 to below 100",
		"better at % 95": `"%" is not a number`, "better at": "a number at the end",
		"error not worse by 100 % at 95 %": "too much", "error not worse by 2 at 95 %": "too much",
		"rmse not worse by 2 at 95 %": "must be in percent", "better by 150 % at 95 %": "too much",
		"better at 95 %%": `at "%"`,
		"not worse by 99999999999999999999999 % at 95 %": "not a number",
	} {
		if c, err := ParseCondition(text); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: %+v, %v; want %q", text, c, err, word)
		}
	}
}

func FuzzParseCondition(f *testing.F) {
	for _, s := range []string{"not worse by 0.2 % at 95 %", "log_loss better by 0.01 at 99.5%", "better at 50 %", "%",
		"rmse not worse by 3% at 90 %"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCondition(text)
		if err != nil {
			return
		}
		if c.Amount < 0 || c.Confidence < 50 || c.Confidence >= 100 || !c.Better && c.Amount == 0 {
			t.Errorf("%q: %+v", text, c)
		}
		if again, err := ParseCondition(c.String()); err != nil || again != c {
			t.Errorf("%q: %q is read as %+v, %v", text, c.String(), again, err)
		}
	})
}
