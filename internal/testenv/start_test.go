package testenv_test

import (
	"os/exec"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

func TestStart_FindsWhatIsNeededAndDropsItsDatabases(t *testing.T) {
	t.Parallel()

	env, err := testenv.Start(t.Context(), testenv.Needs{Postgres: true, Redis: true})
	require.NoError(t, err)
	require.Empty(t, env.KafkaBrokers, "not asked for")
	require.NotEmpty(t, env.RedisAddr)
	require.Contains(t, env.Describe(), "postgres")
	require.Len(t, env.Environ(), 2)
	url, err := env.CreateDatabase(t.Context(), "demo")
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))

	require.NoError(t, env.Close())
	_, err = pgx.Connect(t.Context(), url)
	require.Error(t, err)
}

// TestPromtool_Runs: it is the program that it is taken for.
//
//leat:level 4
func TestPromtool_Runs(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), testenv.Promtool(t), "--version").CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), "promtool, version")
}
