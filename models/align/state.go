package align

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

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

// censuses is the number of censuses in a projection. Three narrow a bracket to 10⁻⁹ of its width, cells⁻³.
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

// text returns v as JSON. It panics if v has none.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("align: a state without JSON: " + err.Error())
	}
	return string(b)
}

// numbers and values are what the metadata of a state have besides the phase.
func (s *state) numbers() map[string]*int { return map[string]*int{"done": &s.done, "now": &s.now} }

func (s *state) values() map[string]any {
	return map[string]any{"game": &s.game, "report": &s.report, "last": &s.last}
}

// arrays reads or writes the arrays.
func (s *state) arrays(l *Learner, r *loss.Record) {
	k, width := weightings(l.Classes), 0
	if s.phase == ascend {
		width = 2 * s.now
	}
	loss.Array(r, "w", &s.w, -1, l.Dim)
	loss.Array(r, "u", &s.u, k, width)
	loss.Array(r, "brackets", &s.brackets, k, 2)
	loss.Array(r, "mu", &s.mu, k)
	loss.Array(r, "alpha", &s.alpha, k, len(l.Class))
}

// encode returns the state as a record of package loss, with the options of l.
func (s *state) encode(l *Learner) []byte {
	r := loss.NewState(stateKind, l, s.round)
	r.Meta["phase"] = s.phase
	for name, n := range s.numbers() {
		r.Meta[name] = strconv.Itoa(*n)
	}
	for name, v := range s.values() {
		r.Meta[name] = text(v)
	}
	s.arrays(l, r)
	return r.Encode()
}

// decodeState reads what state.encode wrote. It returns an error if the options were others, or if
// anything is invalid.
func decodeState(l *Learner, data []byte) (*state, error) {
	r, round := loss.OpenState(data, stateKind, l, math.MaxInt)
	if r.Err != nil {
		return nil, r.Err
	}
	s := &state{phase: r.Meta["phase"], round: round}
	if !slices.Contains([]string{begin, narrow, search, score, ascend, rest}, s.phase) {
		return nil, fmt.Errorf("phase %.20q", s.phase)
	}
	for name, v := range s.numbers() {
		n, err := strconv.Atoi(r.Meta[name])
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%s %.20q", name, r.Meta[name])
		}
		*v = n
	}
	for name, v := range s.values() {
		if err := json.Unmarshal([]byte(r.Meta[name]), v); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	s.arrays(l, r)
	if r.Err != nil {
		return nil, r.Err
	}
	k, learned := weightings(l.Classes), len(s.w)/l.Dim
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

// dualArrays reads or writes the dual weights of a partition's rows and their classes.
func dualArrays(l *Learner, r *loss.Record, alpha *[]float64, class *[]int32) {
	loss.Array(r, "alpha", alpha, weightings(l.Classes), -1)
	loss.Array(r, "class", class, len(*alpha)/weightings(l.Classes))
}

// encodeDual returns the dual weights of a partition's rows and their classes as a record; nil without rows.
func encodeDual(l *Learner, d *Dual, class []int32) []byte {
	if d.N == 0 {
		return nil
	}
	r := loss.NewRecord(dualKind)
	dualArrays(l, r, &d.Alpha, &class)
	return r.Encode()
}

// decodeDual reads what encodeDual wrote, and returns the dual weights and the classes.
func decodeDual(l *Learner, data []byte) (*Dual, []int32, error) {
	if data == nil {
		return newDual(nil, l.Classes, 0), nil, nil
	}
	var class []int32
	var alpha []float64
	r := loss.OpenRecord(data, dualKind)
	dualArrays(l, r, &alpha, &class)
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

// censusWidth is how many numbers encode a census.
const censusWidth = 3*(cells+1) + 1

// code reads or writes a partial result with these numbers of sums, censuses and chains, for rows of length d.
func (f *partial) code(r *loss.Record, d, sums, counts, chains int) {
	c, rows, number := f.chains, []int64{f.rows}, []float64{f.number}
	heat, numbers := []float64{c.Zeta, c.Xi}, make([]float64, 0, counts*censusWidth)
	for i := range f.census {
		// Numbers of rows are below 2⁵³, so a float64 holds them exactly.
		c := &f.census[i]
		numbers = append(numbers, float64(c.Positive))
		for j := range c.Net {
			numbers = append(numbers, float64(c.Net[j]), c.Sum[j], float64(c.Ends[j]))
		}
	}
	loss.Array(r, "rows", &rows, 1)
	loss.Array(r, "number", &number, 1)
	loss.Array(r, "sums", &f.sums, sums)
	loss.Array(r, "census", &numbers, counts, censusWidth)
	loss.Array(r, "chain", &c.Chain, chains)
	loss.Array(r, "v", &c.V, chains)
	loss.Array(r, "w", &c.W, chains, d)
	loss.Array(r, "heat", &heat, 2)
	if r.Err != nil {
		return
	}
	f.rows, f.number, c.Zeta, c.Xi, f.census = rows[0], number[0], heat[0], heat[1], make([]census, counts)
	for i := range f.census {
		c := &f.census[i]
		c.Positive = int64(numbers[i*censusWidth])
		for j := range c.Net {
			at := numbers[i*censusWidth+1+3*j:]
			c.Net[j], c.Sum[j], c.Ends[j] = int64(at[0]), at[1], int64(at[2])
		}
	}
}

// encode returns the partial result as a record, for rows of length d.
func (f *partial) encode(d int) []byte {
	f.chains = cmp.Or(f.chains, new(searchResult))
	r := loss.NewRecord(partialKind)
	f.code(r, d, len(f.sums), len(f.census), len(f.chains.V))
	return r.Encode()
}

// decodePartial reads what partial.encode wrote. It returns an error unless the record has the
// given numbers of sums, censuses and chains, for rows of length d.
func decodePartial(data []byte, d, sums, counts, chains int) (*partial, error) {
	r, f := loss.OpenRecord(data, partialKind), &partial{chains: new(searchResult)}
	f.code(r, d, sums, counts, chains)
	return f, r.Err
}
