package outboxtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// Features lists the parts of the contract that an outbox lacks. The zero value lacks nothing. The suite
// fails an outbox that has what it is said to lack: see Claims.
type Features struct {
	// OneWriter is set if an open transaction makes all other writers wait for its end:
	// other transactions, and relays that take a lease or store a position.
	OneWriter bool

	// NoKeyOrder is set if writers of one key do not wait for one another, and the order
	// of a key is not that of the commits.
	NoKeyOrder bool

	// OptimisticKeys is set if writers of one key do not wait for one another, but the order of a
	// key is still that of the commits: Commit draws the numbers.
	OptimisticKeys bool

	// NoGroups is set if there is only one relay group.
	NoGroups bool

	// MaxMessages is the largest number of messages in a transaction. Defaults to 0: any number.
	MaxMessages int

	// NoDelay is set if a message with a NotBefore is refused.
	NoDelay bool

	// NoWakes is set if Source.Wakes returns nil.
	NoWakes bool

	// LazyAdvance is set if Session.Advance may only record the position in memory. Then Advance
	// need not notice that the lease is lost, and after a crash of a session a page may be
	// repeated although it was settled, unless an empty page or Release came after it.
	LazyAdvance bool

	// NoHolder is set if sessions do not implement driver.Holder. If they do, the Subject
	// must be an admin.Outbox.
	NoHolder bool

	// NoSlots is set if sources do not implement driver.Sharded. If they do, the Subject
	// must be a Grouper.
	NoSlots bool

	// FixedSlots is set if the number of slots of a group cannot be changed.
	FixedSlots bool

	// NoStarts is set if every new group begins at the oldest record. If it can begin
	// elsewhere, the Subject must be a Grouper.
	NoStarts bool

	// NoTopics is set if every group reads all topics. If a group can read some of them,
	// the Subject must be a Grouper.
	NoTopics bool

	// NoPositions is set if sessions do not implement driver.Positioned. If they do, the
	// Subject must be a Grouper.
	NoPositions bool

	// NoHistory is set if a record is gone once all existing groups have settled it. A
	// group that begins later then need not see it.
	NoHistory bool

	// NoRetention is set if records are deleted only because all groups have settled them, and
	// not by a separate retention. If there is a retention, the Subject must be a Retainer.
	NoRetention bool

	// NoTakeover is set if the lease of a holder that has died lasts until it expires. If it is
	// taken over at once, the Subject must be a Mortal.
	NoTakeover bool

	// NoReplay is set if there is no driver.History. If there is one, the Subject must be a
	// Replayer.
	NoReplay bool

	// MaxPayloadBytes is the largest payload that the subject accepts.
	// Defaults to outbox.DefaultMaxPayloadBytes.
	MaxPayloadBytes int

	// DueBytes bounds an answer of Due of driver.Holder, in bytes of payloads. The answer
	// ends there although more is due; only its last record may pass the bound.
	// Defaults to 4 MiB.
	DueBytes int
}

func (f Features) withDefaults() Features {
	f.MaxPayloadBytes = cmp.Or(f.MaxPayloadBytes, outbox.DefaultMaxPayloadBytes)
	f.DueBytes = cmp.Or(f.DueBytes, 4<<20)
	return f
}

// oneWriter skips checks that hold a transaction open while others work.
func oneWriter(f Features) bool { return f.OneWriter }

// unless returns checks that are also skipped if lacks returns true.
func unless(lacks func(f Features) bool, checks ...Check) []Check {
	for i := range checks {
		own := checks[i].skip
		checks[i].skip = func(f Features) bool { return lacks(f) || own != nil && own(f) }
	}
	return checks
}

// ErrUnclaimed is wrapped by the errors of Claims.
var ErrUnclaimed = errors.New("leat: the outbox can do what the Features of its test rule out")

