package command

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/internal/option"
)

// foreignFlags maps names of flags in other programs, mostly scikit-learn, to ours. Notes describe how
// the two differ.
var foreignFlags = map[string]struct{ Flag, Note string }{
	"alpha":            {"lambda", "lambda = alpha/n, where n is the number of rows"},
	"reg_alpha":        {"lambda", "lambda = alpha/n, where n is the number of rows"},
	"reg_lambda":       {"lambda", "lambda is on the mean loss"},
	"regularization":   {"lambda", "lambda is on the mean loss"},
	"n_components":     {"features", "embed has --components, for the components of an embedding"},
	"n_features":       {"features", ""},
	"n_estimators":     {"features", "there are no trees; the number of features sets the size of a model"},
	"hidden_units":     {"features", ""},
	"target":           {"label", ""},
	"target_column":    {"label", ""},
	"label_column":     {"label", ""},
	"y":                {"label", ""},
	"response":         {"label", ""},
	"n_jobs":           {"threads", ""},
	"jobs":             {"threads", ""},
	"nthread":          {"threads", ""},
	"workers":          {"readers", ""},
	"random_state":     {"seed", ""},
	"random_seed":      {"seed", ""},
	"sigma":            {"width", "width is σ of exp(-‖x-z‖²/2σ²)"},
	"length_scale":     {"width", "width is σ of exp(-‖x-z‖²/2σ²)"},
	"bandwidth":        {"width", "width is σ of exp(-‖x-z‖²/2σ²)"},
	"max_iter":         {"rounds", ""},
	"n_iter":           {"rounds", ""},
	"epochs":           {"rounds", ""},
	"tol":              {"gap", "gap is relative to the objective"},
	"n_iter_no_change": {"patience", ""},
	"early_stopping":   {"patience", "the number of rounds to wait"},
	"learning_rate":    {"rate", ""},
	"eta0":             {"rate", ""},
	"batch_size":       {"batch", ""},
	"cv":               {"folds", ""},
	"n_splits":         {"folds", ""},
	"probability":      {"calibrate", "platt or isotonic"},
	"warm_start":       {"init", "the directory of a model"},
	"estimator":        {"learner", ""},
	"algorithm":        {"learner", ""},
	"input":            {"data", ""},
	"file":             {"data", ""},
	"files":            {"data", ""},
	"train":            {"data", ""},
	"output":           {"out", ""},
	"seeds":            {"seed", ""},
}

// foreignValues maps names of values in scikit-learn to ours. Both are accepted.
var foreignValues = map[string]map[string]string{
	"loss":      {"log_loss": "logistic", "squared_error": "squared", "cross_entropy": "softmax"},
	"calibrate": {"sigmoid": "platt"},
	"learner":   {"svc": "svm", "svr": "svm"},
	"task":      {"classify": "classification", "regress": "regression"},
}

// translateValues replaces the foreignValues of flags by our names.
func translateValues(fs *pflag.FlagSet) error {
	for name, values := range foreignValues {
		f := fs.Lookup(name)
		if f == nil {
			continue
		}
		if ours, has := values[f.Value.String()]; has {
			if err := f.Value.Set(ours); err != nil {
				return err
			}
		}
	}
	return nil
}

// wrongFlag adds the name of a similar flag to the error of an unknown flag, and describes the
// values that a flag takes in the error of an invalid one.
func wrongFlag(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f, cause := invalid.GetFlag(), invalid.Unwrap()
		if text := cause.Error(); strings.HasPrefix(text, "strconv.") || strings.HasPrefix(text, "time: ") {
			cause = cmp.Or(option.Wrong(f.Value.Type(), invalid.GetValue()), cause)
		}
		return fmt.Errorf("--%s: %w", f.Name, cause)
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return fmt.Errorf("%w%s", err, suggestion(cmd.Flags(), unknown.GetSpecifiedName()))
	}
	return err
}

// inOneLine rewrites cobra's list of similar commands as "(did you mean ...?)", as other messages.
func inOneLine(message string) string {
	text, list, found := strings.Cut(message, "\n\nDid you mean this?\n\t")
	if !found {
		return text
	}
	return fmt.Sprintf("%s (did you mean %q?)", text, strings.Join(strings.Fields(list), ", "))
}

// suggestion returns a text such as ` (did you mean "lambda"?)` if other programs have a flag of
// that name, or if the name is close to one of ours.
func suggestion(fs *pflag.FlagSet, name string) string {
	if other, known := foreignFlags[strings.ReplaceAll(strings.ToLower(name), "-", "_")]; known &&
		fs.Lookup(other.Flag) != nil {
		note := ""
		if other.Note != "" {
			note = " " + other.Note
		}
		return fmt.Sprintf(" (did you mean %q?%s)", other.Flag, note)
	}
	var names []string
	fs.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return option.DidYouMean(name, names)
}
