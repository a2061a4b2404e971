package days

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/sumdirs"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms/scoring"
)

// remains is the text of results.Certificate.Remains.
const remains = "The new model has the recipe of the old one. Its scaling, kernel width, profile statistics, " +
	"category values and grid were chosen from rows that may include the forgotten ones. If its features are kernel " +
	"values at training rows (landmarks), it may contain forgotten rows themselves. To remove these traces, train a new " +
	"recipe without the forgotten rows. The sums of the days, other copies of the data, and earlier predictions are not changed."

// maxCertificate limits the size of a certificate: about a hundred million rows.
const maxCertificate = 1 << 33

// readCertificate reads a certificate and checks its checksum.
func readCertificate(ctx context.Context, name string) (*results.Certificate, error) {
	data, err := storage.ReadFile(ctx, name, maxCertificate)
	if err != nil {
		return nil, err
	}
	c := new(results.Certificate)
	if err := json.Unmarshal(data, c); err != nil {
		return nil, exit.Dataf("pipelines: %s is not a certificate: %w", name, err)
	}
	if c.Format != sums.Format {
		return nil, exit.Dataf("pipelines: %s: format version %d, this program reads %d", name, c.Format, sums.Format)
	}
	if !models.HasChecksum(data) {
		return nil,
			&exit.GateError{Message: fmt.Sprintf("%s was changed after it was written: its checksum does not match", name)}
	}
	return c, nil
}

// Forget subtracts rows from the sums that a model was fitted to, and fits a model to the rest.
// That model has the same bytes as one that was trained with the same recipe without these rows.
// Rows that are not in the sums are refused: see sums.RowHashes.
func Forget(ctx context.Context, o options.Forget) (*results.Forget, error) {
	if o.Out == "" {
		return nil, exit.Usagef("--out is missing: name the directory to create")
	}
	out := job.Dir{Flag: "out", Name: o.Out}
	if err := cmp.Or(job.CheckOutputs(out, job.Dir{Flag: "save_sums", Name: o.SaveSums}),
		job.Validate(o.Job, o.Data, o.Out, out, job.Dir{Flag: "model", Name: o.Model})); err != nil {
		return nil, err
	}
	if c := o.Certificate; c != "" && (c == o.Out || c == o.SaveSums) {
		return nil, exit.Usagef("--certificate %s is a directory that forget creates; name a file next to it", c)
	}
	if err := job.CheckOutput(ctx, o.Job, o.Out); err != nil {
		return nil, err
	}
	if o.Certificate != "" && !o.Job.Resume {
		if err := storage.CheckAbsent(ctx, o.Certificate); err != nil {
			return nil, err // the proof of another removal is not replaced
		}
	}
	result, err := forgetRows(ctx, o)
	if err != nil {
		return nil, err
	}
	data, err := result.Certificate.Encode() // sets its checksum, which the result has even without a file
	if err == nil && o.Certificate != "" {
		if err = storage.WriteFile(ctx, o.Certificate, data); err == nil {
			result.File = o.Certificate
		}
	}
	return result, exit.AfterPublish(o.Out, err)
}

