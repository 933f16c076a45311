package memoutbox_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/outboxtest"
)

// subject fits an Outbox to the suite.
type subject struct {
	*memoutbox.Outbox
	operators
}

// operators is what operators see of it.
type operators interface {
	admin.Manager
}

func newSubject(t *testing.T) outboxtest.Subject {
	t.Helper()
	ob := newOutbox(t)
	return subject{ob, ob.Admin()}
}

func newOutbox(t *testing.T) *memoutbox.Outbox {
	t.Helper()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	return ob
}

func (s subject) Begin(ctx context.Context) (outboxtest.Tx, error) {
	tx, err := s.Outbox.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return subjectTx{Tx: tx, ob: s.Outbox}, nil
}

func (s subject) Source(group string) driver.Source {
	return s.Outbox.Source(memoutbox.SourceConfig{Group: group})
}

type subjectTx struct {
	*memoutbox.Tx

	ob *memoutbox.Outbox
}

func (t subjectTx) Enqueue(ctx context.Context, msgs ...outbox.Message) error {
	return t.ob.Enqueue(ctx, t.Tx, msgs...)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	outboxtest.Run(t, outboxtest.Features{NoRetention: true, NoTakeover: true}, newSubject)
}

func TestRelayConformance(t *testing.T) {
	t.Parallel()
	outboxtest.RunRelay(t, outboxtest.Features{}, newSubject)
}

var _ admin.Outbox = subject{}
