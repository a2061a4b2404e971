package pipelines

import "fmt"

// learning adds what finding the features in the data takes: a pass for a sample of
// the rows, and for the game the passes of its rounds.
func (p *Plan) learning(o TrainOptions, dim int) error {
	a := o.Learned
	p.Passes, p.jobs, p.how = p.Passes+1, p.jobs+1, p.how+", one for a sample to find features on"
	n := a.sampleRows(p.Rows, dim)
	if o.Kernel.Name == "harmonic" || a.By != "game" {
		return nil
	}
	m, err := o.Kernel.mapping()
	if err != nil {
		return err
	}
	game := a.game(1, 1, m.frequencies(), o.Seed)
	p.Game = (game.Frequencies + game.Take - 1) / game.Take
	p.search = float64(p.Game) * float64(game.Search.Chains) * float64(game.Search.Steps) * float64(n)
	reads := 1 + readsOfAGame*p.Game
	p.Passes, p.jobs = p.Passes+reads, p.jobs+(roundsOfAGame*p.Game+a.PerJob)/a.PerJob
	p.how += fmt.Sprintf(", %d for %s of a game that finds %d frequencies each, more where it finds fewer", reads, counted(p.Game, "round"), game.Take)
	return nil
}

// sampleRows is how many rows of dim numbers features are searched on, of so many; 0 is
// a number that is not known.
func (a LearnedOptions) sampleRows(rows int64, dim int) int64 {
	n := int64(a.Sample)
	switch {
	case a.Exact:
		n = min(max(rows, 1), maxSample)
	case n == 0:
		n = int64(chosenSample(max(dim, 1)))
	}
	if rows > 0 {
		n = min(n, rows)
	}
	return n
}
