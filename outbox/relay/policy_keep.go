package relay

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// A relay registers as alive every policiesEvery, and counts for policiesTTL from then on: two of
// its notes may fail.
const (
	policiesEvery = 2 * time.Minute
	policiesTTL   = 5 * time.Minute
)

// keptPolicies are the policies of the relays of the group, as far as this one knows. A relay
// stores its own before it leads. If its own policy would lose a record, it asks for those of the
// others, and the one that loses least applies. So the outcome does not depend on which relay
// leads while relays are configured differently.
//
// It asks after the sink has answered, and before anything else of the record's key is sent: if
// the record is parked instead of skipped, those behind it must wait. See design 2.14.
type keptPolicies struct {
	keeper driver.PolicyKeeper // nil if the source is not a PolicyKeeper
	relay  string              // the name of this relay in the note
	own    []basis.Policy

	mu     sync.Mutex // locked while the source is asked
	noted  time.Time  // when own was stored; zero if it was not
	left   bool       // Run ends: nothing is stored any more
	differ []string   // what was last logged about differing policies
}

// begin is called when Run or RunOnce begins.
func (k *keptPolicies) begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.noted, k.left = time.Time{}, false
}

// begun reports whether this relay has stored its policies.
func (k *keptPolicies) begun() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.noted.IsZero()
}

// of sets k up for a relay with source and cfg.
func (k *keptPolicies) of(source driver.Source, cfg *Config) (err error) {
	if k.keeper, _ = source.(driver.PolicyKeeper); k.keeper == nil {
		return nil
	}
	k.relay, err = ids.New()
	for _, p := range append(slices.Clone(cfg.Policies), Policy{}.withDefaults()) {
		k.own = append(k.own, basis.Policy{Topics: p.Topics, Action: p.Action.String(), Attempts: p.Attempts})
		if p.Topics == "*" {
			break // later policies are never used
		}
	}
	return err
}

// notePolicies registers that this relay is alive, if it is time to.
func (r *Relay) notePolicies(ctx context.Context) error {
	k := &r.policies
	if k.keeper == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left || !k.noted.IsZero() && time.Since(k.noted) < policiesEvery {
		return nil
	}
	asked := time.Now()
	alive, kept, err := k.change(ctx, r.cfg.PublishTimeout, policiesTTL)
	if kept && err == nil {
		k.noted = asked
		k.say(ctx, r.log, alive)
	}
	if err != nil && ctx.Err() == nil {
		r.onFault(ctx, "policies", err)
	}
	return err
}

// leavePolicies unregisters this relay.
func (r *Relay) leavePolicies(ctx context.Context) {
	k := &r.policies
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left = true; k.noted.IsZero() {
		return
	}
	k.noted = time.Time{}
	if _, _, err := k.change(ctx, r.cfg.DrainTimeout/4, 0); err != nil {
		r.onFault(ctx, "policies", err)
	}
}

// change stores how long this relay counts as alive, and returns the policies of the live relays.
// The caller holds mu.
func (k *keptPolicies) change(ctx context.Context, timeout, ttl time.Duration) (alive basis.Policies, kept bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	kept, err = k.keeper.KeepPolicies(ctx, func(note string, now time.Time) string {
		alive = basis.ParsePolicies(note).Keep(k.relay, k.own, now, ttl)
		return alive.Note()
	})
	return alive, kept, err
}

// say logs once that relays are configured differently, and once that they no longer are. The
// caller holds mu.
func (k *keptPolicies) say(ctx context.Context, log *slog.Logger, alive basis.Policies) {
	const text = "relays of the group have different policies; the one that loses less counts"
	texts := alive.Texts()
	if len(texts) < 2 {
		texts = nil
	}
	if slices.Equal(texts, k.differ) {
		return
	}
	k.differ = texts
	if texts == nil {
		logger.Over(ctx, log, text, "relays of the group have the same policies again", slog.String("policies", basis.PoliciesText(k.own)))
		return
	}
	own := basis.PoliciesText(k.own)
	others := slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return text == own })
	log.WarnContext(ctx, text, slog.String("policies", own), slog.Any("others", others))
}

// livingPolicies asks for the policies of all live relays.
func (r *Relay) livingPolicies(ctx context.Context) (alive basis.Policies, err error) {
	k := &r.policies
	k.mu.Lock()
	defer k.mu.Unlock()
	bounded, cancel := context.WithTimeout(ctx, r.cfg.PublishTimeout)
	defer cancel()
	_, err = k.keeper.KeepPolicies(bounded, func(note string, now time.Time) string {
		alive = basis.ParsePolicies(note).Alive(k.relay, now)
		return note
	})
	if err == nil {
		k.say(ctx, r.log, alive)
	}
	return alive, err
}

// leastLosing returns the policy that applies to topic instead of own: that of another relay, or
// the same.
func leastLosing(alive basis.Policies, topic string, own Policy) Policy {
	least, known := alive.LeastLosing(topic)
	if !known || least.Action == own.Action.String() && least.Attempts <= own.Attempts {
		return own
	}
	counts := Policy{Topics: own.Topics, Action: Park, Attempts: least.Attempts} // Park if the action is one of a later release
	for a := Park; a <= Skip; a++ {
		if a.String() == least.Action {
			counts.Action = a
		}
	}
	return counts
}

// verdict returns what happens to a record of topic after n attempts. kind is that of the last
// failure. reason is for operators, and empty for FateRetry. If the record would be lost and it
// cannot be found out what other relays do with it, it is tried again.
func (s *sender) verdict(work context.Context, topic string, kind outbox.FailureKind, n int) (fate driver.Fate, reason string) {
	r := s.relay
	own := r.cfg.policy(topic)
	fate, reason = own.verdict(kind, n)
	if r.policies.keeper == nil || fate != driver.FateDead && fate != driver.FateSkip {
		return fate, reason
	}
	if s.alive == nil {
		alive, err := r.livingPolicies(work)
		if err != nil {
			_ = s.term.fault(work, "policies", err) // it is reported, and storing the record's fate fails as well
			return driver.FateRetry, ""
		}
		s.alive = &alive
	}
	counts := leastLosing(*s.alive, topic, own)
	if counts == own {
		return fate, reason
	}
	if fate, reason = counts.verdict(kind, n); reason != "" {
		reason += "; another relay of the group has the policy " + counts.Action.String() + ", this one " + own.Action.String()
	}
	return fate, reason
}
