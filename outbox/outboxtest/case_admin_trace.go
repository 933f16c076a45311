package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox/admin"
)

func traceTells(ctx context.Context, tr *trial) error {
	s, err := ward(ctx, tr)
	if err != nil {
		return err
	}
	searcher, ok := tr.Subject.(admin.Searcher)
	if !ok {
		return nil
	}
	all, err := searchAll(ctx, searcher, admin.MessageQuery{})
	if err != nil || len(all) != 9 {
		return fmt.Errorf("search: %s, want 9: %w", describe(all), errors.Join(err, errWrongAnswer))
	}
	states := map[string]admin.TraceState{
		"a": admin.TraceHeld, "b": admin.TraceHeld, "c": admin.TraceDropped, "d": admin.TraceHeld, "e": admin.TraceHeld, "f": admin.TraceHeld,
		"g": admin.TraceDead, "h": admin.TraceSent, "i": admin.TracePending,
	}
	if _, err := s.op.Drop(ctx, admin.DropRequest{By: by(), Selection: admin.Selection{Topic: testTopic, Key: "l"}}); err != nil {
		return err
	}
	for _, r := range all {
		name := string(r.Payload)
		trace, err := searcher.Trace(ctx, admin.TraceQuery{ID: r.ID, Since: r.CreatedAt})
		if err != nil {
			return fmt.Errorf("trace of %s: %w", name, err)
		}
		want := []admin.GroupTrace{{Group: testGroup, State: states[name]}}
		if len(trace.Messages) != 1 || !slices.Equal(trace.Messages[0].Groups, want) || sameRecord(&trace.Messages[0].Record, &r) != nil {
			return fmt.Errorf("trace of %s: %+v, want %+v", name, trace.Messages, want)
		}
		if held, dead := states[name] == admin.TraceHeld, states[name] == admin.TraceDead; (len(trace.Held) == 1) != held || (len(trace.Dead) == 1) != dead {
			return fmt.Errorf("trace of %s: held %+v, dead %+v, want %s", name, trace.Held, trace.Dead, states[name])
		}
		if name == "c" && (len(trace.Audit) == 0 || trace.Audit[len(trace.Audit)-1].Action != "drop") {
			return fmt.Errorf("trace of c: audit %+v, want the drop", trace.Audit)
		}
	}
	return traceByTime(ctx, tr, searcher)
}

// traceByTime follows a message whose id tells no time.
func traceByTime(ctx context.Context, tr *trial, searcher admin.Searcher) error {
	msgs := named("x")
	msgs[0].ID = "invoice 7"
	later := 0
	if !tr.features.NoDelay {
		msgs, later = append(msgs, msgs[0]), 1
		msgs[1].NotBefore = time.Now().Add(time.Hour)
	}
	if err := tr.commit(ctx, msgs...); err != nil {
		return err
	}
	for _, q := range []admin.TraceQuery{{}, {ID: "invoice 7"}} {
		if _, err := searcher.Trace(ctx, q); !errors.Is(err, admin.ErrInvalidRequest) {
			return unexpected(fmt.Sprintf("trace %+v", q), err, admin.ErrInvalidRequest)
		}
	}
	trace, err := searcher.Trace(ctx, admin.TraceQuery{ID: "invoice 7", Since: time.Now().Add(-time.Hour)})
	if err != nil || len(trace.Messages) != 1 || len(trace.Delayed) != later {
		return fmt.Errorf("trace of an invoice: %+v, want one that is due and %d that are not: %w", trace, later, errors.Join(err, errWrongAnswer))
	}
	return nil
}
