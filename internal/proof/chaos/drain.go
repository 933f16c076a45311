package chaos

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/wait"
)

const (
	// drainEvery is the interval at which drain checks whether the system is at rest.
	drainEvery = 200 * time.Millisecond
	// restFor is how long the system must be at rest before drain returns.
	restFor = time.Second
)

// drain waits until everything that was committed has arrived, or nothing moves any more. In that case the
// checker will find what is missing.
func (in *injection) drain(ctx context.Context) error {
	for _, p := range in.processes.all {
		p.tell(roles.Command{Do: roles.DoDisarm})
	}
	var since time.Time
	left, moved := "nothing is known", time.Now()
	for wait.Full(ctx, drainEvery) && time.Since(moved) < in.stage.options.Drain {
		for _, p := range in.processes.all {
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
	in.stood("nothing has moved for %s: %s", in.stage.options.Drain, left)
	return nil
}

// left describes everything that is still in flight. It is empty if nothing is. The system moves as long
// as the description changes.
func (in *injection) left(ctx context.Context) (string, error) {
	for _, p := range in.processes.of(roles.Bank) {
		p.tell(roles.Command{Do: roles.DoQuiet}) // the bank may have been restarted
	}
	var parts []string
	for _, of := range in.stage.leftovers() {
		n, err := of.count(ctx)
		if err != nil {
			return "", err
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, of.what))
		}
	}
	return strings.Join(parts, ", "), nil
}

// leftover is a kind of work that may be in flight, and a function that counts it.
type leftover struct {
	what  string
	count func(context.Context) (int64, error)
}

func (st *stage) leftovers() []leftover {
	behind := func(group, topic string) func(context.Context) (int64, error) {
		return func(ctx context.Context) (int64, error) { return st.behind(ctx, group, topic) }
	}
	all := append(st.store.leftovers(), leftover{"messages of " + roles.TopicTransfers, behind(roles.Ledger, roles.TopicTransfers)})
	if st.runs(roles.Notifier) {
		all = append(all, leftover{"messages of " + roles.TopicNotices, behind(roles.Notifier, roles.TopicNotices)})
	}
	return all
}

// behind returns how many messages of a topic a group has not acknowledged.
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
