package outbox_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox"
)

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func injector() outbox.Injector {
	return outbox.InjectorFunc(func(_ context.Context, h map[string]string) {
		h["traceparent"] = traceparent
		h["tracestate"] = "k=v"
	})
}

func TestPrepareFillsIDs(t *testing.T) {
	t.Parallel()
	given := []outbox.Message{{Topic: "t"}, {Topic: "t", ID: "Mine"}, {Topic: "t"}}
	got, err := outbox.Preparer{}.Prepare(t.Context(), given)
	require.NoError(t, err)
	require.Equal(t, "Mine", got[1].ID, "a given id is kept")
	for _, i := range []int{0, 2} {
		_, canonical := ids.Map(got[i].ID)
		require.True(t, canonical)
		require.Empty(t, given[i].ID, "the caller's messages are not changed")
	}
	require.Less(t, got[0].ID, got[2].ID)
}

func TestPrepareNothing(t *testing.T) {
	t.Parallel()
	got, err := outbox.Preparer{}.Prepare(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestPrepareInjects(t *testing.T) {
	t.Parallel()
	headers := map[string]string{"mine": "1"}
	got, err := outbox.Preparer{Injector: injector()}.Prepare(t.Context(), []outbox.Message{
		{Topic: "t", Headers: headers},
		{Topic: "t"},
		{Topic: "t", Headers: map[string]string{"traceparent": "the caller's"}},
	})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"mine": "1", "traceparent": traceparent, "tracestate": "k=v"}, got[0].Headers)
	require.Equal(t, map[string]string{"traceparent": traceparent, "tracestate": "k=v"}, got[1].Headers)
	require.Equal(t, map[string]string{"traceparent": "the caller's"}, got[2].Headers)
	require.Equal(t, map[string]string{"mine": "1"}, headers, "the caller's map is not changed")
}

// TestPrepareChecksInjected shows that an Injector gets no bad header past the
// check.
func TestPrepareChecksInjected(t *testing.T) {
	t.Parallel()
	bad := outbox.InjectorFunc(func(_ context.Context, h map[string]string) { h[outbox.HeaderKey] = "k" })
	_, err := outbox.Preparer{Injector: bad}.Prepare(t.Context(), []outbox.Message{{Topic: "t"}})
	require.ErrorContains(t, err, `Headers["leat_key"]`)

	large := outbox.InjectorFunc(func(_ context.Context, h map[string]string) {
		h["baggage"] = strings.Repeat("b", outbox.MaxHeaderBytes)
	})
	_, err = outbox.Preparer{Injector: large}.Prepare(t.Context(), []outbox.Message{{Topic: "t"}})
	require.ErrorIs(t, err, outbox.ErrInvalidMessage)
	require.ErrorContains(t, err, "are larger than 65536 bytes together")
}

func TestNewID(t *testing.T) {
	t.Parallel()
	a, err := outbox.NewID()
	require.NoError(t, err)
	b, err := outbox.NewID()
	require.NoError(t, err)
	require.Less(t, a, b)
	require.Len(t, a, 36)
}
