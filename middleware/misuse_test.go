package middleware_test

import (
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
)

type onlyProcess struct{ inbox.Runner }

// misuse is a constructor that must refuse, by the text that must name field and value.
func misuse(t *testing.T) map[string]func() (any, error) {
	t.Helper()
	in, ob, done := newInbox(t), &memory{}, respond()
	key := func(string, *message.Message) (string, error) { return "", nil }
	once := func(c middleware.InboxConfig) func() (any, error) {
		return func() (any, error) { return middleware.NewInbox(c) }
	}
	redrive := func(c middleware.RedriveConfig) func() (any, error) {
		return func() (any, error) { return nil, middleware.RunRedrive(t.Context(), c) }
	}
	concurrently := func(c middleware.ConcurrentlyConfig) func() (any, error) {
		return func() (any, error) { return middleware.NewConcurrently(c) }
	}
	return map[string]func() (any, error){
		"InboxConfig.Processor = <nil>: is required where For is not set": once(middleware.InboxConfig{Outbox: ob}),
		"InboxConfig.For = set: must not be set beside Processor":         once(middleware.InboxConfig{Processor: in, For: in.For}),
		"InboxConfig.KeyFunc = set: has no meaning without Outbox":        once(middleware.InboxConfig{Processor: in, KeyFunc: key}),

		"RedriveConfig.Processor = <nil>: is required": redrive(middleware.RedriveConfig{Handler: done}),
		"RedriveConfig.Processor = middleware_test.onlyProcess: has no method RunRedrive": redrive(middleware.RedriveConfig{
			Processor: onlyProcess{in}, Handler: done,
		}),
		"RedriveConfig.Handler = <nil>: is required":                 redrive(middleware.RedriveConfig{Processor: in}),
		"RedriveConfig.Topic = out: has no meaning without Outbox":   redrive(middleware.RedriveConfig{Processor: in, Handler: done, Topic: "out"}),
		"RedriveConfig.KeyFunc = set: has no meaning without Outbox": redrive(middleware.RedriveConfig{Processor: in, Handler: done, KeyFunc: key}),

		"ConcurrentlyConfig.Limit = -1: must be at least 1":         concurrently(middleware.ConcurrentlyConfig{Limit: -1}),
		"ConcurrentlyConfig.InFlight = 3: must be at least Limit 4": concurrently(middleware.ConcurrentlyConfig{Limit: 4, InFlight: 3}),
		"subscriber = <nil>: must not be nil": func() (any, error) {
			return must(middleware.NewConcurrently(middleware.ConcurrentlyConfig{}))(nil)
		},

		"DedupeConfig.Processor = <nil>: is required": func() (any, error) { return middleware.NewDedupe(middleware.DedupeConfig{}) },
		"DedupePublisherConfig.Processor = <nil>: is required": func() (any, error) {
			return middleware.NewDedupePublisher(middleware.DedupePublisherConfig{})
		},
		"publisher = <nil>: must not be nil": func() (any, error) {
			return must(middleware.NewDedupePublisher(middleware.DedupePublisherConfig{Processor: newDeduper(t)}))(nil)
		},
	}
}

// TestMisuse: what cannot work is refused before the first message, and by nothing else
// than one error.
func TestMisuse(t *testing.T) {
	t.Parallel()
	for want, build := range misuse(t) {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			made, err := build()
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			require.EqualError(t, err, outbox.ErrInvalidConfig.Error()+": "+want)
			require.Empty(t, made)
		})
	}
}

// TestDefaults: what needs no configuration is made of the zero value.
func TestDefaults(t *testing.T) {
	t.Parallel()
	decorate, err := middleware.NewConcurrently(middleware.ConcurrentlyConfig{})
	require.NoError(t, err)
	sub, err := decorate(newStream(true))
	require.NoError(t, err)
	require.NoError(t, sub.Close())
}
