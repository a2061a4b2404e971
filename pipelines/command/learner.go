package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// learnerFlags are the flags that choose a learner: its name and the options of all learners.
type learnerFlags struct {
	Name     string `flag:"learner,common" group:"Learner" default:"ridge" placeholder:"NAME"`
	learners map[string]iterative.Options
	options  option.Group
}

// searchOwner owns the options of the rounds of feature learning.
const searchOwner = "search"

// newLearners returns the flags of all learners. found has the options of the rounds of feature
// learning, which share flags with the learners.
func newLearners(found *iterative.Running) *learnerFlags {
	f := &learnerFlags{learners: map[string]iterative.Options{}}
	for _, l := range iterative.Learners() {
		f.learners[l.Name] = l.New()
		f.options.Add(l.Name, f.learners[l.Name])
	}
	f.options.Add(searchOwner, found)
	return f
}

// flags returns all options.
func (f *learnerFlags) flags() []*option.Option {
	var once, byRounds []string
	for _, l := range iterative.Learners() {
		text := fmt.Sprintf("%s (%s)", l.Name, l.Summary)
		if l.Open != nil {
			byRounds = append(byRounds, text)
		} else {
			once = append(once, text)
		}
	}
	name := option.List(f)
	name[0].Help = fmt.Sprintf("Learner: %s, or an iterative learner: %s.", strings.Join(once, ", "),
		strings.Join(byRounds, ", "))
	return append(name, inGroup("Learner", f.options.Options)...)
}

// chosen returns the options of the learner that the flags name. finds tells that features are
// learned in rounds, so the options of rounds are allowed.
func (f *learnerFlags) chosen(finds bool) (iterative.Options, error) {
	l, err := iterative.Lookup(f.Name)
	if err == nil && l.Unlabeled {
		err = fmt.Errorf("%s takes no labels; bochner embed runs it", l.Name)
	}
	if err != nil {
		return nil, &exit.UsageError{Err: err}
	}
	chosen, solver := "--learner "+l.Name, ""
	if r, ok := f.learners[l.Name].(*ridge.Training); ok && r.Solver == iterative.CG {
		chosen, solver, l = "--solver cg", "solver", iterative.DefinitionOf(f.learners[iterative.CG])
	}
	for _, o := range f.options.Options {
		if !o.Given() || slices.Contains(o.Owners, l.Name) || o.Name == solver || finds && slices.Contains(o.Owners, searchOwner) {
			continue
		}
		owners := slices.DeleteFunc(slices.Clone(o.Owners), func(name string) bool { return name == searchOwner })
		if l.Open == nil {
			return nil, exit.Usage("--%s is for iterative learners (%s); %s is fitted in one pass", o.Name,
				strings.Join(owners, ", "), l.Name)
		}
		return nil, exit.Usage("--%s cannot be used with %s; it is an option of %s", o.Name, chosen,
			strings.Join(owners, ", "))
	}
	return f.learners[l.Name], nil
}
