package diagnose

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/outbox/admin"
)

// outboxChecks are the checks that apply to every store.
type outboxChecks struct {
	store admin.Outbox
	// lag is the age of the oldest unsettled message above which a group lags.
	lag time.Duration
	// log are the bounds of the log's maintenance.
	log logBounds
	// standbys is set if the store records standby relays.
	standbys bool
	// together is set if all groups are rebased at once.
	together bool
}

func (o outboxChecks) all() []doctor.Check {
	return []doctor.Check{
		{Name: "outbox.positions", Run: o.positions},
		{Name: "outbox.groups", Run: o.groups},
		{Name: "outbox.replicas", Run: o.replicas},
		{Name: "outbox.lag", Run: o.lags},
		{Name: "outbox.destinations", Run: o.destinations},
		{Name: "outbox.held", Run: o.held},
		{Name: "outbox.parked", Run: o.parked},
		{Name: "outbox.maintenance", Run: o.maintenance},
		{Name: "outbox.delayed", Run: o.delayed},
		{Name: "outbox.ranges", Run: o.ranges},
		{Name: "outbox.size", Run: o.size},
	}
}

// stats calls look for each group.
func (o outboxChecks) stats(ctx context.Context, look func(admin.GroupStats) []doctor.Finding) ([]doctor.Finding, error) {
	stats, err := o.store.Stats(ctx)
	if err != nil {
		return nil, err
	}
	var all []doctor.Finding
	for _, g := range stats.Groups {
		all = append(all, look(g)...)
	}
	return all, nil
}

func (o outboxChecks) positions(ctx context.Context) ([]doctor.Finding, error) {
	return o.stats(ctx, func(g admin.GroupStats) (all []doctor.Finding) {
		for _, s := range g.Slots {
			if s.Problem == "" {
				continue
			}
			what, advice := s.Problem, o.rebase(g.Name)
			if fact, ok := basis.Find(s.Problem); ok {
				what, advice = strings.TrimSuffix(what, ": "+fact.Do), fact.Do+": "+advice
			}
			all = append(all, doctor.Finding{
				Verdict: doctor.Fail, Text: fmt.Sprintf("group %s, slot %d: %s", g.Name, s.Slot, what), Advice: advice,
			})
		}
		return all
	})
}

// rebase returns the advice for a position that does not fit.
func (o outboxChecks) rebase(group string) string {
	if o.together {
		return "see docs/databases.md, leat rebase --all-groups --start oldest"
	}
	return "see docs/operations.md, leat rebase --group " + group
}

func (o outboxChecks) parked(ctx context.Context) ([]doctor.Finding, error) {
	return o.stats(ctx, func(g admin.GroupStats) []doctor.Finding {
		if g.Parked == 0 {
			return nil
		}
		return []doctor.Finding{{
			Verdict: doctor.Warn, Text: fmt.Sprintf("group %s: an operator must act on %s", g.Name, show.Things(int64(g.Parked), "parked record")),
			Advice: "leat parked errors --group " + g.Name,
		}}
	})
}

func (o outboxChecks) lags(ctx context.Context) ([]doctor.Finding, error) {
	return o.stats(ctx, func(g admin.GroupStats) (all []doctor.Finding) {
		for _, held := range []struct {
			age          time.Duration
			what, advice string
		}{
			{g.OldestRetried, "a message is tried again since", "leat parked list --retrying --group " + g.Name},
			{g.OldestWaiting, "a message waits behind another one of its key for", "leat parked keys --group " + g.Name},
		} {
			if held.age > o.lag {
				all = append(all, doctor.Finding{
					Verdict: doctor.Warn, Text: fmt.Sprintf("group %s: %s %s", g.Name, held.what, held.age.Round(time.Second)), Advice: held.advice,
				})
			}
		}
		for _, s := range g.Slots {
			if s.Lag > o.lag {
				all = append(all, doctor.Finding{
					Verdict: doctor.Warn, Text: fmt.Sprintf("group %s, slot %d: a message waits for %s", g.Name, s.Slot, s.Lag.Round(time.Second)),
					Advice: "leat status; is the destination out, or the relay?",
				})
			}
		}
		return all
	})
}

// destinations reports the outages that the leaders have stored.
func (o outboxChecks) destinations(ctx context.Context) ([]doctor.Finding, error) {
	return o.stats(ctx, func(g admin.GroupStats) (all []doctor.Finding) {
		for _, l := range command.OutageLines(g.Name, command.RowsOf(g.Out, command.NewOutageRow)) {
			advice := "see to the destination: what waits is sent when it is back"
			if l.First.Cause == "unavailable" {
				advice = "create what is missing, or grant it: what waits is sent then"
			}
			all = append(all, doctor.Finding{Verdict: doctor.Fail, Text: "group " + g.Name + ": " + l.Text(time.Now()), Advice: advice})
		}
		return all
	})
}

