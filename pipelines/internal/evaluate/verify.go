package evaluate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/svm"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
	"github.com/bochner-ml/bochner/transforms/learn"
)

// Verify recomputes the objective and the dual objective of an svm model from its training data, and checks its
// certificate: that the weights are at most as far from the optimum as recorded in the manifest. If the
// certificate does not hold, the error is an *exit.GateError and the result is complete.
func Verify(ctx context.Context, o options.VerifyOptimum) (result *results.VerifyOptimum, err error) {
	if err := prepare.CheckFraction(o.MaxBadFraction); err != nil {
		return nil, err
	}
	manifest, d, err := openModel(ctx, &o.Model, &o.Data, o.Job)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(checkCertified(o.Model, manifest), prepare.CheckLabeled(d)); err != nil {
		return nil, err
	}
	j, err := job.NewScratch(ctx, o.Job)
	if err != nil {
		return nil, err
	}
	defer func() { err = j.Close(ctx, err) }()
	v := &verification{model: o.Model, manifest: manifest, Session: &prepare.Session{Job: j, Iterative: true,
		Options: prepare.Options{Prepare: options.Prepare{Seed: manifest.Seed, MaxBadFraction: o.MaxBadFraction}}}}
	if err := v.trainingRows(ctx, d); err != nil {
		return nil, err
	}
	c := manifest.Learner.Log
	result = &results.VerifyOptimum{Model: o.Model, Recorded: results.Optimum{Objective: c.Objective, Dual: *c.Dual, Gap: *c.Gap}}
	if err := json.Unmarshal(c.Options, &result.Problem); err != nil {
		return nil, models.NewError(o.Model, err)
	}
	if err := v.certify(ctx, result); err != nil {
		return nil, err
	}
	judge(result)
	if !result.Holds {
		err = &exit.GateError{Message: "the certificate does not hold: " + strings.Join(result.Why, "; ")}
	}
	return result, err
}

// checkCertified returns an error if the model has no certificate.
func checkCertified(dir string, m *models.Manifest) error {
	_, kept := m.File(training.StateFile)
	switch c := m.Learner.Log; {
	case m.Learner.Kind+".verify" != svm.VerifyKind:
		return exit.Usagef("%s was fitted by %s, which gives no certificate; models of --learner svm have one", dir,
			m.Learner.Kind)
	case c == nil || c.Gap == nil:
		return exit.Usagef("%s has the initial weights of --init, for which there are no dual variables; train for at "+
			"least one round", dir)
	case !kept:
		return exit.Usagef("%s has a gap but not the dual variables that prove it, because they were too large to store", dir)
	}
	return nil
}

// trainingRows profiles the data and returns an error if its rows are not the training rows of the model.
func (v *verification) trainingRows(ctx context.Context, d *dataset.Dataset) error {
	v.Job.Progress.Phase("reading", 0)
	defer v.Job.Progress.Done()
	m := v.manifest
	profiled, _, err := prepare.ProfileRows(ctx, v.Job, d, v.Options.MaxBadFraction, m.Seed,
		&transforms.Labeling{Open: m.Task != models.Regression})
	if err != nil {
		return err
	}
	if profiled.Digest != m.Fingerprint {
		return exit.Dataf("pipelines: these are not the rows that %s was trained on: their fingerprint differs",
			v.model)
	}
	if have := profiled.Counts.RowCounts; have != m.Rows {
		return exit.Dataf("pipelines: %d rows were read and %d used; the manifest of %s says %d and %d", have.Read,
			have.Used, v.model, m.Rows.Read, m.Rows.Used)
	}
	if m.Task == models.Classification {
		if have := profiled.Profile.Labels.Counts; !slices.Equal(have, m.Profile.ClassCounts) {
			return exit.Dataf("pipelines: the classes have %v rows; the manifest of %s says %v", have, v.model,
				m.Profile.ClassCounts)
		}
	}
	v.Prepared = &prepare.Prepared{PassResult: *profiled, Rule: m.Learner.Split,
		Target: &transforms.Labeling{Classes: m.Vocabulary, Grid: m.TargetGrid}}
	return nil
}

// verification is a job that verifies a certificate.
type verification struct {
	*prepare.Session // with the training rows
	model            string
	manifest         *models.Manifest
}

