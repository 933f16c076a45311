package sqlforward_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/sqlforward"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// TestO2_ManyRowsBesideAnOpenTransaction: a page that contains most of the table waits for no producer.
func TestO2_ManyRowsBesideAnOpenTransaction(t *testing.T) {
	t.Parallel()
	onTables(t, manyRowsBesideAnOpenTransaction)
}

func manyRowsBesideAnOpenTransaction(t *testing.T, x *table) {
	t.Helper()
	x.cfg.TakeOverTimeout = time.Second
	payloads := make([]string, 30)
	for i := range payloads {
		payloads[i] = strconv.Itoa(i)
	}
	x.put(t, "k", payloads...)
	x.open(t, "late", "late")
	x.move(t, x.forwarder(t))
	require.Equal(t, payloads, x.moved(t))
}

// TestO2_WhatTheForwarderAckedIsNoGap: a number whose row another forwarder has acked and kept is given up
// like one that was rolled back.
func TestO2_WhatTheForwarderAckedIsNoGap(t *testing.T) {
	t.Parallel()
	onTables(t, whatTheForwarderAckedIsNoGap)
}

func whatTheForwarderAckedIsNoGap(t *testing.T, x *table) {
	t.Helper()
	if !x.cfg.Queue {
		t.Skip("rows have no mark")
	}
	x.cfg.GapAge = time.Second
	f := x.forwarder(t)
	x.move(t, f)
	x.put(t, "k", "a", "b")
	x.exec(t, "UPDATE watermill_"+forwarderTopic+" SET acked = TRUE ORDER BY `offset` LIMIT 1")
	require.Equal(t, 1, x.move(t, f))
	require.NoError(t, wait.For(t.Context(), 1500*time.Millisecond)) // the database's clock
	require.Zero(t, x.move(t, f))
}

// TestO5_DirectEnqueueIsNamed: a transaction that keeps a key's lock is not mistaken for a forwarder, and
// what waits for the lock is moved in the end.
func TestO5_DirectEnqueueIsNamed(t *testing.T) {
	t.Parallel()
	onTables(t, directEnqueueIsNamed)
}

func directEnqueueIsNamed(t *testing.T, x *table) {
	t.Helper()
	x.cfg.TakeOverTimeout = time.Second
	x.put(t, "k", "a")
	tx, err := x.db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	require.NoError(t, x.ob.Enqueue(t.Context(), tx, outbox.Message{Topic: "events", Key: "k", Payload: []byte("direct")}))
	f := x.forwarder(t)
	_, err = f.RunOnce(t.Context())
	require.ErrorContains(t, err, "keeps the lock of a key")
	require.NotContains(t, err.Error(), "a forwarder is at work and holds its position")
	require.NoError(t, tx.Commit())
	x.move(t, f)
	require.Equal(t, []string{"direct", "a"}, x.moved(t))
}

// TestO5_HandBackWaitsForTheRelay: moved messages must be sent before the table is handed back to the
// forwarder.
func TestO5_HandBackWaitsForTheRelay(t *testing.T) {
	t.Parallel()
	onTables(t, handBackWaitsForTheRelay)
}

func handBackWaitsForTheRelay(t *testing.T, x *table) {
	t.Helper()
	source, err := x.ob.Source(sqloutbox.SourceConfig{})
	require.NoError(t, err)
	r, err := relay.New(source, outboxtest.NewBroker().Sink(), relay.Config{})
	require.NoError(t, err)
	_, err = r.RunOnce(t.Context())
	require.NoError(t, err)
	f := x.forwarder(t)
	x.put(t, "k", "a")
	x.move(t, f)
	_, err = f.HandBack(t.Context())
	require.ErrorIs(t, err, sqlforward.ErrNotSent)
	_, err = r.RunOnce(t.Context())
	require.NoError(t, err)
	_, err = f.HandBack(t.Context())
	require.NoError(t, err)
}
