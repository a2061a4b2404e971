package apply

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/messages"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms/fault"
	"github.com/bochner-ml/bochner/transforms/scoring"
)

func messageSettings(o options.Messages) messages.Settings {
	return messages.Settings{Outstanding: o.Outstanding, IDAttribute: o.IDAttribute, TimeAttribute: o.TimeAttribute}
}

// checkMessages refuses options that do not suit the source of the stream, messages or files.
func checkMessages(o options.PredictStream) error {
	source := ""
	for _, name := range o.Data.Files {
		if messages.Is(name) {
			source = name
		}
	}
	for _, to := range []job.Dir{{Flag: "out", Name: o.Out}, {Flag: "dead_letters", Name: o.Dead}} {
		if !messages.Is(to.Name) {
			continue
		}
		if source == "" {
			return exit.Usagef("--%s %s: predictions for files go to files: give a directory, or messages with --data",
				to.Flag, to.Name)
		}
		if err := checkName(to.Flag, to.Name, messages.Service.CheckSink); err != nil {
			return err
		}
		if to.Name == source {
			return exit.Usagef("--%s %s is the topic that --data reads: the stream would read what it writes; name "+
				"another topic", to.Flag, to.Name)
		}
	}
	m := o.Messages
	switch about := o.Job.Engine.About(); {
	case source == "":
		if m.IDAttribute != "" || m.TimeAttribute != "" || len(m.Columns)+len(m.Copy) > 0 {
			return exit.Usagef("--id_attribute, --time_attribute, --message_columns and --copy_attributes are for messages: " +
				"name a subscription with --data")
		}
		return nil
	case len(o.Data.Files) > 1:
		return exit.Usagef("--data %s: a stream of messages has one source (have %d)", source, len(o.Data.Files))
	case m.Outstanding < 1:
		return exit.Usagef("--outstanding must be at least 1 (have %d)", m.Outstanding)
	case messages.Is(o.Out) && o.Dead == "":
		return exit.Usagef("--out %s: name a topic or a directory with --dead_letters, for messages without predictions", o.Out)
	case messages.Is(o.Out) && o.Dead == o.Out:
		return exit.Usagef("--dead_letters %s is the topic of --out, whose readers would take dead letters for predictions: "+
			"name another topic, or a directory", o.Dead)
	case o.MaxAge != 0:
		return exit.Usagef("--max_age is for files; messages that a subscription keeps too long are removed by its own " +
			"setting: leave out --max_age")
	case (about.Reshuffle || about.Machines) && o.Job.Engine.Runner != engine.Dataflow:
		return exit.Usagef("--runner %s does not read messages by itself; use --runner dataflow, or direct: "+
			"several such processes can share a subscription", o.Job.Engine.Runner)
	}
	return checkName("data", source, messages.Service.CheckSource)
}

func checkName(flag, name string, check func(messages.Service, string) error) error {
	service, err := messages.ServiceOf(name)
	if err == nil {
		err = check(service, name)
	}
	if err != nil {
		return exit.Usagef("--%s: %w", flag, err)
	}
	return nil
}

// receives reports whether the stream reads messages.
func receives(o options.PredictStream) bool {
	return len(o.Data.Files) == 1 && messages.Is(o.Data.Files[0])
}

// checkOutputs refuses directories that the job cannot use.
func checkOutputs(o options.PredictStream) error {
	var dirs []job.Dir
	for _, p := range []job.Dir{{Flag: "out", Name: o.Out}, {Flag: "dead_letters", Name: o.Dead}} {
		if !messages.Is(p.Name) {
			dirs = append(dirs, p)
		}
	}
	if len(dirs) == 0 {
		return o.Job.Engine.Validate()
	}
	data := o.Data
	if receives(o) {
		data.Files = nil
	}
	return job.Validate(o.Job, data, dirs[0].Name, dirs...)
}

// absolute returns a name that every process can use.
func absolute(name string) (string, error) {
	if messages.Is(name) {
		return name, nil
	}
	return storage.Abs(name)
}

// streamWorkDir returns the directory of intermediate results for an output.
func streamWorkDir(out string) (string, error) {
	if messages.Is(out) {
		return os.MkdirTemp("", "bochner-stream-")
	}
	parent, base := storage.Split(out)
	return storage.Join(parent, ".bochner-"+base+"-stream"), nil
}

// subscription returns the service and the subscription that the stream reads from.
func (s *streamJob) subscription(ctx context.Context) (messages.Service, string, error) {
	service, err := messages.ServiceOf(s.o.Data.Files[0])
	if err != nil {
		return nil, "", err
	}
	name, err := service.Subscription(ctx, s.o.Data.Files[0], s.files.Out)
	if err != nil {
		return service, name, err
	}
	if name != s.o.Data.Files[0] {
		s.notef("%s reads the messages of the topic from now on; it stays when the stream has ended", name)
	}
	return service, name, nil
}

