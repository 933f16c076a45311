package sqloutbox

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/leat-go/leat/outbox"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// TestPositionIsTheSetOfNumbers compares a position with a plain set of what was read,
// whatever becomes visible when, and through its text.
func TestPositionIsTheSetOfNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		const most = 40
		var p position
		read := map[int64]bool{}
		for range rapid.IntRange(1, 12).Draw(rt, "pages") {
			picked := rapid.SliceOfNDistinct(rapid.Int64Range(1, most), 0, 8, rapid.ID[int64]).Draw(rt, "visible")
			page := slices.DeleteFunc(picked, func(n int64) bool { return read[n] })
			slices.Sort(page)
			before := encodeGaps(p.gaps)
			after := p.seen(page)
			require.Equal(rt, before, encodeGaps(p.gaps), "the position before stays as it is")
			p = after
			for _, n := range page {
				read[n] = true
			}
			again, err := parsePosition(p.last, encodeGaps(p.gaps))
			require.NoError(rt, err)
			low := int64(0)
			for n := int64(1); n <= most; n++ {
				require.Equal(rt, !read[n], again.misses(n), "number %d of %v", n, p)
				if low == n-1 && read[n] {
					low = n
				}
			}
			require.Equal(rt, low, again.low())
			cut := rapid.Int64Range(0, most).Draw(rt, "cut")
			for n := int64(1); n <= most; n++ {
				require.Equal(rt, n > cut && !read[n], p.from(cut).misses(n), "from %d, number %d", cut, n)
				require.Equal(rt, n > cut || !read[n], p.upTo(cut).misses(n), "up to %d, number %d", cut, n)
			}
		}
	})
}

func TestParsePositionRefusesWhatItDidNotWrite(t *testing.T) {
	t.Parallel()
	for _, gaps := range []string{"x", "1", "1-", "-1", "2-1", "1-2,2-3", "3-4,1-2", "5-11", "1-2,", "1-2;3-4"} {
		_, err := parsePosition(10, gaps)
		require.Error(t, err, gaps)
	}
}

func TestConfigIsRefused(t *testing.T) {
	t.Parallel()
	for field, cfg := range map[string]Config{
		"Table": {Table: "a b"}, "MaxPayloadBytes": {MaxPayloadBytes: -1}, "Hooks[0]": {Hooks: []outbox.Hook{1}},
	} {
		_, err := Migrations(MySQL, cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, field)
	}
	_, err := Migrations("oracle", Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	_, err = New(nil, MySQL, Config{})
	require.ErrorContains(t, err, "db")
	_, err = NewMaintenance(nil, MaintenanceConfig{})
	require.ErrorContains(t, err, "ob")

	ob := &Outbox{}
	for field, cfg := range map[string]MaintenanceConfig{
		"Interval": {Interval: -1}, "DeleteChunk": {DeleteChunk: -1}, "KeepAudit": {KeepAudit: -1}, "KeepDead": {KeepDead: -1}, "DelayedPoll": {DelayedPoll: 1},
	} {
		_, err := NewMaintenance(ob, cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, field)
	}
	for field, cfg := range map[string]SourceConfig{"Group": {Group: "_x"}, "Topics[1]": {Topics: []string{"a", ""}}} {
		_, err := ob.Source(cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, field)
	}
	for field, cfg := range map[string]HistoryConfig{"FromSeq": {FromSeq: -1}, "Keys[0]": {Keys: []string{""}}} {
		_, err := ob.History(cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, field)
	}
}
