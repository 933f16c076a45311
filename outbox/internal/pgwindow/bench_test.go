package pgwindow_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// busySnapshot is a pg_snapshot with n transactions under way.
func busySnapshot(n int) string {
	xips := make([]string, n)
	for i := range xips {
		xips[i] = strconv.Itoa(1_000_000 + 3*i)
	}
	return fmt.Sprintf("1000000:%d:%s", 1_000_000+3*n, strings.Join(xips, ","))
}

// BenchmarkParseSnapshot parses the snapshot that a relay takes for each window.
func BenchmarkParseSnapshot(b *testing.B) {
	for _, running := range []int{0, 10, 1000} {
		text := busySnapshot(running)
		b.Run(fmt.Sprintf("running=%d", running), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if s, err := pgwindow.ParseSnapshot(text); err != nil || len(s.Xip) != running {
					b.Fatal(len(s.Xip), err)
				}
			}
		})
	}
}

// BenchmarkEndedBy compares two snapshots with the same transactions under way.
func BenchmarkEndedBy(b *testing.B) {
	s, err := pgwindow.ParseSnapshot(busySnapshot(1000))
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if s.EndedBy(s) {
			b.Fatal("none has ended")
		}
	}
}
