// Package prove tests, in a scratch place on a server, the properties that leat's promises depend on: with
// probes of two or three sessions, and then with a workload whose history is checked. See
// docs/databases.md.
package prove

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/wait"
)

// Outcome is the result of a probe.
type Outcome string

// Results of a probe.
const (
	// OK: the property holds.
	OK Outcome = "ok"
	// Limited: leat's promises hold, but something is slower or needs care.
	Limited Outcome = "limited"
	// Broken: a promise does not hold on this server.
	Broken Outcome = "broken"
	// CouldNotTry: the result is not known.
	CouldNotTry Outcome = "could not try"
)

// Finding is the result of a probe with its explanation.
type Finding struct {
	Probe    string   `json:"probe"`
	Protects []string `json:"protects"`
	Outcome  Outcome  `json:"outcome"`
	// Details are sentences about what was observed, the most important one first.
	Details []string `json:"details,omitempty"`
	// Advice is what to do about it.
	Advice string `json:"advice,omitempty"`
	// Took is the duration in seconds.
	Took float64 `json:"took_seconds"`
}

// Options of [Run].
type Options struct {
	// Only is a pattern of the names of probes, as in path.Match; "" matches all.
	Only string
	// Workload is how long the workload produces; 0 skips the workload.
	Workload time.Duration
	// Around is called for each probe, and must call do, which runs it. It may show the progress.
	Around func(name string, do func() error) error
	// Tell is called with each finding as soon as it is known.
	Tell func(Finding) error
}

// Workload is the name of the last probe.
const Workload = "workload"

// probeTime is how long a probe may take. On a slow server it is extended by tripsTime times the duration of
// the first steps, which are a few round trips. Some servers never answer.
const probeTime, tripsTime = 10 * time.Second, 40

// settleTime is how long a workload may take beyond that and beyond twice the time for which it produces.
const settleTime = time.Minute

// cleanTime is how long it may take to remove the scratch place.
const cleanTime = 15 * time.Second

// Server is a server to try.
type Server interface {
	// About returns its product and version.
	About(ctx context.Context) string
	// prepare creates the scratch place, and removes abandoned ones.
	prepare(ctx context.Context) error
	// probes returns the probes in the order in which they run: those that explain the failure of others
	// come first.
	probes() []probe
	// shop returns a new store for a workload, with its schemas migrated.
	shop(ctx context.Context) (shop, error)
	// clean cuts all connections, and removes the scratch place.
	clean(ctx context.Context) error
}

// probe tries one property.
type probe struct {
	name string
	// protects are the promises that depend on the property, separated by spaces.
	protects string
	// after are the probes whose failure explains a failure of this one.
	after []string
	// advice is what to do if it fails.
	advice string
	try    func(t *trial)
}

// trial is a running probe.
type trial struct {
	ctx     context.Context //nolint:containedctx // a trial is a call with it
	finding Finding
	// before are the results of the previous probes.
	before map[string]Outcome
	ends   []func()
}

// later registers end, to be called when the trial ends.
func (t *trial) later(end func()) { t.ends = append(t.ends, end) }

func (t *trial) end() {
	for _, end := range slices.Backward(t.ends) {
		end()
	}
}

// say adds a sentence, and raises the outcome to o if it is worse.
func (t *trial) say(o Outcome, format string, args ...any) {
	order := []Outcome{OK, Limited, CouldNotTry, Broken}
	if slices.Index(order, o) > slices.Index(order, t.finding.Outcome) {
		t.finding.Outcome = o
	}
	for line := range strings.Lines(fmt.Sprintf(format, args...)) { // errors may have several
		if line = strings.TrimSpace(line); line != "" {
			t.finding.Details = append(t.finding.Details, line)
		}
	}
}

func (t *trial) broken(format string, args ...any)  { t.say(Broken, format, args...) }
func (t *trial) limited(format string, args ...any) { t.say(Limited, format, args...) }

// pause waits for d.
func (t *trial) pause(d time.Duration) { fail.If(wait.For(t.ctx, d)) }

