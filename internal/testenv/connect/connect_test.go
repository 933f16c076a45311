package connect

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/testenv"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheVersionsAreThoseThatAreFetched(t *testing.T) {
	t.Parallel()
	for _, version := range []string{Version, DebeziumVersion} {
		require.Contains(t, string(pom), "<version>"+version+"</version>")
	}
}

// answering returns a worker that gives one answer to all.
func answering(t *testing.T, status int, text string) *Worker {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	client := server.Client()
	return &Worker{own: &testenv.Own{Address: strings.TrimPrefix(server.URL, "http://")}, client: client}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer           string
		running, stopped bool
	}{
		"running":            {`{"connector": {"state": "RUNNING"}, "tasks": [{"state": "RUNNING"}]}`, true, false},
		"without its task":   {`{"connector": {"state": "RUNNING"}, "tasks": []}`, false, false},
		"its task is to run": {`{"connector": {"state": "RUNNING"}, "tasks": [{"state": "UNASSIGNED"}]}`, false, false},
		"stopped":            {`{"connector": {"state": "STOPPED"}, "tasks": []}`, false, true},
		"its task is to end": {`{"connector": {"state": "STOPPED"}, "tasks": [{"state": "RUNNING"}]}`, false, false},
	} {
		s, err := answering(t, http.StatusOK, c.answer).Status(t.Context(), "a")
		require.NoError(t, err, name)
		require.Equal(t, c.running, s.is(Running), name)
		require.Equal(t, c.stopped, s.is(Stopped), name)
	}
}

func TestAFailureIsToldWithItsTrace(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		`{"connector": {"state": "FAILED", "trace": "no slot"}, "tasks": []}`,
		`{"connector": {"state": "RUNNING"}, "tasks": [{"state": "FAILED", "trace": "no slot"}]}`,
	} {
		err := answering(t, http.StatusOK, answer).Await(t.Context(), "a", Running)
		require.ErrorContains(t, err, "has failed: no slot")
	}
}

func TestARefusalIsTold(t *testing.T) {
	t.Parallel()
	w := answering(t, http.StatusBadRequest, `{"message": "no such option"}`)
	require.ErrorContains(t, w.Configure(t.Context(), "a", map[string]string{"x": "y"}), "no such option")
	_, err := w.version(t.Context(), w.own.Address)
	require.ErrorContains(t, err, "has not started")
}
