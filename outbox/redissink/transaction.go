package redissink

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox"
)

// defaultWait bounds WAIT and WAITAOF if the context has no deadline.
const defaultWait = 30 * time.Second

var (
	errNoStream    = errors.New("leat: there is no such stream")
	errUnconfirmed = errors.New("has not confirmed the records in time")
	errNotOnDisk   = errors.New("they are not on disk yet")
	errAnswers     = errors.New("leat: Redis has given an unexpected answer")
)

// exchange is the answer to a topic's transaction.
type exchange struct {
	queued []*redis.Cmd
	exec   *redis.Cmd
}

// deliver sends the transactions of all topics in one write, and reads the answers. An error
// means that the link is over.
func (c *call) deliver(ctx context.Context, l *link) error {
	defer l.guard(ctx)()
	if err := failpoint.Inject(ctx, failpoint.RelayMidBatch); err != nil {
		return err
	}
	// The guard cuts the connection a moment after ctx ends: nothing is written in between.
	if cause := context.Cause(ctx); cause != nil {
		return c.s.out(fmt.Errorf("nothing was written: %w", cause))
	}
	all := make([]exchange, len(c.topics))
	var confirm *redis.Cmd
	commands, err := l.conn.Pipelined(ctx, func(p redis.Pipeliner) error {
		for n, t := range c.topics {
			all[n] = c.transaction(ctx, p, t)
		}
		confirm = c.confirm(ctx, p, l.waits)
		return nil
	})
	if err = lost(commands, err); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return c.s.out(err)
	}
	if err := failpoint.Inject(ctx, failpoint.RelayMidBatch); err != nil {
		return err
	}
	unconfirmed := c.unconfirmed(confirm)
	for n, t := range c.topics {
		if len(t.places) > 0 {
			c.judge(t, &all[n], unconfirmed)
		}
	}
	return nil
}

// transaction adds the transaction of t to the pipeline.
func (c *call) transaction(ctx context.Context, p redis.Pipeliner, t *topicCall) exchange {
	if len(t.places) == 0 {
		return exchange{}
	}
	x := exchange{queued: make([]*redis.Cmd, 0, len(t.places)+1)}
	x.queued = append(x.queued, p.Do(ctx, "MULTI"))
	head := c.s.head(t.stream)
	for _, i := range t.places {
		x.queued = append(x.queued, p.Do(ctx, entry(head, &c.records[i])...))
	}
	x.exec = p.Do(ctx, "EXEC")
	return x
}

// head returns the command that adds an entry, without the entry.
func (s *Sink) head(stream string) []any {
	head := []any{"XADD", stream}
	if s.cfg.ExistingOnly {
		head = append(head, "NOMKSTREAM")
	}
	switch {
	case s.cfg.MaxLen > 0:
		head = append(head, "MAXLEN", "~", s.cfg.MaxLen)
	case s.cfg.MaxAge > 0:
		head = append(head, "MINID", "~", max(clocks.Come().Add(-s.cfg.MaxAge).UnixMilli(), 0))
	}
	return append(head, "*")
}

// confirm adds the commands that confirm the transactions, if needed. They wait a little less
// than the context.
func (c *call) confirm(ctx context.Context, p redis.Pipeliner, w waiting) *redis.Cmd {
	left := defaultWait
	if end, ok := ctx.Deadline(); ok {
		left = time.Until(end) * 9 / 10
	}
	millis := min(max(left.Milliseconds(), 1), math.MaxInt32) // 0 waits for ever
	switch w {
	case waitReplicas:
		return p.Do(ctx, "WAIT", c.s.cfg.Replicas, millis)
	case waitSynced:
		return p.Do(ctx, "WAITAOF", 1, 0, millis)
	default:
		return nil
	}
}

// unconfirmed returns why the taken records still count as an outage, or nil.
func (c *call) unconfirmed(confirm *redis.Cmd) error {
	if confirm == nil {
		return nil
	}
	if err := confirm.Err(); err != nil {
		return c.s.unconfirmed(err)
	}
	var got, want int64 = 0, 1
	switch v := confirm.Val().(type) {
	case int64:
		got, want = v, int64(c.s.cfg.Replicas)
	case []any:
		if len(v) > 0 {
			got, _ = v[0].(int64)
		}
	}
	if got >= want {
		return nil
	}
	if c.s.cfg.Ack == AckReplicas {
		return c.s.unconfirmed(fmt.Errorf("%d replicas have them, want %d", got, want))
	}
	return c.s.unconfirmed(errNotOnDisk)
}

func (s *Sink) unconfirmed(err error) error {
	return fmt.Errorf("leat: redis at %v %w: %w", s.server.Addrs, errUnconfirmed, err)
}

// judge settles the records of a topic.
func (c *call) judge(t *topicCall, x *exchange, unconfirmed error) {
	if err := x.refusal(len(t.places)); err != nil {
		c.fail(t.places, c.s.failure(t.stream, err))
		return
	}
	if unconfirmed != nil {
		c.fail(t.places, outbox.Failed(outbox.FailureOutage, unconfirmed))
		return
	}
	for _, i := range t.places {
		c.settle(i, outbox.Result{})
	}
}

// refusal returns why the transaction has not added one entry per record, or nil. The first
// command that is not queued has the reason; EXEC only reports that there is one.
func (x *exchange) refusal(entries int) error {
	for _, q := range x.queued {
		if err := q.Err(); err != nil {
			return err
		}
	}
	answers, err := x.exec.Slice()
	if err != nil {
		return err
	}
	if len(answers) != entries {
		return fmt.Errorf("%w: %s answers for %d entries", errAnswers, strconv.Itoa(len(answers)), entries)
	}
	for _, a := range answers {
		switch v := a.(type) {
		case string: // the entry's id
		case nil:
			return errNoStream
		case error:
			return v
		default:
			return fmt.Errorf("%w: %T for an entry", errAnswers, a)
		}
	}
	return nil
}