// forgetRows sums the rows to forget, checks that they are in the sums of the model, subtracts them, fits the new
// model and writes the certificate.
func forgetRows(ctx context.Context, o options.Forget) (result *results.Forget, err error) {
	if o.Model == "" {
		return nil, exit.Usagef("--model is missing: name the directory of a model")
	}
	if err := prepare.CheckFraction(o.MaxBadFraction); err != nil {
		return nil, err
	}
	if o.Model, err = job.FindModel(ctx, o.Model, o.Job.Log); err != nil {
		return nil, err
	}
	before, err := models.ReadManifest(ctx, o.Model)
	if err != nil {
		return nil, err
	}
	if s := before.Segments; s != nil {
		return nil, exit.Usagef("%s has weights for each %s, which forget does not fit; sum the data again without the "+
			"rows, and use fit --each %s", o.Model, s.Column, s.Column)
	}
	r, err := openForgetInputs(ctx, o.ForgottenRows, o.Model)
	if err != nil {
		return nil, err
	}
	defer func() { err = r.scratch.Close(ctx, err) }()
	recipe, terms := r.recipe, r.terms
	lambda := lambdaOf(before, recipe)
	sumsBefore, err := r.sumsDigest(ctx, lambda, before)
	if err != nil {
		return nil, err
	}
	if err := r.sum(ctx); err != nil {
		return nil, err
	}
	if r.why != "" {
		return nil, exit.Dataf("pipelines: %s", r.why)
	}
	rows, sumsOfRows := r.subtracted.Rows.Used, r.key.hide([]byte(r.subtracted.Sums))
	if used := usedBy(terms); rows == used {
		return nil, exit.Dataf(
			"pipelines: all %s rows of the sums would be forgotten, and none is left to fit a model to; remove the "+
				"model and the sums", report.Groups(used))
	}
	_, parent := storage.Split(strings.TrimRight(o.Model, "/"))
	fit := options.Fit{Lambda: lambda, Calibrate: calibrationOf(before, recipe), Model: o.Out, SaveSums: o.SaveSums,
		Job: o.Job}
	p, fitted, err := fitTerms(ctx, fit, parent, append(slices.Clone(terms), r.subtracted), []string{sumsOfRows})
	if err != nil {
		return nil, err
	}
	after, err := models.ReadManifest(ctx, o.Out)
	if err != nil {
		return nil, err
	}
	c := &results.Certificate{
		Format: sums.Format, Program: engine.Version(), Recipe: recipe.Digest, Remains: remains,
		Rows: rows, Codes: r.key.codes(r.rows), SumsOfRows: sumsOfRows, Lambda: after.Learner.Lambda,
		BeforeAndAfter: results.BeforeAndAfter{
			SumsBefore: sumsBefore, ModelBefore: before.SHA256, WeightsBefore: weightsOf(before),
			SumsAfter: p.Sums, ModelAfter: after.SHA256, WeightsAfter: weightsOf(after)},
	}
	return &results.Forget{Train: fitted, Rows: rows, IDs: r.listedIDs, Certificate: c}, nil
}

// readIDs reads the list of ids. It returns nil if there is none.
func readIDs(ctx context.Context, o options.ForgottenRows, recipe *sums.Recipe) (*dataset.IDs, error) {
	if o.IDs == "" {
		return nil, nil
	}
	d, err := prepare.OpenByRecipe(ctx, options.Job{}, o.Data, recipe)
	if err != nil {
		return nil, err
	}
	if scoring.IDColumn(d) == "" {
		return nil, exit.Usagef(
			"--ids: neither the model nor a flag says which column has the ids of rows; name it with --id_column")
	}
	r, err := storage.Open(ctx, o.IDs, 0, -1)
	if err != nil {
		return nil, fmt.Errorf("list of ids: %w", err)
	}
	defer r.Close()
	l, err := dataset.ReadIDs(r)
	if err != nil {
		return nil, exit.Dataf("pipelines: list of ids %s: %w", o.IDs, err)
	}
	return l, nil
}

// forgetInputs holds the inputs of Forget and VerifyForgotten.
type forgetInputs struct {
	options   options.ForgottenRows
	recipe    *sums.Recipe
	terms     []sumdirs.Term
	ids       *dataset.IDs // nil if all rows are forgotten, and after sum has used them
	listedIDs int          // ids in the list
	scratch   *job.Job     // temporary directory for the sums of the rows and the original model
	job       options.Job  // of jobs within this one

	// Set by sum: the sums of the rows, as a term to subtract; the rows; and results of contentKeyOf.
	subtracted sumdirs.Term
	rows       []row
	key        contentKey
	why        string
}

// openForgetInputs opens the recipe of a model, sums by this recipe and the list of ids.
func openForgetInputs(ctx context.Context, o options.ForgottenRows, model string) (r *forgetInputs, err error) {
	r = &forgetInputs{options: o, job: o.Job}
	r.options.Model = model
	r.job.Work, r.job.Resume = "", false
	if r.recipe, err = training.ReadRecipe(ctx, model, nil); err != nil {
		return nil, err
	}
	if r.terms, err = sumdirs.Open(ctx, o.SumDirs); err != nil {
		return nil, err
	}
	if first := r.terms[0]; first.Recipe.Digest != r.recipe.Digest {
		return nil, exit.Dataf("pipelines: %s has sums by another recipe than %s; sum the data with --recipe %[2]s",
			first.Place, model)
	}
	if r.ids, err = readIDs(ctx, o, r.recipe); err != nil {
		return nil, err
	}
	if r.ids != nil {
		r.listedIDs = r.ids.Len()
	}
	r.scratch, err = job.NewScratch(ctx, o.Job)
	return r, err
}

