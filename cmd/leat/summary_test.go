package main_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What waits, how fast it goes and what is wrong, in a few words, with the page that says what to do.
func TestStatus_Summary(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.enqueue(t, placed("m-1", "orders", "order-1", "fine"))
	s.relay(t, "", nothing)
	session, err := s.source(t, "default").Acquire(t.Context(), time.Minute)
	require.NoError(t, err)
	o := newSession(t, s.URL)
	o.run(0, "status", "--summary")
	require.NoError(t, session.Release(context.WithoutCancel(t.Context())))

	s.trouble(t)
	s.missingTopic(t, "m-8", "m-9")
	o.run(5, "status", "--summary")
	o.run(5, "status", "--summary", "--group", "mail", "-o", "json")
	o.run(3, "status", "--summary", "--group", "typo")
	o.run(2, "status", "--summary", "--watch", "1s")
	o.golden("status-summary")
}
