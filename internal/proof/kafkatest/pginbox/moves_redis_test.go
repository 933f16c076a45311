package pginbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/redisdedupe"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/redissink"
	"github.com/leat-go/leat/outbox/relay"
)

// TestMoves_NewRedis is TestMoves with a new Redis: as the destination of relays, and as the memory of consumers. Both are drained first.
//
//leat:level 4
func TestMoves_NewRedis(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(s *redisService){
		"destination": (*redisService).newDestination, "memory": (*redisService).newMemory, "memory, not drained": (*redisService).forgets,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &redisService{service: &service{}, addr: testenv.PrivateRedis(t, nil).Addr, next: testenv.PrivateRedis(t, nil).Addr}
			s.world = newWorld(t, s.open)
			move(s)
		})
	}
}

// redisService is a service on PostgreSQL, with Redis beside it.
type redisService struct {
	*service

	addr, next string // of the Redis in use, and the new one
}

func (s *redisService) open(t *testing.T, log *slog.Logger) store {
	t.Helper()
	return s.opened(onPostgres(t, log))
}

// newDestination relays to another Redis, once the consumers have read the former one to its end.
func (s *redisService) newDestination() {
	s.t.Helper()
	m, both := manner{Config: parks()}, []string{s.addr, s.next}
	s.parks = true
	s.streams = func() []string { return s.inStreams(both...) }
	s.start = func() {
		s.keepUp()
		s.relay(group{}, relay.Config{}, s.toStreams())
		for _, name := range prompt {
			s.consume(s.subscriber(name), "prompt", m, "billed")
		}
	}
	s.late = func() { s.consume(s.subscriber("late"), "late", m, "shipped") }
	s.move("new Redis as destination", func() {
		s.stopWriting()
		s.allSent()
		s.stopRelays()
		s.late()
		for _, name := range append(slices.Clone(prompt), "late") {
			s.drained(name)
		}
		s.stopConsumers()
		s.addr = s.next
		s.start()
	})
}

// newMemory goes to an empty memory, once the groups have acknowledged all that is there.
func (s *redisService) newMemory() {
	s.t.Helper()
	s.start = func() {
		s.keepUp()
		s.relay(group{}, relay.Config{}, s.sink())
		for _, name := range prompt {
			s.deduped(name, "prompt", "billed")
		}
	}
	s.late = func() { s.deduped("late", "late", "shipped") }
	s.move("new Redis as memory", func() {
		s.stopWriting()
		s.allSent()
		s.stopRelays()
		for _, name := range prompt {
			s.acknowledged(name)
		}
		s.stopConsumers()
		s.addr = s.next
		s.start()
	})
}

// forgets goes to an empty memory while messages come again: they take effect again.
func (s *redisService) forgets() {
	s.t.Helper()
	s.keepUp()
	s.relay(group{}, relay.Config{}, s.sink())
	s.deduped("prompt", "prompt", "billed")
	s.effects("billed")
	s.stopConsumers()
	s.addr = s.next
	s.deduped("again", "prompt", "billed")
	s.rest()
	require.Contains(s.t, strings.Join(s.judge(), "\n"), "doubled effect")
}

// toStreams returns a sink that writes into streams of the Redis in use.
func (s *redisService) toStreams() driver.Sink {
	s.t.Helper()
	sink, err := redissink.New(&redis.UniversalOptions{Addrs: []string{s.addr}}, redissink.Config{Ack: redissink.AckMemory, Logger: s.log.Logger()})
	require.NoError(s.t, err)
	s.closing = append(s.closing, sink.Close)
	return &picky{Sink: sink, w: s.world}
}

// subscriber reads streams of the Redis in use.
func (s *redisService) subscriber(group string) message.Subscriber {
	s.t.Helper()
	sub, err := redisstream.NewSubscriber(redisstream.SubscriberConfig{
		Client: redis.NewClient(&redis.Options{Addr: s.addr}), ConsumerGroup: s.kafka.Name(group),
		BlockTime: 10 * time.Millisecond, DisableIndefiniteInitialBlock: true, NackResendSleep: 5 * time.Millisecond,
	}, watermill.NopLogger{})
	require.NoError(s.t, err)
	return sub
}

// drained waits until XINFO GROUPS shows a lag of 0 and nothing pending.
func (s *redisService) drained(group string) {
	s.t.Helper()
	client := redis.NewClient(&redis.Options{Addr: s.addr})
	defer func() { require.NoError(s.t, client.Close()) }()
	s.await("group "+group+" is drained", func() bool {
		groups, err := client.XInfoGroups(s.t.Context(), s.orders).Result()
		return err == nil && slices.ContainsFunc(groups, func(g redis.XInfoGroup) bool {
			return g.Name == s.kafka.Name(group) && g.Lag == 0 && g.Pending == 0
		})
	})
}

// inStreams returns the ids in the streams of some servers.
func (s *redisService) inStreams(addrs ...string) (ids []string) {
	s.t.Helper()
	for _, addr := range addrs {
		client := redis.NewClient(&redis.Options{Addr: addr})
		for _, topic := range []string{s.orders, s.mails} {
			entries, err := client.XRange(context.Background(), topic, "-", "+").Result()
			require.NoError(s.t, err)
			for _, e := range entries {
				ids = append(ids, fmt.Sprint(e.Values["payload"]))
			}
		}
		require.NoError(s.t, client.Close())
	}
	return ids
}

// deduped runs a handler of orders that writes into a table beside the memory, until it is stopped.
func (s *redisService) deduped(group, name, table string) {
	s.t.Helper()
	s.judged[table] = true
	client := redis.NewClient(&redis.Options{Addr: s.addr})
	s.closing = append(s.closing, client.Close)
	memory, err := redisdedupe.New(client, redisdedupe.Config{Logger: s.log.Logger()})
	require.NoError(s.t, err)
	processor, err := dedupe.New(memory, name, dedupe.Config{Logger: s.log.Logger(), Hooks: []outbox.Hook{s.world}})
	require.NoError(s.t, err)
	once, err := middleware.NewDedupe(middleware.DedupeConfig{Processor: processor})
	require.NoError(s.t, err)
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NewSlogLogger(s.log.Logger()))
	require.NoError(s.t, err)
	router.AddMiddleware(once)
	sub := s.kafkasource(group)
	router.AddConsumerHandler(name, s.orders, sub, func(msg *message.Message) error {
		_, err := s.db.ExecContext(context.WithoutCancel(msg.Context()), "INSERT INTO "+table+" (id) VALUES ($1)", string(msg.Payload))
		return err
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- router.Run(ctx) }()
	s.consumers = append(s.consumers, &instance{stop: sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ended, sub.Close()); err != nil {
			s.t.Errorf("consumer %s: %v", name, err)
		}
	})})
}