// sum sums the rows to forget, and looks for them in the sums of the model.
func (r *forgetInputs) sum(ctx context.Context) (err error) {
	dir := r.scratch.Work.Dir
	if r.ids != nil {
		if r.options.Data.Only, err = r.ids.Store(ctx, storage.Join(dir, "ids")); err != nil {
			return err
		}
	}
	r.ids = nil // frees the memory of the list
	out := storage.Join(dir, "rows")
	o := options.Sum{Recipe: r.options.Model, Data: r.options.Data, Out: out, MaxBadFraction: r.options.MaxBadFraction,
		Job: r.job}
	if _, r.rows, err = sumRows(ctx, o, r.recipe); err != nil {
		return err
	}
	r.options.Data.Only = nil
	r.subtracted.Sign = -1
	if r.subtracted.Dir, err = sums.Open(ctx, out); err != nil {
		return err
	}
	if r.listedIDs > 0 {
		r.subtracted.Leaves = nil // other rows of these files remain
		if n := r.subtracted.Rows.Used + r.subtracted.Rows.SetAside; n > int64(r.listedIDs) && r.job.Log != nil {
			fmt.Fprintf(r.job.Log, "note: %s name %s: some rows have the same id, and all of them are forgotten\n",
				report.Counted64(int64(r.listedIDs), "id"), report.Counted64(n, "row"))
		}
	}
	r.key, r.why, err = contentKeyOf(ctx, r.terms, r.rows)
	return err
}

// weightsOf returns the checksum of the weights of a model.
func weightsOf(m *models.Manifest) string {
	f, _ := m.File(models.WeightsFile)
	return f.SHA256
}

// sumsDigest returns the digest of the sums. It refuses a model that was not fitted to them.
func (r *forgetInputs) sumsDigest(ctx context.Context, lambda options.Lambda, m *models.Manifest) (string, error) {
	if len(r.terms) == 1 && m.Fingerprint == r.terms[0].Manifest.Sums {
		return m.Fingerprint, nil
	}
	if used := usedBy(r.terms); m.Rows.Used > 0 && used != m.Rows.Used {
		return "", exit.Dataf(
			"pipelines: the sums have %s rows, but %s was trained on %s: give all sums that it was fitted to, and no "+
				"others", report.Groups(used), r.options.Model, report.Groups(m.Rows.Used))
	}
	fit := options.Fit{Lambda: lambda, Model: storage.Join(r.scratch.Work.Dir, "before"), Job: r.job}
	p, _, err := fitTerms(ctx, fit, "", r.terms, nil)
	if err != nil {
		return "", err
	}
	if p.Sums == m.Fingerprint {
		return p.Sums, nil
	}
	// A model that was trained on rows has another digest, but the same weights.
	same, err := models.ReadManifest(ctx, fit.Model)
	if err != nil {
		return "", err
	}
	if weightsOf(same) != weightsOf(m) {
		return "", exit.Dataf("pipelines: %s was not fitted to these sums: they give other weights", r.options.Model)
	}
	return p.Sums, nil
}

// usedBy returns the number of used rows of the added terms, minus the rows of the subtracted terms.
func usedBy(terms []sumdirs.Term) (rows int64) {
	for _, t := range terms {
		rows += t.Sign * t.Rows.Used
	}
	return rows
}

// lambdaOf returns the options by which λ of a model was chosen.
func lambdaOf(m *models.Manifest, r *sums.Recipe) options.Lambda {
	tried := slices.Clone(m.Learner.RuledOut)
	for _, row := range m.Learner.Table {
		tried = append(tried, row.Lambda)
	}
	if len(tried) == 0 {
		tried = []float64{m.Learner.Lambda}
	}
	allTried := func(lambdas []float64) bool {
		return !slices.ContainsFunc(lambdas, func(l float64) bool { return !slices.Contains(tried, l) })
	}
	switch rule := &r.Rule; {
	case rule.C > 0 && len(tried) == 1,
		rule.C == 0 && len(rule.Lambda) == 0 && allTried(ridge.AutoLambda()),
		len(tried) == len(rule.Lambda) && allTried(rule.Lambda):
		return options.Lambda{} // the recipe's
	}
	slices.Sort(tried)
	return options.Lambda{Path: tried}
}

