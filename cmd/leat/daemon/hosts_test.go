package daemon_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/daemon"
	"github.com/leat-go/leat/internal/wait"
)

// A foreign page whose name was made to resolve to this server reads neither the status nor
// metrics nor the reason of a probe; who asks by an address or by a name that is listed does.
func TestS16_ForeignHostsReadNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(c *daemon.Config) {
		c.Hosts = []string{"Leat.internal"}
		c.MetricsListen = "127.0.0.1:0"
		c.MetricsHandler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "leat_figures 1") })
	})
	ask := func(path, host string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Host = host
		w := httptest.NewRecorder()
		l.d.ServeHTTP(w, r)
		return w
	}
	foreign := []string{"evil.example", "evil.example:8470", "localhost.evil.example", "127.0.0.1.nip.io", ""}
	own := []string{"localhost:8470", "127.0.0.1:8470", "10.0.0.7:8470", "[fd00::7]:8470", "leat.internal", "LEAT.internal.:8470"}
	for _, host := range foreign {
		require.Equal(t, http.StatusMisdirectedRequest, ask("/statusz", host).Code, host)
		require.NotContains(t, ask("/statusz", host).Body.String(), "parts")
		require.Equal(t, "unavailable\n", ask("/readyz", host).Body.String(), host)
		require.Equal(t, http.StatusOK, ask("/livez", host).Code, host)
	}
	for _, host := range own {
		require.Equal(t, http.StatusOK, ask("/statusz", host).Code, host)
		require.Contains(t, ask("/readyz", host).Body.String(), "not checked yet", host)
	}

	l.run()
	require.NoError(t, until(t.Context(), func() bool { return len(l.d.Addresses()) == 1 }))
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for host, code := range map[string]int{"evil.example": http.StatusMisdirectedRequest, "leat.internal": http.StatusOK, "10.0.0.7": http.StatusOK} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.d.Addresses()[0]+"/metrics", nil)
		require.NoError(t, err)
		r.Host = host
		answer, err := client.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, code, answer.StatusCode, host)
	}
	l.stop()
}

// until waits for a condition.
func until(ctx context.Context, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for !done() {
		if err := wait.For(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
