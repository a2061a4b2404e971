package align

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/io/safetensors"
	"github.com/bochner-ml/bochner/models/loss"
)

// The phases of the game, as states name them; see Learner. In phase rest the game is over.
const (
	begin  = "begin"
	narrow = "narrow"
	search = "search"
	score  = "score"
	ascend = "ascend"
	rest   = "rest"
)

// censuses is the number of censuses in a projection. Three narrow a bracket to 10⁻⁹ of its width,
// cells⁻³.
const censuses = 3

// Kinds of encoded records.
const (
	stateKind   = "align state 1"
	partialKind = "align found 1"
	dualKind    = "align dual weights 1"
)

// state is the state between two rounds of package iterative, for K weightings.
type state struct {
	phase  string // phase of the round that begins with this state
	round  int    // its number in package iterative
	done   int    // censuses of this projection so far
	game   game
	report Report // this round of the game, in the phases score and ascend
	last   Report // the last complete round of the game

	w        []float32 // T×d: all frequencies found so far, in turns
	now      int       // how many of them, at the end, the last search found
	u        []float32 // K×2·now: direction of the step, for ascend; see game.answer
	brackets []float64 // K×2: intervals that hold the multipliers of the projection
	mu       []float64 // K: the multipliers, for search
	alpha    []float64 // K×rows of the sample: dual weights of the sample's rows
}

// setBrackets uses one bracket for all weightings.
func (s *state) setBrackets(in bracket) {
	for k := range len(s.brackets) / 2 {
		s.brackets[2*k], s.brackets[2*k+1] = in.Lo, in.Hi
	}
}

// bracket returns the bracket of weighting k.
func (s *state) bracket(k int) bracket { return bracket{s.brackets[2*k], s.brackets[2*k+1]} }

// current returns the frequencies of this round of the game (now×d).
func (s *state) current(d int) []float32 { return s.w[len(s.w)-s.now*d:] }

// text returns v as JSON. It panics if v has none.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("align: a state without JSON: " + err.Error())
	}
	return string(b)
}

// encode returns the state as a record of package loss, with the options of l.
func (s *state) encode(l *Learner) []byte {
	k := l.weightings()
	return loss.EncodeRecord(stateKind, map[string]string{
		"options": text(l), "phase": s.phase, "round": strconv.Itoa(s.round), "done": strconv.Itoa(s.done),
		"now": strconv.Itoa(s.now), "game": text(s.game), "report": text(s.report), "last": text(s.last),
	},
		safetensors.Of("w", s.w, len(s.w)/l.Dim, l.Dim),
		safetensors.Of("u", s.u, k, len(s.u)/k),
		safetensors.Of("brackets", s.brackets, k, 2),
		safetensors.Of("mu", s.mu, k),
		safetensors.Of("alpha", s.alpha, k, len(l.Class)))
}

// decodeState reads what state.encode wrote. It returns an error if the options were others, or if
// anything is invalid.
func decodeState(l *Learner, data []byte) (*state, error) {
	r := loss.OpenRecord(data, stateKind)
	if r.Err != nil {
		return nil, r.Err
	}
	if have, want := r.Meta["options"], text(l); have != want {
		return nil, fmt.Errorf("was made with other options: %.400s, want %s", have, want)
	}
	s := &state{phase: r.Meta["phase"]}
	if !slices.Contains([]string{begin, narrow, search, score, ascend, rest}, s.phase) {
		return nil, fmt.Errorf("phase %.20q", s.phase)
	}
	for name, v := range map[string]*int{"round": &s.round, "done": &s.done, "now": &s.now} {
		n, err := strconv.Atoi(r.Meta[name])
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%s %.20q", name, r.Meta[name])
		}
		*v = n
	}
	for name, v := range map[string]any{"game": &s.game, "report": &s.report, "last": &s.last} {
		if err := json.Unmarshal([]byte(r.Meta[name]), v); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	k := l.weightings()
	s.w = loss.Array[float32](r, "w", -1, l.Dim)
	s.brackets = loss.Array[float64](r, "brackets", k, 2)
	s.mu = loss.Array[float64](r, "mu", k)
	s.alpha = loss.Array[float64](r, "alpha", k, len(l.Class))
	width := 0
	if s.phase == ascend {
		width = 2 * s.now
	}
	s.u = loss.Array[float32](r, "u", k, width)
	if r.Err != nil {
		return nil, r.Err
	}
	learned := len(s.w) / l.Dim
	switch current := s.phase == score || s.phase == ascend; {
	case s.game.K != k || s.game.N < 0 || s.phase != begin && s.game.N == 0:
		return nil, fmt.Errorf("%d rows with %d weights each", s.game.N, s.game.K)
	case s.now > learned || current && s.now == 0 || learned > l.Frequencies ||
		s.phase == search && learned == l.Frequencies:
		return nil, fmt.Errorf("phase %s with %d new frequencies of %d", s.phase, s.now, learned)
	case s.game.Rounds < 0 || s.game.Rounds >= maxRounds:
		return nil, fmt.Errorf("%d rounds of the game", s.game.Rounds)
	}
	for i := range k {
		if in := s.bracket(i); !(in.Lo < in.Hi) {
			return nil, fmt.Errorf("bracket %v to %v", in.Lo, in.Hi)
		}
	}
	return s, nil
}

