package pgoutbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestViews_Topics: messages of topics that a group does not read are not pending. The patterns that count
// are those of its last source.
func TestViews_Topics(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	src := func(patterns ...string) *pgoutbox.Source {
		return sourceOf(t, ob, pgoutbox.SourceConfig{Group: "g", Start: driver.Start{Oldest: true}, Topics: patterns})
	}
	s := acquireFrom(t, src("orders.*", `100%_\*`))
	for _, name := range []string{"orders.eu", "bills", `100%_\`, "100xx", "orders"} {
		enqueue(t, ob, outbox.Message{Topic: name, Payload: []byte(name)})
	}
	require.Equal(t, []string{"orders.eu", `100%_\`}, pending(t, db, "g"))
	require.Len(t, readAll(t, s, 10), 2)
	require.Empty(t, pending(t, db, "g"))
	require.Equal(t, `{orders.*,"100%_\\*"}`, query1[string](t, db, "SELECT topics::text FROM leat.outbox_groups WHERE relay_group = 'g'"))
	require.NoError(t, s.Release(t.Context()))
	acquireFrom(t, src())
	require.True(t, query1[bool](t, db, "SELECT topics IS NULL FROM leat.outbox_groups WHERE relay_group = 'g'"))
}
