package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// envMain makes this test binary leatenv itself.
const envMain = "LEATENV_TEST_MAIN"

//leat:level 0
func TestMain(m *testing.M) {
	if os.Getenv(envMain) != "" {
		main()
	}
	testenv.Main(m)
}

// leatenv runs the command in an environment without addresses but those given.
func leatenv(t *testing.T, environ []string, args ...string) (output string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "LEAT_") || strings.HasPrefix(entry, "CI=")
	})
	cmd.Env = append(append(cmd.Env, envMain+"=1"), environ...)
	combined, err := cmd.CombinedOutput()
	if err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit, "%s", combined)
	}

	return string(combined), cmd.ProcessState.ExitCode()
}

//leat:level 4
func TestRun_HandsOverAddressesAndPassesOnTheStatus(t *testing.T) {
	t.Parallel()

	output, status := leatenv(t, []string{"LEAT_KAFKA_BROKERS=fake", "LEAT_REDIS_ADDR=fake"},
		"run", "--", "sh", "-c", `echo "got $LEAT_POSTGRES_URL $LEAT_KAFKA_BROKERS $LEAT_REDIS_ADDR."; exit 7`)
	require.Equal(t, 7, status, output)
	require.Contains(t, output, "got postgres://")
	require.Contains(t, output, " fake fake.")
	require.Equal(t, 1, strings.Count(output, "services of this run"), output)
	require.NotContains(t, output, "leatenv:", "the command has said itself what went wrong")
}

func TestRun_InCIASubstituteIsRefused(t *testing.T) {
	t.Parallel()

	for name, variable := range map[string]string{"kafka": "LEAT_KAFKA_BROKERS", "redis": "LEAT_REDIS_ADDR"} {
		output, status := leatenv(t, []string{"CI=true", variable + "=fake"},
			"run", "-services", name, "--", "echo", "it ran")
		require.Equal(t, 1, status, output)
		require.Contains(t, output, "CI needs a real")
		require.NotContains(t, output, "it ran")
	}
}

func TestRun_AnAddressThatDoesNotAnswerIsAnError(t *testing.T) {
	t.Parallel()

	for name, address := range map[string]string{
		"postgres": "LEAT_POSTGRES_URL=postgres://postgres@127.0.0.1:1/postgres",
		"kafka":    "LEAT_KAFKA_BROKERS=127.0.0.1:1",
		"redis":    "LEAT_REDIS_ADDR=127.0.0.1:1",
		"mysql":    "LEAT_MYSQL_URL=mysql://root@127.0.0.1:1/",
		"mariadb":  "LEAT_MARIADB_URL=mysql://root@127.0.0.1:1/",
	} {
		output, status := leatenv(t, []string{address}, "run", "-services", name, "--", "echo", "it ran")
		require.Equal(t, 1, status, output)
		require.Contains(t, output, "127.0.0.1:1")
		require.NotContains(t, output, "it ran")
	}
}

//leat:level 4
func TestUp_StaysUntilDown(t *testing.T) {
	t.Parallel()

	environ := []string{testenv.EnvCache + "=" + t.TempDir()}
	output, status := leatenv(t, environ, "status")
	require.Equal(t, 1, status, output)

	output, status = leatenv(t, environ, "up", "-services", "redis")
	require.Zero(t, status, output)
	require.Contains(t, output, "export LEAT_REDIS_ADDR=")

	again, status := leatenv(t, environ, "up", "-services", "redis")
	require.Zero(t, status, again)
	require.Equal(t, output, again, "the set that is up stays")

	output, status = leatenv(t, environ, "down")
	require.Zero(t, status, output)
	output, status = leatenv(t, environ, "down")
	require.Equal(t, 1, status, output)
	require.Contains(t, output, "no detached set")
}

func TestUsage(t *testing.T) {
	t.Parallel()

	for _, args := range [][]string{{}, {"fly"}, {"run"}, {"run", "-services", "oracle", "--", "true"}, {"up", "-memory"}} {
		output, status := leatenv(t, nil, args...)
		require.Equal(t, 1, status, output)
	}
}
