package pipelines

import (
	"fmt"

	"github.com/bochner-ml/bochner/io/rows"
)

// learning adds what finding the features in the data takes: a pass for a sample of
// the rows, and for the game the passes of its rounds.
func (p *Plan) learning(o TrainOptions, dim int64) error {
	a := o.Learned
	p.Passes, p.jobs, p.how = p.Passes+1, p.jobs+1, p.how+", one for a sample to find features on"
	n := int64(a.Sample)
	switch {
	case a.Exact:
		n = min(max(p.Rows, 1), maxSample)
	case n == 0:
		n = int64(chosenSample(int(dim)))
	}
	if p.Rows > 0 {
		n = min(n, p.Rows)
	}
	sample := 3 * 4 * dim * n // the rows, and twice as the search takes them
	p.Solve = max(p.Solve, sample)
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
	p.Worker = max(p.Worker, a.Keep+sample+4*4*dim*int64(rows.Rows(int(dim))))
	p.Row = max(p.Row, 12*int64(p.Outputs)) // dual weights and labels
	return nil
}