// sample returns the dual weights of the sample's rows. They share memory with s.alpha.
func (s *state) sample(l *Learner) *Dual {
	d := newDual(l.Class, l.Classes, 0)
	d.Alpha = s.alpha
	return d
}

// encodeDual returns the dual weights of a partition's rows and their classes as a record; nil
// without rows.
func encodeDual(d *Dual, class []int32) []byte {
	if d.N == 0 {
		return nil
	}
	return loss.EncodeRecord(dualKind, nil, safetensors.Of("alpha", d.Alpha, d.K, d.N),
		safetensors.Of("class", class, d.N))
}

// decodeDual reads what encodeDual wrote, and returns the dual weights and the classes.
func decodeDual(l *Learner, data []byte) (*Dual, []int32, error) {
	if data == nil {
		return newDual(nil, l.Classes, 0), nil, nil
	}
	r := loss.OpenRecord(data, dualKind)
	class := loss.Array[int32](r, "class", -1)
	alpha := loss.Array[float64](r, "alpha", l.weightings(), len(class))
	if r.Err != nil {
		return nil, nil, r.Err
	}
	for i, c := range class {
		if c < 0 || int(c) >= l.Classes {
			return nil, nil, fmt.Errorf("row %d: class %d; have %d", i, c, l.Classes)
		}
	}
	d := newDual(class, l.Classes, 0)
	d.Alpha = alpha
	return d, class, nil
}

// partial is the partial result of a worker. Besides rows, only the fields of its phase are set.
type partial struct {
	rows   int64         // rows of the partition, in every phase
	number float64       // score: Σ_k Σ_i α_ki; ascend: Σ_k Σ_i g_ki², for the gradient g
	sums   []float64     // score: K×2·now sums Σ_i α_i y_i φ(x_i)
	census []census      // begin, narrow, ascend: one for each of K weightings
	chains *searchResult // search: the worker's share of the chains
}

// encode returns the partial result as a record, for rows of length d.
func (f *partial) encode(d int) []byte {
	c := f.chains
	if c == nil {
		c = new(searchResult)
	}
	chain := make([]int64, len(c.Chain))
	for i, v := range c.Chain {
		chain[i] = int64(v)
	}
	const width = 3*(cells+1) + 1
	numbers := make([]float64, 0, len(f.census)*width)
	for i := range f.census {
		// Numbers of rows are below 2⁵³, so a float64 holds them exactly.
		c := &f.census[i]
		numbers = append(numbers, float64(c.Positive))
		for j := range c.Net {
			numbers = append(numbers, float64(c.Net[j]), c.Sum[j], float64(c.Ends[j]))
		}
	}
	return loss.EncodeRecord(partialKind, nil,
		safetensors.Of("rows", []int64{f.rows}, 1),
		safetensors.Of("number", []float64{f.number}, 1),
		safetensors.Of("sums", f.sums, len(f.sums)),
		safetensors.Of("census", numbers, len(f.census), width),
		safetensors.Of("chain", chain, len(chain)),
		safetensors.Of("v", c.V, len(c.V)),
		safetensors.Of("w", c.W, len(c.V), d),
		safetensors.Of("heat", []float64{c.Zeta, c.Xi}, 2))
}

// decodePartial reads what partial.encode wrote. It returns an error unless the record has the
// given numbers of sums, censuses and chains, for rows of length d.
func decodePartial(data []byte, d, sums, counts, chains int) (*partial, error) {
	r := loss.OpenRecord(data, partialKind)
	rows, number := loss.Array[int64](r, "rows", 1), loss.Array[float64](r, "number", 1)
	f := &partial{sums: loss.Array[float64](r, "sums", sums), chains: new(searchResult)}
	const width = 3*(cells+1) + 1
	numbers := loss.Array[float64](r, "census", counts, width)
	chain := loss.Array[int64](r, "chain", chains)
	f.chains.V = loss.Array[float64](r, "v", chains)
	f.chains.W = loss.Array[float32](r, "w", chains, d)
	heat := loss.Array[float64](r, "heat", 2)
	if r.Err != nil {
		return nil, r.Err
	}
	f.rows, f.number = rows[0], number[0]
	f.chains.Zeta, f.chains.Xi = heat[0], heat[1]
	for _, c := range chain {
		f.chains.Chain = append(f.chains.Chain, int(c))
	}
	for len(numbers) > 0 {
		c := census{Positive: int64(numbers[0])}
		for j := range c.Net {
			c.Net[j], c.Sum[j], c.Ends[j] = int64(numbers[1+3*j]), numbers[2+3*j], int64(numbers[3+3*j])
		}
		f.census = append(f.census, c)
		numbers = numbers[width:]
	}
	return f, nil
}