// receiveUnbounded runs a single pipeline that reads messages until it is cancelled.
func (s *streamJob) receiveUnbounded(ctx context.Context) error {
	_, name, err := s.subscription(ctx)
	if err != nil {
		return err
	}
	var receiveErr error
	err = s.engine.Run(ctx, func(scope beam.Scope) {
		_, receiveErr = s.files.Receive(scope, name, messageSettings(s.o.Messages), s.engine.Threads)
	})
	if receiveErr != nil {
		return receiveErr
	}
	return err
}

// messageFeed is the feed of messages.
type messageFeed struct {
	source messages.Source
	sinks  map[string]messages.Sink // topics for results, by name
	out    string
	dead   string

	name   string
	wait   time.Duration // longest wait for messages
	settle time.Duration // time without messages after which none are expected
	last   time.Time     // time of the last message
	open   map[string][]messages.Received
}

// receive begins to receive messages.
func (s *streamJob) receive(ctx context.Context) (_ *messageFeed, err error) {
	service, name, err := s.subscription(ctx)
	if err != nil {
		return nil, err
	}
	f := &messageFeed{
		sinks: map[string]messages.Sink{}, out: s.files.Out, dead: s.files.Dead, name: name,
		wait: s.o.Poll, settle: s.o.Settle, last: time.Now(), open: map[string][]messages.Received{},
	}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	for _, topic := range []string{f.out, f.dead} {
		if !messages.Is(topic) || f.sinks[topic] != nil {
			continue
		}
		to, err := messages.ServiceOf(topic)
		if err == nil {
			f.sinks[topic], err = to.Publisher(ctx, topic)
		}
		if err != nil {
			delete(f.sinks, topic)
			return nil, err
		}
	}
	f.source, err = service.Receive(ctx, name, messageSettings(s.o.Messages))
	return f, err
}

// next returns messages. It merges copies of a message that arrive together.
func (f *messageFeed) next(ctx context.Context, n int) (feedTasks, error) {
	r := feedTasks{waited: true}
	all, err := f.source.Next(ctx, n, f.wait)
	if err != nil {
		return r, err
	}
	for i := range all {
		task := scoring.MessageArrival(f.name, &all[i].Message)
		if f.open[task.Path] == nil {
			r.tasks = append(r.tasks, task)
		}
		f.open[task.Path] = append(f.open[task.Path], all[i])
	}
	now := time.Now()
	if len(all) > 0 {
		f.last = now
	}
	r.backlog = f.source.Waiting()
	if r.backlog > 0 || now.Sub(f.last) < f.settle {
		r.unsettled = 1
	}
	return r, nil
}

func (f *messageFeed) requeue(path string) { f.end(path, false) }

func (f *messageFeed) end(path string, done bool) {
	for _, m := range f.open[path] {
		m.End(done)
	}
	delete(f.open, path)
}

// done publishes results to topics, and then acknowledges the messages. A message whose results were not all
// published is tried again.
func (f *messageFeed) done(ctx context.Context, results []scoring.FileResult) ([]scoring.FileResult, error) {
	err := errors.Join(
		f.publish(ctx, f.dead, results, func(r scoring.FileResult) *messages.Message { return r.Letter }),
		f.publish(ctx, f.out, results, func(r scoring.FileResult) *messages.Message { return r.Output }),
	)
	if err != nil {
		return nil, err
	}
	for i := range results {
		r := &results[i]
		if r.Retry != "" {
			continue
		}
		if copies := f.open[r.Path]; (r.Output != nil || r.Letter != nil) && len(copies) > 0 &&
			!copies[0].Published.IsZero() {
			r.Latency = max(0, time.Since(copies[0].Published))
		}
		f.end(r.Path, true)
	}
	return results, nil
}

// publish publishes the results for a topic. It returns an error if the user must act, or if all results must
// be tried again.
func (f *messageFeed) publish(ctx context.Context, topic string, results []scoring.FileResult,
	toMessage func(scoring.FileResult) *messages.Message) error {
	var all []messages.Message
	var at []int // positions in results of the published ones
	for i, r := range results {
		if m := toMessage(r); m != nil && r.Retry == "" {
			all, at = append(all, *m), append(at, i)
		}
	}
	if len(all) == 0 {
		return nil
	}
	var first error
	failed := 0
	for i, err := range f.sinks[topic].Publish(ctx, all) {
		if err == nil {
			continue
		}
		if code := exit.CodeOf(err); code != exit.CodeStorage && code != exit.CodeFailed {
			return err
		}
		failed++
		if first == nil {
			first = err
		}
		results[at[i]].Retry = fault.Text(err)
	}
	if failed == len(results) {
		return first
	}
	return nil
}

func (f *messageFeed) close() (err error) {
	if f.source != nil {
		err = f.source.Close()
	}
	for _, sink := range f.sinks {
		if closeErr := sink.Close(); err == nil {
			err = closeErr
		}
	}
	return err
}
