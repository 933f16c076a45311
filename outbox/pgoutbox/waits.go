package pgoutbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/internal/pglog"
)

const (
	// waitWarning is how long a call waits for the lock of a key before it finds out which
	// backend holds it.
	waitWarning = 10 * time.Second
	// holderTimeout bounds that query.
	holderTimeout = 2 * time.Second
)

// holder is the backend that holds a key which a call of Enqueue waits for.
type holder struct {
	key              string // key of a message; empty for the outbox as a whole
	pid              int    // 0 for a prepared transaction
	name, state      string
	transactionBegan time.Duration // ago; 0 if not known
}

// String returns a text such as: key "o-1", locked by pid 4711 (billing, idle in transaction)
// since 12s.
func (h holder) String() string {
	text := fmt.Sprintf("key %q", h.key)
	if h.key == "" {
		text = "the whole outbox"
	}
	if h.pid == 0 {
		return text + ", locked by a prepared transaction"
	}
	text += fmt.Sprintf(", locked by pid %d", h.pid)
	if h.state != "" {
		text += fmt.Sprintf(" (%s, %s)", h.name, h.state)
	}
	if h.transactionBegan > 0 {
		text += fmt.Sprintf(" since %s", h.transactionBegan.Round(100*time.Millisecond))
	}
	return text
}

// whoHas finds out, on its own connection, which backend other than self holds the lock of one of
// the keys of msgs.
func (o *Outbox) whoHas(ctx context.Context, msgs []outbox.Message, self uint32) (h holder, found bool) {
	locks, _ := o.locks(msgs)
	if len(locks) == 0 {
		return h, false
	}
	ctx, cancel := context.WithTimeout(ctx, holderTimeout)
	defer cancel()
	conn, err := pglog.Connect(ctx, o.address, pglog.AsIs)
	if err != nil {
		return h, false
	}
	defer pglog.Close(ctx, conn)
	var lock int64
	var seconds float64
	err = conn.QueryRow(ctx, o.sql.locksHolder, locks, int64(self)).Scan(&lock, &h.pid, &h.name, &h.state, &seconds)
	if err != nil {
		return h, false
	}
	for i := range msgs {
		if key := msgs[i].Key; key != "" && keyhash.Lock("outbox", o.table, key) == lock {
			h.key = key
		}
	}
	h.transactionBegan = time.Duration(seconds * float64(time.Second))
	return h, true
}

// watch logs a warning if a call takes so long that it may be waiting for a key, until stop is
// called.
func (o *Outbox) watch(ctx context.Context, msgs []outbox.Message, self uint32) (stop func() bool) {
	return time.AfterFunc(o.waitWarning, func() {
		if h, found := o.whoHas(ctx, msgs, self); found {
			o.cfg.Logger.WarnContext(ctx, "enqueue waits for another transaction: commit it or roll it back", slog.String("holds", h.String()))
		}
	}).Stop
}

// explainWait adds to the error of a call that timed out which backend holds the key.
func (o *Outbox) explainWait(ctx context.Context, err error, msgs []outbox.Message, self uint32) error {
	if err == nil || !errors.Is(err, context.DeadlineExceeded) && !pgerr.Is(err, pgerr.LockNotAvailable, pgerr.QueryCanceled) {
		return err
	}
	if h, found := o.whoHas(context.WithoutCancel(ctx), msgs, self); found {
		return fmt.Errorf("leat: waited for %s: %w", h, err)
	}
	return err
}
