package prove

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/prover"
	"github.com/leat-go/leat/outbox"
)

// memory is a destination in memory, which can be broken in several ways.
type memory struct {
	check  error
	absent bool // the topic is not there
	auto   bool // topics are made as they are sent to
	naive  bool // what is for a topic that is not there is acknowledged
	store  func(all, page [][]byte) [][]byte
	refuse func(r *outbox.Record) error

	mu  sync.Mutex
	all [][]byte
}

func (m *memory) Check(context.Context) error { return m.check }

func (m *memory) CheckTopics(_ context.Context, topics []string) ([]string, error) {
	return slices.DeleteFunc(slices.Clone(topics), func(name string) bool { return !m.auto && (m.absent || name != "scratch") }), nil
}

func (m *memory) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	m.mu.Lock()
	defer m.mu.Unlock()
	results := make([]outbox.Result, len(records))
	var page [][]byte
	for i := range records {
		switch r := &records[i]; {
		case r.Topic != "scratch":
			if !m.naive {
				results[i] = outbox.Failed(outbox.FailureOutage, outbox.ErrTopicUnavailable)
			}
		case m.refuse != nil && m.refuse(r) != nil:
			results[i] = outbox.Failed(outbox.FailurePermanent, m.refuse(r))
		default:
			page = append(page, slices.Clone(r.Payload))
		}
	}
	if m.store == nil {
		m.all = append(m.all, page...)
	} else {
		m.all = m.store(m.all, page)
	}
	return results
}

func (m *memory) read(context.Context) ([][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.all), nil
}

// A destination that lacks one property: the probe of that property says so.
func TestSink(t *testing.T) {
	t.Parallel()
	refuse := func(r *outbox.Record) error {
		if len(r.Payload) > 1<<19 {
			return errors.New("too large")
		}
		return nil
	}
	for name, c := range map[string]struct {
		m           *memory
		look        func(context.Context) (broken, care []string, err error)
		unread      bool
		probe, says string
		want        prover.Outcome
	}{
		"all holds":                   {m: &memory{}},
		"one that refuses":            {m: &memory{check: errors.New("in a bad way")}, probe: "answers", says: "Check: in a bad way", want: prover.Broken},
		"a topic that is not there":   {m: &memory{absent: true}, probe: "answers", says: "does not take records", want: prover.Broken},
		"topics that are made":        {m: &memory{auto: true}, probe: "topics.missing", says: "is made when something is sent to it", want: prover.Limited},
		"acknowledged for nobody":     {m: &memory{naive: true}, probe: "topics.missing", says: "is acknowledged", want: prover.Broken},
		"acknowledged and not stored": {m: &memory{store: func(all, page [][]byte) [][]byte { return append(all, page[:len(page)-len(page)/50]...) }}, probe: "stored", says: "10 of 500 records are not in the topic", want: prover.Broken},
		"stored twice":                {m: &memory{store: func(all, page [][]byte) [][]byte { return append(append(all, page...), page[0]) }}, probe: "stored", says: "more than once", want: prover.Limited},
		"out of order":                {m: &memory{store: func(all, page [][]byte) [][]byte { slices.Reverse(page); return append(all, page...) }}, probe: "order", says: "is behind leat-prove-", want: prover.Broken},
		"large ones refused":          {m: &memory{refuse: refuse}, probe: "contents", says: "900,000 bytes is refused: leat: delivery failed (permanent): too large", want: prover.Limited},
		"contents that change": {m: &memory{store: func(all, page [][]byte) [][]byte {
			return append(all, []byte(strings.ToValidUTF8(string(slices.Concat(page...)), "?")))
		}}, probe: "contents", says: "bytes that are not text was acknowledged, and is not in the topic as it was sent", want: prover.Broken},
		"settings that lose":               {m: &memory{}, look: func(context.Context) (broken, care []string, err error) { return []string{"in memory"}, nil, nil }, probe: "settings", says: "in memory", want: prover.Broken},
		"settings that ask for care":       {m: &memory{}, look: func(context.Context) (broken, care []string, err error) { return nil, []string{"one replica"}, nil }, probe: "settings", says: "one replica", want: prover.Limited},
		"settings that nobody tells":       {m: &memory{}, look: func(context.Context) (broken, care []string, err error) { return nil, nil, errors.ErrUnsupported }, probe: "settings", says: "unsupported", want: prover.CouldNotTry},
		"what cannot be read back":         {m: &memory{}, unread: true, probe: "stored", says: "cannot be read back", want: prover.CouldNotTry},
		"what cannot be read, and refuses": {m: &memory{refuse: refuse}, unread: true, probe: "contents", says: "delivery failed (permanent): too large", want: prover.Limited},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Destination{Name: "memory", Topic: "scratch", Sink: c.m, Read: c.m.read, Look: c.look}
			if c.unread {
				d.Read = nil
			}
			found, err := prover.Run(t.Context(), Sink(d), options(c.probe, 0))
			require.NoError(t, err)
			if c.probe == "" {
				require.Len(t, found, 6)
				require.Equal(t, prover.OK, prover.Worst(found), "%q", found)
				return
			}
			require.Equal(t, c.want, found[0].Outcome, "%q", found[0].Details)
			require.Contains(t, strings.Join(found[0].Details, "\n"), c.says)
		})
	}
}
