package examples_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFirstFiveMinutes_LinkLittle: on a fresh machine most of `make hello` and
// `make demo` is compiling, so neither links what it does not need.
func TestFirstFiveMinutes_LinkLittle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		most int
		not  []string
	}{
		"hello":      {171, []string{"net/http", "pgx", "franz-go", "testenv"}},
		"quickstart": {365, []string{"redis", "gokrb5", "sarama", "gopher-lua", "opentelemetry"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "./"+name).Output()
			require.NoError(t, err)
			require.LessOrEqual(t, strings.Count(string(out), "\n"), c.most)
			for _, unwanted := range c.not {
				require.NotContains(t, string(out), unwanted)
			}
		})
	}
}
