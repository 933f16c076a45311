package pgdedupe_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/httpdedupe"
	"github.com/leat-go/leat/dedupe/pgdedupe"
	"github.com/leat-go/leat/internal/testenv"
)

// faulty is a store that does something around the commit.
type faulty struct {
	*pgdedupe.TxStore

	commit func(unit dedupe.TxUnit, commit func() error) error
}

type faultyUnit struct {
	dedupe.TxUnit

	commit func(unit dedupe.TxUnit, commit func() error) error
}

func (f faulty) Claim(ctx context.Context, id, fingerprint string) (dedupe.TxUnit, dedupe.Claim, error) {
	unit, claim, err := f.TxStore.Claim(ctx, id, fingerprint)
	if unit == nil {
		return nil, claim, err
	}
	return faultyUnit{unit, f.commit}, claim, err
}

func (u faultyUnit) Commit(ctx context.Context, response []byte) error {
	return u.commit(u.TxUnit, func() error { return u.TxUnit.Commit(ctx, response) })
}

var errLost = errors.New("the answer is lost")

// TestTx_AmbiguousCommit: where the commit gets no answer the client is told to
// ask again, and finds out.
func TestTx_AmbiguousCommit(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	url := s.serve(t, s.store, s)
	for key, effects := range map[string]int{"took effect": 1, "did not": 0} {
		before := s.effects(t)
		lossy := faulty{s.store, func(unit dedupe.TxUnit, commit func() error) error {
			if effects == 0 {
				return errors.Join(unit.Rollback(context.WithoutCancel(t.Context())), errLost)
			}
			return errors.Join(commit(), errLost)
		}}
		status, body := send(t, s.serve(t, lossy, s), `"`+key+`"`, "tea")
		require.Equal(t, http.StatusInternalServerError, status)
		require.Contains(t, body, "idempotency_outcome_unknown")
		require.Equal(t, before+effects, s.effects(t), key)
		for range 2 {
			status, _ = send(t, url, `"`+key+`"`, "tea")
			require.Equal(t, http.StatusCreated, status)
			require.Equal(t, before+1, s.effects(t), key)
		}
	}
}

// crashURL is where a process of its own finds the database, and crashWhen is
// where it dies.
const crashURL, crashWhen = "LEAT_TEST_CRASH_URL", "LEAT_TEST_CRASH_WHEN"

// TestTx_CrashBetweenCommitAndResponse kills a server process at both sides of
// the commit; the next one answers the repeated request.
func TestTx_CrashBetweenCommitAndResponse(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	s := openShop(t, db.Pool)
	url := s.serve(t, s.store, s)
	for when, effects := range map[string]int{"after commit": 1, "before commit": 0} {
		before := s.effects(t)
		crash(t, db.URL, when)
		require.Equal(t, before+effects, s.effects(t), when)
		require.Eventually(t, func() bool { // a dead process' lock ends with its session
			status, _, err := post(t.Context(), url, strings.Fields(when)[0], "tea")
			return err == nil && status == http.StatusCreated
		}, waitFor, tick)
		require.Equal(t, before+1, s.effects(t), when)
	}
}

// crash sends a request to a process that dies over it.
func crash(t *testing.T, url, when string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCrashingServer$", "-test.count=1")
	cmd.Env = append(os.Environ(), crashURL+"="+url, crashWhen+"="+when)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	line := make([]byte, 256)
	n, err := out.Read(line)
	require.NoError(t, err)
	address, _, _ := strings.Cut(strings.TrimPrefix(string(line[:n]), "listening "), "\n")
	_, _, err = post(t.Context(), address, strings.Fields(when)[0], "tea")
	require.Error(t, err, "the process has died before it could answer")
	_, err = io.Copy(io.Discard, out)
	require.NoError(t, err)
	exit, ok := errors.AsType[*exec.ExitError](cmd.Wait())
	require.True(t, ok)
	require.Equal(t, crashStatus, exit.ExitCode())
}

const crashStatus = 42

// TestCrashingServer is the process that crash starts; by itself it checks
// that it was not meant.
func TestCrashingServer(t *testing.T) {
	t.Parallel()
	url, when := os.Getenv(crashURL), os.Getenv(crashWhen)
	if url == "" {
		require.Empty(t, when)
		return
	}
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	s := openShop(t, pool)
	store := faulty{s.store, func(_ dedupe.TxUnit, commit func() error) error {
		if when == "after commit" {
			require.NoError(t, commit())
		}
		os.Exit(crashStatus)
		return nil
	}}
	m, err := httpdedupe.NewTx(store, httpdedupe.OneTenant, httpdedupe.Config{})
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(m(s))
	server.Config.BaseContext = func(net.Listener) context.Context { return t.Context() }
	server.Start()
	_, err = os.Stdout.WriteString("listening " + server.URL + "\n")
	require.NoError(t, err)
	<-t.Context().Done() // the process dies before
}
