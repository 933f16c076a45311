package pgoutbox_test

import (
	"context"
	"net"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

const mebibyte = 1 << 20

// metered is a connection that counts the bytes it receives.
type metered struct {
	net.Conn

	read *atomic.Int64
}

func (m *metered) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	m.read.Add(int64(n))
	return n, err
}

// behindMeter returns the outbox of db and the number of bytes that its connections have received.
func behindMeter(t *testing.T, db *testenv.Database) (*pgoutbox.Outbox, *atomic.Int64) {
	t.Helper()
	config, err := pgxpool.ParseConfig(db.URL)
	require.NoError(t, err)
	dial, read := config.ConnConfig.DialFunc, new(atomic.Int64)
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &metered{conn, read}, nil
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	require.NoError(t, err)
	return ob, read
}

// putLarge commits n messages of key, each of size bytes. The server generates them, as if another
// producer had written them.
func putLarge(t *testing.T, db *testenv.Database, key string, n, size int) {
	t.Helper()
	_, err := db.Pool.Exec(t.Context(), `INSERT INTO leat.outbox (id, shard, topic, key, payload)
		SELECT gen_random_uuid(), 0, 'events', nullif($1, ''), convert_to(repeat('x', $3), 'UTF8') FROM generate_series(1, $2::int)`, key, n, size)
	require.NoError(t, err)
}

// TestN3_PagesFetchNoMoreThanTheyKeep: a page of 500 records of 1 MiB used to be fetched as a whole,
// although only 32 records were kept. S3.
func TestN3_PagesFetchNoMoreThanTheyKeep(t *testing.T) {
	t.Parallel()
	_, db := newOutbox(t, pgoutbox.Config{})
	ob, read := behindMeter(t, db)
	put(t, ob, "k", "first")
	putLarge(t, db, "k", 70, mebibyte)
	put(t, ob, "k", "last")
	for _, cfg := range []pgoutbox.SourceConfig{{Group: "all"}, {Group: "some", Topics: []string{"ev*"}}} {
		cfg.Start = driver.Start{Oldest: true}
		s := acquireFrom(t, sourceOf(t, ob, cfg))
		var sizes []int
		for {
			before := read.Load()
			page, err := s.Read(t.Context(), 500)
			require.NoError(t, err)
			require.LessOrEqual(t, read.Load()-before, int64(34*mebibyte), "bytes fetched for one page")
			if len(page.Records) == 0 {
				break
			}
			for i := range page.Records {
				sizes = append(sizes, len(page.Records[i].Payload))
			}
			require.NoError(t, s.Advance(t.Context(), page, len(page.Records)))
		}
		require.Equal(t, slices.Concat([]int{5}, slices.Repeat([]int{mebibyte}, 70), []int{4}), sizes)
		require.NoError(t, s.Release(t.Context()))
	}
}

// TestN3_DueFetchesNoMoreThanItReturns: 412 held records of 1 MiB used to be fetched together, again and
// again. S3.
func TestN3_DueFetchesNoMoreThanItReturns(t *testing.T) {
	t.Parallel()
	_, db := newOutbox(t, pgoutbox.Config{})
	ob, read := behindMeter(t, db)
	putLarge(t, db, "", 12, mebibyte)
	put(t, ob, "", "small")
	h := holdingOf(t, ob, db, "default")
	h.hold(slices.Repeat([]driver.Fate{driver.FateRetry}, 13)...)
	var got []int64
	for calls := 0; ; calls++ {
		before := read.Load()
		due, err := h.Due(t.Context(), 500, nil)
		require.NoError(t, err)
		require.LessOrEqual(t, read.Load()-before, int64(6*mebibyte), "bytes fetched for one call")
		if len(due) == 0 {
			require.LessOrEqual(t, calls, 4)
			break
		}
		for i := range due {
			got = append(got, due[i].Seq)
		}
		_, err = h.Resolve(t.Context(), verdicts(due, slices.Repeat([]driver.Fate{driver.FateDelivered}, len(due))...))
		require.NoError(t, err)
	}
	require.Len(t, got, 13)
	require.IsIncreasing(t, got)
}

// TestN3_MixedSizesKeepTheirOrder: pages that end at their byte limit lose nothing where large and small
// records alternate.
func TestN3_MixedSizesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	var want []int
	for i := range 8 {
		put(t, ob, "k", "small")
		putLarge(t, db, "k", 1+i%2, (i+1)*mebibyte)
		want = append(want, 5)
		for range 1 + i%2 {
			want = append(want, (i+1)*mebibyte)
		}
	}
	var got []int
	for _, r := range readAll(t, acquire(t, ob, "default"), 100) {
		got = append(got, len(r.Payload))
	}
	require.Equal(t, want, got)
}
