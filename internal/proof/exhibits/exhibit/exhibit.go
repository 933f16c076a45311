package exhibit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
)

// caseTimeout bounds one side of a case, on a machine that is busy with other work.
const caseTimeout = 90 * time.Second

var (
	// ErrLeatFails is returned when leat lost, doubled, reordered or delayed a message.
	ErrLeatFails = errors.New("leat fails")
	// ErrOutOfDate is returned when the other side no longer shows the expected outcome. Then the exhibit
	// must be revised.
	ErrOutOfDate = errors.New("the exhibit is out of date")
)

// Side plays a scenario from its beginning to its end, and judges it. Play may call it once on a testbed.
// It may also fail by package fail.
type Side func(ctx context.Context, bed *testbed.Testbed) (Outcome, error)

// Play plays s within caseTimeout.
func (s Side) Play(ctx context.Context, bed *testbed.Testbed) (o Outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, caseTimeout)
	defer cancel()
	failed := fail.Caught(func() { o, err = s(ctx, bed) })
	return o, errors.Join(err, failed)
}

// Case is one scenario.
type Case struct {
	// Name describes what happens, such as "the handler fails".
	Name string
	// Incumbent plays the scenario on what teams use today.
	Incumbent Side
	// Expect is the expected outcome of the incumbent. It is never the zero Outcome.
	Expect Outcome
	// Leat plays the scenario on leat, where nothing may go wrong.
	Leat Side
}

// Exhibit is a group of cases about one piece of software.
type Exhibit struct {
	// Name is the name of the program.
	Name string
	// Subject is the software that the cases are about, with its version.
	Subject string
	// Cases are played in this order.
	Cases []Case
}

// Finding is the result of a case.
type Finding struct {
	Exhibit, Case           string
	Incumbent, Leat, Expect Outcome
}

// Err returns nil if the finding is as expected, and otherwise an error that wraps ErrLeatFails or
// ErrOutOfDate or both.
func (f Finding) Err() error {
	var leat, incumbent error
	if f.Leat != (Outcome{}) {
		leat = fmt.Errorf("%s, %s: %w: %s", f.Exhibit, f.Case, ErrLeatFails, f.Leat)
	}
	if f.Incumbent != f.Expect {
		incumbent = fmt.Errorf("%s, %s: %w: found %s, not %s", f.Exhibit, f.Case, ErrOutOfDate, f.Incumbent, f.Expect)
	}
	return errors.Join(leat, incumbent)
}

// Play plays the cases of e on s, one after the other. An error means that a side could not be
// played; Finding.Err judges the findings.
func (e Exhibit) Play(ctx context.Context, bed *testbed.Testbed) ([]Finding, error) {
	var findings []Finding
	bed.Say("%s: %s", e.Name, e.Subject)
	for _, c := range e.Cases {
		f, err := c.play(ctx, bed)
		f.Exhibit = e.Name
		if err != nil {
			return findings, fmt.Errorf("%s, %s: %w", e.Name, c.Name, err)
		}
		findings = append(findings, f)
	}
	return findings, nil
}

func (c Case) play(ctx context.Context, bed *testbed.Testbed) (f Finding, err error) {
	f = Finding{Case: c.Name, Expect: c.Expect}
	for _, side := range []struct {
		name string
		play Side
		to   *Outcome
	}{{"incumbent", c.Incumbent, &f.Incumbent}, {"leat", c.Leat, &f.Leat}} {
		bed.Say("\n%s, %s:", c.Name, side.name)
		if *side.to, err = side.play.Play(ctx, bed); err != nil {
			return f, fmt.Errorf("%s: %w", side.name, err)
		}
		bed.Say("  => %s", *side.to)
	}
	return f, nil
}
