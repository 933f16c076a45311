package dashboard_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/wait"
)

// deaf is a client that reads nothing after so many writes.
type deaf struct {
	*httptest.ResponseRecorder

	reads    int
	deadline time.Time
}

func (d *deaf) SetWriteDeadline(at time.Time) error { d.deadline = at; return nil }

func (d *deaf) Write(p []byte) (int, error) {
	if d.reads--; d.reads >= 0 {
		return d.ResponseRecorder.Write(p)
	}
	if d.deadline.IsZero() {
		return 0, errors.New("this would block for ever")
	}
	_ = wait.For(context.Background(), time.Until(d.deadline))
	return 0, os.ErrDeadlineExceeded
}

// A stream ends after some minutes, and soon if its client does not read.
func TestStreamEnds(t *testing.T) {
	t.Parallel()
	for reads, longest := range map[int]time.Duration{1 << 30: 5 * time.Minute, 3: 16 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := newShop(t)
			r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "http://localhost/api/v1/stream", nil)
			w := &deaf{ResponseRecorder: httptest.NewRecorder(), reads: reads}
			start := time.Now()
			s.d.ServeHTTP(w, r)
			require.Equal(t, longest, time.Since(start))
			require.Contains(t, w.Body.String(), "event: sample")
			require.Equal(t, "close", w.Header().Get("Connection"))
		})
	}
}
