package pipelines

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/disk"
	"github.com/bochner-ml/bochner/internal/testing/disktest"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// registryWhole checks that the registry names models that are whole, and has all events.
func (s *simulation) registryWhole() {
	reg := registry.Registry{Dir: s.o.Models}
	events, err := reg.History(jobtest.Ctx, 0)
	if err != nil {
		s.problem("the history cannot be read: %v", err)
		return
	}
	for _, told := range s.told {
		if !slices.ContainsFunc(events, func(e registry.Event) bool {
			return e.Action == told.Action && e.Model == told.Model && (told.ID == "" || told.ID == e.ID) &&
				(told.Day == "" || told.Day == e.Day)
		}) {
			s.problem("a driver was told of %s %s, which is not in the history", told.Action, told.Model)
		}
	}
	a, err := reg.State(jobtest.Ctx)
	if err != nil {
		s.problem("the aliases cannot be read: %v", err)
		return
	}
	for _, alias := range models.AliasNames {
		if model := a.Model(alias); model != "" {
			if _, err := models.CheckDir(jobtest.Ctx, reg.ModelDir(model)); err != nil {
				s.problem("the %s is not whole: %v", alias, err)
			}
		}
	}
}

// finish has a driver without faults repeat all jobs, and compares what there is with what it should be.
func (s *simulation) finish() {
	s.logf("the last driver begins")
	for _, e := range s.events {
		s.put(e)
	}
	tasks := s.tasks()
	for _, x := range tasks {
		err := x.run(jobtest.Ctx)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			s.problem("%s, by the last driver: exit code %d: %v", x.name, exit.CodeOf(err), err)
		}
	}
	storage.Flush()
	s.registryWhole()
	s.compareModels()
	s.compareSums()
	s.compareJobs()
	for name := range s.turns.Mem.Files(simRoot) {
		// A claim of a process that has ended is taken over. Directories of models and sums are swept.
		claim := strings.HasSuffix(name, "-claim") && !strings.HasPrefix(name, "models")
		unfinished := strings.Contains(name, ".tmp-") || strings.Contains(name, ".bochner-")
		plain := disktest.Plain(path.Join(simRoot, name))
		stuck := s.stuck[plain] || s.stuck[path.Dir(plain)] // nobody tries again what the disk did not remove
		// of a work directory without work, and of a model that no night has found again
		stuck = stuck || strings.Contains(name, "/.tmp-bochner-work-") || strings.Contains(name, "/.tmp-lineage.json-")
		if unfinished && !claim && !stuck && !strings.HasSuffix(name, "/") {
			s.problem("%s is left", name)
		}
	}
	s.repeatLast(tasks)
}

// repeatLast checks that the last night used all that is there, and finds nothing to do if it is repeated.
func (s *simulation) repeatLast(tasks []task) {
	reg := registry.Registry{Dir: s.o.Models}
	before, _ := reg.State(jobtest.Ctx)
	if s.last == results.Promoted && s.o.MaxDrift == 0 {
		l, err := registry.ReadLineage(jobtest.Ctx, reg.ModelDir(before.Champion))
		if err != nil || l == nil || l.HeldOut == nil {
			s.problem("the lineage of the champion: %v", err)
			return
		}
		got := []string{l.HeldOut.Name}
		for _, p := range l.Sources {
			got = append(got, p.Name)
			for _, f := range p.Files {
				now, err := storage.Stat(jobtest.Ctx, f.Name)
				if err != nil || now.Version != f.Version {
					s.problem("the champion was trained on an old version of %s: %v", f.Name, err)
				}
			}
		}
		slices.Sort(got)
		if want := s.usable(); !slices.Equal(got, want) {
			s.problem("the champion has seen %v, and there are %v", got, want)
		}
	}
	i := slices.IndexFunc(tasks, func(x task) bool { return x.name == "retrain "+dayName(s.nights) })
	err := tasks[i].run(jobtest.Ctx)
	if after, _ := reg.State(jobtest.Ctx); err != nil || after.Champion != before.Champion {
		s.problem("the last night, repeated, makes %s champion in place of %s: %v", after.Champion, before.Champion, err)
	}
}

// usable are the days that a model can be trained on or judged by.
func (s *simulation) usable() (all []string) {
	seen := map[string]bool{"": true, noRows: true}
	for day := 1; day <= s.nights; day++ {
		text := s.turns.Mem.Files(partition(simRoot+"/data", day))["part-0.csv"]
		if (s.o.Window.Days == 0 || day > s.nights-s.o.Window.Days) && !seen[text] {
			all = append(all, dayName(day))
			seen[text] = true
		}
	}
	return all
}

// compareModels compares the models of nights with trainings by their recipes on the same files.
func (s *simulation) compareModels() {
	for name, place := range s.with(s.o.Models, models.ManifestFile) {
		l, err := registry.ReadLineage(jobtest.Ctx, place)
		if err != nil || l == nil || l.Day == "" {
			continue // a driver was killed before it had written who its parents are
		}
		var texts []string
		for _, p := range l.Sources {
			for _, f := range p.Files {
				text, ok := s.texts[f.Name+" "+f.Version]
				if !ok {
					s.problem("%s was trained on %s %s, which never was", name, f.Name, f.Version)
				}
				texts = append(texts, text)
			}
		}
		got := s.turns.Mem.Files(place)
		want := s.undisturbed(path.Join(s.o.Models, l.Recipe), texts)
		for _, file := range []string{models.WeightsFile, "profile.json", models.ManifestFile} {
			if got[file] != want["model/"+file] && (file != models.ManifestFile || l.Redrawn == "") {
				s.problem("%s of %s differs from an undisturbed training on %d files", file, name, len(texts))
			}
		}
	}
}

