package dynamooutbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

// BellConfig tunes Outbox.RunBell.
type BellConfig struct {
	// Interval is the pause between two reads of the stream. AWS allows five reads of a shard per
	// second. 1 ms to 1 minute. Defaults to 250 ms.
	Interval time.Duration
}

func (c BellConfig) withDefaults() BellConfig {
	c.Interval = cmp.Or(c.Interval, 250*time.Millisecond)
	return c
}

func (c BellConfig) validate(streams *dynamodbstreams.Client) error {
	if streams == nil {
		return outbox.ConfigError("streams", nil, "must not be nil")
	}
	if c.Interval < time.Millisecond || c.Interval > time.Minute {
		return outbox.ConfigError("Interval", c.Interval, "must be 1ms to 1m")
	}
	return nil
}

// bellRetry is the pause after an error, and standbyPause the time between two checks whether
// this process leads.
const (
	bellRetry    = 5 * time.Second
	standbyPause = time.Second
)

// RunBell wakes the relays of this process when others have committed messages, until ctx ends: it
// reads the table's stream for as long as a relay of o leads. The stream must be switched on; any
// view will do, KEYS_ONLY is the smallest.
//
// It only wakes relays: what a stream loses costs a relay at most one poll. So it remembers no
// position, and starts with what comes next. Errors are logged, and it starts anew.
//
// It returns an error only if cfg is invalid, which wraps outbox.ErrInvalidConfig.
func (o *Outbox) RunBell(ctx context.Context, streams *dynamodbstreams.Client, cfg BellConfig) error {
	cfg = cfg.withDefaults()
	if err := cfg.validate(streams); err != nil {
		return err
	}
	for ctx.Err() == nil {
		pause := standbyPause
		if o.leads(ctx) {
			b := streamBell{ob: o, streams: streams, shards: make(map[string]*string)}
			if err := b.run(ctx, cfg.Interval); err != nil && ctx.Err() == nil {
				o.cfg.Logger.WarnContext(ctx, "relays are not woken by the stream", slog.Any("error", err))
				pause = bellRetry
			}
		}
		_ = wait.For(ctx, pause)
	}
	return nil
}

// leads reports whether a relay of o holds the lease.
func (o *Outbox) leads(ctx context.Context) bool {
	s := o.session.Load()
	return s != nil && s.alive(ctx) == nil
}

// streamBell reads a stream.
type streamBell struct {
	ob      *Outbox
	streams *dynamodbstreams.Client
	arn     string
	shards  map[string]*string // iterators of the known shards; nil if the shard has ended
}

// run rings until this process no longer leads.
func (b *streamBell) run(ctx context.Context, interval time.Duration) error {
	table, err := b.ob.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &b.ob.cfg.Table})
	if err != nil {
		return fmt.Errorf("leat: look for the stream of %s: %w", b.ob.cfg.Table, err)
	}
	if b.arn = aws.ToString(table.Table.LatestStreamArn); b.arn == "" {
		return fmt.Errorf("leat: table %s has no stream: %w", b.ob.cfg.Table, errNoStream)
	}
	if err := b.discover(ctx, types.ShardIteratorTypeLatest); err != nil {
		return err
	}
	b.ob.Wake() // for what was committed before
	for b.ob.leads(ctx) {
		ended, err := b.look(ctx)
		if err == nil && ended {
			// A shard that follows another is read from its start: it was created while we were
			// not looking.
			err = b.discover(ctx, types.ShardIteratorTypeTrimHorizon)
		}
		if err == nil {
			err = wait.For(ctx, interval)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var errNoStream = errors.New("switch it on, with any view")

// discover starts to read the new open shards.
func (b *streamBell) discover(ctx context.Context, from types.ShardIteratorType) error {
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &b.arn}
	for {
		out, err := b.streams.DescribeStream(ctx, in)
		if err != nil {
			return fmt.Errorf("leat: look for shards: %w", err)
		}
		for _, shard := range out.StreamDescription.Shards {
			if err := b.open(ctx, shard, from); err != nil {
				return err
			}
		}
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return nil
		}
	}
}

func (b *streamBell) open(ctx context.Context, shard types.Shard, from types.ShardIteratorType) error {
	id := aws.ToString(shard.ShardId)
	if _, known := b.shards[id]; known {
		return nil
	}
	if r := shard.SequenceNumberRange; from == types.ShardIteratorTypeLatest && r != nil && r.EndingSequenceNumber != nil {
		b.shards[id] = nil // it ended before we started
		return nil
	}
	out, err := b.streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: &b.arn, ShardId: &id, ShardIteratorType: from})
	if err != nil {
		return fmt.Errorf("leat: begin shard %s: %w", id, err)
	}
	b.shards[id] = out.ShardIterator
	return nil
}

// look reads on in all shards, and reports whether one has ended.
func (b *streamBell) look(ctx context.Context) (ended bool, err error) {
	ring := false
	for id, iterator := range b.shards {
		if iterator == nil {
			continue
		}
		out, err := b.streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator})
		if err != nil {
			return false, fmt.Errorf("leat: read shard %s: %w", id, err)
		}
		b.shards[id] = out.NextShardIterator
		ended = ended || out.NextShardIterator == nil
		for i := range out.Records {
			ring = ring || isMessage(&out.Records[i])
		}
	}
	if ring {
		b.ob.Wake()
	}
	return ended, nil
}

// isMessage reports whether a record of the stream is a new message. Most others are a relay's
// own writes.
func isMessage(r *types.Record) bool {
	if r.EventName != types.OperationTypeInsert || r.Dynamodb == nil {
		return false
	}
	pk, ok := r.Dynamodb.Keys[partition].(*types.AttributeValueMemberS)
	return ok && strings.HasPrefix(pk.Value, "M#")
}
