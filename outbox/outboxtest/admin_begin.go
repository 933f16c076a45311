package outboxtest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// traceKnowsBegin traces a message that one group has sent and that another one, which has just
// begun, has left out: the trace must not claim that it was sent.
func traceKnowsBegin(ctx context.Context, tr *trial) {
	searcher, ok := tr.Subject.(admin.Manager)
	if !ok {
		return
	}
	msgs := keyed("k", "old")
	tr.commit(ctx, msgs...)
	for _, c := range []struct {
		cfg  GroupConfig
		want []string
	}{
		{GroupConfig{Name: "late", Start: driver.Start{Now: true}}, nil},
		{GroupConfig{Name: "whole"}, []string{"old"}},
	} {
		r := acquireFrom(ctx, tr.group(c.cfg))
		expect(r.drain(ctx, 1), c.want...)
		fail.If(r.Release(ctx))
	}
	all, err := searchAll(ctx, searcher, admin.MessageQuery{})
	if err != nil || len(all) != 1 {
		fail.With("search: %s, want 1: %w", describe(all), errors.Join(err, errWrongAnswer))
	}
	trace, err := searcher.Trace(ctx, admin.TraceQuery{ID: all[0].ID, Since: time.Now().Add(-time.Hour)})
	fail.If(err, "trace")
	want := []admin.GroupTrace{{Group: "late", State: admin.TraceUnknown}, {Group: "whole", State: admin.TraceSent}}
	if len(trace.Messages) != 1 || !slices.Equal(trace.Messages[0].Groups, want) {
		fail.With("trace: %+v, want %+v", trace.Messages, want)
	}
}
