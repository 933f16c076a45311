package pgoutbox_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// The recycled backlog has pages large enough that their memory is reused.
const (
	recycledPages = 10
	recycledPage  = 200
	recycledBytes = 2048
)

// recycledMessages returns messages with payloads that are all different.
func recycledMessages(topic string) (msgs []outbox.Message) {
	for i := range recycledPages * recycledPage {
		text := fmt.Sprintf("%08d", i)
		msgs = append(msgs, outbox.Message{
			ID: text, Topic: topic, Key: text, Payload: bytes.Repeat([]byte(text), recycledBytes/len(text)), OccurredAt: recently(),
		})
	}
	return msgs
}

// forgetful is a sink that breaks its promise: it claims to keep nothing, yet keeps what it was given and
// looks at it again at the end.
type forgetful struct{ kept []outbox.Record }

func (*forgetful) Borrows() {}

// Send implements driver.Sink.
func (s *forgetful) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	for i := range records {
		s.kept = append(s.kept, outbox.Record{Message: outbox.Message{ID: records[i].ID, Payload: records[i].Payload}})
	}
	return make([]outbox.Result, len(records))
}

// intact counts the payloads that still are what was enqueued.
func (s *forgetful) intact() (n int) {
	for i := range s.kept {
		if bytes.HasPrefix(s.kept[i].Payload, []byte(s.kept[i].ID)) {
			n++
		}
	}
	return n
}

// keeps is a sink that makes no such promise.
type keeps struct{ driver.Sink }

// TestO4_MemoryThatIsUsedAgain: Kafka gets every payload of a backlog of large pages intact, although
// memory that is given back is overwritten. A sink that breaks its promise sees overwritten payloads; a
// sink that makes no promise may keep all of them.
func TestO4_MemoryThatIsUsedAgain(t *testing.T) {
	t.Parallel()
	failpointtest.Install() // what is given back is overwritten
	s := newStage(t)
	msgs := recycledMessages(s.topics[0])
	s.commit(msgs...)
	source := func(group string) driver.Source {
		src, err := s.ob.Source(pgoutbox.SourceConfig{Group: group, Start: driver.Start{Oldest: true}})
		require.NoError(t, err)
		return src
	}
	cfg := relay.Config{PageSize: recycledPage}
	require.Equal(t, len(msgs), s.relayOnce(source("kafka"), s.sink(), cfg))
	require.Equal(t, report{most: 1}, s.audit(s.awaitAll()))

	broken := &forgetful{}
	require.Equal(t, len(msgs), s.relayOnce(source("forgetful"), broken, cfg))
	require.Less(t, broken.intact(), len(msgs), "nothing was used again")
	careful := &forgetful{}
	require.Equal(t, len(msgs), s.relayOnce(source("keeps"), keeps{careful}, cfg))
	require.Equal(t, len(msgs), careful.intact())
}
