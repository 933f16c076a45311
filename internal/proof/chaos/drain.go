package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
)

const (
	// drainEvery is how often it is looked whether all is at rest.
	drainEvery = 200 * time.Millisecond
	// restFor is for how long nothing may be left.
	restFor = time.Second
)

// drain waits until all that was committed has arrived, or nothing moves any more: what
// is missing then is the checker's to find.
func (in *injection) drain(ctx context.Context) error {
	for _, p := range in.crew.all {
		p.tell(roles.Command{Do: roles.DoDisarm})
	}
	var since time.Time
	left, moved := "nothing is known", time.Now()
	for pause(ctx, drainEvery) && time.Since(moved) < in.stage.options.Drain {
		for _, p := range in.crew.all {
			p.signal(contSignal)
		}
		now, err := in.left(ctx)
		if err != nil {
			now = err.Error()
		}
		if now != left {
			left, moved = now, time.Now()
		}
		switch {
		case left != "":
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) >= restFor:
			return nil
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	fmt.Fprintf(in.stage.options.Out, "nothing has moved for %s: %s\n", in.stage.options.Drain, left)
	return nil
}

// left says what is still under way, empty where nothing is.
func (in *injection) left(ctx context.Context) (string, error) {
	st := in.stage
	for _, p := range in.crew.of(roles.Bank) {
		p.tell(roles.Command{Do: roles.DoQuiet}) // it may have started again
	}
	var open int64
	err := st.bank.QueryRow(ctx, `
		SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'bank%' AND xact_start IS NOT NULL`).Scan(&open)
	if err != nil || open > 0 {
		return fmt.Sprintf("%d transactions of the bank", open), err
	}
	if st.options.Sabotage != roles.IDCursor {
		if err := st.bank.QueryRow(ctx, pendingSQL).Scan(&open); err != nil || open > 0 {
			return fmt.Sprintf("%d records of the bank's outbox", open), err
		}
	}
	for group, topic := range map[string]string{roles.Ledger: roles.TopicTransfers, roles.Notifier: roles.TopicNotices} {
		n, err := st.behind(ctx, group, topic)
		if err != nil || n > 0 {
			return fmt.Sprintf("%d messages of %s for %s", n, topic, group), err
		}
	}
	if err := st.ledger.QueryRow(ctx, pendingSQL).Scan(&open); err != nil || open > 0 {
		return fmt.Sprintf("%d records of the ledger's outbox", open), err
	}
	return "", nil
}

// pendingSQL counts what is to be sent, once more or for the first time.
const pendingSQL = `
	SELECT (SELECT count(*) FROM leat.outbox_pending)
	     + (SELECT count(*) FROM leat.outbox_held h WHERE h.state = 'retry')`

// behind is how many messages of a topic a group has not acknowledged.
func (st *stage) behind(ctx context.Context, group, topic string) (n int64, err error) {
	admin := kadm.NewClient(st.client)
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return 0, fmt.Errorf("ends of %s: %w", topic, err)
	}
	committed, err := admin.FetchOffsets(ctx, group)
	if err != nil {
		return 0, fmt.Errorf("offsets of %s: %w", group, err)
	}
	ends.Each(func(o kadm.ListedOffset) {
		done := int64(0)
		if c, ok := committed.Lookup(topic, o.Partition); ok && c.At > 0 {
			done = c.At
		}
		n += max(0, o.Offset-done)
	})
	return n, nil
}