// certify runs the pass of the verification.
func (v *verification) certify(ctx context.Context, result *results.VerifyOptimum) error {
	pass, err := v.pass(ctx)
	if err != nil {
		return err
	}
	if err := v.Job.TakeFiles(v.model, v.manifest); err != nil {
		return err
	}
	scan, err := v.Job.StorePass(ctx, pass)
	if err != nil {
		return err
	}
	scan.Readers = max(1, min(v.Job.Engine.Readers, len(pass.Assignments)))
	if err := v.storeState(ctx, pass.Learner, scan); err != nil {
		return err
	}
	v.Job.Progress.Phase("verifying", v.manifest.Rows.Used)
	defer v.Job.Progress.Done()
	if err := v.Job.Run(ctx, func(s beam.Scope) { learn.Rounds(s, scan, 1, 1, 0) }); err != nil {
		if reported, ok := errors.AsType[*fault.Fault](err); ok && strings.HasPrefix(reported.Message, "svm: verify:") {
			return exit.Dataf("%s\ndual variables belong to rows by position: give the files of the training, all of them "+
				"and in the same order", reported.Message)
		}
		return err
	}
	data, err := storage.ReadState(ctx, learn.StateFile(scan.Pass, 2), transforms.MaxState)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, &result.Certificate)
}

// pass returns the pass, which assigns rows to partitions as training did.
func (v *verification) pass(ctx context.Context) (*learn.Pass, error) {
	m, p := v.manifest, v.Prepared
	c := m.Learner.Log
	p.Data.Schema.Dim = m.Input.Dim
	encoder, err := transforms.TargetEncoder(m.Recipe)
	if err != nil {
		return nil, models.NewError(v.model, err)
	}
	folds := 0
	if c.HeldOutRows > 0 { // no rows are held out if the final fit used all rows
		folds = m.Learner.Folds
	}
	if folds > 0 || encoder != nil {
		if err := v.CountCopies(ctx); err != nil {
			return nil, err
		}
	}
	mean := 0.0
	if w := p.Profile.Weights; w != nil && !w.Equal() {
		if folds > 0 {
			return nil, exit.Dataf("pipelines: %s was trained on rows with weights, and others were held out of it: its "+
				"certificate is on the mean of the former, which verify does not compute; train without a time limit", v.model)
		}
		mean = w.Mean()
	}
	p.Recipe.Sealed, p.Recipe.Recodes = m.Recipe, encoder != nil
	pass := v.LearnPass(learn.Learner{Kind: svm.VerifyKind, Options: c.Options}, folds, c.Partitions)
	pass.MeanWeight = mean
	return pass, nil
}

// storeState stores the weights and the dual variables of the model as the state of the first round.
func (v *verification) storeState(ctx context.Context, l learn.Learner, scan transforms.Scan) error {
	state, err := models.ReadFile(ctx, v.model, v.manifest, training.StateFile)
	if err != nil {
		return err
	}
	weights, err := models.ReadFile(ctx, v.model, v.manifest, models.WeightsFile)
	if err != nil {
		return err
	}
	state = svm.VerifyState(state, weights)
	learner, err := l.Open(ctx)
	if err == nil {
		_, err = learner.Open(state)
	}
	if err != nil {
		return models.NewError(v.model, err)
	}
	if err := storage.WriteState(ctx, learn.StateFile(scan.Pass, 1), state); err != nil {
		return err
	}
	for p := range v.manifest.Learner.Log.Partitions {
		duals, err := models.ReadFile(ctx, v.model, v.manifest, fmt.Sprintf(training.DualFile, p))
		if err != nil {
			return err
		}
		if err := storage.WriteState(ctx, learn.CarriedFile(scan.Pass, 0, p), duals); err != nil {
			return err
		}
	}
	return nil
}

// Tolerances for the rounding of float32 scores, relative to the objective, and of float64 sums in weights.
const (
	scoreRounding  = 1e-6
	weightRounding = 1e-6
)

// judge compares the recomputed with the recorded values.
func judge(r *results.VerifyOptimum) {
	c, was := r.Certificate, r.Recorded
	not := func(format string, args ...any) { r.Why = append(r.Why, fmt.Sprintf(format, args...)) }
	if !c.Same {
		not("the weights are not the weights of the last round")
	}
	if !(c.Drift <= weightRounding) {
		not("the dual variables give different weights (by %.2g of the largest; are the files the same, in the same order?)",
			c.Drift)
	}
	rounding := scoreRounding * math.Abs(c.Primal)
	for _, v := range []struct {
		name               string
		computed, recorded float64
	}{{"objective", c.Primal, was.Objective}, {"dual", c.Dual, was.Dual}, {"gap", c.Gap, was.Gap}} {
		if !(math.Abs(v.computed-v.recorded) <= rounding) {
			not("the %s is %.8g, but %.8g was recorded", v.name, v.computed, v.recorded)
		}
	}
	r.Holds = len(r.Why) == 0
}
