package relay_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/race"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// TestCount_Allocations counts what the relay itself allocates for a thousand records, with hooks and
// without. It guards the path of a page on which nothing fails. One more allocation per record there, such
// as a result that escapes or a map by key, multiplies the count by a hundred.
func TestCount_Allocations(t *testing.T) { //nolint:paralleltest // others would count, too
	if race.Enabled {
		t.Skip("the race detector allocates: make counts")
	}
	const records = 50_000
	for name, c := range map[string]struct {
		cfg  relay.Config
		most float64 // a thousand records
	}{
		"pages of 5000":             {relay.Config{}, 4},
		"pages of 5000, with hooks": {relay.Config{Hooks: []outbox.Hook{&benchHook{}}}, 4},
		"pages of 100":              {relay.Config{PageSize: 100}, 71},
	} {
		r, err := relay.New(&benchSource{records: benchRecords(records)}, &benchSink{results: make([]outbox.Result, records)}, c.cfg)
		require.NoError(t, err)
		allocations := testing.AllocsPerRun(5, func() {
			n, err := r.RunOnce(t.Context())
			require.NoError(t, err)
			require.Equal(t, records, n)
		})
		t.Logf("%s: %.2f allocations a thousand records", name, allocations/(records/1000))
		require.LessOrEqual(t, allocations/(records/1000), c.most, name)
	}
}
