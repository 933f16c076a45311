// Package prover tests, in a scratch place on a server, the properties that leat's promises depend on: with
// probes of two or three sessions, and then with a workload whose history is checked. It knows no server:
// these are in cmd/leat/internal/prove, and DynamoDB beside its client.
package prover

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

// settleTime is how long a workload may take beyond probeTime and twice the time for which it produces.
const settleTime = time.Minute

// cleanTime is how long it may take to remove the scratch place.
const cleanTime = 15 * time.Second

// Server is a server to try.
type Server interface {
	// About returns its product and version.
	About(ctx context.Context) string
	// Prepare creates the scratch place, and removes abandoned ones.
	Prepare(ctx context.Context) error
	// Probes returns the probes in the order in which they run: those that explain the failure of others
	// come first.
	Probes() []Probe
	// Shop returns a new store for a workload, with its schemas migrated.
	Shop(ctx context.Context) (Shop, error)
	// Clean cuts all connections, and removes the scratch place.
	Clean(ctx context.Context) error
}

// Waiter is a Server whose scratch place cannot be used at once. How long that takes says nothing about the
// time of its round trips.
type Waiter interface {
	// Wait waits until the scratch place can be used.
	Wait(ctx context.Context) error
}

// Probe tries one property.
type Probe struct {
	name, advice string
	protects     []string
	after        []string
	try          func(t *Trial)
}

// NewProbe returns a probe. protects are the promises that depend on the property, separated by spaces. after
// are the probes whose failure explains a failure of this one. advice is what to do if it fails.
func NewProbe(name, protects string, after []string, advice string, try func(t *Trial)) Probe {
	return Probe{name, advice, strings.Fields(protects), after, try}
}

// Trial is a running probe.
type Trial struct {
	// Finding is what is known so far.
	Finding Finding
	// Before are the results of the previous probes.
	Before map[string]Outcome

	ctx  context.Context //nolint:containedctx // a trial is a call with it
	ends []func()
}

// Context returns the context of the probe. It ends when the probe has taken too long.
func (t *Trial) Context() context.Context { return t.ctx }

// Later registers end, to be called when the trial ends.
func (t *Trial) Later(end func()) { t.ends = append(t.ends, end) }

func (t *Trial) end() {
	for _, end := range slices.Backward(t.ends) {
		end()
	}
}

// Say adds a sentence, and raises the outcome to o if it is worse.
func (t *Trial) Say(o Outcome, format string, args ...any) {
	order := []Outcome{OK, Limited, CouldNotTry, Broken}
	if slices.Index(order, o) > slices.Index(order, t.Finding.Outcome) {
		t.Finding.Outcome = o
	}
	for line := range strings.Lines(fmt.Sprintf(format, args...)) { // errors may have several
		if line = strings.TrimSpace(line); line != "" {
			t.Finding.Details = append(t.Finding.Details, line)
		}
	}
}

// Broken says what does not hold.
func (t *Trial) Broken(format string, args ...any) { t.Say(Broken, format, args...) }

// Limited says what is slower, or needs care.
func (t *Trial) Limited(format string, args ...any) { t.Say(Limited, format, args...) }

// Pause waits for d.
func (t *Trial) Pause(d time.Duration) { fail.If(wait.For(t.ctx, d)) }