// calibrationOf returns the options.Fit.Calibrate that gives a model the probabilities of m; "" if m has none.
func calibrationOf(m *models.Manifest, r *sums.Recipe) options.Calibration {
	if p := m.Probabilities; p != nil && p.Kind == score.Platt && r.Profile.Shapes != nil {
		return options.CalibrationPlatt
	}
	return ""
}

// VerifyForgotten recomputes a certificate from the rows and the original sums. o.Model is the
// model without the rows, and o.Certificate the file. If the certificate does not hold, the error
// is an *exit.GateError and the result is complete.
func VerifyForgotten(ctx context.Context, o options.VerifyForgotten) (result *results.VerifyForgotten, err error) {
	if o.Model == "" {
		return nil, exit.Usagef("--model is missing: name the directory of the model without the rows")
	}
	if err := job.Validate(o.Job, o.Data, "", job.Dir{Flag: "model", Name: o.Model}); err != nil {
		return nil, err
	}
	c, err := readCertificate(ctx, o.Certificate)
	if err != nil {
		return nil, err
	}
	model, err := job.FindModel(ctx, o.Model, o.Job.Log)
	if err != nil {
		return nil, err
	}
	after, err := models.CheckDir(ctx, model)
	if err != nil {
		return nil, err
	}
	r, err := openForgetInputs(ctx, o.ForgottenRows, model)
	if err != nil {
		return nil, err
	}
	defer func() { err = r.scratch.Close(ctx, err) }()
	first := options.Fit{SaveSums: storage.Join(r.scratch.Work.Dir, "before"), Job: r.job}
	before, _, err := fitTerms(ctx, first, "", r.terms, nil)
	if err != nil {
		return nil, err
	}
	if err := r.sum(ctx); err != nil {
		return nil, err
	}
	result = &results.VerifyForgotten{Certificate: c, Why: []string{r.why}}
	if r.why == "" {
		if result.Why, err = r.differences(ctx, c, before.Sums, after); err != nil {
			return nil, err
		}
	}
	if result.Holds = len(result.Why) == 0; !result.Holds {
		err = &exit.GateError{Message: "the certificate does not hold: " + strings.Join(result.Why, "; ")}
	}
	return result, err
}

// differences fits a model without the rows, and returns the figures of the certificate that differ from this
// model or from after. before is the digest of the original sums.
func (r *forgetInputs) differences(ctx context.Context, c *results.Certificate, before string, after *models.Manifest) (
	why []string, err error) {
	o := options.Fit{Lambda: lambdaOf(after, r.recipe), Calibrate: calibrationOf(after, r.recipe),
		Model: storage.Join(r.scratch.Work.Dir, "after"), Job: r.job}
	p, _, err := fitTerms(ctx, o, "", append(slices.Clone(r.terms), r.subtracted), nil)
	if err != nil {
		return nil, err
	}
	fitted, err := models.ReadManifest(ctx, o.Model)
	if err != nil {
		return nil, err
	}
	expect := func(what, want, got string) {
		if want != got {
			why = append(why, fmt.Sprintf("%s: the certificate says %.16s, found %.16s", what, want, got))
		}
	}
	model := r.options.Model
	expect("recipe", c.Recipe, r.recipe.Digest)
	expect("sums before", c.SumsBefore, before)
	expect("rows", fmt.Sprint(c.Rows), fmt.Sprint(r.subtracted.Rows.Used))
	expect("contents of the rows", strings.Join(c.Codes, ""), strings.Join(r.key.codes(r.rows), ""))
	expect("sums of the rows", c.SumsOfRows, r.key.hide([]byte(r.subtracted.Sums)))
	expect("sums after", c.SumsAfter, p.Sums)
	expect("weights without the rows", c.WeightsAfter, weightsOf(fitted))
	expect("weights of "+model, c.WeightsAfter, weightsOf(after))
	expect("manifest of "+model, c.ModelAfter, after.SHA256)
	return why, nil
}
