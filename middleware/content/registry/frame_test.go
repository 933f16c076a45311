package registry

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
)

func TestC12_Frame(t *testing.T) {
	t.Parallel()
	require.Equal(t, []byte{0, 0, 0, 1, 2}, appendFrame(nil, 258))
	for _, c := range []struct {
		index []int
		bytes []byte
	}{
		{[]int{0}, []byte{0}},
		{[]int{1}, []byte{2, 2}},
		{[]int{1, 0}, []byte{4, 2, 0}},
		{[]int{64}, []byte{2, 0x80, 1}},
	} {
		require.Equal(t, c.bytes, appendIndex(nil, c.index))
		index, rest, err := cutIndex(append(c.bytes, 7))
		require.NoError(t, err)
		require.Equal(t, c.index, index)
		require.Equal(t, []byte{7}, rest)
	}
	index, _, err := cutIndex([]byte{2, 0}) // the long form of [0]
	require.NoError(t, err)
	require.Equal(t, []int{0}, index)
}

// Bytes that are not a frame are refused for good, and those that are one survive.
func FuzzFrame(f *testing.F) {
	for _, seed := range []string{"", "\x00\x00\x00\x01\x02{}", "{\"a\":1}", "\x00\x00\x00\x00\x01\x00", "\x00\x00\x00\x00\x01\x80\x01", "\x00\x80\x00\x00\x00\x01", "\x00\x00\x00\x00\x01\x02\x01"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		id, payload, err := cutFrame(b)
		if err != nil {
			require.True(t, inbox.IsPermanent(err))
			return
		}
		require.Positive(t, id)
		require.Equal(t, b, append(appendFrame(nil, id), payload...))
		index, rest, err := cutIndex(payload)
		if err != nil {
			require.True(t, inbox.IsPermanent(err))
			return
		}
		require.NotEmpty(t, index)
		require.LessOrEqual(t, len(index), maxIndex)
		again, rest2, err := cutIndex(append(appendIndex(nil, index), rest...))
		require.NoError(t, err)
		require.Equal(t, index, again)
		require.Equal(t, rest, rest2)
	})
}

func TestTopMessage(t *testing.T) {
	t.Parallel()
	text := `syntax = "proto3"; // package wrong;
package shop.v1;
option (note) = { text: "message A {" };
enum Kind { NONE = 0; }
message First { message Inner { int32 x = 1; } oneof y { int32 z = 2; } }
extend First { optional int32 w = 100; }
message Second {}`
	for i, want := range []string{"shop.v1.First", "shop.v1.Second"} {
		got, err := topMessage(text, i)
		require.NoError(t, err)
		require.EqualValues(t, want, got)
	}
	_, err := topMessage(text, 2)
	require.ErrorIs(t, err, errIndex)
	// A descriptor in base64: package "p", one message "M".
	got, err := topMessage("CgFhEgFwIgMKAU0=", 0)
	require.NoError(t, err)
	require.EqualValues(t, "p.M", got)
	_, err = topMessage("CgFhEgFwIgMKAU0=", 1)
	require.ErrorIs(t, err, errIndex)
}
