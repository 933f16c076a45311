package memoutbox_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/memoutbox"
)

// TestR12_SeekKeepsAndMoves: a position that a sink has kept moves a later session
// forward, never back, and is found to be missing where it must not be.
func TestR12_SeekKeepsAndMoves(t *testing.T) {
	t.Parallel()
	for _, slots := range []int{1, 4} {
		t.Run(fmt.Sprint(slots, " slots"), func(t *testing.T) {
			t.Parallel()
			ob, err := memoutbox.New(memoutbox.Config{})
			require.NoError(t, err)
			src := ob.Source(memoutbox.SourceConfig{Group: "g", Slots: slots})
			put := func(n int) {
				for i := range n {
					require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
						return ob.Enqueue(ctx, tx, outbox.Message{ID: strconv.Itoa(i), Topic: "t", Key: fmt.Sprint("k", i)})
					}))
				}
			}
			put(40)
			first := session(t, src)
			require.Equal(t, "g/0", first.SlotName())
			require.NoError(t, first.Seek(t.Context(), nil), "nothing is settled")
			page, err := first.Read(t.Context(), 4)
			require.NoError(t, err)
			second, err := first.Position(page, 2)
			require.NoError(t, err)
			fourth, err := first.Position(page, 4)
			require.NoError(t, err)
			require.NoError(t, first.Release(t.Context()))

			s := session(t, src)
			require.NoError(t, s.Seek(t.Context(), second), "the source knows of none")
			next, err := s.Read(t.Context(), 10)
			require.NoError(t, err)
			require.Equal(t, page.Records[2].Seq, next.Records[0].Seq)
			require.NoError(t, s.Advance(t.Context(), next, 2))
			require.NoError(t, s.Release(t.Context()))

			s = session(t, src)
			require.ErrorIs(t, s.Seek(t.Context(), nil), driver.ErrSourceUnusable, "missing")
			require.ErrorIs(t, s.Seek(t.Context(), second), driver.ErrSourceUnusable, "behind")
			require.NoError(t, s.Seek(t.Context(), fourth), "the same")
			next, err = s.Read(t.Context(), 100)
			require.NoError(t, err)
			end, err := s.Position(next, len(next.Records))
			require.NoError(t, err)
			require.NoError(t, s.Advance(t.Context(), next, len(next.Records)))
			for range 2 { // windows with nothing in them
				empty, err := s.Read(t.Context(), 100)
				require.NoError(t, err)
				require.Empty(t, empty.Records)
			}
			require.NoError(t, s.Release(t.Context()))
			s = session(t, src)
			require.NoError(t, s.Seek(t.Context(), end), "nothing lies between")
			require.NoError(t, s.Release(t.Context()))
			require.ErrorIs(t, s.Seek(t.Context(), end), driver.ErrLeaseLost)
		})
	}
}

func session(t *testing.T, src driver.Source) driver.Positioned {
	t.Helper()
	s, err := src.Acquire(t.Context(), time.Minute)
	require.NoError(t, err)
	return s.(driver.Positioned) //nolint:forcetypeassert // it is
}
