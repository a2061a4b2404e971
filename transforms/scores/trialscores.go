package scores

import (
	"encoding/binary"
	"errors"

	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/models/score/logloss"
)

// TrialScores is the result of Trials. Its sums are exact.
type TrialScores struct {
	score.Trials
	Losses *logloss.Losses // nil unless Trials.LogLoss asks for them
}

// Merge adds the rows of u, counted for the same fits.
func (t *TrialScores) Merge(u *TrialScores) {
	t.Trials.Merge(&u.Trials)
	if t.Losses != nil {
		t.Losses.Merge(u.Losses)
	}
}

// MarshalBinary writes the length of the encoded trials (uint32, little-endian), the
// trials, and the log losses, if there are any.
func (t *TrialScores) MarshalBinary() ([]byte, error) {
	trials, err := t.Trials.MarshalBinary()
	if err != nil {
		return nil, err
	}
	b := append(binary.LittleEndian.AppendUint32(nil, uint32(len(trials))), trials...)
	if t.Losses == nil {
		return b, nil
	}
	losses, err := t.Losses.MarshalBinary()
	return append(b, losses...), err
}

// UnmarshalBinary reads what MarshalBinary writes.
func (t *TrialScores) UnmarshalBinary(b []byte) error {
	if len(b) < 4 || uint64(len(b)-4) < uint64(binary.LittleEndian.Uint32(b)) {
		return errors.New("scores: trial scores are damaged")
	}
	n := 4 + int(binary.LittleEndian.Uint32(b))
	var u TrialScores
	if err := u.Trials.UnmarshalBinary(b[4:n]); err != nil {
		return err
	}
	if n < len(b) {
		u.Losses = new(logloss.Losses)
		if err := u.Losses.UnmarshalBinary(b[n:]); err != nil {
			return err
		}
	}
	*t = u
	return nil
}
