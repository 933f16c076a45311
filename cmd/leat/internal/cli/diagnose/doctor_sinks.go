package diagnose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/assemble"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox/driver"
)

// sinkPatience is how long a destination may take to answer.
const sinkPatience = 20 * time.Second

// sinkLook is the result of inspecting the destination of a relay of the file.
type sinkLook struct {
	name    string // of the group and its destination
	err     error
	missing []string
}

// sinkChecks inspect the destinations of the file's relays, each once. There are none without a file that
// names the outbox.
func sinkChecks(d *command.Deps, db open.Database) []doctor.Check {
	if d.Named == "" {
		return nil
	}
	var looked []sinkLook
	look := func(ctx context.Context) []sinkLook {
		if looked == nil {
			looked = lookAtSinks(ctx, d, db)
		}
		return looked
	}
	return []doctor.Check{
		{Name: "sinks.reachable", Run: func(ctx context.Context) (all []doctor.Finding, _ error) {
			for _, l := range look(ctx) {
				if invalid, ok := errors.AsType[*settings.InvalidError](l.err); ok {
					all = append(all, doctor.Finding{Verdict: doctor.Unknown, Text: l.name + ": " + invalid.Error(), Advice: "look with the variables and files that the daemon has"})
				} else if l.err != nil {
					all = append(all, doctor.Finding{Verdict: doctor.Fail, Text: l.name + ": " + l.err.Error(), Advice: "nothing is lost: messages wait, and go on by themselves when it is back"})
				}
			}
			return all, nil
		}},
		{Name: "sinks.topics", Run: func(ctx context.Context) (all []doctor.Finding, _ error) {
			for _, l := range look(ctx) {
				if l.err != nil {
					all = append(all, doctor.Finding{Verdict: doctor.Unknown, Text: l.name + ": see sinks.reachable"})
				} else if n := len(l.missing); n > 0 {
					all = append(all, doctor.Finding{
						Verdict: doctor.Fail, Text: fmt.Sprintf("%s: does not take %q", l.name, l.missing[:min(n, 10)]) + more(n-10), Advice: "create it there, or allow to write; its messages wait meanwhile, and go on by themselves",
					})
				}
			}
			return all, nil
		}},
	}
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(", and %d others", n)
}

func lookAtSinks(ctx context.Context, d *command.Deps, db open.Database) []sinkLook {
	_, profile := d.FileAndProfile()
	relays, wrong := d.File.RelaysOf(profile, d.Named, d.Process.LookupEnv)
	all := make([]sinkLook, len(relays))
	for i := range relays {
		r := &relays[i]
		all[i].name = fmt.Sprintf("group %s, %s", cmp.Or(r.Group.Value, "default"), cmp.Or(r.Sink.Kind(), "no sink"))
		if len(wrong[i]) > 0 {
			all[i].err = &settings.InvalidError{Findings: wrong[i]}
			continue
		}
		all[i].missing, all[i].err = lookAtSink(ctx, d, db, r)
	}
	return all
}

// lookAtSink returns the topics in use that the destination of r does not accept.
func lookAtSink(ctx context.Context, d *command.Deps, db open.Database, r *settings.Relay) (missing []string, err error) {
	in := assemble.Input{Settings: d.Settings, Logger: d.Logger}
	if r.Sink != nil && r.Sink.Kafka != nil && !r.Sink.Kafka.Brokers.Set() { // it uses the shared cluster
		if in.Settings.Kafka, err = d.Kafka(""); err != nil {
			return nil, err
		}
	}
	made, done, err := assemble.Sink(in, *r)
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, sinkPatience)
	defer cancel()
	if checker, ok := made.(driver.Checker); ok {
		if err := checker.Check(ctx); err != nil {
			return nil, err
		}
	}
	lister, known := db.(open.TopicLister)
	checker, asks := made.(driver.TopicChecker)
	if !known || !asks {
		return nil, nil
	}
	used, err := lister.Topics(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range used {
		if len(r.Topics) == 0 || topics.MatchAny(command.RowsOf(r.Topics, func(t settings.Text) string { return t.Value }), t.Topic) {
			names = append(names, t.Topic)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	available, err := checker.CheckTopics(ctx, names)
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(available, name) }), err
}