// compareSums compares the sums of nights with sums of the same files.
func (s *simulation) compareSums() {
	recipes := s.with(s.o.Models, models.ManifestFile)
	maps.Copy(recipes, s.with(s.o.Models+"-sums", models.ManifestFile)) // reference recipes
	for _, model := range recipes {
		r, _, err := sums.ReadRecipe(jobtest.Ctx, model)
		if err != nil {
			s.problem("%s: %v", model, err)
			continue
		}
		for name, place := range s.with(path.Join(s.o.Models+"-sums", r.Digest[:16]), sums.ManifestFile) {
			s.compareSum(name, place, model)
		}
	}
}

func (s *simulation) compareSum(name, place, model string) {
	p, err := sums.ReadManifest(jobtest.Ctx, place)
	if err != nil {
		s.problem("%s: %v", place, err)
		return
	}
	var texts []string
	for _, l := range p.Leaves {
		for _, f := range l.Files {
			texts = append(texts, s.texts[strings.TrimPrefix(f.Version, "sha256:")])
		}
	}
	want := s.undisturbed(model, texts)
	if got := s.turns.Mem.Files(place); sumsIn(got, "") != sumsIn(want, "sums/") {
		s.problem("%s, of %d files, differs from undisturbed sums", place, len(texts))
	}
}

// sumsIn returns the sums in files whose names begin with a prefix.
func sumsIn(files map[string]string, prefix string) (all string) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if rest, ok := strings.CutPrefix(name, prefix); ok && (path.Ext(rest) == ".sums" || rest == "row_hashes.bin") {
			all += rest + files[name]
		}
	}
	return all
}

// compareJobs compares what the other jobs have made.
func (s *simulation) compareJobs() {
	var all []string
	for day := 1; day <= s.nights; day++ {
		text := dailyCSV(day, 1)
		all = append(all, text)
		s.compareSum("", fmt.Sprintf("%s/sums/dt=%s", simRoot, dayName(day)), simRoot+"/basis")
		if day == 1 {
			continue
		}
		lines := strings.SplitAfter(text, "\n")
		left := strings.Join(slices.Concat(lines[:3], lines[4:5], lines[6:]), "")
		for out, texts := range map[string][]string{"fit": all, "forgot": append(slices.Clone(all[:day-1]), left)} {
			want := s.undisturbed(simRoot+"/basis", texts)
			place := fmt.Sprintf("%s/%s-%d", simRoot, out, day)
			if s.turns.Mem.Files(place)[models.WeightsFile] != want["model/"+models.WeightsFile] {
				s.problem("%s differs from an undisturbed training", place)
			}
			if sumsIn(s.turns.Mem.Files(place+"-sums"), "") != sumsIn(want, "sums/") {
				s.problem("%s-sums differs from undisturbed sums", place)
			}
		}
	}
}

// with returns the directories in a directory that have a file, by name.
func (s *simulation) with(dir, file string) map[string]string {
	found := map[string]string{}
	for name := range s.turns.Mem.Files(dir) {
		if in, base := path.Split(name); base == file && strings.Count(in, "/") == 1 && in[0] != '.' {
			found[path.Clean(in)] = path.Join(dir, in)
		}
	}
	return found
}

// undisturbed returns the files of sums of data by the recipe of a model, and of a model fitted to them.
func (s *simulation) undisturbed(model string, texts []string) map[string]string {
	recipe := s.turns.Mem.Files(model)
	key := fmt.Sprintf("%x", sha256.Sum256([]byte(fmt.Sprintf("%q %q", recipe[models.ManifestFile], texts))))
	if made, ok := s.clean[key]; ok {
		return made
	}
	m := disktest.New()
	for name, text := range recipe {
		m.Put("/recipe/"+name, []byte(text))
	}
	o := options.Sum{Recipe: "/recipe", Data: dataset.Options{Label: "y"}, Out: "/made/sums"}
	for i, text := range texts {
		o.Data.Files = append(o.Data.Files, fmt.Sprintf("/data/%d.csv", i))
		m.Put(o.Data.Files[i], []byte(text))
	}
	defer disk.Swap(m)()
	embeds := strings.Contains(recipe[models.ManifestFile], `"task": "embedding"`)
	if embeds {
		o.Data.Label = ""
	}
	_, err := Sum(jobtest.Ctx, o)
	if err == nil && !embeds {
		_, err = Fit(jobtest.Ctx, options.Fit{SumDirs: options.SumDirs{Sums: []string{o.Out}}, Model: "/made/model"})
	}
	storage.Flush()
	if err != nil {
		s.problem("undisturbed: %v", err)
	}
	s.clean[key] = m.Files("/made")
	return s.clean[key]
}
