package wmforward_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/wmforward"
)

// TestO2_O7_RowThatCannotBeHeldIsParkedAlone: what the database could not take as the text
// of a record that is set aside does not stop the relay, and is parked with its row.
func TestO2_O7_RowThatCannotBeHeldIsParkedAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ id, topic, key, reason string }{
		"NUL in the topic": {"i", "to\x00pic", "k", "the topic \"to\\x00pic\" contains a NUL byte"},
		"NUL in the key":   {"i", "events", "k\x00", "the key \"k\\x00\" contains a NUL byte"},
		"NUL in the id":    {"\x00i", "events", "k", "the id \"\\x00i\" contains a NUL byte"},
		"long topic":       {"i", strings.Repeat("t", 3000), "k", "the topic is longer than 255 bytes"},
		"long key":         {"i", "events", strings.Repeat("k", 4097), "the key is longer than 4096 bytes"},
		"long id":          {strings.Repeat("i", 513), "events", "k", "the id is longer than 512 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			put(t, db, "k", "before")
			bad := texts(c.key, "poison")
			bad[0].UUID = c.id
			w := begin(t, db)
			publish(t, w.Tx, c.topic, bad...)
			w.commit()
			put(t, db, "k", "after")
			src := newSource(t, db, wmforward.Config{})
			var sink collector
			runOnce(t, src, wmforward.Guard(&sink))
			require.Equal(t, []string{"before", "after"}, sink.taken())
			parked, err := src.Held(t.Context(), admin.HeldQuery{State: admin.HeldParked})
			require.NoError(t, err)
			require.Len(t, parked, 1)
			require.Contains(t, parked[0].Errors[0].Error, c.reason)
		})
	}
}

// TestO4_HeaderWithNULIsHeld: it is delivered as a forwarder would deliver it, and can be
// set aside and sent again as it was.
func TestO4_HeaderWithNULIsHeld(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	msgs := texts("k", "p")
	msgs[0].Metadata.Set("a\x00", "x\x00y")
	w := begin(t, db)
	publish(t, w.Tx, "events", msgs...)
	w.commit()
	s, ok := acquire(t, newSource(t, db, wmforward.Config{})).(driver.Holder)
	require.True(t, ok)
	page, err := s.Read(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a\x00": "x\x00y", outbox.HeaderKey: "k"}, page.Records[0].Headers)
	require.NoError(t, s.Hold(t.Context(), page, 1, []driver.Holding{{Index: 0, Fate: driver.FateRetry}}))
	due, err := s.Due(t.Context(), 10, nil)
	require.NoError(t, err)
	require.Len(t, due, 1)
	require.Equal(t, page.Records[0], due[0].Record)
}