// maxHeld is the default of relay.Config.MaxHeld, which bounds the records that a slot sets aside.
const maxHeld = 100_000

func (o outboxChecks) held(ctx context.Context) ([]doctor.Finding, error) {
	return o.stats(ctx, func(g admin.GroupStats) []doctor.Finding {
		if g.Held < maxHeld/5*4 {
			return nil
		}
		return []doctor.Finding{{
			Verdict: doctor.Warn, Text: fmt.Sprintf("group %s has set %s aside: at %s a slot stops, unless max_held is set higher", g.Name, show.Things(int64(g.Held), "record"), show.Count(maxHeld)),
			Advice: "leat parked errors --group " + g.Name + ", then redrive or drop",
		}}
	})
}

// delayedPatience is how long a delayed message may be overdue. Maintenance moves due messages about every
// second.
const delayedPatience = time.Minute

// delayed uses the clock of this host; the check server.clock reports its offset.
func (o outboxChecks) delayed(ctx context.Context) ([]doctor.Finding, error) {
	scheduler, ok := o.store.(admin.Manager)
	if !ok {
		return nil, nil
	}
	first, err := scheduler.Delayed(ctx, admin.DelayedQuery{Limit: 1})
	if err != nil || len(first) == 0 {
		return nil, err
	}
	overdue := time.Since(first[0].NotBefore)
	if overdue < delayedPatience {
		return nil, nil
	}
	return []doctor.Finding{{
		Verdict: doctor.Fail, Text: fmt.Sprintf("a delayed message is due since %s, and was not moved to the log", overdue.Round(time.Second)),
		Advice: "run its maintenance, in leat run or in your services; leat retention run moves what is due",
	}}, nil
}

// replicas warns of groups without a standby. It is skipped if the store does not record standby relays,
// since a single leader may not be alone there.
func (o outboxChecks) replicas(ctx context.Context) ([]doctor.Finding, error) {
	if !o.standbys {
		return nil, nil
	}
	groups, err := o.store.Groups(ctx)
	if err != nil {
		return nil, err
	}
	var all []doctor.Finding
	for _, g := range groups {
		if g.Relays == 1 {
			all = append(all, doctor.Finding{
				Verdict: doctor.Warn, Text: "group " + g.Name + ": one relay alone: nobody takes over if it dies", Advice: "run it in two processes",
			})
		}
	}
	return all, nil
}

func (o outboxChecks) groups(ctx context.Context) ([]doctor.Finding, error) {
	groups, err := o.store.Groups(ctx)
	if err != nil {
		return nil, err
	}
	var all []doctor.Finding
	warn := func(group, what, advice string) {
		all = append(all, doctor.Finding{Verdict: doctor.Warn, Text: "group " + group + ": " + what, Advice: advice})
	}
	waits := map[string]int64{}
	_, err = o.stats(ctx, func(g admin.GroupStats) []doctor.Finding {
		waits[g.Name] = int64(g.Held)
		for _, s := range g.Slots {
			waits[g.Name] += s.Backlog
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if g.Relays == 0 {
			advice := "start its relays: leat run, or those in your services"
			switch n := waits[g.Name]; {
			case n > 0:
				advice += fmt.Sprintf("; nobody else sends the %s of its backlog", show.Things(n, "message"))
			case slices.ContainsFunc(groups, func(other admin.Group) bool { return other.Relays > 0 }):
				advice += "; only if nobody needs the group any more, leat groups remove " + g.Name
			}
			warn(g.Name, "no relay lives, and its position holds history back", advice)
		}
		if len(g.Policies) > 1 {
			warn(g.Name, "its relays have different policies, and the one that loses less counts: "+strings.Join(g.Policies, " | "), "configure them alike; see docs/changing.md")
		}
		if len(g.Paused) > 0 {
			warn(g.Name, "is paused: "+strings.Join(g.Paused, ", "), "leat groups resume "+g.Name)
		}
		if g.NextSlots > 0 {
			warn(g.Name, fmt.Sprintf("its slots are being changed from %d to %d", g.Slots, g.NextSlots), "start all its relays with the same number")
		}
	}
	return all, nil
}

func (o outboxChecks) maintenance(ctx context.Context) ([]doctor.Finding, error) {
	stats, err := o.store.Stats(ctx)
	if err != nil {
		return nil, err
	}
	if _, needed := o.store.(admin.RangeLister); !needed || stats.Maintainer != "" {
		return nil, nil
	}
	return []doctor.Finding{{
		Verdict: doctor.Warn, Text: "no process keeps the log in shape: nothing old goes, nothing delayed becomes due",
		Advice: "run its maintenance, in leat run or in your services, or leat retention run",
	}}, nil
}
