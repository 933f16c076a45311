package outboxtest

import (
	"context"
	"errors"
	"slices"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

func adminChecks() []Check {
	without := func(f Features) bool { return f.NoHolder }
	return []Check{
		{Name: "Admin_StatsCount", run: statsCount, skip: without},
		{Name: "Admin_HeldIsSelected", run: heldIsSelected, skip: without},
		{Name: "Admin_ParkedKeysAreListed", run: parkedKeysAreListed, skip: without},
		{Name: "Admin_FailuresAreGrouped", run: failuresAreGrouped, skip: without},
		{Name: "Admin_DryRunChangesNothing", run: dryRunChangesNothing, skip: without},
		{Name: "Admin_ChangesAreAudited", run: changesAreAudited, skip: without},
		{Name: "Admin_AuditKeepsWhoAsked", run: auditKeepsWhoAsked, skip: without},
		{Name: "Admin_BadRequestsAreRefused", run: badRequestsAreRefused, skip: without},
		{Name: "Admin_GroupsAreSeen", run: groupsAreSeen, skip: without},
		{Name: "Admin_GroupIsRemoved", run: groupIsRemoved, skip: without},
		{Name: "Admin_GreatestLagIsSet", run: greatestLagIsSet, skip: without},
		{Name: "Admin_GroupIsPaused", run: groupIsPaused, skip: without},
		{Name: "Admin_DelayedIsCancelled", run: delayedIsCancelled, skip: func(f Features) bool { return f.NoHolder || f.NoDelay }},
		{Name: "Admin_SearchFinds", run: searchFinds, skip: without},
		{Name: "Admin_TraceTells", run: traceTells, skip: without},
	}
}

// Texts of errors. The first two have one fingerprint.
const (
	timeoutOf7 = "no answer from 10.0.0.7:9092 after 30s"
	timeoutOf8 = "no answer from 10.0.0.8:9092 after 45s"
	tooLarge   = "too large"
)

func failedOf(kind outbox.FailureKind, texts ...string) []driver.Attempt {
	all := make([]driver.Attempt, len(texts))
	for i, text := range texts {
		all[i] = driver.Attempt{Kind: kind, Error: text}
	}
	return all
}

// ward sets aside a record of every kind: of key k, a is parked and b waits behind it; of
// l, c is parked; of m, d is tried again at once and e waits; f is parked and has no key; g
// is dead; h is delivered. i of key n is not read.
func ward(ctx context.Context, tr *trial) (*setAside, error) {
	msgs := slices.Concat(keyed("k", "a", "b"), keyed("l", "c"), keyed("m", "d", "e"), named("f"), keyed("o", "g", "h"))
	if err := tr.commit(ctx, msgs...); err != nil {
		return nil, err
	}
	s, err := tr.holder(ctx)
	if err != nil {
		return nil, err
	}
	err = s.hold(ctx, map[string]driver.Holding{
		"a": {Fate: driver.FatePark, Attempts: failedOf(outbox.FailureUnknown, "first", timeoutOf7), Reason: "tried too often"},
		"b": {Fate: driver.FateWait},
		"c": {Fate: driver.FatePark, Attempts: failedOf(outbox.FailureUnknown, timeoutOf8)},
		"d": {Fate: driver.FateRetry, Attempts: failedOf(outbox.FailureUnknown, timeoutOf8)},
		"e": {Fate: driver.FateWait},
		"f": {Fate: driver.FatePark, Attempts: failedOf(outbox.FailurePermanent, tooLarge)},
		"g": {Fate: driver.FateDead, Attempts: failedOf(outbox.FailurePermanent, tooLarge), Reason: "given up"},
	}, "a", "b", "c", "d", "e", "f", "g", "h")
	if err != nil {
		return nil, err
	}
	return s, tr.commit(ctx, keyed("n", "i")...)
}

var errWrongAnswer = errors.New("not the right answer")
