package pginbox

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/internal/pgpark"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox"
)

// FuzzBounds: the server's words for the bounds of a range are read as they were
// written, and others are refused.
func FuzzBounds(f *testing.F) {
	for _, bound := range []string{
		"FOR VALUES FROM (MINVALUE) TO ('0190163d-8694-0000-0000-000000000000')", "DEFAULT", "", "FOR VALUES FROM ('------------------------------------') TO (MAXVALUE)",
		"FOR VALUES FROM (MINVALUE) TO (MAXVALUE)", "FOR VALUES FROM ('0190163d86940-000-0000-000000000000-') TO (MAXVALUE)",
	} {
		f.Add(bound, int64(1_700_000_000_000), int64(1_700_086_400_000))
	}
	f.Fuzz(func(t *testing.T, bound string, from, to int64) {
		if _, _, err := parseBounds(bound); err == nil {
			require.True(t, strings.HasPrefix(bound, "FOR VALUES FROM ("))
		}
		a, b := uuidAt(from), uuidAt(to)
		gotA, gotB, err := parseBounds("FOR VALUES FROM ('" + ids.Text(a.Bytes) + "') TO ('" + ids.Text(b.Bytes) + "')")
		require.NoError(t, err)
		require.Equal(t, []pgtype.UUID{a, b}, []pgtype.UUID{gotA, gotB})
	})
}

// FuzzGap: the range that is made for an id holds it, begins at or above the floor,
// and meets no other range, whatever their widths.
func FuzzGap(f *testing.F) {
	const today, day = int64(1_700_000_000_000), int64(86_400_000)
	f.Add(today, today-14*day, day, today-day, today, today+5*day, int64(7))
	f.Add(today, int64(0), 7*day, today-day/2, today-day/3, today+1, int64(60_000))
	f.Add(today, today, int64(1000), today-1, today, today+1, int64(1))
	f.Fuzz(func(t *testing.T, at, floorAt, width, a, b, c, long int64) {
		const last = ids.MaxMillis - 400*day
		inside := func(ms int64) int64 { return min(max(ms, 0), last) }
		width = min(max(width, 1000), 366*day)
		id, floor := uuidAt(inside(at)), uuidAt(inside(floorAt))
		id.Bytes[6], id.Bytes[8] = 0x70, 0x80
		if below(id, floor) {
			return
		}
		all := someParts(inside(a), inside(b), inside(c), min(max(long, 1), day))
		from, to, there := gap(all, id, floor, width)
		holds := func(p rangePart) bool { return !below(id, p.from) && (!p.to.Valid || below(id, p.to)) }
		require.Equal(t, slices.ContainsFunc(all, holds), there)
		if there {
			return
		}
		require.True(t, holds(rangePart{from: from, to: to}), "%s is not in %s … %s", uuid.UUID(id.Bytes), uuid.UUID(from.Bytes), uuid.UUID(to.Bytes))
		require.False(t, below(from, floor))
		for _, p := range all {
			require.True(t, !below(p.from, to) || !below(from, p.to), "%s … %s meets %s … %s",
				uuid.UUID(from.Bytes), uuid.UUID(to.Bytes), uuid.UUID(p.from.Bytes), uuid.UUID(p.to.Bytes))
		}
		name := (&ranges{}).tableAt(from, 0)
		require.Regexp(t, "^_r[0-9a-f]{12}$", name)
		require.WithinDuration(t, time.UnixMilli(ids.Millis(from.Bytes)), madeAt(from), 0)
	})
}

// someParts returns up to three ranges of a length that do not overlap, in order.
func someParts(a, b, c, long int64) (all []rangePart) {
	starts := []int64{a, b, c}
	slices.Sort(starts)
	for _, start := range starts {
		p := rangePart{from: uuidAt(start), to: uuidAt(start + long)}
		if n := len(all); n > 0 && below(p.from, all[n-1].to) {
			continue
		}
		if bytes.Compare(p.from.Bytes[:], p.to.Bytes[:]) < 0 {
			all = append(all, p)
		}
	}
	return all
}

// FuzzMaintenanceConfig: a configuration works or is refused by the name of a field.
func FuzzMaintenanceConfig(f *testing.F) {
	f.Add(int64(0), int64(0), 0, int64(0), int64(0), int64(0), int64(0), 0)
	f.Add(int64(-1), int64(time.Second), 101, int64(time.Second), int64(time.Hour), int64(1), int64(-1), -1)
	f.Add(int64(1)<<62, int64(366*24*time.Hour), 1, int64(-1)<<62, int64(24*time.Hour), int64(time.Minute), int64(1), 100_000)
	f.Fuzz(func(t *testing.T, retention, width int64, ahead int, keepOther, keepAudit, lease, lockTimeout int64, chunk int) {
		cfg := MaintenanceConfig{
			Retention: time.Duration(retention), Width: time.Duration(width), Ahead: ahead, KeepOther: time.Duration(keepOther),
			KeepAudit: time.Duration(keepAudit), Lease: time.Duration(lease), LockTimeout: time.Duration(lockTimeout), DeleteChunk: chunk,
		}.withDefaults()
		if err := cfg.validate(); err != nil {
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			require.Regexp(t, "(Retention|Width|Ahead|KeepOther|KeepAudit|Lease|LockTimeout|DeleteChunk) = .+: must be ", err.Error())
			return
		}
		require.Positive(t, cfg.Width.Milliseconds())
		require.GreaterOrEqual(t, cfg.Retention, cfg.Width)
		require.True(t, cfg.KeepAudit == 0 || cfg.KeepAudit >= pgpark.LeastAudit)
		require.Regexp(t, "^[1-9][0-9]*ms$", millis(cfg.LockTimeout))
		again := cfg.withDefaults()
		require.Equal(t, cfg.Width, again.Width)
	})
}
