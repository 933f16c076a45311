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

// recycled is a backlog whose pages are large enough that their memory is used again.
const (
	recycledPages = 10
	recycledPage  = 200
	recycledBytes = 2048
)

// recycledMessages returns messages each of whose payloads is like no other.
func recycledMessages(topic string) (msgs []outbox.Message) {
	for i := range recycledPages * recycledPage {
		text := fmt.Sprintf("%08d", i)
		msgs = append(msgs, outbox.Message{
			ID: text, Topic: topic, Key: text, Payload: bytes.Repeat([]byte(text), recycledBytes/len(text)), OccurredAt: recently(),
		})
	}
	return msgs
}

// forgetful breaks its promise: it says that it keeps nothing, and looks at what it was given once more at the end.
type forgetful struct{ kept []outbox.Record }

func (*forgetful) Borrows() {}

// Send implements driver.Sink.
func (s *forgetful) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	for i := range records {
		s.kept = append(s.kept, outbox.Record{Message: outbox.Message{ID: records[i].ID, Payload: records[i].Payload}})
	}
	return make([]outbox.Result, len(records))
}

// intact counts the payloads that are what was enqueued.
func (s *forgetful) intact() (n int) {
	for i := range s.kept {
		if bytes.HasPrefix(s.kept[i].Payload, []byte(s.kept[i].ID)) {
			n++
		}
	}
	return n
}

// keeps is a sink that promises nothing.
type keeps struct{ driver.Sink }

// TestO4_MemoryThatIsUsedAgain: Kafka gets every payload of a backlog of large pages whole, although what is given back is
// overwritten. A sink that breaks its promise shows that it is, and one that makes none may keep all.
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
