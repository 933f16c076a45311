package redissink

import (
	"encoding/hex"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
)

// TestO4_Metadata compares the metadata with what the specification of MessagePack says of each size.
//
//leat:level 0
func TestO4_Metadata(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	r := outbox.Record{Message: outbox.Message{ID: "i", OccurredAt: at, Headers: map[string]string{"a": strings.Repeat("v", 40)}}}
	require.Equal(t, "83a161"+"d928"+strings.Repeat("76", 40)+"a86576656e742d6964a169"+"aa6576656e742d74696d65",
		hex.EncodeToString(metadata(&r))[:2*(1+2+2+40+9+2+11)])
	r.Headers = make(map[string]string)
	for i := range 14 {
		r.Headers[strconv.Itoa(i)] = strings.Repeat("v", 1<<(i+3))
	}
	packed := metadata(&r)
	require.Equal(t, []byte{0xde, 0, 16}, packed[:3])
	require.Contains(t, string(packed), "\xda\x01\x00v")
	require.Contains(t, string(packed), "\xdb\x00\x01\x00\x00v")
	require.Equal(t, []byte{0xdf, 0, 1, 0, 0}, mapHead(nil, 1<<16))
}
