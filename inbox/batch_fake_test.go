package inbox_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/outbox"
)

// batchStore answers by id, Claimed where it knows none, and notes what it was
// asked.
type batchStore struct {
	fakeStore

	statuses map[string]driver.Status
	later    map[string]int // how often an id is Later
	errs     []error        // of the first batches
	batches  [][]driver.BatchItem
}

func (s *batchStore) ClaimBatch(_ context.Context, items []driver.BatchItem) (driver.Unit, []driver.Status, error) {
	s.batches = append(s.batches, items)
	if n := len(s.batches); n <= len(s.errs) && s.errs[n-1] != nil {
		return nil, nil, s.errs[n-1]
	}
	var unit driver.Unit
	statuses := make([]driver.Status, len(items))
	for i, item := range items {
		if s.later[item.ID] > 0 {
			s.later[item.ID]--
			statuses[i] = driver.Later
			continue
		}
		if statuses[i] = s.statuses[item.ID]; statuses[i] == 0 {
			statuses[i], unit = driver.Claimed, s
		}
	}
	return unit, statuses, nil
}

func newBatchStore() *batchStore {
	return &batchStore{fakeStore: fakeStore{status: driver.Claimed}}
}

var errLost = errors.New("lost to another transaction")

// Conflict implements driver.Classifier.
func (*batchStore) Conflict(err error) bool { return errors.Is(err, errLost) }

// Outage implements driver.Classifier.
func (*batchStore) Outage(error) bool { return false }

// batchRecorder is a handler that notes what it was called with and fails with errs.
type batchRecorder struct {
	calls [][]string
	errs  []error
}

func (r *batchRecorder) handle(_ context.Context, msgs []*message.Message) error {
	var ids []string
	for _, msg := range msgs {
		ids = append(ids, msg.UUID)
	}
	r.calls = append(r.calls, ids)
	if n := len(r.calls); n <= len(r.errs) {
		return r.errs[n-1]
	}
	return nil
}

func newBatch(t *testing.T, store driver.Store, cfg inbox.BatchConfig, change ...func(*inbox.Config)) *inbox.Batch {
	t.Helper()
	inner := inbox.Config{BusyDelay: inbox.NoDelay, ConflictDelay: 1}
	for _, c := range change {
		c(&inner)
	}
	p, err := inbox.New(store, "tester", inner)
	require.NoError(t, err)
	b, err := inbox.NewBatch(p, cfg)
	require.NoError(t, err)
	return b
}

// keyed returns messages whose key is the part of their id before a slash.
func keyed(ids ...string) []*message.Message {
	msgs := make([]*message.Message, len(ids))
	for i, id := range ids {
		msgs[i] = message.NewMessage(id, nil)
		if len(id) > 1 && id[1] == '/' {
			msgs[i].Metadata.Set(outbox.HeaderKey, id[:1])
		}
	}
	return msgs
}

var errKey = errors.New("no key")