// soon reports whether holds becomes true within d.
func (t *trial) soon(d time.Duration, holds func() bool) bool {
	for end := time.Now().Add(d); ; t.pause(20 * time.Millisecond) {
		if holds() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// ended is the result of a statement.
type ended struct {
	rows int64
	err  error
}

// start runs a statement that may block.
func (t *trial) start(run func() (rows int64, err error)) <-chan ended {
	done := make(chan ended, 1)
	go func() {
		n, err := run()
		done <- ended{n, err}
	}()
	return done
}

// waits reports whether the statement is still running after a while.
func (t *trial) waits(done <-chan ended) bool {
	select {
	case e := <-done:
		fail.If(e.err)
		return false
	case <-time.After(300 * time.Millisecond):
		return true
	case <-t.ctx.Done():
		fail.Now(t.ctx.Err())
		return false
	}
}

// result waits for the end of the statement.
func (t *trial) result(done <-chan ended) int64 {
	select {
	case e := <-done:
		fail.If(e.err)
		return e.rows
	case <-t.ctx.Done():
		fail.Now(t.ctx.Err())
		return 0
	}
}

// together runs steps concurrently, and ends the probe with the first error.
func (t *trial) together(steps ...func()) {
	errs := make(chan error, len(steps))
	for _, step := range steps {
		go func() { errs <- fail.Caught(step) }()
	}
	var first error
	for range steps {
		if err := <-errs; first == nil {
			first = err
		}
	}
	fail.If(first)
}

// Run tries the server. The scratch place is removed when it returns, unless a finding or the error reports
// otherwise.
func Run(ctx context.Context, server Server, o Options) (found []Finding, err error) {
	probes := slices.DeleteFunc(server.probes(), func(p probe) bool {
		ok, err := path.Match(o.Only, p.name)
		return o.Only != "" && (!ok || err != nil)
	})
	ok, _ := path.Match(o.Only, Workload)
	if o.Workload > 0 && (o.Only == "" || ok) {
		probes = append(probes, probe{
			name: Workload, protects: "O1 O2 O3 O4 O5 O10 I1 I2 I3", after: []string{"leat.check"},
			try: func(t *trial) { runWorkload(t, server, o.Workload) },
		})
	}
	if len(probes) == 0 {
		return nil, nil
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
		defer cancel()
		switch left := server.clean(clean); {
		case left != nil && err == nil:
			f := Finding{Probe: "scratch", Protects: []string{}, Outcome: Limited, Details: []string{left.Error()}}
			found, err = append(found, f), o.Tell(f)
		default:
			err = errors.Join(err, left)
		}
	}()
	began := time.Now()
	if err := server.prepare(ctx); err != nil {
		return nil, err
	}
	patience := probeTime + tripsTime*time.Since(began)
	before := map[string]Outcome{}
	for _, p := range probes {
		var f Finding
		limit := patience
		if p.name == Workload {
			limit += 2*o.Workload + settleTime
		}
		err := o.Around(p.name, func() error {
			f = p.run(ctx, before, limit)
			return ctx.Err()
		})
		if err == nil {
			err = o.Tell(f)
		}
		if err != nil {
			return found, err
		}
		found, before[p.name] = append(found, f), f.Outcome
	}
	return found, nil
}

// run tries the probe.
func (p probe) run(ctx context.Context, before map[string]Outcome, limit time.Duration) Finding {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	t := &trial{ctx: ctx, before: before, finding: Finding{Probe: p.name, Protects: strings.Fields(p.protects), Outcome: OK, Advice: p.advice}}
	err := fail.Caught(func() { p.try(t) })
	t.end()
	if err != nil {
		t.say(judge(ctx, err))
	}
	if t.finding.Outcome == Broken {
		for _, name := range p.after {
			switch before[name] {
			case Broken, CouldNotTry:
				t.finding.Outcome = CouldNotTry
			case Limited:
				t.finding.Outcome = Limited
			default:
				continue
			}
			t.finding.Details, t.finding.Advice = []string{"follows from " + name + ": " + t.finding.Details[0]}, ""
			break
		}
	}
	if o := t.finding.Outcome; o == OK || o == CouldNotTry {
		t.finding.Advice = ""
	}
	t.finding.Took = time.Since(began).Seconds()
	return t.finding
}

// refusal is an error returned by a server, or by leat itself.
type refusal struct {
	error

	// leat is set if leat refuses, rights if the server reports a missing privilege.
	leat, rights bool
}

func (r refusal) Unwrap() error { return r.error }

// judge translates the error that has ended a probe. A feature that the server rejects counts as missing.
func judge(ctx context.Context, err error) (o Outcome, format, text string) {
	refused, ok := errors.AsType[refusal](err)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return CouldNotTry, "%s", "was not over in time: " + err.Error()
	case ok && refused.leat:
		return Broken, "leat refuses: %s", err.Error()
	case ok && !refused.rights:
		return Broken, "the server refuses: %s", err.Error()
	default:
		return CouldNotTry, "%s", err.Error()
	}
}

// Worst is the combined outcome of all findings: broken ranks before could not try, and that before
// limited.
func Worst(found []Finding) Outcome {
	for _, o := range []Outcome{Broken, CouldNotTry, Limited} {
		if slices.ContainsFunc(found, func(f Finding) bool { return f.Outcome == o }) {
			return o
		}
	}
	return OK
}