// Claims returns a table of what is checked of an outbox and what is not. It returns an error for
// every feature that f rules out although s has it, so that a promise is not left unchecked by
// claiming too little. No check may have used s before. The table shows for each feature:
//
//   - "checked": with the number of checks that would be left out without it.
//   - "impossible": s was tested for it, and does not have it.
//   - "not claimed": f rules it out, and s cannot be tested for it.
//   - "NOT CLAIMED": f rules it out, and s has it.
func Claims(ctx context.Context, f Features, s Subject) (table string, err error) {
	tr := &trial{Subject: s, features: f.withDefaults()}
	defer tr.end()
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	var errs []error
	for _, feature := range allFeatures() {
		state := "checked"
		if n := feature.checks(); n > 0 {
			state = fmt.Sprintf("checked\tby %d", n)
		}
		if feature.lacks(f) {
			var err error
			state, err = feature.look(ctx, tr)
			errs = append(errs, err)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\n", feature.name, state) // a Builder accepts everything
	}
	_ = w.Flush()
	return text.String(), errors.Join(errs...)
}

// presence is the result of a test for a feature that Features rules out.
type presence int

const (
	unknown presence = iota // it cannot be tested
	absent
	present
)

// feature is one of Features.
type feature struct {
	name string
	// without is a Features that rules out only this feature.
	without Features
	// lacks reports whether f rules it out.
	lacks func(f Features) bool
	// see looks for the feature in a Subject whose Features rule it out.
	see func(ctx context.Context, tr *trial) presence
}

// checks counts the checks that are skipped without it.
func (x feature) checks() int {
	n := 0
	for _, c := range append(outboxChecks(), relayChecks()...) {
		if c.skip != nil && c.skip(x.without) && !c.skip(Features{}) {
			n++
		}
	}
	return n
}

// look returns the state of a feature that is ruled out.
func (x feature) look(ctx context.Context, tr *trial) (string, error) {
	var there presence
	err := fail.Caught(func() { there = x.see(ctx, tr) })
	switch {
	case err != nil:
		return "error", fmt.Errorf("look for %s: %w", x.name, err)
	case there == present:
		return "NOT CLAIMED\tit is there", fmt.Errorf("%w: %s", ErrUnclaimed, x.name)
	case there == absent:
		return "impossible", nil
	default:
		return "not claimed", nil
	}
}

func allFeatures() []feature {
	return []feature{
		{"several writers", Features{OneWriter: true}, func(f Features) bool { return f.OneWriter }, seeWriters},
		{"key order", Features{NoKeyOrder: true}, func(f Features) bool { return f.NoKeyOrder }, seeKeyOrder},
		{"keys that wait", Features{OptimisticKeys: true}, func(f Features) bool { return f.OptimisticKeys }, seeKeyOrder},
		{"groups", Features{NoGroups: true}, func(f Features) bool { return f.NoGroups }, seeGroups},
		{"delayed messages", Features{NoDelay: true}, func(f Features) bool { return f.NoDelay }, seeDelay},
		{"wakes", Features{NoWakes: true}, func(f Features) bool { return f.NoWakes }, seeWakes},
		{"every position stored at once", Features{LazyAdvance: true}, func(f Features) bool { return f.LazyAdvance }, seeNothing},
		{"records set aside", Features{NoHolder: true}, func(f Features) bool { return f.NoHolder }, seeHolder},
		{"slots", Features{NoSlots: true}, func(f Features) bool { return f.NoSlots }, seeSlots},
		{"change of slots", Features{FixedSlots: true}, func(f Features) bool { return f.FixedSlots }, seeSlotChange},
		{"stated starts", Features{NoStarts: true}, func(f Features) bool { return f.NoStarts }, seeStarts},
		{"topic filters", Features{NoTopics: true}, func(f Features) bool { return f.NoTopics }, seeTopics},
		{"positions of sinks", Features{NoPositions: true}, func(f Features) bool { return f.NoPositions }, seePositions},
		{"history of settled records", Features{NoHistory: true}, func(f Features) bool { return f.NoHistory }, seeHistory},
		{"retention", Features{NoRetention: true}, noRetention, seeRetention},
		{"takeover from the dead", Features{NoTakeover: true}, noTakeover, seeTakeover},
		{"replay", Features{NoReplay: true}, func(f Features) bool { return f.NoReplay }, seeReplay},
	}
}

func found(is bool) presence {
	if is {
		return present
	}
	return absent
}

func seeNothing(context.Context, *trial) presence { return unknown }

// seeSecond reports whether an Enqueue of msgs waits while another transaction that has enqueued them is open.
func (tr *trial) seeSecond(ctx context.Context, msgs []outbox.Message) (waited bool) {
	first := tr.open(ctx, msgs...)
	short, cancel := context.WithTimeout(ctx, blockedFor)
	defer cancel()
	second, err := tr.Begin(short)
	if err == nil {
		err = second.Enqueue(short, msgs...)
		_ = second.Rollback(context.WithoutCancel(ctx)) // any error will do: the end of the wait may have broken the connection
	}
	waited = err != nil && short.Err() != nil
	if waited {
		err = nil
	}
	fail.IfAny(err, first.Rollback(ctx))
	return waited
}

func seeWriters(ctx context.Context, tr *trial) presence {
	return found(!tr.seeSecond(ctx, named("claims")))
}

// seeKeyOrder cannot find out why the second writer waits if all writers wait.
func seeKeyOrder(ctx context.Context, tr *trial) presence {
	if tr.features.OneWriter {
		return unknown
	}
	return found(tr.seeSecond(ctx, keyed("claims", "claims")))
}

// seeGroups tries to hold the leases of two groups.
func seeGroups(ctx context.Context, tr *trial) presence {
	r := tr.acquire(ctx)
	other, err := tr.Source("another").Acquire(ctx, longTTL)
	if err == nil {
		fail.If(other.Release(ctx))
	}
	fail.If(r.Release(ctx))
	return found(err == nil)
}

func seeDelay(ctx context.Context, tr *trial) presence {
	tx := tr.begin(ctx)
	err := tx.Enqueue(ctx, until(time.Now().Add(time.Hour), named("claims")...)...)
	fail.If(tx.Rollback(ctx))
	return found(err == nil)
}

func seeWakes(ctx context.Context, tr *trial) presence {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return found(tr.Source(testGroup).Wakes(ctx) != nil)
}

// seeSession examines a session of testGroup.
func seeSession[T any](ctx context.Context, tr *trial) presence {
	r := tr.acquire(ctx)
	_, is := r.Session.(T)
	fail.If(r.Release(ctx))
	return found(is)
}

func seeHolder(ctx context.Context, tr *trial) presence {
	return seeSession[driver.Holder](ctx, tr)
}

func seePositions(ctx context.Context, tr *trial) presence {
	return seeSession[driver.Positioned](ctx, tr)
}

func seeSlots(_ context.Context, tr *trial) presence {
	_, is := tr.Source(testGroup).(driver.Sharded)
	return found(is)
}

// seeSlotChange requests another number of slots for a while.
func seeSlotChange(ctx context.Context, tr *trial) presence {
	if tr.features.NoSlots {
		return absent
	}
	short, cancel := context.WithTimeout(ctx, 10*changeTTL)
	defer cancel()
	f := tr.fleet(2)
	f.change(short, 2)
	changed := fail.Caught(func() { f.change(short, 3) })
	_ = fail.Caught(func() { f.release(context.WithoutCancel(ctx)) })
	return found(changed == nil)
}

func seeStarts(_ context.Context, tr *trial) presence {
	return tr.seeGroup(GroupConfig{Name: "claims", Start: driver.Start{Now: true}})
}

func seeTopics(_ context.Context, tr *trial) presence {
	return tr.seeGroup(GroupConfig{Name: "claims", Topics: []string{testTopic}})
}

// seeGroup requests a group with cfg from a Grouper.
func (tr *trial) seeGroup(cfg GroupConfig) presence {
	g, ok := tr.Subject.(Grouper)
	if !ok {
		return unknown
	}
	_, err := g.Group(cfg)
	return found(err == nil)
}

// seeHistory settles a record in one group and looks for it in a new one.
func seeHistory(ctx context.Context, tr *trial) presence {
	if tr.features.NoGroups {
		return unknown
	}
	tr.commit(ctx, named("claims")...)
	tr.readAll(ctx)
	r := acquireFrom(ctx, tr.Source("claims"))
	got := r.drain(ctx, 10)
	fail.If(r.Release(ctx))
	return found(len(got) > 0)
}

func seeRetention(_ context.Context, tr *trial) presence {
	_, is := tr.Subject.(Retainer)
	return found(is)
}

func noTakeover(f Features) bool { return f.NoTakeover }

// seeTakeover requests a lease that another session holds: a source that notices dead holders
// returns when to ask again.
func seeTakeover(ctx context.Context, tr *trial) presence {
	r := tr.acquire(ctx)
	_, err := tr.Source(testGroup).Acquire(ctx, longTTL)
	fail.If(r.Release(ctx))
	if held, ok := errors.AsType[*driver.LeaseHeldError](err); ok {
		return found(held.Retry > 0)
	}
	return unknown
}

// seeReplay looks for a method of the subject, such as one of an outbox that it embeds, that
// returns a driver.History.
func seeReplay(_ context.Context, tr *trial) presence {
	if _, is := tr.Subject.(Replayer); is {
		return present
	}
	for method := range reflect.TypeOf(tr.Subject).Methods() {
		for out := range method.Type.Outs() {
			if out.Implements(reflect.TypeFor[driver.History]()) {
				return present
			}
		}
	}
	return unknown
}
