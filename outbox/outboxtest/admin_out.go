package outboxtest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// outagesAreSeen: the outages that the leader has stored are visible, with the number of waiting
// records, until it stores others or another session leads.
func outagesAreSeen(ctx context.Context, tr *trial) {
	s := ward(ctx, tr)
	keeper, ok := s.Holder.(driver.OutageKeeper)
	if !ok {
		fail.With("the session does not store what is out")
	}
	since := time.Now().UTC().Add(-time.Hour).Truncate(time.Millisecond)
	mail := driver.Outage{Topic: "mails", Since: since, Cause: "unavailable", Error: "no such topic"}
	orders := driver.Outage{Topic: testKey("m").Topic, Since: since, Cause: "outage", Error: timeoutOf7}
	waits := orders
	waits.Waiting = 1
	for _, c := range []struct {
		stored []driver.Outage
		want   []driver.Outage
	}{
		{[]driver.Outage{mail, orders}, []driver.Outage{mail, waits}},
		{[]driver.Outage{orders}, []driver.Outage{waits}},
		{nil, nil},
		{[]driver.Outage{mail}, []driver.Outage{mail}},
	} {
		fail.If(keeper.KeepOutages(ctx, c.stored), "keep outages")
		s.expectOut(ctx, fmt.Sprintf("after %+v were stored", c.stored), c.want)
	}
	fail.If(s.Release(ctx), "release")
	s.expectOut(ctx, "after the release", []driver.Outage{mail})
	next := tr.holder(ctx)
	next.expectOut(ctx, "after another one leads", nil)
}

func (s *setAside) expectOut(ctx context.Context, when string, want []driver.Outage) {
	stats, err := s.op.Stats(ctx)
	fail.If(err, "stats")
	i := slices.IndexFunc(stats.Groups, func(g admin.GroupStats) bool { return g.Name == testGroup })
	if i < 0 {
		fail.With("%s: group %q is missing in %+v", when, testGroup, stats)
	}
	got := slices.Clone(stats.Groups[i].Out)
	for i := range got {
		got[i].Since = got[i].Since.UTC()
	}
	if !slices.Equal(got, want) {
		fail.With("%s: %+v are out, want %+v", when, got, want)
	}
}
