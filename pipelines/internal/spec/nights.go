package spec

import (
	"fmt"
	"strconv"
	"strings"
)

// Window says on how many days of data a model is trained. Its text is 90d, "" for all days, or auto, with
// which the number is chosen every night; auto up to 365d bounds it.
type Window struct {
	Auto bool
	Days int // number of days up to the day of the run; 0 means all
}

// MarshalText returns a number of days, auto, or "" for all days.
func (w Window) MarshalText() ([]byte, error) {
	days := ""
	if w.Days > 0 {
		days = fmt.Sprintf("%dd", w.Days)
	}
	if w.Auto {
		days = strings.TrimSuffix("auto up to "+days, " up to ")
	}
	return []byte(days), nil
}

// UnmarshalText reads what MarshalText writes.
func (w *Window) UnmarshalText(text []byte) error {
	days, auto := strings.CutPrefix(string(text), "auto")
	*w = Window{Auto: auto}
	if days == "" {
		return nil
	}
	days, bound := strings.CutPrefix(days, " up to ")
	n, err := strconv.Atoi(strings.TrimSuffix(days, "d"))
	w.Days = n
	if err != nil || n < 1 || auto != bound {
		return fmt.Errorf("%q is not a number of days such as 90d, auto, or auto up to 365d", text)
	}
	return nil
}

// KeptSums says which sums a retraining keeps. Its text is all, the zero value; needed; or 90d, for needed sums
// and all of the last 90 days.
type KeptSums struct {
	Prune bool // remove sums that are not needed
	Days  int  // but keep all of this many last days
}

// MarshalText returns all, needed or a number of days, such as 90d.
func (k KeptSums) MarshalText() ([]byte, error) {
	switch {
	case !k.Prune:
		return []byte("all"), nil
	case k.Days == 0:
		return []byte("needed"), nil
	}
	return fmt.Appendf(nil, "%dd", k.Days), nil
}

// UnmarshalText reads what MarshalText writes.
func (k *KeptSums) UnmarshalText(text []byte) error {
	days, err := strconv.Atoi(strings.TrimSuffix(string(text), "d"))
	switch {
	case string(text) == "all":
		*k = KeptSums{}
	case string(text) == "needed":
		*k = KeptSums{Prune: true}
	case err != nil || days < 1:
		return fmt.Errorf("%q is not all, needed or a number of days such as 90d", text)
	default:
		*k = KeptSums{true, days}
	}
	return nil
}
