package python_test

import (
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// texts returns keys and ids, among them spellings that not every parser accepts as a UUID.
func texts(t *testing.T) []string {
	t.Helper()
	all := []string{
		"a", "A ", "ä", "𝄞", "\x01", "order-4711/placed", strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("ä", 2048),
		"0190163d-8694-739b-aea5-966c26f8ad91", "0190163D-8694-739B-AEA5-966C26F8AD91", "0190163d-8694-739b-cea5-966c26f8ad91",
		"{0190163d-8694-739b-aea5-966c26f8ad91}", "urn:uuid:0190163d-8694-739b-aea5-966c26f8ad91", "0190163d8694739baea5966c26f8ad91",
		"0190163d-8694-739b-aea5-966c26f8ad9_", "٠190163d-8694-739b-aea5-966c26f8ad91",
	}
	for range 100 {
		v7, err := uuid.NewV7()
		require.NoError(t, err)
		all = append(all, v7.String(), uuid.NewString(), "order-"+uuid.NewString())
	}
	return all
}

// TestValues: the code on the documentation page, in Python and in SQL, computes the same values as the
// library.
func TestValues(t *testing.T) {
	t.Parallel()
	onEach(t, func(s *shop) {
		p := s.start("compute", "billing")
		defer p.end()
		if s.dialect != outbox.SQLite {
			s.start("create", "function_fnv", "function_shard", "function_bucket").end()
		}
		for _, text := range texts(s.t) {
			stored, _ := ids.Map(text)
			millis := int64(math.MaxInt64)
			if _, ok := ids.Time(stored); ok {
				millis = ids.Millis(stored)
			}
			shard, bucket := keyhash.Shard([]byte(text)), modulo(keyhash.Lock("outbox", text))
			place := modulo(keyhash.Lock("inbox", "leat_inbox", "billing", string(stored[:])))

			var got struct {
				shard  int16
				bucket int64
				id     string
				millis int64
				place  int64
			}
			p.ask(text, &[]any{&got.shard, &got.bucket, &got.id, &got.millis, &got.place})
			require.Equal(s.t, shard, got.shard, text)
			require.Equal(s.t, bucket, got.bucket, text)
			require.Equal(s.t, hex.EncodeToString(stored[:]), got.id, text)
			require.Equal(s.t, millis, got.millis, text)
			require.Equal(s.t, place, got.place, text)
			if s.dialect == outbox.SQLite {
				continue
			}
			err := s.db.QueryRowContext(s.ctx, "SELECT leat_shard(?), leat_bucket(?)", []byte(text), []byte(text)).Scan(&got.shard, &got.bucket)
			require.NoError(s.t, err)
			require.Equal(s.t, shard, got.shard, text)
			require.Equal(s.t, bucket, got.bucket, text)
		}
	})
}

// modulo returns the row to lock.
func modulo(lock int64) int64 {
	return int64(uint64(lock) % 4096)
}

func (s *shop) outbox() *sqloutbox.Outbox {
	s.t.Helper()
	ob, err := sqloutbox.New(s.db, s.dialect, sqloutbox.Config{})
	require.NoError(s.t, err)
	require.NoError(s.t, ob.Migrate(s.ctx))
	return ob
}

func (s *shop) inbox(consumer string) *sqlinbox.Inbox {
	s.t.Helper()
	in, err := sqlinbox.New(s.db, s.dialect, consumer, sqlinbox.Config{})
	require.NoError(s.t, err)
	require.NoError(s.t, in.Migrate(s.ctx))
	return in
}