// Soon reports whether holds becomes true within d.
func (t *Trial) Soon(d time.Duration, holds func() bool) bool {
	for end := time.Now().Add(d); ; t.Pause(20 * time.Millisecond) {
		if holds() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// Ended is the result of a statement.
type Ended struct {
	rows int64
	err  error
}

// Start runs a statement that may block.
func (t *Trial) Start(run func() (rows int64, err error)) <-chan Ended {
	done := make(chan Ended, 1)
	go func() {
		n, err := run()
		done <- Ended{n, err}
	}()
	return done
}

// Waits reports whether the statement is still running after a while.
func (t *Trial) Waits(done <-chan Ended) bool {
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

// Result waits for the end of the statement.
func (t *Trial) Result(done <-chan Ended) int64 {
	select {
	case e := <-done:
		fail.If(e.err)
		return e.rows
	case <-t.ctx.Done():
		fail.Now(t.ctx.Err())
		return 0
	}
}

// Together runs steps concurrently, and ends the probe with the first error.
func (t *Trial) Together(steps ...func()) {
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
	probes := slices.DeleteFunc(server.Probes(), func(p Probe) bool {
		ok, err := path.Match(o.Only, p.name)
		return o.Only != "" && (!ok || err != nil)
	})
	ok, _ := path.Match(o.Only, Workload)
	if o.Workload > 0 && (o.Only == "" || ok) {
		probes = append(probes, NewProbe(Workload, "O1 O2 O3 O4 O5 O10 I1 I2 I3", []string{"leat.check"}, "", func(t *Trial) { //nolint:contextcheck // a trial has its context
			runWorkload(t, server, o.Workload)
		}))
	}
	if len(probes) == 0 {
		return nil, nil
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
		defer cancel()
		switch left := server.Clean(clean); {
		case left != nil && err == nil:
			f := Finding{Probe: "scratch", Protects: []string{}, Outcome: Limited, Details: []string{left.Error()}}
			found, err = append(found, f), o.Tell(f)
		default:
			err = errors.Join(err, left)
		}
	}()
	began := time.Now()
	if err := server.Prepare(ctx); err != nil {
		return nil, err
	}
	patience := probeTime + tripsTime*time.Since(began)
	if w, ok := server.(Waiter); ok {
		if err := o.Around("scratch", func() error { return w.Wait(ctx) }); err != nil {
			return nil, err
		}
	}
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
func (p Probe) run(ctx context.Context, before map[string]Outcome, limit time.Duration) Finding {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	t := &Trial{ctx: ctx, Before: before, Finding: Finding{Probe: p.name, Protects: p.protects, Outcome: OK, Advice: p.advice}}
	err := fail.Caught(func() { p.try(t) })
	t.end()
	if err != nil {
		t.Say(judge(ctx, err))
	}
	if t.Finding.Outcome == Broken {
		for _, name := range p.after {
			switch before[name] {
			case Broken, CouldNotTry:
				t.Finding.Outcome = CouldNotTry
			case Limited:
				t.Finding.Outcome = Limited
			default:
				continue
			}
			t.Finding.Details, t.Finding.Advice = []string{"follows from " + name + ": " + t.Finding.Details[0]}, ""
			break
		}
	}
	if o := t.Finding.Outcome; o == OK || o == CouldNotTry {
		t.Finding.Advice = ""
	}
	t.Finding.Took = time.Since(began).Seconds()
	return t.Finding
}

// RefusedError is an error returned by a server, or by leat itself.
type RefusedError struct {
	error

	// Leat is set if leat refuses, Rights if the server reports a missing privilege.
	Leat, Rights bool
}

// Refused marks err as an error returned by the server. rights is set if it reports a missing privilege.
func Refused(err error, rights bool) error { return RefusedError{error: err, Rights: rights} }

// Said marks err as an error of leat itself: leat refuses to work on this server.
func Said(who string, err error) error {
	if err == nil {
		return nil
	}
	return RefusedError{error: fmt.Errorf("%s: %w", who, err), Leat: true}
}

func (r RefusedError) Unwrap() error { return r.error }

// judge translates the error that has ended a probe. A feature that the server rejects counts as missing.
func judge(ctx context.Context, err error) (o Outcome, format, text string) {
	refused, ok := errors.AsType[RefusedError](err)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return CouldNotTry, "%s", "was not over in time: " + err.Error()
	case ok && refused.Leat:
		return Broken, "leat refuses: %s", err.Error()
	case ok && !refused.Rights:
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

// Report is all that was found on a server.
type Report struct {
	Server   string    `json:"server"`
	Outcome  Outcome   `json:"outcome"`
	Findings []Finding `json:"findings"`
}

// Widths of the columns of [Finding.Lines]. The longest name is tables.transactions.
const nameWidth, outcomeWidth = 21, 15

// Lines returns the finding as it is printed. wrap breaks a text into lines, of which the first one begins with
// first and the others with rest, and paint colours an outcome.
func (f Finding) Lines(wrap func(text, first, rest string) []string, paint func(Outcome) string) []string {
	indent := strings.Repeat(" ", nameWidth+outcomeWidth)
	first := fmt.Sprintf("%-*s", nameWidth, f.Probe) + paint(f.Outcome) + strings.Repeat(" ", outcomeWidth-len(f.Outcome))
	lines := []string{strings.TrimRight(first, " ")}
	for i, detail := range f.Details {
		wrapped := wrap(detail, indent, indent+"  ")
		if i == 0 {
			lines, wrapped[0] = nil, first+strings.TrimPrefix(wrapped[0], indent)
		}
		lines = append(lines, wrapped...)
	}
	if f.Advice != "" {
		lines = append(lines, wrap(f.Advice, indent+"→ ", indent+"  ")...)
	}
	return lines
}
