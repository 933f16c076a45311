package roles

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/redisdedupe"
	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
)

// noticePrefix is the prefix of the names of the notifier's records in Redis.
const noticePrefix = "notices:"

// notifier has an effect for each notice, outside the transaction of any inbox. Redis keeps the
// effect from happening again, as long as it keeps its data.
func (p *process) notifier(ctx context.Context) (err error) {
	pool, err := p.pool(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	client := redis.NewClient(&redis.Options{
		Addr: p.Redis, DialTimeout: RedisTimeout, ReadTimeout: RedisTimeout, WriteTimeout: RedisTimeout,
	})
	defer func() { err = errors.Join(err, client.Close()) }()
	p.loses = redisRecords{client}
	store, err := redisdedupe.New(client, redisdedupe.Config{Prefix: noticePrefix, Logger: p.log})
	if err != nil {
		return err
	}
	processor, err := dedupe.New(store, Notifier, dedupe.Config{
		Lease: NoticeLease, BusyDelay: 20 * time.Millisecond, FinishTimeout: 2 * time.Second, Logger: p.log,
		Hooks: []outbox.Hook{dedupeEyes{p}},
	})
	if err != nil {
		return err
	}
	once, err := middleware.NewDedupe(middleware.DedupeConfig{Processor: processor})
	if err != nil {
		return err
	}
	sub, err := p.subscriber(Notifier, nil)
	if err != nil {
		return err
	}
	router, err := p.router()
	if err != nil {
		return errors.Join(err, sub.Close())
	}
	router.AddMiddleware(once, p.opened)
	router.AddConsumerHandler("notify", TopicNotices, sub, p.telling(pool)) //nolint:contextcheck // Watermill has it in the message
	return router.Run(ctx)
}

// telling returns the handler that notifies.
func (p *process) telling(pool *pgxpool.Pool) message.NoPublishHandlerFunc {
	return func(msg *message.Message) error { return p.tell(msg.Context(), msg, pool) }
}

func (p *process) tell(ctx context.Context, msg *message.Message, pool *pgxpool.Pool) error {
	p.note(history.Line{Type: history.Delivered, ID: msg.UUID, Consumer: Notifier})
	if err := p.slow(ctx); err != nil {
		return err
	}
	e, err := p.event(msg)
	if err != nil {
		return fmt.Errorf("decode notice %s: %w", msg.UUID, err)
	}
	if _, err := pool.Exec(ctx, effectSQL, Notifier, e.ID, e.From, e.Amount, e.To, ""); err != nil {
		return fmt.Errorf("tell of %s: %w", e.ID, err)
	}
	return nil
}

// dedupeEyes report how deliveries end.
type dedupeEyes struct{ *process }

// OnDedupeDelivery implements dedupe.DeliveryHook.
func (e dedupeEyes) OnDedupeDelivery(ctx context.Context, d dedupe.DeliveryEvent) {
	switch d.Outcome {
	case dedupe.OutcomeRan:
		e.effects.Add(1)
		e.note(history.Line{Type: history.Effect, ID: d.Key.ID, Consumer: Notifier})
		e.agedBy(ctx)
		switch {
		case d.Takeover:
			e.watch.seen("takeover of a message")
		case d.Completion != dedupe.Completed:
			e.watch.seen("completed " + d.Completion.String())
		}
	case dedupe.OutcomeDuplicate:
		e.repeats.Add(1)
		e.watch.seen("redelivery, recognised")
	case dedupe.OutcomeBusy, dedupe.OutcomeFailed, dedupe.OutcomeFenced, dedupe.OutcomeUnavailable,
		dedupe.OutcomeOpen, dedupe.OutcomePanicked:
		e.watch.seen(d.Outcome.String() + ", redelivery")
	}
}

// redisRecords damages records in Redis.
type redisRecords struct{ client *redis.Client }

func (r redisRecords) name(key dedupe.Key) string {
	return noticePrefix + strconv.Itoa(len(key.Consumer)) + ":" + key.Consumer + ":" + key.ID
}

// lose removes the record of key, as an eviction does.
func (r redisRecords) lose(ctx context.Context, key dedupe.Key) error {
	if err := r.client.Del(ctx, r.name(key)).Err(); err != nil {
		return fmt.Errorf("lose the record of %s: %w", key.ID, err)
	}
	return nil
}

// jump changes the record of key as a clock that jumps forward would.
func (r redisRecords) jump(ctx context.Context, key dedupe.Key) error {
	if err := r.client.PExpire(ctx, r.name(key), time.Millisecond).Err(); err != nil {
		return fmt.Errorf("move the expiry of %s: %w", key.ID, err)
	}
	return nil
}
